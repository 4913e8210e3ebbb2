"""Small questions about expressions of a syntax tree, for the nullability pass."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from interlock.engine.compiler.relations import NO_FACTS, Facts
from interlock.engine.warehouse.duckdb.parser import Tree

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
