"""What a syntax tree says: relations that it reads (with the scope of CTEs), functions, parameters, and what is not allowed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from interlock.engine.compiler.functions import CLOCK_WORDS
from interlock.engine.warehouse.duckdb.parser import NOWHERE, Tree


class Cte(NamedTuple):
    """A CTE and the scope in which its own text stands."""

    entry: Tree
    scope: Scope


Scope: TypeAlias = Mapping[str, Cte]

_COMPARED: Final = frozenset(
    {
        "COMPARE_BETWEEN",
        "COMPARE_DISTINCT_FROM",
        "COMPARE_EQUAL",
        "COMPARE_GREATERTHAN",
        "COMPARE_GREATERTHANOREQUALTO",
        "COMPARE_IN",
        "COMPARE_LESSTHAN",
        "COMPARE_LESSTHANOREQUALTO",
        "COMPARE_NOTEQUAL",
        "COMPARE_NOT_DISTINCT_FROM",
    }
)
"""Comparisons in which a text takes the type of the column beside it."""

_LOOKED_AT: Final = frozenset(
    {
        "BASE_TABLE",
        "COLLATE",
        *_COMPARED,
        "FUNCTION",
        "JOIN",
        "OPERATOR_CAST",
        "PARAMETER",
        "PIVOT",
        "SHOW_REF",
        "TABLE_FUNCTION",
        "VALUE_PARAMETER",
    }
)

NO_NODES: Final = frozenset({"column_names", "cte_map", "literal", "qualified_name"})
"""Members below which a walk finds nothing: they hold names and literals, a third of a tree. CTEs are gone through with their scope."""

QUERIES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})


class Reference(NamedTuple):
    """A relation by name, that is no CTE."""

    path: tuple[str, ...]
    offset: int | None
    alias: str
    time_travel: bool


class Call(NamedTuple):
    """A function by name."""

    name: str
    offset: int | None
    arguments: int
    table: bool
    ordered: bool
    """It says in which order it takes rows; of a window function, its window does or, where the frame counts no rows, its arguments do."""
    counts_rows: bool = False
    """It is of a window whose frame begins or ends at some row."""


class Problem(NamedTuple):
    """Something that no model may hold."""

    code: str
    summary: str
    because: str
    remedy: str
    offset: int | None


class SetOperation(NamedTuple):
    """UNION, EXCEPT or INTERSECT by position, and its scope."""

    node: Tree
    scope: Scope


class Cast(NamedTuple):
    """A text literal and the type that it is cast to."""

    text: str
    type: str
    offset: int | None


class Reading:
    """Everything that one walk over a tree finds."""

    def __init__(self, tree: Tree) -> None:
        """Walk over one statement."""
        self.root: Tree = tree["node"]
        self.references: list[Reference] = []
        self.calls: list[Call] = []
        self.problems: list[Problem] = []
        self.set_operations: list[SetOperation] = []
        self.casts: list[Cast] = []
        self.compared: list[tuple[str, Cast]] = []
        """Columns by name, and text literals that they are compared with."""
        self.ranges: list[Tree] = []
        """Comparisons that let an upper bound in."""
        self.parameters: list[tuple[str, int | None]] = []
        self.notes: set[str] = set()
        self.samples: list[int | None] = []
        self.picks = False
        """Whether something takes some rows and leaves others: LIMIT, OFFSET, DISTINCT ON."""
        self.by_place = False
        """Whether a join goes by the place of rows, or takes one of several that fit."""
        self.by_chance = False
        """Whether something matters only where rows must be the same again: a collation, a sample that is repeatable, `rowid`, a
        recursion that keeps one row for each key."""
        self.bound_to: dict[int, Cte | None] = {}
        """For each BASE_TABLE node, by identity: the CTE that it names."""
        self.scopes: dict[int, Scope] = {}
        """For each query node, by identity: the scope inside of it, its own CTEs included."""
        self._nodes: list[Tree] = []
        self._pivots: list[Tree] = []
        self._table_functions: set[int] = set()
        self._visit(self.root, {})

    def _visit(self, value: Any, scope: Scope) -> None:
        # Exact types: they come from a decoder, and this is the hottest walk of the compiler.
        if type(value) is list:
            for part in value:
                if type(part) is dict or type(part) is list:
                    self._visit(part, scope)
            return
        if type(value) is not dict:
            return
        kind = value.get("type")
        if type(kind) is str:
            # The decoder makes a text for each: one for all of a kind is a quarter of a tree less.
            value["type"] = kind = sys.intern(kind)
            category = value.get("class")
            if category is not None:
                value["class"] = category = sys.intern(category)
            if kind == "COLUMN_REF":  # most nodes are one of these two, and have none below
                self._column(value)
                return
            if kind == "VALUE_CONSTANT":
                return
            if "cte_map" in value:
                scope = self._query(value, kind, scope)
            elif kind in _LOOKED_AT or category == "WINDOW":
                self._look(value, kind, scope)
        for key, part in value.items():
            if (type(part) is dict or type(part) is list) and part and key not in NO_NODES:
                if key == "right" and kind == "RECURSIVE_CTE_NODE":
                    self._visit(part, {**scope, value["cte_name"].lower(): Cte({"query_node": value}, scope)})
                else:
                    self._visit(part, scope)

    def _column(self, node: Tree) -> None:
        names = node.get("column_names", ())
        if len(names) == 1 and names[0].lower() in CLOCK_WORDS:
            self.calls.append(Call(names[0].lower(), offset_of(node), 0, table=False, ordered=True))
        if names and names[-1].lower() == "rowid":
            self.by_chance = True

    def _query(self, node: Tree, kind: str, scope: Scope) -> Scope:
        if kind not in QUERIES:
            self.problems.append(
                Problem(
                    "L214",
                    "a CTE writes",
                    f"it is {_article(kind)}, which changes rows",
                    "a model is one SELECT that only reads",
                    _first_offset(node),
                )
            )
        for entry in node["cte_map"].get("map", ()):
            self._visit(entry["value"].get("query_node"), scope)
            self._visit({key: part for key, part in entry["value"].items() if key != "query_node"}, scope)
            self.by_chance = self.by_chance or "key_targets" in entry["value"]
            scope = {**scope, entry["key"].lower(): Cte(entry["value"], scope)}
        self.scopes[id(node)] = scope
        self._constructs(node, kind, scope)
        return scope

    def _constructs(self, node: Tree, kind: str, scope: Scope) -> None:
        for modifier in node.get("modifiers", ()):
            match modifier.get("type"):
                case "LIMIT_MODIFIER" | "LIMIT_PERCENT_MODIFIER":
                    self.notes.add("LIMIT")
                    self.picks = True
                case "DISTINCT_MODIFIER":
                    self.notes.add("DISTINCT")
                    self.picks = self.picks or bool(modifier.get("distinct_on_targets"))
                case _:
                    pass
        if "qualify" in node:
            self.notes.add("QUALIFY")
        if node.get("group_expressions") or node.get("aggregate_handling") == "FORCE_AGGREGATES":
            self.notes.add("GROUP BY")
        if "sample" in node:
            self._sample(node["sample"], _first_offset(node))
        if kind == "SET_OPERATION_NODE":
            if node.get("setop_type") != "UNION_BY_NAME":
                self.set_operations.append(SetOperation(node, scope))
            # A tree leaves out what is as it is by default, and that is ALL.
            if node.get("setop_type") in {"EXCEPT", "INTERSECT"} or node.get("setop_all") is False:
                self.notes.add("DISTINCT")

    def _sample(self, sample: Tree, offset: int | None) -> None:
        if sample.get("repeatable"):
            self.by_chance = True
        else:
            self.samples.append(offset)

    def _look(self, node: Tree, kind: str, scope: Scope) -> None:
        offset = offset_of(node)
        match kind:
            case "BASE_TABLE":
                self._base_table(node, scope, offset)
            case "COLLATE":
                self.by_chance = True
            case "SHOW_REF":
                self.problems.append(
                    Problem(
                        "L203",
                        "DESCRIBE, SHOW and SUMMARIZE are no SELECT",
                        "what they give is not made of rows of a relation",
                        "select the columns by name",
                        offset,
                    )
                )
            case "TABLE_FUNCTION":
                function = node.get("function", {})
                self._table_functions.add(id(function))
                self.calls.append(
                    Call(function.get("function_name", "").lower(), offset, len(function.get("arguments", ())), table=True, ordered=True)
                )
            case "FUNCTION" if id(node) not in self._table_functions:
                ordered = bool(node.get("order_bys", {}).get("orders"))
                self.calls.append(
                    Call(node.get("function_name", "").lower(), offset, len(node.get("arguments", ())), table=False, ordered=ordered)
                )
            case "PARAMETER" | "VALUE_PARAMETER":
                self.parameters.append((node.get("identifier", ""), offset))
            case "OPERATOR_CAST":
                literal = node.get("child", {}).get("literal", {})
                if literal.get("kind") == "STRING":
                    place = offset_of(node["child"])
                    self.casts.append(
                        Cast(literal.get("text", ""), node.get("type_expr", {}).get("type_name", ""), offset if place is None else place)
                    )
            case _ if kind in _COMPARED:
                self._comparison(node)
            case "PIVOT":
                self._pivot(node, offset)
            case "JOIN":
                self.notes.add("JOIN")
                if node.get("ref_type") in {"POSITIONAL", "ASOF"}:
                    self.by_place = True
            case _ if node.get("class") == "WINDOW":
                self.notes.add("window")
                counts = counts_rows(node)
                ordered = bool(node.get("orders") or (node.get("arg_orders") and not counts))
                name = node.get("function_name", "").lower()
                self.calls.append(Call(name, offset, 0, table=False, ordered=ordered, counts_rows=counts))

    def _comparison(self, node: Tree) -> None:
        if node["type"] in {"COMPARE_BETWEEN", "COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO"}:
            self.ranges.append(node)
        sides = [node.get(label, {}) for label in ("left", "right", "input", "lower", "upper")] + node.get("children", [])
        names = [side["column_names"][-1] for side in sides if side.get("type") == "COLUMN_REF" and side.get("column_names")]
        texts = [side for side in sides if side.get("literal", {}).get("kind") == "STRING"]
        if len(names) == 1:
            self.compared += [(names[0], Cast(side["literal"].get("text", ""), "", offset_of(side))) for side in texts]

    def _base_table(self, node: Tree, scope: Scope, offset: int | None) -> None:
        path = tuple(node.get("qualified_name", {}).get("path", ()))
        if "sample" in node:
            self._sample(node["sample"], offset)
        name = path[-1].lower() if path else ""
        if name in scope and (len(path) == 1 or (len(path) == 2 and path[0].lower() == "recurring")):
            self.bound_to[id(node)] = scope[name]
            return
        self.bound_to[id(node)] = None
        self.references.append(Reference(path, offset, node.get("alias", ""), "at_clause" in node))
        self._nodes.append(node)

    def _pivot(self, node: Tree, offset: int | None) -> None:
        self._pivots.append(node)
        for pivot in node.get("pivots", ()):
            if pivot.get("pivot_enum") or not pivot.get("entries"):
                self.problems.append(dynamic_pivot(offset))

    def column_references(self) -> Iterator[tuple[tuple[str, ...], int | None, int]]:
        """Columns by name, with offset and length, in the order of the tree."""
        waiting: list[Any] = [self.root]
        while waiting:
            value = waiting.pop()
            if type(value) is dict and value.get("type") == "COLUMN_REF":
                yield tuple(value.get("column_names", ())), offset_of(value), value.get("query_location_length", 0)
            elif type(value) is dict or type(value) is list:
                waiting += reversed(list(value.values()) if type(value) is dict else value)

    @property
    def tables(self) -> tuple[Tree, ...]:
        """The BASE_TABLE nodes that are no CTE's."""
        return tuple(self._nodes)

    def pivoted(self) -> list[Reference]:
        """What a PIVOT or UNPIVOT reads without a CTE between them, in the order of the text."""
        inside = {id(node) for pivot in self._pivots for node in nodes_in(pivot.get("source"))}
        return [reference for node, reference in zip(self._nodes, self.references, strict=True) if id(node) in inside]

    def reference_of(self, node: Tree) -> Reference | None:
        """The reference that a BASE_TABLE node is; nothing for a CTE's."""
        for known, reference in zip(self._nodes, self.references, strict=True):
            if known is node:
                return reference
        return None


