"""Two values are the same exactly where they are; the engine's equality is wider (and its UPDATE believes it)."""

from itertools import product

import duckdb
import pytest

from interlock.engine.warehouse.duckdb import same

VALUES = {
    "BIGINT": ["1", "2"],
    "DECIMAL(5,2)": ["1.00", "1.01"],
    "TIMESTAMP": ["'2024-01-01'", "'2024-01-02'"],
    "VARCHAR": ["'Anna'", "'anna'", "'ANNA'", "'Ànna'", "''"],
    "FLOAT": ["0.0", "'-0.0'", "1.5", "'nan'"],
    "DOUBLE": ["0.0", "'-0.0'", "1.5", "'nan'", "'-inf'"],
    "INTERVAL": ["'1 month'", "'30 days'", "'720 hours'", "'29 days'"],
    "DOUBLE[]": ["[0.0]", "['-0.0'::DOUBLE]", "[0.0, 0.0]", "[]"],
    "VARCHAR[]": ["['a, b']", "['a', 'b']", "['A', 'b']", "[NULL]"],
    "STRUCT(a VARCHAR, i INTERVAL[])": ["{'a': 'x', 'i': ['1 month']}", "{'a': 'x', 'i': ['30 days']}", "{'a': 'X', 'i': ['1 month']}"],
    "MAP(VARCHAR, DOUBLE)": ["MAP {'a': 0.0}", "MAP {'a': '-0.0'}", "MAP {'A': 0.0}"],
    "STRUCT(a BIGINT)[]": ["[{'a': 1}]", "[{'a': 2}]"],
}
"""By type, values of which none is another one. Texts stand in columns that are compared without regard to case and accents."""


def table(connection: duckdb.DuckDBPyConnection, name: str, type_: str, values: list[str]) -> None:
    kind = f"{type_} COLLATE NOCASE.NOACCENT" if type_ == "VARCHAR" else type_
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} (n INTEGER, v {kind})")
    for number, value in enumerate(values):
        connection.execute(f"INSERT INTO {name} VALUES ({number}, CAST({value} AS {type_}))")


@pytest.mark.parametrize("type_", VALUES)
def test_values_are_the_same_where_they_are(type_: str) -> None:
    values = [*VALUES[type_], "NULL"]
    with duckdb.connect() as connection:
        table(connection, "t", type_, values)
        table(connection, "d", type_, values)
        rows = connection.execute(
            f"SELECT t.n, d.n, {same.differs('t.v', 'd.v', type_)}, {same.same('t.v', 'd.v', type_)} FROM t, d ORDER BY ALL"
        ).fetchall()
        assert rows == [(one, other, one != other, one == other) for one, other in product(range(len(values)), repeat=2)]
        told = same.told_apart(["v"], {"v": type_})
        assert connection.execute(f"SELECT count(*) FROM (SELECT {told} FROM t EXCEPT ALL SELECT {told} FROM d)").fetchall() == [(0,)]
        for number in range(len(values)):
            left = f"SELECT {told} FROM t EXCEPT ALL SELECT {told} FROM d WHERE n <> {number}"
            found = connection.execute(
                f"SELECT count(*), bool_and({same.same('g.v', 't.v', type_)}) FROM ({left}) AS g, t WHERE t.n = {number}"
            )
            assert found.fetchall() == [(1, True)], values[number]
        groups = connection.execute(f"SELECT count(*) FROM (SELECT {told}, count(*) AS c FROM t GROUP BY ALL)").fetchall()
        assert groups == [(len(values),)]
        ranked = f"SELECT row_number() OVER (PARTITION BY {same.group_of(['v'], {'v': type_})}) AS r FROM t"
        assert connection.execute(f"SELECT max(r) FROM ({ranked})").fetchall() == [(1,)]


@pytest.mark.parametrize("type_", VALUES)
def test_an_update_passes_over_nothing_else(type_: str) -> None:
    """What the engine's UPDATE leaves as it was although it is told another value is what `passed_over` tells, or less."""
    values = VALUES[type_]
    alike = same.passed_over(["v"], {"v": type_})
    with duckdb.connect() as connection:
        for one, other in product(values, repeat=2):
            table(connection, "t", type_, [one])
            table(connection, "d", type_, [other])
            told = bool(alike) and connection.execute(f"SELECT {alike} FROM t, d").fetchall() == [(True,)]
            connection.execute("UPDATE t SET v = d.v FROM d WHERE t.n = d.n")
            kept = connection.execute(f"SELECT {same.differs('t.v', 'd.v', type_)} FROM t, d").fetchall() == [(True,)]
            assert told or not kept, (one, other)


@pytest.mark.parametrize(("type_", "one", "other"), [("DOUBLE", "0.0", "'-0.0'"), ("INTERVAL", "'1 month'", "'30 days'")])
def test_the_engines_update_writes_nothing_that_it_calls_equal(type_: str, one: str, other: str) -> None:
    """If an upgrade changes this, a merge needs to delete nothing."""
    with duckdb.connect() as connection:
        table(connection, "t", type_, [one])
        table(connection, "d", type_, [other])
        connection.execute("UPDATE t SET v = d.v FROM d WHERE t.n = d.n")
        assert connection.execute(f"SELECT {same.passed_over(['v'], {'v': type_})} FROM t, d").fetchall() == [(True,)]


def test_where_equal_is_the_same_nothing_more_is_asked() -> None:
    for type_ in (
        "BIGINT",
        "DECIMAL(10,2)",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMP_NS",
        "BOOLEAN",
        "UUID",
        "BLOB",
        "JSON",
        "ENUM('double')",
        "STRUCT(a BIGINT)[]",
    ):
        assert same.is_plain(type_), type_
        assert same.differs("t.v", "d.v", type_) == "t.v IS DISTINCT FROM d.v"
        assert same.same("t.v", "d.v", type_) == "t.v IS NOT DISTINCT FROM d.v"
        assert same.told_apart(["v"], {"v": type_}) == '"v"'
        assert same.passed_over(["v"], {"v": type_}) == ""
    assert not same.is_plain("VARIANT"), "what is not known is looked at closely"


def test_a_text_without_a_collation_costs_nothing_more() -> None:
    """The engine plans the very comparison of before."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (n INTEGER, v VARCHAR); CREATE TABLE d (n INTEGER, v VARCHAR)")
        plans = [
            connection.execute(f"EXPLAIN SELECT count(*) FROM t JOIN d USING (n) WHERE {condition}").fetchall()
            for condition in ("t.v IS DISTINCT FROM d.v", same.differs("t.v", "d.v", "VARCHAR"))
        ]
        assert plans[0] == plans[1]
