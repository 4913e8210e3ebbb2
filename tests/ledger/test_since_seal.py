"""What is kept at a seal gives the answers that the whole ledger gives, and is thrown away where anything differs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.chains import DIGESTS, GENESIS, KNOWN, Story, begin, body, go_on, move

from interlock.engine import faults
from interlock.engine.cases.standing import _models, _runs
from interlock.engine.diagnostics import Refused
from interlock.engine.ledger import kept as kept_module
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.kept import NoState, bytes_of, can_be_kept, heads_digest, heads_digest_at_seal, kept_of, sequence_of
from interlock.engine.ledger.packing import closed_segments, pack
from interlock.engine.ledger.places import segment_path, state_path
from interlock.engine.ledger.reader import LedgerBroken, LedgerRead, LedgerWhole, read
from interlock.engine.ledger.since_seal import keep, read_since_seal
from interlock.engine.ledger.subjects import Behind, Contradiction
from interlock.engine.ledger.writer import own
from interlock.engine.runner.authority import Sight, look
from interlock.engine.runner.resuming import chosen, scope_of
from interlock.engine.warehouse.protocol import HeadRow, Identity, Reader, ReceiptRow
from interlock.machines.evidence import AcceptEvidence, CloseEvidence, HeadTaken, RefuseEvidence, SealRow
from interlock.machines.records import canonical, digest

MODELS = ("a", "b", "c")


def whole(found: LedgerRead) -> LedgerWhole:
    assert isinstance(found, LedgerWhole), found
    return found


def sealed(story: Story, directory: Path, run: str, *, by: str | None = None) -> SealRow:
    """A run is closed with what the ledger then says of the heads."""
    fold = whole(read(directory)).fold
    row = SealRow(project="p1", run=run, serial=fold.serial + 1, tip=story.ledger.tip, outcome="partial", heads=heads_digest(fold))
    evidence = CloseEvidence(planned=fold.runs[run].authorize.scope, executed=(), outcome="partial", seal_expected=row, seal=row)  # type: ignore[union-attr]
    story.ledger.append(move("run", run, "close", "running", "closed", evidence), run=run, by=by)
    return row


def keep_now(directory: Path) -> bool:
    sequence = whole(read(directory)).tip.sequence
    kept = keep(directory, sequence, records_min=1)
    assert not kept or whole(read_since_seal(directory)).begins == sequence, "what was kept is what is gone on from"
    return kept


def answers(directory: Path, reading: Callable[[Path], LedgerRead]) -> dict[str, Any]:
    """All that commands ask of a fold; each question of a fold of its own, since one may have the rest read again."""
    asked: dict[str, Callable[[Fold, LedgerWhole], Any]] = {
        "place": lambda fold, found: (found.tip, found.torn, found.genesis, fold.time, fold.sequence, fold.tip),
        "whose": lambda fold, _: (fold.genesis, fold.project, fold.ledger, fold.warehouse),
        "seal": lambda fold, _: (fold.seal, fold.serial, fold.serial_accepted, fold.accepted_sequence, fold.closed, fold.wrote),
        "since": lambda fold, _: list(fold.since_close),
        "open": lambda fold, _: fold.open,
        "contradictions": lambda fold, _: (fold.contradictions, fold.reset),
        "models": lambda fold, _: {name: (each.attempt, each.decided, each.last, each.head) for name, each in fold.models.items()},
        "states": lambda _, found: sight(found).model_states(),
        "expected": lambda _, found: sight(found).expected(),
        "heads at the seal": lambda fold, _: (fold.before_close, heads_digest_at_seal(fold)),
        "anchors": lambda _, found: sight(found).open_anchors(),
        "status": lambda fold, _: (_models(fold, None, known="yes"), _runs(fold, busy=False)),
        "newest": lambda fold, _: none_where_refused(lambda: chosen(fold, None)),
    }
    fold = whole(read(directory)).fold
    for plan in (*{run.plan for run in fold.runs.values() if run.plan}, "never"):
        asked[f"is_spent {plan}"] = lambda fold, _, plan=plan: fold.is_spent(plan)
        asked[f"spent_by {plan}"] = lambda fold, _, plan=plan: fold.spent_by(plan)
        asked[f"checkpointed_by {plan}"] = lambda fold, _, plan=plan: fold.checkpointed_by(plan)
        asked[f"scope {plan}"] = lambda fold, _, plan=plan: scope_of(fold, plan)
        asked[f"numbers {plan}"] = lambda fold, _, plan=plan: [fold.attempt_number(plan, model) for model in MODELS]
    for run in fold.runs:
        asked[f"run {run}"] = lambda fold, _, run=run: chosen(fold, run)
    asked["beginning"] = lambda fold, _: none_where_refused(lambda: chosen(fold, "r"))
    said = {}
    found = whole(reading(directory))
    for question, answer in asked.items():
        if found.begins and found.fold.behind is None:  # an answer had the rest read
            found = whole(reading(directory))
        said[question] = answer(found.fold, found)
    return said


def none_where_refused(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Refused as error:
        return [finding.code for finding in error.findings]


def sight(found: LedgerRead) -> Sight:
    finding = KNOWN
    return Sight(finding=finding, ledger=found, identity=None, heads=(), unexpected={}, seal=None)


class History:
    """Random runs, as the runner writes them: refused, closed, left open, settled, continued, taken over by the warehouse's word."""

    def __init__(self, directory: Path, data: st.DataObject) -> None:
        self.directory = directory
        self.story = Story(begin(directory))
        self.draw = data.draw
        self.count = 0
        self.open: list[str] = []
        self.plans: list[str] = []

    def number(self, plan: str, model: str) -> int:
        return whole(read(self.directory)).fold.attempt_number(plan, model)

    def run(self) -> None:
        self.count += 1
        run = f"r{self.count}"
        plan = self.draw(st.sampled_from([*self.plans[-3:], f"plan{self.count}"]), label="plan")
        models = self.draw(st.lists(st.sampled_from(MODELS), unique=True, min_size=1), label="models")
        self.plans.append(plan)
        self.story.open(run, plan, *models)
        how = self.draw(st.sampled_from(["refused", "authorized", "closed", "closed", "closed", "open"]), label="how")
        if how == "refused":
            self.story.ledger.append(move("run", run, "refuse", "authorized", "refused", crash()), run=run)
            return
        if how == "authorized":
            self.open.append(run)
            return
        self.story.start(run)
        for model in models:
            number = self.number(plan, model)
            end = self.draw(st.sampled_from(["done", "done", "refused", "stopped", "bootstrapping"]), label=model)
            if end == "done":
                self.story.checkpointed(run, plan, model, number)
            elif end == "refused":
                self.story.refused(run, model, "planned", number)
            elif end == "stopped":
                self.story.verified(run, plan, model, number)
                self.story.refused(run, model, "verified", number)
            else:
                self.story.bootstrapped(run, plan, model, number)
                if how == "closed":
                    self.story.refused(run, model, "bootstrapping", number)
        if how == "closed":
            sealed(self.story, self.directory, run)
        else:
            self.open.append(run)

    def settle(self) -> None:
        for run in self.open:
            fold = whole(read(self.directory)).fold
            if fold.runs[run].state == "authorized":
                self.story.ledger.append(move("run", run, "refuse", "authorized", "refused", crash()), run=run, by="r0")
                continue
            for attempt in fold.runs[run].open_attempts:
                assert attempt.state == "bootstrapping"
                number = int(attempt.subject.rpartition("#")[2])
                self.story.refused(run, attempt.model, "bootstrapping", number, by="r0")
            sealed(self.story, self.directory, run, by="r0")
        self.open.clear()

    def accept(self) -> None:
        fold = whole(read(self.directory)).fold
        heads = tuple(HeadTaken(model=name, head=known.head, digests=DIGESTS) for name, known in fold.models.items())
        evidence = AcceptEvidence(
            project="p1", ledger="l1", warehouse="w1", found=KNOWN, heads=heads, settled=tuple(fold.open), reason="", serial=fold.serial
        )
        self.story.ledger.append(own("p1", evidence), run=None)
        self.open.clear()


