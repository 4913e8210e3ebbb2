"""Whether there is news in a source: a mark that moves when its rows do. A mark justifies a no-op, and nothing else.

A source without a mark may have moved, so what reads it is built; where a mark was asked for, it is said why there is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.engine.compiler.compiled import CompiledSource
from interlock.engine.compiler.source_texts import database_alias
from interlock.engine.warehouse.duckdb.comments import token_in
from interlock.engine.warehouse.duckdb.control import FORMAT
from interlock.engine.warehouse.duckdb.quoting import identifier, relation_in
from interlock.engine.warehouse.protocol import ALIAS, CONTROL_SCHEMA, Catalog, Reader, Row, WarehouseError
from interlock.machines.evidence import ReceiptBody
from interlock.machines.records import digest, digest_of

NONE: Final = "none"
ASKED_AT_ONCE: Final = 25
"""Questions in one statement: the time that the engine takes to plan them grows with their square."""
_INTERRUPTED: Final = "G562"
_CONTENT: Final = "'sum': CAST(sum(hash(*COLUMNS(*))) AS VARCHAR), 'xor': CAST(bit_xor(hash(*COLUMNS(*))) AS VARCHAR)"
"""By a star: an alias of the relation would be taken for a column of that name, and the mark be that of the one column."""
_OF_THE_ROWS: Final = frozenset({"W607", "W608"})
"""Errors about the rows that were asked for: damaged, or a view that does not give them. Others are about the warehouse."""
_CONTROL: Final = ("heads", "identity", "receipts")
_BODY = msgspec.json.Decoder(ReceiptBody)


class _NoMark(Exception):  # noqa: N818 - an answer about the source
    """There is no mark, and the message says why."""


def fingerprints_of(
    reader: Reader | None, root: Path, project: str, catalog: Catalog, sources: Sequence[CompiledSource]
) -> tuple[dict[str, str], dict[str, str]]:
    """By source: its mark, `none` for one that has none; and of those that were to have one, why not.

    Args:
        reader: of the target; `None` where there is no database yet.
        root: the project's directory, which file sources lie in.
        project: its id.
        catalog: the bulk probe of the target.
        sources: those that are asked for.

    Raises:
        WarehouseError: the warehouse did not answer, or it was interrupted.
    """
    found: dict[str, str] = {}
    why: dict[str, str] = {}
    asked: list[tuple[str, str]] = []
    for source in sources:
        kind = source.source.fingerprint or NONE
        name = source.source.name
        if source.source.path is not None and kind == "content":
            try:
                found[name] = _files_digest(root, source.files)
            except _NoMark as error:
                found[name], why[name] = NONE, str(error)
        elif kind == "content":
            asked.append((name, _of_rows(source, _CONTENT)))
        elif kind == "column" and source.source.fingerprint_column is not None:
            column = identifier(source.source.fingerprint_column)
            asked.append((name, _of_rows(source, f"'high': CAST(max({column}) AS VARCHAR)")))
        elif kind == "receipt" and reader is not None:
            try:
                found[name] = _by_receipt(reader, project, catalog, source)
            except _NoMark as error:
                found[name], why[name] = NONE, str(error)
        else:
            found[name] = NONE
    if reader is not None:
        for start in range(0, len(asked), ASKED_AT_ONCE):
            found |= _asked(reader, asked[start : start + ASKED_AT_ONCE], why)
    for name, _ in asked:
        found.setdefault(name, NONE)
    return found, why


def _of_rows(source: CompiledSource, fields: str) -> str:
    """The question for a mark of a relation: its columns by name and type, how many rows there are, and these fields of them.

    The values alone say too little: a row is hashed by its values, so that two columns which swapped their names, or digits under
    another scale, would be the same rows.
    """
    columns = f"(SELECT list([column_name, column_type]) FROM (DESCRIBE FROM {source.sql}))"
    return f"SELECT {{'columns': {columns}, 'rows': count(*), {fields}}} FROM {source.sql} AS s"


def _asked(reader: Reader, asked: Sequence[tuple[str, str]], why: dict[str, str]) -> dict[str, str]:
    """Marks that a query makes, all by one question; where that gets no answer, each is asked alone, and which have none is said."""
    fields = ", ".join(f"'s{number}': ({query})" for number, (_, query) in enumerate(asked))
    try:
        answer: dict[str, Any] = reader.query(f"SELECT {{{fields}}}")[0][0]
    except WarehouseError as error:
        if error.code not in _OF_THE_ROWS:
            raise
        if len(asked) == 1:
            why[asked[0][0]] = f"it could not be read: {error.message}"
            return {}
    else:
        return {name: digest_of("fingerprint", answer[f"s{number}"]) for number, (name, _) in enumerate(asked)}
    found: dict[str, str] = {}
    for each in asked:
        found |= _asked(reader, [each], why)
    return found


def _files_digest(root: Path, files: Sequence[str]) -> str:
    """Of their names and contents.

    Raises:
        _NoMark: one went since it was listed, or may not be read. Named as the project names it: a plan holds no place of a machine.
    """
    parts = []
    for name in files:
        try:
            with (root / name).open("rb") as file:
                parts.append([name, hashlib.file_digest(file, "sha256").hexdigest()])
        except OSError as error:
            raise _NoMark(f"`{name}` could not be read: {error.strerror}") from error
    return digest_of("fingerprint", parts)


# --- what another project's receipt says --------------------------------------------------------------------------------


def _by_receipt(reader: Reader, project: str, catalog: Catalog, source: CompiledSource) -> str:
    """The generation of a relation that another Interlock project makes, by the receipt that its head names.

    Raises:
        _NoMark: the relation does not carry the head's token, or the receipt does not say, or nobody could read it.
    """
    try:
        schema, name, kind, token = _carried(reader, catalog, source)
        if token is None:
            raise _NoMark(f"{schema}.{name} carries no token of an Interlock project")
        if kind == "view":
            raise _NoMark(f"{schema}.{name} is a view, and a receipt does not say when what it shows has changed")
        return _generation(reader, project, source, schema, name, token)
    except WarehouseError as error:
        if error.code == _INTERRUPTED:
            raise
        raise _NoMark(f"it could not be read: {error.message}") from error


def _carried(reader: Reader, catalog: Catalog, source: CompiledSource) -> tuple[str, str, str, str | None]:
    """Schema, name and kind of the relation, and the token at the end of its comment."""
    alias = _alias(source)
    if alias == ALIAS:
        places = catalog.relations.values()
        seen = next((place for place in places if source.sql.lower() == relation_in(ALIAS, place.schema, place.name).lower()), None)
        if seen is None:
            raise _NoMark(f"{source.sql} was not seen")
        return seen.schema, seen.name, seen.kind, seen.token
    schema, name = source.source.schema or "main", source.source.identifier or source.source.name
    rows = reader.query(
        """SELECT schema_name, table_name, 'table', comment FROM duckdb_tables()
