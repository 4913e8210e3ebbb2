"""Every compiled column is the real one, by name and type: on the sample, on the flights and on the benchmark's project."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import pytest
from tests.real.test_flights import DAYS, Airport, days

from interlock.engine import api

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))

import project as bench

__all__ = ["days"]


def compared(root: Path, database: str) -> int:
    """How many columns were compared; each is as it was compiled."""
    compiled = api.compile_(api.open_context(root))
    assert compiled.exit_code == 0
    with duckdb.connect(str(root / database), read_only=True) as connection:
        rows = connection.execute(
            "SELECT schema_name || '.' || table_name, column_name, data_type FROM duckdb_columns() ORDER BY table_oid, column_index"
        ).fetchall()
    there: dict[str, list[tuple[str, str]]] = {}
    for relation, name, kind in rows:
        there.setdefault(relation, []).append((name, kind))
    count = 0
    for model in compiled.models:
        if model.kind == "ephemeral":
            continue
        real = there[model.relation]
        own = 2 if model.kind == "snapshot" else 0
        assert [(column.name, column.type) for column in model.columns] == real[: len(real) - own], model.model
        count += len(real)
    return count


def test_of_the_sample(tmp_path: Path) -> None:
    api.init(tmp_path / "shop", sample="shop")
    assert api.run(api.open_context(tmp_path / "shop")).exit_code == 0
    assert compared(tmp_path / "shop", "shop.duckdb") > 50


def test_of_the_flights(tmp_path: Path, days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    airport = Airport(tmp_path / "flights", days)
    airport.deliver(DAYS[0])
    airport.command(capsys, "run", "--as-of", "2013-01-02T08:00:00Z")
    assert compared(airport.root, "flights.duckdb") > 30


def test_of_the_benchmark(tmp_path: Path) -> None:
    models = bench.make(60)
    bench.write_interlock(tmp_path / "bench", models)
    with duckdb.connect(str(tmp_path / "bench/bench.duckdb")) as connection:
        for statement in bench.raw_sql(60, rows=50):
            connection.execute(statement)
    result = api.run(api.open_context(tmp_path / "bench"))
    assert result.exit_code == 0, json.dumps(str(result))[:2000]
    assert compared(tmp_path / "bench", "bench.duckdb") > 200
