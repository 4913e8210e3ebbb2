"""What a receipt must say, action by action."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.machines import sample as s
from tests.machines.stand import Book, model_run

from interlock.machines.evidence import (
    Applied,
    BootstrapEvidence,
    CheckVerdict,
    Column,
    Delta,
    Fingerprint,
    Head,
    HeadSeen,
    Missing,
    NullCount,
    Present,
    PromisedColumn,
    ReceiptBody,
    Shrink,
)
from interlock.machines.permits import CommitPermit

NEW = HeadSeen(receipt=None, token=None)


def pinned(action: str, target: Missing | Present, head: Head, **change: Any) -> BootstrapEvidence:
    seen = HeadSeen(receipt=head.receipt, token=head.token)
    return s.bootstrap(action=action, target=target, target_seen=target, head=head, head_seen=seen, **change)


def written(action: str, roles: tuple[str, ...], head: Head, **change: Any) -> ReceiptBody:
    seen = HeadSeen(receipt=head.receipt, token=head.token)
    before = head.rows if action in ("append", "merge", "replace_range", "snapshot", "recheck") else None
    values: dict[str, Any] = {"delta": None, "rows_before": before, "head": seen, "previous": head.receipt}
    return s.body(action=action, applied=s.applied(*roles), **(values | change))


def codes(expected: BootstrapEvidence, body: ReceiptBody) -> set[str]:
    answer = model_run("bootstrapping", Book(), expected).publication_is_permitted(body)
    if isinstance(answer, CommitPermit):
        return set()
    return {verdict.code for verdict in answer if verdict.holds == "no"}


MERGED = Delta(rows=1, key_nulls=0, key_doubles=0)
RANGES = Delta(rows=1, watermark_nulls=0)
NO_CHECKS: dict[str, Any] = {"checks": (), "contract": (), "extra_columns": "allow"}

GOOD: list[tuple[str, BootstrapEvidence, ReceiptBody]] = [
    ("create", pinned("create", s.MISSING, s.NEVER), written("create", ("create", "comment"), s.NEVER)),
    ("create again after a drop by hand", pinned("create", s.MISSING, s.HEAD), written("create", ("create",), s.HEAD)),
    ("replace", pinned("replace", s.TABLE, s.HEAD), written("replace", ("drop", "create"), s.HEAD)),
    ("replace what is gone", pinned("replace", s.MISSING, s.HEAD), written("replace", ("create",), s.HEAD)),
    ("convert", pinned("convert", s.VIEW, s.HEAD), written("convert", ("drop", "create"), s.HEAD)),
    ("append", pinned("append", s.TABLE, s.HEAD), written("append", ("insert",), s.HEAD, delta=s.CLEAN)),
    ("append that found nothing", pinned("append", s.TABLE, s.HEAD), written("append", (), s.HEAD, delta=s.CLEAN)),
    ("merge", pinned("merge", s.TABLE, s.HEAD), written("merge", ("merge",), s.HEAD, delta=MERGED)),
    ("replace range", pinned("replace_range", s.TABLE, s.HEAD), written("replace_range", ("delete", "insert"), s.HEAD, delta=RANGES)),
    ("snapshot", pinned("snapshot", s.TABLE, s.HEAD), written("snapshot", ("close", "insert"), s.HEAD, delta=MERGED)),
    ("recheck", pinned("recheck", s.TABLE, s.HEAD), written("recheck", ("look",), s.HEAD)),
    (
        "recheck of a view",
        pinned("recheck", s.VIEW, replace(s.HEAD, rows=None)),
        written("recheck", (), replace(s.HEAD, rows=None), kind="view"),
    ),
    ("move", pinned("move", s.MISSING, s.NEVER), written("move", ("rename",), s.NEVER)),
    (
        "drop",
        pinned("drop", s.TABLE, s.HEAD, columns=(), **NO_CHECKS),
        written("drop", ("drop",), s.HEAD, kind="none", shape=(), nulls=(), verdicts=(), rows_after=None),
    ),
    ("adopt", pinned("adopt", s.TABLE, s.NEVER), written("adopt", ("look", "comment"), s.NEVER)),
    ("adopt a view", pinned("adopt", s.VIEW, s.NEVER), written("adopt", ("comment",), s.NEVER, kind="view")),
]


@pytest.mark.parametrize(("expected", "body"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD])
def test_an_action_that_did_what_was_planned_may_commit(expected: BootstrapEvidence, body: ReceiptBody) -> None:
    assert codes(expected, body) == set()


@pytest.mark.parametrize(("expected", "body"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD])
def test_no_receipt_passes_as_that_of_another_action(expected: BootstrapEvidence, body: ReceiptBody) -> None:
    for action in (
        "create",
        "replace",
        "convert",
        "append",
        "merge",
        "replace_range",
        "snapshot",
        "recheck",
        "move",
        "drop",
        "adopt",
        "no_op",
        "refuse",
    ):
        if action != body.action:
            assert "G523" in codes(expected, replace(body, action=action)), action


BAD: list[tuple[str, BootstrapEvidence, ReceiptBody]] = [
    ("create over something", pinned("create", s.TABLE, s.HEAD), written("create", ("create",), s.HEAD)),
    ("create that dropped", pinned("create", s.MISSING, s.NEVER), written("create", ("drop", "create"), s.NEVER)),
    ("create without creating", pinned("create", s.MISSING, s.NEVER), written("create", ("insert",), s.NEVER)),
    ("replace without dropping", pinned("replace", s.TABLE, s.HEAD), written("replace", ("create",), s.HEAD)),
    ("replace without creating", pinned("replace", s.TABLE, s.HEAD), written("replace", ("drop",), s.HEAD)),
    ("replace that dropped what was not there", pinned("replace", s.MISSING, s.HEAD), written("replace", ("drop", "create"), s.HEAD)),
    ("convert without dropping", pinned("convert", s.VIEW, s.HEAD), written("convert", ("create",), s.HEAD)),
    ("append to nothing", pinned("append", s.MISSING, s.HEAD), written("append", ("insert",), s.HEAD, delta=s.CLEAN)),
    ("append to a view", pinned("append", s.VIEW, s.HEAD), written("append", ("insert",), s.HEAD, delta=s.CLEAN)),
    ("append that created", pinned("append", s.TABLE, s.HEAD), written("append", ("create",), s.HEAD, delta=s.CLEAN)),
    (
        "merge after a row came by hand",
        pinned("merge", s.TABLE, s.HEAD),
        written("merge", ("merge",), s.HEAD, delta=MERGED, rows_before=11),
    ),
    ("recheck of nothing", pinned("recheck", s.MISSING, s.HEAD), written("recheck", (), s.HEAD)),
    ("recheck that dropped", pinned("recheck", s.TABLE, s.HEAD), written("recheck", ("drop",), s.HEAD)),
    ("recheck of rows that nobody counted", pinned("recheck", s.TABLE, s.HEAD), written("recheck", (), s.HEAD, rows_before=None)),
    ("move without renaming", pinned("move", s.MISSING, s.NEVER), written("move", (), s.NEVER)),
    ("move that dropped", pinned("move", s.MISSING, s.NEVER), written("move", ("rename", "drop"), s.NEVER)),
    (
        "drop without dropping",
        pinned("drop", s.TABLE, s.HEAD, columns=(), **NO_CHECKS),
        written("drop", (), s.HEAD, kind="none", shape=(), verdicts=()),
    ),
    (
        "drop that created",
        pinned("drop", s.TABLE, s.HEAD, columns=(), **NO_CHECKS),
        written("drop", ("drop", "create"), s.HEAD, kind="none", shape=(), verdicts=()),
    ),
    ("adopt of another kind", pinned("adopt", s.VIEW, s.NEVER), written("adopt", (), s.NEVER)),
    ("adopt of nothing", pinned("adopt", s.MISSING, s.NEVER), written("adopt", (), s.NEVER)),
    ("adopt that replaced", pinned("adopt", s.TABLE, s.NEVER), written("adopt", ("drop", "create"), s.NEVER)),
    ("no-op", pinned("no_op", s.TABLE, s.HEAD), written("no_op", (), s.HEAD)),
]


@pytest.mark.parametrize(("expected", "body"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_an_action_whose_statements_do_not_show_the_planned_target_may_not_commit(expected: BootstrapEvidence, body: ReceiptBody) -> None:
    assert codes(expected, body) == {"G523"}


def test_what_is_dropped_is_gone() -> None:
    expected = pinned("drop", s.TABLE, s.HEAD, columns=(), **NO_CHECKS)
    assert codes(expected, written("drop", ("drop",), s.HEAD, kind="table", shape=(), verdicts=())) == {"G525"}
    assert codes(expected, written("drop", ("drop",), s.HEAD, kind="none", verdicts=())) == {"G525"}


@pytest.mark.parametrize("action", ["append", "merge", "replace_range", "snapshot"])
def test_a_delta_of_which_nothing_is_known_is_not_one_without_faults(action: str) -> None:
    expected = pinned(action, s.TABLE, s.HEAD)
    assert codes(expected, written(action, ("insert",), s.HEAD, delta=None)) == {"G524"}
    assert codes(expected, written(action, ("insert",), s.HEAD, delta=Delta(rows=0))) == {"G524"}


def test_an_append_without_a_watermark_to_tie_at_has_no_such_question() -> None:
    head = replace(s.HEAD, watermark=None)
    delta = Delta(rows=1, watermark_nulls=0)
    assert codes(pinned("append", s.TABLE, head), written("append", ("insert",), head, delta=delta)) == set()
    assert codes(pinned("append", s.TABLE, s.HEAD), written("append", ("insert",), s.HEAD, delta=delta)) == {"G524"}


def test_a_first_load_is_held_to_its_counts_too() -> None:
    delta = Delta(rows=3, watermark_nulls=1, key_doubles=2, sample="7")
    assert codes(pinned("create", s.MISSING, s.NEVER), written("create", ("create",), s.NEVER, delta=delta)) == {"G532", "G533"}


SHRINKS = [
    (10, 12, 0, "not_allowed", set()),
    (10, 0, 0, "not_allowed", {"G539"}),
    (10, 0, 5, "not_allowed", {"G539"}),
    (10, 9, 1, "not_allowed", {"G539"}),
    (10, 9, 0, "not_allowed", set()),
    (0, 0, 0, "not_allowed", set()),
    (10, 0, 5, "allowed", set()),
]


@pytest.mark.parametrize(("before", "after", "missing", "permission", "expected"), SHRINKS)
def test_a_full_refresh_takes_nothing_away_unless_it_is_allowed_to(
    before: int, after: int, missing: int, permission: Any, expected: set[str]
) -> None:
    shrink = Shrink(rows_before=before, rows_after=after, before=s.WATERMARK, after=None, missing=missing, permission=permission)
    body = written("replace", ("drop", "create"), s.HEAD, shrink=shrink)
    assert codes(pinned("replace", s.TABLE, s.HEAD), body) == expected


@pytest.mark.parametrize("compared", ["rows", "ends"])
@pytest.mark.parametrize(
    ("after", "permission", "expected"), [(9, "not_allowed", {"G539"}), (10, "not_allowed", set()), (9, "allowed", set())]
)
def test_where_nothing_tells_which_old_rows_are_missing_fewer_rows_are_a_loss(
    compared: Any, after: int, permission: Any, expected: set[str]
) -> None:
    shrink = Shrink(rows_before=10, rows_after=after, before=s.WATERMARK, after=None, missing=0, permission=permission, compared=compared)
    body = written("replace", ("drop", "create"), s.HEAD, shrink=shrink)
    assert codes(pinned("replace", s.TABLE, s.HEAD), body) == expected


@pytest.mark.parametrize(
    ("compared", "definition", "expected"),
    [("range", "same", {"G539"}), ("range", "other", set()), ("keys", "same", set()), ("versions", "same", set())],
)
def test_fewer_rows_of_one_definition_are_a_loss_where_rows_share_what_they_are_known_by(
    compared: Any, definition: Any, expected: set[str]
) -> None:
    shrink = Shrink(
        rows_before=10,
        rows_after=9,
        before=s.WATERMARK,
        after=s.AFTER,
        missing=0,
        permission="not_allowed",
        compared=compared,
        definition=definition,
    )
    body = written("replace", ("drop", "create"), s.HEAD, shrink=shrink)
    assert codes(pinned("replace", s.TABLE, s.HEAD), body) == expected


PRINT = Fingerprint(rows=10, sum="1", xor="2", engine="2.0.1")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (PRINT, set()),
        (None, {"G523"}),
        (replace(PRINT, sum="3"), {"G523"}),
        (replace(PRINT, xor="3"), {"G523"}),
        (replace(PRINT, engine="2.1.0"), {"G523"}),
    ],
)
def test_a_model_guarded_by_its_content_is_extended_only_while_it_is_the_same(found: Fingerprint | None, expected: set[str]) -> None:
    head = replace(s.HEAD, fingerprint=PRINT)
    body = written("append", ("insert",), head, delta=s.CLEAN, fingerprint_before=found)
    assert codes(pinned("append", s.TABLE, head), body) == expected


def test_columns_are_compared_by_name_as_the_warehouse_compares_them() -> None:
    body = written("append", ("insert",), s.HEAD, delta=s.CLEAN)
    turned = replace(body, shape=(Column(name="AT", type="TIMESTAMP"), Column(name="Id", type="BIGINT")))
    assert codes(pinned("append", s.TABLE, s.HEAD), turned) == set()
    assert codes(pinned("append", s.TABLE, s.HEAD), replace(body, nulls=(NullCount(column="ID", nulls=0),))) == set()


def test_a_contract_may_leave_columns_and_types_open() -> None:
    expected = pinned("append", s.TABLE, s.HEAD, contract=(PromisedColumn(column="id", type=None, nulls="allowed"),), extra_columns="allow")
    assert codes(expected, written("append", ("insert",), s.HEAD, delta=s.CLEAN, nulls=())) == set()


def test_a_promised_column_that_is_not_there_is_named() -> None:
    extra = PromisedColumn(column="vip", type=None, nulls="allowed")
    expected = pinned("append", s.TABLE, s.HEAD, contract=(*s.bootstrap().contract, extra))
    assert codes(expected, written("append", ("insert",), s.HEAD, delta=s.CLEAN)) == {"C301"}


@pytest.mark.parametrize("severity", ["error", "warn"])
def test_a_check_that_could_not_be_evaluated_is_never_a_pass(severity: Any) -> None:
    verdicts = tuple(
        replace(verdict, outcome="not_evaluated", failing=None, because="no such column") if verdict.severity == severity else verdict
        for verdict in s.body().verdicts
    )
    body = written("append", ("insert",), s.HEAD, delta=s.CLEAN, verdicts=verdicts)
    assert codes(pinned("append", s.TABLE, s.HEAD), body) == {"G526"}


def test_a_receipt_cannot_make_a_check_milder_than_it_was_pinned() -> None:
    mild = CheckVerdict(check="unique_id", severity="warn", outcome="failed", failing=1, because="")
    body = written("append", ("insert",), s.HEAD, delta=s.CLEAN, verdicts=(mild, s.body().verdicts[1]))
    assert codes(pinned("append", s.TABLE, s.HEAD), body) == {"G527"}


def test_refusals_name_what_was_seen_and_an_act() -> None:
    body = written("append", ("insert",), s.HEAD, delta=replace(s.CLEAN, changed_at_watermark=2, sample="id 7"))
    answer = model_run("bootstrapping", Book(), pinned("append", s.TABLE, s.HEAD)).publication_is_permitted(body)
    assert isinstance(answer, tuple)
    (against,) = [verdict for verdict in answer if verdict.holds == "no"]
    assert against.because == "2 rows written at the watermark are no longer given by the query, such as id 7"
    assert against.remedy.startswith('use strategy = "merge" with a `unique_key`, or "partition"')


def test_a_role_is_what_went_through_and_not_what_it_touched() -> None:
    touched = (Applied(role="drop", rows=None), Applied(role="create", rows=5))
    body = replace(written("replace", (), s.HEAD), applied=touched)
    assert codes(pinned("replace", s.TABLE, s.HEAD), body) == set()


def test_the_columns_of_a_target_matter_only_where_it_is_extended() -> None:
    moved = replace(s.TABLE, columns=s.COLUMNS[:1])
    for action, refused in (
        ("replace", False),
        ("convert", False),
        ("append", True),
        ("merge", True),
        ("recheck", True),
        ("snapshot", True),
    ):
        one = model_run("verified", Book())
        went = one.step("bootstrap", s.bootstrap(action=action, target_seen=moved)).transition.target
        assert went == ("refused" if refused else "bootstrapping"), action
