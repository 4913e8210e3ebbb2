"""What the warehouse says when it is asked for a plan may hold what interlock.toml took from the environment: no plan keeps that."""

from __future__ import annotations

from pathlib import Path

import duckdb

from interlock.engine import api
from interlock.machines.records import canonical

CONFIG = """[project]
id = "abc"
name = "shop"

[targets.dev]
type = "duckdb"
path = "shop.duckdb"

[ledger]
path = "${PLACE}"
"""
SOURCES = """[sources."main.gone"]
fingerprint = "content"
freshness = { column = "loaded", max_age = "1 day", zone = "UTC", severity = "warn" }
"""


def test_a_plan_holds_nothing_that_came_from_the_environment(tmp_path: Path) -> None:
    root, place = tmp_path / "p", tmp_path / "not-to-be-seen"
    (root / "models").mkdir(parents=True)
    place.mkdir()
    (place / "at.csv").write_text("loaded\n2024-01-01 00:00:00\n")
    (root / "interlock.toml").write_text(CONFIG)
    (root / "sources.toml").write_text(SOURCES)
    (root / "models" / "m.sql").write_text("SELECT loaded FROM main.gone")
    (root / "models" / "m.toml").write_text('materialized = "table"\n')
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        connection.execute(f"CREATE VIEW main.gone AS SELECT loaded FROM read_csv('{place}/at.csv', columns = {{'loaded': 'TIMESTAMP'}})")
    (place / "at.csv").write_text("loaded\nno time\n")
    context = api.open_context(root, environment={"PLACE": str(place)})
    planned = api.plan(context, save=True)
    assert planned.body is not None
    said = canonical(planned.body)
    assert b"at.csv" in said, "the warehouse said which file it is"
    assert str(place).encode() not in said
    (saved,) = place.rglob(f"{planned.plan}.json")
    assert str(place).encode() not in saved.read_bytes()