def nodes_in(value: Any) -> Iterator[Tree]:
    """Every object in what a decoder gave, itself among them, in no order."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def counts_rows(window: Tree) -> bool:
    """Whether a frame begins or ends at some row: rows that are equal in the order are then in it or not, as they come."""
    return any(str(window.get(end, "")).endswith("_ROWS") for end in ("start", "end"))


def dynamic_pivot(offset: int | None) -> Problem:
    """The finding for a PIVOT whose columns depend on rows."""
    return Problem(
        "L215",
        "PIVOT without its values",
        "its columns would depend on the rows that are there, and rows would be read while names are resolved",
        "write the values: `PIVOT … ON column IN ('a', 'b') …`",
        offset,
    )


def offset_of(node: Tree) -> int | None:
    """The byte offset of a node; nothing where DuckDB gave none."""
    offset = node.get("query_location")
    return offset if isinstance(offset, int) and offset != NOWHERE else None


def _first_offset(value: Any) -> int | None:
    """The least offset in a tree."""
    if isinstance(value, list):
        found = [offset for part in value if (offset := _first_offset(part)) is not None]
    elif isinstance(value, dict):
        own = offset_of(value)
        found = [offset for part in value.values() if isinstance(part, list | dict) and (offset := _first_offset(part)) is not None]
        if own is not None:
            found.append(own)
    else:
        return None
    return min(found, default=None)


def _article(kind: str) -> str:
    word = kind.removesuffix("_NODE").removesuffix("_QUERY")
    return f"{'an' if word[0] in 'AEIOU' else 'a'} {word}"


first_offset = _first_offset
