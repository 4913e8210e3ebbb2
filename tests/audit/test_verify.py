"""Ledger against warehouse: what a chain alone cannot show, the receipts, seals and relations do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from tests.audit.conftest import Command, run, segment_of

from interlock.engine.audit.replay import Replay, replay_at
from interlock.engine.audit.tape import Read
from interlock.engine.ledger.lines import read_line, write_line
from interlock.engine.runner.ground import Ground
from interlock.engine.warehouse.duckdb.reader import DuckDBReader
from interlock.machines.evidence import CloseEvidence, CommitEvidence, Found
from interlock.machines.records import canonical, digest, digest_of

Spoil = Callable[[Path], None]


def sql(*statements: str) -> Spoil:
    def spoil(books: Path) -> None:
        with duckdb.connect(str(books / "books.duckdb")) as connection:
            for statement in statements:
                connection.execute(statement)

    return spoil


def without_last_run(books: Path) -> None:
    segment = segment_of(books)
    lines = segment.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"event":"authorize"' in line)
    segment.write_bytes(b"".join(lines[:last]))


def with_a_forged_end(books: Path) -> None:
    """The last run's records are told by somebody else, each chained as it should be."""
    segment = segment_of(books)
    lines = segment.read_bytes().splitlines(keepends=True)
    begin = [number for number, line in enumerate(lines) if b'"event":"authorize"' in line][1]
    parent = read_line(lines[begin - 1]).digest
    renamed: dict[str, str] = {}
    replay = Replay()
    for data in lines[:begin]:
        replay.record(Read(read_line(data), "", data))
    for number in range(begin, len(lines)):
        old = read_line(lines[number])
        told = msgspec.json.decode(lines[number])["record"]
        text = msgspec.json.encode({**told, "parent": parent, "actor": "nobody"}).decode()
        for before, after in renamed.items():
            text = text.replace(before, after)
        entry = msgspec.json.decode(text, type=type(old.entry))
        if isinstance(entry.evidence, CommitEvidence) and isinstance(entry.evidence.receipt, Found):
            receipt = Found(id=digest_of("receipt", entry.evidence.receipt.body), body=entry.evidence.receipt.body)
            renamed[entry.evidence.receipt.id] = receipt.id
            entry = msgspec.structs.replace(entry, evidence=msgspec.structs.replace(entry.evidence, receipt=receipt))
        if isinstance(entry.evidence, CloseEvidence):
            # The seal is told of the heads that the forged receipts make.
            heads = digest_of("heads", sorted([name, known.head.receipt, known.head.token] for name, known in replay.fold.models.items()))
            seal = msgspec.structs.replace(entry.evidence.seal_expected, heads=heads)
            entry = msgspec.structs.replace(entry, evidence=msgspec.structs.replace(entry.evidence, seal=seal, seal_expected=seal))
        line = write_line(msgspec.structs.replace(entry, parent=parent))
        replay.record(Read(read_line(line.data), "", line.data))
        renamed[old.digest] = parent = line.digest
        lines[number] = line.data
    segment.write_bytes(b"".join(lines))


def with_a_foreign_receipt(books: Path) -> None:
    with duckdb.connect(str(books / "books.duckdb")) as connection:
        row = connection.execute(
            "SELECT project, model, run, attempt, previous, body FROM interlock.receipts WHERE model = 'sales' LIMIT 1"
        ).fetchone()
        assert row is not None
        body = msgspec.json.decode(row[5])
        data = canonical({**body, "anchor": "f" * 64})
        connection.execute(
            "INSERT INTO interlock.receipts VALUES (?, ?, ?, ?, ?, ?, ?)", [digest("receipt", data), *row[:5], data.decode()]
        )


