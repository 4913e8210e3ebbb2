"""What a statement gives: the short way and the driver's own relations say the same, and nothing is run."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from interlock.engine.warehouse.duckdb import signature as signatures
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound
from interlock.engine.warehouse.duckdb.signature import NotOneSelect, one_select, signature

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
    monkeypatch.setattr(signatures, "ASK", "no_such_name")
    assert binder.columns_of(text) == short


@pytest.mark.parametrize("ask", ["_bind", "no_such_name"])
@pytest.mark.parametrize("text", ["SELECT 1 AS a; SELECT 2 AS b", "CREATE TABLE t (a INTEGER)", ""])
def test_what_is_not_one_select_is_none(ask: str, text: str, binder: Binder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "ASK", ask)
    assert binder.columns_of(text) == NotBound(message="it is not one SELECT")


def test_what_is_more_than_a_plain_select_is_asked_of_a_relation_and_nothing_is_run() -> None:
    with duckdb.connect() as connection:
        for text in ("CREATE TABLE t (a INTEGER)", "CREATE TABLE t (a INTEGER); SELECT 1"):
            with pytest.raises((NotOneSelect, duckdb.Error)):
                signature(connection, text)
            with pytest.raises(NotOneSelect):
                one_select(connection, text)
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)
