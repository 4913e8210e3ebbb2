"""Whether the same rows give the same answer again: LIMIT, DISTINCT ON, windows and aggregates that take rows in some order.

An order by what is unique counts as total. Where that is not known, an order is not total.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from interlock.engine.compiler.floats import Sums
from interlock.engine.compiler.functions import COMMONEST, FLOATING, ORDERED, PICKED, SETTLING, SUMS, WEIGHTED, WRITTEN_OUT, is_volatile
from interlock.engine.compiler.order_collations import is_collated, merged_by_collation
from interlock.engine.compiler.order_rows import Fact, closed, facts_of, key_of, resolved
from interlock.engine.compiler.order_shapes import Known, Select, Shape, Shapes, name_of, parts_of, position_of
from interlock.engine.compiler.reading import NO_NODES, QUERIES, Reading, counts_rows, first_offset, offset_of
from interlock.engine.warehouse.duckdb.parser import Tree

_NAMES: Final = NO_NODES - {"cte_map"}

_BY_POSITION: Final = frozenset(
    {
        "WINDOW_ROW_NUMBER",
        "WINDOW_NTILE",
        "WINDOW_FIRST_VALUE",
        "WINDOW_LAST_VALUE",
        "WINDOW_NTH_VALUE",
        "WINDOW_LAG",
        "WINDOW_LEAD",
        "WINDOW_FILL",
    }
)
PICKS: Final = frozenset({"LIMIT", "OFFSET", "DISTINCT ON"})
"""What takes some rows and leaves others."""


class Unsettled(NamedTuple):
    """Something that may pick other rows, or put them in another order, when it is asked again."""

    what: str
    because: str
    remedy: str
    offset: int | None
    how: Literal["no order", "ties"]
    """`ties`: it has an order, and only rows that are equal in it are left to chance."""


class Orders:
    """Looks at one statement."""

    def __init__(
        self,
        reading: Reading,
        known: Known,
        *,
        aggregates: frozenset[str],
        collation: str,
        macros: frozenset[str],
        ties: bool,
        sums: Sums | None = None,
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
            sums: which sums are of floating point numbers, where that is asked for.
        """
        self._reading = reading
        self._aggregates = aggregates
        self._collation = collation
        self._macros = macros
        self._ties = ties
        self._sums = sums
        self._shapes = Shapes(reading, known, aggregates=aggregates, macros=macros)

    def shape(self) -> Shape:
        """Of the statement."""
        return self._shapes.query(self._reading.root)

    def unsettled(self) -> list[Unsettled]:
        """All that the statement leaves to chance, in the order of the text."""
        found: list[Unsettled] = []
        self._visit(self._reading.root, None, found)
        if self._ties and (place := merged_by_collation(self._reading.root, self._aggregates)) is not None:
            because = "texts that differ may be equal under a collation, and where they become one row or value, any of them stays"
            found.append(Unsettled("COLLATE", because, "make them the same text, as by `lower(…)`", first_offset(place), "ties"))
        return sorted(dict.fromkeys(found), key=lambda each: -1 if each.offset is None else each.offset)

    # --- what is left to chance ----------------------------------------------------------------------------------------

    def _visit(self, value: Any, owner: Tree | None, found: list[Unsettled], *, settling: bool = False) -> None:
        """Walk; `owner` is the SELECT around. What it reads is worked out only where something in it depends on an order."""
        if type(value) is list:  # exact types: they come from a decoder
            for part in value:
                if type(part) is dict or type(part) is list:
                    self._visit(part, owner, found, settling=settling)
            return
        if type(value) is not dict:
            return
        kind = value.get("type")
        if kind == "COLUMN_REF" or kind == "VALUE_CONSTANT":  # noqa: PLR1714 - most nodes are one of these
            if self._ties and owner is not None and kind == "COLUMN_REF" and value.get("column_names", ("",))[-1].lower() == "rowid":
                found += self._place(value, owner)
            return
        if type(kind) is not str:  # the size of a sample has a type too, and it is no node
            kind = None
        if self._ties and value.get("sample", {}).get("repeatable"):
            because = "a sample that is repeatable takes the same places again, and which rows stand there is not fixed"
            remedy = "take rows by what is in them, as by `WHERE hash(key) % 10 = 0`"
            found.append(Unsettled("TABLESAMPLE", because, remedy, first_offset(value), "no order"))
        if kind in QUERIES:
            found += self._modifiers(value)
            if self._ties and value.get("key_targets"):
                found += self._keyed(value)
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
            asked = name in ORDERED | PICKED | COMMONEST if self._ties else name in ORDERED and not ordered
            if self._floats(name, value):
                found += self._float(value, name, owner)
            elif asked and name not in self._macros and not settling:
                found += self._aggregate(value, name, self._shapes.select(owner)._replace(grouped=None))
            settling = name in SETTLING and name not in self._macros
        for label, part in value.items():
            if (type(part) is dict or type(part) is list) and part and label not in _NAMES:
                self._visit(part, owner, found, settling=settling and (label == "arguments" or kind is None))

    def _place(self, tree: Tree, owner: Tree) -> Iterator[Unsettled]:
        """The number of a row in its table, where it is no column of that name."""
        names: list[str] = tree["column_names"]
        scope = self._shapes.select(owner).rows.scope()
        if resolved(names, scope) is None and (len(names) == 1 or resolved(names[:1], scope) is None):
            because = "`rowid` is the place of a row, and rows may be written in another order"
            yield Unsettled("rowid", because, "use a key, or number the rows by an order", offset_of(tree), "ties")

    def _keyed(self, node: Tree) -> Iterator[Unsettled]:
        """A recursion that keeps one row for each key: any of several that a step gives."""
        targets = {name_of(each) for each in node["key_targets"]}
        for branch in (node["left"], node["right"]):
            shape = self._shapes.query(branch)
            aliases: list[str | None] = [str(name).lower() for name in node.get("aliases", ())]
            names = aliases or list(shape.columns or ())
            found = {column for name, column in zip(names, shape.columns or (), strict=False) if name in targets}
            if not any(key <= found for key in shape.keys):
                because = "several rows of a step may have the same key, and `USING KEY` keeps any of these"
                remedy = "let each branch give one row a key, as by `SELECT key, min(…) … GROUP BY key`"
                yield Unsettled("USING KEY", because, remedy, first_offset(node["key_targets"]), "ties")
                return

    def _joins(self, table: Tree) -> Iterator[Unsettled]:
        """Joins that go by the place of rows, or take one of several that fit."""
        left, right = self._shapes.rows_of(table["left"]), self._shapes.rows_of(table["right"])
        place = first_offset([table["right"], table.get("condition", {})])
        if table.get("ref_type") == "POSITIONAL":
            if not (left.fixed and right.fixed):
                because = "`POSITIONAL JOIN` puts rows together by their place, which is not fixed"
                yield Unsettled("POSITIONAL JOIN", because, "number the rows by an order, and join by the number", place, "no order")
            return
        names = [part.get("column_names", []) for part in parts_of(table.get("condition")) if part.get("type") == "COLUMN_REF"]
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
        shape = self._shapes.shape_of(node)
        if frozenset[str]() in shape.keys and not on:
            return True
        if node.get("type") != "SELECT_NODE":
            names = {name_of(each) for each in orders}
            if any(each.get("type") == "STAR" for each in orders):
                return True
            places = {position_of(each) for each in orders} - {None}
            ordered = (
                {shape.columns[place] for place in places if place is not None and place < len(shape.columns)} if shape.columns else set()
            )
            columns = {name for name in names if name} | {name for name in ordered if name}
            whole = shape.columns is not None and None not in shape.columns and set(shape.columns) <= columns
            return whole or any(key <= columns for key in shape.keys)
        select = self._shapes.select(node)
        if not orders and not on and select.rows.fixed and select.grouped is None:
            return True
        if any(each.get("type") == "STAR" for each in orders):
            return True
        items = node.get("select_list", [])
        named = _expanded(items, select)
        by = [self._ordered_by(each, named) for each in (*orders, *on)]
        return self._is_total([each for each in by if each is not None], select, items)

    def _is_total(self, by: Iterable[Tree], select: Select, items: list[Tree]) -> bool:
        """Whether an order by these leaves no two rows of a SELECT apart: it holds a key, or all that is selected."""
        trees = list(by)
        covered = closed(self._facts(trees, select), select.rows.depends)
        if select.grouped is not None:
            if select.grouped <= covered:
                return True
        elif any(key <= covered for key in select.rows.keys) and not any(map(self._shapes.expands, items)):
            return True
        return bool(items) and all(self._is_covered(item, covered, select) and not self._shapes.expands(item) for item in items)

    def _facts(self, trees: Iterable[Tree], select: Select) -> frozenset[Fact]:
        found: set[Fact] = set(select.rows.fixed_columns)
        for tree in trees:
            if not self._collation and not is_collated(tree):  # under one, texts that differ may be equal in the order
                found |= facts_of(tree, select.scope)
        return frozenset(found)

    def _is_covered(self, tree: Tree, covered: frozenset[Fact], select: Select) -> bool:
        if tree.get("type") == "STAR":
            columns = select.rows.all_columns(tree.get("relation_name"))
            replaced_ = [each.get("value", {}) for each in tree.get("replace_list", ())]
            return columns is not None and columns <= covered and all(self._is_covered(each, covered, select) for each in replaced_)
        if key_of(tree, select.scope) in covered:
            return True
        parts = list(parts_of(tree))
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
        is_aggregate = tree.get("type") == "WINDOW_AGGREGATE"
        floats = is_aggregate and self._floats(name, tree)
        by_place = tree.get("type") in _BY_POSITION or (is_aggregate and (name in ORDERED or counts_rows(tree)))
        if is_aggregate and not by_place and self._ties and name in PICKED | COMMONEST and name not in self._macros:
            yield from self._chooses(tree, name, tree.get("partitions", []), self._shapes.select(owner))
        if not (floats or by_place):
            return
        select = self._shapes.select(owner)
        partitions: list[Tree] = tree.get("partitions", [])
        inside = [each.get("expression", {}) for each in tree.get("arg_orders", ())]
        if inside:
            arguments = [each["expression"] for each in tree.get("arguments", ())]
            if self._ties and not self._is_total([*inside, *partitions], select, arguments[:1]):
                because = f"rows may be equal in what `{name}` orders them by"
                yield Unsettled(name, because, f"order by what is unique: `{name}(… ORDER BY …, …)`", offset_of(tree), "ties")
                return
            if not counts_rows(tree):
                return  # the frame has the same rows however they come
        orders = [each.get("expression", {}) for each in tree.get("orders", ())]
        if (orders and not self._ties) or self._is_total([*orders, *partitions], select, []):
            return
        if floats:
            yield self._adds(name, tree, "ties" if orders else "no order")
            return
        remedy = f"order its window by columns that are unique: `{name}(…) OVER (… ORDER BY …)`"
        if orders:
            yield Unsettled(name, f"rows of a partition may be equal in what `{name}` orders them by", remedy, offset_of(tree), "ties")
        elif not (tree.get("type") == "WINDOW_AGGREGATE" and self._arguments_fixed(tree, partitions, select)):
            yield Unsettled(name, f"`{name}` takes rows of its window in an order that is not fixed", remedy, offset_of(tree), "no order")

    def _aggregate(self, tree: Tree, name: str, select: Select) -> Iterator[Unsettled]:
        keys, orders, arguments = self._taken(tree, select)
        if any(each.get("type") == "POSITIONAL_REFERENCE" for each in arguments):
            yield from self._array(select.node, ordered=bool(orders))
            return
        if name in PICKED or (name in COMMONEST and not orders):
            yield from self._chooses(tree, name, keys, select)
            return
        if orders:
            if not self._is_total([*orders, *keys], select, arguments[:1]):
                because = f"rows may be equal in what `{name}` orders them by"
                yield Unsettled(name, because, f"order by what is unique: `{name}(… ORDER BY …, …)`", offset_of(tree), "ties")
            return
        if self._arguments_fixed(tree, keys, select):
            return
        because = f"`{name}` takes rows in an order that is not fixed"
        form = WRITTEN_OUT.get(name)
        remedy = f"give it one: `{name}(… ORDER BY …)`" if form is None else f"write it with an order: `{form}`"
        yield Unsettled(name, because, remedy, offset_of(tree), "no order")

    def _array(self, node: Tree, *, ordered: bool) -> Iterator[Unsettled]:
        """`ARRAY(SELECT …)`, of which the parser makes an aggregate over a subquery."""
        inner: Tree = node.get("from_table", {}).get("subquery", {}).get("node", {})
        modifiers = [each for each in inner.get("modifiers", ()) if each.get("type") == "ORDER_MODIFIER"]
        orders = [order.get("expression", {}) for each in modifiers for order in each.get("orders", ())]
        if self._is_settled(inner, orders, []):
            return
        if ordered:
            because = "rows may be equal in what `ARRAY` orders them by"
            yield Unsettled("ARRAY", because, "order by what is unique: `ARRAY(SELECT … ORDER BY …)`", first_offset(inner), "ties")
        else:
            because = "`ARRAY` takes rows in an order that is not fixed"
            yield Unsettled("ARRAY", because, "give it one: `ARRAY(SELECT … ORDER BY …)`", first_offset(inner), "no order")

    def _chooses(self, tree: Tree, name: str, keys: list[Tree], select: Select) -> Iterator[Unsettled]:
        """Aggregates that take one of several values which do as well."""
        arguments = [each["expression"] for each in tree.get("arguments", ())]
        if name in COMMONEST:
            if not tree.get("arg_orders") and not self._arguments_fixed(tree, keys, select):
                because = f"several values may be equally frequent, and `{name}` takes any of these"
                yield Unsettled(name, because, f"say which: `{name}(x ORDER BY x)` takes the least", offset_of(tree), "ties")
        elif len(arguments) > 1 and not self._is_total([*arguments[1:2], *keys], select, arguments[:1]):
            because = f"rows may be equal in what `{name}` looks for, and it takes any of these"
            remedy = f"look for what is unique: `{name}(…, (…, …))` compares several columns"
            yield Unsettled(name, because, remedy, offset_of(tree), "ties")

    def _floats(self, name: str, tree: Tree) -> bool:
        """Whether it adds floating point numbers, and that is asked for."""
        if self._sums is None or name in self._macros:
            return False
        return name in FLOATING or any(self._sums.may_float(name, each["expression"]) for each in tree.get("arguments", ()))

    def _float(self, tree: Tree, name: str, owner: Tree) -> Iterator[Unsettled]:
        """A sum of floating point numbers: which digits are lost hangs on which are added first."""
        select = self._shapes.select(owner)._replace(grouped=None)
        keys, orders, arguments = self._taken(tree, select)
        is_distinct = bool(tree.get("distinct"))
        if self._is_total([*orders, *keys], select, arguments if orders and not is_distinct else []):
            return
        yield self._adds(name, tree, "ties" if orders else "no order")

    def _adds(self, name: str, tree: Tree, how: Literal["no order", "ties"]) -> Unsettled:
        why = "which is not fixed" if how == "no order" else "in which rows may be equal"
        because = f"`{name}` adds floating point numbers in an order {why}, so that the last digits may be others"
        over = tree.get("class") == "WINDOW"
        ordered = f"`{name}(…) OVER (… ORDER BY …)`" if over else f"`{WRITTEN_OUT.get(name, f'{name}(… ORDER BY …)')}`"
        cast = "CAST(… AS DECIMAL(18,4))"
        exact = f"add exact numbers, as in `{name}({cast}{f', {cast}' if name in WEIGHTED else ''})`, or " if name in SUMS else ""
        return Unsettled(name, because, f"{exact}give it an order by what is unique: {ordered}", offset_of(tree), "ties")

    def _taken(self, tree: Tree, select: Select) -> tuple[list[Tree], list[Tree], list[Tree]]:
        """What an aggregate's rows are grouped by, what it orders them by, and its arguments."""
        groups: list[Tree] = select.node.get("group_expressions", []) if len(select.node.get("group_sets", ())) < 2 else []
        keys = [each for each in (self._ordered_by(group, select.node.get("select_list", [])) for group in groups) if each is not None]
        orders = [each.get("expression", {}) for each in tree.get("order_bys", {}).get("orders", ())]
        return keys, orders, [each["expression"] for each in tree.get("arguments", ())]

    def _arguments_fixed(self, tree: Tree, keys: list[Tree], select: Select) -> bool:
        """Whether all rows of a group have the same value, so that it does not matter which is taken, nor when."""
        arguments = [each["expression"] for each in tree.get("arguments", ())]
        covered = closed(self._facts(keys, select), select.rows.depends)
        return bool(arguments) and all(self._is_covered(each, covered, select) for each in arguments)

    def _ordered_by(self, tree: Tree, items: list[Tree]) -> Tree | None:
        """What ORDER BY means: a position and an alias stand for what is selected."""
        position = position_of(tree)
        if position is not None:
            plain = not any(item.get("type") == "STAR" for item in items[: position + 1])
            return items[position] if plain and position < len(items) else None
        name = name_of(tree)
        if name and len(tree.get("column_names", ())) == 1:
            return next((item for item in items if (item.get("alias") or "").lower() == name), tree)
        return tree


def _expanded(items: list[Tree], select: Select) -> list[Tree]:
    """The items, with the columns of each `*` that is known in its place."""
    found: list[Tree] = []
    for item in items:
        columns = select.rows.star(item) if item.get("type") == "STAR" else None
        found += [item] if columns is None else [{"type": "MEANT", "meant": fact, "alias": name or ""} for name, fact in columns]
    return found


def _takes_nothing(modifier: Tree) -> bool:
    literal = modifier.get("limit", {}).get("literal", {})
    return bool(literal.get("kind") == "NULL_LITERAL" or (literal.get("kind") == "INTEGER" and literal.get("text") == "0"))