SPOILT: dict[str, tuple[Spoil, int, str, str]] = {
    "a cut tail": (without_last_run, 4, "seals", "K702"),
    "a forged consistent tail": (with_a_forged_end, 4, "receipts", "K702"),
    "a foreign receipt": (with_a_foreign_receipt, 4, "receipts", "K702"),
    "a receipt that was altered": (
        sql("UPDATE interlock.receipts SET body = replace(body, '\"rows_written\":2', '\"rows_written\":3')"),
        4,
        "receipts",
        "K706",
    ),
    "a receipt that is gone": (sql("DELETE FROM interlock.receipts WHERE model = 'sales' AND previous IS NULL"), 4, "receipts", "K703"),
    "a head that was moved": (sql("UPDATE interlock.heads SET receipt = NULL WHERE model = 'by_day'"), 4, "heads", "K709"),
    "a seal that is gone": (sql("DELETE FROM interlock.seals WHERE serial = 2"), 4, "seals", "K703"),
    "a table of seals that is gone": (sql("DROP TABLE interlock.seals"), 4, "seals", "K703"),
    "a seal of another tip": (sql("UPDATE interlock.seals SET tip = repeat('f', 64) WHERE serial = 1"), 4, "seals", "K709"),
    "another ledger's identity": (sql("UPDATE interlock.identity SET ledger = 'other'"), 4, "identity", "K704"),
    "a row more": (sql("INSERT INTO main.sales VALUES (9, DATE '2026-03-02', 1)"), 3, "contents", "P408"),
    "a row changed in place": (sql("UPDATE main.sales SET amount = 99 WHERE id = 1"), 3, "contents", "P408"),
    "a column more": (sql("ALTER TABLE main.sales ADD COLUMN x INTEGER"), 3, "relations", "P408"),
    "a table made anew": (sql("CREATE OR REPLACE TABLE main.by_day AS SELECT * FROM main.by_day"), 3, "relations", "P417"),
    "a table that is gone": (sql("DROP TABLE main.by_day"), 3, "relations", "P419"),
    "a view where a table stood": (sql("DROP TABLE main.by_day", "CREATE VIEW main.by_day AS SELECT 1 AS x"), 3, "relations", "P418"),
}


def test_what_was_left_alone_agrees(books: Path, interlock: Command) -> None:
    answer = interlock("audit", "verify", "--project", str(books))
    assert answer["result"]["verified"]["mismatches"] == []
    looked = {each["topic"]: each["count"] for each in answer["result"]["verified"]["looked"]}
    assert (looked["receipts"], looked["seals"], looked["relations"], looked["contents"]) == (5, 3, 3, 2)


@pytest.mark.parametrize("name", SPOILT)
def test_what_was_spoilt_is_found(name: str, books: Path, interlock: Command) -> None:
    spoil, exits, topic, code = SPOILT[name]
    spoil(books)
    answer: dict[str, Any] = interlock("audit", "verify", "--project", str(books), exits=exits)
    found = {(each["topic"], each["code"]) for each in answer["result"]["verified"]["mismatches"]}
    assert (topic, code) in found, answer["result"]["verified"]["mismatches"]


def test_seals_without_an_identity_are_there_all_the_same(books: Path, interlock: Command) -> None:
    sql("DELETE FROM interlock.identity")(books)
    verified = interlock("audit", "verify", "--project", str(books), exits=4)["result"]["verified"]
    assert [each["topic"] for each in verified["mismatches"]] == ["identity"]
    assert {"topic": "seals", "count": 3} in verified["looked"]


VERIFY, COMPACT = ("audit", "verify"), ("receipts", "compact", "--target", "dev", "--yes")


@pytest.mark.parametrize(
    ("act", "column"),
    [
        *((VERIFY, column) for column in ("receipt", "project", "model", "run", "attempt", "previous", "body")),
        *((COMPACT, column) for column in ("receipt", "project", "model", "body")),
    ],
)
def test_a_column_of_receipts_that_somebody_took_out_is_no_answer(
    act: tuple[str, ...], column: str, books: Path, interlock: Command
) -> None:
    sql(
        "DROP VIEW interlock.history",
        "CREATE TABLE interlock.kept AS FROM interlock.receipts",
        "DROP TABLE interlock.receipts",
        f"CREATE TABLE interlock.receipts AS SELECT * EXCLUDE ({column}) FROM interlock.kept",
    )(books)
    answer = interlock(*act, "--project", str(books), exits=4)
    assert [each["code"] for each in answer["findings"]] == ["K706"]


def test_no_receipt_at_all_where_heads_name_them_stops_their_compaction(books: Path, interlock: Command) -> None:
    sql("DELETE FROM interlock.receipts")(books)
    answer = interlock(*COMPACT, "--project", str(books), exits=4)
    assert [each["code"] for each in answer["findings"]] == ["K706"]


