"""What follows from a ledger, and that no order which a machine cannot make is read as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.chains import DIGESTS, GENESIS, KNOWN, Story, authorize, begin, body, bootstrap, move, seal, twenty_records, verify

from interlock.engine.ledger.fold import MOVES, Fold, Illegal
from interlock.engine.ledger.lines import Numbered
from interlock.engine.ledger.reader import LedgerBroken, LedgerWhole, entries, read
from interlock.engine.ledger.writer import own
from interlock.machines.evidence import (
    AcceptEvidence,
    CheckpointEvidence,
    CommitEvidence,
    Found,
    Head,
    HeadTaken,
    Read,
    RefuseEvidence,
    ResetEvidence,
    RolledBack,
    Verdict,
)
from interlock.machines.machine import Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.records import digest_of
from interlock.machines.run import Run
from interlock.machines.table import compile_table


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(begin(tmp_path))


@pytest.fixture
def fold(tmp_path: Path) -> Callable[[], Fold]:
    def now() -> Fold:
        found = read(tmp_path)
        assert isinstance(found, LedgerWhole), found
        return found.fold

    return now


def test_a_new_ledger_says_whose_it_is_and_that_nothing_was_written(story: Story, fold: Callable[[], Fold]) -> None:
    assert story.ledger.sequence == 1
    now = fold()
    assert (now.project, now.ledger, now.warehouse) == ("p1", "l1", "w1")
    assert (now.wrote, now.serial, now.runs, now.models, now.open, now.head("orders")) == (False, 0, {}, {}, {}, Head())


def test_a_whole_run(story: Story, fold: Callable[[], Fold]) -> None:
    story.open("r1", "plan1", "orders")
    assert list(fold().open) == ["r1"]
    assert fold().spent_by("plan1") == (), "a plan is spent when its run enters `running`"
    story.start("r1")
    assert fold().spent_by("plan1") == ("r1",)
    story.verified("r1", "plan1", "orders")
    assert not fold().wrote
    anchor = story.ledger.append(move("model_run", "orders#1", "bootstrap", "verified", "bootstrapping", bootstrap("plan1")), run="r1")
    open_ = fold()
    attempt = open_.anchors[anchor]
    assert open_.wrote
    assert (attempt.state, attempt.bootstrap, attempt.action, attempt.is_over) == ("bootstrapping", bootstrap("plan1"), "create", False)
    assert open_.open["r1"].open_attempts == (attempt,)
    receipt = story.found("r1", "plan1", "orders", anchor)
    attempt = fold().anchors[anchor]
    assert (attempt.state, attempt.receipt, attempt.rows_written) == ("committed", receipt, 3)
    assert isinstance(attempt.commit, CommitEvidence)
    assert fold().head("orders") == Head(), "a head is the ledger's word only from the checkpoint on"
    story.checkpoint("r1", "orders", receipt)
    now = fold()
    assert now.head("orders") == Head(receipt=receipt, token="t", generation="g", rows=3)
    attempt = now.anchors[anchor]
    assert (attempt.state, attempt.receipt, attempt.bootstrap, attempt.commit) == ("checkpointed", receipt, None, None)
    assert now.models["orders"].receipts == {receipt}
    assert now.checkpointed_by("plan1") == {"orders": receipt}
    tip = story.ledger.tip
    assert now.since_close[tip] == now.sequence
    story.closed("r1", 1)
    now = fold()
    assert (now.serial, now.closed, now.open, now.runs["r1"].state) == (1, 1, {}, "closed")
    assert now.seal is not None
    assert now.seal.tip == tip
    assert list(now.since_close) == [now.tip]
    last = now.models["orders"].last
    assert last is not None
    assert (last.how, last.run, last.digests) == ("checkpoint", "r1", DIGESTS)


def test_a_crash_leaves_runs_and_attempts_open_and_recovery_names_who_wrote(story: Story, fold: Callable[[], Fold]) -> None:
    story.open("r1", "plan1", "orders", "customers")
    story.start("r1")
    anchor = story.bootstrapped("r1", "plan1", "orders")
    story.bootstrapped("r1", "plan1", "customers")
    assert {attempt.model for attempt in fold().open["r1"].open_attempts} == {"orders", "customers"}
    receipt = story.found("r1", "plan1", "orders", anchor, by="r2")
    story.checkpoint("r1", "orders", receipt, by="r2")
    story.refused("r1", "customers", "bootstrapping", by="r2")
    story.refused("r1", "payments", "planned", by="r2")
    story.closed("r1", 1, by="r2")
    now = fold()
    assert (now.open, now.contradictions) == ({}, [])
    attempt = now.runs["r1"].attempts["customers"]
    assert (attempt.state, attempt.by, attempt.receipt) == ("refused", "r2", None)
    assert attempt.refusal is not None
    assert (attempt.refusal.cause, attempt.refusal.code) == ("crash", "G563")
    assert now.attempt_number("plan1", "customers") == 2
    assert now.attempt_number("plan1", "nobody") == now.attempt_number("plan2", "customers") == 1


def test_a_plan_may_be_continued_and_its_attempts_are_counted_over_its_runs(story: Story, fold: Callable[[], Fold]) -> None:
    for number, run in enumerate(("r1", "r2"), start=1):
        story.open(run, "plan1", "orders", continues="r1" if number > 1 else None)
        story.start(run)
        story.bootstrapped(run, "plan1", "orders", number)
        story.refused(run, "orders", "bootstrapping", number)
        story.closed(run, number)
    now = fold()
    assert now.spent_by("plan1") == ("r1", "r2")
    assert now.attempt_number("plan1", "orders") == 3
    assert now.models["orders"].attempt is now.runs["r2"].attempts["orders"]


def test_a_run_that_was_refused_before_it_ran_spends_nothing(story: Story, fold: Callable[[], Fold]) -> None:
    stale = Verdict(guard="plan_is_current", holds="no", invariant="I1", code="P406", because="orders moved", remedy="plan again")
    story.ledger.append(move("run", "r1", "authorize", "opened", "refused", authorize("plan1", "orders"), failing=(stale,)), run="r1")
    story.open("r2", "plan1", "orders")
    story.ledger.append(
        move("run", "r2", "refuse", "authorized", "refused", RefuseEvidence(cause="crash", code="G563", because="", remedy="", proof=None)),
        run="r2",
    )
    now = fold()
    assert (now.open, now.spent_by("plan1"), now.serial) == ({}, (), 0)
    refusal = now.runs["r1"].refusal
    assert refusal is not None
    assert (refusal.code, refusal.because, refusal.cause, refusal.verdicts) == ("P406", "orders moved", "guard", (stale,))


def test_a_refusal_that_names_a_receipt_is_a_contradiction_until_the_warehouse_is_accepted(story: Story, fold: Callable[[], Fold]) -> None:
    failing = Verdict(guard="receipt_is_durable", holds="no", code="K731", because="of another attempt", remedy="look")
    story.open("r1", "plan1", "a", "b", "c", "d")
    story.start("r1")
    anchor = story.bootstrapped("r1", "plan1", "a")
    told = body("a", "another", "plan1")
    receipt = digest_of("receipt", told)
    evidence = CommitEvidence(anchor=anchor, receipt=Found(id=receipt, body=told))
    story.ledger.append(move("model_run", "a#1", "commit", "bootstrapping", "refused", evidence, failing=(failing,)), run="r1")
    found = story.committed("r1", "plan1", "b")
    other = CheckpointEvidence(receipt="other", token=None, generation=None, rows=1, watermark=None, digests=DIGESTS)
    story.ledger.append(move("model_run", "b#1", "checkpoint", "committed", "refused", other, failing=(failing,)), run="r1")
    anchor = story.bootstrapped("r1", "plan1", "c")
    rolled_back = CommitEvidence(anchor=anchor, receipt=RolledBack(body=body("c", anchor, "plan1")))
    story.ledger.append(move("model_run", "c#1", "commit", "bootstrapping", "refused", rolled_back, failing=(failing,)), run="r1")
    story.checkpointed("r1", "plan1", "d")
    now = fold()
    assert [(item.model, item.receipt, item.refusal.code) for item in now.contradictions] == [
        ("a", receipt, "K731"),
        ("b", "other", "K731"),
    ]
    assert now.models["b"].receipts == {found, "other"}
    assert now.models["c"].receipts == set(), "what was rolled back is no receipt"

    head = Head(receipt="taken", token="t9", rows=7)
    accept = AcceptEvidence(
        project="p1",
        ledger="l1",
        warehouse="w2",
        found=KNOWN,
        heads=(HeadTaken(model="a", head=head, digests=None), HeadTaken(model="b", head=Head(), digests=None)),
        settled=("r1",),
        reason="restored a backup",
    )
    story.ledger.append(own("p1", accept), run=None)
    now = fold()
    assert (now.contradictions, now.open, now.anchors, now.warehouse) == ([], {}, {}, "w2")
    assert (now.head("a"), now.head("b"), now.head("d")) == (head, Head(), Head()), "each head is what was accepted, or none"
    assert "taken" in now.models["a"].receipts
    assert receipt in now.models["a"].receipts, "what was ever named stays known"
    settled = now.runs["r1"].settled
    assert settled is not None
    assert settled.sequence == now.sequence
    story.open("r2", "plan2", "a")
    assert list(fold().open) == ["r2"]


def test_a_rename_leaves_a_receipt_and_no_token_on_the_old_head(story: Story, fold: Callable[[], Fold]) -> None:
    story.open("r1", "plan1", "old")
    story.start("r1")
    story.checkpointed("r1", "plan1", "old")
    story.committed("r1", "plan1", "new")
    moved = CheckpointEvidence(
        receipt="new-receipt",
        token="t",
        generation="g",
        rows=3,
        watermark=None,
        digests=DIGESTS,
        moved=Read(model="old", receipt="left"),
    )
    story.ledger.append(move("model_run", "new#1", "checkpoint", "committed", "checkpointed", moved), run="r1")
    assert fold().head("old") == Head(receipt="left", generation="g"), "its rows are the new one's, whose attempt changed them last"
    assert fold().head("new").receipt == "new-receipt"
    assert "left" in fold().models["old"].receipts


def test_a_reset_is_seen_until_the_ledger_is_set_aside(story: Story, fold: Callable[[], Fold]) -> None:
    reset = ResetEvidence(project="p1", target="dev", relations=("main.orders",), reason="start over")
    story.ledger.append(own("p1", reset), run=None)
    assert fold().reset == reset


CHECKPOINT = CheckpointEvidence(receipt="x", token=None, generation=None, rows=1, watermark=None, digests=DIGESTS)
ILLEGAL = {
    "was not `planned`": lambda story: story.verified("r1", "plan1", "done"),
    "was not `bootstrapping`": lambda story: story.ledger.append(
        move("model_run", "open#1", "commit", "bootstrapping", "committed", CommitEvidence(anchor="a", receipt=RolledBack(body=None))),
        run="r1",
    ),
    "anchor of another": lambda story: story.ledger.append(
        move("model_run", "boot#1", "commit", "bootstrapping", "committed", CommitEvidence(anchor="a", receipt=RolledBack(body=None))),
        run="r1",
    ),
    "does not lead": lambda story: story.ledger.append(
        move("model_run", "open#1", "verify", "verified", "bootstrapping", verify("p")), run="r1"
    ),
    "its evidence is not": lambda story: story.ledger.append(
        move("model_run", "open#1", "bootstrap", "verified", "bootstrapping", verify("p")), run="r1"
    ),
    "has no event": lambda story: story.ledger.append(move("model_run", "open#1", "retry", "verified", "planned", verify("p")), run="r1"),
    "`plan` has no event": lambda story: story.ledger.append(move("plan", "p", "compile", "drafted", "compiled", verify("p")), run=None),
    "its run is not running": lambda story: story.verified("nobody", "plan1", "a"),
    "another attempt": lambda story: story.ledger.append(
        move("model_run", "open#2", "verify", "planned", "verified", verify("p")), run="r1"
    ),
    "not `model#attempt`": lambda story: story.ledger.append(
        move("model_run", "open", "verify", "planned", "verified", verify("p")), run="r1"
    ),
    "names another run": lambda story: story.ledger.append(
        move("run", "r3", "authorize", "opened", "authorized", authorize("p")), run="r1"
    ),
    "was not `opened`": lambda story: story.open("r1", "plan1"),
    "was not `running`": lambda story: story.ledger.append(move("run", "r9", "close", "running", "closed", seal("r9", 1, "")), run="r9"),
    "genesis is the first": lambda story: story.ledger.append(own("p1", GENESIS), run=None),
    "which is not open": lambda story: story.ledger.append(
        own(
            "p1",
            AcceptEvidence(project="p1", ledger="l1", warehouse="w1", found=KNOWN, heads=(), settled=("r0",), reason=""),
        ),
        run=None,
    ),
}


@pytest.mark.parametrize("because", ILLEGAL)
def test_what_no_machine_can_have_written_is_broken_with_its_reason(because: str, story: Story, tmp_path: Path) -> None:
    story.open("r0", "plan0")
    story.start("r0")
    story.closed("r0", 1)
    story.open("r1", "plan1", "done", "open", "boot")
    story.start("r1")
    story.checkpointed("r1", "plan1", "done")
    story.verified("r1", "plan1", "open")
    story.bootstrapped("r1", "plan1", "boot")
    before = story.ledger.sequence
    ILLEGAL[because](story)
    found = read(tmp_path)
    assert isinstance(found, LedgerBroken), found
    assert found.sequence == before + 1
    assert because in found.because


def test_a_record_of_a_run_that_is_over_is_broken(story: Story, tmp_path: Path) -> None:
    story.open("r1", "plan1", "a")
    story.start("r1")
    story.closed("r1", 1)
    story.verified("r1", "plan1", "a")
    assert isinstance(read(tmp_path), LedgerBroken)


def test_a_refused_record_changes_nothing(tmp_path: Path) -> None:
    twenty_records(tmp_path)
    records = list(entries(tmp_path))
    fold = Fold()
    for position, read_ in enumerate(records):
        for wrong in (records[0], records[-1], records[(position + 1) % len(records)]):
            if wrong is not read_:
                before = state_of(fold)
                with pytest.raises(Illegal):
                    fold.feed(*wrong)
                assert state_of(fold) == before
        fold.feed(*read_)


def state_of(fold: Fold) -> str:
    return repr({name: value for name, value in vars(fold).items() if name != "_shared"})


def test_the_same_records_give_the_same_facts_whenever_they_are_read(tmp_path: Path) -> None:
    twenty_records(tmp_path)
    records = list(entries(tmp_path))
    folds = [Fold(), Fold()]
    for read_ in records:
        for fold in folds:
            fold.feed(*read_)
        assert state_of(folds[0]) == state_of(folds[1])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_order_of_events_in_an_attempt_is_the_machines(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any walk of (event, source, target) is taken exactly as far as each source is where the last move led."""
    ledger = begin(tmp_path_factory.mktemp("walk"))
    story = Story(ledger)
    story.open("r1", "plan1", "a")
    story.start("r1")
    fold = Fold()
    for read_ in entries(ledger._directory):
        fold.feed(*read_)
    ledger.close()
    evidence = {
        "verify": verify("plan1"),
        "bootstrap": bootstrap("plan1"),
        "checkpoint": CHECKPOINT,
        "refuse": RefuseEvidence(cause="crash", code="", because="", remedy="", proof=None),
    }
    moves = [(event, source, target) for event, (_, pairs) in sorted(MOVES["model_run"].items()) for source, target in sorted(pairs)]
    last = list(entries(ledger._directory))[-1].entry
    state, anchor = "planned", "none"
    for event, source, target in data.draw(st.lists(st.sampled_from(moves), max_size=12)):
        told = evidence.get(event) or CommitEvidence(anchor=anchor, receipt=RolledBack(body=None))
        entry = msgspec.structs.replace(
            last,
            sequence=fold.sequence + 1,
            parent=fold.tip,
            machine="model_run",
            subject="a#1",
            event=event,
            source=source,
            target=target,
            evidence=told,
        )
        read_ = Numbered(f"digest {entry.sequence}", entry)
        if source == state:
            fold.feed(*read_)
            state = target
            if target == "bootstrapping":
                anchor = read_.digest
            assert fold.models["a"].attempt is not None
            assert fold.models["a"].attempt.state == state
        else:
            with pytest.raises(Illegal):
                fold.feed(*read_)


@pytest.mark.parametrize("machine", [ModelRun, Run])
def test_the_order_that_is_demanded_is_that_of_the_machines(machine: type[Machine]) -> None:
    table = compile_table(machine)
    moves: dict[str, set[tuple[str, str]]] = {}
    for row in table.rows:
        ends = {row.target, row.fallback} - {None}
        moves.setdefault(row.event, set()).update((row.source, str(end)) for end in ends)
    known = MOVES[table.machine]
    assert {event: set(pairs) for event, (_, pairs) in known.items()} == moves
    assert {event: evidence for event, (evidence, _) in known.items()} == machine.evidence_types
