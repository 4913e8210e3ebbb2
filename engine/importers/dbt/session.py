"""Evaluates a project's templates: the names that dbt gives them, each as far as its meaning can be kept."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

from jinja2 import TemplateSyntaxError, nodes

from interlock.engine.importers.dbt import builtin, constants
from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt.given import ASKS, DATABASE, NOT_GIVEN, Adapter, Config, TargetRead, Variable
from interlock.engine.importers.dbt.objects import CLOCK, Datetime, Flags, Now, OrderedSet, Phase, Refusing, Relation
from interlock.engine.importers.dbt.suggest import did_you_mean
from interlock.engine.importers.dbt.template import CannotKeep
from interlock.engine.importers.dbt.yamls import Table

SECRET: Final = re.compile(r"SECRET|PASSWORD|PASSWD|TOKEN|PRIVATE|CREDENTIAL|API_?KEY", re.IGNORECASE)
TYPES: Final = {
    "string": "TEXT",
    "timestamp": "TIMESTAMP",
    "float": "FLOAT",
    "integer": "INT",
    "boolean": "BOOLEAN",
    "numeric": "numeric",
    "bigint": "BIGINT",
}


class Returned(BaseException):
    """`return(x)` in a macro: its value is the call's."""

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass
class Rendering:
    """What is being evaluated, and what it asked for."""

    path: str
    package: str
    configs: dict[str, Any] = field(default_factory=dict)
    refs: dict[str, tuple[str | None, str, str | None]] = field(default_factory=dict)
    """Mark in the text → package, name and version."""
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    environment: set[str] = field(default_factory=set)
    macros: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    config: Mapping[str, Any] = field(default_factory=dict)
    above: dict[str, Any] = field(default_factory=dict)
    """Configuration that wins over the template's own."""
    config_read: bool = False
    is_early: bool = False
    """Whether it read names or configuration that were not final by then."""
    is_parsing: bool = False
    """Whether dbt would only look for references and configuration: what it evaluates then is no text that runs."""
    phase_read: bool = False
    answers: dict[str, list[tuple[int | None, ...]]] = field(default_factory=dict)
    """By the name that a template gives a query: its rows."""
    is_settled: bool = False
    """Whether its configuration is final: dbt passes over what the text that runs sets."""
    of_project: bool = False
    """Whether it is a value of dbt_project.yml or profiles.yml, which dbt reads before it knows the project's own variables."""
    this: Any = None
    model: Any = None


@dataclass
class Macro:
    """A macro: where it stands, and its body unevaluated."""

    package: str
    name: str
    path: str
    line: int
    tree: nodes.Macro
    used: int = 0


