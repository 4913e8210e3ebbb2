"""The guards of Run and Plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from interlock.machines.evidence import (
    Absent,
    AuthorizeEvidence,
    CloseEvidence,
    CompileEvidence,
    SealEvidence,
    StartEvidence,
    Unreadable,
)
from interlock.machines.guards import HOLDS, Answer, Refuses, guard, refuses, unless
from interlock.machines.records import Record

TERMINAL: frozenset[str] = frozenset({"checkpointed", "refused", "no_op"})
"""States in which a planned model has ended."""

DONE: frozenset[str] = frozenset({"checkpointed", "no_op"})


class Closing(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `close` is judged by: the scope that was authorized beside what was executed."""

    run: str
    authorized: AuthorizeEvidence | None
    evidence: CloseEvidence


# --- authorize --------------------------------------------------------------------------------------------------------


@guard("I2", "G571", reads="the row of the authority table that the facts matched")
def authority_permits(evidence: AuthorizeEvidence) -> Answer:
    """Exactly one row of the authority table matched, and it lets the run go on."""
    finding = evidence.authority
    if finding.decision not in ("fresh", "finish_genesis", "proceed", "settle"):
        because = finding.because or f"row {finding.row}: ledger {finding.ledger}, identity {finding.identity}, heads {finding.heads}"
        return refuses(finding.code or "G571", because, remedy=finding.remedy or "see `interlock status`")
    return HOLDS


@guard("I1", "G572", reads="each difference between what was planned and what is there now")
def plan_is_current(evidence: AuthorizeEvidence) -> Answer:
    """The project, the warehouse and the heads are as planned, or as a run of this plan left them."""
    return unless(
        Refuses(
            difference.code or "G572",
            f"{difference.subject}: planned {difference.planned}, found {difference.found}",
            difference.remedy or "plan again",
        )
        for difference in evidence.differences
    )


@guard("I1", "G573", reads="the runs of this plan that have begun, and the one that this run continues")
def plan_is_unspent(evidence: AuthorizeEvidence) -> Answer:
    """No run of this plan has begun, or this run continues one that has."""
    if evidence.continues is not None:
        if evidence.continues in evidence.spent_by:
            return HOLDS
        because = f"no run `{evidence.continues}` of this plan has begun"
        return refuses("G573", because, remedy="see `interlock status` for the runs of a plan")
    if evidence.spent_by:
        because = f"it was applied by {', '.join(evidence.spent_by)}"
        again = "a plan is applied once: `interlock plan` says what there is to do now"
        return refuses("P403", because, remedy=f"{again}; a run that was stopped or ended partial goes on with `interlock resume`")
    return HOLDS


# --- start ------------------------------------------------------------------------------------------------------------


@guard("I2", "G574", reads="control tables, schemas and head rows: needed, and found after preparing")
def tables_and_heads_exist(evidence: StartEvidence) -> Answer:
    """All that a model needs to write into was seen to be there."""
    missing = sorted(set(evidence.relations_needed) - set(evidence.relations_found))
    heads = sorted(set(evidence.heads_needed) - set(evidence.heads_found))
    return unless(
        (
            *(Refuses("G574", f"`{name}` is not there after preparing", "run again") for name in missing),
            *(Refuses("G574", f"no head row for `{name}` after preparing", "run again") for name in heads),
        )
    )


# --- close ------------------------------------------------------------------------------------------------------------


@guard("I1", "G575", reads="scope as authorized, scope as planned, and the state in which each model ended")
def scope_is_as_planned(case: Closing) -> Answer:
    """Every planned model ended, and nothing else was done."""
    return unless(_scope_against(case))


def _scope_against(case: Closing) -> Iterator[Refuses]:
    resume = "run `interlock resume`"
    evidence = case.evidence
    if case.authorized is None:
        yield Refuses("G575", "the scope that was authorized is not known", resume)
    elif Counter(case.authorized.scope) != Counter(evidence.planned):
        yield Refuses("G575", "the scope to be closed is not the one that was authorized", resume)
    planned = Counter(item.model for item in evidence.planned)
    executed = Counter(end.model for end in evidence.executed)
    for model in sorted(planned - executed):
        yield Refuses("G575", f"`{model}` was planned and has no end", resume)
    for model in sorted(executed - planned):
        yield Refuses("G575", f"`{model}` was executed and not planned", resume)
    for end in evidence.executed:
        if end.state not in TERMINAL:
            yield Refuses("G575", f"`{end.model}` is still `{end.state}`", resume)
    outcome = "succeeded" if all(end.state in DONE for end in evidence.executed) else "partial"
    if outcome != evidence.outcome:
        yield Refuses("G575", f"the run is called {evidence.outcome}, and its models make it {outcome}", resume)


@guard("I3", "G576", reads="the seal row as it was to be written, and as read back")
def seal_is_durable(case: Closing) -> Answer:
    """The warehouse's row that this run closed was read back, and it is the one that was written."""
    evidence = case.evidence
    if isinstance(evidence.seal, Absent):
        return refuses("G576", "the seal is not in the warehouse", remedy="run `interlock resume`")
    if evidence.seal != evidence.seal_expected:
        because = f"the seal found is of run {evidence.seal.run}, serial {evidence.seal.serial}, tip {evidence.seal.tip[:12]}"
        return refuses("G576", because, remedy="see `interlock status`")
    if (evidence.seal.run, evidence.seal.outcome) != (case.run, evidence.outcome):
        because = f"the seal says {evidence.seal.outcome} of run {evidence.seal.run}; this is {case.run}, {evidence.outcome}"
        return refuses("G576", because, remedy="see `interlock status`")
    return HOLDS


# --- plan -------------------------------------------------------------------------------------------------------------


@guard("I4", "G581", reads="every finding of the compiler and the planner")
def no_finding_is_an_error(evidence: CompileEvidence) -> Answer:
    """Nothing that was found is an error."""
    return unless(
        Refuses(finding.code or "G581", finding.summary, "see the finding's own remedy")
        for finding in evidence.findings
        if finding.severity != "warning"
    )


@guard("I2", "G582", reads="every question that planning asked of the world, and its answer")
def every_observation_was_read(evidence: SealEvidence) -> Answer:
    """Every question of the plan got an answer."""
    return unless(
        Refuses(
            "P425",
            f"{observation.question}: {observation.answer.because}",
            "make it readable, then plan again",
        )
        for observation in evidence.observations
        if isinstance(observation.answer, Unreadable)
    )
