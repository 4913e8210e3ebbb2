"""Evidence in words: what a transition's guards were shown, as names and values. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from interlock.engine.diagnostics import rows_in_words
from interlock.machines.evidence import (
    Absent,
    AcceptEvidence,
    ArchiveEvidence,
    AttachEvidence,
    AuthorizeEvidence,
    BootstrapEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    CompactEvidence,
    CompileEvidence,
    Evidence,
    Found,
    GenesisEvidence,
    HeadSeen,
    Missing,
    Present,
    Proposed,
    ReceiptBody,
    RefuseEvidence,
    ResetEvidence,
    RolledBack,
    SealEvidence,
    SourceVerdict,
    StartEvidence,
    TornEvidence,
    Unreadable,
    VerifyEvidence,
    Watermark,
)
from interlock.machines.records import Record

CAUSES: Final[dict[str, str]] = {
    "plan": "the plan would have had to allow it",
    "upstream": "what it reads would have had to be checkpointed",
    "interrupt": "nobody would have had to stop the run",
    "crash": "the run's process would have had to live until this model was done",
    "fail_fast": "no model would have had to be refused before it (--fail-fast)",
    "warehouse": "the warehouse would have had to carry out the statement",
    "run": "its run would have had to go on",
}
"""By the cause of an explicit refusal: what would have had to be true."""


class Fact(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that was seen."""

    name: str
    value: str


def facts_of(evidence: Evidence) -> tuple[Fact, ...]:
    """What evidence says, in the order in which a person asks for it."""
    return tuple(Fact(name=name, value=value) for name, value in _facts(evidence) if value)


def body_in(evidence: Evidence) -> ReceiptBody | None:
    """The receipt's body that evidence carries, whatever became of it."""
    if not isinstance(evidence, CommitEvidence):
        return None
    match evidence.receipt:
        case Found() | Proposed() | RolledBack():
            return evidence.receipt.body
        case Absent():
            return None


def _source_words(verdict: SourceVerdict) -> str:
    match verdict.question:
        case "freshness":
            about = f"freshness by {verdict.column}"
        case "not_null":
            about = f"no nulls in {verdict.column}"
        case "cells":
            about = "cells as declared"
    said = verdict.outcome.replace("_", " ")
    return f"{verdict.source}: {about} {said}" + (f" ({verdict.because})" if verdict.because else "")


def _facts(evidence: Evidence) -> Iterator[tuple[str, str]]:
    match evidence:
        case VerifyEvidence():
            yield "plan", _short(evidence.plan)
            yield "item sealed", _short(evidence.item_sealed)
            yield "item about to run", _short(evidence.item_found)
            yield "contract", _joined(f"{each.column}: {each.proof}" for each in evidence.contract)
            authority = evidence.authority
            yield (
                "authority",
                f"unreadable: {authority.because}" if isinstance(authority, Unreadable) else f"row {authority}, {evidence.decision}",
            )
            yield "sources", _joined(_source_words(verdict) for verdict in evidence.said)
        case BootstrapEvidence():
            yield from _bootstrap(evidence)
        case CommitEvidence():
            yield "attempt", _short(evidence.anchor)
            yield "tries", str(evidence.tries) if evidence.tries > 1 else ""
            yield from _commit(evidence)
        case CheckpointEvidence():
            yield "receipt", _short(evidence.receipt)
            yield "rows", "" if evidence.rows is None else str(evidence.rows)
            yield "watermark", watermark_words(evidence.watermark)
            yield "renamed from", evidence.moved.model if evidence.moved is not None else ""
        case RefuseEvidence():
            yield "cause", evidence.cause
            yield "written", written_words(evidence.proof)
            yield "detail", evidence.detail
        case AuthorizeEvidence():
            found = evidence.authority
            yield "plan", _short(evidence.plan)
            yield "authority", f"row {found.row}: ledger {found.ledger}, identity {found.identity}, heads {found.heads}; {found.decision}"
            yield "scope", _joined(f"{item.model} ({item.action})" for item in evidence.scope)
            yield "differences", _joined(f"{each.subject}: planned {each.planned}, found {each.found}" for each in evidence.differences)
            yield "begun before by", _joined(evidence.spent_by)
            yield "continues", evidence.continues or ""
            yield "review", evidence.review if evidence.review != "open" else ""
            yield "reason", evidence.reason
        case StartEvidence():
            yield "relations needed and found", _of(evidence.relations_needed, evidence.relations_found)
            yield "head rows needed and found", _of(evidence.heads_needed, evidence.heads_found)
        case CloseEvidence():
            yield "outcome", evidence.outcome
            yield "ends", _joined(f"{end.model} {end.state}" for end in evidence.executed)
            yield "seal", f"serial {evidence.seal_expected.serial}, tip {_short(evidence.seal_expected.tip)}"
            yield "seal read back", "no" if isinstance(evidence.seal, Absent) else "yes"
        case GenesisEvidence():
            yield "project", evidence.project
            yield "target", evidence.target
            yield "ledger", evidence.ledger
            yield "warehouse", evidence.warehouse
        case TornEvidence():
            yield "bytes", str(evidence.bytes)
            yield "kept as", evidence.kept_as
        case AcceptEvidence():
            yield "found", evidence.found.because
            yield "heads taken", _joined(f"{taken.model} {_short(taken.head.receipt)}" for taken in evidence.heads)
            yield "runs settled", _joined(evidence.settled)
            yield "reason", evidence.reason
        case ResetEvidence():
            yield "relations", _joined(evidence.relations)
            yield "reason", evidence.reason
        case AttachEvidence():
            yield "ledger", evidence.ledger
            yield "found at", evidence.origin
            yield "newest record there", f"{evidence.sequence}, {_short(evidence.tip)}"
            yield "reason", evidence.reason
        case ArchiveEvidence():
            yield "closed up to", f"segment {evidence.segment}, record {evidence.sequence}, {_short(evidence.tip)}"
            yield "reason", evidence.reason
        case CompactEvidence():
            yield "receipts", f"{evidence.removed} let go, {evidence.kept} kept"
            yield "kept beside heads", _joined(_short(receipt) for receipt in evidence.standing)
            yield "reason", evidence.reason
        case CompileEvidence() | SealEvidence():
            yield "of a plan", "its history stands in the plan's file"
        case _ as unreachable:
            assert_never(unreachable)


