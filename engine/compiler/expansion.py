"""Calls of the project's macros put in by what they stand for, in a syntax tree that is only looked at, never run.

A call is put in where it is sure what the engine makes of it. Arguments mean what they mean where the call stands: where the
body has a scope of its own that could capture a name of theirs, the call is left as it is, and nothing is known of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from interlock.engine.compiler.reading import QUERIES
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.parser import Statements, Token, Tree

_DEPTH_MAX: Final = 32
_NODES_MAX: Final = 20_000
_PLAIN: Final = frozenset(
    {
        "class",
        "type",
        "alias",
        "function_name",
        "qualified_name",
        "arguments",
        "order_bys",
        "is_operator",
        "query_location",
        "query_location_length",
    }
)
"""What a call may hold; a filter, a schema or DISTINCT is something else."""
_PLACE: Final = frozenset({"query_location", "query_location_length"})
_IS: Final = frozenset({":=", "=>"})
_FROM: Final = frozenset({"type", "alias", "column_name_alias", "function", "query_location", "query_location_length"})


class Body(NamedTuple):
    """What one overload of a macro stands for: an expression, or a query."""

    parameters: tuple[str, ...]
    defaults: Mapping[str, Tree]
    table: bool
    tree: Tree


class Bodies:
    """The macros of a project. One that cannot be read as a whole is not there."""

    def __init__(self, statements: Iterable[str]) -> None:
        """Read CREATE MACRO statements."""
        self._by_name: dict[str, tuple[Body, ...]] = {}
        for statement in statements:
            name, bodies = _bodies(statement)
            if bodies:
                self._by_name[name] = bodies

    def expanded(self, tree: Tree) -> Tree:
        """A copy of a statement's tree with the calls in it put in; the tree itself where there are none."""
        if not self._by_name or not self._calls(tree):
            return tree
        self._left = _NODES_MAX
        found: Tree = self._put_in(tree, 0)
        return found

    def _calls(self, tree: Any) -> bool:
        if isinstance(tree, list):
            return any(map(self._calls, tree))
        if not isinstance(tree, dict):
            return False
        return tree.get("function_name", "").lower() in self._by_name or any(map(self._calls, tree.values()))

    def _put_in(self, tree: Any, depth: int) -> Any:
        if isinstance(tree, list):
            return [self._put_in(part, depth) for part in tree]
        if not isinstance(tree, dict):
            return tree
        self._left -= 1
        copy = {label: self._put_in(part, depth) for label, part in tree.items()}
        kind = copy.get("type")
        if depth >= _DEPTH_MAX or self._left < 0:
            return copy
        if kind == "FUNCTION" and copy.keys() <= _PLAIN:
            body, values = self._chosen(copy, table=False)
            if body is not None:
                found = self._put_in(_substituted(body.tree, values, _place(copy)), depth + 1)
                return {**found, **({"alias": copy["alias"]} if "alias" in copy else {})} if isinstance(found, dict) else copy
        if kind == "TABLE_FUNCTION" and copy.keys() <= _FROM and copy.get("function", {}).keys() <= _PLAIN:
            body, values = self._chosen(copy["function"], table=True)
            if body is not None:
                node = self._put_in(_substituted(body.tree, values, _place(copy)), depth + 1)
                rest = {label: part for label, part in copy.items() if label != "function"}
                return {**rest, "type": "SUBQUERY", "subquery": {"node": node}}
        return copy

    def _chosen(self, call: Tree, *, table: bool) -> tuple[Body | None, dict[str, Tree]]:
        """The only overload that takes the arguments, and what each of its parameters is."""
        arguments = call.get("arguments", [])
        orders = call.get("order_bys", {}).get("orders")
        fitting = [
            (body, values)
            for body in self._by_name.get(call.get("function_name", "").lower(), ())
            if body.table == table and (values := _values(body, arguments)) is not None
        ]
        if len(fitting) != 1 or orders:
            return None, {}
        body, values = fitting[0]
        return (body, values) if _is_safe(body, values) else (None, {})


def _values(body: Body, arguments: list[Tree]) -> dict[str, Tree] | None:
    values: dict[str, Tree] = {}
    position = 0
    for argument in arguments:
        name = argument.get("name", "").lower()
        if not name:
            if position >= len(body.parameters):
                return None
            name = body.parameters[position]
            position += 1
        if name in values or name not in body.parameters:
            return None
        values[name] = argument["expression"]
    missing = [name for name in body.parameters if name not in values]
    if any(name not in body.defaults for name in missing):
        return None
    return {**values, **{name: body.defaults[name] for name in missing}}


def _is_safe(body: Body, values: Mapping[str, Tree]) -> bool:
    names = {name for value in values.values() for name in _names(value)}
    if any(_has(value, {"STAR", "OPERATOR_UNPACK"}) for value in values.values()):
        return False  # one call is then several
    if _has(body.tree, QUERIES) and (names or any(_has(value, QUERIES) for value in values.values())):
        return False  # a query in the body may have columns, or CTEs, of these names
    bound = {name.lower() for part in _of_type(body.tree, "LAMBDA") for name in _names(part.get("lhs"))}
    if bound & (names | set(body.parameters)):
        return False
    # `parameter.field` is a field of what is given: not put in
    return all(
        len(reference) == 1 or reference[0].lower() not in values
        for part in _of_type(body.tree, "COLUMN_REF")
        if (reference := part.get("column_names", []))
    )


def _place(call: Tree) -> Tree:
    return {label: call[label] for label in _PLACE if label in call}


