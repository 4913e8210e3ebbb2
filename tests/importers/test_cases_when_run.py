"""Cases in which importers have failed and that show only beside real rows: the imported project is run."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest
from tests.importers.dbt_projects import Import, imported

from interlock.engine import api
from interlock.engine.diagnostics import Refused
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


def fresh(tmp_path: Path, made: str, zone: str) -> Import:
    """An imported project whose model asks the freshness that the import proposes, in a zone."""
    source(tmp_path, "create schema raw", f"create table raw.t as {made}")
    found = imported(
        tmp_path,
        {
            "profiles.yml": PROFILE,
            "models/s.yml": """
                sources:
                  - name: raw
                    loaded_at_field: ts
                    freshness: {error_after: {count: 2, period: hour}}
                    tables: [{name: t}]
            """,
            "models/m.sql": "{{ config(materialized='table') }} select * from {{ source('raw', 't') }}",
        },
    )
    proposed = found.text("DOCUMENTATION.md").split("[[checks]]")[1].split("```")[0]
    check = re.sub(r" } #.*", f"{zone} }}", proposed)
    sidecar = next(found.out.glob("models/**/m.toml"))
    sidecar.write_text(f"{sidecar.read_text()}\n[[checks]]{check}")
    return found


def test_freshness_of_an_empty_source_is_no_age(tmp_path: Path) -> None:
    found = fresh(tmp_path, "select 1 as id, timestamp '2024-01-01' as ts where false", ', zone = "UTC"')
    (verdict,) = [verdict for model in run(found).models for verdict in model.verdicts]
    assert (verdict.outcome, verdict.failing) == ("not_evaluated", None)
    assert "no row has a value in ts" in verdict.because


@pytest.mark.parametrize(("hours", "outcome"), [(-3, "failed"), (0, "passed"), (3, "failed")])
def test_a_time_without_a_zone_is_read_in_the_one_that_is_declared(tmp_path: Path, hours: int, outcome: str) -> None:
    naive = datetime.now(ZoneInfo("America/New_York")).replace(tzinfo=None) + timedelta(hours=hours)
    found = fresh(tmp_path, f"select 1 as id, timestamp '{naive:%Y-%m-%d %H:%M:%S}' as ts", ', zone = "America/New_York"')
    (verdict,) = [verdict for model in run(found).models for verdict in model.verdicts]
    assert verdict.outcome == outcome


def test_freshness_without_a_declared_zone_is_refused(tmp_path: Path) -> None:
    found = fresh(tmp_path, "select 1 as id, now()::timestamp as ts", "")
    with pytest.raises(Refused) as refusal:
        run(found)
    assert "the zone of `ts` is not known" in refusal.value.findings[0].summary
