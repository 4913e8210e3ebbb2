"""Data tests: each becomes a check of a model, or is refused."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt.configs import clean, levels, listed, merged
from interlock.engine.importers.dbt.expectations import WITHOUT_PACKAGE
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.names import quoted
from interlock.engine.importers.dbt.nodes import Node, Problem, problem_of
from interlock.engine.importers.dbt.objects import Relation
from interlock.engine.importers.dbt.overrides import TESTS, WHERE, taking
from interlock.engine.importers.dbt.session import Macro, Rendering, Session, late
from interlock.engine.importers.dbt.template import CannotKeep
from interlock.engine.importers.dbt.yamls import Table, table

OWN: Final = "ilown_z"
"""Mark of the relation that a test is about."""

_CONFIG: Final = frozenset(
    {
        "severity",
        "where",
        "warn_if",
        "error_if",
        "fail_calc",
        "limit",
        "enabled",
        "tags",
        "store_failures",
        "store_failures_as",
        "meta",
        "config",
        "name",
        "description",
        "test_name",
        "arguments",
        "database",
        "schema",
        "alias",
    }
)
_CALL: Final = re.compile(r"\s*(ref|source|var|env_var)\s*\(.*\)\s*", re.DOTALL)
_CONDITION: Final = re.compile(r"\s*(?:(?:=|==|!=|<>|<|<=|>|>=)\s*\d+(?:\.\d+)?|between\s+\d+\s+and\s+\d+)\s*", re.IGNORECASE)


@dataclass
class Test:
    """A data test, and the checks that it becomes."""

    name: str
    path: str
    line: int | None
    package: str
    about: str
    """What it is about, for people."""
    owner: Node | None = None
    checks: list[dict[str, Any]] = field(default_factory=list)
    rendering: Rendering | None = None
    problem: Problem | None = None
    disabled: str = ""
    notes: list[str] = field(default_factory=list)
    as_sql: str = ""
    """Its question in SQL, for when the sidecar's own words do not go with the column's type."""
    own_text: str = ""
    """What stands for the relation that it is about, if that is not the owner."""
    keys: list[str] = field(default_factory=list)
    """Names of its checks in the owner's sidecar."""
    reads: set[str] = field(default_factory=set)
    folders: tuple[str, ...] = ()
    """Those that it is declared in, as configuration levels go."""

    def refuse(self, code: str, why: str, remedy: str) -> None:
        """Refuse it, with the first reason."""
        if self.problem is None:
            self.problem = Problem(code, why, remedy, self.line, self.path)


def read(entry: Any) -> tuple[str, Table, Table]:
    """A test's name, arguments and configuration, in each of dbt's spellings."""
    if isinstance(entry, str):
        return entry, table(None), table(None)
    whole = table(entry)
    if len(whole) == 1 and isinstance(next(iter(whole.values())), dict | None):
        name, inner = next(iter(whole.items()))
        body = table(inner)
    else:
        name = whole.get("test_name") or next((key for key in whole if key not in _CONFIG), whole.get("name"))
        body = table({**whole, **(table(whole.get(name)) if isinstance(whole.get(name), dict) else {})})
        body.pop(name, None)
    arguments = table({key: value for key, value in {**body, **table(body.get("arguments"))}.items() if key not in _CONFIG})
    config = table({**{key: value for key, value in body.items() if key in _CONFIG}, **table(body.get("config"))})
    return str(name), arguments, config


def generic(session: Session, test: Test, entry: Any, column: str | None, about: Relation, *, native: bool) -> None:
    """Fill a generic test's checks. `native`: it may be asked in the sidecar's own words."""
    name, arguments, config = read(entry)
    about_text = str(about)
    rendering = test.rendering = Rendering(test.path, test.package)
    try:
        config = _with_project(session, test, config)
        arguments = table({key: _argument(session, value, rendering) for key, value in arguments.items()})
        config = table(session.value(config, rendering))
        if not _usable(test, config):
            return
        declared, column = column, column or arguments.get("column_name") or arguments.get("column")
        refused = next((found for name_ in TESTS if (found := taking(session, name_)) is not None), None)
        if refused is not None:
            test.refuse(
                "D815", f"the project's own `{refused.name}` ({refused.path}:{refused.line}) makes its SQL", "write it as a check with sql"
            )
            return
        macro = taking(session, WHERE)
        plain = macro is None and not (
            {"where", "limit", "fail_calc", "warn_if", "error_if"} & {key for key, value in config.items() if value is not None}
        )
        short = name.removeprefix("dbt.")
        if plain and native and short in _NATIVE and _own(session, test, name) is None:
            made = _native(short, arguments, str(column) if column is not None else None, rendering)
            if made is not None:
                test.checks = [{**made, **_severity(config)}]
                if short == "accepted_values":
                    test.as_sql = _not_accepted(str(column), arguments, about_text)
                _named(test, [short, *([str(column)] if column else [])], config)
                return
        model: Relation | str = about
        if macro is not None:
            rendering.config = config
            model = str(session.call(macro, rendering, relation=Relation(about_text, _unknown_parts))).strip()
        elif config.get("where"):
            model = f"(select * from {about_text} where {config['where']})"

        def asked(of: Rendering) -> str | None:
            return _failing(session, test, name, arguments, str(column) if column is not None else None, model, of, declared)

        before = [*rendering.refs.values(), *rendering.sources.values()]
        failing = asked(rendering)
        said = _said(asked, rendering, before)
    except (CannotKeep, *t.EVALUATION) as error:
        test.problem = problem_of(error, test.path, test.line)
        return
    # A test's macro may set its own configuration, such as how failures are counted; it is called last, so it wins.
    config = table(merged(config, said))
    if not _usable(test, config):
        return
    if failing is None:
        package, _, _ = name.rpartition(".")
        where = f" of package `{package}`" if package else ""
        test.refuse(
            "D815", f"nothing is known of the test `{name}`{where}", "install its package with `dbt deps`, or write it as a check with sql"
        )
        return
    _made(test, failing, config, [name.rsplit(".", 1)[-1], *([str(column)] if column else [])])


