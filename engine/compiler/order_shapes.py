"""What is unique in the rows of a query: followed from the project's keys through FROM clauses, groups and DISTINCT.

Where it is not known, nothing is unique.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from interlock.engine.compiler.order_rows import Columns, Fact, Key, Rows, Scope, closed, joined, key_of, resolved
from interlock.engine.compiler.reading import Reading
from interlock.engine.warehouse.duckdb.parser import Tree

Known: TypeAlias = Callable[[Tree], "Shape"]
"""Columns and keys of a BASE_TABLE node that is no CTE."""

_EXPANDS: Final = frozenset({"unnest", "unlist", "generate_subscripts", "regexp_split_to_table"})
_KEYS_MAX: Final = 8


class Shape(NamedTuple):
    """What a query or relation gives: names of its columns in small letters, and sets of them of which no two rows have the same values."""

    columns: Columns
    keys: tuple[frozenset[str], ...] = ()


class Select(NamedTuple):
    """A SELECT, and what stands in it."""

    node: Tree
    rows: Rows
    scope: Scope
    grouped: Key | None
    """What rows are grouped by; nothing where they are not."""


class Shapes:
    """Of the queries of one statement; each is worked out when it is asked for."""

    def __init__(self, reading: Reading, known: Known, *, aggregates: frozenset[str], macros: frozenset[str]) -> None:
        """Nothing is looked at yet.

        Args:
            reading: of the statement.
            known: what relations outside of it hold.
            aggregates: names of all aggregates of the engine.
            macros: names of the project's macros, of which nothing is known here.
        """
        self._reading = reading
        self._known = known
        self._aggregates = aggregates
        self._macros = macros
        self._shapes: dict[int, Shape] = {}
        self._selects: dict[int, Select] = {}
        self._may_expand = any(call.name in _EXPANDS or call.name in macros for call in reading.calls)

    def expands(self, item: Tree) -> bool:
        """Whether something that is selected gives several rows for one, or may."""
        if not self._may_expand:
            return False
        names = {part.get("function_name", "").lower() for part in parts_of(item) if part.get("type") == "FUNCTION"}
        return not names.isdisjoint(_EXPANDS) or not names.isdisjoint(self._macros)

    def query(self, node: Tree) -> Shape:
        """Of a query as it comes out, its LIMIT included."""
        if id(node) not in self._shapes:
            self._shapes[id(node)] = Shape(None)  # a recursive CTE that asks for itself
            self._shapes[id(node)] = self._limited(node, self.shape_of(node))
        return self._shapes[id(node)]

    def shape_of(self, node: Tree) -> Shape:
        """Of a query before its LIMIT."""
        kind = node.get("type")
        if kind == "SET_OPERATION_NODE":
            shapes = [self.query(child) for child in node.get("children", ())]
            by_name, columns = node.get("setop_type") == "UNION_BY_NAME", shapes[0].columns if shapes else None
            if by_name:
                return Shape(None)
            keys = shapes[0].keys if shapes and node.get("setop_type") in {"EXCEPT", "INTERSECT"} else ()
            if not node.get("setop_all") and columns is not None and None not in columns:
                keys = (*keys, frozenset(name for name in columns if name is not None))
            return Shape(columns, keys)
        return self._selected(node) if kind == "SELECT_NODE" else Shape(None)

    def _limited(self, node: Tree, shape: Shape) -> Shape:
        for each in node.get("modifiers", ()):
            literal: Tree = each.get("limit", {}).get("literal", {})
            one: bool = each.get("limit_type") != "PERCENTAGE" and literal.get("kind") == "INTEGER" and literal.get("text") in {"0", "1"}
            if each.get("type") == "LIMIT_MODIFIER" and one:
                return Shape(shape.columns, (frozenset(), *shape.keys))
        return shape

    def _selected(self, node: Tree) -> Shape:
        select = self.select(node)
        items = node.get("select_list", [])
        columns: list[str | None] = []
        facts: list[Fact] = []
        for item in items:
            if item.get("type") == "STAR":
                expanded = select.rows.star(item)
                if expanded is None:
                    return Shape(None, (frozenset(),) if select.grouped == frozenset() else ())
                columns += [name for name, _ in expanded]
                facts += [fact for _, fact in expanded]
            else:
                columns.append((item.get("alias") or name_of(item) or "").lower() or None)
                facts.append(key_of(item, select.scope))
        if any(map(self.expands, items)):
            return Shape(tuple(columns))
        keys = list(self._qualified(node, select))
        keys += [select.grouped] if select.grouped is not None else list(select.rows.keys)
        found: list[frozenset[str]] = []
        available = {fact: name for fact, name in zip(facts, columns, strict=True) if name is not None and columns.count(name) == 1}
        for key in keys:
            named = {available.get(fact) for fact in key - select.rows.fixed_columns}
            if None not in named:
                found.append(frozenset(name for name in named if name is not None))
            elif closed(frozenset(available) | select.rows.fixed_columns, select.rows.depends) >= key:
                found.append(frozenset(available.values()))
        distinct = [each for each in node.get("modifiers", ()) if each.get("type") == "DISTINCT_MODIFIER"]
        if distinct and None not in columns:
            on = [each for modifier in distinct for each in modifier.get("distinct_on_targets", ())]
            names = [(name_of(each) or "") for each in on] if on else [name for name in columns if name is not None]
            if set(names) <= set(columns):
                found.append(frozenset(names))
        return Shape(tuple(columns), tuple(dict.fromkeys(found))[:_KEYS_MAX])

    def _qualified(self, node: Tree, select: Select) -> Iterator[Key]:
        """`QUALIFY row_number() OVER (PARTITION BY p …) = 1` leaves one row for each p."""
        condition = node.get("qualify")
        aliases = {item["alias"].lower(): item for item in node.get("select_list", ()) if item.get("alias")}
        for each in _conjuncts(condition):
            if each.get("type") != "COMPARE_EQUAL" or each.get("right", {}).get("literal", {}).get("text") != "1":
                continue
            left: Tree = each.get("left", {})
            left = aliases.get(name_of(left) or "") or left
            if left.get("type") == "WINDOW_ROW_NUMBER":
                yield frozenset(key_of(part, select.scope) for part in left.get("partitions", ()))

    def select(self, node: Tree) -> Select:
        """A SELECT, with the rows that it reads."""
        if id(node) not in self._selects:
            rows = self.rows_of(node.get("from_table", {}))
            scope = rows.scope()
            rows = rows.where(_conjuncts(node.get("where_clause")), scope)
            self._selects[id(node)] = Select(node, rows, rows.scope(), self._groups(node, rows.scope()))
        return self._selects[id(node)]

    def _groups(self, node: Tree, scope: Scope) -> Key | None:
        items = node.get("select_list", [])
        groups: list[Tree] = node.get("group_expressions", [])
        if len(node.get("group_sets", ())) > 1:
            return frozenset({("sets",)})  # rows of several sets may be equal in the keys of one
        if node.get("aggregate_handling") == "FORCE_AGGREGATES":
            plain = [item for item in items if not self._aggregates_in(item)]
            if any(item.get("type") == "STAR" for item in plain):
                return frozenset({("sets",)})
            return frozenset(key_of(item, scope) for item in plain)
        if groups:
            found: set[Fact] = set()
            for group in groups:
                position, name = position_of(group), name_of(group)
                tree = group
                if position is not None:
                    if position >= len(items) or any(item.get("type") == "STAR" for item in items):
                        return frozenset({("sets",)})
                    tree = items[position]
                elif name and len(group.get("column_names", ())) == 1 and resolved(group["column_names"], scope) is None:
                    tree = next((item for item in items if (item.get("alias") or "").lower() == name), group)
                found.add(key_of(tree, scope))
            return frozenset(found)
        having = [node["having"]] if "having" in node else []
        return frozenset() if any(self._aggregates_in(item) for item in [*items, *having]) else None

    def _aggregates_in(self, item: Tree) -> bool:
        return any(
            part.get("type") == "FUNCTION"
            and part.get("function_name", "").lower() in self._aggregates | {"count_star"}
            and part.get("function_name", "").lower() not in self._macros
            for part in parts_of(item)
        )

    def _is_fixed(self, node: Tree) -> bool:
        """Whether a query gives the rows of its text in their order."""
        if node.get("type") != "SELECT_NODE" or node.get("modifiers"):
            return False
        select = self.select(node)
        return select.rows.fixed and select.grouped is None

    def rows_of(self, table: Tree) -> Rows:
        """What a FROM clause, or a part of one, gives."""
        kind = table.get("type", "EMPTY")
        if kind == "EMPTY":
            return Rows((), (frozenset(),), fixed=True)
        if "sample" in table:
            return Rows.unknown(_alias(table))
        match kind:
            case "JOIN":
                return joined(table, self.rows_of(table["left"]), self.rows_of(table["right"]))
            case "BASE_TABLE":
                cte = self._reading.bound_to.get(id(table))
                if cte is None:
                    shape = self._known(table)
                else:
                    shape = self.query(cte.entry["query_node"])
                    shape = _renamed(shape, cte.entry.get("aliases", ()))
                return Rows.of(_alias(table), *_renamed(shape, table.get("column_name_alias", ())))
            case "SUBQUERY":
                shape = _renamed(self.query(table["subquery"]["node"]), table.get("column_name_alias", ()))
                return Rows.of(_alias(table), *shape)._replace(fixed=self._is_fixed(table["subquery"]["node"]))
            case "EXPRESSION_LIST":
                names = tuple(table.get("column_name_alias", ())) or None
                return Rows.of(_alias(table), names, ())._replace(fixed=True)
            case "TABLE_FUNCTION":
                name = table.get("function", {}).get("function_name", "").lower()
                if name in {"range", "generate_series"} and name not in self._macros and not table.get("with_ordinality"):
                    column = next(iter(table.get("column_name_alias", ())), name).lower()
                    return Rows.of(_alias(table) or name, (column,), (frozenset({column}),))._replace(fixed=True)
            case _:
                pass
        return Rows.unknown(_alias(table))


def _renamed(shape: Shape, names: Iterable[str]) -> Shape:
    aliases = [name.lower() for name in names]
    if not aliases:
        return shape
    if shape.columns is None:
        return Shape(None)
    columns = tuple(aliases[index] if index < len(aliases) else name for index, name in enumerate(shape.columns))
    changed = {before: after for before, after in zip(shape.columns, columns, strict=True) if before is not None}
    keys = (frozenset(changed.get(name) for name in key) for key in shape.keys)
    return Shape(columns, tuple(frozenset(name for name in key if name is not None) for key in keys if None not in key))


def _alias(table: Tree) -> str:
    return str(table.get("alias") or (table.get("qualified_name", {}).get("path") or [""])[-1]).lower()


def _conjuncts(tree: Any) -> Iterator[Tree]:
    if tree is None:
        return
    if tree.get("type") == "CONJUNCTION_AND":
        for child in tree.get("children", ()):
            yield from _conjuncts(child)
    else:
        yield tree


def position_of(tree: Tree) -> int | None:
    """The place, counted from 0, that a number in ORDER BY or GROUP BY stands for."""
    literal = tree.get("literal", {})
    return int(literal["text"]) - 1 if literal.get("kind") == "INTEGER" and str(literal.get("text", "")).isdigit() else None


def name_of(tree: Tree) -> str | None:
    """The last part of a column's name, in small letters."""
    names = tree.get("column_names", ())
    return str(names[-1]).lower() if tree.get("type") == "COLUMN_REF" and names else None


def parts_of(tree: Any) -> Iterator[Tree]:
    """All expressions in one, itself among them; of a subquery only that there is one."""
    if isinstance(tree, list):
        for part in tree:
            yield from parts_of(part)
    elif isinstance(tree, dict):
        if isinstance(tree.get("type"), str):  # the size of a sample has a type too, and it is no expression
            yield tree
        if tree.get("type") != "SUBQUERY":
            for part in tree.values():
                if isinstance(part, dict | list):
                    yield from parts_of(part)
