"""The hand-written side of the exhaustive tests: what each machine does, and evidence that breaks one guard and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace
from tests.machines import sample as s

from interlock.machines.evidence import (
    Absent,
    CheckVerdict,
    Column,
    CommitEvidence,
    ContractFinding,
    Difference,
    Digests,
    Evidence,
    Finding,
    Found,
    HeadSeen,
    NullCount,
    Observation,
    Read,
    RolledBack,
    ScopeEnd,
    ScopeItem,
    SourceVerdict,
    Unreadable,
    Upstream,
)
from interlock.machines.machine import Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.plan import Plan
from interlock.machines.run import Run

RAISES = "raises"

STATES: dict[type[Machine], tuple[str, ...]] = {
    ModelRun: ("planned", "verified", "bootstrapping", "committed", "checkpointed", "refused"),
    Run: ("opened", "authorized", "running", "closed", "refused"),
    Plan: ("drafted", "compiled", "sealed", "refused"),
}

EVENTS: dict[type[Machine], tuple[str, ...]] = {
    ModelRun: ("verify", "bootstrap", "commit", "checkpoint", "refuse"),
    Run: ("authorize", "start", "close", "refuse"),
    Plan: ("compile", "seal", "refuse"),
}

TABLE: dict[tuple[type[Machine], str, str], tuple[str, str]] = {
    # (machine, state, event): (where it goes if all holds, where it goes if a guard refuses)
    (ModelRun, "planned", "verify"): ("verified", "refused"),
    (ModelRun, "planned", "refuse"): ("refused", "refused"),
    (ModelRun, "verified", "bootstrap"): ("bootstrapping", "refused"),
    (ModelRun, "verified", "refuse"): ("refused", "refused"),
    (ModelRun, "bootstrapping", "commit"): ("committed", "refused"),
    (ModelRun, "bootstrapping", "refuse"): ("refused", RAISES),
    (ModelRun, "committed", "checkpoint"): ("checkpointed", "refused"),
    (Run, "opened", "authorize"): ("authorized", "refused"),
    (Run, "opened", "refuse"): ("refused", "refused"),
    (Run, "authorized", "start"): ("running", "refused"),
    (Run, "authorized", "refuse"): ("refused", "refused"),
    (Run, "running", "close"): ("closed", "refused"),
    (Plan, "drafted", "compile"): ("compiled", "refused"),
    (Plan, "drafted", "refuse"): ("refused", "refused"),
    (Plan, "compiled", "seal"): ("sealed", "refused"),
    (Plan, "compiled", "refuse"): ("refused", "refused"),
}
"""Every other event in every other state raises."""

GUARDS: dict[tuple[type[Machine], str, str], tuple[str, ...]] = {
    (ModelRun, "planned", "verify"): (
        "plan_is_as_sealed",
        "contract_is_proved",
        "authority_is_known",
        "sources_are_fresh",
        "source_promises_hold",
        "source_cells_are_held",
    ),
    (ModelRun, "verified", "bootstrap"): ("upstreams_are_checkpointed", "target_is_as_planned", "write_is_permitted"),
    (ModelRun, "bootstrapping", "commit"): (
        "head_is_as_expected",
        "reads_are_as_pinned",
        "target_was_as_planned",
        "delta_is_well_formed",
        "rows_meet_contract",
        "every_check_has_a_verdict",
        "no_error_check_failed",
        "receipt_is_durable",
    ),
    (ModelRun, "bootstrapping", "refuse"): ("proof_says_nothing_was_written",),
    (ModelRun, "committed", "checkpoint"): ("checkpoint_equals_receipt",),
    (Run, "opened", "authorize"): ("authority_permits", "plan_is_current", "plan_is_unspent"),
    (Run, "authorized", "start"): ("tables_and_heads_exist",),
    (Run, "running", "close"): ("scope_is_as_planned", "seal_is_durable"),
    (Plan, "drafted", "compile"): ("no_finding_is_an_error",),
    (Plan, "compiled", "seal"): ("every_observation_was_read",),
}

HOLDS: dict[tuple[type[Machine], str], Callable[[], Evidence]] = {
    (ModelRun, "verify"): s.verify,
    (ModelRun, "bootstrap"): s.bootstrap,
    (ModelRun, "commit"): s.found,
    (ModelRun, "checkpoint"): s.checkpoint,
    (ModelRun, "refuse"): s.refuse,
    (Run, "authorize"): s.authorize,
    (Run, "start"): s.start,
    (Run, "close"): s.close,
    (Run, "refuse"): s.refuse,
    (Plan, "compile"): s.compiled,
    (Plan, "seal"): s.sealed,
    (Plan, "refuse"): s.refuse,
}


@dataclass(frozen=True)
class Break:
    """Evidence for which one guard refuses, and no other."""

    machine: type[Machine]
    event: str
    guard: str
    evidence: Evidence
    code: str


def _verdict(check: str, **change: Any) -> CheckVerdict:
    return replace(CheckVerdict(check=check, severity="error", outcome="passed", failing=0, because=""), **change)


_WARNED = _verdict("fresh", severity="warn", outcome="failed", failing=2)
_UPSTREAMS = s.bootstrap().upstreams
_READS = s.body().reads


def _up(**change: Any) -> tuple[Upstream, ...]:
    return (replace(_UPSTREAMS[0], **change), *_UPSTREAMS[1:])


def _dim(**change: Any) -> tuple[Upstream, ...]:
    return (_UPSTREAMS[0], replace(_UPSTREAMS[1], **change), _UPSTREAMS[2])


def _delta(**change: Any) -> CommitEvidence:
    return s.found(delta=replace(s.CLEAN, **change))


def _shrink(**change: Any) -> CommitEvidence:
    return s.found(shrink=replace(s.SHRINK, **change))


def _said(index: int, **change: Any) -> tuple[SourceVerdict, ...]:
    changed = replace(s.SAID[index], **change)
    return tuple(changed if place == index else each for place, each in enumerate(s.SAID))


def _model_breaks() -> list[Break]:
    verify: list[tuple[str, Evidence, str]] = [
        ("plan_is_as_sealed", s.verify(item_found="other"), "G501"),
        ("plan_is_as_sealed", s.verify(item_sealed="", item_found=""), "G501"),
        ("contract_is_proved", s.verify(contract=(ContractFinding(column="id", proof="false", because="it is TEXT"),)), "G502"),
        ("contract_is_proved", s.verify(contract=(ContractFinding(column="id", proof="unproved", because=""),)), "G502"),
        ("authority_is_known", s.verify(authority=Unreadable(because="denied")), "G503"),
        ("authority_is_known", s.verify(decision="refuse"), "G503"),
        ("sources_are_fresh", s.verify(said=_said(0, outcome="failed", failing=1)), "G504"),
        ("sources_are_fresh", s.verify(said=_said(0, outcome="no_rows", failing=None)), "G504"),
        ("sources_are_fresh", s.verify(said=_said(0, outcome="not_evaluated", failing=None)), "G506"),
        ("sources_are_fresh", s.verify(said=_said(0, failing=None)), "G506"),
        ("sources_are_fresh", s.verify(said=_said(0, outcome="failed", failing=0)), "G506"),
        ("sources_are_fresh", s.verify(said=s.SAID[1:]), "G506"),
        ("sources_are_fresh", s.verify(said=(*s.SAID, s.SAID[0])), "G506"),
        ("sources_are_fresh", s.verify(sources=s.SOURCES[1:]), "G506"),
        ("source_promises_hold", s.verify(said=_said(1, outcome="failed", failing=3)), "G505"),
        ("source_promises_hold", s.verify(said=_said(1, outcome="not_evaluated", failing=None)), "G506"),
        ("source_promises_hold", s.verify(said=_said(1, outcome="no_rows", failing=None)), "G506"),
        ("source_promises_hold", s.verify(said=(s.SAID[0], s.SAID[2])), "G506"),
        ("source_cells_are_held", s.verify(said=_said(2, outcome="failed", failing=3)), "G507"),
        ("source_cells_are_held", s.verify(said=_said(2, outcome="failed", failing=0)), "G506"),
        ("source_cells_are_held", s.verify(said=_said(2, outcome="not_evaluated", failing=None)), "G506"),
        ("source_cells_are_held", s.verify(said=_said(2, outcome="no_rows", failing=None)), "G506"),
        ("source_cells_are_held", s.verify(said=s.SAID[:2]), "G506"),
        ("source_cells_are_held", s.verify(sources=s.SOURCES[:2]), "G506"),
    ]
    bootstrap: list[tuple[str, Evidence, str]] = [
        *(
            ("upstreams_are_checkpointed", s.bootstrap(upstreams=_up(state=state)), "G511")
            for state in ("planned", "verified", "bootstrapping", "committed", "refused", "")
        ),
        ("upstreams_are_checkpointed", s.bootstrap(upstreams=_up(receipt=s.OTHER)), "G511"),
        ("upstreams_are_checkpointed", s.bootstrap(upstreams=_up(receipt=None)), "G511"),
        ("upstreams_are_checkpointed", s.bootstrap(upstreams=_dim(receipt=s.OTHER)), "G511"),
        ("upstreams_are_checkpointed", s.bootstrap(upstreams=_dim(receipt=None)), "G511"),
        ("upstreams_are_checkpointed", s.bootstrap(upstreams=_dim(state="no_op", receipt=s.OTHER)), "G511"),
        ("upstreams_are_checkpointed", s.bootstrap(upstreams=_UPSTREAMS[1:]), "G511"),
        ("target_is_as_planned", s.bootstrap(target_seen=Unreadable(because="denied")), "G512"),
        ("target_is_as_planned", s.bootstrap(target_seen=s.MISSING), "G512"),
        ("target_is_as_planned", s.bootstrap(target=s.MISSING), "G512"),
        ("target_is_as_planned", s.bootstrap(target_seen=s.VIEW), "G512"),
        ("target_is_as_planned", s.bootstrap(target_seen=replace(s.TABLE, token=None)), "G512"),
        ("target_is_as_planned", s.bootstrap(target_seen=replace(s.TABLE, columns=s.COLUMNS[:1])), "G512"),
        ("target_is_as_planned", s.bootstrap(head_seen=Unreadable(because="denied")), "G512"),
        ("target_is_as_planned", s.bootstrap(head_seen=HeadSeen(receipt=s.OTHER, token=s.HEAD.token)), "G512"),
        ("target_is_as_planned", s.bootstrap(head_seen=HeadSeen(receipt=s.HEAD.receipt, token=None)), "G512"),
        ("write_is_permitted", s.bootstrap(permission="refused"), "G513"),
    ]
    unevaluated = _verdict("unique_id", outcome="not_evaluated", failing=None, because="no column")
    commit: list[tuple[str, Evidence, str]] = [
        ("head_is_as_expected", s.found(previous=s.OTHER), "G521"),
        ("head_is_as_expected", s.found(previous=None), "G521"),
        ("head_is_as_expected", s.found(head=HeadSeen(receipt=s.OTHER, token=s.HEAD.token)), "G521"),
        ("head_is_as_expected", s.found(head=HeadSeen(receipt=s.HEAD.receipt, token=s.OTHER)), "G521"),
        ("reads_are_as_pinned", s.found(reads=_READS[1:]), "G522"),
        ("reads_are_as_pinned", s.found(reads=(*_READS, Read(model="more", receipt=None))), "G522"),
        ("reads_are_as_pinned", s.found(reads=(replace(_READS[0], receipt=s.OTHER), *_READS[1:])), "G522"),
        ("reads_are_as_pinned", s.found(reads=(*_READS, _READS[0])), "G522"),
        ("target_was_as_planned", s.found(action="merge"), "G523"),
        ("target_was_as_planned", s.found(rows_before=11), "G523"),
        ("target_was_as_planned", s.found(rows_before=None), "G523"),
        ("target_was_as_planned", s.found(applied=s.applied("drop", "create")), "G523"),
        ("delta_is_well_formed", s.found(delta=None), "G524"),
        ("delta_is_well_formed", _delta(watermark_nulls=None), "G524"),
        ("delta_is_well_formed", _delta(changed_at_watermark=None), "G524"),
        ("delta_is_well_formed", _delta(watermark_nulls=1), "G532"),
        ("delta_is_well_formed", _delta(key_doubles=1), "G533"),
        ("delta_is_well_formed", _delta(key_nulls=1), "G534"),
        ("delta_is_well_formed", _delta(changed_at_watermark=1), "G535"),
        ("delta_is_well_formed", _delta(lossy_casts=1), "G536"),
        ("delta_is_well_formed", _delta(out_of_range=1), "G537"),
        ("delta_is_well_formed", _delta(conflicting_keys=1), "G538"),
        ("delta_is_well_formed", _shrink(rows_after=0), "G539"),
        ("delta_is_well_formed", _shrink(missing=1), "G539"),
        ("rows_meet_contract", s.found(shape=()), "C301"),
        ("rows_meet_contract", s.found(shape=(Column(name="id", type="INTEGER"), s.COLUMNS[1])), "C303"),
        ("rows_meet_contract", s.found(shape=(*s.COLUMNS, Column(name="x", type="DATE"))), "C302"),
        ("rows_meet_contract", s.found(shape=(*s.COLUMNS, s.COLUMNS[0])), "G525"),
        ("rows_meet_contract", s.found(nulls=()), "G525"),
        ("rows_meet_contract", s.found(nulls=(NullCount(column="id", nulls=1),)), "G525"),
        ("every_check_has_a_verdict", s.found(verdicts=()), "G526"),
        ("every_check_has_a_verdict", s.found(verdicts=(_verdict("unique_id"),)), "G526"),
        ("every_check_has_a_verdict", s.found(verdicts=(_verdict("unique_id"), _verdict("unique_id"), _WARNED)), "G526"),
        ("every_check_has_a_verdict", s.found(verdicts=(_verdict("unique_id"), _WARNED, _verdict("more"))), "G526"),
        ("every_check_has_a_verdict", s.found(verdicts=(unevaluated, _WARNED)), "G526"),
        ("every_check_has_a_verdict", s.found(verdicts=(_verdict("unique_id", failing=None), _WARNED)), "G526"),
        ("every_check_has_a_verdict", s.found(verdicts=(_verdict("unique_id", failing=3), _WARNED)), "G526"),
        (
            "every_check_has_a_verdict",
            s.found(verdicts=(_verdict("unique_id"), replace(_WARNED, outcome="not_evaluated", failing=None))),
            "G526",
        ),
        ("no_error_check_failed", s.found(verdicts=(_verdict("unique_id", outcome="failed", failing=1), _WARNED)), "G527"),
        (
            "no_error_check_failed",
            s.found(verdicts=(_verdict("unique_id", outcome="failed", failing=1, severity="warn"), _WARNED)),
            "G527",
        ),
        ("receipt_is_durable", CommitEvidence(anchor=s.ANCHOR, receipt=RolledBack(body=s.body())), "G531"),
        ("receipt_is_durable", CommitEvidence(anchor=s.ANCHOR, receipt=Found(id=s.RECEIPT, body=s.body(anchor=s.OTHER))), "K731"),
    ]
    checkpoint: list[tuple[str, Evidence, str]] = [
        ("checkpoint_equals_receipt", s.checkpoint(receipt=s.OTHER), "K731"),
        ("checkpoint_equals_receipt", s.checkpoint(token=None), "G541"),
        ("checkpoint_equals_receipt", s.checkpoint(generation=s.OTHER), "G541"),
        ("checkpoint_equals_receipt", s.checkpoint(rows=14), "G541"),
        ("checkpoint_equals_receipt", s.checkpoint(moved=_READS[0]), "G541"),
        ("checkpoint_equals_receipt", s.checkpoint(watermark=s.WATERMARK), "G541"),
        ("checkpoint_equals_receipt", s.checkpoint(digests=Digests(definition="x", promise="p", note="n", environment="e")), "G541"),
    ]
    events = {"verify": verify, "bootstrap": bootstrap, "commit": commit, "checkpoint": checkpoint}
    breaks = [Break(ModelRun, event, guard, evidence, code) for event, rows in events.items() for guard, evidence, code in rows]
    return [*breaks, Break(ModelRun, "refuse", "proof_says_nothing_was_written", s.refuse(proof=None), "G551")]


def _other_breaks() -> list[Break]:
    authority = s.authorize().authority
    difference = Difference(code="P407", subject="raw", planned="a", found="b", remedy="plan again")
    item, end = ScopeItem(model="more", action="create"), ScopeEnd(model="more", state="checkpointed")
    ends = s.close().executed
    run: list[tuple[str, str, Evidence, str]] = [
        ("authorize", "authority_permits", s.authorize(authority=replace(authority, decision="refuse", code="K701")), "K701"),
        ("authorize", "authority_permits", s.authorize(authority=replace(authority, decision="refuse")), "G571"),
        ("authorize", "plan_is_current", s.authorize(differences=(difference,)), "P407"),
        ("authorize", "plan_is_current", s.authorize(differences=(difference, replace(difference, code="P408"))), "P408"),
        ("authorize", "plan_is_unspent", s.authorize(spent_by=("run-0",)), "P403"),
        ("authorize", "plan_is_unspent", s.authorize(spent_by=("run-0",), continues="run-9"), "G573"),
        ("authorize", "plan_is_unspent", s.authorize(continues="run-9"), "G573"),
        ("start", "tables_and_heads_exist", s.start(relations_found=("heads",)), "G574"),
        ("start", "tables_and_heads_exist", s.start(heads_found=()), "G574"),
        ("close", "scope_is_as_planned", s.close(executed=ends[:1]), "G575"),
        ("close", "scope_is_as_planned", s.close(executed=(*ends, end)), "G575"),
        ("close", "scope_is_as_planned", s.close(planned=(*s.close().planned, item), executed=(*ends, end)), "G575"),
        ("close", "scope_is_as_planned", s.close(executed=(ends[0], replace(ends[1], state="committed"))), "G575"),
        ("close", "scope_is_as_planned", s.close(executed=(replace(ends[0], state="checkpointed"), ends[1])), "G575"),
        ("close", "seal_is_durable", s.close(seal=Absent()), "G576"),
        ("close", "seal_is_durable", s.close(seal=replace(s.SEAL, tip=s.OTHER)), "G576"),
        ("close", "seal_is_durable", s.close(seal=replace(s.SEAL, run="run-2"), seal_expected=replace(s.SEAL, run="run-2")), "G576"),
        (
            "close",
            "seal_is_durable",
            s.close(seal=replace(s.SEAL, outcome="succeeded"), seal_expected=replace(s.SEAL, outcome="succeeded")),
            "G576",
        ),
    ]
    plan: list[tuple[str, str, Evidence, str]] = [
        ("compile", "no_finding_is_an_error", s.compiled(findings=(Finding(code="L201", severity="error", summary="no column"),)), "L201"),
        (
            "seal",
            "every_observation_was_read",
            s.sealed(observations=(Observation(question="heads", answer=Unreadable(because="denied")),)),
            "P425",
        ),
    ]
    return [Break(Run, *row) for row in run] + [Break(Plan, *row) for row in plan]


BREAKS: tuple[Break, ...] = (*_model_breaks(), *_other_breaks())
