"""Permits come from machines in the right state, and from nowhere else."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.machines import cases, sample
from tests.machines.stand import Book, model_run, stand

from interlock.machines import permits
from interlock.machines.evidence import (
    AcceptEvidence,
    AuthorityFinding,
    CheckPin,
    CommitEvidence,
    CompactEvidence,
    Evidence,
    Found,
    GenesisEvidence,
    Proposed,
    ResetEvidence,
    ScopeEnd,
    TornEvidence,
    Transition,
    Verdict,
)
from interlock.machines.machine import Contradiction
from interlock.machines.model_run import ModelRun
from interlock.machines.permits import ActPermit, CommitPermit, PermitDenied, PreparePermit, SealPermit, WritePermit, act_permit
from interlock.machines.publication import PUBLICATION_NAMES
from interlock.machines.records import digest_of
from interlock.machines.run import Run

ROOT = Path(__file__).resolve().parents[2]
NONE: frozenset[str] = frozenset()
MAKERS: list[Callable[[Any], object]] = [
    lambda key: WritePermit(model="m", anchor="a", plan="p", statements=NONE, key=key),
    lambda key: CommitPermit(anchor="a", receipt="r", key=key),
    lambda key: PreparePermit(run="r", statements=NONE, key=key),
    lambda key: SealPermit(run="r", statements=NONE, key=key),
    lambda key: ActPermit(act="reset", record="r", statements=NONE, key=key),
]
PERMITS = [make(permits._KEY) for make in MAKERS]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("key", [None, object(), permits._Key(), True, "key"], ids=["none", "object", "other_key", "true", "text"])
def test_a_permit_cannot_be_made_without_the_key(make: Callable[[Any], object], key: object) -> None:
    with pytest.raises(PermitDenied):
        make(key)


@pytest.mark.parametrize("permit", PERMITS, ids=lambda permit: type(permit).__name__)
def test_a_permit_cannot_be_changed_into_another(permit: Any) -> None:
    name = dataclasses.fields(permit)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(permit, name, "other")
    with pytest.raises((PermitDenied, ValueError, TypeError)):
        dataclasses.replace(permit, **{name: "other"})
    with pytest.raises((PermitDenied, ValueError, TypeError)):
        dataclasses.replace(permit, **{name: "other", "key": None})
    for way_around in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PermitDenied):
            way_around(permit)


def test_nobody_outside_machines_touches_the_key() -> None:
    for path in (ROOT / "engine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("interlock.machines"):
                names = [each.name for each in node.names]
            elif isinstance(node, ast.Attribute):
                names = [node.attr]
            assert "_KEY" not in names, path
            assert "_Key" not in names, path


def test_a_write_is_permitted_in_bootstrapping_and_nowhere_else() -> None:
    for state in cases.STATES[ModelRun]:
        one = model_run(state, Book())
        if state == "bootstrapping":
            permit = one.write_permit()
            assert (permit.model, permit.anchor, permit.plan) == ("orders", sample.ANCHOR, "plan")
            assert permit.statements == frozenset(sample.bootstrap().statements)
            assert one.write_permit() == permit, "good for several tries"
        else:
            with pytest.raises(PermitDenied, match=state):
                one.write_permit()


def test_a_commit_is_permitted_in_bootstrapping_and_nowhere_else() -> None:
    for state in cases.STATES[ModelRun]:
        one = model_run(state, Book())
        if state == "bootstrapping":
            assert isinstance(one.publication_is_permitted(sample.body()), CommitPermit)
        else:
            with pytest.raises(PermitDenied, match=state):
                one.publication_is_permitted(sample.body())


def test_the_permit_to_commit_names_the_receipt_and_leaves_no_record() -> None:
    book = Book()
    one = model_run("bootstrapping", book)
    permit = one.publication_is_permitted(sample.body())
    assert isinstance(permit, CommitPermit)
    assert permit.receipt == digest_of("receipt", sample.body())
    assert permit.anchor == sample.ANCHOR
    assert one.state_name == "bootstrapping"
    assert book.lines == []


BODIES = [case for case in cases.BREAKS if case.event == "commit" and case.guard != "receipt_is_durable"]


@pytest.mark.parametrize("case", BODIES, ids=lambda case: f"{case.guard}-{case.code}")
def test_the_permit_asks_what_commit_will_ask(case: cases.Break) -> None:
    assert isinstance(case.evidence, CommitEvidence)
    assert isinstance(case.evidence.receipt, Found)
    answer = model_run("bootstrapping", Book()).publication_is_permitted(case.evidence.receipt.body)
    assert isinstance(answer, tuple)
    assert {verdict.guard for verdict in answer if verdict.holds == "no"} == {case.guard}
    step = model_run("bootstrapping", Book()).step("commit", case.evidence)
    later = [verdict for verdict in step.transition.verdicts if verdict.guard not in ("receipt_is_durable", "receipt_and_guards_agree")]
    assert list(answer) == later


def test_a_receipt_of_another_attempt_is_not_committed() -> None:
    answer = model_run("bootstrapping", Book()).publication_is_permitted(sample.body(anchor=sample.OTHER))
    assert isinstance(answer, tuple)
    assert [verdict.code for verdict in answer if verdict.holds == "no"] == ["K731"]


def test_an_attempt_that_pinned_fewer_guards_is_held_to_all_of_todays() -> None:
    one = model_run("bootstrapping", Book(), sample.bootstrap(guards=()))
    assert isinstance(one.publication_is_permitted(sample.body()), CommitPermit)
    answer = one.publication_is_permitted(sample.body(previous=None))
    assert isinstance(answer, tuple)
    assert {verdict.guard for verdict in answer if verdict.holds == "no"} == {"head_is_as_expected"}


def test_a_guard_that_this_version_does_not_know_refuses() -> None:
    pinned = sample.bootstrap(guards=(*PUBLICATION_NAMES, "moon_is_full"))
    answer = model_run("bootstrapping", Book(), pinned).publication_is_permitted(sample.body())
    assert isinstance(answer, tuple)
    assert [(verdict.guard, verdict.code) for verdict in answer if verdict.holds == "no"] == [("moon_is_full", "K744")]
    one = model_run("bootstrapping", Book(), pinned)
    assert one.step("commit", sample.found()).transition.target == "refused"


def test_the_anchor_is_the_digest_of_the_bootstrap_record() -> None:
    one = ModelRun("orders#1", lambda transition: digest_of("record", transition))
    one.step("verify", sample.verify())
    assert not one.anchor
    step = one.step("bootstrap", sample.bootstrap())
    assert one.anchor == step.record == digest_of("record", step.transition)
    assert one.pinned == sample.bootstrap()


def test_a_refused_bootstrap_leaves_no_anchor_and_no_permit() -> None:
    one = ModelRun("orders#1", Book(), state="verified")
    one.step("bootstrap", sample.bootstrap(permission="refused"))
    assert one.state_name == "refused"
    assert one.anchor is None
    with pytest.raises(PermitDenied):
        one.write_permit()


def test_a_proposed_receipt_reaches_no_record() -> None:
    book = Book()
    one = model_run("bootstrapping", book)
    with pytest.raises(Contradiction, match="proposed"):
        one.step("commit", CommitEvidence(anchor=sample.ANCHOR, receipt=Proposed(body=sample.body())))
    assert one.state_name == "bootstrapping"
    assert book.lines == []


def test_evidence_of_another_attempt_moves_nothing() -> None:
    one = model_run("bootstrapping", Book())
    with pytest.raises(Contradiction, match="whose anchor is"):
        one.step("commit", CommitEvidence(anchor=sample.OTHER, receipt=Found(id="r", body=sample.body(anchor=sample.OTHER))))
    assert one.state_name == "bootstrapping"


def test_preparing_is_permitted_to_an_authorized_run_and_nowhere_else() -> None:
    for state in cases.STATES[Run]:
        one = stand(Run, state, Book())
        assert isinstance(one, Run)
        if state == "authorized":
            assert one.prepare_permit(["s"]).statements == frozenset({"s"})
        else:
            with pytest.raises(PermitDenied, match=state):
                one.prepare_permit(["s"])


def test_a_seal_is_permitted_to_a_running_run_whose_models_have_all_ended() -> None:
    ends = (ScopeEnd(model="orders", state="refused"), ScopeEnd(model="stg", state="checkpointed"))
    for state in cases.STATES[Run]:
        one = stand(Run, state, Book())
        assert isinstance(one, Run)
        if state == "running":
            permit = one.seal_permit(["s"], ends)
            assert (permit.run, permit.statements) == ("run-1", frozenset({"s"}))
            for wrong in (ends[:1], (), (*ends, ends[0]), (ends[0], ScopeEnd(model="other", state="refused"))):
                with pytest.raises(PermitDenied, match="differ"):
                    one.seal_permit(["s"], wrong)
            for still in ("planned", "verified", "bootstrapping", "committed", ""):
                with pytest.raises(PermitDenied, match="not ended: stg"):
                    one.seal_permit(["s"], (ends[0], replace(ends[1], state=still)))
        else:
            with pytest.raises(PermitDenied, match=state):
                one.seal_permit(["s"], ends)


FINDING = AuthorityFinding(row="A", ledger="", identity="", heads="", decision="refuse", code="K701", because="", remedy="")
ACTS: list[tuple[Evidence, str]] = [
    (GenesisEvidence(project="p", target="dev", ledger="l", warehouse="w"), "genesis"),
    (AcceptEvidence(project="p", ledger="l", warehouse="w", found=FINDING, heads=(), settled=(), reason="r"), "accept_warehouse"),
    (ResetEvidence(project="p", target="dev", relations=(), reason="r"), "reset"),
    (CompactEvidence(project="p", removed=1, kept=1, standing=(), reason="r"), "compact_receipts"),
]


def _recorded(evidence: Evidence, machine: str = "ledger") -> Transition:
    return Transition(machine=machine, subject="p", event="e", source="", target="", verdicts=(), evidence=evidence)


def test_an_act_is_permitted_by_its_own_record() -> None:
    for evidence, act in ACTS:
        permit = act_permit(_recorded(evidence), sample.ANCHOR, ["s"])
        assert (permit.act, permit.record, permit.statements) == (act, sample.ANCHOR, frozenset({"s"}))
        with pytest.raises(PermitDenied):
            act_permit(_recorded(evidence), "no digest", ["s"])
        with pytest.raises(PermitDenied):
            act_permit(_recorded(evidence, "run"), sample.ANCHOR, ["s"])


def test_no_other_record_permits_an_act() -> None:
    for evidence in (TornEvidence(bytes=1, kept_as="torn-1", sha256="s"), *(make() for make in cases.HOLDS.values())):
        with pytest.raises(PermitDenied):
            act_permit(_recorded(evidence), sample.ANCHOR, [])


def test_a_receipt_beside_a_refusal_is_called_a_contradiction_first() -> None:
    for case in BODIES:
        step = model_run("bootstrapping", Book()).step("commit", case.evidence)
        first: Verdict = step.transition.verdicts[0]
        assert (first.guard, first.code) == ("receipt_and_guards_agree", "K732")
        assert case.guard in first.because
    step = model_run("committed", Book()).step("checkpoint", sample.checkpoint(receipt=sample.OTHER))
    assert step.transition.verdicts[0].code == "K731"


def test_a_check_cannot_be_pinned_twice() -> None:
    twice = sample.bootstrap(checks=(*sample.bootstrap().checks, CheckPin(check="fresh", severity="warn")))
    answer = model_run("bootstrapping", Book(), twice).publication_is_permitted(sample.body())
    assert isinstance(answer, tuple)
    assert {verdict.code for verdict in answer if verdict.holds == "no"} == {"G526"}
