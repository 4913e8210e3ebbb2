"""What the fold knows of each subject of the ledger: attempts, runs, models. These change as records are fed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from interlock.machines.evidence import (
    AuthorizeEvidence,
    BootstrapEvidence,
    CloseEvidence,
    CommitEvidence,
    Digests,
    Head,
    Verdict,
)
from interlock.machines.records import Record

if TYPE_CHECKING:
    from interlock.engine.ledger.fold import Fold


class Refusal(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a run or an attempt was refused: the first reason, and all verdicts that did not hold."""

    event: str
    cause: str
    """Of an explicit refusal, such as `crash`; `guard` where the guards of an event did not hold."""
    code: str
    because: str
    remedy: str
    receipt: str | None = None
    """The receipt that the refusing record names: then ledger and warehouse contradict each other."""
    verdicts: tuple[Verdict, ...] = ()
    detail: str = ""


class Last(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the ledger last said of a model's head: by a checkpoint, or because a person took the warehouse's word."""

    head: Head
    digests: Digests | None
    how: Literal["checkpoint", "accepted"]
    time: str
    sequence: int
    run: str | None
    relation: str = ""
    """Where its receipt says that it stands, `schema.name`; empty where the warehouse's word was taken, which names no place."""


class Contradiction(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A refusal that names a receipt, and that nobody has decided about since."""

    sequence: int
    run: str
    model: str
    receipt: str
    refusal: Refusal


class SettledBy(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `accept_warehouse` record that closed a run which had no end of its own."""

    sequence: int
    time: str


@dataclass(slots=True)
class AttemptFold:
    """One ModelRun. `bootstrap` and `commit` are kept only while it is open: bodies are big."""

    run: str
    model: str
    subject: str
    state: str
    started: str
    by: str | None = None
    """The run that wrote the newest record, where it is not its own."""
    time: str = ""
    """Of the newest record."""
    sequence: int = 0
    action: str = ""
    """Known from `bootstrap` on."""
    anchor: str | None = None
    receipt: str | None = None
    """That the ledger named for it, found in the warehouse."""
    rows_written: int | None = None
    refusal: Refusal | None = None
    bootstrap: BootstrapEvidence | None = None
    commit: CommitEvidence | None = None

    @property
    def is_over(self) -> bool:
        """It has come to an end."""
        return self.state in ("checkpointed", "refused")


@dataclass(slots=True)
class RunFold:
    """One Run. It is open while it is `authorized` or `running` and nobody has settled it."""

    run: str
    state: str
    opened: str
    opened_sequence: int
    by: str | None
    actor: str
    version: str
    plan: str | None
    """`None` for a run that was refused before it was authorized with a plan."""
    authorize: AuthorizeEvidence | None = None
    close: CloseEvidence | None = None
    refusal: Refusal | None = None
    settled: SettledBy | None = None
    ended: str | None = None
    running_since: str | None = None
    attempts: dict[str, AttemptFold] = field(default_factory=dict)
    """By model."""

    @property
    def is_open(self) -> bool:
        """It was authorized and has no end."""
        return self.state in ("authorized", "running") and self.settled is None

    @property
    def open_attempts(self) -> tuple[AttemptFold, ...]:
        """Its attempts without an end."""
        return tuple(attempt for attempt in self.attempts.values() if not attempt.is_over)


@dataclass(slots=True)
class ModelFold:
    """One model of the project, over all runs."""

    model: str
    attempt: AttemptFold | None = None
    """The newest since the warehouse's word was last taken."""
    decided: Literal["yes", "no"] = "no"
    """Its last refusal named a receipt, and a person took the warehouse's word since."""
    last: Last | None = None
    receipts: set[str] = field(default_factory=set)
    """Every receipt that the ledger ever named for it."""

    @property
    def head(self) -> Head:
        """The head that the ledger expects: all `None` where it expects none."""
        return self.last.head if self.last is not None else Head()


@dataclass(frozen=True, slots=True)
class Behind:
    """What a fold that went on from a kept state left behind: of which plans, and how to have all of it again."""

    spent: bytes
    """Keys of plans of runs that had begun, in order."""
    named: bytes
    """Keys of plans of runs that were authorized and did not begin."""
    recall: Callable[[], Fold]
    """Reads the whole ledger up to a record."""

    BYTES: ClassVar[int] = 16

    @staticmethod
    def key(plan: str) -> bytes:
        """What stands for a plan."""
        return hashlib.sha256(plan.encode()).digest()[: Behind.BYTES]

    def has(self, plan: str) -> bool:
        """Whether a run of this plan was left behind."""
        return self.has_spent(plan) or _is_in(self.key(plan), self.named)

    def has_spent(self, plan: str) -> bool:
        """Whether a run of this plan that had begun was left behind."""
        return _is_in(self.key(plan), self.spent)


def _is_in(key: bytes, keys: bytes) -> bool:
    low, high = 0, len(keys) // len(key)
    while low < high:
        middle = (low + high) // 2
        there = keys[middle * len(key) : (middle + 1) * len(key)]
        if there == key:
            return True
        low, high = (middle + 1, high) if there < key else (low, middle)
    return False
