"""The answer of a query that reads nothing: asked of a database in memory, which reaches no file and no network."""

from __future__ import annotations

from typing import Any

from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.parser import in_memory

ROWS_MAX = 1_000


def rows_of(text: str) -> list[tuple[Any, ...]] | str:
    """Its rows, or why there are none: what DuckDB says, or that they are too many."""
    with in_memory() as cursor:
        try:
            rows = cursor.execute(text).fetchmany(ROWS_MAX + 1)
        except duckdb.Error as error:
            return str(error).splitlines()[0]
    return rows if len(rows) <= ROWS_MAX else f"it has more than {ROWS_MAX} rows"
