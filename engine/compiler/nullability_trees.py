"""Small questions about expressions of a syntax tree, for the nullability pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from interlock.engine.compiler.relations import NO_FACTS, Column, Env, Facts, find
from interlock.engine.warehouse.duckdb.parser import Tree

EXPANDING: Final = frozenset({"unnest", "unlist", "generate_subscripts", "regexp_split_to_table"})
"""Functions that make other rows, or several columns, of one."""
STAR_KEYS: Final = frozenset(
    {
        "class",
        "type",
        "alias",
        "relation_name",
        "exclude_list",
        "replace_list",
        "rename_list",
        "columns",
        "expr",
        "query_location",
        "query_location_length",
    }
)
"""What a `*` may hold; with anything else in it the columns that it stands for are not known."""
_LISTS: Final = frozenset(
    {
        *(f"{kind}_{what}" for kind in ("list", "array") for what in ("agg", "append", "apply", "cat", "concat", "distinct", "filter")),
        *(f"{kind}_{what}" for kind in ("list", "array") for what in ("grade_up", "intersect", "prepend", "push_back", "push_front")),
        *(f"{kind}_{what}" for kind in ("list", "array") for what in ("resize", "reverse", "reverse_sort", "select", "sort")),
        *(f"{kind}_{what}" for kind in ("list", "array") for what in ("transform", "value", "where", "zip")),
        *("apply", "filter", "flatten", "generate_series", "json_keys", "list", "list_pack", "map_entries", "map_keys", "map_values"),
        *("range", "regexp_extract_all", "regexp_split_to_array", "split", "str_split", "str_split_regex", "string_split"),
        *("string_split_regex", "string_to_array"),
    }
)
"""Functions and aggregates that give a list, whatever they are given."""
_LENGTH_OF_TIME: Final = re.compile(r"\d+(\.\d+)? [a-z]+", re.IGNORECASE)


def arguments_of(tree: Tree) -> list[Tree]:
    """The arguments of a call."""
    return [argument["expression"] for argument in tree.get("arguments", ())]


def is_value(tree: Tree) -> bool:
    """Whether it is a constant that is not NULL."""
    literal = tree.get("literal", {})
    return bool(literal.get("kind")) and literal["kind"] != "NULL_LITERAL"


def is_null(tree: Tree) -> bool:
    """Whether it is the literal NULL."""
    return tree.get("type") == "VALUE_CONSTANT" and tree.get("literal", {}).get("kind") == "NULL_LITERAL"


def is_lambda(tree: Tree) -> bool:
    """Whether it is a lambda for certain: `a -> b` has the same tree, and takes a field of JSON.

    >>> is_lambda({"type": "LAMBDA", "syntax_type": "SINGLE_ARROW"})
    False
    """
    return tree.get("type") == "LAMBDA" and tree.get("syntax_type") == "LAMBDA_KEYWORD"


def by_pattern(item: Tree) -> Tree | None:
    """`* LIKE 'a%'` as the COLUMNS that it is short for; nothing for any other expression."""
    arguments = arguments_of(item) if item.get("type") == "FUNCTION" and not item.get("alias") else []
    if not arguments or arguments[0].get("type") != "STAR" or arguments[0].get("columns"):
        return None
    name = {"type": "COLUMN_REF", "column_names": ["name"]}
    holds = {**item, "arguments": [{"expression": each} for each in (name, *arguments[1:])]}
    pick = {"type": "LAMBDA", "lhs": name, "expr": holds, "syntax_type": "LAMBDA_KEYWORD"}
    expression = {"function_name": "list_filter", "arguments": [{"expression": {"type": "STAR"}}, {"expression": pick}]}
    return {**arguments[0], "columns": True, "expr": expression}


def is_text_type(tree: Tree) -> bool:
    """Whether a cast makes text, or JSON, of its value."""
    expression = tree.get("type_expr", {})
    return expression.get("type_name", "").upper() in {"VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR", "JSON"}


def names_json(text: str) -> bool:
    """Whether a name or a type has to do with JSON or VARIANT."""
    small = text.lower()
    return "json" in small or "variant" in small


def reaches_the_row(bound: str, direction: str, expression: Any) -> bool:
    """`n PRECEDING` of a constant that is not negative, so that the frame reaches the current row."""
    return bound.startswith(f"EXPR_{direction}") and expression is not None and is_not_negative(expression)


def is_not_negative(tree: Any) -> bool:
    """Whether it is surely a constant that is not negative."""
    if tree.get("type") == "VALUE_CONSTANT":
        literal = tree.get("literal", {})
        if literal.get("kind") == "STRING":
            return bool(_LENGTH_OF_TIME.fullmatch(literal.get("text", "").strip()))
        return literal.get("kind") != "NULL_LITERAL" and bool(re.fullmatch(r"[\d.]+", literal.get("text", "")))
    if tree.get("type") == "OPERATOR_CAST":
        return not tree.get("try_cast") and is_not_negative(tree["child"])
    name = tree.get("function_name", "")
    return tree.get("type") == "FUNCTION" and (name == "trunc" or name.startswith("to_")) and all(map(is_not_negative, arguments_of(tree)))


def union_of(sets: Iterable[Facts]) -> Facts:
    """Facts of any of the sets."""
    return NO_FACTS.union(*sets)


def common_to(sets: Iterable[Facts]) -> Facts:
    """Facts of all of the sets."""
    found = list(sets)
    return found[0].intersection(*found[1:]) if found else NO_FACTS


def is_true(condition: Tree | None) -> bool:
    """Whether a condition is the literal TRUE."""
    literal = (condition or {}).get("literal", {})
    return literal.get("kind") == "BOOLEAN" and str(literal.get("text")).lower() == "true"


def expanding(macros: Mapping[str, str]) -> frozenset[str]:
    """Macros that make several rows or columns of one, themselves or through others."""
    found: set[str] = set()
    while True:
        more = {
            name for name, statement in macros.items() if name not in found and any(each in statement.lower() for each in EXPANDING | found)
        }
        if not more:
            return frozenset(found)
        found |= more


def plain_modifiers(node: Tree) -> bool:
    """Whether a query has nothing behind it but ORDER BY."""
    return all(modifier.get("type") == "ORDER_MODIFIER" for modifier in node.get("modifiers", ()))


def is_grouped(node: Tree) -> bool:
    """Whether a SELECT has a GROUP BY."""
    return bool(node.get("group_expressions") or node.get("group_sets") or node.get("aggregate_handling") == "FORCE_AGGREGATES")


def references(tree: Any) -> Iterable[list[str]]:
    """The names of all column references in a tree."""
    if isinstance(tree, list):
        for part in tree:
            yield from references(part)
    elif isinstance(tree, dict):
        if tree.get("type") == "COLUMN_REF":
            yield tree.get("column_names", [])
        for part in tree.values():
            if isinstance(part, dict | list):
                yield from references(part)


def is_list(tree: Tree, env: Env, macros: frozenset[str]) -> bool:
    """Whether a value is surely a list, so that `unnest` makes one column of it, and not one of each field of a struct."""
    match tree.get("type"):
        case "FUNCTION":
            name = tree.get("function_name", "").lower()
            return name in _LISTS and name not in macros
        case "OPERATOR_CAST":
            return tree.get("type_expr", {}).get("type_name") in {"list", "array"}
        case "ARRAY_SLICE":
            return True  # or a text, which is not taken apart
        case "COLUMN_REF":
            found = find(tree.get("column_names", []), env)
            return isinstance(found, Column) and found.type is not None and found.type.endswith("]")
        case _:
            return False


def is_one_column(item: Tree, *, expands: bool, env: Env, macros: frozenset[str]) -> bool:
    """Whether an item with a function that makes other rows of one makes one column all the same.

    Args:
        item: an expression of the select list.
        expands: whether the item itself is such a call; else one stands in it, where none can be of a struct.
        env: where it stands.
        macros: of the project.
    """
    name = item.get("function_name", "").lower()
    if not expands or name in {"generate_subscripts", "regexp_split_to_table"}:
        return name not in macros
    arguments = arguments_of(item)
    return name in {"unnest", "unlist"} and name not in macros and len(arguments) == 1 and is_list(arguments[0], env, macros)


def own_name(item: Tree) -> str | None:
    """The name of an item without an alias, where it is not made up."""
    names = item.get("column_names")
    return str(names[-1]) if item.get("type") == "COLUMN_REF" and names else None
