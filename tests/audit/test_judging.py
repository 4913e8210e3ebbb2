"""Records that are chained as they should be, and lie: replay computes verdicts again and believes none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.audit.forge import Forge, history, replayed
from tests.machines import cases, sample
from tests.machines.stand import Book, stand

from interlock.engine.audit.judge import MACHINES, ROWS, _case
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.subjects import AttemptFold, RunFold
from interlock.machines.evidence import (
    CommitEvidence,
    Entry,
    Evidence,
    Found,
    RolledBack,
)
from interlock.machines.guards import all_hold
from interlock.machines.machine import Contradiction, Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.records import digest_of
from interlock.machines.table import requirement_of

LIES_AT = 25
"""Records before this one are told as they were."""


def lying(event: str, change: Callable[[Entry], Entry]) -> Forge:
    """A ledger in which the first such record behind some others is changed before it is chained."""
    told: list[int] = []

    def lie(entry: Entry) -> Entry:
        if entry.sequence >= LIES_AT and entry.event == event and not told:
            told.append(entry.sequence)
            return change(entry)
        return entry

    forge = history(60, models=4, lie=lie)
    assert told
    return forge


def with_evidence(change: Callable[[Evidence], Evidence]) -> Callable[[Entry], Entry]:
    return lambda entry: replace(entry, evidence=change(entry.evidence))


def in_body(**changes: object) -> Callable[[Entry], Entry]:
    """Change the receipt's body and give it the id that it then has: a forged receipt."""

    def change(entry: Entry) -> Entry:
        assert isinstance(entry.evidence, CommitEvidence)
        assert isinstance(entry.evidence.receipt, Found)
        body = replace(entry.evidence.receipt.body, **changes)
        return replace(entry, evidence=replace(entry.evidence, receipt=Found(id=digest_of("receipt", body), body=body)))

    return change


def found_to_rolled_back(entry: Entry) -> Entry:
    assert isinstance(entry.evidence, CommitEvidence)
    assert isinstance(entry.evidence.receipt, Found)
    return replace(entry, evidence=replace(entry.evidence, receipt=RolledBack(body=entry.evidence.receipt.body)))


def holds_no_more(entry: Entry) -> Entry:
    first = replace(entry.verdicts[0], holds="no", code="G521", invariant="I3", because="so it is said", remedy="none")
    return replace(entry, verdicts=(first, *entry.verdicts[1:]))


