"""Whether an expression can be null, in three-valued logic. "Never null" is said only where it is proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from interlock.engine.compiler.functions import CLOCK_WORDS, is_volatile
from interlock.engine.compiler.nullability_functions import DIVISIONS, Table
from interlock.engine.compiler.nullability_trees import (
    arguments_of,
    common_to,
    is_null,
    is_text_type,
    is_value,
    names_json,
    reaches_the_row,
    union_of,
)
from interlock.engine.compiler.relations import NO_FACTS, Column, Columns, Env, Fact, Facts, Field, Grouping, find
from interlock.engine.warehouse.duckdb.parser import Tree

_COMPARISONS: Final = frozenset(
    {
        "COMPARE_EQUAL",
        "COMPARE_NOTEQUAL",
        "COMPARE_LESSTHAN",
        "COMPARE_GREATERTHAN",
        "COMPARE_LESSTHANOREQUALTO",
        "COMPARE_GREATERTHANOREQUALTO",
    }
)
_NO_KEY: Final = frozenset({"SUBQUERY", "LAMBDA", "STAR", "OPERATOR_UNPACK", "PARAMETER"})
_NOT_IN_KEYS: Final = frozenset({"query_location", "query_location_length", "alias", "class", "is_operator", "qualified_name"})
_OF_ONE: Final = frozenset({"json_type", "json_array_length"})
"""Never null of one argument that is not; with a path they look for what may not be there."""
_CONCATENATIONS: Final = frozenset({"+", "||", "add"})
_LOOKING: Final = frozenset({"nullif", "array_indexof", "array_position", "list_indexof", "list_position"})
"""Null if the first argument is, and perhaps otherwise: the place of a null in a list that holds one is a number."""

_EVERYWHERE: Final = frozenset({"class", "type", "alias", "query_location", "query_location_length"})
_NO_KEYS: Final[frozenset[str]] = frozenset()
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "BETWEEN": _EVERYWHERE | {"input", "lower", "upper"},
    "CASE": _EVERYWHERE | {"case_checks", "else_expr"},
    "CAST": _EVERYWHERE | {"child", "type_expr", "try_cast"},
    "COLLATE": _EVERYWHERE | {"child", "collation"},
    "COMPARISON": _EVERYWHERE | {"left", "right"},
    "CONJUNCTION": _EVERYWHERE | {"children"},
    "FUNCTION": _EVERYWHERE | {"function_name", "qualified_name", "arguments", "order_bys", "filter", "distinct", "is_operator"},
    "OPERATOR": _EVERYWHERE | {"children"},
    "SUBQUERY": _EVERYWHERE | {"subquery_type", "subquery", "child", "comparison_type"},
    "WINDOW": _EVERYWHERE
    | {"function_name", "qualified_name", "arguments", "partitions", "orders", "start", "end", "start_expr", "end_expr", "exclude_clause"}
    | {"filter_expr", "distinct", "ignore_nulls", "has_ignore_nulls", "arg_orders"},
}
"""What a node may hold. With anything else in it a rule says nothing: it may mean what the rule does not know."""

Query = Callable[[Tree, Env], tuple[Columns, bool]]
"""Columns of a query inside of an expression, and whether it always gives exactly one row."""


class Expressions:
    """Judges expressions of one statement."""

    def __init__(
        self,
        query: Query,
        *,
        table: Table,
        aggregates: frozenset[str],
        macros: Iterable[str],
        settings: Mapping[str, str],
        may_hold_json: bool,
    ) -> None:
        """Nothing is judged yet.

        Args:
            query: looks at a subquery.
            table: what functions do with nulls.
            aggregates: names of all aggregates of the engine.
            macros: names that the project gives to macros, of which nothing is known here.
            settings: that change answers.
            may_hold_json: whether there is JSON anywhere, whose casts can give null.
        """
        self._query = query
        self._aggregate_names = aggregates
        self._aggregates = table.aggregates
        self._macros = frozenset(macros)
        divides = settings.get("error_on_division_by_zero", "true") == "true" and settings.get("ieee_floating_point_ops", "true") == "true"
        unsure = frozenset() if divides else DIVISIONS
        self._strict = table.scalars.strict - unsure
        self._total = table.scalars.total | self._strict
        self._passing = table.scalars.passing | table.scalars.strict
        self._scalars = table.scalars
        self._may_hold_json = may_hold_json

    # --- never null -----------------------------------------------------------------------------------------------------

    def never_null(self, tree: Tree, env: Env) -> bool:
        """Whether the expression is not null in any row that the environment tells of."""
        grouping = env.grouping
        if grouping is not None and grouping.opaque:
            key = self.key(tree, env)
            if key is not None and key in grouping.kept:
                return True
            return self.is_aggregate(tree) and self._aggregate(tree, env, grouping)
        kind = tree.get("type", "")
        if kind == "COLUMN_REF":
            return self._column(tree, env)
        if kind == "VALUE_CONSTANT":
            return is_value(tree)
        rule = _RULES.get(kind)
        if rule is not None and tree.keys() <= _KEYS.get(tree.get("class", ""), _NO_KEYS) and rule(self, tree, env):
            return True
        if kind in {"OPERATOR_COALESCE", "CASE_EXPR"} and self._either_way(tree, env):
            return True
        if kind in {"BOUND_COLUMN", "VALUE_PARAMETER"}:
            return kind == "VALUE_PARAMETER" or tree["column"].number in env.facts
        return self._known(tree, env)

    def _either_way(self, tree: Tree, env: Env) -> bool:
        """Whether it holds for rows that have the left side of a full join, and for those that have the right one."""
        for sides in env.rows.alternatives:
            worlds = [env.knowing(facts) for facts in sides]
            if env not in worlds and all(_RULES[tree["type"]](self, tree, world) for world in worlds):
                return True
        return False

    def _known(self, tree: Tree, env: Env) -> bool:
        """Whether a predicate has said of this very expression that it is not null."""
        if all(isinstance(fact, int) for fact in env.facts):
            return False
        key = self.key(tree, env)
        return key is not None and key in env.facts

    def _all(self, trees: Iterable[Tree], env: Env) -> bool:
        return all(self.never_null(tree, env) for tree in trees)

    def _column(self, tree: Tree, env: Env) -> bool:
        names = tree.get("column_names", [])
        found = find(names, env)
        if isinstance(found, Column):
            return _holds(found.number, env)
        if isinstance(found, dict):
            return self.never_null(found, _without_alias(names, env))
        return found is None and len(names) == 1 and names[0].lower() in CLOCK_WORDS and not env.rows.opaque

    def _cast(self, tree: Tree, env: Env) -> bool:
        if tree.get("try_cast"):
            return False
        child = tree["child"]
        if self.json(child, env) and not is_text_type(tree):
            return False
        if str(tree.get("type_expr", {}).get("type_name", "")).upper() == "VARIANT" and not self._is_scalar(child, env):
            return False  # of a UNION it is null where the member is
        return self.never_null(child, env)

    def _same_kinds(self, trees: list[Tree], env: Env) -> bool:
        """Whether no value is changed from JSON into something else on the way, which can make it null."""
        if not self._may_hold_json:
            return True
        kinds = {self.json(tree, env) for tree in trees}
        return len(kinds) < 2

    def _comparison(self, tree: Tree, env: Env) -> bool:
        sides = [tree["left"], tree["right"]]
        return self._all(sides, env) and self._same_kinds(sides, env)

    def _between(self, tree: Tree, env: Env) -> bool:
        parts = [tree["input"], tree["lower"], tree["upper"]]
        return self._all(parts, env) and self._same_kinds(parts, env)

    def _in(self, tree: Tree, env: Env) -> bool:
        return self._all(tree["children"], env) and self._same_kinds(tree["children"], env)

    def _and(self, tree: Tree, env: Env) -> bool:
        # if one before is false the whole is false; else it is true, and what follows from it holds for the rest
        for child in tree["children"]:
            if not self.never_null(child, env):
                return False
            env = env.knowing(self.if_true(child, env))
        return True

    def _or(self, tree: Tree, env: Env) -> bool:
        for child in tree["children"]:
            if not self.never_null(child, env):
                return False
            env = env.knowing(self.if_false(child, env))
        return True

    def _coalesce(self, tree: Tree, env: Env) -> bool:
        children = tree["children"]
        return any(self.never_null(child, env) for child in children) and self._same_kinds(children, env)

    def _case(self, tree: Tree, env: Env) -> bool:
        results = [check["then_expr"] for check in tree["case_checks"]]
        otherwise = tree.get("else_expr")
        if otherwise is None or not self._same_kinds([*results, otherwise], env):
            return False
        for check in tree["case_checks"]:
            when = check["when_expr"]
            if self._never_true(when, env):
                continue
            if not self.never_null(check["then_expr"], env.knowing(self.if_true(when, env))):
                return False
            if self.never_null(when, env):
                env = env.knowing(self.if_false(when, env))
        return self.never_null(otherwise, env)

    def _never_true(self, tree: Tree, env: Env) -> bool:
        """Whether a condition asks for a null where there is none."""
        match tree.get("type"):
            case "OPERATOR_IS_NULL":
                return self.never_null(tree["children"][0], env)
            case "CONJUNCTION_AND":
                return any(self._never_true(child, env) for child in tree["children"])
            case "CONJUNCTION_OR":
                return all(self._never_true(child, env) for child in tree["children"])
            case _:
                return False

    def _subquery(self, tree: Tree, env: Env) -> bool:
        kind = tree.get("subquery_type")
        if kind in {"EXISTS", "NOT_EXISTS"}:
            return True
        columns, one_row = self._query(tree["subquery"]["node"], env)
        if columns is None or len(columns) != 1 or not columns[0].never_null:
            return False
        if kind == "SCALAR":
            return one_row
        if kind != "ANY":
            return False
        child = tree["child"]
        return self.never_null(child, env) and (not self._may_hold_json or self.json(child, env) == columns[0].json)

    def _function(self, tree: Tree, env: Env) -> bool:
        name = tree.get("function_name", "").lower()
        if name in self._macros:
            return False
        if self.is_aggregate(tree):
            return env.grouping is not None and self._aggregate(tree, env, env.grouping)
        arguments = arguments_of(tree)
        scalars = self._scalars
        if name == "if" and len(arguments) == 3:
            check = {"when_expr": arguments[0], "then_expr": arguments[1]}
            return self._case({"case_checks": [check], "else_expr": arguments[2]}, env)
        if name in _OF_ONE and len(arguments) == 1:
            return self._all(arguments, env)
        if name in scalars.never:
            return True
        if not arguments:
            return False
        if name in self._total:
            return self._all(arguments, env) and (name not in self._strict or self._same_kinds(arguments, env))
        if name in scalars.any:
            return any(self.never_null(argument, env) for argument in arguments) and self._same_kinds(arguments, env)
        return name in scalars.first and self.never_null(arguments[0], env)

    # --- aggregates and windows -----------------------------------------------------------------------------------------

    def is_aggregate(self, tree: Tree) -> bool:
        """Whether it is a call of an aggregate. What a project's macro hides is not seen."""
        if tree.get("type") != "FUNCTION":
            return False
        name = tree.get("function_name", "").lower()
        return name in self._aggregate_names and name not in self._macros

    def _aggregate(self, tree: Tree, env: Env, grouping: Grouping) -> bool:
        name = tree["function_name"].lower()
        if name in self._aggregates.never:
            return True
        if grouping.may_be_empty or "filter" in tree:
            return self._known(tree, env)
        arguments = arguments_of(tree)
        if name in self._aggregates.rows and not tree.get("distinct"):
            return True
        if name in self._aggregates.values or name in self._aggregates.rows:
            return bool(arguments) and (self._all(arguments, grouping.before) or self._known(tree, env))
        return self._known(tree, env)

    def _window(self, tree: Tree, env: Env) -> bool:
        name = tree.get("function_name", "").lower()
        if name in self._macros:
            return False
        arguments = arguments_of(tree)
        around = env.window
        match tree["type"]:
            case "WINDOW_ROW_NUMBER" | "WINDOW_RANK" | "WINDOW_RANK_DENSE" | "WINDOW_PERCENT_RANK" | "WINDOW_CUME_DIST":
                return True
            case "WINDOW_NTILE":
                return self._all(arguments, around)
            case "WINDOW_LAG" | "WINDOW_LEAD":
                return len(arguments) == 3 and self._all(arguments, around)
            case "WINDOW_FIRST_VALUE" | "WINDOW_LAST_VALUE":
                return "filter_expr" not in tree and self._holds_a_row(tree) and self._all(arguments, around)
            case "WINDOW_AGGREGATE":
                if name in self._aggregates.never:
                    return True
                if "filter_expr" in tree or not self._holds_a_row(tree):
                    return False
                if name in self._aggregates.rows and not tree.get("distinct") and not tree.get("ignore_nulls"):
                    return True
                listed = name in self._aggregates.values or name in self._aggregates.rows
                return listed and bool(arguments) and self._all(arguments, around)
            case _:
                pass
        return False

    def _holds_a_row(self, tree: Tree) -> bool:
        """Whether a window's frame surely holds the current row."""
        if tree.get("exclude_clause", "NO_OTHER") not in {"NO_OTHER", "TIES"}:
            return False
        start, end = tree.get("start", ""), tree.get("end", "")
        starts = (
            start == "UNBOUNDED_PRECEDING" or start.startswith("CURRENT_ROW") or reaches_the_row(start, "PRECEDING", tree.get("start_expr"))
        )
        ends = end == "UNBOUNDED_FOLLOWING" or end.startswith("CURRENT_ROW") or reaches_the_row(end, "FOLLOWING", tree.get("end_expr"))
        return starts and ends

    # --- what follows ---------------------------------------------------------------------------------------------------

    def if_true(self, tree: Tree, env: Env) -> Facts:
        """What is not null in rows in which a predicate is true."""
        match tree.get("type"):
            case "CONJUNCTION_AND":
                return union_of(self.if_true(child, env) for child in tree["children"])
            case "CONJUNCTION_OR":
                return common_to(self.if_true(child, env) for child in tree["children"])
            case "OPERATOR_NOT":
                return self.if_false(tree["children"][0], env)
            case "OPERATOR_IS_NOT_NULL":
                return self.if_not_null(tree["children"][0], env)
            case "OPERATOR_IS_NULL":
                return NO_FACTS
            case "COMPARE_BETWEEN":
                return union_of(self.if_not_null(tree[part], env) for part in ("input", "lower", "upper"))
            case "COMPARE_NOT_DISTINCT_FROM":
                left, right = tree["left"], tree["right"]
                facts = self.if_not_null(left, env) if self.never_null(right, env) else NO_FACTS
                return facts | (self.if_not_null(right, env) if self.never_null(left, env) else NO_FACTS)
            case "COMPARE_DISTINCT_FROM":
                left, right = tree["left"], tree["right"]
                facts = self.if_not_null(left, env) if is_null(right) else NO_FACTS
                return facts | (self.if_not_null(right, env) if is_null(left) else NO_FACTS)
            case "SUBQUERY":
                return self.if_not_null(tree["child"], env) if tree.get("subquery_type") == "ANY" else NO_FACTS
            case "COLUMN_REF" if isinstance(found := find(tree.get("column_names", []), env), dict):
                return self.if_true(found, _without_alias(tree["column_names"], env))
            case _:
                return self.if_not_null(tree, env)

    def if_false(self, tree: Tree, env: Env) -> Facts:
        """What is not null in rows in which a predicate is false."""
        match tree.get("type"):
            case "CONJUNCTION_AND":
                return common_to(self.if_false(child, env) for child in tree["children"])
            case "CONJUNCTION_OR":
                return union_of(self.if_false(child, env) for child in tree["children"])
            case "OPERATOR_NOT":
                return self.if_true(tree["children"][0], env)
            case "OPERATOR_IS_NULL":
                return self.if_not_null(tree["children"][0], env)
            case "COMPARE_BETWEEN":
                return self.if_not_null(tree["input"], env)
            case "COMPARE_NOT_DISTINCT_FROM":
                return self.if_true({**tree, "type": "COMPARE_DISTINCT_FROM"}, env)
            case "COMPARE_DISTINCT_FROM":
                return self.if_true({**tree, "type": "COMPARE_NOT_DISTINCT_FROM"}, env)
            case "OPERATOR_IS_NOT_NULL" | "SUBQUERY":
                return NO_FACTS
            case "COLUMN_REF" if isinstance(found := find(tree.get("column_names", []), env), dict):
                return self.if_false(found, _without_alias(tree["column_names"], env))
            case _:
                return self.if_not_null(tree, env)

    def if_not_null(self, tree: Tree, env: Env) -> Facts:
        """What is not null where an expression is not: itself, and all that it passes nulls on from."""
        kind = tree.get("type", "")
        if kind == "COLUMN_REF":
            found = find(tree.get("column_names", []), env)
            if isinstance(found, Column):
                return frozenset({found.number})
            if isinstance(found, Field):
                return frozenset({found.column.number}) if found.column is not None else NO_FACTS
            return self.if_not_null(found, _without_alias(tree["column_names"], env)) if found is not None else NO_FACTS
        if kind == "BOUND_COLUMN":
            return frozenset({tree["column"].number})
        key = self.key(tree, env)
        own: Facts = frozenset({key}) if key is not None else NO_FACTS
        if kind in _COMPARISONS:
            return own | self.if_not_null(tree["left"], env) | self.if_not_null(tree["right"], env)
        if kind in {"OPERATOR_CAST", "COLLATE"}:
            return own | self.if_not_null(tree["child"], env)
        if kind in {"ARRAY_EXTRACT", "STRUCT_EXTRACT", "ARRAY_SLICE", "OPERATOR_NOT", "COMPARE_IN"}:
            return own | self.if_not_null(tree["children"][0], env)
        if kind == "COMPARE_BETWEEN":
            return own | self.if_not_null(tree["input"], env)
        if kind == "FUNCTION":
            return own | self._if_function(tree, env)
        return own

    def _if_function(self, tree: Tree, env: Env) -> Facts:
        name = tree.get("function_name", "").lower()
        if name in self._macros or self.is_aggregate(tree):
            return NO_FACTS
        arguments = arguments_of(tree)
        if name in _CONCATENATIONS and not any(self._is_scalar(argument, env) for argument in arguments):
            return NO_FACTS
        if name in self._passing:
            return union_of(self.if_not_null(argument, env) for argument in arguments)
        if name in self._scalars.first or name in _LOOKING:
            return self.if_not_null(arguments[0], env) if arguments else NO_FACTS
        return NO_FACTS

    def _is_scalar(self, tree: Tree, env: Env) -> bool:
        """Whether it is surely no list, and no union: `[1] || NULL` is not null, `'a' || NULL` is."""
        if tree.get("type") == "VALUE_CONSTANT":
            return is_value(tree)
        if tree.get("type") == "OPERATOR_CAST":
            kind = str(tree.get("type_expr")).replace("[]", "").replace("[{", "")
            return "[" not in kind and "union" not in kind.lower()
        if tree.get("type") == "FUNCTION" and tree.get("function_name") in {"+", "-", "*", "/", "||"}:
            return any(self._is_scalar(argument, env) for argument in arguments_of(tree))
        found = find(tree.get("column_names", []), env) if tree.get("type") == "COLUMN_REF" else None
        return (
            isinstance(found, Column)
            and found.type is not None
            and not any(mark in found.type for mark in ("[", "JSON", "VARIANT", "UNION"))
        )

    # --- keys and kinds -------------------------------------------------------------------------------------------------

    def key(self, tree: Any, env: Env) -> Fact | None:
        """What two expressions have in common exactly if they always give the same value in the same row; nothing where that is not known."""
        if isinstance(tree, list):
            parts = [self.key(part, env) for part in tree]
            return None if None in parts else ("list", *parts)
        if not isinstance(tree, dict):
            return ("value", tree)
        kind = tree.get("type", "")
        if kind in _NO_KEY:
            return None
        if kind == "COLUMN_REF":
            found = find(tree.get("column_names", []), env)
            if isinstance(found, dict):
                return self.key(found, _without_alias(tree["column_names"], env))
            return found.number if isinstance(found, Column) else None
        if kind == "BOUND_COLUMN":
            number: int = tree["column"].number
            return number
        name = tree.get("function_name", "").lower()
        if name and (name in self._macros or is_volatile(name, len(tree.get("arguments", ())))):
            return None
        found_parts: list[Fact] = [kind]
        for label in sorted(tree):
            if label not in _NOT_IN_KEYS and label != "type":
                part = self.key(tree[label], env)
                if part is None:
                    return None
                found_parts.append((label, part))
        return tuple(found_parts)

    def json(self, tree: Any, env: Env) -> bool:
        """Whether a value may be JSON or VARIANT."""
        if not self._may_hold_json:
            return False
        if isinstance(tree, list):
            return any(self.json(part, env) for part in tree)
        if not isinstance(tree, dict):
            return False
        match tree.get("type"):
            case "COLUMN_REF":
                found = find(tree.get("column_names", []), env)
                if isinstance(found, dict):
                    return self.json(found, _without_alias(tree["column_names"], env))
                if found is None and tree.get("column_names", [""])[-1].lower() in CLOCK_WORDS:
                    return False
                return not isinstance(found, Column) or found.json
            case "BOUND_COLUMN":
                return bool(tree["column"].json)
            case "OPERATOR_CAST":
                return names_json(str(tree.get("type_expr")))
            case "SUBQUERY":
                columns, _ = self._query(tree["subquery"]["node"], env)
                return columns is None or any(column.json for column in columns)
            case "FUNCTION":
                name = tree.get("function_name", "").lower()
                if name in self._macros or name == "->" or names_json(name):
                    return True
            case _:
                pass
        return any(self.json(part, env) for part in tree.values() if isinstance(part, dict | list))

    # --- tables of rules ------------------------------------------------------------------------------------------------

    def _children(self, tree: Tree, env: Env) -> bool:
        return self._all(tree["children"], env)

    def _child(self, tree: Tree, env: Env) -> bool:
        return self.never_null(tree["child"], env)

    def _slice(self, tree: Tree, env: Env) -> bool:
        return len(tree["children"]) == 3 and self._all(tree["children"], env)

    def _extract(self, tree: Tree, env: Env) -> bool:
        """A letter of a text; of a list there may be none."""
        child = tree["children"][0]
        found = find(child.get("column_names", []), env) if child.get("type") == "COLUMN_REF" else None
        return isinstance(found, Column) and found.type == "VARCHAR" and self._all(tree["children"], env)

    def _always(self, tree: Tree, env: Env) -> bool:  # noqa: ARG002 - a rule
        return True


