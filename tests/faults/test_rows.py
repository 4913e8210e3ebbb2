"""Every row of both recovery tables, reached by files and databases as they come to be, and not by calling the tables."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import msgspec
import pytest
from tests.faults import world
from tests.faults.sweep import Server
from tests.faults.test_bad_input import durable
from tests.faults.test_histories import FILES, NEWS, cut, failed, forge

from interlock.engine.planner import choose
from interlock.engine.planner.recovery import ModelRow, tables
from interlock.machines.records import canonical, digest

BESIDE = "world.duckdb.interlock"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rows") / "shop"
    world.lay(root, FILES)
    assert world.command(root, "run").exit == 0
    world.lay(root, {"landing/b.csv": NEWS})
    return root


class Place:
    """A copy of the built project, or a new one, and what may be done to it."""

    def __init__(self, root: Path, built: Path, server: Server) -> None:
        self.root = root
        self.built = built
        self.server = server

    def new(self) -> None:
        shutil.rmtree(self.root)
        world.lay(self.root, FILES)

    def kill(self, point: str, *words: str) -> None:
        assert self.server.give(self.root, *(words or ("run",)), fault=f"{point}:kill") == -9

    def sql(self, text: str) -> None:
        with duckdb.connect(str(self.root / "world.duckdb")) as connection:
            connection.execute(text)

    def forget_ledger(self) -> None:
        shutil.rmtree(self.root / BESIDE)

    @property
    def segment(self) -> Path:
        return self.root / BESIDE / world.PROJECT / "ledger" / "000001.jsonl"


def nothing(place: Place) -> None:
    place.new()


def no_identity_and_no_ledger(place: Place) -> None:
    place.forget_ledger()
    place.sql("DELETE FROM interlock.identity")


def no_ledger(place: Place) -> None:
    place.forget_ledger()


def identity_that_does_not_answer(place: Place) -> None:
    place.sql("ALTER TABLE interlock.identity RENAME COLUMN warehouse TO something_else")


def before_genesis(place: Place) -> None:
    place.new()
    place.kill("warehouse.genesis.before:1")


def after_genesis(place: Place) -> None:
    place.new()
    place.kill("warehouse.genesis.commit.after:1")


def ledger_of_before_the_first_write(place: Place) -> None:
    after_genesis(place)
    shutil.copytree(place.root / BESIDE, place.root / "kept")
    assert world.command(place.root, "run").exit == 0
    place.forget_ledger()
    (place.root / "kept").rename(place.root / BESIDE)


def database_of_another_ledger(place: Place) -> None:
    kept = place.root.with_name("kept")
    (place.root / BESIDE).rename(kept)
    (place.root / "world.duckdb").unlink()
    assert world.command(place.root, "run").exit == 0
    place.forget_ledger()
    kept.rename(place.root / BESIDE)


def no_database(place: Place) -> None:
    (place.root / "world.duckdb").unlink()


def another_database(place: Place) -> None:
    (place.root / "world.duckdb").unlink()
    place.sql("CREATE TABLE elsewhere (i BIGINT)")


def nothing_done(place: Place) -> None:
    """As the last run left it."""


def killed_after_commit(place: Place) -> None:
    place.kill("warehouse.commit.after:1")


def ledger_of_yesterday(place: Place) -> None:
    assert world.command(place.root, "run").exit == 0
    place.forget_ledger()
    shutil.copytree(place.built / BESIDE, place.root / BESIDE)


def database_of_yesterday(place: Place) -> None:
    assert world.command(place.root, "run").exit == 0
    shutil.copyfile(place.built / "world.duckdb", place.root / "world.duckdb")


def forged(place: Place) -> None:
    place.kill("warehouse.commit.after:1")
    forge(place.root, failed)
    assert world.command(place.root, "run").exit == 4


def flipped(place: Place) -> None:
    content = bytearray(place.segment.read_bytes())
    content[len(content) // 2] ^= 1
    place.segment.write_bytes(content)


def no_file(place: Place) -> None:
    place.segment.unlink()
    place.segment.mkdir()


AUTHORITY: dict[str, Callable[[Place], None]] = {
    "A1": nothing,
    "A2": no_identity_and_no_ledger,
    "A3": no_ledger,
    "A4": identity_that_does_not_answer,
    "A5": before_genesis,
    "A6": after_genesis,
    "A7": ledger_of_before_the_first_write,
    "A8": database_of_another_ledger,
    "A9": no_database,
    "A10": another_database,
    "A11": nothing_done,
    "A12": killed_after_commit,
    "A13": ledger_of_yesterday,
    "A14": database_of_yesterday,
    "A15": forged,
    "A16": flipped,
    "A17": no_file,
}


def somebody_elses(place: Place) -> None:
    place.new()
    place.sql("CREATE TABLE a (i BIGINT)")


def dropped(place: Place) -> None:
    place.sql("DROP TABLE a")


def reshaped(place: Place) -> None:
    place.sql("ALTER TABLE a ADD COLUMN more BIGINT")


def replaced(place: Place) -> None:
    place.sql("CREATE TABLE other AS FROM a; DROP TABLE a; ALTER TABLE other RENAME TO a")


def killed_before_commit(place: Place) -> None:
    place.kill("warehouse.commit.before:1")


def killed_after_commit_record_and_cut(place: Place) -> None:
    place.kill("ledger.write.before:6")
    cut(place.root)


def receipt_of_another_models_attempt(place: Place) -> None:
    place.kill("warehouse.commit.after:1")
    with duckdb.connect(str(place.root / "world.duckdb")) as connection:
        ((body,),) = connection.execute(
            "SELECT body FROM interlock.receipts JOIN interlock.heads USING (receipt) WHERE heads.model = 'a'"
        ).fetchall()
        fields = msgspec.json.decode(body)
        stored = canonical({**fields, "model": "b"})
        receipt = digest("receipt", stored)
        connection.execute(
            "INSERT INTO interlock.receipts SELECT ?, project, 'b', run, attempt, previous, ? FROM interlock.receipts LIMIT 1",
            [receipt, stored.decode()],
        )
        head = [receipt, fields["token"], fields["generation"]]
        connection.execute("UPDATE interlock.heads SET receipt = ?, token = ?, generation = ? WHERE model = 'b'", head)


def an_old_database_whose_identity_was_deleted_beside_a_new_ledger(place: Place) -> None:
    """A person moved the ledger away, began anew, and, told of another ledger's database, deleted the row that says so."""
    place.new()
    place.kill("warehouse.genesis.before:1")
    shutil.copyfile(place.built / "world.duckdb", place.root / "world.duckdb")
    place.sql("DELETE FROM interlock.identity")


