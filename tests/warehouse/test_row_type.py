"""The type of a row says which columns a relation has, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.row_type import FIELD, is_of
from interlock.engine.warehouse.duckdb.signature import signature
from interlock.machines.evidence import Column

NAMES = ["a", "A", "day", "select", "a b", 'a"b', "a, b", "ä", "x_1", "1x", "_", "a INTEGER, b", "Ab", "type"]
TYPES = [
    "INTEGER",
    "VARCHAR",
    "DECIMAL(10,2)",
    "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMP_NS",
    "INTEGER[]",
    "INTEGER[3]",
    'STRUCT(a INTEGER, "B b" VARCHAR, "select" DATE)',
    "MAP(VARCHAR, INTEGER[])",
    "UNION(i INTEGER, s VARCHAR)",
    "ENUM('x', 'it''s', 'a, b INTEGER')",
    "JSON",
    "UUID",
    "HUGEINT",
    "BLOB",
]  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as connection:
        yield connection


def shape_and_row_type(engine: duckdb.DuckDBPyConnection, columns: list[tuple[str, str]]) -> tuple[list[Column], object]:
    listed = ", ".join(f"{identifier(name)} {type_}" for name, type_ in columns)
    engine.execute(f"CREATE OR REPLACE TABLE t ({listed}); INSERT INTO t ({identifier(columns[0][0])}) VALUES (NULL)")
    shape = [Column(name=name, type=str(type_)) for name, type_ in zip(*signature(engine, "FROM t"), strict=True)]
    rows = engine.execute(f"SELECT {{{FIELD}}} FROM t AS interlock_t").fetchall()
    return shape, rows[0][0]["row_type"]


columns_of_any_kind = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(TYPES)), min_size=1, max_size=5, unique_by=lambda each: each[0].lower()
)


@given(columns=columns_of_any_kind, other=columns_of_any_kind)
@settings(deadline=None, max_examples=150)
def test_a_row_is_of_the_columns_that_the_warehouse_names_and_of_no_others(
    engine: duckdb.DuckDBPyConnection, columns: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    shape, row_type = shape_and_row_type(engine, columns)
    assert is_of(row_type, shape)
    another, _ = shape_and_row_type(engine, other)
    assert is_of(row_type, another) == (shape == another)
    assert not is_of(row_type, shape[:-1])
    assert not is_of(row_type, [*shape, Column(name="more", type="INTEGER")])
    assert not is_of(row_type, [*shape[:-1], Column(name=shape[-1].name + "x", type=shape[-1].type)])
    assert is_of(row_type, shape[::-1]) == (len(shape) == 1)


@pytest.mark.parametrize("row_type", [None, "", "STRUCT(", "STRUCT(a INTEGER", "ROW(a INTEGER)", "STRUCT(a INTEGER))", 3])
def test_what_does_not_tell_is_not_believed(row_type: object) -> None:
    assert not is_of(row_type, [Column(name="a", type="INTEGER")])


def test_a_column_of_the_name_of_the_row_tells_nothing(engine: duckdb.DuckDBPyConnection) -> None:
    shape, row_type = shape_and_row_type(engine, [("interlock_t", "STRUCT(interlock_t INTEGER)")])
    assert not is_of(row_type, shape)


def test_a_relation_without_rows_has_a_type_all_the_same(engine: duckdb.DuckDBPyConnection) -> None:
    engine.execute("CREATE OR REPLACE TABLE t (a INTEGER)")
    row_type = engine.execute(f"SELECT {{{FIELD}}} FROM t AS interlock_t").fetchall()[0][0]["row_type"]
    assert is_of(row_type, [Column(name="a", type="INTEGER")])
