"""The guards of ModelRun around a write: before it is asked for, and when the ledger takes it over."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.machines.actions import KEEPS
from interlock.machines.evidence import (
    BootstrapEvidence,
    CheckpointEvidence,
    CommitEvidence,
    Found,
    HeadSeen,
    Missing,
    Present,
    RefuseEvidence,
    Target,
    Unreadable,
    VerifyEvidence,
)
from interlock.machines.guards import HOLDS, Answer, Refuses, guard, refuses, unless
from interlock.machines.records import Record


class Confirmation(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `checkpoint` is judged by: the evidence of the commit beside the head as read."""

    commit: CommitEvidence | None
    evidence: CheckpointEvidence


# --- verify -----------------------------------------------------------------------------------------------------------


@guard("I1", "G501", reads="digest of the model's item: in the sealed plan, and as it is about to be carried out")
def plan_is_as_sealed(evidence: VerifyEvidence) -> Answer:
    """What is about to be carried out is, byte for byte, what the plan sealed."""
    if not evidence.item_sealed:
        return refuses("G501", "the plan holds no sealed item for this model", remedy="make a new plan")
    if evidence.item_sealed != evidence.item_found:
        because = f"the plan sealed {_short(evidence.item_sealed)}, and {_short(evidence.item_found)} would run"
        return refuses("G501", because, remedy="make a new plan")
    return HOLDS


@guard("I4", "G502", reads="each promise of the contract, and how it is proved")
def contract_is_proved(evidence: VerifyEvidence) -> Answer:
    """Every promise of the contract is proved, or its proof at run time is in the plan."""
    return unless(
        Refuses(
            "G502",
            f"column `{finding.column}`: {finding.because}" if finding.because else f"column `{finding.column}` is {finding.proof}",
            "change the model or its contract, then plan again",
        )
        for finding in evidence.contract
        if finding.proof not in ("compiled", "at_run_time")
    )


@guard("I2", "G503", reads="the row of the authority table that was taken, and its decision")
def authority_is_known(evidence: VerifyEvidence) -> Answer:
    """Ledger and receipts may be trusted, by a row of the authority table."""
    if isinstance(evidence.authority, Unreadable):
        because = f"authority could not be read: {evidence.authority.because}"
        return refuses("G503", because, remedy="make the ledger and the database readable, then run again")
    if evidence.decision not in ("fresh", "finish_genesis", "proceed", "settle"):
        because = f"row {evidence.authority} of the authority table says `{evidence.decision}`"
        return refuses("G503", because, remedy="see `interlock status`")
    return HOLDS


# --- bootstrap --------------------------------------------------------------------------------------------------------


@guard("I3", "G511", reads="each model that is read: its state in this run, its receipt, and the receipt pinned")
def upstreams_are_checkpointed(evidence: BootstrapEvidence) -> Answer:
    """Every model that is read is checkpointed, or not in this run's scope and as pinned."""
    pinned = {read.model: read.receipt for read in evidence.reads}
    return unless(_upstreams_against(evidence, pinned))


def _upstreams_against(evidence: BootstrapEvidence, pinned: dict[str, str | None]) -> Iterator[Refuses]:
    again = "run `interlock resume`, or plan again"
    for upstream in evidence.upstreams:
        name = upstream.model
        if upstream.state not in ("checkpointed", "outside", "no_op"):
            yield Refuses("G511", f"`{name}` is `{upstream.state}`, not checkpointed", again)
        elif upstream.receipt is None:
            yield Refuses("G511", f"`{name}` has no receipt: it was never built", f"add `+{name}` to the selection, or build it first")
        elif name in pinned and pinned[name] != upstream.receipt:
            because = f"`{name}` stands at receipt {_short(upstream.receipt)}, and {_short(pinned[name])} is pinned"
            yield Refuses("G511", because, again)
    known = {upstream.model for upstream in evidence.upstreams}
    for model in pinned:
        if model not in known:
            yield Refuses("G511", f"`{model}` is read, and nothing is known of its state", again)


@guard("I2", "G512", reads="the relation and the model's head row: as planned, and as seen now")
def target_is_as_planned(evidence: BootstrapEvidence) -> Answer:
    """The relation and the head are, positively, what the plan expects."""
    return unless((*_target_against(evidence), *_head_against(evidence)))


