"""What the publication guards read: what `bootstrap` pinned, beside what the write says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from interlock.machines.evidence import (
    Absent,
    BootstrapEvidence,
    CommitEvidence,
    Found,
    Proposed,
    ReceiptBody,
    RolledBack,
)
from interlock.machines.guards import Answer, Refuses, refuses, unless
from interlock.machines.records import Record


class Publication(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `commit` is judged by."""

    pinned: BootstrapEvidence | None
    evidence: CommitEvidence


def body_of(evidence: CommitEvidence) -> ReceiptBody | None:
    """The receipt's body, whatever became of it."""
    receipt = evidence.receipt
    match receipt:
        case Proposed() | Found():
            return receipt.body
        case RolledBack():
            return receipt.body
        case Absent():
            return None
        case _ as unreachable:
            assert_never(unreachable)


def asked(case: Publication, code: str, against: Callable[[BootstrapEvidence, ReceiptBody], Iterator[Refuses]]) -> Answer:
    """Ask for reasons against, where both sides are known; where one is missing, that is the reason."""
    body = body_of(case.evidence)
    if body is None:
        return refuses(code, "the write did not come so far as to say", remedy="run `interlock resume`; it makes a new attempt")
    if case.pinned is None:
        return refuses(code, "what was expected of this attempt is not known", remedy="see `interlock status`")
    return unless(against(case.pinned, body))