def crash() -> Any:
    return RefuseEvidence(cause="crash", code="G563", because="it died", remedy="run again", proof=None)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_kept_and_what_follows_answers_as_the_whole_does(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("history")
    history = History(directory, data)
    steps = st.lists(st.sampled_from(["run", "run", "run", "settle", "accept", "keep"]), min_size=3, max_size=12)
    for step in data.draw(steps, label="steps"):
        if step == "keep":
            keep_now(directory)
        else:
            getattr(history, step)()
    expected, found = answers(directory, read), answers(directory, read_since_seal)
    fold = whole(read(directory)).fold
    assert fold.seal is None or fold.seal.heads == heads_digest_at_seal(fold), "with every attempt since taken back"
    for question, answer in expected.items():
        assert found[question] == answer, question


class Warehouse:
    """Answers as a warehouse would that has these heads and this seal."""

    def __init__(self, heads: tuple[HeadRow, ...], seal: SealRow | None, bodies: dict[str, ReceiptRow]) -> None:
        self._heads, self._seal, self._bodies = heads, seal, bodies

    def identity(self, _project: str) -> Identity:
        return Identity(warehouse="w1", ledger="l1", format=1)

    def heads(self, _project: str) -> tuple[HeadRow, ...]:
        return self._heads

    def last_seal(self, _project: str) -> SealRow | None:
        return self._seal

    def receipts(self, _project: str, wanted: tuple[str, ...]) -> dict[str, ReceiptRow]:
        return {receipt: self._bodies[receipt] for receipt in wanted if receipt in self._bodies}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_authority_is_the_same_row_whatever_the_warehouse_has(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("authority")
    history = History(directory, data)
    for step in data.draw(
        st.lists(st.sampled_from(["run", "run", "run", "settle", "accept", "keep"]), min_size=3, max_size=9), label="steps"
    ):
        keep_now(directory) if step == "keep" else getattr(history, step)()
    fold = whole(read(directory)).fold
    bodies = {}
    for anchor, attempt in fold.anchors.items():
        canonical_body = canonical(body(attempt.model, anchor, "plan"))
        receipt = digest("receipt", canonical_body)
        bodies[receipt] = ReceiptRow(receipt=receipt, model=attempt.model, run=attempt.run, attempt=1, previous=None, body=canonical_body)
    seals = [run.close.seal_expected for run in fold.runs.values() if run.close is not None]
    stranger = SealRow(project="p1", run="rx", serial=fold.serial + 1, tip="?", outcome="succeeded", heads="h")
    for _ in range(4):
        heads = []
        for name, known in fold.models.items():
            ours = [row.receipt for row in bodies.values() if row.model == name]
            there = data.draw(
                st.sampled_from(
                    [known.head.receipt, known.head.receipt, known.head.receipt, None, "f" * 64, *sorted(known.receipts), *ours]
                )
            )
            token = data.draw(st.sampled_from([known.head.token] * 4 + [None, "other"]))
            generation = data.draw(st.sampled_from([known.head.generation] * 4 + [None, "other"]))
            heads.append(HeadRow(model=name, receipt=there, token=token, generation=generation))
        altered = [msgspec.structs.replace(fold.seal, heads="other")] if fold.seal is not None else []
        seal = data.draw(st.sampled_from([fold.seal, fold.seal, None, stranger, *seals, *altered]))
        warehouse = cast("Reader", Warehouse(tuple(heads), seal, bodies))
        found = look(directory, "p1", warehouse)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("interlock.engine.runner.authority.read_since_seal", read)
            expected = look(directory, "p1", warehouse)
        assert found.finding == expected.finding
        assert (found.heads, found.unexpected, found.seal) == (expected.heads, expected.unexpected, expected.seal)
        assert found.model_states() == expected.model_states()


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """Four runs of three plans, kept at the seal of the third; the fourth goes on with the second's plan."""
    story = Story(begin(tmp_path))
    for number, plan in enumerate(("plan1", "plan2", "plan3"), start=1):
        story.open(f"r{number}", plan, "a", "b")
        story.start(f"r{number}")
        story.checkpointed(f"r{number}", plan, "a")
        story.refused(f"r{number}", "b", "planned")
        sealed(story, tmp_path, f"r{number}")
    assert keep_now(tmp_path)
    story.open("r4", "plan2", "b")
    story.start("r4")
    story.checkpointed("r4", "plan2", "b", 2)
    sealed(story, tmp_path, "r4")
    story.ledger.close()
    assert whole(read_since_seal(tmp_path)).begins == whole(read(tmp_path)).tip.sequence - 7
    return tmp_path


def test_reading_begins_at_the_seal_and_answers_as_the_whole(long: Path) -> None:
    assert answers(long, read_since_seal) == answers(long, read)


def test_an_older_warehouse_is_called_older_though_the_state_knows_no_older_receipts(long: Path) -> None:
    """Which receipts a model ever had is left behind, so the whole ledger says whose heads these are."""
    fold = whole(read(long)).fold
    older = sorted(fold.models["a"].receipts - {fold.models["a"].head.receipt or ""})
    assert older
    assert not whole(read_since_seal(long)).fold.models["a"].receipts & set(older)
    for there in older:
        heads = tuple(
            HeadRow(
                model=name, receipt=there if name == "a" else known.head.receipt, token=known.head.token, generation=known.head.generation
            )
            for name, known in fold.models.items()
        )
        sight = look(long, "p1", cast("Reader", Warehouse(heads, fold.seal, {})))
        assert (sight.finding.decision, sight.finding.code) == ("refuse", "K703"), sight.finding


def test_only_a_plan_that_was_left_behind_has_the_rest_read(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fold = whole(read_since_seal(long)).fold
    assert fold.spent_by("plan3") == ("r3",)
    assert fold.spent_by("never") == ()
    assert fold.is_spent("plan1")
    assert fold.behind is not None
    assert fold.spent_by("plan2") == ("r2", "r4")
    assert fold.behind is None
    assert fold.checkpointed_by("plan2").keys() == {"a", "b"}


@pytest.mark.parametrize("restore_times", [True, False])
def test_a_damage_before_the_seal_in_the_same_file_is_found_though_that_has_grown(restore_times: bool, long: Path) -> None:
    assert whole(read_since_seal(long)).tip.offset > kept_of(state_path(long).read_bytes()).offset, "it has grown"
    edited(long, before_seal(long), restore_times=restore_times)
    assert isinstance(read_since_seal(long), LedgerBroken)


def test_a_damage_before_the_seal_is_found_by_what_asks_for_it(long: Path) -> None:
    fold = whole(read_since_seal(long)).fold
    edited(long, before_seal(long))
    with pytest.raises(Refused) as refusal:
        fold.spent_by("plan1")
    assert [finding.code for finding in refusal.value.findings] == ["K707"]


def before_seal(directory: Path) -> int:
    return kept_of(state_path(directory).read_bytes()).start - 200


def edited(directory: Path, offset: int, *, restore_times: bool = False) -> None:
    path = segment_path(directory, 1)
    times = path.stat()
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)
    if restore_times:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def rewritten(directory: Path, **fields: Any) -> None:
    """The state with other fields, and the right digest."""
    stored = kept_of(state_path(directory).read_bytes())
    state_path(directory).write_bytes(bytes_of(msgspec.structs.replace(stored, **fields)))


def flipped(directory: Path, at: int) -> None:
    data = bytearray(state_path(directory).read_bytes())
    data[at] ^= 1
    state_path(directory).write_bytes(data)


def newer_format(directory: Path) -> None:
    stored = kept_of(state_path(directory).read_bytes())
    kept_module.FORMAT, before = kept_module.FORMAT + 1, kept_module.FORMAT
    try:
        state_path(directory).write_bytes(bytes_of(stored))
    finally:
        kept_module.FORMAT = before


def unreadable(directory: Path) -> None:
    state_path(directory).unlink()
    state_path(directory).mkdir()


def older_ledger(directory: Path) -> None:
    """The file as it was before the record at which the state was taken."""
    path = segment_path(directory, 1)
    path.write_bytes(path.read_bytes()[: kept_of(state_path(directory).read_bytes()).start])


def other_ledger(directory: Path) -> None:
    """Another ledger of the same form stands in its place, its newest record where the state's was."""
    stored = kept_of(state_path(directory).read_bytes())
    rewritten(directory, genesis=msgspec.structs.replace(GENESIS, ledger="l2"), first="0" * 64, segments=stored.segments)


def a_head_changed(directory: Path) -> None:
    stored = kept_of(state_path(directory).read_bytes())
    first = stored.models[0]
    assert first.last is not None
    head = msgspec.structs.replace(first.last.head, receipt="0" * 64)
    model = msgspec.structs.replace(first, last=msgspec.structs.replace(first.last, head=head))
    rewritten(directory, models=(model, *stored.models[1:]))


def another_seal(directory: Path) -> None:
    stored = kept_of(state_path(directory).read_bytes())
    rewritten(directory, seal=msgspec.structs.replace(stored.seal, serial=stored.seal.serial + 7))


def touched(directory: Path) -> None:
    """As a copy does. (The newest segment has grown since, so its time says nothing: an older one counts.)"""
    stored = kept_of(state_path(directory).read_bytes())
    rewritten(directory, segments=(msgspec.structs.replace(stored.segments[0], bytes=stored.segments[0].bytes + 10**9),))


WRONG: dict[str, Callable[[Path], object]] = {
    "a byte of its head": lambda place: flipped(place, 5),
    "a byte of its body": lambda place: flipped(place, 300),
    "its last byte": lambda place: flipped(place, -1),
    "cut": lambda place: state_path(place).write_bytes(state_path(place).read_bytes()[:-40]),
    "empty": lambda place: state_path(place).write_bytes(b""),
    "only a head": lambda place: state_path(place).write_bytes(state_path(place).read_bytes().partition(b"\n")[0]),
    "no state at all": lambda place: state_path(place).write_bytes(b"\xff" * 1000),
    "of a newer version": newer_format,
    "not to be read": unreadable,
    "gone": lambda place: state_path(place).unlink(),
    "an older ledger was put back": older_ledger,
    "of another ledger": other_ledger,
    "another place": lambda place: rewritten(place, start=0),
    "another record": lambda place: rewritten(place, digest="0" * 64),
    "another sequence": lambda place: rewritten(place, sequence=3),
    "a segment that is not there": lambda place: rewritten(place, segment=2),
    "a head changed": a_head_changed,
    "another seal": another_seal,
    "a file changed": touched,
    "the seal's record edited": lambda place: edited(place, kept_of(state_path(place).read_bytes()).start + 90),
    "a record after it edited": lambda place: edited(place, kept_of(state_path(place).read_bytes()).offset + 90),
    "the first record edited": lambda place: edited(place, 90),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_state_that_is_wrong_is_not_used_and_is_no_error(how: str, long: Path) -> None:
    WRONG[how](long)
    expected, found = read(long), read_since_seal(long)
    assert type(found) is type(expected)
    if isinstance(expected, LedgerWhole):
        assert whole(found).begins == 0
        assert answers(long, read_since_seal) == answers(long, read)
    else:
        assert found == expected


def test_an_edit_before_the_seal_shows_by_its_time_while_nothing_was_written_since(tmp_path: Path) -> None:
    story = Story(begin(tmp_path))
    story.open("r1", "plan1", "a")
    story.start("r1")
    story.checkpointed("r1", "plan1", "a")
    sealed(story, tmp_path, "r1")
    story.ledger.close()
    assert keep_now(tmp_path)
    assert whole(read_since_seal(tmp_path)).begins
    edited(tmp_path, 400)
    assert isinstance(read_since_seal(tmp_path), LedgerBroken)


def test_a_missing_segment_before_it_is_found(tmp_path: Path) -> None:
    story = many_segments(tmp_path)
    story.ledger.close()
    assert keep_now(tmp_path)
    assert whole(read_since_seal(tmp_path)).begins
    segment_path(tmp_path, 2).unlink()
    assert isinstance(read_since_seal(tmp_path), LedgerBroken)


def test_packed_segments_are_passed_over_as_written_ones_are(tmp_path: Path) -> None:
    story = many_segments(tmp_path)
    assert keep_now(tmp_path)
    closed = story.ledger.archive("p1", "room")
    story.ledger.close()
    for number in closed_segments(tmp_path, closed.segment):
        pack(tmp_path, number)
    assert whole(read_since_seal(tmp_path)).begins
    assert answers(tmp_path, read_since_seal) == answers(tmp_path, read)
    story = Story(go_on(tmp_path))
    one_run(story, tmp_path, 9)
    story.ledger.close()
    assert keep_now(tmp_path)
    assert whole(read_since_seal(tmp_path)).begins == whole(read(tmp_path)).tip.sequence


def many_segments(directory: Path) -> Story:
    story = Story(begin(directory, segment_bytes=6000))
    for number in range(1, 5):
        one_run(story, directory, number)
    assert segment_path(directory, 3).exists()
    return story


def one_run(story: Story, directory: Path, number: int) -> None:
    story.open(f"r{number}", f"plan{number}", "a")
    story.start(f"r{number}")
    story.checkpointed(f"r{number}", f"plan{number}", "a")
    sealed(story, directory, f"r{number}")


def test_a_state_does_not_grow_with_runs_but_for_their_plans(tmp_path: Path) -> None:
    story = Story(begin(tmp_path))
    sizes = []
    for number in range(1, 13):
        one_run(story, tmp_path, number)
        assert keep_now(tmp_path)
        sizes.append(state_path(tmp_path).stat().st_size)
    assert max(sizes[3:]) - min(sizes[3:]) <= 9 * Behind.BYTES + 40
    fold = whole(read_since_seal(tmp_path)).fold
    assert all(fold.is_spent(f"plan{number}") for number in range(1, 13))
    assert not fold.is_spent("plan13")


def test_nothing_is_kept_where_something_is_open_or_the_heads_are_not_those_of_the_seal(tmp_path: Path) -> None:
    story = Story(begin(tmp_path))
    one_run(story, tmp_path, 1)
    story.open("r2", "plan2", "a")
    assert not keep_now(tmp_path)
    story.start("r2")
    story.checkpointed("r2", "plan2", "a")
    story.closed("r2", 2)  # with a digest that is not that of the heads
    assert not keep_now(tmp_path)
    assert not state_path(tmp_path).exists()


SPOILED: dict[str, Callable[[Fold], object]] = {
    "no genesis": lambda fold: setattr(fold, "genesis", None),
    "no seal": lambda fold: setattr(fold, "seal", None),
    "a record behind the close": lambda fold: fold.since_close.update(x=1),
    "a run of another seal": lambda fold: fold.runs.pop(fold.seal.run if fold.seal is not None else ""),
    "an open run": lambda fold: fold.open.update(r9=next(iter(fold.runs.values()))),
    "a contradiction": lambda fold: fold.contradictions.append(cast("Contradiction", object())),
    "a reset that was begun": lambda fold: setattr(fold, "reset", object()),
    "another head": lambda fold: fold.models.pop("a"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_fold_that_is_not_at_rest_is_not_kept(what: str, tmp_path: Path) -> None:
    """What a state does not hold must not be there when it is taken."""
    story = Story(begin(tmp_path))
    one_run(story, tmp_path, 1)
    fold = whole(read(tmp_path)).fold
    assert can_be_kept(fold)
    SPOILED[what](fold)
    assert not can_be_kept(fold)


def test_a_state_is_made_again_only_after_so_many_records(long: Path) -> None:
    tip = whole(read(long)).tip.sequence
    before = state_path(long).read_bytes()
    assert sequence_of(before) == tip - 7
    assert not keep(long, tip, records_min=8)
    assert state_path(long).read_bytes() == before
    assert keep(long, tip, records_min=7)
    assert sequence_of(state_path(long).read_bytes()) == tip


@pytest.mark.parametrize("point", ["write.before", "rename.before", "rename.after"])
def test_a_stop_while_the_state_is_kept_leaves_the_old_one_or_the_new_one(point: str, long: Path) -> None:
    before = state_path(long).read_bytes()
    with faults.armed(f"ledger.state.{point}"), pytest.raises(faults.FaultRaised):
        keep_now(long)
    assert (state_path(long).read_bytes() == before) == (point != "rename.after")
    assert answers(long, read_since_seal) == answers(long, read)
    assert keep_now(long) or point == "rename.after", "what lies aside is in nobody's way"
    assert answers(long, read_since_seal) == answers(long, read)


def test_a_state_that_cannot_be_written_costs_nothing(long: Path) -> None:
    state_path(long).unlink()
    state_path(long).mkdir()
    assert not keep_now(long)
    assert not list(long.glob(".*"))


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400))
def test_no_bytes_are_taken_for_a_state(data: bytes) -> None:
    for each in (data, b"interlock state " + data, b"interlock state 1 7 " + data):
        with pytest.raises(NoState):
            kept_of(each)


@settings(max_examples=60, deadline=None)
@given(plans=st.sets(st.text(max_size=3), max_size=20), others=st.sets(st.text(max_size=3), max_size=20))
def test_a_plan_is_known_by_its_key(plans: set[str], others: set[str]) -> None:
    keys = b"".join(sorted(Behind.key(plan) for plan in plans))
    behind = Behind(keys, b"", Fold)
    for plan in plans | others:
        assert behind.has_spent(plan) == (plan in plans)