LIES: dict[str, tuple[str, Callable[[Entry], Entry], str]] = {
    "a verdict that refuses is told as one that holds": ("commit", holds_no_more, "contradicts"),
    "a guard was not asked": ("commit", lambda entry: replace(entry, verdicts=entry.verdicts[1:]), "contradicts"),
    "a refusal is told as a success": (
        "verify",
        with_evidence(lambda evidence: replace(evidence, item_found="other")),  # type: ignore[type-var]
        "contradicts",
    ),
    "a success is told as a refusal": ("verify", lambda entry: replace(entry, target="refused"), "contradicts"),
    "a rolled back write is told as committed": ("commit", found_to_rolled_back, "contradicts"),
    "a receipt of another attempt": ("commit", in_body(anchor="f" * 64), "contradicts"),
    "a receipt that follows another one": ("commit", in_body(previous="f" * 64), "contradicts"),
    "a receipt whose id is not its body's": (
        "commit",
        lambda entry: replace(entry, evidence=replace(entry.evidence, receipt=replace(entry.evidence.receipt, id="f" * 64))),  # type: ignore[type-var, union-attr]
        "contradicts",
    ),
    "a head that this ledger never left": (
        "bootstrap",
        lambda entry: replace(
            entry,
            evidence=replace(  # type: ignore[type-var]
                entry.evidence,
                head=replace(entry.evidence.head, receipt="f" * 64),  # type: ignore[union-attr]
                head_seen=replace(entry.evidence.head_seen, receipt="f" * 64),  # type: ignore[union-attr]
            ),
        ),
        "unexplained",
    ),
    "an action that was not authorized": ("bootstrap", with_evidence(lambda evidence: replace(evidence, action="replace")), "contradicts"),  # type: ignore[type-var]
    "another attempt's number": ("bootstrap", with_evidence(lambda evidence: replace(evidence, attempt=7)), "contradicts"),  # type: ignore[type-var]
    "a model that is not in the scope": ("verify", lambda entry: replace(entry, subject="stranger#1"), "unexplained"),
    "a step that its machine does not have": ("verify", lambda entry: replace(entry, target="committed"), "illegal"),
    "evidence of another event": ("start", lambda entry: replace(entry, event="close"), "illegal"),
    "a run that was spent before": ("authorize", with_evidence(lambda evidence: replace(evidence, spent_by=("run-9",))), "contradicts"),  # type: ignore[type-var]
    "an end that a model did not have": (
        "close",
        with_evidence(lambda evidence: replace(evidence, executed=(replace(evidence.executed[0], state="no_op"), *evidence.executed[1:]))),  # type: ignore[type-var, union-attr]
        "contradicts",
    ),
    "a seal of other heads": (
        "close",
        with_evidence(
            lambda evidence: replace(  # type: ignore[type-var]
                evidence,
                seal=replace(evidence.seal, heads="f" * 64),  # type: ignore[union-attr]
                seal_expected=replace(evidence.seal_expected, heads="f" * 64),  # type: ignore[union-attr]
            )
        ),
        "unexplained",
    ),
    "a seal whose tip is no record": (
        "close",
        with_evidence(
            lambda evidence: replace(  # type: ignore[type-var]
                evidence,
                seal=replace(evidence.seal, tip="f" * 64),  # type: ignore[union-attr]
                seal_expected=replace(evidence.seal_expected, tip="f" * 64),  # type: ignore[union-attr]
            )
        ),
        "unexplained",
    ),
    "a guard that this release does not know": (
        "bootstrap",
        with_evidence(lambda evidence: replace(evidence, guards=(*evidence.guards, "stars_are_right"))),  # type: ignore[type-var, union-attr]
        "unexplained",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_found_at_its_record_though_the_chain_holds(name: str) -> None:
    event, change, kind = LIES[name]
    found = replayed(lying(event, change).data)
    assert found.trust == "whole", found.flaws
    assert found.law == "broken"
    assert kind in {flaw.kind for flaw in found.flaws}, found.flaws
    assert min(flaw.sequence for flaw in found.flaws) >= LIES_AT


def test_words_of_a_reason_may_be_better_in_a_later_release() -> None:
    def reworded(entry: Entry) -> Entry:
        return replace(entry, verdicts=tuple(replace(each, because="in other words") if each.because else each for each in entry.verdicts))

    assert replayed(lying("commit", reworded).data).flaws == ()


def facts(machine: type[Machine], state: str) -> Fold:
    """What a fold knows where the machine stands, as in `stand`."""
    fold = Fold()
    run = RunFold(
        run="run-1", state=state, opened="", opened_sequence=1, by=None, actor="", version="", plan="plan", authorize=sample.authorize()
    )
    fold.runs["run-1"] = run
    if machine is ModelRun:
        attempt = AttemptFold(run="run-1", model="orders", subject="orders#1", state=state, started="", anchor=sample.ANCHOR)
        attempt.bootstrap, attempt.commit = sample.bootstrap(), sample.found()
        run.attempts["orders"] = attempt
    return fold


@pytest.mark.parametrize("machine", list(MACHINES.values()))
def test_table_and_class_say_the_same_of_every_state_event_and_evidence(machine: type[Machine]) -> None:
    asked = 0
    for state in cases.STATES[machine]:
        for event in cases.EVENTS[machine]:
            kinds = [
                cases.HOLDS[machine, event](),
                *(each.evidence for each in cases.BREAKS if (each.machine, each.event) == (machine, event)),
            ]
            for evidence in kinds:
                one = stand(machine, state, Book())
                subject = "orders#1" if machine is ModelRun else "run-1"
                entry = Entry(
                    sequence=1, parent="", time="", run="run-1", by=None, machine=machine.ledger_name, subject=subject, event=event,
                    source=state, target="", verdicts=(), evidence=evidence, actor="", version="",
                )  # fmt: skip
                row = ROWS.get((machine.ledger_name, state, event))
                verdicts = (
                    requirement_of(machine, row.requirement).judge(_case(facts(machine, state), entry)) if row and row.requirement else ()
                )
                if row is None or (row.requirement and row.fallback is None and not all_hold(verdicts)):
                    with pytest.raises(Contradiction) as raised:
                        one.step(event, evidence)
                    assert raised.value.verdicts == verdicts
                    continue
                moved = one.step(event, evidence).transition
                assert verdicts == moved.verdicts
                assert (row.target if row.requirement is None or all_hold(verdicts) else row.fallback) == moved.target
                asked += 1
    assert asked > 20