def singular(session: Session, test: Test, text: str, said: Table) -> None:
    """Fill a singular test's checks. `said`: what a YAML file says of it."""
    rendering = test.rendering = Rendering(test.path, test.package)
    try:
        below = {clean(str(key)): value for key, value in table(session.value(said.get("config"), rendering)).items()}
        rendering.config = below
        failing = session.render(text, rendering)
        said_itself = _said(lambda of: session.render(text, of), rendering, ())
        config = _with_project(session, test, table(merged(below, said_itself)))
    except (CannotKeep, *t.EVALUATION) as error:
        test.problem = problem_of(error, test.path, test.line)
        return
    if isinstance(said.get("description"), str):
        config.setdefault("description", said["description"])
    if not _usable(test, config):
        return
    _made(test, failing.strip().rstrip(";").rstrip(), config, [test.name])


def _said(asked: Callable[[Rendering], Any], rendering: Rendering, given: Iterable[Any]) -> dict[str, Any]:
    """What a test's template says of itself: where it asks for `execute`, what dbt finds before it runs anything."""
    if not rendering.phase_read:
        return rendering.configs
    parsing = Rendering(rendering.path, rendering.package, config=rendering.config, is_parsing=True)
    asked(parsing)
    refusal = late(rendering, parsing, given)
    if refusal is not None:
        raise refusal
    return parsing.configs


def _with_project(session: Session, test: Test, config: Table) -> Table:
    """What a test says of itself, over its own project's configuration; a package's is below that of the imported project."""
    own: dict[str, Any] = {}
    above: dict[str, Any] = {}
    for plural in ("tests", "data_tests"):
        for index, (path, tree) in enumerate(session.project_levels(test.package, plural)):
            said = Rendering(path, test.package, of_project=True)
            for level, _ in levels(tree, [test.package, *test.folders]):
                evaluated = session.value(level, said)
                if index == 0:
                    own = merged(own, evaluated)
                else:
                    above = merged(above, evaluated)
    return table(merged(merged(own, {clean(str(key)): value for key, value in config.items()}), above))


def _usable(test: Test, config: Table) -> bool:
    if config.get("enabled", True) in {False, "false", "False"}:
        test.disabled = "by `enabled: false`"
        return False
    if config.get("store_failures"):
        test.notes.append("store_failures was left out: a verdict keeps samples")
    return True


def _unknown_parts() -> tuple[str, str]:
    raise CannotKeep("D805", "the parts of a name are read where a test's rows are chosen", "write the condition as the test's `where`")


def _argument(session: Session, value: Any, rendering: Rendering) -> Any:
    if isinstance(value, str) and "{{" not in value and _CALL.fullmatch(value):
        return session.value("{{ " + value + " }}", rendering)
    return session.value(value, rendering)


_NATIVE: Final = frozenset({"unique", "not_null", "accepted_values", "relationships"})


def _native(name: str, arguments: Table, column: str | None, rendering: Rendering) -> dict[str, Any] | None:
    if column is None or not re.fullmatch(r"\w+", column):
        return None
    match name:
        case "unique":
            return {"unique": [column]}
        case "not_null":
            return {"not_null": [column]}
        case "accepted_values":
            values = arguments.get("values")
            if not isinstance(values, list) or not values or arguments.get("quote") is False:
                return None
            if not all(isinstance(each, str) for each in values):
                return None
            return {"accepted_values": {"column": column, "values": list(values)}}
        case "relationships":
            to, field_ = str(arguments.get("to")), str(arguments.get("field"))
            if (to not in rendering.refs and to not in rendering.sources) or not re.fullmatch(r"\w+", field_):
                return None
            return {"relationships": {"column": column, "to": to, "to_column": field_}}
        case _:
            return None


def _sql(value: Any, *, quote: bool) -> str:
    if isinstance(value, bool):
        return "'True'" if quote and value else "'False'" if quote else str(value).lower()
    if isinstance(value, dt.date | dt.datetime):
        value = value.isoformat()
    return "'" + str(value).replace("'", "''") + "'" if quote else str(value)


