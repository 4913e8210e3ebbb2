"""Which output columns of a statement can never be null: a sound pass over DuckDB's own syntax tree.

It follows rows through FROM clauses, subqueries, CTEs and set operations, and closes itself where it meets something that it
does not know: then columns may be null. The binder's names and number of columns are compared with what came out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from interlock.engine.compiler import nullability_groups as groups
from interlock.engine.compiler.nullability_expressions import Expressions
from interlock.engine.compiler.nullability_functions import table as functions_table
from interlock.engine.compiler.nullability_joins import joined
from interlock.engine.compiler.nullability_modifiers import at_place, modified
from interlock.engine.compiler.nullability_pivots import pivoted, unpivoted
from interlock.engine.compiler.nullability_sets import by_name, renamed, side_by_side
from interlock.engine.compiler.nullability_stars import columns_of_star
from interlock.engine.compiler.nullability_trees import (
    EXPANDING,
    arguments_of,
    by_pattern,
    expanding,
    is_grouped,
    is_list,
    is_one_column,
    is_true,
    own_name,
    plain_modifiers,
    references,
)
from interlock.engine.compiler.reading import Cte, Reading
from interlock.engine.compiler.relations import (
    NO_FACTS,
    NO_ROWS,
    Column,
    Columns,
    Env,
    Rows,
    bound,
    closed,
    find,
    replaced,
)
from interlock.engine.warehouse.duckdb.parser import Tree

Known = Callable[[Tree], Columns]
"""The columns of a BASE_TABLE node that is no CTE, with what is known of their nulls."""

_SELECT_KEYS: Final = frozenset(
    {
        "type",
        "modifiers",
        "cte_map",
        "select_list",
        "from_table",
        "where_clause",
        "group_expressions",
        "group_sets",
        "aggregate_handling",
        "having",
        "qualify",
        "sample",
        "query_location",
        "query_location_length",
    }
)
_TABLE: Final = frozenset({"type", "alias", "column_name_alias", "sample", "query_location", "query_location_length"})
_TABLE_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "BASE_TABLE": _TABLE | {"table_name", "schema_name", "catalog_name", "qualified_name", "at_clause"},
    "EXPRESSION_LIST": _TABLE | {"values", "expected_names"},
    "JOIN": _TABLE | {"left", "right", "condition", "join_type", "ref_type", "using_columns", "is_implicit"},
    "PIVOT": _TABLE | {"source", "aggregates", "pivots", "groups", "unpivot_names", "include_nulls"},
    "SUBQUERY": _TABLE | {"subquery"},
    "TABLE_FUNCTION": _TABLE | {"function", "with_ordinality"},
}
"""What a part of a FROM clause may hold; with anything else in it its columns are not known."""
_RANGES: Final = frozenset({"range", "generate_series"})


class Nullability:
    """Looks at one statement."""

    def __init__(
        self,
        reading: Reading,
        known: Known,
        *,
        aggregates: frozenset[str],
        macros: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        may_hold_json: bool = True,
    ) -> None:
        """Nothing is looked at yet.

        Args:
            reading: of the statement.
            known: what relations outside of it hold.
            aggregates: names of all aggregates of the engine.
            macros: the project's macros, by name in small letters, with their statements.
            settings: that change answers.
            may_hold_json: whether there is JSON anywhere.
        """
        self._reading = reading
        self._known = known
        self._macros = frozenset(macros or ())
        self._expanding = EXPANDING | expanding(macros or {})
        self._memory: dict[int, Columns] = {}
        self._parts: dict[int, list[Tree]] = {}
        self.conditions: list[tuple[str, Tree, Env]] = []
        """What filters, joins, groups, orders, multiplies and cuts off rows anywhere in the statement, and where it stands; for lineage."""
        self.made: list[Column] = []
        """Columns that an expression of the text makes, or that it names to leave them out; whether or not anything reads them."""
        self.lost = False
        """Whether there is a part of the statement of which it is not known which columns it has."""
        self.expressions = Expressions(
            self._subquery,
            table=functions_table(),
            aggregates=aggregates,
            macros=self._macros,
            settings=settings or {},
            may_hold_json=may_hold_json,
        )

    def root(self) -> Columns:
        """Columns of the statement."""
        return self.query(self._reading.root, None)

    def _subquery(self, node: Tree, env: Env) -> tuple[Columns, bool]:
        return self.query(node, env), self._gives_one_row(node, env)

    # --- queries --------------------------------------------------------------------------------------------------------

    def query(self, node: Tree, outer: Env | None) -> Columns:
        """Columns of a query node."""
        found: Columns = None
        match node.get("type"):
            case "SELECT_NODE":
                found = self._select(node, outer) if node.keys() <= _SELECT_KEYS else None
            case "SET_OPERATION_NODE":
                found = self._set_operation(node, outer)
            case "RECURSIVE_CTE_NODE":
                found = self._recursive(node, outer)
            case _:
                pass
        self.lost = self.lost or found is None
        return found

    def is_read(self, cte: Tree) -> bool:
        """Whether anything that was looked at reads this query of a CTE. The engine does not bind one that nothing reads."""
        return id(cte) in self._memory

    def _set_operation(self, node: Tree, outer: Env | None) -> Columns:
        branches = [self.query(child, outer) for child in node.get("children", ())]
        known = [branch for branch in branches if branch is not None]
        if len(known) < len(branches) or not known:
            return None
        distinct = node.get("setop_all") is False  # a tree leaves out what is as it is by default, and that is ALL
        if distinct or node.get("setop_type") in {"EXCEPT", "INTERSECT"}:
            nowhere = Env(NO_ROWS, NO_FACTS, None)
            self.conditions += [("set", {"type": "BOUND_COLUMN", "column": column}, nowhere) for branch in known for column in branch]
        columns: Columns = None
        match node.get("setop_type"):
            case "UNION":
                columns = side_by_side(known, all)
            case "INTERSECT":
                columns = side_by_side(known, any)
            case "EXCEPT":
                columns = side_by_side(known, lambda flags: next(iter(flags)))
            case "UNION_BY_NAME":
                columns = by_name(known)
            case _:
                pass
        if columns is not None and node.get("modifiers"):
            rows = bound("", columns)
            self.conditions += modified(node, columns, Env(rows, rows.facts, outer))
        return columns

    def _recursive(self, node: Tree, outer: Env | None) -> Columns:
        """To a fixed point: what the first branch proves is assumed, until what the second gives no longer disproves anything."""
        left = self.query(node["left"], outer)
        names = node.get("aliases", ())
        if left is None:
            self._memory[id(node)] = None
            return None
        if node.get("key_targets"):
            left = tuple(column.again(column.name, never_null=False) for column in left)
        assumed = renamed(left, names)
        for column in assumed:
            column.also = frozenset()  # rows of the second branch need not keep to it
        memory = self._memory
        while True:
            self._memory = {**memory, id(node): assumed}
            right = self.query(node["right"], outer)
            if right is None or len(right) != len(assumed):
                self.lost = True
                self._memory = {**memory, id(node): tuple(column.again(column.name, never_null=False) for column in assumed)}
                return self._memory[id(node)]
            found = [one.never_null and other.never_null and one.json == other.json for one, other in zip(assumed, right, strict=True)]
            if found == [column.never_null for column in assumed]:
                for one, other in zip(assumed, right, strict=True):
                    one.merged = (*one.merged, other)  # what the second branch reads are rows that it gave itself
                inner = Env(bound("", assumed), NO_FACTS, outer)
                self.conditions += [("group", key, inner) for key in node.get("key_targets", ())]
                self.conditions += modified(node, assumed, inner)
                if not node.get("union_all"):
                    self.conditions += [("set", {"type": "BOUND_COLUMN", "column": column}, inner) for column in assumed]
                return tuple(
                    Column(one.name, never_null=one.never_null, json=one.json or other.json, merged=(one, other))
                    for one, other in zip(assumed, right, strict=True)
                )
            assumed = tuple(column.again(column.name, never_null=flag) for column, flag in zip(assumed, found, strict=True))

    def _gives_one_row(self, node: Tree, outer: Env | None) -> bool:
        """Whether a query gives exactly one row, whatever is there."""
        if node.get("type") != "SELECT_NODE" or not plain_modifiers(node) or is_grouped(node):
            return False
        if any(key in node for key in ("having", "qualify", "sample")) or any(map(self._expands, node.get("select_list", ()))):
            return False
        if self._aggregates_everything(node, outer):
            return True
        if "where_clause" in node or self._has_aggregate(node):
            return False
        table = node.get("from_table", {})
        match table.get("type"):
            case "EMPTY":
                return True
            case "SUBQUERY" if "sample" not in table:
                return self._gives_one_row(table["subquery"]["node"], outer)
            case "EXPRESSION_LIST" if "sample" not in table:
                return len(table.get("values", ())) == 1
            case _:
                return False

    def _aggregates_everything(self, node: Tree, outer: Env | None) -> bool:
        calls = [call for item in node.get("select_list", ()) for call in self._aggregate_calls(item)]
        if not calls:
            return False
        rows = self._from(node.get("from_table", {}), outer)
        inner = Env(rows, rows.facts, None)
        for call in calls:
            named = list(references(arguments_of(call)))
            # an aggregate of nothing but outer columns may belong to the outer query
            if not named or any(find(names, inner) is not None for names in named):
                return True
        return False

    # --- SELECT ---------------------------------------------------------------------------------------------------------

    def _select(self, node: Tree, outer: Env | None) -> Columns:
        rows = self._from(node.get("from_table", {}), outer)
        items: list[Tree] = node.get("select_list", [])
        aliases = {item["alias"].lower(): item for item in items if item.get("alias") and item.get("type") != "STAR"}
        env = Env(rows, rows.facts, outer, aliases=aliases)
        where = node.get("where_clause")
        if where is not None:
            self.conditions.append(("filter", where, env))
            env = Env(rows, env.facts | self.expressions.if_true(where, env), outer, aliases=aliases)
        grouped = is_grouped(node) or "having" in node or self._has_aggregate(node)
        if grouped:
            env = self._grouped(node, env)
        elif groups.may_be_one_group(node, rows, self.expressions.is_aggregate):
            env = groups.of_no_rows(env, None)
        for role in ("having", "qualify"):
            condition = node.get(role)
            if condition is not None:
                self.conditions.append(("filter", condition, env))
                env.aliases_first = True
                facts = self.expressions.if_true(condition, env)
                env.aliases_first = False
                before = env
                env = env.knowing(facts)
                env.window = env if role == "having" else before.window
        columns: list[Column] = []
        for item in items:
            found = self._item(item, env)
            if found is None:
                self.conditions += modified(node, None, env)
                return None
            columns += found
            self.conditions += [("expand", part, env) for part in self._inside(item) if self._is_expanding(part)]
        self.conditions += modified(node, tuple(columns), env)
        if grouped:
            self._grouped_by_items(node, columns, env)
        if sum(map(self._expands, items)) == 1:
            self._unnested(items, columns, env)
        if env.rows.pads:
            self._together(columns, env)
        return tuple(columns)

    def _grouped_by_items(self, node: Tree, columns: list[Column], env: Env) -> None:
        """GROUP BY ALL, and GROUP BY the place of an item: what the rows are grouped by are columns of the output."""
        keys = [column for key in node.get("group_expressions", ()) if (column := at_place(key, tuple(columns))) is not None]
        if node.get("aggregate_handling") == "FORCE_AGGREGATES":
            keys += [
                column for column in columns if column.expression is not None and not list(self._aggregate_calls(column.expression[0]))
            ]
        self.conditions += [("group", {"type": "BOUND_COLUMN", "column": column}, env) for column in keys]

    def _unnested(self, items: list[Tree], columns: list[Column], env: Env) -> None:
        """The one list that is taken apart gives a row for each of its values, and no other."""
        place = next(index for index, item in enumerate(items) if self._expands(item))
        item = items[place]
        if item.get("function_name") != "unnest" or len(columns) != len(items):
            return
        inner = arguments_of(item)[0]
        name = inner.get("function_name")
        listed = arguments_of(inner)
        if name in _RANGES or (name == "list_value" and all(self.expressions.never_null(each, env) for each in listed)):
            columns[place].never_null = True

    def _together(self, columns: list[Column], env: Env) -> None:
        """Which columns are not null where another is not: those that an outer join pads together."""
        numbers: list[int | None] = []
        for column in columns:
            tree = column.expression[0] if column.expression is not None else {}
            found = tree.get("column") if tree.get("type") == "BOUND_COLUMN" else None
            if tree.get("type") == "COLUMN_REF":
                found = find(tree.get("column_names", []), env)
            numbers.append(found.number if isinstance(found, Column) else None)
        for place, number in enumerate(numbers):
            if number is None or columns[place].never_null:
                continue
            facts = closed(env.facts | {number}, env.rows.pads)
            columns[place].also = frozenset(index for index, other in enumerate(numbers) if index != place and other in facts)

    def _item(self, item: Tree, env: Env) -> list[Column] | None:
        star = item if item.get("type") == "STAR" else by_pattern(item)
        if star is not None:
            return self._star(star, env)
        function = item.get("type") == "FUNCTION" and self._expands(item)
        if function and not is_one_column(item, expands=self._is_expanding(item), env=env, macros=self._macros):
            return None
        stars = [part for part in self._inside(item) if part["type"] == "STAR"]
        if not stars:
            return [self._column(item, item.get("alias") or own_name(item), env)]
        if len(stars) > 1 or not stars[0].get("columns") or any(part["type"] == "OPERATOR_UNPACK" for part in self._inside(item)):
            return None
        expanded = self._star(stars[0], env)
        if expanded is None:
            return None
        return [self._column(replaced(item, stars[0], column), item.get("alias") or column.name, env) for column in expanded]

    def _column(self, tree: Tree, name: str | None, env: Env) -> Column:
        kind: str | None = None
        if tree.get("type") == "COLUMN_REF":
            found = find(tree.get("column_names", []), env)
            kind = found.type if isinstance(found, Column) else None
        elif is_list(tree, env, self._macros):
            kind = "[]"
        column = Column(
            name,
            never_null=self.expressions.never_null(tree, env),
            json=self.expressions.json(tree, env),
            expression=(tree, env),
            type=kind,
        )
        if tree.get("type") != "BOUND_COLUMN":
            self.made.append(column)
        return column

    def star(self, star: Tree, env: Env) -> Columns:
        """The columns that a `*` or COLUMNS stands for inside of an expression."""
        found = self._star(star, env)
        return None if found is None else tuple(found)

    def _star(self, star: Tree, env: Env) -> list[Column] | None:
        return columns_of_star(star, env, self._column, self.made)

    # --- groups ---------------------------------------------------------------------------------------------------------

    def _grouped(self, node: Tree, before: Env) -> Env:
        self.conditions += [("group", key, before) for key in node.get("group_expressions", [])]
        return groups.after_grouping(node, before, self._has_key, self.expressions)

    def _has_key(self, items: list[Tree], before: Env) -> bool:
        """Whether GROUP BY ALL has something to group by: an item without aggregate that reads a column of these rows itself."""
        own = Env(before.rows, NO_FACTS, None)
        return any(
            item.get("type") != "STAR"
            and not list(self._aggregate_calls(item))
            and any(part["type"] == "COLUMN_REF" and find(part.get("column_names", []), own) is not None for part in self._inside(item))
            for item in items
        )

    def _has_aggregate(self, node: Tree) -> bool:
        return any(True for place in groups.places_of(node) for _ in self._aggregate_calls(place))

    def _aggregate_calls(self, tree: Tree) -> Iterable[Tree]:
        return (part for part in self._inside(tree) if self.expressions.is_aggregate(part))

    def _expands(self, tree: Tree) -> bool:
        """Whether something in it makes several rows of one, or may."""
        return any(map(self._is_expanding, self._inside(tree)))

    def _is_expanding(self, part: Tree) -> bool:
        return bool(part["type"] == "FUNCTION") and part.get("function_name", "").lower() in self._expanding

    def _inside(self, tree: Tree) -> list[Tree]:
        """All expressions in an item or a condition of the statement, itself among them; what stands in a subquery is not."""
        known = self._parts.get(id(tree))
        if known is not None:
            return known
        found: list[Tree] = []
        waiting: list[Any] = [tree]
        while waiting:
            part = waiting.pop()
            if type(part) is dict:  # exact types: they come from a decoder, and this is a hot line
                if part.get("type") == "SUBQUERY":
                    continue
                if "class" in part:
                    found.append(part)
                # what picks the columns of a star is about their names
                inside = part.values() if part.get("type") != "STAR" else (part.get("replace_list"),)
                waiting += [each for each in inside if type(each) is dict or type(each) is list]
            else:
                waiting += [each for each in part if type(each) is dict or type(each) is list]
        self._parts[id(tree)] = found
        return found

    # --- FROM -----------------------------------------------------------------------------------------------------------

    def _from(self, table: Tree, outer: Env | None) -> Rows:
        kind = table.get("type", "EMPTY")
        if kind == "EMPTY":
            return NO_ROWS
        if kind == "JOIN" and table.keys() <= _TABLE_KEYS[kind]:
            return self._join(table, outer)
        name = table.get("alias") or (table.get("qualified_name", {}).get("path") or [""])[-1]
        return bound(name, self._relation(table, kind, outer), table.get("column_name_alias", ()))

    def _relation(self, table: Tree, kind: str, outer: Env | None) -> Columns:
        found = self._columns_of(table, kind, outer)
        if found is None and kind != "TABLE_FUNCTION":  # of that one, what it reads is known all the same
            self.lost = True
        return found

    def _columns_of(self, table: Tree, kind: str, outer: Env | None) -> Columns:
        if kind == "TABLE_FUNCTION":
            around = outer if outer is not None else Env(NO_ROWS, NO_FACTS, None)
            self.conditions.append(("rows", table.get("function", {}), around))
        if not table.keys() <= _TABLE_KEYS.get(kind, frozenset()):
            return None
        match kind:
            case "BASE_TABLE":
                cte = self._reading.bound_to.get(id(table))
                return self._cte(cte) if cte is not None else self._known(table)
            case "SUBQUERY":
                return self.query(table["subquery"]["node"], outer)
            case "EXPRESSION_LIST":
                return self._values(table.get("values", []), outer)
            case "TABLE_FUNCTION":
                return self._table_function(table, outer)
            case "PIVOT":
                return self._pivot(table, outer)
            case _:
                return None

    def _cte(self, cte: Cte) -> Columns:
        node = cte.entry["query_node"]
        if id(node) not in self._memory:
            self._memory[id(node)] = self.query(node, None)
        columns = self._memory[id(node)]
        return None if columns is None else renamed(columns, cte.entry.get("aliases", ()))

    def _values(self, values: list[list[Tree]], outer: Env | None) -> Columns:
        env = Env(NO_ROWS, NO_FACTS, outer)
        width = len(values[0]) if values else 0
        columns: list[Column] = []
        for index in range(width):
            cells = [row[index] for row in values]
            kinds = {self.expressions.json(cell, env) for cell in cells}
            columns.append(
                Column(
                    f"col{index}",
                    never_null=len(kinds) == 1 and all(self.expressions.never_null(cell, env) for cell in cells),
                    json=any(kinds),
                    expression=({"type": "LIST", "parts": cells}, env),
                )
            )
        self.made += columns
        return tuple(columns)

    def _table_function(self, table: Tree, outer: Env | None) -> Columns:
        name = table.get("function", {}).get("function_name", "").lower()
        around = outer if outer is not None else Env(NO_ROWS, NO_FACTS, None)
        if name == "unnest" and is_one_column(table["function"], expands=True, env=around, macros=self._macros):
            ordinality = (Column("ordinality", never_null=True),) if table.get("with_ordinality") else ()
            return (Column(name, expression=(table["function"], around)), *ordinality)
        if name in self._macros or name not in _RANGES or any("name" in each for each in table["function"].get("arguments", ())):
            return None
        columns = [Column(name, never_null=True, expression=(table["function"], around))]
        if table.get("with_ordinality"):
            columns.append(Column("ordinality", never_null=True))
        return tuple(columns)

    def _pivot(self, table: Tree, outer: Env | None) -> Columns:
        rows = self._from(table.get("source", {}), outer)
        if rows.star is None:
            return None
        source = [column.again(column.name, never_null=column.number in rows.facts) for column in rows.star]
        env = Env(rows, rows.facts, outer)
        if table.get("unpivot_names"):
            if not table.get("include_nulls"):
                self.conditions += [("filter", entry, env) for pivot in table.get("pivots", ()) for entry in pivot.get("entries", ())]
            columns = unpivoted(table, source, env)
            self.made += [column for column in columns or () if column not in source]
            return columns
        self.conditions += [("group", pivot, env) for pivot in table.get("pivots", ())]
        self.conditions += [("group", {"type": "COLUMN_REF", "column_names": [name]}, env) for name in table.get("groups", ())]
        columns = pivoted(table, source, env)
        self.made += [column for column in columns or () if column not in source]
        stay = [column for column in columns or () if column in source and not table.get("groups")]
        self.conditions += [("group", {"type": "BOUND_COLUMN", "column": column}, env) for column in stay]
        return columns

    def _join(self, table: Tree, outer: Env | None) -> Rows:
        left = self._from(table["left"], outer)
        right = self._from(table["right"], Env(left, left.facts, outer))
        if table.get("join_type") == "LEFT" and is_true(table.get("condition")) and self._is_one_row(table["right"], left, outer):
            table = {**table, "join_type": "INNER"}
        return joined(table, left, right, outer, self)

    def _is_one_row(self, table: Tree, left: Rows, outer: Env | None) -> bool:
        return (
            table.get("type") == "SUBQUERY"
            and "sample" not in table
            and self._gives_one_row(table["subquery"]["node"], Env(left, left.facts, outer))
        )
