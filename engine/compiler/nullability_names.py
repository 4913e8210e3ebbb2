"""Which columns `COLUMNS(lambda c: …)` picks: the condition worked out on their names, where it is one that is understood."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from interlock.engine.compiler.nullability_trees import arguments_of
from interlock.engine.warehouse.duckdb.parser import Tree

Value: TypeAlias = str | int | bool

PATTERN: Final = re.compile(r"[A-Za-z0-9_.^$|()*+?]*")
"""Regular expressions that mean the same to Python as to DuckDB."""


class _UnknownError(Exception):
    """Something in it is not understood."""


def picked(names: list[str], condition: Tree) -> list[bool] | None:
    """For each name whether the lambda holds for it; nothing where that is not sure."""
    parameter = condition.get("lhs", {}).get("column_names", [])
    if condition.get("type") != "LAMBDA" or len(parameter) != 1:
        return None
    try:
        found = [_value(condition["expr"], parameter[0].lower(), name) for name in names]
    except (_UnknownError, KeyError, TypeError, re.error):
        return None
    return [bool(each) for each in found] if all(isinstance(each, bool) for each in found) else None


def _value(tree: Tree, parameter: str, name: str) -> Value:
    def of(part: Tree) -> Value:
        return _value(part, parameter, name)

    kind = tree.get("type", "")
    match kind:
        case "COLUMN_REF" if [each.lower() for each in tree.get("column_names", ())] == [parameter]:
            return name
        case "VALUE_CONSTANT":
            return _constant(tree.get("literal", {}))
        case "OPERATOR_NOT":
            return not of(tree["children"][0])
        case "CONJUNCTION_AND":
            return all(map(of, tree["children"]))
        case "CONJUNCTION_OR":
            return any(map(of, tree["children"]))
        case "COMPARE_IN":
            first, *rest = map(of, tree["children"])
            return first in rest
        case "FUNCTION" if (function := _FUNCTIONS.get(tree.get("function_name", ""))) is not None:
            return function(*map(of, arguments_of(tree)))
    compare = _COMPARISONS.get(kind)
    if compare is None:
        raise _UnknownError
    left, right = of(tree["left"]), of(tree["right"])
    if type(left) is not type(right):
        raise _UnknownError
    return bool(compare(left, right))


def _constant(literal: Tree) -> Value:
    match literal.get("kind"):
        case "STRING":
            return str(literal.get("text", ""))
        case "INTEGER":
            return int(literal["text"])
        case _:
            raise _UnknownError


def _like(text: Value, pattern: Value) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str) or "\\" in pattern:
        raise _UnknownError
    parts = (".*" if letter == "%" else "." if letter == "_" else re.escape(letter) for letter in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _ilike(text: Value, pattern: Value) -> bool:
    return _like(_lower(text), _lower(pattern))


def _lower(text: Value) -> str:
    if not isinstance(text, str) or not text.isascii():
        raise _UnknownError
    return text.lower()


def _upper(text: Value) -> str:
    return _lower(text).upper()


def _matches(text: Value, pattern: Value) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str) or not PATTERN.fullmatch(pattern):
        raise _UnknownError
    return re.search(pattern, text) is not None


def _matches_whole(text: Value, pattern: Value) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str) or not PATTERN.fullmatch(pattern):
        raise _UnknownError
    return re.fullmatch(pattern, text) is not None


def _of_texts(function: Callable[[str, str], bool]) -> Callable[..., bool]:
    def asked(text: Value, other: Value) -> bool:
        if not isinstance(text, str) or not isinstance(other, str):
            raise _UnknownError
        return function(text, other)

    return asked


def _length(text: Value) -> int:
    if not isinstance(text, str) or not text.isascii():
        raise _UnknownError
    return len(text)


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "COMPARE_EQUAL": operator.eq,
    "COMPARE_NOTEQUAL": operator.ne,
    "COMPARE_LESSTHAN": operator.lt,
    "COMPARE_GREATERTHAN": operator.gt,
    "COMPARE_LESSTHANOREQUALTO": operator.le,
    "COMPARE_GREATERTHANOREQUALTO": operator.ge,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "~~": _like,
    "!~~": lambda text, pattern: not _like(text, pattern),
    "~~*": _ilike,
    "!~~*": lambda text, pattern: not _ilike(text, pattern),
    "contains": _of_texts(lambda text, part: part in text),
    "ends_with": _of_texts(str.endswith),
    "length": _length,
    "lower": _lower,
    "prefix": _of_texts(str.startswith),
    "regexp_full_match": _matches_whole,
    "regexp_matches": _matches,
    "starts_with": _of_texts(str.startswith),
    "suffix": _of_texts(str.endswith),
    "upper": _upper,
}
