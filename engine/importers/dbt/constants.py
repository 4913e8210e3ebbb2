"""Queries that a template asks and that have one answer, wherever and whenever they are asked: the days between two days that stand there."""

from __future__ import annotations

import re
from typing import Any, Final

from interlock.engine.compiler.functions import is_outside, is_volatile
from interlock.engine.compiler.reading import Reading
from interlock.engine.importers.dbt.given import ASKS, DATABASE
from interlock.engine.importers.dbt.template import CannotKeep
from interlock.engine.warehouse.duckdb.constant import rows_of
from interlock.engine.warehouse.duckdb.parser import Statements, parse

_ZONED: Final = re.compile(r"\b(\w*timestamptz\w*|timetz|timezone|zone|to_timestamp)\b", re.IGNORECASE)
"""What may make an answer hang on the zone of the machine."""


def answer(text: str) -> list[tuple[int | None, ...]]:
    """The rows of a query that reads nothing, of whole numbers: for others, dbt's reader of results guesses types.

    Raises:
        CannotKeep: it has no such answer.
    """
    found = parse(text)
    if not isinstance(found, Statements) or len(found.trees) != 1:
        raise CannotKeep("D804", f"`statement`: {DATABASE}", ASKS)
    reading = Reading(found.trees[0])
    if any(is_volatile(call.name, call.arguments) for call in reading.calls):
        raise CannotKeep("D829", "`statement`: its answer is another one whenever it is asked", "write the day that is meant")
    reaches_out = any(call.table or is_outside(call.name) for call in reading.calls)
    if reading.references or reading.problems or reading.parameters or reaches_out or _ZONED.search(text):
        raise CannotKeep("D804", f"`statement`: {DATABASE}", ASKS)
    rows: list[tuple[Any, ...]] | str = rows_of(text)
    if isinstance(rows, str):
        raise CannotKeep("D805", f"`statement`: DuckDB does not answer it: {rows}", "correct it; dbt meets the same")
    if not all(value is None or type(value) is int for row in rows for value in row):
        raise CannotKeep("D804", "`statement`: its answer is more than whole numbers", ASKS)
    return rows