def a_damaged_block(place: Place) -> None:
    """The disk gives other bytes than it was given, in a block that holds rows of `a` and of nothing else."""
    place.new()
    lines = [f"{number},2024-01-01 01:00:00,{number * 7919 % 100_003}\n" for number in range(30_000)]
    world.lay(place.root, {"landing/a.csv": "id,ts,amount\n" + "".join(lines)})
    assert world.command(place.root, "run").exit == 0
    place.sql("CHECKPOINT")
    path = place.root / "world.duckdb"
    with duckdb.connect(str(path)) as connection:
        tables_there = connection.execute("SELECT schema_name || '.' || table_name FROM duckdb_tables()").fetchall()
        blocks = {
            name: {row[0] for row in connection.execute(f"SELECT block_id FROM pragma_storage_info('{name}')").fetchall() if row[0] >= 0}
            for (name,) in tables_there
        }
        ((size,),) = connection.execute("SELECT block_size FROM pragma_database_size()").fetchall()
    (block, *_) = sorted(blocks.pop("main.a") - set().union(*blocks.values()))
    with path.open("r+b") as file:
        file.seek(3 * 4096 + block * size + 4096)
        there = file.read(8)
        file.seek(-8, os.SEEK_CUR)
        file.write(bytes(byte ^ 0xFF for byte in there))


MODEL: dict[str, tuple[Callable[[Place], None], tuple[str, ...]]] = {
    "M1": (nothing, ()),
    "M2": (somebody_elses, ()),
    "M4": (nothing_done, ()),
    "M5": (dropped, ()),
    "M6": (reshaped, ()),
    "M7": (replaced, ()),
    "M8": (killed_before_commit, ()),
    "M9": (killed_after_commit, ()),
    "M10": (killed_after_commit_record_and_cut, ()),
    "M11": (receipt_of_another_models_attempt, ()),
    "M13": (an_old_database_whose_identity_was_deleted_beside_a_new_ledger, ()),
    "M14": (a_damaged_block, ("--verify-content",)),
}
"""What happened, and the words of `plan` that bring it up."""


@pytest.fixture
def place(built: Path, tmp_path: Path, server: Server) -> Place:
    shutil.copytree(built, tmp_path / "shop")
    return Place(tmp_path / "shop", built, server)


def authority_of(answer: world.Answer) -> str:
    found = msgspec.json.decode(answer.out)
    authority = (found["result"] or {}).get("authority")
    if authority is not None:
        return str(authority["row"])
    (finding,) = found["findings"]
    named = re.search(r"\(row (A\d+)\)", finding["because"])
    assert named is not None, answer.brief
    return named[1]


