"""What templates find by a name and that looks at the session: `target`, `adapter`, `config`, `var`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from interlock.engine.importers.dbt.configs import clean, merged
from interlock.engine.importers.dbt.suggest import did_you_mean
from interlock.engine.importers.dbt.template import CannotKeep

if TYPE_CHECKING:
    from interlock.engine.importers.dbt.session import Session

DEFAULTS: Final[Mapping[str, Any]] = {
    "enabled": True, "alias": None, "schema": None, "tags": [], "meta": {}, "group": None, "materialized": "view", "incremental_strategy": None,
    "batch_size": None, "lookback": 1, "begin": None, "persist_docs": {}, "post-hook": [], "pre-hook": [], "quoting": {}, "column_types": {},
    "full_refresh": None, "unique_key": None, "on_schema_change": "ignore", "on_configuration_change": "apply", "grants": {}, "packages": [],
    "event_time": None, "concurrent_batches": None, "contract": {"enforced": False, "alias_types": True}, "access": "protected", "freshness": None,
    "docs": {"show": True, "node_color": None},
}  # fmt: skip
"""A model's configuration where nothing is set: a key that stands here is found, so that a template's own default is not taken."""
NOT_GIVEN: Final = object()
DATABASE: Final = "it asks the database while the template is compiled"
ASKS: Final = "write what it answers into the model, or make it a join; then import again"


class TargetRead:
    """`target`: what is read of it is frozen, and said."""

    def __init__(self, session: Session, values: Mapping[str, Any]) -> None:
        self._session = session
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise CannotKeep("D805", f"`target.{name}` is read", "write its value, or a variable")
        self._session.current.targets.add(f"target.{name} = {self._values[name]}")
        return self._values[name]

    def get(self, name: str, default: Any = None) -> Any:
        """As a mapping's."""
        del default
        return self[name]


class Adapter:
    """`adapter`: it dispatches; it never asks a database."""

    def __init__(self, session: Session, package: str) -> None:
        self._session = session
        self._package = package

    def dispatch(self, macro_name: str, macro_namespace: str | None = None, **_: Any) -> Any:
        """The macro that DuckDB's adapter would take."""
        return self._session.dispatch(macro_name, macro_namespace, self._package)

    def type(self) -> str:
        """The adapter's kind."""
        self._session.current.targets.add("adapter.type() = duckdb")
        return "duckdb"

    def quote(self, name: str) -> str:
        """An identifier in quotes."""
        return '"' + str(name).replace('"', '""') + '"'

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CannotKeep("D804", f"`adapter.{name}`: {DATABASE}", ASKS)


class Config:
    """`config`: a call sets, `get` and `require` read."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(self, *arguments: Any, **named: Any) -> str:
        """Set configuration; it leaves nothing in the text."""
        current = self._session.current
        for given in arguments:
            if not isinstance(given, dict):
                raise CannotKeep("D805", "`config` is called with something that is no mapping", "write config(key=value)")
            named = {**given, **named}
        if not current.is_settled:
            current.configs.update(merged(current.configs, {clean(key): value for key, value in named.items()}))
        return ""

    def get(self, key: str, default: Any = None, **_: Any) -> Any:
        """A value of the merged configuration."""
        found = self._all()
        if key == "database" or (key == "target_database" and "{{" in str(found.get(key))):
            raise CannotKeep("D805", "the name of the database is read, and only the environment knows it", "leave the database out")
        return found.get(key, default)

    def _all(self) -> dict[str, Any]:
        current = self._session.current
        current.config_read = True
        return merged({**DEFAULTS, **current.config, **current.configs}, current.above)

    def meta_get(self, key: str, default: Any = None, **_: Any) -> Any:
        """A value of its metadata."""
        found = self._all().get("meta") or {}
        return found.get(key, default)

    def require(self, key: str, **_: Any) -> Any:
        """A value of the merged configuration that must be there."""
        return self._there(key, self.get(key))

    def meta_require(self, key: str, **_: Any) -> Any:
        """A value of its metadata that must be there."""
        return self._there(key, self.meta_get(key))

    def _there(self, key: str, found: Any) -> Any:
        if found is None:
            raise CannotKeep("D805", f"`config.require('{key}')` finds nothing", "set it in the model's config")
        return found

    def persist_relation_docs(self) -> bool:
        """Whether dbt keeps a relation's description in the warehouse."""
        return bool((self._all().get("persist_docs") or {}).get("relation", False))

    def persist_column_docs(self) -> bool:
        """Whether dbt keeps the columns' descriptions in the warehouse."""
        return bool((self._all().get("persist_docs") or {}).get("columns", False))


class Variable:
    """`var`: the value that the import freezes."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(self, name: str, default: Any = NOT_GIVEN) -> Any:
        """Its value."""
        session = self._session
        session.current.variables.add(name)
        declared = session.variables.get(session.current.package, {})
        if session.current.of_project:
            # dbt reads this file before it knows the variables that the file itself declares.
            if name in declared:
                session.unseen_variables.setdefault(name, set()).add(session.current.path)
            if default is NOT_GIVEN:
                why = f"variable `{name}` has no value here: dbt reads the configuration of dbt_project.yml before its `vars`"
                raise CannotKeep("D820", why, "give it a default, or set the key where the model is")
            return default
        if name in declared:
            found = declared[name]
            if isinstance(found, str) and "{{" in found:
                # dbt evaluates a variable's own template when it is read.
                found = str(session.compiled(found, "dbt_project.yml", session.current.package).render())
        elif default is NOT_GIVEN:
            every = {each for scope in session.variables.values() for each in scope}
            raise CannotKeep(
                "D820", f"variable `{name}` has no value", did_you_mean(name, every, "declare it under vars, or give it a default")
            )
        else:
            found = default
        session.used_variables.setdefault(name, (found, set()))[1].add(session.current.path)
        return found

    def has_var(self, name: str) -> bool:
        """Whether it is declared."""
        return name in self._session.variables.get(self._session.current.package, {})
