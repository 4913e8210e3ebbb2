"""Jinja as dbt has it: its sandbox, its block tags, and what an unevaluated template calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace, TracebackType
from typing import Any, Final, NamedTuple, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import missing

MACRO: Final = "dbt_macro__"
"""Before each macro's name once compiled, so that one macro finds another only through us, as in dbt."""

RUN_TIME: Final = frozenset({"run_query", "statement", "load_result", "load_relation", "load_cached_relation", "graph", "store_result"})
"""Names that ask the database, or what else is built."""
PHASE: Final = "execute"
"""The name that says whether dbt makes the text that runs, or looks for references and configuration."""


class CannotKeep(Exception):  # noqa: N818 - an answer, not a crash
    """Something of a template has no counterpart: its code, why, and what helps."""

    def __init__(self, code: str, why: str, remedy: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.remedy = remedy


class Unknown(Undefined):
    """A name that nothing has: false in a test, as in dbt, and refused where it would become text.

    One that a template sets in a branch which was not taken, and a key that a mapping does not have, are empty, as in dbt.
    """

    assigned: frozenset[str] | set[str] = frozenset()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        self._fail_with_undefined_error()

    def _empty(self) -> bool:
        return self._undefined_obj is not missing or self._undefined_name in self.assigned

    def __str__(self) -> str:
        return "" if self._empty() else self._refuse()

    def __iter__(self) -> Iterator[Any]:
        return iter(()) if self._empty() else self._refuse()

    def __len__(self) -> int:
        return 0 if self._empty() else self._refuse()

    __hash__ = Undefined.__hash__


class Macros(SimpleNamespace):
    """The macros of a package by name. A name may begin with an underscore: it is no attribute of Python's."""


class _Blocks(Extension):
    """The block tags that dbt adds: each becomes a macro whose name says what it is."""

    tags = {"test", "data_test", "materialization", "snapshot", "docs"}

    def parse(self, parser: Parser) -> nodes.Node:
        """One block."""
        token = next(parser.stream)
        macro = nodes.Macro(lineno=token.lineno)
        macro.args, macro.defaults = [], []
        kind = token.value
        name = parser.parse_assign_target(name_only=True).name
        if kind in {"test", "data_test"}:
            parser.parse_signature(macro)
            ends: tuple[str, ...] = ("name:endtest", "name:enddata_test")
            macro.name = f"test_{name}"
        else:
            adapter = "default"
            while parser.stream.skip_if("comma"):
                word = next(parser.stream)
                if word.value != "default":
                    parser.stream.expect("assign")
                    given = _literal(parser.parse_expression())
                    adapter = str(given) if word.value == "adapter" else adapter
            ends = (f"name:end{kind}",)
            macro.name = f"{kind}_{name}_{adapter}" if kind == "materialization" else f"{kind}_{name}"
        macro.body = parser.parse_statements(ends, drop_needle=True)
        return macro


class _Sandbox(SandboxedEnvironment):
    """The sandbox, with nothing of Python's to reach for."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read an attribute."""
        if isinstance(obj, Macros):
            return not attr.startswith("__")
        return super().is_safe_attribute(obj, attr, value)


def environment() -> SandboxedEnvironment:
    """A sandbox as dbt sets Jinja up."""
    unknown = type("Unknown", (Unknown,), {"assigned": set()})
    made = _Sandbox(
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", _Blocks], undefined=unknown, keep_trailing_newline=True, autoescape=False
    )
    made.filters["random"] = _by_chance
    made.globals["lipsum"] = _by_chance
    made.filters["as_text"] = made.filters["as_native"] = made.filters["as_number"] = made.filters["as_bool"] = _as_it_is
    return made


def assign(env: SandboxedEnvironment, tree: nodes.Node) -> None:
    """Remember the names that a template sets."""
    env.undefined.assigned.update(name.name for name in tree.find_all(nodes.Name) if name.ctx == "store")  # type: ignore[attr-defined]


def _by_chance(*_: Any, **__: Any) -> NoReturn:
    raise CannotKeep("D829", "the template draws by chance, and what it drew would be frozen into the SQL", "write what is meant")


def _as_it_is(value: Any) -> Any:
    return value


class Call(NamedTuple):
    """A call that stands in a template: `("dbt_utils", "star")`, its line, and its literal arguments (`None`: computed)."""

    path: tuple[str, ...]
    line: int
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


def path_of(node: nodes.Node) -> tuple[str, ...]:
    """The dotted name that an expression is, or nothing. `context["x"]` counts as `context.x`."""
    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.Getattr):
        above = path_of(node.node)
        return (*above, node.attr) if above else ()
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        above = path_of(node.node)
        return (*above, node.arg.value) if above else ()
    return ()


