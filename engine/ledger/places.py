"""Where things lie: beside the database, so that a fresh clone of the project does not lose them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

SEGMENTS = "ledger"
PLANS = "plans"
LOCK = "lock"
STATE = "state"

_SEGMENT = re.compile(r"[0-9]{6}\.jsonl(\.gz)?\Z")


class Placed(Protocol):
    """What of a target says where its ledger lies: its configuration has it."""

    @property
    def name(self) -> str:
        """Of the target."""

    @property
    def location(self) -> Path:
        """Of the database file, absolute."""

    @property
    def ledger(self) -> Path | None:
        """`[ledger] path`, absolute; `None`: beside the database."""


def beside_database(target: Placed) -> Path:
    """`<database>.interlock`: what all projects that write this database share."""
    return target.location.with_name(target.location.name + ".interlock")


def ledger_directory(target: Placed, project_id: str) -> Path:
    """The directory of a project's ledger and plans: the first guess; the ledger id in the warehouse decides.

    `[ledger] path` moves it. As that is one path for all targets, the target's name is part of it then.
    """
    if target.ledger is not None:
        return target.ledger / target.name / project_id
    return beside_database(target) / project_id


def segments_directory(directory: Path) -> Path:
    """Where the segments of the ledger of a ledger directory lie."""
    return directory / SEGMENTS


def segment_path(directory: Path, number: int) -> Path:
    """The file of a segment of the ledger of a ledger directory; numbers count from 1."""
    return directory / SEGMENTS / f"{number:06d}.jsonl"


def packed_path(directory: Path, number: int) -> Path:
    """The file of a segment that was closed by `ledger archive`: the same bytes, packed."""
    return directory / SEGMENTS / f"{number:06d}.jsonl.gz"


def segment_number(name: str) -> int | None:
    """The number of the segment with this file name, or `None` for a file that is no segment."""
    return int(name[:6]) if _SEGMENT.match(name) else None


def state_path(directory: Path) -> Path:
    """The file that holds what the ledger came to at a seal, so that everyday commands go on from there. May be removed at any time."""
    return directory / STATE


def plans_directory(directory: Path) -> Path:
    """Where the plans of a ledger directory lie."""
    return directory / PLANS


def plan_path(directory: Path, plan_id: str) -> Path:
    """The file of a plan."""
    return directory / PLANS / f"{plan_id}.json"


def lock_path(target: Placed) -> Path:
    """The lock of a database: one for all projects, beside the database wherever the ledgers lie.

    Never the database file itself: closing any descriptor of that file drops the engine's own lock.
    """
    return beside_database(target) / LOCK
