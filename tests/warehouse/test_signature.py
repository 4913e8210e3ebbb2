"""What a statement gives: the short way and the driver's own relations say the same, and nothing is run."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from interlock.engine.warehouse.duckdb import binder as binding
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound
from interlock.engine.warehouse.duckdb.signature import signature

TEXTS = [
    "SELECT 1 AS one, 'a' AS b, NULL AS n",
    "SELECT i, {'a': i, 'b': [i]} AS s, MAP {'k': i} AS m, CAST(i AS DECIMAL(18, 3)) AS d FROM range(3) AS r(i)",
    "WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT *, y AS y FROM a, b",
    "SELECT CAST('a' AS ENUM ('a', 'b')) AS e, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS t, 1::UTINYINT AS u",
    "FROM (VALUES (1, 'x')) AS v(a, a)",
    "SELECT sum(i) OVER (ORDER BY i) AS running FROM range(3) AS r(i) -- to the end",
    "PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (1, 2) USING sum(b)",
    "SELECT nothing FROM range(3)",
    "SELECT FROM WHERE",
    "",
    "SELECT 1; CREATE TABLE warehouse.main.made (a INTEGER)",
    "CREATE TABLE warehouse.main.made (a INTEGER)",
]


@pytest.fixture
def binder() -> Iterator[Binder]:
    with Binder() as opened:
        yield opened


@pytest.mark.parametrize("text", TEXTS)
def test_both_ways_say_the_same_and_nothing_is_run(text: str, binder: Binder, monkeypatch: pytest.MonkeyPatch) -> None:
    short = binder.columns_of(text)
    assert isinstance(binder.columns_of("FROM warehouse.main.made"), NotBound), "it was not made"
    monkeypatch.setattr(binding, "signature", lambda *_: None)
    assert binder.columns_of(text) == short


def test_several_statements_are_none(binder: Binder) -> None:
    found = binder.columns_of("SELECT 1 AS a; SELECT 2 AS b")
    assert found == NotBound(message="it is not one statement")


def test_where_the_driver_has_no_such_question_it_is_not_asked() -> None:
    class Other:
        pass

    assert signature(Other(), "SELECT 1") is None  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["CREATE TABLE t (a INTEGER)", "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)"])
def test_what_is_more_than_a_plain_select_is_left_to_the_driver(text: str) -> None:
    with duckdb.connect() as connection:
        assert signature(connection, text) is None
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)