WHERE database_name = $database AND lower(schema_name) = $schema AND lower(table_name) = $name
UNION ALL SELECT schema_name, view_name, 'view', comment FROM duckdb_views()
WHERE database_name = $database AND lower(schema_name) = $schema AND lower(view_name) = $name""",
        {"database": alias, "schema": schema.lower(), "name": name.lower()},
    )
    if len(rows) != 1:
        raise _NoMark(f"{source.sql} was not seen")
    found = rows[0]
    return str(found[0]), str(found[1]), str(found[2]), token_in(found[3])


def _alias(source: CompiledSource) -> str:
    """Of the database that it is read from: the target, also where the target's own file is named, or one that is attached."""
    database = source.source.database
    return ALIAS if database is None or source.sql.startswith(f"{identifier(ALIAS)}.") else database_alias(database)


def _generation(reader: Reader, project: str, source: CompiledSource, schema: str, name: str, token: str) -> str:
    alias = _alias(source)
    there = {
        str(row[0])
        for row in reader.query(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = $database AND schema_name = $schema",
            {"database": alias, "schema": CONTROL_SCHEMA},
        )
    }
    if missing := [table for table in _CONTROL if table not in there]:
        raise _NoMark(f"there is no {CONTROL_SCHEMA}.{missing[0]} beside it")
    heads, identity, receipts = (relation_in(alias, CONTROL_SCHEMA, table) for table in _CONTROL)
    (owner, model, receipt, generation), format_ = _head(reader, heads, identity, token)
    if alias == ALIAS and owner == project:
        raise _NoMark(f"this project makes it: read it as the model `{model}`")
    if format_ is None or format_ > FORMAT:
        raise _NoMark(f"its project keeps receipts of format {format_ or 'unknown'}, and this release reads {FORMAT}")
    rows = reader.query(
        f"SELECT body FROM {receipts} WHERE receipt = $receipt AND project = $project", {"receipt": receipt, "project": owner}
    )
    if len(rows) != 1:
        raise _NoMark(f"the receipt that the head of `{model}` names is not there")
    body = _decoded(str(rows[0][0]).encode(), receipt)
    if (body.project, body.model, body.token, body.generation) != (owner, model, token, generation):
        raise _NoMark(f"the receipt of `{model}` is not the one that its head speaks of")
    if body.relation.lower() != f"{schema}.{name}".lower() or generation is None:
        raise _NoMark(f"the receipt of `{model}` is about {body.relation}")
    counted = reader.query(f"SELECT count(*) FROM {source.sql} AS s")[0][0]
    if counted != body.rows_after:
        raise _NoMark(f"{schema}.{name} has {counted} rows, and {body.rows_after} by its receipt: somebody changed it by hand")
    return digest_of("fingerprint", {"project": owner, "model": model, "generation": generation})


def _head(reader: Reader, heads: str, identity: str, token: str) -> tuple[Row, int | None]:
    rows = reader.query(f"SELECT project, model, receipt, generation FROM {heads} WHERE token = $token", {"token": token})
    if len(rows) != 1 or rows[0][2] is None:
        raise _NoMark("no head of a project names the token that it carries")
    known = reader.query(f"SELECT format FROM {identity} WHERE project = $project", {"project": rows[0][0]})
    return rows[0], known[0][0] if len(known) == 1 else None


def _decoded(stored: bytes, receipt: str) -> ReceiptBody:
    if digest("receipt", stored) != receipt:
        raise _NoMark(f"receipt {receipt[:12]} was altered: its bytes are not those of its id")
    try:
        return _BODY.decode(stored)
    except msgspec.DecodeError as error:
        raise _NoMark(f"receipt {receipt[:12]} cannot be read: {error}") from error
