"""What took time to collect and is made anew: how the old rows are kept while the new ones are asked what they lack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from interlock.engine.warehouse.duckdb.quoting import identifier, string
from interlock.engine.warehouse.duckdb.write import DELTA, columns_sql, sample_of
from interlock.engine.warehouse.protocol import Statement
from interlock.machines.evidence import Watermark

Identity = Literal["range", "keys", "versions"]
"""By what an old row is looked for among the new ones: the value of its watermark, its key, or its key and when its version began."""


def keep(rel: str, columns: Sequence[str]) -> Statement:
    """What identifies the old rows, each once, before they go: a relation that is dropped cannot be asked, nor always renamed."""
    return Statement(role="stage", text=f"CREATE TEMP TABLE {DELTA} AS SELECT DISTINCT {columns_sql(columns)} FROM {rel}")


def gone(rel: str, columns: Sequence[str], by: Identity) -> str:
    """Field of a look: how many of what was kept the new rows of `rel` do not have, and the first few."""
    same = " AND ".join(f"t.{identifier(name)} IS NOT DISTINCT FROM d.{identifier(name)}" for name in columns)
    lost = f"SELECT {columns_sql(columns)} FROM {DELTA} AS d WHERE NOT EXISTS (SELECT 1 FROM {rel} AS t WHERE {same})"
    return f"'gone_{by}': (SELECT {{'rows': count(*), 'sample': {sample_of(columns, 'TRUE')}}} FROM ({lost}) AS g)"


def ends_missed(column: str, old: Watermark) -> str:
    """Field of a look, where the old rows cannot be asked: how many of the two ends that a receipt names the new rows do not reach."""
    name, low, high = (identifier(column), *(f"CAST({string(end)} AS {old.type})" for end in (old.low, old.high)))
    reached = f"CAST(coalesce(min({name}) > {low}, TRUE) AS INTEGER) + CAST(coalesce(max({name}) < {high}, TRUE) AS INTEGER)"
    return f"'ends_missed': {reached}"
