"""What the write protocol rests on. An upgrade of DuckDB that changes one of these must be noticed."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from interlock.engine.warehouse.duckdb.comments import token_in
from interlock.engine.warehouse.duckdb.errors import detail

TOKEN = "a" * 64
COMMENT = f"COMMENT ON TABLE warehouse.main.t IS 'orders [interlock:{TOKEN}]'"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(f"ATTACH '{tmp_path / 'x.duckdb'}' AS warehouse")
        yield opened


def comments(connection: duckdb.DuckDBPyConnection) -> list[str | None]:
    rows = connection.execute("SELECT comment FROM duckdb_tables() WHERE database_name = 'warehouse'").fetchall()
    return [token_in(row[0]) for row in rows]


def test_a_commit_after_a_failed_statement_returns_and_writes_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE warehouse.main.t AS SELECT 1 AS a")
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT no_such_column")
    with pytest.raises(duckdb.TransactionException):
        connection.execute("SELECT 1")
    connection.execute("COMMIT")
    assert comments(connection) == []


def test_a_late_error_is_swallowed_by_the_next_statement(connection: duckdb.DuckDBPyConnection) -> None:
    late = "SELECT CASE WHEN i = 900000 THEN error('late') ELSE i END FROM range(1000000) t(i)"
    connection.execute(late)
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(duckdb.Error):
        connection.execute(late).fetchall()


def test_a_token_survives_insert_rename_alter_and_reopening(tmp_path: Path) -> None:
    for step in range(2):
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH '{tmp_path / 'x.duckdb'}' AS warehouse")
            if step == 0:
                connection.execute("CREATE TABLE warehouse.main.t AS SELECT 1 AS a")
                connection.execute(COMMENT)
                connection.execute("INSERT INTO warehouse.main.t VALUES (2)")
                connection.execute("ALTER TABLE warehouse.main.t ADD COLUMN b INTEGER")
                connection.execute("ALTER TABLE warehouse.main.t RENAME TO u")
            assert comments(connection) == [TOKEN]


def test_a_token_dies_on_replace(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE warehouse.main.t AS SELECT 1 AS a")
    connection.execute(COMMENT)
    connection.execute("CREATE OR REPLACE TABLE warehouse.main.t AS SELECT 1 AS a")
    assert comments(connection) == [None]


def test_ddl_and_comments_are_undone_by_a_rollback(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE warehouse.main.t AS SELECT 1 AS a")
    connection.execute("BEGIN")
    connection.execute(COMMENT)
    connection.execute("DROP TABLE warehouse.main.t")
    connection.execute("CREATE TABLE warehouse.main.t AS SELECT 2 AS b")
    connection.execute("CREATE SCHEMA warehouse.other")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT a FROM warehouse.main.t").fetchall() == [(1,)]
    assert comments(connection) == [None]


def test_a_view_is_stored_without_the_alias_of_its_database(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{tmp_path / 'x.duckdb'}' AS warehouse")
        connection.execute("CREATE TABLE warehouse.main.t AS SELECT 1 AS a")
        connection.execute('CREATE VIEW warehouse.main.v AS SELECT * FROM "warehouse"."main"."t" AS "t"')
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        assert connection.execute("FROM v").fetchall() == [(1,)]


def test_an_interrupt_is_lost_on_an_idle_connection(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN")
    connection.interrupt()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
    connection.execute("COMMIT")


def test_errors_carry_numbers_of_the_operating_system(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    connection.execute("SET errors_as_json = true")
    with pytest.raises(duckdb.IOException) as caught:
        connection.execute(f"ATTACH '{tmp_path}/no/x.duckdb' AS other")
    assert detail(caught.value).errno == str(errno.ENOENT)


def test_one_instance_does_not_open_the_file_of_another(tmp_path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    with duckdb.connect() as other, pytest.raises(duckdb.ResourceInUseException):
        other.execute(f"ATTACH '{tmp_path / 'x.duckdb'}' AS warehouse")


def test_a_plain_relative_name_is_looked_for_in_the_working_directory_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why `quoting.file_name` writes names as patterns."""
    for place in ("root", "elsewhere"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.csv").write_text(f"x\n{place}\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    with duckdb.connect() as connection:
        connection.execute(f"SET file_search_path = '{tmp_path / 'root'}'")
        assert connection.execute("FROM read_csv(['a.csv'])").fetchall() == [("elsewhere",)]
        assert connection.execute("FROM read_csv(['a.cs[v]'])").fetchall() == [("root",)]
