"""Histories that were found by hand: each is one gap between two durable steps, and what must follow from it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from tests.faults import world
from tests.faults.sweep import Server

from interlock.engine import faults
from interlock.engine.ledger.reader import LedgerWhole, entries, read
from interlock.engine.runner import attempt, bench, carry, writing
from interlock.engine.warehouse.duckdb.reader import DuckDBReader
from interlock.engine.warehouse.duckdb.session import DuckDBSession
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.machines.publication import PUBLICATION_NAMES
from interlock.machines.records import canonical, digest

FILES = {
    "interlock.toml": world.FILES["interlock.toml"],
    "sources.toml": world.EVENTS,
    "models/a.sql": "SELECT id, ts, amount FROM events",
    "models/a.toml": world.INCREMENTAL
    + 'strategy = "append"\n[[checks]]\nunique = ["id"]\n[[checks]]\nsql = "SELECT * FROM a WHERE amount > 10"\n'
    'severity = "warn"\n',
    "models/b.sql": "SELECT count(*) AS n FROM a",
    "models/b.toml": 'materialized = "table"\n',
    "landing/a.csv": "id,ts,amount\n1,2024-01-01 01:00:00,1\n2,2024-01-01 02:00:00,2\n3,2024-01-02 00:00:00,30\n",
}
NEWS = "id,ts,amount\n4,2024-01-03 01:00:00,40\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """After a first run, with news."""
    root = tmp_path_factory.mktemp("built") / "shop"
    world.lay(root, FILES)
    answer = world.command(root, "run")
    assert answer.exit == 0, answer.brief
    world.lay(root, {"landing/b.csv": NEWS})
    return root


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "shop")
    return tmp_path / "shop"


def ledger(root: Path) -> LedgerWhole:
    found = read(root / "world.duckdb.interlock" / world.PROJECT)
    assert isinstance(found, LedgerWhole), found
    return found


def rows(root: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(root / "world.duckdb")) as connection:
        return connection.execute(query).fetchall()


def ended_well(root: Path) -> None:
    world.demand_sound(root)
    assert rows(root, "SELECT count(*), count(DISTINCT id) FROM main.a") == [(4, 4)]
    assert rows(root, "SELECT n FROM main.b") == [(4,)]


def demand(answer: world.Answer, code: int, *codes: str) -> None:
    assert answer.exit == code, answer.brief
    assert set(codes) <= answer.codes, answer.brief


# --- between COMMIT and its record --------------------------------------------------------------------------------------


def test_a_failed_warn_check_survives_a_kill_between_commit_and_its_record(shop: Path, server: Server) -> None:
    assert server.give(shop, "run", fault="warehouse.commit.after:1:kill") == -9
    demand(world.command(shop, "resume"), 0)
    (record,) = [
        entry.evidence for _, entry in records(shop) if entry.event == "commit" and entry.by is not None and entry.subject.startswith("a#")
    ]
    verdicts = {verdict.check: (verdict.severity, verdict.outcome, verdict.failing) for verdict in record.receipt.body.verdicts}
    assert verdicts["sql"] == ("warn", "failed", 2)
    assert verdicts["unique_id"][:2] == ("error", "passed")
    ended_well(shop)


def records(root: Path) -> list[Any]:
    return list(entries(root / "world.duckdb.interlock" / world.PROJECT))


def forge(root: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Make, by hand, a receipt of the same attempt that says something else, and let the head name it."""
    with duckdb.connect(str(root / "world.duckdb")) as connection:
        ((receipt, body),) = connection.execute(
            "SELECT receipt, body FROM interlock.receipts JOIN interlock.heads USING (receipt) WHERE heads.model = 'a'"
        ).fetchall()
        fields = json.loads(body)
        change(fields)
        stored = canonical(fields)
        forged = digest("receipt", stored)
        connection.execute("UPDATE interlock.receipts SET receipt = ?, body = ? WHERE receipt = ?", [forged, stored.decode(), receipt])
        connection.execute("UPDATE interlock.heads SET receipt = ? WHERE model = 'a'", [forged])


def failed(fields: dict[str, Any]) -> None:
    for verdict in fields["verdicts"]:
        verdict.update(outcome="failed", failing=1)


def other_head(fields: dict[str, Any]) -> None:
    fields["head"] = {"receipt": "0" * 64, "token": None}


def no_check(fields: dict[str, Any]) -> None:
    fields["verdicts"] = []