@pytest.mark.parametrize("name", AUTHORITY)
def test_a_row_of_the_authority_table_is_taken(name: str, place: Place) -> None:
    AUTHORITY[name](place)
    (row,) = (row for row in tables().authority if row.row == name)
    before = durable(place.root)
    doctor = world.command(place.root, "doctor")
    checks = {check["check"]: check for check in msgspec.json.decode(doctor.out)["result"]["checks"]}
    assert f"(row {name})" in checks["authority"]["said"]
    assert (checks["authority"]["answer"], checks["authority"]["code"]) == (
        ("fail", row.code) if row.decision == "refuse" else ("pass", "")
    )
    assert all(check["remedy"] for check in checks.values() if check["answer"] != "pass")
    # What could not be read, or is not there although it should be, passes no question that rests on it.
    assert checks["receipts"]["answer"] == ("not_evaluated" if name in {"A4", "A9"} else "pass")
    assert checks["warehouse"]["answer"] == ("fail" if name == "A9" else "pass")
    assert checks["open runs"]["answer"] == ("not_evaluated" if name in {"A16", "A17"} else "fail" if name == "A12" else "pass")
    answer = world.command(place.root, "plan")
    assert authority_of(answer) == name, answer.brief
    assert durable(place.root) == before
    assert answer.exit == (4 if row.decision == "refuse" else 0), answer.brief
    if row.decision == "refuse":
        assert answer.codes == {row.code}
        # Whatever writes passes through the same row, and stops there.
        for command in ("run", "resume"):
            assert world.command(place.root, command).codes == {row.code}
    else:
        again = world.command(place.root, "run")
        assert again.exit == 0, again.brief
        world.demand_sound(place.root)


def rows_taken(place: Place, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[dict[str, ModelRow], world.Answer]:
    """The rows of the model table that a plan took, and its answer."""
    taken: list[ModelRow] = []
    asked = choose.model_row

    def recorded(*case: object) -> ModelRow:
        taken.append(asked(*case))  # type: ignore[arg-type]
        return taken[-1]

    with monkeypatch.context() as patch:
        patch.setattr(choose, "model_row", recorded)
        answer = world.command(place.root, "plan", *words)
    return {row.row: row for row in taken}, answer


@pytest.mark.parametrize("name", MODEL)
def test_a_row_of_the_model_table_is_taken(name: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    happened, words = MODEL[name]
    happened(place)
    rows, answer = rows_taken(place, monkeypatch, *words)
    assert name in rows, (set(rows), answer.brief)
    if rows[name].decision == "refuse":
        assert answer.exit in {3, 4}, answer.brief
        assert rows[name].code in answer.out


def test_every_row_has_its_history() -> None:
    assert set(AUTHORITY) == {row.row for row in tables().authority}
    assert set(MODEL) == {row.row for row in tables().model}


def test_what_a_person_took_over_is_a_head_that_the_ledger_names(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a ledger that never ran it, and after a refusal that names a receipt: states that no run leaves by itself."""
    states: list[tuple[object, ...]] = []
    asked = choose.model_row

    def recorded(*case: object) -> ModelRow:
        states.append(case)
        return asked(*case)  # type: ignore[arg-type]

    monkeypatch.setattr(choose, "model_row", recorded)
    forged(place)
    assert world.command(place.root, "ledger", "accept-warehouse", "--yes").exit == 0
    assert world.command(place.root, "plan").exit == 0
    assert ("refused_receipt", "named", "as_left") in states
    assert ("never", "named", "as_left") in states
    states.clear()
    place.forget_ledger()
    assert world.command(place.root, "ledger", "accept-warehouse", "--yes").exit == 0
    assert world.command(place.root, "run").exit == 0
    assert set(states) == {("never", "named", "as_left")}
    world.demand_sound(place.root)


def test_a_database_of_another_ledger_is_not_written_to_though_its_identity_is_gone(place: Place) -> None:
    an_old_database_whose_identity_was_deleted_beside_a_new_ledger(place)
    for command in ("run", "resume"):
        answer = world.command(place.root, command)
        assert answer.exit == 4 or answer.codes == {"P430"}, answer.brief
    with duckdb.connect(str(place.root / "world.duckdb")) as connection:
        assert connection.execute("SELECT count(*) FROM main.a").fetchall() == [(3,)]
        assert connection.execute("SELECT count(*) FROM interlock.receipts").fetchall() == [(2,)]


def test_a_damaged_table_refuses_its_own_model_and_is_made_anew_when_asked(place: Place) -> None:
    a_damaged_block(place)
    answer = world.command(place.root, "run", "--verify-content")
    assert answer.exit == 3, answer.brief
    models = {model["model"]: model for model in msgspec.json.decode(answer.out)["result"]["models"]}
    assert (models["a"]["state"], models["a"]["code"]) == ("refused", "P425")
    assert "checksum" in models["a"]["because"]
    answer = world.command(place.root, "run", "--verify-content", "--full-refresh", "a")
    assert answer.exit == 0, answer.brief
    assert world.command(place.root, "run", "--verify-content").exit == 0
    world.demand_sound(place.root)


def test_a_checkpoint_that_the_warehouse_lost_is_found_when_it_is_settled(place: Place) -> None:
    killed_after_commit_record_and_cut(place)
    answer = world.command(place.root, "resume")
    assert answer.exit == 4, answer.brief
    assert world.command(place.root, "ledger", "accept-warehouse", "--yes").exit == 0
    assert world.command(place.root, "run").exit == 0
    world.demand_sound(place.root)
