"""Cases in which importers have failed and that show only beside real rows: the imported project is run."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest
from tests.importers.dbt_projects import Import, imported

from interlock.engine import api
from interlock.engine.results import RunResult

PROFILE = "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}"


def source(tmp_path: Path, *statements: str) -> None:
    """Do something to the database that dbt's sources lie in."""
    (tmp_path / "dbt").mkdir(exist_ok=True)
    with duckdb.connect(str(tmp_path / "dbt" / "shop.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)


def run(found: Import) -> RunResult:
    return api.run(api.open_context(found.out, environment={}))


def rows(found: Import, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as warehouse:
        return warehouse.execute(query).fetchall()


@pytest.mark.parametrize("strategy", ["strategy='check', check_cols='all'", "strategy='timestamp', updated_at='seen'"])
def test_a_snapshot_whose_source_loses_a_column_stops_and_asks(tmp_path: Path, strategy: str) -> None:
    source(tmp_path, "create schema raw", "create table raw.t as select 1 as id, 'x' as c, timestamp '2024-01-01' as seen")
    found = imported(
        tmp_path,
        {
            "profiles.yml": PROFILE,
            "models/s.yml": "sources: [{name: raw, tables: [{name: t}]}]",
            "models/other.sql": "{{ config(materialized='table') }} select 1 as id",
            "snapshots/s.sql": "{% snapshot s %}{{ config(unique_key='id', "
            + strategy
            + ") }} select * from {{ source('raw', 't') }}{% endsnapshot %}",
        },
    )
    assert run(found).outcome == "succeeded"
    before = rows(found, "select * from main.s__history")
    source(tmp_path, "alter table raw.t drop column c", "update raw.t set seen = timestamp '2024-02-01'")
    second = run(found)
    stopped = {model.model: (model.code, model.because, model.remedy) for model in second.models if model.code}
    assert second.outcome == "partial"
    code, because, remedy = stopped["s__history"]
    assert code == "P413"
    assert "`c` is gone" in because
    assert "--full-refresh s__history" in remedy
    assert rows(found, "select * from main.s__history") == before


def fresh(tmp_path: Path, made: str, loaded_at: str) -> RunResult:
    """A run of an imported project whose source is asked how fresh it is."""
    source(tmp_path, "create schema raw", f"create table raw.t as {made}")
    found = imported(
        tmp_path,
        {
            "profiles.yml": PROFILE,
            "models/s.yml": f"""
                sources:
                  - name: raw
                    loaded_at_field: "{loaded_at}"
                    freshness: {{error_after: {{count: 2, period: hour}}}}
                    tables: [{{name: t}}]
            """,
            "models/m.sql": "{{ config(materialized='table') }} select * from {{ source('raw', 't') }}",
        },
        accept=True,
    )
    return run(found)


def test_freshness_of_an_empty_source_is_no_age(tmp_path: Path) -> None:
    done = fresh(tmp_path, "select 1 as id, timestamp '2024-01-01' as ts where false", "ts at time zone 'UTC'")
    (said,) = [model for model in done.models if model.model == "m"]
    assert said.code == "G504"
    assert "has no rows" in said.because


@pytest.mark.parametrize(("hours", "code"), [(-3, "G504"), (0, ""), (3, "G504")])
@pytest.mark.parametrize(("zone", "loaded_at"), [("America/New_York", "ts at time zone 'America/New_York'"), ("UTC", "ts")])
def test_a_time_without_a_zone_is_read_in_the_one_that_is_declared_or_accepted(
    tmp_path: Path, hours: int, code: str, zone: str, loaded_at: str
) -> None:
    naive = datetime.now(ZoneInfo(zone)).replace(tzinfo=None) + timedelta(hours=hours)
    done = fresh(tmp_path, f"select 1 as id, timestamp '{naive:%Y-%m-%d %H:%M:%S}' as ts", loaded_at)
    (said,) = [model for model in done.models if model.model == "m"]
    assert (said.code or "") == code
