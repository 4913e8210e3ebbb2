"""Whatever stands in the way of opening a database has its own answer, and nothing is made or lost by asking."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from msgspec import structs

from interlock.engine.warehouse.duckdb import files
from interlock.engine.warehouse.duckdb.quoting import file_name
from interlock.engine.warehouse.duckdb.session import open_reader, open_session, refusal
from interlock.engine.warehouse.lock import Holder, acquire
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.engine.warehouse.target import TargetConfig

from .conftest import PROJECT, Shop, commit_permit, statement, with_receipt, write_permit

HOLDER = Holder(pid=os.getpid(), host="here", user="ada", since="2024-01-01T00:00:00.000000Z", command="interlock run", run="r7")


def why(shop: Shop, *, write: bool = True, **options: object) -> WarehouseError:
    with pytest.raises(WarehouseError) as caught:
        shop.session(**options) if write else shop.reader(**options)
    return caught.value


@pytest.mark.parametrize("name", ["interlock.duckdb", "warehouse.duckdb", "it's é 🙂.duckdb", "a b/c.duckdb", 'say "hi".duckdb', "main.db"])
def test_any_file_name_works(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    shop = Shop(tmp_path, name)
    session = shop.prepared("m")
    create = statement('CREATE TABLE "warehouse"."main"."interlock" AS SELECT 1 AS a')
    transaction = session.begin(write_permit(create))
    transaction.run(create)
    with_receipt(transaction)
    transaction.commit(commit_permit())
    shop.close()
    assert shop.reader().heads(PROJECT)[0].receipt == "rec1"
    shop.close()


def test_a_missing_database_is_not_made_unless_it_may_be(shop: Shop) -> None:
    error = why(shop, create=False)
    assert (error.code, error.kind) == ("W601", "absent")
    assert not shop.location.exists()
    error = why(shop, write=False)
    assert (error.code, error.kind) == ("W601", "absent")
    assert not shop.location.exists()


def test_a_missing_database_names_the_one_that_was_meant(tmp_path: Path) -> None:
    Shop(tmp_path, "prod.duckdb").sql("SELECT 1")
    assert "`prod.duckdb`" in why(Shop(tmp_path, "prd.duckdb"), create=False).remedy


def test_a_missing_directory_has_its_own_answer(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    error = why(Shop(tmp_path, "dta/x.duckdb"))
    assert error.code == "W602"
    assert "`data`" in error.remedy


def test_a_backslash_in_a_path_is_no_way_to_another_database(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    duckdb.connect(str(tmp_path / "shop" / "x.duckdb")).close()
    other = (tmp_path / "shop" / "x.duckdb").read_bytes()
    for write in (True, False):
        error = why(Shop(tmp_path, "shop\\x.duckdb"), write=write)
        assert (error.code, "backslash" in error.message) == ("W602", True)
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]
    assert (tmp_path / "shop" / "x.duckdb").read_bytes() == other
    error = why(Shop(tmp_path, "y.duckdb"), attach={"src_0": tmp_path / "shop\\x.duckdb"})
    assert (error.code, "backslash" in error.message) == ("W614", True)


def test_a_log_without_its_database_is_kept(shop: Shop) -> None:
    """DuckDB would make a new file and delete the log, and with it committed rows."""
    files.wal(shop.location).write_bytes(b"rows")
    assert why(shop).code == "W601"
    assert files.wal(shop.location).read_bytes() == b"rows"


@pytest.mark.parametrize("content", [b"", b"hello", b"hello" * 5000, b"SQLite format 3\0" + b"\0" * 8000])
def test_what_is_no_database_is_left_alone(shop: Shop, content: bytes) -> None:
    shop.location.write_bytes(content)
    assert why(shop).code == "W607"
    assert why(shop, write=False).code == "W607"
    assert shop.location.read_bytes() == content


def test_a_damaged_database_is_said_to_be_damaged(shop: Shop) -> None:
    shop.sql("CREATE TABLE t AS SELECT 1 AS a")
    data = bytearray(shop.location.read_bytes())
    data[0x1000:0x1100] = b"\xff" * 256
    shop.location.write_bytes(data)
    assert why(shop).code == "W607"
    shop.location.write_bytes(data[:5000])
    assert why(shop).code == "W607"


def test_a_directory_is_no_database(shop: Shop) -> None:
    shop.location.mkdir()
    assert why(shop).code == "W607"


def test_an_empty_file_can_be_removed_and_no_other(shop: Shop) -> None:
    shop.location.touch()
    assert files.file_state(shop.location) == "empty"
    files.remove_empty(shop.location)
    assert files.file_state(shop.location) == "missing"
    shop.location.write_bytes(b"x")
    with pytest.raises(WarehouseError):
        files.remove_empty(shop.location)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_read_only_directory_can_be_read_and_not_written(small_disk: Path) -> None:
    shop = Shop(small_disk)
    shop.prepared("m")
    shop.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert why(shop).code == "W605"
    assert why(Shop(small_disk, "new.duckdb")).code == "W605"
    assert shop.reader().identity(PROJECT) is not None
    shop.close()


def test_a_full_disk_refuses_and_loses_nothing(small_disk: Path) -> None:
    shop = Shop(small_disk)
    session = shop.prepared("m", "n")
    small = statement('CREATE TABLE "warehouse"."main"."m" AS SELECT 1 AS a')
    transaction = session.begin(write_permit(small))
    transaction.run(small)
    with_receipt(transaction)
    transaction.commit(commit_permit())
    big = statement('CREATE TABLE "warehouse"."main"."n" AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(2000000) t(i)')
    transaction = session.begin(write_permit(big, model="n", anchor="a2"))
    with pytest.raises(WarehouseError) as caught:
        transaction.run(big)
    assert (caught.value.code, caught.value.kind) == ("W606", "permanent")
    transaction.rollback()
    shop.close()
    reader = shop.reader()
    assert reader.heads(PROJECT)[0].receipt == "rec1"
    assert reader.query('SELECT a FROM "warehouse"."main"."m"') == [(1,)]
    shop.close()


def fill_up(disk: Path) -> None:
    fill = os.open(disk / "fill", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(fill, b"\0" * 4096):
            pass
    os.close(fill)
    assert files.disk(disk / "x.duckdb") == "full"


def test_a_disk_that_is_full_at_the_commit_leaves_the_outcome_unknown(small_disk: Path) -> None:
    shop = Shop(small_disk)
    session = shop.prepared("m")
    create = statement('CREATE TABLE "warehouse"."main"."m" AS SELECT hash(i) AS a FROM range(1000) t(i)')
    transaction = session.begin(write_permit(create))
    transaction.run(create)
    with_receipt(transaction)
    fill_up(small_disk)
    with pytest.raises(WarehouseError) as caught:
        transaction.commit(commit_permit())
    assert (caught.value.kind, caught.value.code) == ("outcome_unknown", "W606")
    shop.close()
    (small_disk / "fill").unlink()
    assert shop.reader().heads(PROJECT)[0].receipt is None
    shop.close()


def held_by_another(location: Path) -> subprocess.Popen[str]:
    code = "import sys, duckdb; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-c", code, str(location)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def test_a_database_that_another_program_has_open_says_which(shop: Shop) -> None:
    with held_by_another(shop.location) as process:
        for write in (True, False):
            error = why(shop, write=write)
            assert (error.code, error.kind) == ("W604", "busy")
            assert str(process.pid) in error.message
        with acquire(files.lock_file(shop.location), structs.replace(HOLDER, pid=process.pid)):
            error = why(shop)
            assert error.code == "W603"
            assert "run r7 of ada" in error.message
        with acquire(files.lock_file(shop.location), HOLDER):
            # Our own lock says nothing of the program that has the file open.
            assert why(shop).code == "W604"
        process.communicate("")
    shop.session()


def test_a_database_that_this_process_has_open_is_busy_too(shop: Shop) -> None:
    shop.session()
    assert why(shop).code == "W604"


def test_a_replaced_file_is_noticed(shop: Shop) -> None:
    session = shop.prepared("m")
    transaction = session.begin(write_permit())
    with_receipt(transaction)
    shop.location.rename(shop.location.with_name("old.duckdb"))
    with pytest.raises(WarehouseError) as caught:
        transaction.commit(commit_permit())
    assert caught.value.code == "W613"
    transaction.rollback()
    shop.location.write_bytes(b"another")
    with pytest.raises(WarehouseError) as caught:
        session.begin(write_permit())
    assert caught.value.code == "W613"


def test_source_databases_are_attached_read_only(shop: Shop) -> None:
    source = shop.root / "raw é.duckdb"
    with duckdb.connect(str(source)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 7 AS a")
    session = shop.session(attach={"src_0123456789abcdef": source})
    assert session.reader().query('SELECT a FROM "src_0123456789abcdef"."main"."t"') == [(7,)]
    create = statement('CREATE TABLE "src_0123456789abcdef"."main"."u" AS SELECT 1 AS a')
    transaction = session.begin(write_permit(create))
    with pytest.raises(WarehouseError):
        transaction.run(create)
    transaction.rollback()


def test_a_source_database_that_is_not_there_is_named(shop: Shop) -> None:
    error = why(shop, attach={"src_0": shop.root / "gone.duckdb"})
    assert (error.code, error.kind) != ("W601", "absent")
    assert error.code == "W614"
    assert "gone.duckdb" in error.message


def test_file_sources_are_read_from_the_project_wherever_one_stands(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = shop.root / "elsewhere"
    names = ["a.csv", "a[1].csv", "é x.csv", "it's.csv", "c*.csv", "d?.csv", "e]"]
    for place in (shop.root, elsewhere):
        (place / "landing").mkdir(parents=True)
        for name in names:
            (place / "landing" / name).write_text(f"x\n{place.name}\n")
    monkeypatch.chdir(elsewhere)
    reader = shop.session().reader()
    for name in names:
        text = f"SELECT x FROM read_csv([{file_name(f'landing/{name}')}], header = true)"
        assert reader.query(text) == [(shop.root.name,)], name
    assert [column.name for column in reader.columns_of(text)] == ["x"]


def test_settings_and_macros_hold_on_every_cursor(shop: Shop) -> None:
    session = shop.session(
        macros=["CREATE TEMP MACRO twice(x) AS x * 2 -- end"], settings={"TimeZone": "Asia/Kolkata", "default_null_order": "nulls_first"}
    )
    for _ in range(3):
        reader = session.reader()
        assert reader.query("SELECT twice(4), current_setting('TimeZone'), strftime(TIMESTAMPTZ '2024-01-01 00:00:00+00', '%H:%M')") == [
            (8, "Asia/Kolkata", "05:30")
        ]
        assert reader.query("SELECT x FROM (VALUES (1), (NULL)) t(x) ORDER BY x") == [(None,), (1,)]


def test_ours_are_the_settings_where_nobody_says_otherwise(shop: Shop) -> None:
    assert shop.session().reader().query("SELECT current_setting('TimeZone') IN ('UTC', 'Etc/UTC')") == [(True,)]


def test_a_setting_that_duckdb_does_not_have_is_not_an_absent_database(shop: Shop) -> None:
    shop.prepared()
    shop.close()
    error = why(shop, settings={"no_such_setting": "1"})
    assert (error.code, error.kind) == ("W608", "permanent")


def test_an_error_becomes_a_refusal_that_a_person_can_read(shop: Shop) -> None:
    finding = refusal(why(shop, create=False), subject="dev").findings[0]
    assert (finding.code, finding.subject) == ("W601", "dev")
    assert finding.remedy
    json.dumps(finding.summary)


def test_both_ways_of_opening_take_the_same_target() -> None:
    target = TargetConfig(name="dev", type="duckdb", path="x", location=Path("/nowhere/at/all/x.duckdb"))
    for way in (open_session, open_reader):
        with pytest.raises(WarehouseError) as caught:
            way(target, root=Path("/"))
        assert caught.value.code == "W602"