_RULES: Final[Mapping[str, Callable[[Expressions, Tree, Env], bool]]] = {
    **dict.fromkeys(_COMPARISONS, Expressions._comparison),  # noqa: SLF001 - its own table
    "ARRAY_EXTRACT": Expressions._extract,  # noqa: SLF001
    "ARRAY_SLICE": Expressions._slice,  # noqa: SLF001
    "CASE_EXPR": Expressions._case,  # noqa: SLF001
    "COLLATE": Expressions._child,  # noqa: SLF001
    "COMPARE_BETWEEN": Expressions._between,  # noqa: SLF001
    "COMPARE_DISTINCT_FROM": Expressions._always,  # noqa: SLF001
    "COMPARE_IN": Expressions._in,  # noqa: SLF001
    "COMPARE_NOT_DISTINCT_FROM": Expressions._always,  # noqa: SLF001
    "CONJUNCTION_AND": Expressions._and,  # noqa: SLF001
    "CONJUNCTION_OR": Expressions._or,  # noqa: SLF001
    "FUNCTION": Expressions._function,  # noqa: SLF001
    "GROUPING_FUNCTION": Expressions._always,  # noqa: SLF001
    "OPERATOR_CAST": Expressions._cast,  # noqa: SLF001
    "OPERATOR_COALESCE": Expressions._coalesce,  # noqa: SLF001
    "OPERATOR_IS_NOT_NULL": Expressions._always,  # noqa: SLF001
    "OPERATOR_IS_NULL": Expressions._always,  # noqa: SLF001
    "OPERATOR_NOT": Expressions._children,  # noqa: SLF001
    "SUBQUERY": Expressions._subquery,  # noqa: SLF001
    **dict.fromkeys(
        (
            "WINDOW_AGGREGATE",
            "WINDOW_ROW_NUMBER",
            "WINDOW_RANK",
            "WINDOW_RANK_DENSE",
            "WINDOW_PERCENT_RANK",
            "WINDOW_CUME_DIST",
            "WINDOW_NTILE",
            "WINDOW_LAG",
            "WINDOW_LEAD",
            "WINDOW_FIRST_VALUE",
            "WINDOW_LAST_VALUE",
        ),
        Expressions._window,  # noqa: SLF001
    ),
}


def _holds(number: int, env: Env) -> bool:
    scope: Env | None = env
    while scope is not None:
        if number in scope.facts:
            return True
        scope = scope.outer
    return False


def _without_alias(names: list[str], env: Env) -> Env:
    """Where the expression behind an alias stands: it cannot mean itself."""
    name = names[0].lower()
    without = Env(
        env.rows,
        env.facts,
        env.outer,
        aliases={alias: tree for alias, tree in env.aliases.items() if alias != name},
        grouping=env.grouping,
    )
    without.window = env.window
    return without
