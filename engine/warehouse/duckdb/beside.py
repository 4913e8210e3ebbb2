"""Two database files side by side, both read-only: whether relations of one are those of the other, row for row."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from interlock.engine.diagnostics import rows_in_words
from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.errors import DRIVER_ERRORS, classify
from interlock.engine.warehouse.duckdb.quoting import identifier, relation_in, string
from interlock.engine.warehouse.protocol import ALIAS

SHOWN_MAX = 5
_ASIDE = "il_views_aside"


class Pair(NamedTuple):
    """A relation that stands in both files. Columns of `left_out` are not compared by value."""

    name: str
    schema: str
    relation: str
    left_out: tuple[str, ...] = ()


class Side(NamedTuple):
    """What two relations of one name differ in. `because` is empty where they are equal."""

    name: str
    found: bool
    because: str = ""
    rows_here: int | None = None
    rows_there: int | None = None
    only_here: int = 0
    only_there: int = 0
    columns: tuple[str, ...] = ()
    first_only_here: tuple[tuple[str | None, ...], ...] = ()
    first_only_there: tuple[tuple[str | None, ...], ...] = ()


class Setting(NamedTuple):
    """What a file's views are read with: statements of the session, and other database files by alias."""

    prepare: tuple[str, ...] = ()
    attach: Mapping[str, Path] = {}


PLAIN = Setting()


def compare(here: Path, there: Path, pairs: Iterable[Pair], *, ours: Setting = PLAIN, theirs: Setting = PLAIN) -> list[Side]:
    """Compare relations between two database files.

    Raises:
        WarehouseError: a file cannot be opened.
    """
    # Views name their own catalog in their text, so the other file keeps its own name.
    other = there.stem if there.stem not in {ALIAS, "memory", "system", "temp"} else "the_other"
    pairs = list(pairs)
    try:
        with tempfile.TemporaryDirectory() as place:
            aside = Path(place) / "views.duckdb"
            views, broken = _aside(aside, here, pairs, ours)
            connection = duckdb.connect(":memory:")
            try:
                for statement in ("SET TimeZone = 'UTC'", *theirs.prepare):
                    connection.execute(statement)
                for path, alias in ((here, ALIAS), (there, other), (aside, _ASIDE)):
                    connection.execute(f"ATTACH {string(str(path))} AS {identifier(alias)} (READ_ONLY)")
                for alias, path in theirs.attach.items():
                    connection.execute(f"ATTACH {string(str(path))} AS {identifier(alias)} (READ_ONLY)")
                return [broken.get(pair) or _side(connection, other, pair, views.get(pair)) for pair in pairs]
            finally:
                connection.close()
    except DRIVER_ERRORS as error:
        raise classify(error) from error  # type: ignore[arg-type]


def _aside(aside: Path, here: Path, pairs: list[Pair], ours: Setting) -> tuple[dict[Pair, str], dict[Pair, Side]]:
    """Rows of our views, put down in a file of their own: a view may read the other file, which no connection can have twice."""
    views: dict[Pair, str] = {}
    broken: dict[Pair, Side] = {}
    connection = duckdb.connect(str(aside))
    try:
        for statement in ("SET TimeZone = 'UTC'", *ours.prepare):
            connection.execute(statement)
        for alias, path in {ALIAS: here, **ours.attach}.items():
            connection.execute(f"ATTACH {string(str(path))} AS {identifier(alias)} (READ_ONLY)")
        query = "SELECT lower(schema_name), lower(view_name) FROM duckdb_views() WHERE database_name = ?"
        known = set(connection.execute(query, [ALIAS]).fetchall())
        for number, pair in enumerate(pairs):
            if (pair.schema.lower(), pair.relation.lower()) not in known:
                continue
            try:
                connection.execute(f"CREATE TABLE v{number} AS SELECT * FROM {relation_in(ALIAS, pair.schema, pair.relation)}").fetchall()
                views[pair] = f"v{number}"
            except DRIVER_ERRORS as error:
                broken[pair] = Side(pair.name, found=False, because=classify(error).message)  # type: ignore[arg-type]
    finally:
        connection.close()
    return views, broken


def _side(connection: duckdb.DuckDBPyConnection, other: str, pair: Pair, view: str | None) -> Side:
    name, schema, relation, left_out = pair
    places = [(ALIAS, schema, relation) if view is None else (_ASIDE, "main", view), (other, schema, relation)]
    columns = [_columns(connection, *place) for place in places]
    if not columns[0] or not columns[1]:
        where = "dbt's warehouse has no such relation" if columns[0] else "it is not built here"
        return Side(name, found=False, because=where)
    mine, theirs = columns
    names = tuple(mine)
    compared = tuple(column for column in names if column not in left_out)
    if [column.lower() for column in mine] != [column.lower() for column in theirs]:
        because = f"columns here: {', '.join(mine)}; there: {', '.join(theirs)}"
        return Side(name, found=True, because=because, columns=names)
    types = [
        f"`{column}` is {mine[column]} here and {type_} there"
        for column, type_ in zip(mine, theirs.values(), strict=True)
        if mine[column] != type_
    ]
    listed = ", ".join(identifier(column) for column in compared)
    texts = ", ".join(f"CAST({identifier(column)} AS VARCHAR)" for column in compared)
    try:
        here, there = (f"SELECT {listed} FROM {relation_in(*place)}" for place in places)
        only_here, only_there = f"{here} EXCEPT ALL {there}", f"{there} EXCEPT ALL {here}"
        counts = [_rows(connection, f"SELECT count(*) FROM ({query})")[0][0] for query in (here, there, only_here, only_there)]
        first = [
            tuple(tuple(row) for row in _rows(connection, f"SELECT {texts} FROM ({query}) ORDER BY ALL LIMIT {SHOWN_MAX}"))
            for query in (only_here, only_there)
        ]
    except DRIVER_ERRORS as error:
        return Side(name, found=False, because=classify(error).message, columns=names)  # type: ignore[arg-type]
    because = "; ".join([*types, *([f"{rows_in_words(counts[2])} only here, {counts[3]} only there"] if counts[2] or counts[3] else [])])
    return Side(name, True, because, counts[0], counts[1], counts[2], counts[3], compared, first[0], first[1])


def _columns(connection: duckdb.DuckDBPyConnection, catalog: str, schema: str, relation: str) -> dict[str, str]:
    query = """SELECT column_name, data_type FROM duckdb_columns()
        WHERE lower(database_name) = lower(?) AND lower(schema_name) = lower(?) AND lower(table_name) = lower(?) ORDER BY column_index"""
    return dict(connection.execute(query, [catalog, schema, relation]).fetchall())


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    return connection.execute(query).fetchall()
