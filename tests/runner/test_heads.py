"""What heads and the last seal say beside a ledger: every field of every row counts, and nothing that a run of ours left does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec
import pytest
from tests.ledger.chains import Story, begin, body
from tests.ledger.test_since_seal import sealed, whole

from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.reader import read
from interlock.engine.runner.heads import heads_in_words, heads_state, taken
from interlock.engine.warehouse.protocol import Catalog, HeadRow, RelationSeen, digest_of_heads
from interlock.machines.evidence import ReceiptBody, SealRow
from interlock.machines.records import digest_of

OTHER = "f" * 64


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """A closed run of `a` and `b`; then one of `a` twice more, in two runs of which the last is open."""
    told = Story(begin(tmp_path))
    told.open("r1", "plan1", "a", "b")
    told.start("r1")
    told.checkpointed("r1", "plan1", "a")
    told.checkpointed("r1", "plan1", "b")
    sealed(told, tmp_path, "r1")
    yield told
    told.ledger.close()


def rows_of(fold: Fold) -> list[HeadRow]:
    return [
        HeadRow(model=name, receipt=known.head.receipt, token=known.head.token, generation=known.head.generation)
        for name, known in sorted(fold.models.items())
    ]


def fold_of(directory: Path) -> Fold:
    return whole(read(directory)).fold


def test_what_the_ledger_says_is_equal(story: Story, tmp_path: Path) -> None:
    fold = fold_of(tmp_path)
    assert heads_state(fold, rows_of(fold), {}, fold.seal) == "equal"
    assert heads_in_words(fold, rows_of(fold), {}, fold.seal, "equal") == ""


@pytest.mark.parametrize(("model", "field", "value"), list(product(("a", "b"), ("token", "generation"), (None, OTHER))))
def test_each_field_of_a_head_is_held_against_the_ledger(story: Story, tmp_path: Path, model: str, field: str, value: str | None) -> None:
    fold = fold_of(tmp_path)
    rows = [msgspec.structs.replace(row, **{field: value}) if row.model == model else row for row in rows_of(fold)]
    assert heads_state(fold, rows, {}, fold.seal) == "contradicted"
    was = getattr(fold.head(model), field)
    words = heads_in_words(fold, rows, {}, fold.seal, "contradicted")
    assert words == f"`{model}`: its head has the {field} {(value or 'none')[:12]}, the ledger {was[:12]}"


def test_a_row_without_a_receipt_has_nothing_else(story: Story, tmp_path: Path) -> None:
    fold = fold_of(tmp_path)
    empty = HeadRow(model="c", receipt=None, token=None, generation=None)
    assert heads_state(fold, [*rows_of(fold), empty], {}, fold.seal) == "equal"
    for field in ("token", "generation"):
        row = msgspec.structs.replace(empty, **{field: OTHER})
        assert heads_state(fold, [*rows_of(fold), row], {}, fold.seal) == "contradicted"


@pytest.mark.parametrize("field", ["tip", "outcome", "heads"])
def test_each_field_of_the_last_seal_is_held_against_the_ledger(story: Story, tmp_path: Path, field: str) -> None:
    fold = fold_of(tmp_path)
    assert fold.seal is not None
    seal = msgspec.structs.replace(fold.seal, **{field: "succeeded" if field == "outcome" else OTHER})
    assert heads_state(fold, rows_of(fold), {}, seal) == "contradicted"
    assert heads_in_words(fold, rows_of(fold), {}, seal, "contradicted") == "the last seal, of run r1, is not the one in the ledger"


def test_a_seal_of_another_run_is_not_the_ledgers_though_it_has_its_serial(story: Story, tmp_path: Path) -> None:
    fold = fold_of(tmp_path)
    assert fold.seal is not None
    assert heads_state(fold, rows_of(fold), {}, msgspec.structs.replace(fold.seal, run="r9")) == "newer"


def test_where_the_warehouse_s_word_was_taken_its_last_seal_is_the_ledgers(story: Story, tmp_path: Path) -> None:
    seal = fold_of(tmp_path).seal
    assert seal is not None
    fold = Fold()
    fold.serial_accepted = seal.serial
    assert heads_state(fold, [], {}, seal) == "none"


def test_every_attempt_since_the_seal_is_taken_back_to_before_the_first(story: Story, tmp_path: Path) -> None:
    for number in (2, 3):
        story.open(f"r{number}", f"plan{number}", "a", "c")
        story.start(f"r{number}")
        story.checkpointed(f"r{number}", f"plan{number}", "a")
        story.checkpointed(f"r{number}", f"plan{number}", "c")
    fold = fold_of(tmp_path)
    assert {name: head.receipt is None for name, head in fold.before_close.items()} == {"a": False, "c": True}
    assert heads_state(fold, rows_of(fold), {}, fold.seal) == "equal"


def test_a_seal_that_both_have_and_that_is_of_other_heads_is_not_believed(tmp_path: Path) -> None:
    told = Story(begin(tmp_path))
    told.open("r1", "plan1", "a")
    told.start("r1")
    told.checkpointed("r1", "plan1", "a")
    told.closed("r1", 1)  # with a digest of no heads
    fold = fold_of(tmp_path)
    assert heads_state(fold, rows_of(fold), {}, fold.seal) == "contradicted"
    words = heads_in_words(fold, rows_of(fold), {}, fold.seal, "contradicted")
    assert words == "the last seal, of run r1, is of other heads than those that the ledger left"
    told.ledger.close()


def test_what_an_open_attempt_left_is_held_against_its_receipt(story: Story, tmp_path: Path) -> None:
    story.open("r2", "plan2", "a")
    story.start("r2")
    anchor = story.bootstrapped("r2", "plan2", "a")
    fold = fold_of(tmp_path)
    left = body("a", anchor, "plan2", fold.head("a").receipt)
    row = HeadRow(model="a", receipt=digest_of("receipt", left), token=left.token, generation=left.generation)
    (rest,) = (each for each in rows_of(fold) if each.model != "a")
    assert heads_state(fold, [row, rest], {"a": left}, fold.seal) == "ahead"
    for field in ("token", "generation"):
        changed = msgspec.structs.replace(row, **{field: OTHER})
        assert heads_state(fold, [changed, rest], {"a": left}, fold.seal) == "contradicted"
        assert "its receipt" in heads_in_words(fold, [changed, rest], {"a": left}, fold.seal, "contradicted")


def test_a_seal_without_its_close_is_of_the_heads_that_are_there(story: Story, tmp_path: Path) -> None:
    story.open("r2", "plan2", "b")
    story.start("r2")
    story.checkpointed("r2", "plan2", "b")
    fold = fold_of(tmp_path)
    rows = rows_of(fold)
    seal = SealRow(project="p1", run="r2", serial=2, tip=fold.tip, outcome="succeeded", heads=digest_of_heads(rows))
    assert heads_state(fold, rows, {}, seal) == "ahead"
    assert heads_state(fold, rows, {}, msgspec.structs.replace(seal, heads=OTHER)) == "contradicted"


def standing(token: str | None) -> Catalog:
    seen = RelationSeen(schema="main", name="a", kind="table", token=token, columns=(), comment=None)
    return Catalog(schemas=frozenset({"main"}), relations={("main", "a"): seen})


def left_with(token: str | None) -> ReceiptBody:
    return msgspec.structs.replace(body("a", "anchor", "plan"), token=token)


@pytest.mark.parametrize(
    ("token", "receipts", "there", "takes"),
    [
        ("t", "t", "t", "t"),
        (OTHER, "t", "t", "t"),
        (OTHER, "t", None, "t"),
        (OTHER, "t", OTHER, OTHER),
        (None, "t", "t", "t"),
        (None, "t", None, "t"),
        (OTHER, None, OTHER, None),
    ],
)
def test_a_token_is_taken_only_where_the_relation_carries_it(
    token: str | None, receipts: str | None, there: str | None, takes: str | None
) -> None:
    row = HeadRow(model="a", receipt="r", token=token, generation=OTHER)
    assert taken(row, left_with(receipts), standing(there)) == HeadRow(model="a", receipt="r", token=takes, generation="anchor")
    assert taken(row, None, standing(there)) == row, "nothing says what it left"
    nothing = HeadRow(model="a", receipt=None, token=None, generation=None)
    assert taken(msgspec.structs.replace(row, receipt=None), None, standing(there)) == nothing
