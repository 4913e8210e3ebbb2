"""Where ledgers, plans and locks lie, and files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from interlock.engine.faults import FaultRaised, armed, recorded
from interlock.engine.ledger.durable import make_directory, set_aside, write_file
from interlock.engine.ledger.places import ledger_directory, lock_path, plan_path, segment_number, segment_path
from interlock.engine.warehouse.target import TargetConfig


def target(name: str = "dev", ledger: Path | None = None) -> TargetConfig:
    return TargetConfig(name=name, type="duckdb", path="shop.duckdb", location=Path("/data/shop.duckdb"), ledger=ledger)


def test_all_lies_beside_the_database() -> None:
    directory = ledger_directory(target(), "p1")
    assert directory == Path("/data/shop.duckdb.interlock/p1")
    assert segment_path(directory, 1) == directory / "ledger" / "000001.jsonl"
    assert plan_path(directory, "abc") == directory / "plans" / "abc.json"
    assert lock_path(target()) == Path("/data/shop.duckdb.interlock/lock")


def test_a_ledger_that_is_moved_is_one_for_each_target_and_the_lock_stays() -> None:
    moved = Path("/ledgers")
    assert ledger_directory(target("dev", moved), "p1") != ledger_directory(target("prod", moved), "p1")
    assert lock_path(target("dev", moved)) == lock_path(target())


def test_only_segments_are_segments() -> None:
    assert segment_number("000042.jsonl") == 42
    for name in ("42.jsonl", "000042.jsonl.new", ".000042.jsonl.new", "torn-000042", "٠٠٠٠٤٢.jsonl", "000042.jsonl\n"):
        assert segment_number(name) is None


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "plans" / "p.json"
    with recorded() as visits:
        write_file(tmp_path / "all" / "p.json", b"new")
    for name in dict.fromkeys(visits):
        path.unlink(missing_ok=True)
        with armed(name), pytest.raises(FaultRaised):
            write_file(path.with_name(f"{name}.json") if name.startswith("directory.make") else path, b"new")
        assert not path.exists() or path.read_bytes() == b"new"
        write_file(path, b"new")
        assert path.read_bytes() == b"new"
        if name.startswith("directory"):
            set_aside(path.parent, f"gone-{name}")


def test_a_failing_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_file(path, b"old")
    for name in ("file.write.before", "file.write.after", "file.fsync.before", "file.rename.before"):
        with armed(name, error=OSError(errno.ENOSPC, "No space left on device")), pytest.raises(OSError, match="No space"):
            write_file(path, b"new")
        assert [item.name for item in tmp_path.iterdir()] == ["p.json"]
        assert path.read_bytes() == b"old"


def test_a_directory_that_is_there_is_not_synced_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_directory(tmp_path / "a" / "b")

    def fsync(_: int) -> None:
        raise AssertionError

    monkeypatch.setattr(os, "fsync", fsync)
    make_directory(tmp_path / "a" / "b")


def test_setting_aside_never_takes_a_name_that_is_in_use(tmp_path: Path) -> None:
    names = []
    for number in range(3):
        write_file(tmp_path / "p1" / "x", str(number).encode())
        names.append(set_aside(tmp_path / "p1", "p1.reset").name)
    assert names == ["p1.reset", "p1.reset-2", "p1.reset-3"]
    assert [(tmp_path / name / "x").read_text() for name in names] == ["0", "1", "2"]