def _own(session: Session, test: Test, name: str) -> Macro | None:
    """The macro of a generic test, where a project or package has one: it stands before dbt's own of that name."""
    package, _, last = name.removeprefix("dbt.").rpartition(".")
    places = [(owner, f"test_{last}") for owner in ([package] if package else [test.package, session.root])]
    if not package and name.startswith("dbt."):
        places = []
    if not package and last in _NATIVE:
        # dbt's own test dispatches, and the project is asked first.
        places += [(session.root, f"{prefix}test_{last}") for prefix in ("duckdb__", "default__")]
    found = (session.macros.get(owner, {}).get(called) for owner, called in places)
    return next((macro for macro in found if macro is not None), None)


def _failing(
    session: Session,
    test: Test,
    name: str,
    arguments: Table,
    column: str | None,
    model: Relation | str,
    rendering: Rendering,
    declared: str | None,
) -> str | None:
    short = name.removeprefix("dbt.")
    macro = _own(session, test, name)
    if macro is not None:
        given = {"model": model, **arguments, **({"column_name": declared} if declared is not None else {})}
        text = str(session.call(macro, rendering, **given)).strip().rstrip(";").rstrip()
        rendering.macros.add(f"{macro.package}.{macro.name}")
        return text
    match short:
        case "unique" if column:
            return f"select {column} as unique_field, count(*) as n_records from {model} where {column} is not null group by {column} having count(*) > 1"
        case "not_null" if column:
            return f"select {column} from {model} where {column} is null"
        case "accepted_values" if column:
            return _not_accepted(column, arguments, str(model))
        case "relationships" if column:
            return (
                f"select child.{column} as from_field from {model} as child left join {arguments.get('to')} as parent "
                f"on child.{column} = parent.{arguments.get('field')} where child.{column} is not null and parent.{arguments.get('field')} is null"
            )
        case _:
            pass
    known = WITHOUT_PACKAGE.get(short)
    return None if known is None else known(str(model), column, arguments)


def _not_accepted(column: str, arguments: Table, model: str) -> str:
    """The question as dbt puts it: a value is a quoted text unless `quote: false` says that it is SQL, whatever the column's type."""
    quote = arguments.get("quote") is not False
    values = ", ".join(_sql(each, quote=quote) for each in listed(arguments.get("values")))
    return f"select {column} as value_field, count(*) as n_records from {model} where {column} not in ({values}) group by {column}"


def _severity(config: Table) -> dict[str, Any]:
    return {"severity": "warn"} if str(config.get("severity", "error")).lower() == "warn" else {}


def _made(test: Test, failing: str, config: Table, words: list[str]) -> None:
    if config.get("limit"):
        failing = f"select * from (\n{failing}\n) as failing limit {int(config['limit'])}"
    warn = str(config.get("severity", "error")).lower() == "warn"
    calc = str(config.get("fail_calc") or "count(*)")
    error_if, warn_if = config.get("error_if"), config.get("warn_if")
    if calc == "count(*)" and error_if is None and warn_if is None:
        test.checks = [{"sql": failing, **_severity(config)}]
        _named(test, words, config)
        return
    for condition in (error_if, warn_if):
        if condition is not None and not _CONDITION.fullmatch(str(condition)):
            test.refuse("D815", f"its threshold `{condition}` is no comparison with a number", "write it like >10")
            return

    def beyond(condition: Any) -> str:
        written = str(condition if condition is not None else "!= 0").strip()
        return f"select * from (select {calc} as failures from (\n{failing}\n) as failing) as counted where failures {written}"

    if not warn:
        test.checks.append({"sql": beyond(error_if)})
    if warn or (warn_if or "!= 0") != (error_if or "!= 0"):
        test.checks.append({"sql": beyond(warn_if), "severity": "warn"})
    _named(test, words, config)


def _named(test: Test, words: list[str], config: Table) -> None:
    stem = str(config.get("name") or "_".join(words))
    base = re.sub(r"[^a-z0-9_]+", "_", stem.lower()).strip("_") or "check"
    base = f"c_{base}" if base[0].isdigit() else base
    for index, check in enumerate(test.checks):
        check["name"] = base if index == 0 else f"{base}_warn"
        if isinstance(config.get("description"), str) and "{{" not in config["description"]:
            check["description"] = config["description"].strip()


def item_of(test: Test) -> Item:
    """What became of a test."""
    common: dict[str, Any] = {
        "kind": "test",
        "name": f"{test.name} on {test.about}" if test.about else test.name,
        "path": test.path,
        "line": test.line,
    }
    if test.disabled:
        return Item(status="disabled", why=test.disabled, **common)
    if test.problem is not None:
        problem = test.problem
        return Item(status="refused", code=problem.code, why=problem.why, remedy=problem.remedy, **common)
    into = f"{test.owner.written[-1]}" if test.owner is not None and test.owner.written else ""
    return Item(status="converted", why="; ".join(test.notes), into=into, written="yes", **common)


def own(owner: Node) -> str:
    """How a check names the relation that it is about."""
    return quoted(owner.into)
