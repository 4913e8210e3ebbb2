"""Whether the same rows give the same answer again: LIMIT, DISTINCT ON, windows and aggregates that take rows in some order.

What is unique in rows is followed from the project's keys through FROM clauses, so that an order by a key counts as total.
Where it is not known, an order is not total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from interlock.engine.compiler.functions import ORDERED, PICKED, SETTLING, is_volatile
from interlock.engine.compiler.order_rows import Columns, Fact, Key, Rows, Scope, closed, facts_of, joined, key_of, resolved
from interlock.engine.compiler.reading import QUERIES, Reading, first_offset, offset_of
from interlock.engine.warehouse.duckdb.parser import Tree

Known: TypeAlias = Callable[[Tree], "Shape"]
"""Columns and keys of a BASE_TABLE node that is no CTE."""

_BY_POSITION: Final = frozenset(
    {"WINDOW_ROW_NUMBER", "WINDOW_NTILE", "WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE", "WINDOW_NTH_VALUE", "WINDOW_LAG", "WINDOW_LEAD"}
)
_EXPANDS: Final = frozenset({"unnest", "unlist", "generate_subscripts", "regexp_split_to_table"})
_KEYS_MAX: Final = 8
PICKS: Final = frozenset({"LIMIT", "OFFSET", "DISTINCT ON"})
"""What takes some rows and leaves others."""


class Shape(NamedTuple):
    """What a query or relation gives: names of its columns in small letters, and sets of them of which no two rows have the same values."""

    columns: Columns
    keys: tuple[frozenset[str], ...] = ()


class Unsettled(NamedTuple):
    """Something that may pick other rows, or put them in another order, when it is asked again."""

    what: str
    because: str
    remedy: str
    offset: int | None
    how: Literal["no order", "ties"]
    """`ties`: it has an order, and only rows that are equal in it are left to chance."""


class _Select(NamedTuple):
    """A SELECT, and what stands in it."""

    node: Tree
    rows: Rows
    scope: Scope
    grouped: Key | None
    """What rows are grouped by; nothing where they are not."""


class Orders:
    """Looks at one statement."""

    def __init__(
        self, reading: Reading, known: Known, *, aggregates: frozenset[str], collation: str, macros: frozenset[str], ties: bool
    ) -> None:
        """Nothing is looked at yet.

        Args:
            reading: of the statement.
            known: what relations outside of it hold.
            aggregates: names of all aggregates of the engine.
            collation: the default one of text; empty for binary.
            macros: names of the project's macros, of which nothing is known here.
            ties: whether ties of windows, aggregates and ASOF joins are asked for. They matter where rows must be the same
                again and nowhere else, and to know them takes the keys of all that is read.
        """
        self._reading = reading
        self._known = known
        self._aggregates = aggregates
        self._collation = collation
        self._macros = macros
        self._ties = ties
        self._shapes: dict[int, Shape] = {}
        self._selects: dict[int, _Select] = {}
        self._may_expand = any(call.name in _EXPANDS or call.name in macros for call in reading.calls)

    def shape(self) -> Shape:
        """Of the statement."""
        return self._query(self._reading.root)

    def unsettled(self) -> list[Unsettled]:
        """All that the statement leaves to chance, in the order of the text."""
        found: list[Unsettled] = []
        self._visit(self._reading.root, None, found)
        return sorted(found, key=lambda each: -1 if each.offset is None else each.offset)

    # --- what is left to chance ----------------------------------------------------------------------------------------

    def _visit(self, value: Any, owner: Tree | None, found: list[Unsettled], *, settling: bool = False) -> None:
        """Walk; `owner` is the SELECT around. What it reads is worked out only where something in it depends on an order."""
        if isinstance(value, list):
            for part in value:
                self._visit(part, owner, found, settling=settling)
            return
        if not isinstance(value, dict):
            return
        kind = value.get("type")
        if kind in QUERIES:
            found += self._modifiers(value)
            owner = value if kind == "SELECT_NODE" else None
        elif kind == "JOIN" and (value.get("ref_type") == "POSITIONAL" or (value.get("ref_type") == "ASOF" and self._ties)):
            found += self._joins(value)
        elif kind == "SUBQUERY" and value.get("subquery_type") in {"EXISTS", "NOT_EXISTS"}:
            self._visit(value["subquery"]["node"].get("from_table"), None, found)  # whether there is a row does not depend on which
            return
        elif owner is not None and value.get("class") == "WINDOW":
            found += self._window(value, owner)
        elif owner is not None and kind == "FUNCTION":
            name = value.get("function_name", "").lower()
            ordered = bool(value.get("order_bys", {}).get("orders"))
            asked = name in ORDERED or name in PICKED if self._ties else name in ORDERED and not ordered
            if asked and name not in self._macros and not settling:
                found += self._aggregate(value, name, self._select(owner)._replace(grouped=None))
            settling = name in SETTLING and name not in self._macros
        for label, part in value.items():
            if label != "qualified_name" and isinstance(part, dict | list):
                self._visit(part, owner, found, settling=settling and (label == "arguments" or kind is None))

    def _joins(self, table: Tree) -> Iterator[Unsettled]:
        """Joins that go by the place of rows, or take one of several that fit."""
        left, right = self._from(table["left"]), self._from(table["right"])
        place = first_offset([table["right"], table.get("condition", {})])
        if table.get("ref_type") == "POSITIONAL":
            if not (left.fixed and right.fixed):
                because = "`POSITIONAL JOIN` puts rows together by their place, which is not fixed"
                yield Unsettled("POSITIONAL JOIN", because, "number the rows by an order, and join by the number", place, "no order")
            return
        names = [part.get("column_names", []) for part in _parts(table.get("condition")) if part.get("type") == "COLUMN_REF"]
        found = {fact for each in names if (fact := resolved(each, right.scope())) is not None}
        if not any(key <= closed(frozenset(found), right.depends) for key in right.keys):
            because = "several rows may fit equally well, and `ASOF JOIN` takes any of these"
            remedy = "compare by what is unique on the right: a `unique` and a `not_null` check of what it reads say so"
            yield Unsettled("ASOF JOIN", because, remedy, place, "ties")

    def _modifiers(self, node: Tree) -> Iterator[Unsettled]:
        modifiers = node.get("modifiers", ())
        picks = [
            each for each in modifiers if each.get("type") in {"LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER"} and not _takes_nothing(each)
        ]
        on = [target for each in modifiers if each.get("type") == "DISTINCT_MODIFIER" for target in each.get("distinct_on_targets", ())]
        if not picks and not on:
            return
        orders = [order for each in modifiers if each.get("type") == "ORDER_MODIFIER" for order in each.get("orders", ())]
        place = first_offset([picks, on]) or first_offset(node)
        if picks and not self._is_settled(node, [each.get("expression", {}) for each in orders], []):
            what = "LIMIT" if any("limit" in each for each in picks) else "OFFSET"
            yield self._picks(what, orders, place)
        elif on and not self._is_settled(node, [each.get("expression", {}) for each in orders], on):
            yield self._picks("DISTINCT ON", orders, place)

    def _picks(self, what: str, orders: list[Tree], place: int | None) -> Unsettled:
        if not orders:
            return Unsettled(
                what, f"without ORDER BY, `{what}` takes any rows", "add ORDER BY with columns that are unique", place, "no order"
            )
        because = f"rows may be equal in what they are ordered by, and `{what}` takes any of these"
        remedy = "order by columns that are unique as well; a `unique` and a `not_null` check of what it reads say which"
        return Unsettled(what, because, remedy, place, "ties")

    def _is_settled(self, node: Tree, orders: list[Tree], on: list[Tree]) -> bool:
        """Whether rows that are equal in what they are ordered by are equal as a whole, or there is at most one row."""
        shape = self._shape_of(node)
        if frozenset[str]() in shape.keys and not on:
            return True
        if node.get("type") != "SELECT_NODE":
            names = {_name(each) for each in orders}
            if any(each.get("type") == "STAR" for each in orders):
                return True
            places = {_position(each) for each in orders} - {None}
            ordered = (
                {shape.columns[place] for place in places if place is not None and place < len(shape.columns)} if shape.columns else set()
            )
            columns = {name for name in names if name} | {name for name in ordered if name}
            whole = shape.columns is not None and None not in shape.columns and set(shape.columns) <= columns
            return whole or any(key <= columns for key in shape.keys)
        select = self._select(node)
        if not orders and not on and select.rows.fixed and select.grouped is None:
            return True
        if any(each.get("type") == "STAR" for each in orders):
            return True
        items = node.get("select_list", [])
        named = _expanded(items, select)
        by = [self._ordered_by(each, named) for each in (*orders, *on)]
        return self._is_total([each for each in by if each is not None], select, items)

    def _is_total(self, by: Iterable[Tree], select: _Select, items: list[Tree]) -> bool:
        """Whether an order by these leaves no two rows of a SELECT apart: it holds a key, or all that is selected."""
        trees = list(by)
        covered = closed(self._facts(trees, select), select.rows.depends)
        if select.grouped is not None:
            if select.grouped <= covered:
                return True
        elif any(key <= covered for key in select.rows.keys) and not any(map(self._expands, items)):
            return True
        return bool(items) and all(self._is_covered(item, covered, select) and not self._expands(item) for item in items)

    def _facts(self, trees: Iterable[Tree], select: _Select) -> frozenset[Fact]:
        found: set[Fact] = set(select.rows.fixed_columns)
        for tree in trees:
            if not self._collation:  # under one, texts that differ may be equal in the order
                found |= facts_of(tree, select.scope)
        return frozenset(found)

    def _is_covered(self, tree: Tree, covered: frozenset[Fact], select: _Select) -> bool:
        if tree.get("type") == "STAR":
            columns = select.rows.all_columns(tree.get("relation_name"))
            replaced_ = [each.get("value", {}) for each in tree.get("replace_list", ())]
            return columns is not None and columns <= covered and all(self._is_covered(each, covered, select) for each in replaced_)
        if key_of(tree, select.scope) in covered:
            return True
        parts = list(_parts(tree))
        if any(part.get("type") in {"SUBQUERY", "STAR"} or part.get("class") == "WINDOW" or self._hides(part) for part in parts):
            return False
        references = [part for part in parts if part.get("type") == "COLUMN_REF"]
        return all(key_of(part, select.scope) in covered for part in references)

    def _hides(self, part: Tree) -> bool:
        if part.get("type") != "FUNCTION":
            return False
        name = part.get("function_name", "").lower()
        return name in self._aggregates or name in self._macros or is_volatile(name, len(part.get("arguments", ())))

    def _window(self, tree: Tree, owner: Tree) -> Iterator[Unsettled]:
        name = tree.get("function_name", "").lower()
        sensitive = tree.get("type") in _BY_POSITION or (tree.get("type") == "WINDOW_AGGREGATE" and name in ORDERED)
        if not sensitive or tree.get("arg_orders") or (tree.get("orders") and not self._ties):
            return
        select = self._select(owner)
        orders = [each.get("expression", {}) for each in tree.get("orders", ())]
        if self._is_total([*orders, *tree.get("partitions", ())], select, []):
            return
        remedy = f"order its window by columns that are unique: `{name}(…) OVER (… ORDER BY …)`"
        if orders:
            yield Unsettled(name, f"rows of a partition may be equal in what `{name}` orders them by", remedy, offset_of(tree), "ties")
        elif not (tree.get("type") == "WINDOW_AGGREGATE" and self._arguments_fixed(tree, tree.get("partitions", []), select)):
            yield Unsettled(name, f"`{name}` takes rows of its window in an order that is not fixed", remedy, offset_of(tree), "no order")

    def _aggregate(self, tree: Tree, name: str, select: _Select) -> Iterator[Unsettled]:
        groups: list[Tree] = select.node.get("group_expressions", []) if len(select.node.get("group_sets", ())) < 2 else []
        keys = [each for each in (self._ordered_by(group, select.node.get("select_list", [])) for group in groups) if each is not None]
        orders = [each.get("expression", {}) for each in tree.get("order_bys", {}).get("orders", ())]
        arguments = [each["expression"] for each in tree.get("arguments", ())]
        if name in PICKED:
            if len(arguments) > 1 and not self._is_total([*arguments[1:2], *keys], select, arguments[:1]):
                because = f"rows may be equal in what `{name}` looks for, and it takes any of these"
                remedy = f"look for what is unique: `{name}(…, (…, …))` compares several columns"
                yield Unsettled(name, because, remedy, offset_of(tree), "ties")
            return
        if orders:
            if not self._is_total([*orders, *keys], select, arguments[:1]):
                because = f"rows may be equal in what `{name}` orders them by"
                yield Unsettled(name, because, f"order by what is unique: `{name}(… ORDER BY …, …)`", offset_of(tree), "ties")
            return
        if self._arguments_fixed(tree, keys, select):
            return
        because = f"`{name}` takes rows in an order that is not fixed"
        yield Unsettled(name, because, f"give it one: `{name}(… ORDER BY …)`", offset_of(tree), "no order")

    def _arguments_fixed(self, tree: Tree, keys: list[Tree], select: _Select) -> bool:
        """Whether all rows of a group have the same value, so that it does not matter which is taken, nor when."""
        arguments = [each["expression"] for each in tree.get("arguments", ())]
        covered = closed(self._facts(keys, select), select.rows.depends)
        return bool(arguments) and all(self._is_covered(each, covered, select) for each in arguments)

    def _ordered_by(self, tree: Tree, items: list[Tree]) -> Tree | None:
        """What ORDER BY means: a position and an alias stand for what is selected."""
        position = _position(tree)
        if position is not None:
            plain = not any(item.get("type") == "STAR" for item in items[: position + 1])
            return items[position] if plain and position < len(items) else None
        name = _name(tree)
        if name and len(tree.get("column_names", ())) == 1:
            return next((item for item in items if (item.get("alias") or "").lower() == name), tree)
        return tree

    def _expands(self, item: Tree) -> bool:
        if not self._may_expand:
            return False
        names = {part.get("function_name", "").lower() for part in _parts(item) if part.get("type") == "FUNCTION"}
        return not names.isdisjoint(_EXPANDS) or not names.isdisjoint(self._macros)

    # --- shapes ---------------------------------------------------------------------------------------------------------

    def _query(self, node: Tree) -> Shape:
        if id(node) not in self._shapes:
            self._shapes[id(node)] = Shape(None)  # a recursive CTE that asks for itself
            self._shapes[id(node)] = self._limited(node, self._shape_of(node))
        return self._shapes[id(node)]

    def _shape_of(self, node: Tree) -> Shape:
        kind = node.get("type")
        if kind == "SET_OPERATION_NODE":
            shapes = [self._query(child) for child in node.get("children", ())]
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
        select = self._select(node)
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
                columns.append((item.get("alias") or _name(item) or "").lower() or None)
                facts.append(key_of(item, select.scope))
        if any(map(self._expands, items)):
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
            names = [(_name(each) or "") for each in on] if on else [name for name in columns if name is not None]
            if set(names) <= set(columns):
                found.append(frozenset(names))
        return Shape(tuple(columns), tuple(dict.fromkeys(found))[:_KEYS_MAX])

    def _qualified(self, node: Tree, select: _Select) -> Iterator[Key]:
        """`QUALIFY row_number() OVER (PARTITION BY p …) = 1` leaves one row for each p."""
        condition = node.get("qualify")
        aliases = {item["alias"].lower(): item for item in node.get("select_list", ()) if item.get("alias")}
        for each in _conjuncts(condition):
            if each.get("type") != "COMPARE_EQUAL" or each.get("right", {}).get("literal", {}).get("text") != "1":
                continue
            left: Tree = each.get("left", {})
            left = aliases.get(_name(left) or "") or left
            if left.get("type") == "WINDOW_ROW_NUMBER":
                yield frozenset(key_of(part, select.scope) for part in left.get("partitions", ()))

    def _select(self, node: Tree) -> _Select:
        if id(node) not in self._selects:
            rows = self._from(node.get("from_table", {}))
            scope = rows.scope()
            rows = rows.where(_conjuncts(node.get("where_clause")), scope)
            self._selects[id(node)] = _Select(node, rows, rows.scope(), self._groups(node, rows.scope()))
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
                position, name = _position(group), _name(group)
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
            for part in _parts(item)
        )

    def _is_fixed(self, node: Tree) -> bool:
        """Whether a query gives the rows of its text in their order."""
        if node.get("type") != "SELECT_NODE" or node.get("modifiers"):
            return False
        select = self._select(node)
        return select.rows.fixed and select.grouped is None

    def _from(self, table: Tree) -> Rows:
        kind = table.get("type", "EMPTY")
        if kind == "EMPTY":
            return Rows((), (frozenset(),), fixed=True)
        if "sample" in table:
            return Rows.unknown(_alias(table))
        match kind:
            case "JOIN":
                return joined(table, self._from(table["left"]), self._from(table["right"]))
            case "BASE_TABLE":
                cte = self._reading.bound_to.get(id(table))
                if cte is None:
                    shape = self._known(table)
                else:
                    shape = self._query(cte.entry["query_node"])
                    shape = _renamed(shape, cte.entry.get("aliases", ()))
                return Rows.of(_alias(table), *_renamed(shape, table.get("column_name_alias", ())))
            case "SUBQUERY":
                shape = _renamed(self._query(table["subquery"]["node"]), table.get("column_name_alias", ()))
                return Rows.of(_alias(table), *shape)._replace(fixed=self._is_fixed(table["subquery"]["node"]))
            case "EXPRESSION_LIST":
                names = tuple(table.get("column_name_alias", ())) or None
                return Rows.of(_alias(table), names, ())._replace(fixed=True)
            case "TABLE_FUNCTION":
                name = table.get("function", {}).get("function_name", "").lower()
                if name in {"range", "generate_series"} and name not in self._macros and not table.get("with_ordinality"):
                    column = next(iter(table.get("column_name_alias", ())), name).lower()
                    return Rows.of(_alias(table) or name, (column,), (frozenset({column}),))._replace(fixed=True)
        return Rows.unknown(_alias(table))


def _expanded(items: list[Tree], select: _Select) -> list[Tree]:
    """The items, with the columns of each `*` that is known in its place."""
    found: list[Tree] = []
    for item in items:
        columns = select.rows.star(item) if item.get("type") == "STAR" else None
        found += [item] if columns is None else [{"type": "MEANT", "meant": fact, "alias": name or ""} for name, fact in columns]
    return found


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


def _takes_nothing(modifier: Tree) -> bool:
    literal = modifier.get("limit", {}).get("literal", {})
    return bool(literal.get("kind") == "NULL_LITERAL" or (literal.get("kind") == "INTEGER" and literal.get("text") == "0"))


def _position(tree: Tree) -> int | None:
    literal = tree.get("literal", {})
    return int(literal["text"]) - 1 if literal.get("kind") == "INTEGER" and str(literal.get("text", "")).isdigit() else None


def _name(tree: Tree) -> str | None:
    names = tree.get("column_names", ())
    return str(names[-1]).lower() if tree.get("type") == "COLUMN_REF" and names else None


def _conjuncts(tree: Any) -> Iterator[Tree]:
    if tree is None:
        return
    if tree.get("type") == "CONJUNCTION_AND":
        for child in tree.get("children", ()):
            yield from _conjuncts(child)
    else:
        yield tree


def _parts(tree: Any) -> Iterator[Tree]:
    """All expressions in one, itself among them; of a subquery only that there is one."""
    if isinstance(tree, list):
        for part in tree:
            yield from _parts(part)
    elif isinstance(tree, dict):
        if "type" in tree:
            yield tree
        if tree.get("type") != "SUBQUERY":
            for part in tree.values():
                if isinstance(part, dict | list):
                    yield from _parts(part)
