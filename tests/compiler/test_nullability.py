"""Never null is said only of what is never null, and of all shapes of which it can be known."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from tests.compiler.nullable import Tables, proved

COLUMNS = {
    "id": "INTEGER NOT NULL",
    "k": "INTEGER NOT NULL",
    "s": "VARCHAR NOT NULL",
    "j": "JSON NOT NULL",
    "arr": "INTEGER[] NOT NULL",
    "d": "DATE NOT NULL",
    "dec": "DECIMAL(10,2) NOT NULL",
    "n": "INTEGER",
    "ns": "VARCHAR",
}
TABLES: Tables = {"t": COLUMNS, "u": COLUMNS}
ROWS = (
    "(1, 0, 'x', 'null', [], '2020-01-01', 0, NULL, NULL), (2, 3, '', '1', [NULL], '2020-02-29', 1.5, 3, 'a'), "
    "(3, 3, 'a', '{\"x\": null}', [1, 2], '1999-12-31', -2, 0, NULL), (4, 1, 'z', '[]', [5], '2021-01-01', 2, 4, 'b')"
)
SHAPE = re.compile(r"\| (\d+) \| (.*?) \| `(.*)` \| (never null|may be null)(¹?) \|")


def shapes() -> list[tuple[str, str, str, str]]:
    text = Path(__file__).with_name("shapes.md").read_text()
    return [(f"{number} {name}", sql.replace("¦", "|"), says, note) for number, name, sql, says, note in SHAPE.findall(text)]


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    """A few rows, with what is awkward among them."""
    connection = duckdb.connect(":memory:")
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    for name, rows in (("t", ROWS), ("u", ROWS.replace("(4, 1", "(9, 7"))):
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.execute(f"INSERT INTO {name} VALUES {rows}")
    return connection


def index_of_c(names: list[str]) -> int:
    return names.index("c") if "c" in names else 0


@pytest.mark.parametrize(("name", "sql", "says", "note"), shapes(), ids=lambda value: value if " " in value and len(value) < 60 else "")
def test_a_shape_is_judged_right(name: str, sql: str, says: str, note: str, database: duckdb.DuckDBPyConnection) -> None:
    settings = {"error_on_division_by_zero": "false"} if note else {}
    names = database.sql(sql).columns
    found = proved(sql, TABLES, settings)
    judged = found is not None and found[index_of_c(names)]
    assert judged == (says == "never null"), name
    if note:
        strict = proved(sql, TABLES)
        assert strict is not None
        assert strict[index_of_c(names)]


@pytest.mark.parametrize(("name", "sql", "says", "note"), shapes(), ids=lambda value: value if " " in value and len(value) < 60 else "")
def test_what_is_said_to_be_never_null_is_not_null(name: str, sql: str, says: str, note: str, database: duckdb.DuckDBPyConnection) -> None:
    del says, note
    relation = database.sql(sql.replace("id//k", "id//(k+1)").replace("id%k", "id%(k+1)"))
    found = proved(sql, TABLES)
    try:
        rows = relation.fetchall()
    except (duckdb.ConversionException, duckdb.InvalidInputException):
        return  # these rows have no answer
    if found is not None:
        assert len(found) == len(relation.columns), name
        for index, never in enumerate(found):
            assert not never or all(row[index] is not None for row in rows), name
