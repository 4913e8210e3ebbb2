"""Whether a cell keeps its value in the type that its column is declared with: the engine's cast rounds, and cuts off, in silence."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final

_WHOLE: Final = re.compile(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|INT[1248]|INT(?:16|32|64|128)|SIGNED|LONG|SHORT|OID", re.IGNORECASE)
_DECIMAL: Final = re.compile(r"(?:DECIMAL|NUMERIC|DEC)(?:\s*\(\s*[0-9]+\s*(?:,\s*([0-9]+)\s*)?\))?", re.IGNORECASE)
_CODE: Final = re.compile(r"\s*[+-]?0[0-9]")
"""The beginning of a text that a whole number does not give back: with zeros in front it is a code."""
_SCALE: Final = 3
"""Of a DECIMAL without digits, as the engine has it."""
_NO_ZONE: Final = re.compile(r"(?:TIMESTAMP|DATETIME)(?:_US| WITHOUT TIME ZONE)?", re.IGNORECASE)
_MOMENT: Final = re.compile(
    r"\s*[0-9]+-[0-9]{1,2}-[0-9]{1,2}(?:[ T](?P<time>[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.(?P<part>[0-9]+))?)?))?"
    r"\s*(?P<zone>Z|UTC|[+-][0-9]{1,2}(?::?[0-9]{2})?)?\s*",
    re.IGNORECASE,
)
_MICROSECONDS: Final = 6

Loss = Callable[[str], str]
"""Words for what a cell would lose; empty where that is nothing, or where it is no value of the type at all, as the engine will say."""


def loss_of(type_: str) -> Loss | None:
    """What tells a loss in cells of a type; nothing where none is looked for.

    >>> (loss_of("INTEGER") or str)("1.5"), (loss_of("decimal(5,2)") or str)("1.990"), loss_of("VARCHAR")
    ('it would be rounded', '', None)
    """
    name = " ".join(type_.split())
    if _WHOLE.fullmatch(name):
        return _of_whole
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        scale = int(decimal[1] or 0) if "(" in name else _SCALE
        if scale == 0:
            return _of_whole
        return lambda cell: _rounded(cell, scale)
    if name.upper() == "DATE":
        return _of_date
    return _of_timestamp if _NO_ZONE.fullmatch(name) else None


def _of_whole(cell: str) -> str:
    return "its leading zeros would be lost" if _CODE.match(cell) is not None else _rounded(cell, 0)


def _rounded(cell: str, scale: int) -> str:
    try:
        exponent = Decimal(cell.strip()).normalize().as_tuple().exponent
    except InvalidOperation:
        return ""
    return "it would be rounded" if isinstance(exponent, int) and exponent < -scale else ""


def _of_date(cell: str) -> str:
    found = _MOMENT.fullmatch(cell)
    return "its time would be cut off" if found is not None and found["time"] and found["time"].strip("0:.") else ""


def _of_timestamp(cell: str) -> str:
    found = _MOMENT.fullmatch(cell)
    if found is None:
        return ""
    if found["zone"]:
        return "its zone would be lost"
    return "its last digits would be cut off" if len((found["part"] or "").rstrip("0")) > _MICROSECONDS else ""
