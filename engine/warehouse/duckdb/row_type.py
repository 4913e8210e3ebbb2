"""The columns of a relation, told from the type of its rows: a look at all of its rows says it for little."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.machines.evidence import Column

FIELD: Final = "'row_type': typeof(any_value(interlock_t))"
"""Of a look at a relation under the alias `interlock_t`."""

_BARE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_of(row_type: object, columns: Sequence[Column]) -> bool:
    """Whether a row of this type, as DuckDB writes it, has just these columns in this order.

    DuckDB quotes a name where it is a keyword or has other signs than letters, digits and `_`. Which words are keywords is left
    to it: both spellings of a simple name are the same name. A `False` says that it is not known; the warehouse has to be asked then.
    """
    if not isinstance(row_type, str) or not row_type.startswith("STRUCT(") or not columns:
        return False
    at = len("STRUCT(")
    last = len(columns) - 1
    for number, column in enumerate(columns):
        end = f" {column.type}{')' if number == last else ', '}"
        spellings = (identifier(column.name), column.name) if _BARE.fullmatch(column.name) else (identifier(column.name),)
        told = next((f"{name}{end}" for name in spellings if row_type.startswith(f"{name}{end}", at)), None)
        if told is None:
            return False
        at += len(told)
    return at == len(row_type)