@pytest.mark.parametrize("spoil", [without_last_run, with_a_forged_end])
def test_the_chain_alone_shows_no_cut_and_no_forged_end(spoil: Spoil, books: Path) -> None:
    spoil(books)
    assert replay_at(books / "books.duckdb.interlock").flaws == ()


def test_a_run_that_ends_while_the_database_is_waited_for_is_no_cut_end(
    books: Path, interlock: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ledger is read when nobody can write any more: what it said before the wait is older than the warehouse."""
    at_once = Ground.reader

    def waits(ground: Ground, macros: tuple[str, ...] = ()) -> DuckDBReader | None:
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(Ground, "reader", at_once)
            (books / "sales.csv").write_text("id,day,amount\n1,2026-03-02,10\n2,2026-03-02,20\n3,2026-03-03,30\n5,2026-03-04,50\n")
            run("run", "--project", str(books), "--as-of", "2026-03-05T12:00:00Z", exits=0)
        capsys.readouterr()
        return at_once(ground, macros)

    monkeypatch.setattr(Ground, "reader", waits)
    answer = interlock("audit", "verify", "--project", str(books))
    assert answer["result"]["verified"]["mismatches"] == []
    assert {"topic": "seals", "count": 4} in answer["result"]["verified"]["looked"]


def test_without_a_database_it_says_so(books: Path, interlock: Command) -> None:
    (books / "books.duckdb").unlink()
    answer = interlock("audit", "verify", "--project", str(books), exits=4)
    assert [each["code"] for each in answer["result"]["verified"]["mismatches"]] == ["K705"]


def test_a_lost_ledger_is_none_that_a_run_begins(books: Path, interlock: Command) -> None:
    """The warehouse names it, and a run is refused by the same code."""
    shutil.rmtree(books / "books.duckdb.interlock")
    answer = interlock("audit", "verify", "--project", str(books), exits=4)
    assert [(each["code"], each["invariant"]) for each in answer["findings"]] == [("K701", "I2")]
    (books / "books.duckdb").unlink()
    answer = interlock("audit", "verify", "--project", str(books), exits=3)
    assert [each["code"] for each in answer["findings"]] == ["S101"]


def test_a_ledger_that_does_not_answer_is_neither_lost_nor_broken(books: Path, interlock: Command) -> None:
    segment = segment_of(books)
    kept = segment.read_bytes()
    segment.unlink()
    segment.mkdir()
    answer = interlock("audit", "verify", "--project", str(books), exits=4)
    assert [each["code"] for each in answer["result"]["verified"]["mismatches"] if each["topic"] == "ledger"] == ["K708"]
    segment.rmdir()
    segment.write_bytes(kept)
    directory = segment.parent
    directory.rename(directory.with_name("elsewhere"))
    directory.symlink_to(directory)
    for question in ("verify", "replay", "log"):
        answer = interlock("audit", question, "--project", str(books), exits=4)
        assert [each["code"] for each in answer["findings"]] == ["K708"]


def test_a_content_that_another_engine_fingerprinted_is_not_evaluated(
    books: Path, interlock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer engine's hashes are others: that is no edit of rows, and no pass either. Rows are counted all the same."""
    monkeypatch.setattr("interlock.engine.audit.verify.ENGINE", "99.0.0")
    monkeypatch.setattr("interlock.engine.warehouse.duckdb.write._fingerprint_fields", lambda: ["'sum': '1'", "'xor': '2'"])
    found = interlock("audit", "verify", "--project", str(books))["result"]["verified"]["mismatches"]
    assert {(each["topic"], each["severity"]) for each in found} == {("contents", "warning")}
    assert all("99.0.0 cannot tell" in each["because"] for each in found)
    sql("DELETE FROM main.sales WHERE id = 1")(books)
    found = interlock("audit", "verify", "--project", str(books), exits=3)["result"]["verified"]["mismatches"]
    assert [each["subject"] for each in found if each["severity"] == "error"] == ["sales"]


def test_the_last_seal_speaks_of_a_head_that_was_changed_since(books: Path, interlock: Command) -> None:
    sql("UPDATE interlock.heads SET token = repeat('0', 64) WHERE model = 'sales'")(books)
    found = interlock("audit", "verify", "--project", str(books), exits=4)["result"]["verified"]["mismatches"]
    assert {("heads", "K709"), ("seals", "K709")} <= {(each["topic"], each["code"]) for each in found}
