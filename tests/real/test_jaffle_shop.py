"""The public sample shop, run as a project and compared with SQL written by hand over its three files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from interlock.engine.cli import main

PROJECT = Path(__file__).parent.parent / "jaffle_shop"
SEEDS = PROJECT / "seeds"

MODELS = {"stg_customers", "stg_orders", "stg_payments", "customers", "orders"}
RAW = {"raw_customers", "raw_orders", "raw_payments"}

CUSTOMERS = """
    select c.id, c.first_name, c.last_name,
        (select min(o.order_date) from raw_orders o where o.user_id = c.id),
        (select max(o.order_date) from raw_orders o where o.user_id = c.id),
        nullif((select count(*) from raw_orders o where o.user_id = c.id), 0),
        (select cast(sum(p.amount) as decimal(18, 2)) / 100 from raw_orders o, raw_payments p where p.order_id = o.id and o.user_id = c.id)
    from raw_customers c
"""
ORDERS = """
    select o.id, o.user_id, o.order_date, o.status,
        coalesce(sum(p.amount) filter (where p.payment_method = 'credit_card'), 0) / 100,
        coalesce(sum(p.amount) filter (where p.payment_method = 'coupon'), 0) / 100,
        coalesce(sum(p.amount) filter (where p.payment_method = 'bank_transfer'), 0) / 100,
        coalesce(sum(p.amount) filter (where p.payment_method = 'gift_card'), 0) / 100,
        sum(p.amount) / 100
    from raw_orders o, raw_payments p
    where p.order_id = o.id
    group by all
"""

Command = Callable[..., dict[str, Any]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "jaffle_shop"))


@pytest.fixture
def interlock(shop: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def command(*words: str, exits: int = 0) -> dict[str, Any]:
        code = main([*words, "--project", str(shop), "--json"])
        out, err = capsys.readouterr()
        assert code == exits, out + err
        answer: dict[str, Any] = json.loads(out)
        return answer

    return command


def rows(shop: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(shop / "jaffle_shop.duckdb"), read_only=True) as connection:
        return sorted(connection.execute(query).fetchall(), key=repr)


def by_hand(query: str) -> list[tuple[Any, ...]]:
    """The answer of plain DuckDB, which never sees the project."""
    with duckdb.connect() as connection:
        for name in RAW:
            connection.execute(f"create view {name} as select * from read_csv('{SEEDS / name}.csv')")
        return sorted(connection.execute(query).fetchall(), key=repr)


def numbers(table: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Decimals and doubles alike, to the cent."""
    return sorted(
        (
            tuple(cell if isinstance(cell, str | None) or hasattr(cell, "isoformat") else round(float(cell), 2) for cell in row)
            for row in table
        ),
        key=repr,
    )


def test_every_table_holds_what_sql_written_by_hand_says(shop: Path, interlock: Command) -> None:
    answer = interlock("run")
    ended = {model["model"]: model["state"] for model in answer["result"]["models"]}
    assert ended == dict.fromkeys(MODELS | RAW, "checkpointed")

    assert numbers(rows(shop, "select * from customers")) == numbers(by_hand(CUSTOMERS))
    assert numbers(rows(shop, "select * from orders")) == numbers(by_hand(ORDERS))
    for name in RAW:
        assert numbers(rows(shop, f"select * from {name}")) == numbers(by_hand(f"select * from {name}"))


def test_known_totals_of_the_shop(shop: Path, interlock: Command) -> None:
    interlock("run")
    assert rows(shop, "select count(*), count(first_order), count(*) filter (where number_of_orders > 1) from customers") == [(100, 62, 29)]
    assert numbers(rows(shop, "select count(*), sum(amount), sum(coupon_amount) from orders")) == numbers(
        by_hand("select 99, sum(amount) / 100, sum(amount) filter (where payment_method = 'coupon') / 100 from raw_payments"),
    )


def test_a_second_run_has_nothing_to_do(shop: Path, interlock: Command) -> None:
    interlock("run")
    before = rows(shop, "select receipt, token from interlock.heads")
    answer = interlock("run")
    assert {model["state"] for model in answer["result"]["models"]} <= {"no_op"}
    assert rows(shop, "select receipt, token from interlock.heads") == before


def test_a_payment_for_an_order_that_is_not_there_stops_before_it_is_seen(shop: Path, interlock: Command) -> None:
    interlock("run")
    before = rows(shop, "select * from orders")
    with (shop / "seeds" / "raw_orders.csv").open("a", encoding="utf-8") as file:
        file.write("100,777,2018-04-10,placed\n")
    with (shop / "seeds" / "raw_payments.csv").open("a", encoding="utf-8") as file:
        file.write("114,100,coupon,500\n")

    answer = interlock("run", exits=3)

    refused = {model["model"]: model["code"] for model in answer["result"]["models"] if model["state"] == "refused"}
    assert refused == {"orders": "G527"}
    assert rows(shop, "select * from orders") == before