def _literal(node: nodes.Node) -> Any:
    try:
        return node.as_const() if isinstance(node, nodes.Expr) else None
    except nodes.Impossible:
        return None


def calls(tree: nodes.Node) -> Iterator[Call]:
    """Every call in a template, whichever branch it stands in."""
    for call in tree.find_all(nodes.Call):
        path = path_of(call.node)
        if path:
            keywords = {each.key: _literal(each.value) for each in call.kwargs}
            yield Call(path, call.lineno, tuple(_literal(argument) for argument in call.args), keywords)


def mentions(tree: nodes.Node, names: frozenset[str]) -> list[tuple[str, int]]:
    """Where names are read, in any spelling: by themselves, behind a dot, or as a key. With their lines."""
    found = [(name.name, name.lineno) for name in tree.find_all(nodes.Name) if name.ctx == "load" and name.name in names]
    found += [(attribute.attr, attribute.lineno) for attribute in tree.find_all(nodes.Getattr) if attribute.attr in names]
    found += [
        (str(item.arg.value), item.lineno)
        for item in tree.find_all(nodes.Getitem)
        if isinstance(item.arg, nodes.Const) and item.arg.value in names
    ]
    return sorted(set(found), key=lambda each: each[1])


def read_names(tree: nodes.Node) -> set[str]:
    """Names and attributes that a template reads: what it may call, and more."""
    found = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "load"}
    found |= {attribute.attr for attribute in tree.find_all(nodes.Getattr)}
    return found | {
        item.arg.value for item in tree.find_all(nodes.Getitem) if isinstance(item.arg, nodes.Const) and isinstance(item.arg.value, str)
    }


def single_expression(env: SandboxedEnvironment, text: str) -> str | None:
    """The expression of a text that is one `{{ … }}` and nothing else: it keeps its native type."""
    stripped = text.strip()
    if not (stripped.startswith("{{") and stripped.endswith("}}")):
        return None
    body = env.parse(stripped).body
    if (
        len(body) != 1
        or not isinstance(body[0], nodes.Output)
        or len(body[0].nodes) != 1
        or isinstance(body[0].nodes[0], nodes.TemplateData)
    ):
        return None
    return stripped[2:-2].strip().strip("-").strip()


class Place(NamedTuple):
    """Where evaluating a template stopped."""

    path: str
    line: int


def places(traceback: TracebackType | None) -> list[Place]:
    """The lines of templates in a traceback, outermost first."""
    found: list[Place] = []
    while traceback is not None:
        frame = traceback.tb_frame
        template = frame.f_globals.get("__jinja_template__")
        if template is not None and template.filename:
            found.append(Place(template.filename, template.get_corresponding_lineno(traceback.tb_lineno)))
        elif "__jinja_exception__" in frame.f_globals:
            found.append(Place(frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


EVALUATION: Final = (
    *(TemplateError, SecurityError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError),
    *(RuntimeError, MemoryError, StopIteration, SyntaxError, AssertionError, re.error),
)
"""What evaluating somebody's template may raise, besides our own refusals."""


def syntax_error(error: BaseException) -> tuple[str, int | None]:
    """What is wrong with a template's syntax, and where."""
    if isinstance(error, TemplateSyntaxError):
        return error.message or "it does not parse", error.lineno
    return str(error) or type(error).__name__, None
