"""What a ledger comes to at a seal, as a value: the state from which everyday commands go on reading. Pure.

Of closed runs it keeps which plan each spent, and of models the head and the newest attempt; so its size follows the
models, and not the length of the ledger but for sixteen bytes a plan. What it left behind is read again where it is asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal

import msgspec

from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.subjects import AttemptFold, Behind, Last, ModelFold, Refusal, RunFold, SettledBy
from interlock.machines.evidence import AuthorizeEvidence, CloseEvidence, GenesisEvidence, Head, SealRow
from interlock.machines.records import Record, digest_of

FORMAT = 5
"""Of the file. Raise it with every change of these records, or of what a fold makes of a ledger: another one is not read."""

_HEAD = b"interlock state "


class KeptAttempt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, array_like=True):
    """An attempt that is over."""

    run: str
    model: str
    subject: str
    state: str
    started: str
    by: str | None
    time: str
    sequence: int
    action: str
    anchor: str | None
    receipt: str | None
    rows_written: int | None
    refusal: Refusal | None


class KeptModel(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, array_like=True):
    """A model. Its newest attempt stands here, or in the run that made it where that is kept."""

    model: str
    attempt: KeptAttempt | None
    attempt_of: tuple[str, str] | None
    """Run and subject's model of it, where it stands there."""
    decided: Literal["yes", "no"]
    last: Last | None