def _substituted(tree: Any, values: Mapping[str, Tree], place: Tree) -> Any:
    """A copy of a body that stands where the call stands, with values for parameters."""
    if isinstance(tree, list):
        return [_substituted(part, values, place) for part in tree]
    if not isinstance(tree, dict):
        return tree
    names = tree.get("column_names", ())
    if tree.get("type") == "COLUMN_REF" and len(names) == 1 and names[0].lower() in values:
        value = {label: part for label, part in _copy(values[names[0].lower()]).items() if label != "alias"}
        return {**value, **({"alias": tree["alias"]} if "alias" in tree else {})}
    copy = {label: _substituted(part, values, place) for label, part in tree.items() if label not in _PLACE}
    return {**copy, **place} if "query_location" in tree else copy


def _copy(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_copy(part) for part in tree]
    return {label: _copy(part) for label, part in tree.items()} if isinstance(tree, dict) else tree


def _of_type(tree: Any, kind: str) -> Iterable[Tree]:
    if isinstance(tree, list):
        for part in tree:
            yield from _of_type(part, kind)
    elif isinstance(tree, dict):
        if tree.get("type") == kind:
            yield tree
        for part in tree.values():
            if isinstance(part, dict | list):
                yield from _of_type(part, kind)


def _names(tree: Any) -> set[str]:
    """Every part of every name in it, in small letters."""
    return {name.lower() for part in _of_type(tree, "COLUMN_REF") for name in part.get("column_names", ())}


def _has(tree: Any, kinds: Iterable[str]) -> bool:
    return any(any(True for _ in _of_type(tree, kind)) for kind in kinds)


# --- reading CREATE MACRO ---------------------------------------------------------------------------------------------


def defaults_of(statement: str) -> list[list[str]]:
    """The text of each default that a parameter has, for each overload of a CREATE MACRO statement."""
    data = statement.encode()
    words, place = _words(statement)
    found: list[list[str]] = []
    for first, last in _starts(words, place + 1) if place else ():
        parts = _parts(words[first + 1 : last])
        signs = [next((index for index, word in enumerate(part) if word.text in _IS), len(part)) for part in parts]
        found.append(
            [
                data[part[sign].end : part[-1].end].decode()
                for part, sign in zip(parts, signs, strict=True)
                if sign < len(part)  # else it has none
            ]
        )
    return found


def _words(statement: str) -> tuple[list[Token], int]:
    """Its tokens, and which of them is the macro's name; 0 where it is none."""
    words = [token for token in parser.tokens(statement) if token.kind != "comment"]
    place = next((index for index, word in enumerate(words) if word.text.lower() == "macro"), -1) + 1
    return words, place if place + 1 < len(words) else 0


@functools.lru_cache(maxsize=4096)
def _bodies(statement: str) -> tuple[str, tuple[Body, ...]]:
    """The name of a macro and its overloads; none where one of them cannot be read."""
    data = statement.encode()
    words, place = _words(statement)
    if not place:
        return "", ()
    name = words[place].text.strip('"').lower()
    starts = _starts(words, place + 1)
    found: list[Body] = []
    for number, (first, last) in enumerate(starts):
        end = words[starts[number + 1][0] - 1].start if number + 1 < len(starts) else len(data)
        body = _body(data, words, first, last, end)
        if body is None:
            return name, ()
        found.append(body)
    return name, tuple(found)


def _starts(words: list[Token], place: int) -> list[tuple[int, int]]:
    """Where the parameters of each overload stand: their bracket, and the one that closes it, before AS."""
    found: list[tuple[int, int]] = []
    depth, opened = 0, -1
    table = False
    for index in range(place, len(words)):
        text = words[index].text
        if text in {"(", "[", "{"}:
            if depth == 0 and text == "(":
                opened = index
            depth += 1
        elif text in {")", "]", "}"}:
            depth -= 1
            follows = [word.text.lower() for word in words[index + 1 : index + 3]]
            begins = not found or (words[opened - 1].text == "," and (not table or follows[1:] == ["table"]))
            if depth == 0 and follows[:1] == ["as"] and begins:
                table = follows[1:] == ["table"]
                found.append((opened, index))
    return found


def _body(data: bytes, words: list[Token], first: int, last: int, end: int) -> Body | None:
    table = words[last + 2].text.lower() == "table"
    start = words[last + (2 if table else 1)].end
    text = data[start:end].decode().strip().removesuffix(";")
    tree = _query(text) if table else _expression(text)
    parameters: list[str] = []
    defaults: dict[str, Tree] = {}
    for part in _parts(words[first + 1 : last]):
        parameters.append(part[0].text.strip('"').lower())
        if len(part) == 1:
            continue
        default = _expression(data[part[1].end : part[-1].end].decode()) if part[1].text == ":=" else None
        if default is None:
            return None  # a type: what does not have it is cast, or another overload is taken
        defaults[parameters[-1]] = default
    return None if tree is None else Body(tuple(parameters), defaults, table, tree)


def _parts(words: list[Token]) -> list[list[Token]]:
    found: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(word.text, 0)
        if word.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]


def _expression(text: str) -> Tree | None:
    node = _query(f"SELECT {text}\n")
    items = [] if node is None else node.get("select_list", [])
    if node is None or len(items) != 1 or node.get("from_table", {}).get("type", "EMPTY") != "EMPTY" or items[0].get("alias"):
        return None
    return None if node.keys() - {"type", "select_list", "from_table", "cte_map", "aggregate_handling"} else items[0]


def _query(text: str) -> Tree | None:
    answer = parser.parse(text)
    if not isinstance(answer, Statements) or len(answer.trees) != 1:
        return None
    node: Tree = answer.trees[0]["node"]
    return node
