"""A transaction writes what its permit allows, all of it or nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from interlock.engine import faults
from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.duckdb import reader as reader_module
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.duckdb.session import DuckDBSession
from interlock.engine.warehouse.protocol import DELTA, HeadMove, ReceiptRow, Session, Statement, WarehouseError
from interlock.machines import permits
from interlock.machines.permits import PermitDenied, WritePermit

from .conftest import PROJECT, Shop, commit_permit, prepare, statement, with_receipt, write_permit

M = relation("marts", "m")
CREATE = statement(f"CREATE TABLE {M} AS SELECT 1 AS a, 'x' AS b")


def test_a_session_is_what_the_protocol_says(shop: Shop) -> None:
    session: Session = shop.session()
    assert session.version


def test_committed_work_is_there_with_its_receipt_and_head(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    assert transaction.run(CREATE) == [(1,)]
    assert [(column.name, column.type) for column in transaction.columns("marts", "m")] == [("a", "INTEGER"), ("b", "VARCHAR")]
    assert with_receipt(transaction) == 1
    reader = session.reader()
    assert reader.catalog().find("marts", "m") is None
    transaction.commit(commit_permit())
    assert reader.query(f"SELECT a, b FROM {M}") == [(1, "x")]
    assert [(head.model, head.receipt, head.token) for head in reader.heads(PROJECT)] == [("m", "rec1", "t")]
    assert reader.receipts(PROJECT, ["rec1", "other"])["rec1"].body == b"{}"
    assert reader.receipts(PROJECT, ["rec1"]) == reader.receipts(PROJECT, ["rec1", "other"])
    assert reader.receipts("another project", ["rec1"]) == {}


def test_rolled_back_work_is_not_there(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    with_receipt(transaction)
    transaction.rollback()
    transaction.rollback()
    reader = session.reader()
    assert reader.catalog().find("marts", "m") is None
    assert not reader.receipt_exists(PROJECT)
    assert reader.heads(PROJECT)[0].receipt is None
    again = session.begin(write_permit(CREATE))
    again.run(CREATE)
    again.rollback()


def test_a_statement_that_is_not_in_the_permit_is_refused_and_ends_the_transaction(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    altered = Statement(role=CREATE.role, text=CREATE.text.replace("1", "2"))
    with pytest.raises(WarehouseError) as caught:
        transaction.run(altered)
    assert caught.value.code == "W612"
    with pytest.raises(WarehouseError):
        transaction.run(CREATE)
    with pytest.raises(WarehouseError):
        transaction.commit(commit_permit())
    transaction.rollback()


def test_a_head_that_was_moved_to_a_receipt_which_nobody_inserted_is_not_committed(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    head = {"project": PROJECT, "model": "m", "receipt": "rec1", "token": "t", "generation": "g", "expected": None}
    assert control.rows_touched(transaction.run(control.FENCE, head)) == 1
    with pytest.raises(WarehouseError) as caught:
        transaction.commit(commit_permit("rec1", "a1"))
    assert caught.value.code == "W612"
    transaction.rollback()
    assert session.reader().heads(PROJECT)[0].receipt is None


@pytest.mark.parametrize(("receipt", "anchor"), [("rec2", "a1"), ("rec1", "a2")])
def test_a_commit_permit_of_other_work_does_not_commit(shop: Shop, receipt: str, anchor: str) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    with_receipt(transaction)
    with pytest.raises(WarehouseError) as caught:
        transaction.commit(commit_permit(receipt, anchor))
    assert caught.value.code == "W612"
    transaction.rollback()
    assert not session.reader().receipt_exists(PROJECT)


def test_no_permit_no_write(shop: Shop) -> None:
    session: Any = shop.prepared("m")
    for door in (session.begin, lambda permit: session.prepare(permit, ()), lambda permit: session.seal(permit, ())):
        with pytest.raises(TypeError):
            door(None)
    with pytest.raises(TypeError):
        session.prepare(write_permit(), ())
    transaction = session.begin(write_permit())
    with pytest.raises(TypeError):
        transaction.commit(write_permit())
    transaction.rollback()
    with pytest.raises((PermitDenied, TypeError)):
        WritePermit(model="m", anchor="a", plan="p", statements=frozenset(), key=None)  # type: ignore[arg-type]


def test_an_error_ends_the_transaction_and_nothing_of_it_is_written(shop: Shop) -> None:
    session = shop.prepared("m")
    bad = statement(f"INSERT INTO {M} SELECT 1 // 0 / 0 AS a, CAST('abc' AS INTEGER)", role="insert")
    transaction = session.begin(write_permit(CREATE, bad))
    transaction.run(CREATE)
    with_receipt(transaction)
    with pytest.raises(WarehouseError) as caught:
        transaction.run(bad)
    assert (caught.value.code, caught.value.scope) == ("W608", "transaction")
    with pytest.raises(WarehouseError):
        transaction.commit(commit_permit())
    transaction.rollback()
    assert session.reader().catalog().find("marts", "m") is None


def test_an_error_in_a_late_row_is_raised_by_the_statement_that_has_it(shop: Shop) -> None:
    session = shop.prepared("m")
    late = statement("SELECT CASE WHEN i = 900000 THEN error('late') ELSE i END FROM range(1000000) t(i)", role="look")
    transaction = session.begin(write_permit(late))
    with pytest.raises(WarehouseError) as caught:
        transaction.run(late)
    assert caught.value.message == "late"
    transaction.rollback()


def test_create_is_its_own_probe(shop: Shop) -> None:
    session = shop.prepared("m")
    for made in (f"CREATE TABLE {M} AS SELECT 9 AS a", f"CREATE VIEW {M} AS SELECT 9 AS a"):
        first = statement(made)
        transaction = session.begin(write_permit(first, CREATE))
        transaction.run(first)
        with pytest.raises(WarehouseError):
            transaction.run(CREATE)
        transaction.rollback()


def test_drop_is_its_own_probe(shop: Shop) -> None:
    session = shop.prepared("m")
    drop = control.drop_relation("table", "marts", "m")
    transaction = session.begin(write_permit(drop))
    with pytest.raises(WarehouseError) as caught:
        transaction.run(drop)
    assert caught.value.kind == "absent"
    transaction.rollback()


def test_readers_see_the_old_table_until_the_commit(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    with_receipt(transaction)
    transaction.commit(commit_permit())
    drop, create = control.drop_relation("table", "marts", "m"), statement(f"CREATE TABLE {M} AS SELECT 2 AS a, 'y' AS b")
    transaction = session.begin(write_permit(drop, create, anchor="a2"))
    transaction.run(drop)
    transaction.run(create)
    reader = session.reader()
    assert reader.query(f"SELECT a FROM {M}") == [(1,)]
    assert with_receipt(transaction, "rec2", expected="rec1") == 1
    transaction.commit(commit_permit("rec2", "a2"))
    assert reader.query(f"SELECT a FROM {M}") == [(2,)]


def test_a_head_that_moved_is_not_moved_again(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit())
    assert with_receipt(transaction, expected="someone else's") == 0
    transaction.rollback()


def test_models_that_run_side_by_side_do_not_conflict_in_the_control_tables(shop: Shop) -> None:
    session = shop.prepared("m", "n")
    one, two = session.begin(write_permit(model="m")), session.begin(write_permit(model="n", anchor="a2"))
    assert with_receipt(one, "rec1", "m") == 1
    assert with_receipt(two, "rec2", "n") == 1
    one.commit(commit_permit("rec1", "a1"))
    two.commit(commit_permit("rec2", "a2"))
    assert [head.receipt for head in session.reader().heads(PROJECT)] == ["rec1", "rec2"]


def test_two_writers_of_one_head_conflict(shop: Shop) -> None:
    session = shop.prepared("m")
    one, two = session.begin(write_permit()), session.begin(write_permit(anchor="a2"))
    assert with_receipt(one, "rec1") == 1
    with pytest.raises(WarehouseError) as caught:
        with_receipt(two, "rec2")
    assert (caught.value.code, caught.value.kind) == ("W610", "transient")
    two.rollback()
    one.commit(commit_permit())


def test_the_staged_delta_is_gone_for_the_next_model(shop: Shop) -> None:
    session = shop.prepared("m")
    quoted = '"temp"."main"."interlock_delta"'
    for number, name in enumerate([DELTA, quoted, DELTA]):
        stage = statement(f"CREATE TEMPORARY TABLE {name} AS SELECT {number} AS a", role="stage")
        transaction = session.begin(write_permit(stage, anchor=f"a{number}"))
        transaction.run(stage)
        with_receipt(transaction, f"rec{number}", expected=f"rec{number - 1}" if number else None)
        transaction.commit(commit_permit(f"rec{number}", f"a{number}"))


def test_a_commit_that_raises_leaves_the_outcome_unknown(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    with_receipt(transaction)
    with faults.armed("warehouse.commit.after", error=RuntimeError("Query interrupted")), pytest.raises(WarehouseError) as caught:
        transaction.commit(commit_permit())
    assert (caught.value.kind, caught.value.code) == ("outcome_unknown", "K742")
    with pytest.raises(RuntimeError):
        transaction.rollback()
    # It was durable all the same: only the receipt tells.
    assert session.reader().heads(PROJECT)[0].receipt == "rec1"


def test_a_stop_before_the_commit_writes_nothing(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    with_receipt(transaction)
    with faults.armed("warehouse.commit.before"), pytest.raises(faults.FaultRaised):
        transaction.commit(commit_permit())
    transaction.rollback()
    assert session.reader().heads(PROJECT)[0].receipt is None


def test_an_interrupt_ends_the_running_statement_and_keeps_the_others_from_beginning(shop: Shop) -> None:
    session = shop.prepared("m")
    endless = statement("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range, b.range) = 1", role="look")
    transaction = session.begin(write_permit(endless))
    caught: list[WarehouseError] = []

    def work() -> None:
        with pytest.raises(WarehouseError) as info:
            transaction.run(endless)
        caught.append(info.value)

    worker = threading.Thread(target=work)
    worker.start()
    # An interrupt is lost on a statement that has not begun, so it is sent until it arrives.
    while worker.is_alive():
        session.interrupt()
        worker.join(0.01)
    assert caught[0].code == "G562"
    transaction.rollback()
    with pytest.raises(WarehouseError) as info:
        session.begin(write_permit())
    assert info.value.code == "G562"
    assert session.reader().heads(PROJECT)[0].receipt is None


def test_an_interrupt_between_statements_is_seen_before_the_commit(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    with_receipt(transaction)
    session.interrupt()
    with pytest.raises(WarehouseError) as caught:
        transaction.commit(commit_permit())
    assert caught.value.code == "G562"
    transaction.rollback()


def test_a_seal_is_written_after_an_interrupt(shop: Shop) -> None:
    session: DuckDBSession = shop.prepared("m")
    session.interrupt()
    from interlock.machines import permits  # noqa: PLC0415
    from interlock.machines.evidence import SealRow  # noqa: PLC0415

    row = SealRow(project=PROJECT, run="r1", serial=1, tip="t", outcome="partial", heads="h")
    bound = control.seal(row)
    session.seal(permits.SealPermit(run="r1", statements=frozenset({bound[0].digest}), key=permits._KEY), [bound])
    reader = session.reader()
    assert reader.last_seal(PROJECT) == row
    assert reader.seal_of(PROJECT, "r1") == row
    assert reader.seal_of(PROJECT, "r2") is None


def test_a_serial_transaction_runs_only_what_its_permit_allows_and_all_or_nothing(shop: Shop) -> None:
    session = shop.prepared()
    from interlock.machines import permits  # noqa: PLC0415

    good = control.create_schema("extra")
    bad = statement('CREATE TABLE "warehouse"."nowhere"."t" AS SELECT 1 AS a')
    permit = permits.PreparePermit(run="r1", statements=frozenset({good.digest}), key=permits._KEY)
    with pytest.raises(WarehouseError) as caught:
        session.prepare(permit, [(good, {}), (bad, {})])
    assert caught.value.code == "W612"
    permit = permits.PreparePermit(run="r1", statements=frozenset({good.digest, bad.digest}), key=permits._KEY)
    with pytest.raises(WarehouseError) as caught:
        session.prepare(permit, [(good, {}), (bad, {})])
    assert caught.value.code == "W608"
    assert "extra" not in session.reader().catalog().schemas


def move(model: str, receipt: str, expected: str | None = None, run: str = "r1") -> HeadMove:
    row = ReceiptRow(receipt=receipt, model=model, run=run, attempt=1, previous=expected, body=b"{}")
    return HeadMove(receipt=row, token="t", generation="g")


def test_receipts_and_heads_of_models_that_share_it_go_in_together(shop: Shop) -> None:
    session = shop.prepared("m", "n")
    first, second = write_permit(model="m", anchor="a1"), write_permit(model="n", anchor="a2")
    transaction = session.begin(first, second)
    transaction.publish(PROJECT, [(first, move("m", "rec1")), (second, move("n", "rec2"))])
    with pytest.raises(WarehouseError):  # each needs its own permit, for its own receipt
        transaction.commit(commit_permit("rec2", "a1"), commit_permit("rec1", "a2"))
    transaction.rollback()
    transaction = session.begin(first, second)
    transaction.publish(PROJECT, [(first, move("m", "rec1")), (second, move("n", "rec2"))])
    transaction.commit(commit_permit("rec1", "a1"), commit_permit("rec2", "a2"))
    reader = session.reader()
    assert [(head.model, head.receipt, head.token, head.generation) for head in reader.heads(PROJECT)] == [
        ("m", "rec1", "t", "g"),
        ("n", "rec2", "t", "g"),
    ]
    assert {
        row.receipt: (row.model, row.run, row.attempt, row.previous, row.body)
        for row in reader.receipts(PROJECT, ["rec1", "rec2"]).values()
    } == {
        "rec1": ("m", "r1", 1, None, b"{}"),
        "rec2": ("n", "r1", 1, None, b"{}"),
    }
    # The next ones expect what these left; one that expects something else stops all.
    again = session.begin(first, second)
    with pytest.raises(WarehouseError) as caught:
        again.publish(PROJECT, [(first, move("m", "rec3", "rec1")), (second, move("n", "rec4", "another"))])
    assert caught.value.code == "W610"
    with pytest.raises(WarehouseError):
        again.commit(commit_permit("rec3", "a1"), commit_permit("rec4", "a2"))
    again.rollback()
    assert reader.receipts(PROJECT, ["rec3", "rec4"]) == {}


def test_a_model_of_a_shared_transaction_without_a_commit_permit_stops_all(shop: Shop) -> None:
    session = shop.prepared("m", "n")
    first, second = write_permit(model="m", anchor="a1"), write_permit(model="n", anchor="a2")
    transaction = session.begin(first, second)
    transaction.publish(PROJECT, [(first, move("m", "rec1")), (second, move("n", "rec2"))])
    with pytest.raises(WarehouseError) as caught:
        transaction.commit(commit_permit("rec1", "a1"))
    assert caught.value.code == "W612"
    transaction.rollback()
    assert not session.reader().receipt_exists(PROJECT)


@pytest.mark.parametrize("case", ["a model of no permit", "the permit of another", "a permit without the fence", "twice", "another run"])
def test_a_row_that_no_permit_covers_is_not_published(case: str, shop: Shop) -> None:
    session = shop.prepared("m", "n")
    first, second = write_permit(model="m", anchor="a1"), write_permit(model="n", anchor="a2")
    if case == "a permit without the fence":
        second = WritePermit(model="n", anchor="a2", plan="plan", statements=frozenset({control.INSERT_RECEIPT.digest}), key=permits._KEY)
    transaction = session.begin(first, second)
    other = write_permit(model="o", anchor="a3")
    moves = {
        "a model of no permit": [(first, move("m", "rec1")), (other, move("o", "rec2"))],
        "the permit of another": [(first, move("m", "rec1")), (first, move("n", "rec2"))],
        "a permit without the fence": [(first, move("m", "rec1")), (second, move("n", "rec2"))],
        "twice": [(first, move("m", "rec1")), (first, move("m", "rec2"))],
        "another run": [(first, move("m", "rec1")), (second, move("n", "rec2", run="r2"))],
    }[case]
    with pytest.raises(WarehouseError) as caught:
        transaction.publish(PROJECT, moves)
    assert caught.value.code == "W612"
    with pytest.raises(WarehouseError):
        transaction.commit(commit_permit("rec1", "a1"), commit_permit("rec2", "a2"))
    transaction.rollback()
    assert not session.reader().receipt_exists(PROJECT)


def test_the_catalog_is_probed_again_only_after_something_was_written(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    fetch = reader_module.fetch
    monkeypatch.setattr(reader_module, "fetch", lambda *given: asked.append(given[1]) or fetch(*given))
    probes = lambda: sum("duckdb_columns()" in text for text in asked)  # noqa: E731
    session = shop.prepared("m")
    reader = session.reader()
    assert reader.catalog() is session.reader().catalog()
    assert probes() == 1
    transaction = session.begin(write_permit(CREATE))
    transaction.run(CREATE)
    assert reader.catalog().find("marts", "m") is None
    assert probes() == 2, "begun, so it cannot be known what is seen"
    with_receipt(transaction)
    transaction.commit(commit_permit())
    assert reader.catalog().find("marts", "m") is not None
    assert probes() == 3
    prepare(session, control.prepare(project=PROJECT, schemas=["other"], models=["m"]))
    assert "other" in reader.catalog().schemas
    assert probes() == 4
