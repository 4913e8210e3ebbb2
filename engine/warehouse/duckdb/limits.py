"""The first and the last value of DuckDB's exact numbers: beyond them no end of a range can be named."""

from __future__ import annotations

import re
from typing import Final

_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}


def least(type_: str) -> str | None:
    """The first value of an exact number's type as text; `None` for other types."""
    if type_ in _BITS:
        return str(-(2 ** (_BITS[type_] - 1)))
    if type_.startswith("U") and type_[1:] in _BITS:
        return "0"
    found = _DECIMAL.fullmatch(type_)
    return None if found is None else f"-{_nines(int(found[1]), int(found[2]))}"


def greatest(type_: str) -> str | None:
    """The last value of an exact number's type as text; `None` for other types."""
    if type_ in _BITS:
        return str(2 ** (_BITS[type_] - 1) - 1)
    if type_.startswith("U") and type_[1:] in _BITS:
        return str(2 ** _BITS[type_[1:]] - 1)
    found = _DECIMAL.fullmatch(type_)
    return None if found is None else _nines(int(found[1]), int(found[2]))


def _nines(precision: int, scale: int) -> str:
    whole = "9" * (precision - scale) or "0"
    return f"{whole}.{'9' * scale}" if scale else whole
