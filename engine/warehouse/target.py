"""A target as a value: which warehouse, where, and how it may be used."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from interlock.machines.records import Record

OnChange: TypeAlias = Literal["refuse", "rebuild", "continue"]


class TargetConfig(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A warehouse that the project can be run against. `path` is as written after `${ENV}`; `location` is absolute."""

    name: str
    type: Literal["duckdb"]
    path: str
    location: Path
    schema: str = "main"
    threads: int = 4
    create: bool = False
    protected: bool = False
    accept_warehouse: bool = False
    on_change: OnChange = "refuse"
    settings: dict[str, str | int | bool] = {}
    ledger: Path | None = None
    """`[ledger] path`, absolute; `None`: beside the database."""
