"""What an attempt at a model is, what it works with, and what its effects answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from interlock.engine.planner.plan import Item
from interlock.engine.runner.answers import Setting
from interlock.engine.warehouse.protocol import HeadRow, Session
from interlock.machines.evidence import Evidence, Found, ReceiptBody, RefuseEvidence, SourceSeen, SourceVerdict, TargetSeen, Verdict
from interlock.machines.model_run import ModelRun
from interlock.machines.records import Record


class Refuse(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An effect's answer: send `refuse`."""

    evidence: RefuseEvidence


class InDoubt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An effect's answer: send nothing. Whether a write exists is not known."""

    because: str


Answer: TypeAlias = Evidence | Refuse | InDoubt


@dataclass(slots=True, kw_only=True)
class Bench:
    """What every attempt of a run works with. Heads and bodies move only by checkpoints of this run."""

    run: str
    setting: Setting
    session: Session
    append: Callable[..., str]
    """Writes a record of this run."""
    sync: Callable[[], None]
    heads: dict[str, HeadRow]
    bodies: dict[str, ReceiptBody]
    targets: Mapping[str, TargetSeen]
    """What the bulk probe saw at each item's name."""
    sealed: Mapping[str, str]
    """Digest of each item as the sealed plan has it."""
    authority: str
    decision: Literal["fresh", "finish_genesis", "proceed", "settle", "refuse"]
    permission: Literal["open", "reviewed", "unreviewed", "refused"]
    attempt_number: Callable[[str], int]
    states: Mapping[str, str]
    """State of every item of the plan, by key."""
    said: Callable[[str], tuple[SourceVerdict, ...]] = lambda _: ()
    """What a source says in this run; the first reader asks, and everybody gets that answer."""
    as_read: Callable[[tuple[SourceSeen, ...]], tuple[SourceSeen, ...]] = lambda seen: seen
    """Sources of an item as they were read: without a mark where it is not the planned one any more."""
    rows_of: Callable[[str], int | None] = lambda _: None
    """About how many rows a source has, where that is known."""
    pause: Callable[[float], None] = time.sleep
    redact: Callable[[str], str] = str
    """Takes secrets out of what the warehouse says, before it is written down."""


@dataclass(slots=True, kw_only=True)
class Attempt:
    """A ModelRun at work."""

    bench: Bench
    item: Item
    machine: ModelRun
    path: list[str] = field(default_factory=list)
    answer: Answer | None = None
    row: HeadRow | None = None
    body: ReceiptBody | None = None
    said: tuple[SourceVerdict, ...] = ()
    """By the sources that it reads, in this run."""
    tries: int = 0
    verdicts: tuple[Verdict, ...] = ()
    """Of the newest transition."""

    @property
    def found(self) -> Found | None:
        """The receipt that was seen."""
        evidence = self.machine.committed_as
        return evidence.receipt if evidence is not None and isinstance(evidence.receipt, Found) else None


Effect: TypeAlias = Callable[[Attempt], Answer]