class MacroCall:
    """A macro as templates see it."""

    def __init__(self, session: Session, macro: Macro) -> None:
        self._session = session
        self._macro = macro

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What it gives: its text, or what it returns."""
        session, macro = self._session, self._macro
        if macro.package == "dbt":
            macro = session.override(macro.name) or macro
        if macro.path in session.broken:
            raise CannotKeep("D805", f"macro `{macro.name}` stands in {macro.path}, which does not parse", "correct that file")
        session.current.macros.add(f"{macro.package}.{macro.name}")
        macro.used += 1
        body = getattr(session.module(macro), t.MACRO + macro.name)
        session.depth += 1
        try:
            if session.depth > 200:
                raise CannotKeep("D805", f"macro `{macro.name}` calls itself without an end", "give it an end")
            return body(*arguments, **named)
        except Returned as returned:
            return returned.value
        finally:
            session.depth -= 1


_DEFINES: Final = re.compile(r"\b(macro|test|data_test)\s+([A-Za-z_]\w*)")


class Session:
    """One project's names and macros."""

    def __init__(self, *, root: str, target: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self.env = t.environment()
        self.env.tests |= {"true": lambda value: _is(value, True), "false": lambda value: _is(value, False)}
        self.root = root
        self.current = Rendering("", root)
        self.depth = 0
        self.given = environment
        self.variables: dict[str, dict[str, Any]] = {}
        """By package: the variables that its templates see."""
        self.docs: dict[str, str] = {}
        self.dispatch_order: dict[str, list[str]] = {}
        self.packages: list[str] = [root]
        self.macros: dict[str, dict[str, Macro]] = {}
        self.resolved: dict[str, str] = {}
        """Dispatched macro → which one won, and why."""
        self.parts_of: Callable[[str, tuple[str, ...]], tuple[str, str]] | None = None
        """Schema and name of what a `ref` or `source` of a package means; nothing until all names are known."""
        self.target_schema = str(target.get("schema", "main"))
        self.broken: set[str] = set()
        """Files of macros that do not parse: what their macros do is not known, so nobody else's stand in for them."""
        self._files: dict[str, tuple[nodes.Template, str]] = {}
        self._modules: dict[tuple[str, str], Any] = {}
        """Macros of a file, by the package of what calls them."""
        self._globals: dict[tuple[str, str], dict[str, Any]] = {}
        self._target = TargetRead(self, target)
        self._marks = itertools.count()
        self.configuration: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        """By package: its dbt_project.yml and those above it with their paths, lowest first."""
        self.used_variables: dict[str, tuple[Any, set[str]]] = {}
        self.unseen_variables: dict[str, set[str]] = {}
        """Declared ones that dbt_project.yml itself reads, where they have no value yet: the files."""
        self.used_environment: dict[str, set[str]] = {}
        self.add_macros("dbt", builtin.PATH, builtin.SOURCE)

    # --- macros ---

    def add_macros(self, package: str, path: str, source: str) -> list[Macro]:
        """Read a macro file; answers with its macros.

        Raises:
            TemplateSyntaxError: it does not parse.
        """
        tree = self.env.parse(source, filename=path)
        t.assign(self.env, tree)
        found = [Macro(package, node.name, path, node.lineno, node) for node in tree.find_all(nodes.Macro)]
        for macro in found:
            macro.tree.name = t.MACRO + macro.name
            self.macros.setdefault(package, {})[macro.name] = macro
        self._files[path] = (tree, package)
        self._globals.clear()
        return found

    def add_broken_macros(self, package: str, path: str, source: str) -> None:
        """Keep the names that a macro file would define, where it does not parse, so that no other macro is taken in their place."""
        self.broken.add(path)
        for found in _DEFINES.finditer(source):
            kind, name = found[1], found[2]
            with contextlib.suppress(TemplateSyntaxError):  # a word after `macro` in a comment, that is no name
                tree = self.env.parse(f"{{% {kind} {name}() %}}{{% end{kind} %}}", filename=path)
                line = source.count("\n", 0, found.start()) + 1
                for macro in tree.find_all(nodes.Macro):
                    self.macros.setdefault(package, {})[macro.name] = Macro(package, macro.name, path, line, macro)
        self._globals.clear()

    def project_levels(self, package: str, plural: str) -> list[tuple[str, Any]]:
        """The trees of configuration for a kind of resource with the files that they stand in, lowest first."""
        return [(path, config.get(plural)) for path, config in self.configuration.get(package, [])]

    def module(self, macro: Macro) -> Any:
        """The macros of a file, made when the first of them is called.

        A bare name in them means what it means where the template stands that is evaluated, as in dbt: the project's own macro takes
        the place of a package's that another of that package calls by its bare name.
        """
        key = (macro.path, self.current.package)
        if key not in self._modules:
            tree, package = self._files[macro.path]
            self._modules[key] = self.compiled(tree, macro.path, self.current.package, package).make_module({})
        return self._modules[key]

    def compiled(self, source: str | nodes.Template, path: str, package: str, within: str = "") -> Any:
        """A template with the names of its package; `within`: the one that has the macros which it is."""
        code = self.env.compile(source, name=path, filename=path)
        return self.env.template_class.from_code(self.env, code, self.env.make_globals(self.names(package, within)), None)

    def macro(self, package: str, name: str) -> Macro | None:
        """The macro that a name means within a package: its own, the project's, then dbt's."""
        for each in dict.fromkeys([package, self.root, "dbt"]):
            if name in self.macros.get(each, {}):
                return self.macros[each][name]
        return None

    def names_macro(self, component: str, package: str) -> Macro | None:
        """The macro that makes a part of a relation's name, where it is not dbt's own: the package's, or the project's."""
        name = f"generate_{component}_name"
        for each in dict.fromkeys([package, self.root]):
            if name in self.macros.get(each, {}):
                return self.macros[each][name]
        return self.override(name)

    def override(self, name: str) -> Macro | None:
        """What takes the place of one of dbt's own macros, since dbt dispatches them: the project's, or by its dispatch order."""
        for each in self.dispatch_order.get("dbt") or [self.root]:
            if each == "dbt":
                return None
            for prefix in ("duckdb__", "default__"):
                found = self.macros.get(each, {}).get(prefix + name)
                if found is not None:
                    self.resolved[f"dbt.{name}"] = f"{each}.{found.name} ({found.path}:{found.line}), before dbt's own"
                    return found
        return None

    def dispatch(self, name: str, namespace: str | None, package: str) -> MacroCall:
        """The macro that `adapter.dispatch` means for DuckDB."""
        order = self.dispatch_order.get(namespace or "", [])
        why = f"by the dispatch order of {namespace}"
        if not order and namespace is not None:
            order, why = [self.root, namespace], f"the project first, then {namespace}"
        elif not order:
            order, why = [package, self.root, *self.packages, "dbt"], "the first that has it"
        for each in dict.fromkeys(order):
            for prefix in ("duckdb__", "default__", *(("",) if each == "dbt" else ())):
                found = self.macros.get(each, {}).get(prefix + name)
                if found is not None:
                    self.resolved[f"{namespace or package}.{name}"] = f"{each}.{found.name} ({found.path}:{found.line}), {why}"
                    return MacroCall(self, found)
        if namespace in {None, "dbt"} and name in self.macros["dbt"]:
            return MacroCall(self, self.macros["dbt"][name])
        raise CannotKeep(
            "D806", f"`adapter.dispatch('{name}')` finds no macro for DuckDB in {', '.join(order)}", f"write a macro `duckdb__{name}`"
        )

    # --- names ---

    def names(self, package: str, within: str = "") -> dict[str, Any]:
        """What a template of this package can read, or a macro of the package `within` that it calls."""
        key = (package, within or package)
        if key not in self._globals:
            found = self._built_in(package)
            for owner in reversed(dict.fromkeys([package, self.root, key[1], "dbt"])):
                found.update({name: MacroCall(self, macro) for name, macro in self.macros.get(owner, {}).items()})
            for owner, macros in self.macros.items():
                found[owner] = t.Macros(**{name: MacroCall(self, macro) for name, macro in macros.items()})
            self._globals[key] = found
        return self._globals[key]

    def _built_in(self, package: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "ref": self._ref,
            "source": self._source,
            "config": Config(self),
            "var": Variable(self),
            "env_var": self._env_var,
            "doc": self._doc,
            "this": Now(lambda: self.current.this, self.early),
            "model": Now(lambda: self.current.model, self.early),
            "target": self._target,
            "adapter": Adapter(self, package),
            "return": self._return,
            "log": lambda *_, **__: "",
            "print": lambda *_, **__: "",
            "fromjson": lambda text, *_: json.loads(text),
            "tojson": lambda value, *_, sort_keys=False: json.dumps(value, sort_keys=sort_keys, default=str),
            "set": lambda value, *_: OrderedSet(value),
            "set_strict": OrderedSet,
            "zip_strict": lambda *lists: list(zip(*lists, strict=False)),
            "local_md5": lambda text: hashlib.md5(str(text).encode(), usedforsecurity=False).hexdigest(),
            "zip": lambda *lists, **_: list(zip(*lists, strict=False)),
            "exceptions": SimpleNamespace(raise_compiler_error=self._raise, warn=lambda *_: "", raise_not_implemented=self._raise),
            "api": SimpleNamespace(Column=SimpleNamespace(translate_type=lambda name: TYPES.get(str(name).lower(), name))),
            "modules": SimpleNamespace(
                re=SimpleNamespace(
                    **{name: getattr(re, name) for name in ("match", "search", "sub", "findall", "fullmatch", "split", "compile")}
                ),
                datetime=Datetime(),
                itertools=SimpleNamespace(chain=itertools.chain, product=itertools.product),
            ),
            "flags": Flags(),
            "project_name": self.root,
            "is_incremental": Refusing(
                "is_incremental()",
                "D803",
                "the engine restricts to new rows by itself",
                "write the full query and a sidecar with its watermark",
            ),
            "should_full_refresh": Refusing(
                "should_full_refresh()", "D803", "the engine decides what is built anew", "write the full query"
            ),
            "run_started_at": Refusing("run_started_at", "D829", CLOCK, "use the variable $as_of"),
            "invocation_id": Refusing("invocation_id", "D829", "it differs with every run", "leave it out; the receipts name runs"),
            "dbt_version": Refusing("dbt_version", "D805", "the version of dbt is read", "leave it out"),
            "invocation_args_dict": Refusing("invocation_args_dict", "D805", "how dbt was called is read", "decide it in the model"),
            "selected_resources": Refusing("selected_resources", "D804", "what dbt was asked to run is read", "leave it out"),
            "validate": Refusing("validate", "D805", "it has no counterpart", "leave it out"),
        }
        found[t.PHASE] = Phase(self._runs)
        for name in t.RUN_TIME:
            found[name] = Refusing(name, "D804", DATABASE, ASKS)
        found["statement"], found["load_result"] = self._statement, self._load_result
        found["builtins"] = SimpleNamespace(ref=found["ref"], source=found["source"], config=found["config"])
        found["context"] = found
        return found

    def _runs(self) -> bool:
        self.current.phase_read = True
        return not self.current.is_parsing

    def _statement(
        self, name: str | None = None, *_: Any, language: str = "sql", caller: Callable[[], str] | None = None, **__: Any
    ) -> str:
        """A query of the template: asked where the text is made that runs, if it reads nothing."""
        if self._runs() and caller is not None:
            if language != "sql":
                raise CannotKeep("D804", f"`statement`: {DATABASE}", ASKS)
            text = " ".join(str(caller()).split())
            rows = constants.answer(text)
            shown = ", ".join(str(value) for row in rows[:3] for value in row)
            self.current.targets.add(f"`{text}` = {shown}")
            self.current.answers[str(name)] = rows
        return ""

    def _load_result(self, name: str) -> Any:
        if not self._runs():
            return None
        if name not in self.current.answers:
            raise CannotKeep("D804", f"`load_result`: {DATABASE}", ASKS)
        refusing = Refusing("load_result", "D804", DATABASE, ASKS)
        return {"data": self.current.answers[name], "table": refusing, "response": refusing}

    def _mark(self, kind: str) -> str:
        return f"il{kind}_{next(self._marks)}_z"

    def _ref(self, *arguments: Any, **named: Any) -> Relation:
        version = named.get("v", named.get("version"))
        if len(arguments) not in {1, 2} or not all(isinstance(each, str) for each in arguments):
            raise CannotKeep("D805", "`ref` takes a model's name, or a package and a name", "write ref('model')")
        package, name = (None, arguments[0]) if len(arguments) == 1 else arguments
        mark = self._mark("ref")
        reference = (package, name, None if version is None else str(version))
        self.current.refs[mark] = reference
        return Relation(mark, lambda: self._parts("ref", name, (package or "", name, reference[2] or "")))

    def _source(self, *arguments: Any) -> Relation:
        if len(arguments) != 2 or not all(isinstance(each, str) for each in arguments):
            raise CannotKeep("D805", "`source` takes a source's name and a table's", "write source('raw', 'orders')")
        mark = self._mark("src")
        self.current.sources[mark] = (arguments[0], arguments[1])
        return Relation(mark, lambda: self._parts("source", arguments[1], arguments))

    def early(self) -> None:
        """Note that a name or a configuration was read; as long as they are not final, what came of it is not either."""
        if self.parts_of is None:
            self.current.is_early = True

    def _parts(self, kind: str, name: str, reference: tuple[str, ...]) -> tuple[str, str]:
        self.early()
        if self.parts_of is None:
            return self.target_schema, name
        return self.parts_of(kind, (self.current.package, *reference))

    def _env_var(self, name: str, default: Any = NOT_GIVEN) -> Any:
        self.current.environment.add(name)
        self.used_environment.setdefault(name, set()).add(self.current.path)
        if SECRET.search(name):
            raise CannotKeep(
                "D813", f"environment variable `{name}` is a secret", "secrets are for interlock.toml: write ${" + name + "} there"
            )
        if name in self.given:
            return self.given[name]
        if default is NOT_GIVEN:
            raise CannotKeep("D812", f"environment variable `{name}` is not set, and has no default", f"set {name}, and import again")
        return default

    def _doc(self, *arguments: str) -> str:
        name = arguments[-1]
        if name not in self.docs:
            raise CannotKeep("D807", f"no docs block is called `{name}`", did_you_mean(name, self.docs, "write it in a .md file"))
        return self.docs[name]

    def _return(self, value: Any = None) -> Any:
        raise Returned(value)

    def _raise(self, message: Any = "", *_: Any) -> Any:
        raise CannotKeep("D805", f"the template raises: {message}", "see to what it asks for")

    # --- evaluating ---

    def render(self, source: str | nodes.Template, rendering: Rendering) -> str:
        """The text of a template. `rendering` is told what it asked for.

        Raises:
            CannotKeep: it asks for something without a counterpart.
            EVALUATION: Jinja's own errors.
        """
        text: str = self._evaluate(rendering, lambda: str(self.compiled(source, rendering.path, rendering.package).render()))
        return text

    def call(self, macro: Macro, rendering: Rendering, **named: Any) -> Any:
        """What a macro gives."""
        return self._evaluate(rendering, lambda: MacroCall(self, macro)(**named))

    def value(self, text: Any, rendering: Rendering) -> Any:
        """A value of a YAML file with its templates evaluated; a lone expression keeps its type."""
        if isinstance(text, dict):
            made = Table({self.value(key, rendering): self.value(each, rendering) for key, each in text.items()})
            made.line, made.lines = getattr(text, "line", 1), getattr(text, "lines", {})
            return made
        if isinstance(text, list):
            return [self.value(each, rendering) for each in text]
        if not isinstance(text, str) or ("{{" not in text and "{%" not in text):
            return text
        expression = t.single_expression(self.env, text)
        if expression is None:
            return self.render(text, rendering)
        names = self.names(rendering.package)
        found = self._evaluate(rendering, lambda: self.env.compile_expression(expression, undefined_to_none=False)(**names))
        if isinstance(found, t.Unknown):
            str(found)  # refuses, with its name
        if isinstance(found, Relation | MacroCall):
            return str(found)
        return {"true": True, "false": False}.get(found.strip().lower(), found) if isinstance(found, str) and "as_" in expression else found

    def _evaluate(self, rendering: Rendering, work: Callable[[], Any]) -> Any:
        before, self.current = self.current, rendering
        depth = self.depth
        try:
            return work()
        except Returned as returned:
            return returned.value
        except RecursionError as error:
            raise CannotKeep("D805", "the template is nested too deeply", "make it smaller") from error
        finally:
            self.current, self.depth = before, depth

    def reached(self, names: Iterable[str], package: str) -> list[Macro]:
        """Every macro that may be called from these names, through others too."""
        seen: dict[int, Macro] = {}
        waiting = [(name, package) for name in names]
        while waiting:
            name, owner = waiting.pop()
            for macro in [
                self.macro(owner, name),
                *(macros.get(name) for macros in self.macros.values()),
                *(macros.get(prefix + name) for macros in self.macros.values() for prefix in ("duckdb__", "default__")),
            ]:
                if macro is not None and id(macro) not in seen and macro.package != "dbt":
                    seen[id(macro)] = macro
                    dispatched = {each.value for each in macro.tree.find_all(nodes.Const) if isinstance(each.value, str)}
                    waiting += [
                        (each, macro.package)
                        for each in t.read_names(macro.tree) | (dispatched if "dispatch" in t.read_names(macro.tree) else set())
                    ]
        return list(seen.values())


def _is(value: Any, wanted: bool) -> bool:  # noqa: FBT001 - a test of Jinja's: it is given what it is asked of
    return bool(value) is wanted if isinstance(value, Phase) else value is wanted


def late(running: Rendering, parsing: Rendering, given: Iterable[Any] = ()) -> CannotKeep | None:
    """The refusal of what a template refers to only where it runs: dbt does not know in time that it reads it, and stops."""
    known = {*parsing.refs.values(), *parsing.sources.values(), *given}
    for reference in (*running.refs.values(), *running.sources.values()):
        if reference not in known:
            said = ".".join(part for part in reference[:2] if part)
            why = f"`{said}` is referred to only where `execute` is true, and dbt orders models by what it finds before"
            return CannotKeep("D804", why, "refer to it outside of that branch, too; dbt refuses it as it is")
    return None


def parse_error(error: TemplateSyntaxError) -> CannotKeep:
    """A template's syntax error as a refusal."""
    return CannotKeep("D805", f"the template does not parse: {error.message}", "correct it; dbt refuses it, too")