def _target_against(evidence: BootstrapEvidence) -> Iterator[Refuses]:
    again = "look at `interlock diff`, then plan again"
    planned = evidence.target
    seen = evidence.target_seen
    if isinstance(seen, Unreadable):
        yield Refuses("G512", f"the relation could not be looked at: {seen.because}", "make the database readable, then run again")
    elif isinstance(planned, Missing) or isinstance(seen, Missing):
        if type(planned) is not type(seen):
            yield Refuses("G512", f"planned: {_described(planned)}; found: {_described(seen)}", again)
    else:
        if (planned.kind, planned.token) != (seen.kind, seen.token):
            yield Refuses("G512", f"planned: {_described(planned)}; found: {_described(seen)}", again)
        if evidence.action in KEEPS and planned.kind == "table" and planned.columns != seen.columns:
            because = f"columns planned: {_columns(planned)}; found: {_columns(seen)}"
            yield Refuses("G512", because, again)


def _head_against(evidence: BootstrapEvidence) -> Iterator[Refuses]:
    seen = evidence.head_seen
    if isinstance(seen, Unreadable):
        yield Refuses("G512", f"the head could not be read: {seen.because}", "make the database readable, then run again")
        return
    planned = HeadSeen(receipt=evidence.head.receipt, token=evidence.head.token)
    if planned != seen:
        because = f"the head was planned at receipt {_short(planned.receipt)}, and is at {_short(seen.receipt)}"
        if planned.receipt == seen.receipt:
            because = f"the head's token was planned as {_short(planned.token)}, and is {_short(seen.token)}"
        yield Refuses("G512", because, "plan again: another run wrote this model")


@guard("I2", "G513", reads="whether the target is protected, and whether the plan was seen")
def write_is_permitted(evidence: BootstrapEvidence) -> Answer:
    """This target may be written to by this run."""
    if evidence.permission not in ("open", "reviewed", "unreviewed"):
        because = "the target is protected, and no plan for it was seen"
        return refuses("G513", because, remedy="use `interlock plan` and `interlock apply PLAN`")
    return HOLDS


# --- checkpoint -------------------------------------------------------------------------------------------------------


@guard("I3", "G541", reads="the receipt as found after the commit, and the head as read for the checkpoint")
def checkpoint_equals_receipt(case: Confirmation) -> Answer:
    """What the ledger will say of the model is what its receipt says."""
    commit = case.commit
    if commit is None or not isinstance(commit.receipt, Found):
        return refuses("G541", "no receipt was found that a checkpoint could equal", remedy="run `interlock resume`")
    found = commit.receipt
    evidence = case.evidence
    if evidence.receipt != found.id:
        because = f"the head names receipt {_short(evidence.receipt)}, and {_short(found.id)} was found after the commit"
        return refuses("K731", because, remedy="see `interlock ledger accept-warehouse`")
    body = found.body
    pairs: tuple[tuple[str, object, object], ...] = (
        ("token", evidence.token, body.token),
        ("generation", evidence.generation, body.generation),
        ("rows", evidence.rows, body.rows_after),
        ("watermark", evidence.watermark, body.watermark),
        ("digests", evidence.digests, body.digests),
        ("moved", evidence.moved, body.moved),
    )
    return unless(
        Refuses("G541", f"{name}: the checkpoint says {ours}, the receipt {theirs}", "see `interlock ledger accept-warehouse`")
        for name, ours, theirs in pairs
        if ours != theirs
    )


# --- refuse -----------------------------------------------------------------------------------------------------------


@guard("I3", "G551", reads="proof of a rollback, or of a receipt that is not there")
def proof_says_nothing_was_written(evidence: RefuseEvidence) -> Answer:
    """It is proved that the attempt wrote nothing; while that is not known, the run stays open."""
    if evidence.proof is None:
        because = "a write may exist, and nothing proves that it does not"
        return refuses("G551", because, remedy="run `interlock resume`, which looks for the receipt")
    return HOLDS


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12] or "nothing"


def _described(target: Target) -> str:
    if isinstance(target, Missing):
        return "no relation"
    return f"a {target.kind} with token {_short(target.token)}" if target.token else f"a {target.kind} without our token"


def _columns(target: Present) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in target.columns) or "none"
