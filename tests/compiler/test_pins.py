"""Columns of sources on record: they stand in for a warehouse that cannot be looked at, and stop what no longer fits."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.compiler.projects import codes, column, compiled, the

from interlock.engine.cases.pins import lock_text
from interlock.engine.compiler.world import World

SOURCES = '[sources."raw.things"]\ndescription = "not declared"\n'
FILES = {"sources.toml": SOURCES, "models/m.sql": "select id, size from raw.things"}
LOCK = lock_text({"raw.things": {"id": "BIGINT", "size": "DECIMAL(10,2)"}})


def test_without_pins_the_columns_are_not_known(tmp_path: Path) -> None:
    assert "S105" in codes(compiled(tmp_path, FILES))


def test_pins_stand_in_for_the_warehouse(tmp_path: Path) -> None:
    found = compiled(tmp_path, {**FILES, "sources.lock.toml": LOCK})
    assert codes(found) == []
    assert [each.type for each in found.models["m"].columns] == ["BIGINT", "DECIMAL(10,2)"]


def test_a_source_that_is_not_as_pinned_is_refused(tmp_path: Path) -> None:
    world = World(sources={"raw.things": (column("id", "INTEGER"), column("size", "DECIMAL(10,2)"))})
    finding = the(compiled(tmp_path, {**FILES, "sources.lock.toml": LOCK}, world=world), "P407")
    assert "pinned as BIGINT" in finding.because
    assert "sources pin" in finding.remedy


def test_a_source_that_is_as_pinned_goes_on_and_may_have_more(tmp_path: Path) -> None:
    more = (column("id", "BIGINT"), column("size", "DECIMAL(10,2)"), column("new", "DATE"))
    found = compiled(tmp_path, {**FILES, "sources.lock.toml": LOCK}, world=World(sources={"raw.things": more}))
    assert codes(found) == []


def test_the_file_is_strict_and_read_as_written() -> None:
    pinned = {'a "b"': {"x.y": "STRUCT(a INTEGER)", "größe": "VARCHAR"}, "raw.orders": {"id": "BIGINT"}}
    assert tomllib.loads(lock_text(pinned)) == {"sources": pinned}
