"""What a stored view reads, as the engine stores its text: names of CTEs are none, and no word in a name hides the SELECT."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from interlock.engine.warehouse.duckdb.dependents import names_in, select_of
from interlock.engine.warehouse.protocol import RelationSeen

READS: dict[str, set[str]] = {
    "SELECT * FROM t": {"t"},
    "SELECT * FROM shop.main.t": {"t"},
    "SELECT * FROM s.u": {"s.u"},
    "WITH t AS (SELECT * FROM u) SELECT * FROM t": {"u"},
    "WITH T AS (SELECT * FROM u) SELECT * FROM t": {"u"},
    "WITH t AS (SELECT * FROM t) SELECT * FROM t": {"t"},
    "WITH t AS (SELECT * FROM u) SELECT * FROM main.t": {"main.t", "u"},
    "WITH u AS (SELECT * FROM t), t AS (SELECT * FROM u) SELECT * FROM t": {"t"},
    "SELECT * FROM (WITH t AS (SELECT 1 AS i) SELECT * FROM t) AS a, t": {"t"},
    "WITH t AS (SELECT 1 AS i) SELECT (SELECT max(i) FROM t) AS a, i FROM u WHERE i IN (SELECT i FROM t)": {"u"},
    "WITH RECURSIVE t AS (SELECT i FROM u UNION ALL SELECT i + 1 FROM t WHERE i < 3) SELECT * FROM t": {"u"},
    "WITH RECURSIVE t AS (SELECT i FROM t UNION ALL SELECT i + 1 FROM t WHERE i < 3) SELECT * FROM t": {"t"},
    "WITH t AS (SELECT 1 AS i) SELECT * FROM t UNION ALL SELECT * FROM u": {"u"},
    "SELECT * FROM elsewhere.main.t": set(),
    'SELECT i AS "b AS c" FROM t': {"t"},
}


def stored(tmp_path: Path, name: str, text: str) -> RelationSeen:
    connection = duckdb.connect(str(tmp_path / "shop.duckdb"))
    connection.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS elsewhere")
    for place in ("t", "u", "s.u", "elsewhere.t"):
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS s; CREATE TABLE {place} (i INTEGER)")
    connection.execute(f"CREATE VIEW {name} AS {text}")
    rows = connection.execute("SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    connection.close()
    ((schema, view, sql),) = rows
    return RelationSeen(schema=schema, name=view, kind="view", comment=None, token=None, columns=(), text=sql)


@pytest.mark.parametrize("text", list(READS))
def test_a_view_reads_relations_and_no_ctes(text: str, tmp_path: Path) -> None:
    expected = {(("main", name) if "." not in name else tuple(name.split("."))) for name in READS[text]}
    assert names_in(stored(tmp_path, "v", text)) == expected


def test_a_name_without_schema_is_looked_for_in_the_schema_of_the_view_too(tmp_path: Path) -> None:
    assert names_in(stored(tmp_path, "s.v", "SELECT * FROM u")) == {("main", "u"), ("s", "u")}


@pytest.mark.parametrize(
    "name",
    ['"one AS other"', 'v ("one AS other")', '"one as other" ("two As three")', '"a AS SELECT 1 AS b"', '"ßßß ﬁ ŉ"', '"ŉŉŉ AS x" ("ﬃ")'],
)
def test_no_word_in_a_name_hides_what_the_view_reads(name: str, tmp_path: Path) -> None:
    view = stored(tmp_path, name, "SELECT i FROM t")
    assert select_of(view).startswith("SELECT i")
    assert names_in(view) == {("main", "t")}
