"""The sample that `interlock init --sample shop` makes, run as its reader would."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from interlock.engine.cli import main

SAMPLE = Path(__file__).parent.parent.parent / "specs" / "playground"

EXTENDED = {
    "fct_orders": "merge",
    "fct_page_views": "append",
    "fct_traffic": "replace_range",
    "customer_history": "snapshot",
}
SETTLED = (
    "marts.fct_orders",
    "marts.fct_page_views",
    "marts.fct_traffic",
    "marts.dim_customers",
    "reports.customer_value",
    "reports.conversion",
)

Command = Callable[..., dict[str, Any]]


@pytest.fixture
def interlock(capsys: pytest.CaptureFixture[str]) -> Command:
    def command(*words: str, exits: int = 0) -> dict[str, Any]:
        code = main([*words, "--json"])
        out, err = capsys.readouterr()
        assert code == exits, out[-3000:] + err[-3000:]
        answer: dict[str, Any] = json.loads(out)
        return answer

    return command


@pytest.fixture
def shop(tmp_path: Path, interlock: Command) -> Path:
    interlock("init", str(tmp_path / "shop"), "--sample", "shop")
    return tmp_path / "shop"


def arrive(shop: Path, days: int = 1) -> None:
    for _ in range(days):
        subprocess.run([sys.executable, shop / "arrive.py"], check=True, capture_output=True)


def rows(shop: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(shop / "shop.duckdb"), read_only=True) as connection:
        return connection.execute(query).fetchall()


def models(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {model["model"]: model for model in answer["result"]["models"]}


def test_the_sample_compiles_with_notes_at_most(shop: Path, interlock: Command) -> None:
    findings = interlock("compile", "--project", str(shop))["findings"]
    assert [finding for finding in findings if finding["severity"] != "note"] == []


def test_its_first_run_builds_every_model(shop: Path, interlock: Command) -> None:
    ended = models(interlock("run", "--project", str(shop)))
    assert {model["state"] for model in ended.values()} == {"checkpointed"}
    assert len(ended) == 13
    assert max(model["layer"] for model in ended.values()) >= 4


def test_another_day_is_incremental_work(shop: Path, interlock: Command) -> None:
    interlock("run", "--project", str(shop))
    before = dict(
        rows(shop, "select 'orders', count(*) from marts.fct_orders union all select 'views', count(*) from marts.fct_page_views")
    )
    arrive(shop)

    ended = models(interlock("run", "--project", str(shop)))

    assert {name: ended[name]["action"] for name in EXTENDED} == EXTENDED
    assert ended["products"]["state"] == "no_op"
    after = dict(rows(shop, "select 'orders', count(*) from marts.fct_orders union all select 'views', count(*) from marts.fct_page_views"))
    assert 0 < ended["fct_page_views"]["rows_written"] == after["views"] - before["views"]
    assert after["orders"] > before["orders"]


def test_a_status_that_nobody_knows_stops_what_reads_it_and_nothing_else(shop: Path, interlock: Command) -> None:
    interlock("run", "--project", str(shop))
    before = rows(shop, "from marts.fct_orders order by all")
    arrive(shop)
    files = list((shop / "landing").glob("orders_*.csv"))
    delivered = {path: path.read_text(encoding="utf-8") for path in files}
    for path, text in delivered.items():
        path.write_text(text.replace("shipped", "lost"), encoding="utf-8")

    ended = models(interlock("run", "--project", str(shop), exits=3))

    assert {name: model["code"] for name, model in ended.items() if model["state"] == "refused"} == {
        "stg_orders": "G527",
        "fct_orders": "G561",
        "daily_sales": "G561",
        "conversion": "G561",
        "customer_value": "G561",
    }
    assert ended["fct_page_views"]["state"] == "checkpointed"
    assert rows(shop, "from marts.fct_orders order by all") == before

    for path, text in delivered.items():
        path.write_text(text, encoding="utf-8")
    mended = models(interlock("run", "--project", str(shop)))
    assert {name for name, model in mended.items() if model["state"] == "checkpointed"} == {
        "stg_orders",
        "fct_orders",
        "daily_sales",
        "conversion",
        "customer_value",
    }


def test_a_run_without_news_has_nothing_to_do(shop: Path, interlock: Command) -> None:
    interlock("run", "--project", str(shop))
    again = interlock("run", "--project", str(shop))
    assert {model["state"] for model in models(again).values()} <= {"no_op"}


def test_a_fortnight_day_by_day_equals_one_build(shop: Path, tmp_path: Path, interlock: Command) -> None:
    interlock("run", "--project", str(shop))
    for _ in range(14):
        arrive(shop)
        interlock("run", "--project", str(shop))
    whole = tmp_path / "whole"
    shutil.copytree(shop, whole, ignore=shutil.ignore_patterns("*.duckdb", "*.interlock"))
    interlock("run", "--project", str(whole))

    for table in SETTLED:
        query = f"select * from {table} order by all"
        assert rows(shop, query) == rows(whole, query), table
    # The list of customers is overwritten: only who watched every day knows how they were.
    versions = "select count(*) from prepared.customer_history"
    assert rows(shop, versions) > rows(whole, versions)
    assert rows(shop, "select count(*) from prepared.customer_history where valid_to is null") == rows(whole, versions)


def test_a_day_always_brings_the_same_rows(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(SAMPLE, tmp_path / name)
        arrive(tmp_path / name, days=2)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name / "landing").iterdir()} for name in ("one", "two"))
    assert one == two


def test_its_three_days_are_those_of_the_script(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "shop", ignore=shutil.ignore_patterns("landing"))
    arrive(tmp_path / "shop", days=3)
    made = {path.name: path.read_bytes() for path in (tmp_path / "shop" / "landing").iterdir()}
    assert made == {path.name: path.read_bytes() for path in (SAMPLE / "landing").iterdir()}