@pytest.mark.parametrize("change", [failed, other_head, no_check], ids=lambda change: change.__name__)
@pytest.mark.parametrize("by", ["run", "resume"])
def test_a_receipt_whose_guards_do_not_hold_is_a_contradiction_until_a_person_decides(
    shop: Path, server: Server, change: Callable[[dict[str, Any]], None], by: str
) -> None:
    assert server.give(shop, "run", fault="warehouse.commit.after:1:kill") == -9
    forge(shop, change)
    demand(world.command(shop, by), 4, "K709")
    assert ledger(shop).fold.contradictions
    demand(world.command(shop, "run"), 4, "K709")
    demand(world.command(shop, "ledger", "accept-warehouse", "--yes", "--reason", "looked at it"), 0)
    demand(world.command(shop, "run"), 0)
    world.demand_sound(shop)


@pytest.mark.parametrize("by", ["run", "resume"])
def test_after_a_contradiction_no_other_model_is_written_either(shop: Path, server: Server, by: str) -> None:
    assert server.give(shop, "run", fault="warehouse.commit.after:1:kill") == -9
    forge(shop, failed)
    world.lay(shop, {"models/c.sql": "SELECT 1 AS one", "models/c.toml": 'materialized = "table"\n'})
    for _ in range(2):
        demand(world.command(shop, by), 4, "K709")
    assert rows(shop, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY ALL") == [("a",), ("b",)]


CHANGED_BY_HAND = (
    "UPDATE interlock.heads SET token = repeat('0', 64) WHERE model = 'a'",
    "UPDATE interlock.heads SET token = NULL WHERE model = 'a'",
    "UPDATE interlock.heads SET generation = repeat('0', 64) WHERE model = 'a'",
    "UPDATE interlock.heads SET generation = NULL WHERE model = 'a'",
    "UPDATE interlock.seals SET heads = repeat('0', 64) WHERE serial = (SELECT max(serial) FROM interlock.seals)",
    "UPDATE interlock.seals SET tip = repeat('0', 64) WHERE serial = (SELECT max(serial) FROM interlock.seals)",
)
STOPS = ("", "warehouse.commit.after:1:kill", "warehouse.seal.commit.after:1:kill")
"""Nothing open; between a model's COMMIT and its record; between the seal and the record that closes its run."""


@pytest.mark.parametrize("change", CHANGED_BY_HAND)
@pytest.mark.parametrize("stop", STOPS)
def test_what_somebody_changed_in_a_head_or_the_last_seal_stops_every_command_until_a_person_decides(
    shop: Path, server: Server, stop: str, change: str
) -> None:
    if stop:
        assert server.give(shop, "run", fault=stop) == -9
    rows(shop, change)
    before = len(records(shop))
    for words in (("plan",), ("run",), ("resume",), ("adopt", "a", "--yes")):
        answer = world.command(shop, *words)
        # A seal of a run that is open, with a tip that the ledger does not have, is of another ledger's end.
        wanted = "K702" if "seal" in stop and "tip" in change else "K709"
        demand(answer, 4, wanted)
    assert len(records(shop)) == before
    demand(world.command(shop, "doctor"), 4)
    demand(world.command(shop, "audit", "verify"), 4)
    demand(world.command(shop, "ledger", "accept-warehouse", "--yes", "--reason", "looked at it"), 0)
    demand(world.command(shop, "run"), 0)
    demand(world.command(shop, "doctor"), 0)
    demand(world.command(shop, "audit", "verify"), 0)
    ended_well(shop)


def test_what_an_earlier_release_let_a_person_adopt_under_a_changed_head_is_no_broken_ledger(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(shop, CHANGED_BY_HAND[0])
    with monkeypatch.context() as patch:
        patch.setattr("interlock.engine.runner.heads._against", lambda *_: iter(()))
        demand(world.command(shop, "adopt", "a", "--yes"), 0)
    demand(world.command(shop, "audit", "verify"), 0)
    demand(world.command(shop, "run"), 0)
    world.demand_sound(shop)


def test_receipts_that_cannot_be_read_leave_the_outcome_open_until_they_can(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        heard = DuckDBReader.published

        def published(self: DuckDBReader, project: str, models: object) -> Any:
            raise WarehouseError("the disk did not answer", kind="permanent", scope="target", code="W608")

        patch.setattr(DuckDBReader, "published", published)
        answer = world.command(shop, "run")
        demand(answer, 3)
        assert "in_doubt" in answer.out
        fold = ledger(shop).fold
        (run,) = fold.open.values()
        assert [attempt.state for attempt in run.open_attempts] == ["bootstrapping"]
        # While it cannot be read, nothing settles it, however often one asks.
        demand(world.command(shop, "resume"), 3, "K742")
        demand(world.command(shop, "run"), 3, "K742")
        assert [attempt.state for attempt in ledger(shop).fold.open[run.run].open_attempts] == ["bootstrapping"]
        assert heard is not DuckDBReader.published
    demand(world.command(shop, "resume"), 0)
    ended_well(shop)


@pytest.mark.parametrize("record", range(4, 9))
def test_a_full_disk_under_the_ledger_stops_the_run_and_the_next_one_finds_what_committed(shop: Path, record: int) -> None:
    with faults.armed("ledger.write.before", nth=record, error=OSError(28, "No space left on device")) as visits:
        demand(world.command(shop, "run"), 4, "K741")
    assert visits.count("ledger.write.before") >= record
    demand(world.command(shop, "resume"), 0)
    ended_well(shop)


class Unwell:
    """A fault device: the warehouse says, each time that it comes to a point, that another transaction was faster."""

    def __init__(self, name: str, times: int) -> None:
        self._name = name
        self._left = times
        self.raised = 0

    def visit(self, name: str) -> None:
        if name == self._name and self._left:
            self._left -= 1
            self.raised += 1
            raise duckdb.TransactionException("Conflict on tuple deletion!")


WIDE = {
    "interlock.toml": world.FILES["interlock.toml"]
    .replace("threads = 1", "threads = 4")
    .replace("create = true\n", 'create = true\nsettings = { checkpoint_threshold = "100KB" }\n'),
    "models/base.sql": "SELECT 1 AS one",
    "models/base.toml": 'materialized = "table"\n',
}
MANY = {f"models/{name}.sql": "SELECT i::BIGINT AS i, hash(i) AS h, one FROM range(3000) AS t(i), base" for name in "abcdefgh"} | {
    f"models/{name}.toml": 'materialized = "incremental"\nwatermark = "i"\nuntil = "none"\nstrategy = "append"\n' for name in "abcdefgh"
}


@pytest.mark.parametrize("room", [250_000, 700_000, 1_450_000])
def test_a_full_disk_in_one_models_checkpoint_while_others_write_leaves_no_doubt(tmp_path: Path, server: Server, room: int) -> None:
    """A checkpoint that fails takes the whole database along, with COMMITs that are durable and some that are not."""
    root = tmp_path / "wide"
    world.lay(root, WIDE)
    demand(world.command(root, "run"), 0)
    world.lay(root, MANY)
    size = (root / "world.duckdb").stat().st_size
    assert server.give(root, "run", "--json", file_bytes_max=size + room) == 3
    said = world.Answer(3, (tmp_path / "wide.log").read_text(encoding="utf-8"))
    assert "File too large" in said.out, said.brief
    assert "in_doubt" not in said.out, said.brief
    # Each model has its end, or the run is open for want of a seal alone.
    attempts = [attempt for run in ledger(root).fold.runs.values() for attempt in run.attempts.values()]
    assert {attempt.state for attempt in attempts} <= {"checkpointed", "refused"}
    receipts = rows(root, "SELECT model FROM interlock.receipts")
    assert {attempt.model for attempt in attempts if attempt.state == "checkpointed"} == {model for (model,) in receipts}
    demand(world.command(root, "run"), 0)
    world.demand_sound(root)
    for name in "abcdefgh":
        assert rows(root, f"SELECT count(*), count(DISTINCT i) FROM main.{name}") == [(3000, 3000)]


@pytest.mark.parametrize("again", ["it opens", "it does not open"])
def test_a_warehouse_that_gives_no_answer_after_a_commit_is_opened_once_more(
    shop: Path, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    reader, reopen = DuckDBSession.reader, DuckDBSession.reopen
    broken: list[str] = []
    silent = WarehouseError("the database has been invalidated", kind="permanent", scope="database", code="W611")

    class Breaking(Unwell):
        def visit(self, name: str) -> None:
            if name == "warehouse.commit.after":
                broken.append(name)
            super().visit(name)

    def deaf(self: DuckDBSession) -> DuckDBReader:
        if broken:
            raise silent
        return reader(self)

    def opened(self: DuckDBSession) -> None:
        if again != "it opens":
            raise silent
        reopen(self)
        broken.clear()

    with monkeypatch.context() as patch:
        patch.setattr(DuckDBSession, "reader", deaf)
        patch.setattr(DuckDBSession, "reopen", opened)
        patch.setattr(faults, "_device", Breaking("warehouse.commit.after", 1))
        answer = world.command(shop, "run")
    demand(answer, 3)
    models = {model["model"]: (model["state"], model["code"]) for model in msgspec.json.decode(answer.out)["result"]["models"]}
    if again == "it opens":
        assert models == {"a": ("checkpointed", ""), "b": ("refused", "W611")}
    else:
        assert models["a"][0] == "in_doubt"
        assert models["b"] == ("refused", "W611")
        assert ledger(shop).fold.open
    demand(world.command(shop, "resume"), 0)
    ended_well(shop)


# --- files that were cut, lost or restored ------------------------------------------------------------------------------


def test_a_log_cut_by_its_last_bytes_takes_a_write_back_that_was_not_on_record(shop: Path, server: Server) -> None:
    assert server.give(shop, "run", fault="warehouse.commit.after:1:kill") == -9
    cut(shop)
    demand(world.command(shop, "resume"), 0)
    ended_well(shop)


def test_a_log_cut_by_its_last_bytes_after_the_checkpoint_is_an_older_warehouse(shop: Path, server: Server) -> None:
    assert server.give(shop, "run", fault="warehouse.commit.before:2:kill") == -9
    assert ledger(shop).fold.models["a"].attempt.state == "checkpointed"  # type: ignore[union-attr]
    cut(shop)
    for command in ("resume", "run", "plan"):
        demand(world.command(shop, command), 4, "K703")
    demand(world.command(shop, "ledger", "accept-warehouse", "--yes", "--reason", "power failure"), 0)
    demand(world.command(shop, "run"), 0)
    ended_well(shop)


def cut(root: Path) -> None:
    log = root / "world.duckdb.wal"
    content = log.read_bytes()
    log.write_bytes(content[:-7])


def test_a_kill_while_the_database_file_is_made_is_no_dead_end(tmp_path: Path, server: Server) -> None:
    root = tmp_path / "shop"
    world.lay(root, FILES | {"landing/b.csv": NEWS})
    assert server.give(root, "run", fault="warehouse.attach.before:1:kill") == -9
    (root / "world.duckdb").touch()
    demand(world.command(root, "resume"), 3, "P430")
    demand(world.command(root, "run"), 0)
    ended_well(root)


def test_an_empty_file_that_stands_where_writes_are_on_record_is_not_removed(shop: Path) -> None:
    (shop / "world.duckdb").write_bytes(b"")
    for command in ("run", "resume"):
        demand(world.command(shop, command), 4, "K705")
    assert (shop / "world.duckdb").exists()


def test_a_database_removed_by_hand_is_gone_and_not_made_again(shop: Path) -> None:
    (shop / "world.duckdb").unlink()
    for command in ("run", "resume", "plan"):
        demand(world.command(shop, command), 4, "K705")
    assert not (shop / "world.duckdb").exists()
    demand(world.command(shop, "reset", "--target", "dev", "--yes"), 0)
    demand(world.command(shop, "run"), 0)
    ended_well(shop)


def test_yesterdays_ledger_beside_todays_warehouse_is_refused(shop: Path, tmp_path: Path) -> None:
    directory = shop / "world.duckdb.interlock"
    shutil.copytree(directory, tmp_path / "yesterday")
    demand(world.command(shop, "run"), 0)
    shutil.rmtree(directory)
    shutil.copytree(tmp_path / "yesterday", directory)
    for command in ("run", "resume", "plan"):
        demand(world.command(shop, command), 4, "K702")
    demand(world.command(shop, "ledger", "accept-warehouse", "--yes"), 0)
    demand(world.command(shop, "run"), 0)
    ended_well(shop)


def test_a_ledger_of_before_a_run_that_was_killed_after_its_commit_is_older_than_the_warehouse(
    shop: Path, tmp_path: Path, server: Server
) -> None:
    """No seal tells of that run: the receipt alone does."""
    beside = shop / "world.duckdb.interlock"
    shutil.copytree(beside, tmp_path / "yesterday")
    assert server.give(shop, "run", fault="warehouse.commit.after:1:kill") == -9
    shutil.rmtree(beside)
    shutil.copytree(tmp_path / "yesterday", beside)
    for command in ("run", "resume", "plan"):
        demand(world.command(shop, command), 4, "K702")


def test_a_ledger_of_another_project_is_not_taken_for_ones_own(shop: Path) -> None:
    beside = shop / "world.duckdb.interlock"
    other = world.FILES["interlock.toml"].replace(world.PROJECT, "0ther00000000002")
    world.lay(shop, {"interlock.toml": other.replace("0ther", "07ae9")})
    (beside / world.PROJECT).rename(beside / "07ae900000000002")
    for command in ("run", "resume"):
        demand(world.command(shop, command), 4, "K704")


# --- several at once ----------------------------------------------------------------------------------------------------


def test_two_models_in_one_fsync_group_and_a_kill_after_the_second_receipt(tmp_path: Path, server: Server) -> None:
    root = tmp_path / "wide"
    files = {name: text for name, text in FILES.items() if not name.startswith("models/")}
    for name in "abcd":
        files |= {f"models/{name}.sql": FILES["models/a.sql"], f"models/{name}.toml": world.INCREMENTAL + 'strategy = "append"\n'}
    world.lay(root, files)
    assert server.give(root, "run", "--threads", "4", fault="warehouse.commit.after:2:kill") == -9
    demand(world.command(root, "resume"), 0)
    world.demand_sound(root)
    for name in "abcd":
        assert rows(root, f"SELECT count(*) FROM main.{name}") == [(3,)]


@pytest.mark.parametrize("first", ["first", "later"])
def test_of_two_runs_started_at_the_same_moment_exactly_one_writes(shop: Path, tmp_path: Path, server: Server, first: str) -> None:
    root = shop
    if first == "first":
        root = tmp_path / "new"
        world.lay(root, FILES | {"landing/b.csv": NEWS})
    other = Server()
    try:
        found: list[int] = []
        threads = [threading.Thread(target=lambda each=each: found.append(each.give(root, "run", "--json"))) for each in (server, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        other.close()
    assert sorted(found) in ([0, 3], [0, 0])
    ended_well(root)
    assert rows(root, "SELECT count(*) FROM interlock.receipts WHERE model = 'b'") == [(1 if first == "first" else 2,)]


@pytest.mark.parametrize(
    ("point", "times", "tried"),
    [("warehouse.begin.before", 2, 3), ("warehouse.begin.before", 9, None), ("warehouse.look.before", 1, None)],
)
def test_a_transient_error_is_retried_before_a_write_and_never_after_one(
    shop: Path, monkeypatch: pytest.MonkeyPatch, point: str, times: int, tried: int | None
) -> None:
    unwell = Unwell(point, times)
    with monkeypatch.context() as patch:
        patch.setattr(carry, "Bench", lambda **told: bench.Bench(**told, pause=lambda _: None))
        patch.setattr(faults, "_device", unwell)
        answer = world.command(shop, "run")
    if tried is None:
        demand(answer, 3)
        assert '"code":"W610"' in answer.out
        assert unwell.raised == (writing.TRIES_MAX if times > writing.TRIES_MAX else 1)
    else:
        demand(answer, 0)
        (record,) = [entry.evidence for _, entry in records(shop) if entry.event == "commit" and entry.subject == "a#1"][1:]
        assert record.tries == tried
    demand(world.command(shop, "run"), 0)
    ended_well(shop)


def test_a_ledger_that_lost_a_run_which_wrote_no_model_is_older_than_the_warehouse(shop: Path, tmp_path: Path) -> None:
    demand(world.command(shop, "run"), 0)
    beside = shop / "world.duckdb.interlock"
    shutil.copytree(beside, tmp_path / "kept")
    world.lay(shop, {"models/b.sql": "SELECT count(*) AS n, CAST('x' || count(*) AS INTEGER) AS m FROM a"})
    demand(world.command(shop, "run"), 3)
    shutil.rmtree(beside)
    (tmp_path / "kept").rename(beside)
    for command in ("plan", "run", "resume"):
        demand(world.command(shop, command), 4, "K702")


# --- what resume is held to ---------------------------------------------------------------------------------------------


def test_a_resumed_run_names_the_one_that_it_continues_and_counts_its_attempts(shop: Path, server: Server) -> None:
    assert server.give(shop, "run", fault="warehouse.create.before:1:kill") == -9
    assert server.give(shop, "resume", fault="warehouse.create.before:1:kill") == -9
    demand(world.command(shop, "resume"), 0)
    fold = ledger(shop).fold
    runs = list(fold.runs.values())[-3:]
    assert [run.authorize.continues for run in runs if run.authorize is not None] == [None, runs[0].run, runs[1].run]
    assert [run.attempts["b"].subject for run in runs] == ["b#1", "b#2", "b#3"]
    assert [run.close.outcome for run in runs if run.close is not None] == ["partial", "partial", "succeeded"]
    ended_well(shop)


def test_resume_does_not_take_up_work_that_somebody_elses_run_moved(shop: Path, server: Server) -> None:
    answer = world.command(shop, "plan")
    plan = msgspec.json.decode(answer.out)["result"]["plan"]
    assert server.give(shop, "apply", plan, fault="warehouse.create.before:1:kill") == -9
    demand(world.command(shop, "run"), 0)
    (first, *_) = [run.run for run in ledger(shop).fold.runs.values() if run.plan == plan]
    refused = world.command(shop, "resume", first)
    demand(refused, 3, "P409")
    ended_well(shop)


def test_resume_reads_no_receipt_that_was_altered_as_one_that_is_absent(shop: Path, server: Server) -> None:
    assert server.give(shop, "run", fault="warehouse.commit.after:1:kill") == -9
    with duckdb.connect(str(shop / "world.duckdb")) as connection:
        connection.execute("UPDATE interlock.receipts SET body = replace(body, 'amount', 'AMOUNT') WHERE model = 'a'")
    before = ledger(shop).tip
    demand(world.command(shop, "resume"), 4, "K706")
    assert ledger(shop).tip == before
    with duckdb.connect(str(shop / "world.duckdb")) as connection:
        connection.execute("UPDATE interlock.receipts SET body = replace(body, 'AMOUNT', 'amount') WHERE model = 'a'")
    demand(world.command(shop, "resume"), 0)
    ended_well(shop)


def test_recovery_asks_the_guards_that_the_record_names_and_no_other(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = PUBLICATION_NAMES[:-1]
    with monkeypatch.context() as patch, faults.armed("warehouse.commit.after"):
        # The release that was killed knew one guard less.
        patch.setattr(attempt, "PUBLICATION_NAMES", fewer)
        assert world.command(shop, "run").exit == 1
    demand(world.command(shop, "resume"), 0)
    asked = {entry.subject: [verdict.guard for verdict in entry.verdicts] for _, entry in records(shop) if entry.event == "commit"}
    assert asked["a#1"] == [*fewer, "receipt_is_durable"]
    assert asked["b#2"] == [*PUBLICATION_NAMES, "receipt_is_durable"] or asked["b#1"] == [*PUBLICATION_NAMES, "receipt_is_durable"]
    ended_well(shop)


@pytest.mark.parametrize(
    "fault",
    [
        *("warehouse.genesis.before:1", "warehouse.genesis.commit.after:1", "ledger.write.after:1", "warehouse.prepare.before:1"),
        *("warehouse.prepare.commit.after:1", "ledger.write.before:2", "ledger.write.after:2", "warehouse.seal.before:1"),
        *("warehouse.seal.commit.after:1", "ledger.fsync.after:2"),
    ],
)
def test_a_first_run_killed_between_two_of_its_steps_is_finished_once(tmp_path: Path, server: Server, fault: str) -> None:
    root = tmp_path / "shop"
    world.lay(root, FILES | {"landing/b.csv": NEWS})
    assert server.give(root, "run", fault=f"{fault}:kill") == -9
    answer = world.command(root, "resume")
    assert answer.exit == 0 or answer.codes == {"P430"}, answer.brief
    demand(world.command(root, "run"), 0)
    ended_well(root)
    assert rows(root, "SELECT model, count(*) FROM interlock.receipts GROUP BY ALL ORDER BY ALL") == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("again", ["warehouse.commit.after:1", "warehouse.seal.commit.after:2"])
def test_a_run_that_was_resumed_by_one_that_died_is_resumed_by_its_own_name(shop: Path, server: Server, again: str) -> None:
    """What the second run left is of the same plan: the first is no less to be resumed for it, and neither stays open."""
    assert server.give(shop, "run", fault="warehouse.commit.before:1:kill") == -9
    assert server.give(shop, "resume", fault=f"{again}:kill") == -9
    found = read(shop / "world.duckdb.interlock" / world.PROJECT)
    assert isinstance(found, LedgerWhole)
    *_, first, second = found.fold.runs
    assert list(found.fold.open) == [second]
    demand(world.command(shop, "resume", first), 0)
    found = read(shop / "world.duckdb.interlock" / world.PROJECT)
    assert isinstance(found, LedgerWhole)
    assert not found.fold.open
    assert rows(shop, "SELECT count(*), count(DISTINCT id) FROM main.a") == [(4, 4)]
    assert rows(shop, "SELECT n FROM main.b") == [(4,)]
    world.demand_sound(shop)
