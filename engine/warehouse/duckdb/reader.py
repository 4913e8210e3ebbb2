"""Reading: every question in a read-only transaction of its own, so that nothing that is asked can write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import msgspec

from interlock.engine.warehouse.duckdb.comments import token_in
from interlock.engine.warehouse.duckdb.control import FORMAT, HEADS, IDENTITY, RECEIPTS, SEALS
from interlock.engine.warehouse.duckdb.cursors import Cursors, Gate, closed, fetch, interrupted
from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.errors import DRIVER_ERRORS, classify
from interlock.engine.warehouse.duckdb.signature import NotOneSelect, one_select, signature
from interlock.engine.warehouse.protocol import (
    ALIAS,
    CONTROL_SCHEMA,
    Catalog,
    HeadRow,
    Identity,
    ReceiptRow,
    RelationSeen,
    Row,
    WarehouseError,
)
from interlock.machines.evidence import Column, SealRow

T = TypeVar("T")

_SCHEMAS = f"SELECT schema_name FROM duckdb_schemas() WHERE database_name = '{ALIAS}'"
_TABLES = f"SELECT schema_name, table_name, comment, estimated_size FROM duckdb_tables() WHERE database_name = '{ALIAS}' AND NOT internal"
_VIEWS = f"SELECT schema_name, view_name, comment, sql FROM duckdb_views() WHERE database_name = '{ALIAS}' AND NOT internal"
_COLUMNS = f"""SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE database_name = '{ALIAS}' AND NOT internal ORDER BY schema_name, table_name, column_index"""
_CONTROL = f"SELECT table_name FROM duckdb_tables() WHERE database_name = '{ALIAS}' AND schema_name = '{CONTROL_SCHEMA}'"

_IDENTITY = f"SELECT warehouse, ledger, format FROM {IDENTITY} WHERE project = $project"
_HEADS = f"SELECT model, receipt, token, generation FROM {HEADS} WHERE project = $project ORDER BY model"
_HEADS_OF = f"""SELECT model, receipt, token, generation FROM {HEADS}
WHERE project = $project AND model IN (SELECT unnest(CAST($models AS VARCHAR[])))"""
_RECEIPTS = f"""SELECT receipt, model, run, attempt, previous, body FROM {RECEIPTS}
WHERE project = $project AND receipt IN (SELECT unnest(CAST($ids AS VARCHAR[])))"""
_RECEIPT = f"SELECT receipt, model, run, attempt, previous, body FROM {RECEIPTS} WHERE receipt = $id AND project = $project"
_NO_HEADS = f"SELECT unnest(CAST($tokens AS VARCHAR[])) EXCEPT SELECT token FROM {HEADS}"
_LEFT = f"""WITH left_with AS (SELECT *, json_extract_string(body, '$.token') AS token FROM {RECEIPTS} WHERE project = $project
AND json_extract_string(body, '$.token') IN (SELECT unnest(CAST($tokens AS VARCHAR[]))))
SELECT receipt, model, run, attempt, previous, body FROM left_with AS earlier
WHERE NOT EXISTS (FROM left_with AS later WHERE later.previous = earlier.receipt AND later.token = earlier.token) ORDER BY receipt"""
_ANY_RECEIPT = f"SELECT 1 FROM {RECEIPTS} WHERE project = $project LIMIT 1"
_PAGE = f"""SELECT receipt, model, run, attempt, previous, body FROM {RECEIPTS}
WHERE project = $project AND receipt > $after ORDER BY receipt LIMIT $limit"""
_IDS = f"SELECT receipt FROM {RECEIPTS} WHERE project = $project ORDER BY receipt"
_ALTERED = f"""SELECT receipt, model FROM {RECEIPTS}
WHERE project = $project AND sha256(concat($before, body)) <> receipt ORDER BY receipt LIMIT 1"""
_SEALS = f"SELECT run, serial, tip, outcome, heads FROM {SEALS} WHERE project = $project ORDER BY serial"
_LAST_SEAL = f"SELECT run, serial, tip, outcome, heads FROM {SEALS} WHERE project = $project ORDER BY serial DESC LIMIT 1"
_SEAL = f"SELECT run, serial, tip, outcome, heads FROM {SEALS} WHERE project = $project AND run = $run"


_OF_HEADS = list[tuple[str, str | None, str | None, str | None]]
_OF_RECEIPTS = list[tuple[str, str, str, int, str | None, str]]
_OF_SEALS = list[tuple[str, int, str, Literal["succeeded", "partial"], str]]
_SHAPES: dict[str, Any] = {
    _IDENTITY: list[tuple[str, str, int]],
    **dict.fromkeys((_HEADS, _HEADS_OF), _OF_HEADS),
    **dict.fromkeys((_RECEIPTS, _RECEIPT, _LEFT, _PAGE), _OF_RECEIPTS),
    **dict.fromkeys((_SEALS, _LAST_SEAL, _SEAL), _OF_SEALS),
    _ANY_RECEIPT: list[tuple[int]],
    _ALTERED: list[tuple[str, str]],
    **dict.fromkeys((_NO_HEADS, _IDS), list[tuple[str]]),
}
"""What each question to a control table is answered with."""


class DuckDBReader:
    """A connection for reading. Not for two threads at once."""

    def __init__(self, cursors: Cursors, *, on_close: Callable[[], None] | None = None) -> None:
        self._cursors = cursors
        self._on_close = on_close
        self._cursor: duckdb.DuckDBPyConnection | None = cursors.take()
        self._gate = Gate(self._cursor)
        cursors.watch(self._gate)

    def query(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """All rows of one SELECT. May be interrupted."""
        return self._read(lambda cursor: fetch(cursor, _one_select(cursor, text), parameters))

    def columns_of(self, text: str) -> tuple[Column, ...]:
        """Names and types that a SELECT gives, bound and not run."""

        def bind(cursor: duckdb.DuckDBPyConnection) -> tuple[Column, ...]:
            _one_select(cursor, text)
            return tuple(Column(name=name, type=str(type_)) for name, type_ in zip(*signature(cursor, text), strict=True))

        return self._read(bind)

    def explain(self, text: str) -> str:
        """The physical plan of one SELECT, as the engine's own JSON; nothing is run."""

        def explained(cursor: duckdb.DuckDBPyConnection) -> str:
            _one_select(cursor, text)
            return str(fetch(cursor, f"EXPLAIN (FORMAT json) {text}", None)[0][1])

        return self._read(explained)

    def catalog(self) -> Catalog:
        """One bulk probe of every relation, its comment and columns, in one snapshot; made again only after something was written."""

        def probe(cursor: duckdb.DuckDBPyConnection) -> Catalog:
            schemas = frozenset(str(row[0]) for row in fetch(cursor, _SCHEMAS, None))
            tables = fetch(cursor, _TABLES, None)
            views = fetch(cursor, _VIEWS, None)
            return _catalog(schemas, tables, views, fetch(cursor, _COLUMNS, None))

        return self._cursors.probed(lambda: self._read(probe))

    def identity(self, project: str) -> Identity | None:
        """This project's identity row; `None` where it, its table or its schema is positively absent.

        Raises:
            WarehouseError: K706, it is of a format that another release writes.
        """
        rows = self._control_rows("identity", _IDENTITY, {"project": project})
        if not rows:
            return None
        warehouse, ledger, form = rows[0]
        if form != FORMAT:
            message = (
                f"`interlock.identity` says that the control tables are of format {form}, and this release reads and writes format {FORMAT}"
            )
            raise _not_ours(
                message, "use the release of Interlock that wrote them; where nobody changed releases, undo what was done to it"
            )
        return Identity(warehouse=warehouse, ledger=ledger, format=form)

    def heads(self, project: str) -> tuple[HeadRow, ...]:
        """All heads of the project; empty where the table is positively absent."""
        rows = self._control_rows("heads", _HEADS, {"project": project})
        return tuple(HeadRow(model=row[0], receipt=row[1], token=row[2], generation=row[3]) for row in rows)

    def published(self, project: str, models: Sequence[str]) -> tuple[tuple[HeadRow, ReceiptRow | None], ...]:
        """The head rows of some models, each with its receipt, in one snapshot. Not to be interrupted."""
        # Not one query: a join would read the body of every receipt that there is.
        with self._snapshot(may_interrupt="no") as cursor:
            rows = self._rows_of(cursor, "heads", _HEADS_OF, {"project": project, "models": list(models)})
            heads = [HeadRow(model=row[0], receipt=row[1], token=row[2], generation=row[3]) for row in rows]
            receipts = self._receipts_of(cursor, project, [head.receipt for head in heads if head.receipt is not None])
        return tuple((head, receipts.get(head.receipt or "")) for head in heads)

    def receipts(self, project: str, ids: Sequence[str]) -> dict[str, ReceiptRow]:
        """Receipts by id, in one query; an id that is not there is not in the answer."""
        with self._snapshot(may_interrupt="no") as cursor:
            return self._receipts_of(cursor, project, ids)

    def receipts_that_left(self, project: str, tokens: Sequence[str]) -> tuple[ReceiptRow, ...]:
        """The last receipts that left relations with these tokens, but for tokens that are any project's heads' now."""
        unknown = [row[0] for row in self._control_rows("heads", _NO_HEADS, {"tokens": list(tokens)})]
        if not unknown:
            return ()  # another project's relations: no receipt need be looked at
        return tuple(_receipt(row) for row in self._control_rows("receipts", _LEFT, {"project": project, "tokens": unknown}))

    def receipt_page(self, project: str, *, after: str, limit: int) -> tuple[ReceiptRow, ...]:
        """So many receipts in the order of their ids, from behind one."""
        return tuple(_receipt(row) for row in self._control_rows("receipts", _PAGE, {"project": project, "after": after, "limit": limit}))

    def receipt_ids(self, project: str) -> frozenset[str]:
        """The ids of all receipts."""
        return frozenset(row[0] for row in self._control_rows("receipts", _IDS, {"project": project}))

    def altered_receipt(self, project: str, before: str) -> tuple[str, str] | None:
        """A receipt whose id is not that of its body, and its model. `before`: what a receipt's bytes are preceded by in its digest."""
        rows = self._control_rows("receipts", _ALTERED, {"project": project, "before": before})
        return (rows[0][0], rows[0][1]) if rows else None

    def receipt_exists(self, project: str) -> bool:
        """Whether any receipt of the project stands in the warehouse."""
        return bool(self._control_rows("receipts", _ANY_RECEIPT, {"project": project}))

    def seals(self, project: str) -> tuple[SealRow, ...]:
        """All of them, by serial."""
        return tuple(_seal(project, row) for row in self._control_rows("seals", _SEALS, {"project": project}))

    def last_seal(self, project: str) -> SealRow | None:
        """The seal of the greatest serial."""
        return _only_seal(project, self._control_rows("seals", _LAST_SEAL, {"project": project}))

    def seal_of(self, project: str, run: str) -> SealRow | None:
        """The seal of one run."""
        return _only_seal(project, self._control_rows("seals", _SEAL, {"project": project, "run": run}))

    def interrupt(self) -> None:
        """Interrupt a question that may be interrupted."""
        self._gate.interrupt()

    def close(self) -> None:
        """Give the connection back."""
        cursor, self._cursor = self._cursor, None
        if cursor is None:
            return
        self._cursors.forget(self._gate)
        self._cursors.give(cursor)
        if self._on_close is not None:
            self._on_close()

    def _control_rows(self, table: str, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """Rows of a control table. Not to be interrupted: after a COMMIT, an answer that does not come leaves an attempt in doubt."""
        with self._snapshot(may_interrupt="no") as cursor:
            return self._rows_of(cursor, table, text, parameters)

    def _rows_of(self, cursor: duckdb.DuckDBPyConnection, table: str, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """Rows of a control table; none where the catalog positively has no such table."""
        if table not in self._cursors.control:
            self._cursors.control = frozenset(str(row[0]).lower() for row in fetch(cursor, _CONTROL, None))
        if table not in self._cursors.control:
            return []
        try:
            rows = fetch(cursor, text, parameters)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            # The table is there: so what is missing in it was taken out by somebody.
            raise _not_ours(f"`interlock.{table}` is not as a release of Interlock makes it: {classify(error).message}") from error
        return _as_written(table, text, rows)

    def _receipts_of(self, cursor: duckdb.DuckDBPyConnection, project: str, ids: Sequence[str]) -> dict[str, ReceiptRow]:
        if not ids:
            return {}
        if len(ids) == 1:
            rows = self._rows_of(cursor, "receipts", _RECEIPT, {"project": project, "id": ids[0]})
        else:
            rows = self._rows_of(cursor, "receipts", _RECEIPTS, {"project": project, "ids": list(ids)})
        return {row[0]: _receipt(row) for row in rows}

    def _read(self, ask: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        with self._snapshot(may_interrupt="yes") as cursor:
            return ask(cursor)

    @contextmanager
    def _snapshot(self, *, may_interrupt: Literal["yes", "no"]) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._cursor
        if cursor is None:
            raise closed()
        if may_interrupt == "yes" and self._cursors.interrupted.is_set():
            raise interrupted()
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            try:
                if may_interrupt == "no":
                    yield cursor
                else:
                    with self._gate.open():
                        yield cursor
            finally:
                cursor.execute("ROLLBACK")
        except DRIVER_ERRORS as error:
            raise classify(error) from error  # type: ignore[arg-type]


def _one_select(cursor: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    try:
        return one_select(cursor, text)
    except NotOneSelect as error:
        message = "only one SELECT can be read"
        raise WarehouseError(message, kind="permanent", scope="statement", code="W608", remedy="give a single SELECT") from error


def _catalog(schemas: frozenset[str], tables: list[Row], views: list[Row], columns: list[Row]) -> Catalog:
    shapes: dict[tuple[str, str], list[Column]] = {}
    for schema, name, column, type_ in columns:
        shapes.setdefault((schema, name), []).append(Column(name=column, type=type_))
    relations: dict[tuple[str, str], RelationSeen] = {}

    def add(kind: Literal["table", "view"], schema: str, name: str, comment: str | None, text: str | None, rows: int | None) -> None:
        relations[(schema.lower(), name.lower())] = RelationSeen(
            schema=schema,
            name=name,
            kind=kind,
            comment=comment,
            token=token_in(comment),
            columns=tuple(shapes.get((schema, name), ())),
            text=text,
            about_rows=rows,
        )

    for schema, name, comment, rows in tables:
        add("table", schema, name, comment, None, rows)
    for schema, name, comment, text in views:
        add("view", schema, name, comment, text, None)
    return Catalog(relations=relations, schemas=schemas)


def _receipt(row: Row) -> ReceiptRow:
    body = str(row[5]).encode()
    return ReceiptRow(receipt=row[0], model=row[1], run=row[2], attempt=row[3], previous=row[4], body=body)


def _as_written(table: str, text: str, rows: list[Row]) -> list[Row]:
    """Rows of a control table, if they are such as a release writes: a column that somebody changed is no answer.

    Raises:
        WarehouseError: K706.
    """
    try:
        checked: list[Row] = msgspec.convert(rows, _SHAPES[text])
    except msgspec.ValidationError as error:
        raise _not_ours(f"`interlock.{table}` holds what no release of Interlock writes: {error}") from error
    return checked


def _not_ours(
    message: str, remedy: str = "undo what was done to the schema `interlock`, or restore the database from a backup"
) -> WarehouseError:
    return WarehouseError(message, kind="permanent", scope="target", code="K706", remedy=remedy)


def _only_seal(project: str, rows: list[Row]) -> SealRow | None:
    return _seal(project, rows[0]) if rows else None


def _seal(project: str, row: Row) -> SealRow:
    run, serial, tip, outcome, heads = row
    return SealRow(project=project, run=run, serial=serial, tip=tip, outcome=outcome, heads=heads)