class KeptRun(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that has ended."""

    run: str
    state: str
    opened: str
    opened_sequence: int
    by: str | None
    actor: str
    version: str
    plan: str | None
    authorize: AuthorizeEvidence | None
    close: CloseEvidence | None
    refusal: Refusal | None
    settled: SettledBy | None
    ended: str | None
    running_since: str | None
    attempts: tuple[KeptAttempt, ...]


class Segment(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, array_like=True):
    """A file of the ledger as it was when the state was taken; the newest one up to where it was read."""

    number: int
    packed: Literal["yes", "no"]
    bytes: int
    changed_ns: int


class Kept(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state at a `close` record behind which nothing is open."""

    sequence: int
    digest: str
    """Of that record."""
    segment: int
    start: int
    """Where its line begins in that segment."""
    offset: int
    """Where its line ends."""
    before: str
    """SHA-256 of what stands before it in that segment, which goes on being written: its size and time say nothing."""
    segments: tuple[Segment, ...]
    first: str
    """Digest of the ledger's first record."""
    genesis: GenesisEvidence
    ledger: str
    warehouse: str
    time: str
    seal: SealRow
    serial_accepted: int
    accepted_sequence: int
    closed: int
    wrote: Literal["yes", "no"]
    models: tuple[KeptModel, ...]
    runs: tuple[KeptRun, ...]
    spent: bytes
    """Plans of runs that are left behind and had begun: sixteen bytes each, in order."""
    named: bytes
    """Likewise of runs that were authorized and did not begin."""


class NoState(Exception):  # noqa: N818 - an answer about bytes
    """The bytes are no state that this version knows, or were changed."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Kept)


def bytes_of(kept: Kept) -> bytes:
    """The file of a state: a line that says its format, its record and the digest of the rest."""
    body = _ENCODER.encode(kept)
    return b"%b%d %d %b\n%b" % (_HEAD, FORMAT, kept.sequence, _digest(body), body)


def kept_of(data: bytes) -> Kept:
    """The state of a file.

    Raises:
        NoState: it is none, of another format, or a byte of it was changed.
    """
    head, newline, body = data.partition(b"\n")
    words = head.removeprefix(_HEAD).split(b" ")
    if not newline or not head.startswith(_HEAD) or len(words) != 3 or words[0] != b"%d" % FORMAT or words[2] != _digest(body):
        raise NoState
    try:
        return _DECODER.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise NoState from error


def sequence_of(head: bytes) -> int:
    """The record at which the state was taken whose file begins so; 0 for what is no state of this format."""
    words = head.partition(b"\n")[0].removeprefix(_HEAD).split(b" ")
    return int(words[1]) if head.startswith(_HEAD + b"%d " % FORMAT) and len(words) > 1 and words[1].isdigit() else 0


def heads_digest(fold: Fold) -> str:
    """What a seal says of the heads, made from the ledger's word."""
    return _heads_digest({name: known.head for name, known in fold.models.items()})


def heads_digest_at_seal(fold: Fold) -> str:
    """The same as the last seal must have it: with every attempt since then taken back."""
    return _heads_digest({name: fold.before_close.get(name, known.head) for name, known in fold.models.items()})


def _heads_digest(heads: Mapping[str, Head]) -> str:
    return digest_of("heads", sorted([name, head.receipt, head.token] for name, head in heads.items() if head.receipt is not None))


def can_be_kept(fold: Fold) -> bool:
    """It stands at a `close`, nothing is open or contradicted, and the heads are those that the seal vouches for."""
    return (
        fold.genesis is not None
        and fold.seal is not None
        and list(fold.since_close) == [fold.tip]
        and any(run.state == "closed" and run.run == fold.seal.run for run in fold.runs.values())
        and not fold.open
        and not fold.contradictions
        and fold.reset is None
        and fold.seal.heads == heads_digest(fold)
    )


def kept_from(fold: Fold, *, segment: int, start: int, offset: int, before: str, segments: tuple[Segment, ...], first: str) -> Kept:
    """The state of a fold that can be kept, and its record's place."""
    assert fold.genesis is not None
    assert fold.seal is not None
    shown = _shown(fold)
    kept_runs = {run.run for run in shown}
    behind = fold.behind
    left = [run for run in fold.runs.values() if run.run not in kept_runs and run.plan is not None]
    return Kept(
        sequence=fold.sequence,
        digest=fold.tip,
        segment=segment,
        start=start,
        offset=offset,
        before=before,
        segments=segments,
        first=first,
        genesis=fold.genesis,
        ledger=fold.ledger,
        warehouse=fold.warehouse,
        time=fold.time,
        seal=fold.seal,
        serial_accepted=fold.serial_accepted,
        accepted_sequence=fold.accepted_sequence,
        closed=fold.closed,
        wrote="yes" if fold.wrote else "no",
        models=tuple(_model(known, kept_runs) for known in fold.models.values()),
        runs=tuple(_run(run) for run in shown),
        spent=_added(behind.spent if behind is not None else b"", (run.plan for run in left if run.running_since is not None)),
        named=_added(behind.named if behind is not None else b"", (run.plan for run in left if run.running_since is None)),
    )


def fold_of(kept: Kept) -> Fold:
    """The fold from which reading goes on. What it left behind is not there; `Fold.behind` says of which plans."""
    fold = Fold()
    fold.genesis, fold.project = kept.genesis, kept.genesis.project
    fold.ledger, fold.warehouse = kept.ledger, kept.warehouse
    fold.sequence, fold.tip, fold.time = kept.sequence, kept.digest, kept.time
    fold.seal, fold.serial_accepted, fold.accepted_sequence = kept.seal, kept.serial_accepted, kept.accepted_sequence
    fold.closed, fold.wrote = kept.closed, kept.wrote == "yes"
    fold.since_close = {kept.digest: kept.sequence}
    for run in kept.runs:
        fold.runs[run.run] = _run_fold(run)
        if run.plan is not None and run.running_since is not None:
            fold.plans.setdefault(run.plan, []).append(run.run)
    for each in kept.models:
        attempt = _attempt_fold(each.attempt) if each.attempt is not None else None
        if each.attempt_of is not None:
            attempt = fold.runs[each.attempt_of[0]].attempts[each.attempt_of[1]]
        known = fold.models[each.model] = ModelFold(model=each.model, attempt=attempt, decided=each.decided, last=each.last)
        if known.head.receipt is not None:
            known.receipts.add(known.head.receipt)
    return fold


def _shown(fold: Fold) -> list[RunFold]:
    """The runs that commands show or go on with: the newest of each kind, and every run of their plans."""
    ended = sorted(fold.runs.values(), key=lambda run: run.opened_sequence)
    newest = {
        kind[-1].run: kind[-1].plan
        for kind in (
            ended,
            [run for run in ended if run.running_since is not None],
            [run for run in ended if run.refusal is not None and run.refusal.cause == "crash"],
        )
        if kind
    }
    plans = {plan for plan in newest.values() if plan is not None}
    return [run for run in fold.runs.values() if run.run in newest or run.plan in plans]


def _model(known: ModelFold, kept_runs: set[str]) -> KeptModel:
    attempt = known.attempt
    stands = attempt is not None and attempt.run in kept_runs
    return KeptModel(
        model=known.model,
        attempt=_attempt(attempt) if attempt is not None and not stands else None,
        attempt_of=(attempt.run, attempt.model) if attempt is not None and stands else None,
        decided=known.decided,
        last=known.last,
    )


def _attempt(attempt: AttemptFold) -> KeptAttempt:
    return KeptAttempt(**{name: getattr(attempt, name) for name in KeptAttempt.__struct_fields__})


def _attempt_fold(kept: KeptAttempt) -> AttemptFold:
    return AttemptFold(**{name: getattr(kept, name) for name in KeptAttempt.__struct_fields__})


def _run(run: RunFold) -> KeptRun:
    told = {name: getattr(run, name) for name in KeptRun.__struct_fields__ if name != "attempts"}
    return KeptRun(**told, attempts=tuple(_attempt(attempt) for attempt in run.attempts.values()))


def _run_fold(kept: KeptRun) -> RunFold:
    told = {name: getattr(kept, name) for name in KeptRun.__struct_fields__ if name != "attempts"}
    return RunFold(**told, attempts={attempt.model: _attempt_fold(attempt) for attempt in kept.attempts})


def _added(stored: bytes, plans: object) -> bytes:
    new = {Behind.key(plan) for plan in plans}  # type: ignore[attr-defined] # plans of runs that have one
    known = {stored[at : at + Behind.BYTES] for at in range(0, len(stored), Behind.BYTES)} if new else set()
    return b"".join(sorted(known | new)) if new else stored


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(b"interlock:state:%d\n%b" % (FORMAT, body)).hexdigest().encode()