def _bootstrap(evidence: BootstrapEvidence) -> Iterator[tuple[str, str]]:
    yield "action", evidence.action
    head = HeadSeen(receipt=evidence.head.receipt, token=evidence.head.token)
    yield "head planned", _head(head)
    yield (
        "head seen",
        f"unreadable: {evidence.head_seen.because}" if isinstance(evidence.head_seen, Unreadable) else _head(evidence.head_seen),
    )
    yield "watermark before", watermark_words(evidence.head.watermark)
    yield "relation planned", _relation(evidence.target)
    yield "relation seen", _relation(evidence.target_seen)
    yield "upstreams", _joined(f"{each.model} {each.state} {_short(each.receipt)}" for each in evidence.upstreams)
    yield "reads pinned", _joined(f"{read.model} {_short(read.receipt)}" for read in evidence.reads)
    yield "checks", _joined(f"{pin.check} ({pin.severity})" for pin in evidence.checks)
    yield "statements allowed", str(len(evidence.statements))
    yield "permission", evidence.permission if evidence.permission != "open" else ""


def _commit(evidence: CommitEvidence) -> Iterator[tuple[str, str]]:
    receipt = evidence.receipt
    match receipt:
        case Found():
            yield "receipt", f"{_short(receipt.id)}, found in the warehouse"
        case RolledBack():
            yield "receipt", "none: the transaction was rolled back"
        case Absent():
            yield "receipt", "none: no write of this attempt is there"
        case Proposed():
            yield "receipt", "only proposed"
    body = body_in(evidence)
    if body is not None:
        yield from receipt_facts(body)


def receipt_facts(body: ReceiptBody) -> Iterator[tuple[str, str]]:
    """What a receipt proves, in words."""
    rows = {
        "before": body.rows_before,
        "written": body.rows_written,
        "deleted": body.rows_deleted or None,
        "held": body.rows_held or None,
        "late": body.rows_late or None,
        "stale": body.rows_stale or None,
        "kept": body.rows_kept or None,
        "gone": body.rows_gone or None,
        "after": body.rows_after,
    }
    yield "rows", _joined(f"{count} {word}" for word, count in rows.items() if count is not None)
    yield "head in the transaction", _head(body.head)
    yield "reads in the transaction", _joined(f"{read.model} {_short(read.receipt)}" for read in body.reads)
    yield "nulls", _joined(f"{each.column}: {each.nulls}" for each in body.nulls if each.nulls)
    for verdict in body.verdicts:
        said = "" if verdict.failing is None else f", {verdict.failing} failing"
        yield f"check {verdict.check}", f"{verdict.outcome} ({verdict.severity}{said}){': ' + verdict.because if verdict.because else ''}"
    delta = body.delta
    if delta is not None:
        counts = {
            "nulls in the watermark": delta.watermark_nulls,
            "nulls in the key": delta.key_nulls,
            "keys twice": delta.key_doubles,
            "casts that lose": delta.lossy_casts,
            "changed at the watermark": delta.changed_at_watermark,
            "keys that are there with other values": delta.conflicting_keys,
            "out of range": delta.out_of_range,
        }
        yield "delta", _joined([rows_in_words(delta.rows), *(f"{count} {name}" for name, count in counts.items() if count)])
        yield "first against it", delta.sample
    if body.shrink is not None:
        yield (
            "full refresh",
            f"{rows_in_words(body.shrink.rows_before)} before, {body.shrink.rows_after} after, {body.shrink.missing} values missing",
        )
    yield "watermark", watermark_words(body.watermark)
    yield "ranges covered", _joined(f"[{span.low or '…'}, {span.high})" for span in body.ranges)


def watermark_words(mark: Watermark | None) -> str:
    """Both ends of a watermark."""
    return f"{mark.low} to {mark.high} ({mark.type})" if mark is not None else ""


def written_words(proof: RolledBack | Absent | None) -> str:
    """What a refusal says of what was written."""
    match proof:
        case None:
            return "nothing: it had not asked for the target"
        case RolledBack():
            return "nothing: it was rolled back"
        case Absent():
            return "nothing: no receipt of it is there"


def _relation(seen: Missing | Present | Unreadable) -> str:
    match seen:
        case Missing():
            return "none"
        case Present():
            return f"{seen.kind} of {len(seen.columns)} columns, token {_short(seen.token)}"
        case Unreadable():
            return f"unreadable: {seen.because}"


def _head(head: HeadSeen) -> str:
    return f"receipt {_short(head.receipt)}, token {_short(head.token)}"


def _of(needed: tuple[str, ...], found: tuple[str, ...]) -> str:
    missing = sorted(set(needed) - set(found))
    return f"{len(needed)} and {len(set(needed) & set(found))}" + (f"; not found: {', '.join(missing)}" if missing else "")


def _joined(words: Iterable[str]) -> str:
    return ", ".join(words)


def _short(digest: str | None) -> str:
    return digest[:12] if digest else "none"
