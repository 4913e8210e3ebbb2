"""Every machine in every state gets every event with every evidence, against a table that was written by hand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.machines import cases, sample
from tests.machines.stand import Book, stand

from interlock.machines.evidence import Evidence
from interlock.machines.guards import HOLDS, Guard
from interlock.machines.machine import Contradiction, Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.table import compile_table, guards_of, requirement_of

MACHINES = tuple(cases.STATES)
EVERY = [(machine, state, event) for machine in MACHINES for state in cases.STATES[machine] for event in cases.EVENTS[machine]]
POSSIBLE = list(cases.TABLE)
AFTER_A_WRITE = {"commit", "checkpoint"}
"""Where evidence of another kind must not even end in `refused`."""


def guards_by_name() -> dict[str, Guard[object]]:
    return {each.name: each for machine in MACHINES for row in compile_table(machine).rows for each in guards_of(machine, row)}


def goes_to(machine: type[Machine], state: str, event: str, evidence: Evidence) -> str:
    """Where a machine goes, after proving that record, answer and machine say the same."""
    book = Book()
    one = stand(machine, state, book)
    try:
        step = one.step(event, evidence)
    except Contradiction:
        assert one.state_name == state
        assert book.lines == []
        return cases.RAISES
    assert book.lines == [step.transition]
    assert (step.transition.source, step.transition.target, step.transition.event) == (state, one.state_name, event)
    assert step.transition.machine == machine.ledger_name
    assert step.transition.evidence is evidence
    return one.state_name


def differences(machine: type[Machine], events: tuple[str, ...]) -> list[str]:
    """Where a machine does other than its hand-written table, over every state, event and evidence that is known."""
    found = []
    for state in cases.STATES[machine]:
        for event in events:
            good, bad = cases.TABLE.get((machine, state, event), (cases.RAISES, cases.RAISES))
            guarded = (machine, state, event) in cases.GUARDS
            expected = [("holds", cases.HOLDS[machine, event](), good)]
            expected += [
                (f"{each.guard} {each.code}", each.evidence, bad if guarded else good)
                for each in cases.BREAKS
                if (each.machine, each.event) == (machine, event)
            ]
            for label, evidence, target in expected:
                if (went := goes_to(machine, state, event, evidence)) != target:
                    found.append(f"{state} {event} ({label}): {went}, not {target}")
    return found


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_does_what_its_table_says_and_nothing_else(machine: type[Machine]) -> None:
    assert differences(machine, cases.EVENTS[machine]) == []


@pytest.mark.parametrize("machine", MACHINES)
def test_states_events_and_guards_are_those_of_the_table(machine: type[Machine]) -> None:
    table = compile_table(machine)
    assert table.states == cases.STATES[machine]
    assert tuple(machine.evidence_types) == cases.EVENTS[machine]
    assert {(machine, row.source, row.event) for row in table.rows} == {key for key in POSSIBLE if key[0] is machine}
    for row in table.rows:
        assert row.guards == cases.GUARDS.get((machine, row.source, row.event), ())


@pytest.mark.parametrize("case", cases.BREAKS, ids=lambda case: f"{case.event}-{case.guard}-{case.code}")
def test_evidence_that_breaks_one_guard_is_refused_by_that_guard_alone(case: cases.Break) -> None:
    state = next(state for machine, state, event in cases.GUARDS if (machine, event) == (case.machine, case.event))
    book = Book()
    one = stand(case.machine, state, book)
    if cases.TABLE[case.machine, state, case.event][1] == cases.RAISES:
        with pytest.raises(Contradiction) as raised:
            one.step(case.event, case.evidence)
        verdicts = raised.value.verdicts
    else:
        verdicts = one.step(case.event, case.evidence).transition.verdicts
    failed = [verdict for verdict in verdicts if verdict.holds == "no" and verdict.guard != "receipt_and_guards_agree"]
    assert {verdict.guard for verdict in failed} == {case.guard}
    assert case.code in {verdict.code for verdict in failed}
    asked = tuple(dict.fromkeys(verdict.guard for verdict in verdicts if verdict.guard != "receipt_and_guards_agree"))
    assert asked == cases.GUARDS[case.machine, state, case.event]
    for verdict in failed:
        assert verdict.because, verdict
        assert verdict.remedy, verdict
        assert verdict.invariant in ("I1", "I2", "I3", "I4")


def test_all_reasons_are_kept() -> None:
    one = stand(ModelRun, "verified", Book())
    evidence = sample.bootstrap(permission="refused", target_seen=sample.MISSING, upstreams=())
    verdicts = one.step("bootstrap", evidence).transition.verdicts
    assert {verdict.guard for verdict in verdicts if verdict.holds == "no"} == set(cases.GUARDS[ModelRun, "verified", "bootstrap"])


@pytest.mark.parametrize(("machine", "state", "event"), list(cases.GUARDS))
def test_a_guard_that_raises_refuses_with_its_error(
    machine: type[Machine], state: str, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(case: object) -> object:
        raise ZeroDivisionError("by a bug")

    good, bad = cases.TABLE[machine, state, event]
    evidence = cases.HOLDS[machine, event]()
    for name in cases.GUARDS[machine, state, event]:
        with monkeypatch.context() as patch:
            patch.setattr(guards_by_name()[name], "ask", raising)
            assert goes_to(machine, state, event, evidence) == bad, name
            one = stand(machine, state, Book())
            verdicts: tuple[object, ...]
            try:
                verdicts = one.step(event, evidence).transition.verdicts
            except Contradiction as contradiction:
                verdicts = contradiction.verdicts
            assert any("ZeroDivisionError: by a bug" in str(verdict) for verdict in verdicts)
    assert goes_to(machine, state, event, evidence) == good


@pytest.mark.parametrize("answer", [None, (), True, "yes", object()], ids=["none", "nothing", "true", "text", "object"])
def test_only_the_one_positive_answer_holds(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    guards = guards_by_name()
    for machine, state, event in cases.GUARDS:
        for name in cases.GUARDS[machine, state, event]:
            with monkeypatch.context() as patch:
                patch.setattr(guards[name], "ask", lambda _: answer)
                assert goes_to(machine, state, event, cases.HOLDS[machine, event]()) == cases.TABLE[machine, state, event][1], name


@pytest.mark.parametrize(("machine", "state", "event"), EVERY)
def test_evidence_of_another_kind_never_goes_forward(machine: type[Machine], state: str, event: str) -> None:
    for other in cases.HOLDS.values():
        evidence = other()
        if isinstance(evidence, machine.evidence_types[event]):
            continue
        expected = cases.TABLE.get((machine, state, event), (cases.RAISES, cases.RAISES))[1]
        if event == "refuse" or event in AFTER_A_WRITE:
            expected = cases.RAISES
        assert goes_to(machine, state, event, evidence) == expected


@pytest.mark.parametrize(("machine", "state", "event"), EVERY)
def test_without_evidence_a_machine_does_not_move(machine: type[Machine], state: str, event: str) -> None:
    no_evidence: tuple[Any, ...] = (None, {}, "evidence", 0)
    for nothing in no_evidence:
        assert goes_to(machine, state, event, nothing) == cases.RAISES


@pytest.mark.parametrize("machine", MACHINES)
def test_only_exact_names_are_events(machine: type[Machine]) -> None:
    names = [f"{event}{tail}" for event in cases.EVENTS[machine] for tail in (".x", " ", "x", ".*")]
    for event in [*names, "", "*", "__initial__", "error.execution", "no_such_event", *cases.STATES[machine], "step"]:
        for state in cases.STATES[machine]:
            assert goes_to(machine, state, event, sample.refuse()) == cases.RAISES


@pytest.mark.parametrize("name", sorted(guards_by_name()))
def test_without_any_one_guard_the_table_is_not_met(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards_by_name()[name], "ask", lambda _: HOLDS)
    machine, event = next((machine, event) for (machine, _, event), guards in cases.GUARDS.items() if name in guards)
    assert differences(machine, (event,)) != []


@pytest.mark.parametrize("machine", MACHINES)
def test_the_plain_table_equals_the_class(machine: type[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    table = compile_table(machine)
    for state in cases.STATES[machine]:
        for event in cases.EVENTS[machine]:
            row = table.row(state, event)
            names = row.guards if row is not None else ()
            for failing in (None, *names):
                guards = guards_by_name()
                with monkeypatch.context() as patch:
                    if failing is not None:
                        patch.setattr(guards[failing], "ask", lambda _: None)
                    went = goes_to(machine, state, event, cases.HOLDS[machine, event]())
                answer = table.answer(state, event, holds=failing is None)
                assert went == (answer or cases.RAISES), (state, event, failing)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_plain_table_gives_the_verdicts_of_the_class(machine: type[Machine]) -> None:
    for case in cases.BREAKS:
        if case.machine is not machine:
            continue
        for row in compile_table(machine).rows:
            if row.event == case.event and row.requirement is not None:
                one = stand(machine, row.source, Book())
                try:
                    verdicts = one.step(case.event, case.evidence).transition.verdicts
                except Contradiction as contradiction:
                    verdicts = contradiction.verdicts
                again = stand(machine, row.source, Book())
                assert requirement_of(machine, row.requirement).judge(again.case(case.event, case.evidence)) == verdicts
