"""Upper bounds that are days, beside times: `ts BETWEEN '2024-11-01' AND '2024-11-30'` ends as the last day begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from interlock.engine.compiler.reading import Reading, offset_of
from interlock.engine.project.project import Variable
from interlock.engine.warehouse.duckdb.parser import Tree

_DAY: Final = re.compile(r"\s*[+-]?\d{4,}-\d{1,2}-\d{1,2}\s*")
_TIMES: Final = ("TIMESTAMP", "DATETIME")


class DayBound(NamedTuple):
    """A time that is compared with a day, with both ends held to be in."""

    column: str
    bound: str
    """As a person may read it."""
    offset: int | None
    between: bool
    """Written as BETWEEN, else as `<=` or `>=`."""


def day_bounds(reading: Reading, types_of: Callable[[str], set[str]], given: Mapping[str, Variable]) -> list[DayBound]:
    """All of a statement, in the order of the text.

    Args:
        reading: of the statement.
        types_of: the types of the columns of that name (small letters) in all relations that are read.
        given: values of variables.
    """
    made: dict[str, set[str | None]] | None = None
    found: list[DayBound] = []
    for node in reading.ranges:
        for time, bound in _sides(node):
            text = _day(bound, given)
            if text is None:
                continue
            if made is None:
                made = _made(reading.root)
            name = str(time["column_names"][-1]) if time.get("type") == "COLUMN_REF" and time.get("column_names") else ""
            kinds = {*types_of(name.lower()), *made.get(name.lower(), ())} if name else {_cast_type(time)}
            # one kind, wherever the name may come from: a time that was cast to a day under its own name is a day
            if kinds and all(kind is not None and kind.upper().startswith(_TIMES) for kind in kinds):
                found.append(DayBound(name or "it", text, offset_of(bound) or offset_of(node), node.get("type") == "COMPARE_BETWEEN"))
    return sorted(found, key=lambda each: each.offset or 0)


def _sides(node: Tree) -> Iterator[tuple[Tree, Tree]]:
    """What is compared, and the greatest value that is let in."""
    match node.get("type"):
        case "COMPARE_BETWEEN":
            yield node.get("input", {}), node.get("upper", {})
        case "COMPARE_LESSTHANOREQUALTO":
            yield node.get("left", {}), node.get("right", {})
        case "COMPARE_GREATERTHANOREQUALTO":
            yield node.get("right", {}), node.get("left", {})
        case _:
            pass


def _day(tree: Tree, given: Mapping[str, Variable]) -> str | None:
    """The day that an expression plainly is; nothing where it is another thing, or not known."""
    match tree.get("type"):
        case "VALUE_CONSTANT":
            literal: Tree = tree.get("literal", {})
            text = str(literal.get("text", ""))
            return f"'{text.strip()}'" if literal.get("kind") == "STRING" and _DAY.fullmatch(text) else None
        case "OPERATOR_CAST":
            return "a DATE" if _cast_type(tree) == "DATE" else None
        case "COLUMN_REF":
            return "current_date" if [name.lower() for name in tree.get("column_names", ())] == ["current_date"] else None
        case "FUNCTION":
            return "today()" if tree.get("function_name", "").lower() == "today" else None
        case "VALUE_PARAMETER" | "PARAMETER":
            value = given.get(tree.get("identifier", ""))
            is_day = (isinstance(value, date) and not isinstance(value, datetime)) or (isinstance(value, str) and _DAY.fullmatch(value))
            return f"${tree['identifier']}" if is_day else None
        case _:
            pass
    return None


def _cast_type(tree: Tree) -> str | None:
    return str(tree.get("type_expr", {}).get("type_name", "")).upper() if tree.get("type") == "OPERATOR_CAST" else None


def _made(tree: Any) -> dict[str, set[str | None]]:
    """By name, the types that selected columns are cast to; `None` for what is made in another way under a name."""
    found: dict[str, set[str | None]] = {}
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += [part for part in value if isinstance(part, dict | list)]
        elif isinstance(value, dict):
            for item in value.get("select_list", ()):
                if item.get("alias") and not (
                    item.get("type") == "COLUMN_REF" and item["column_names"][-1].lower() == item["alias"].lower()
                ):
                    found.setdefault(item["alias"].lower(), set()).add(_cast_type(item))
            waiting += [part for part in value.values() if isinstance(part, dict | list)]
    return found
