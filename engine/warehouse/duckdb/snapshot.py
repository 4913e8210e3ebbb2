"""The statements of a snapshot: versions of rows, by their own time or by comparing columns at `$as_of`."""

from __future__ import annotations

from interlock.engine.warehouse.duckdb import same
from interlock.engine.warehouse.duckdb.extend import same_key
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.write import DELTA, Cursor, columns_sql, doubles_field, sample_of, wrapped
from interlock.engine.warehouse.protocol import Statement
from interlock.machines.records import Record


def create_snapshot(rel: str, query: str, *, valid_from: str, valid_type: str) -> Statement:
    """A snapshot's first state: every row is valid from its own time on."""
    text = (
        f'CREATE TABLE {rel} AS SELECT *, CAST({valid_from} AS {valid_type}) AS "valid_from", CAST(NULL AS {valid_type}) AS "valid_to" '
        f"FROM {wrapped(query)}"
    )
    return Statement(role="create", text=text)


class SnapshotShape(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a snapshot tells versions: by the row's own time, or by comparing columns at `$as_of`."""

    columns: tuple[str, ...]
    """Of the query, without validity."""
    key: tuple[str, ...]
    updated_at: Cursor | None
    """The row's own time, and the end from which on rows are held."""
    compared: tuple[str, ...]
    types: dict[str, str]
    """Of the columns, by name in small letters."""
    valid_type: str
    as_of: str
    """Literal expression of the plan's time."""

    def starts(self, alias: str = "d") -> str:
        """When a delta row's version begins."""
        own = f"{alias}.{self.updated_at.name}" if self.updated_at else self.as_of
        return f"CAST({own} AS {self.valid_type})"

    def stood_at(self) -> str:
        """The time of the row that an open version was made from. It begins later where the row had been gone until then."""
        own = f"t.{self.updated_at.name}, " if self.updated_at else ""
        return f'coalesce({own}t."valid_from")'

    def is_taken(self) -> str:
        """A delta row is not held: its time has come. One without a time is refused anyhow."""
        return f"({self.updated_at.beyond('d')}) IS NOT TRUE" if self.updated_at else "TRUE"


def look_snapshot_delta(shape: SnapshotShape, rel: str) -> Statement:
    """Keys twice or null, rows without a time, rows changed although their time did not move or went back, rows held, keys gone."""
    key = shape.key
    nulls = " OR ".join(f"{identifier(name)} IS NULL" for name in key)
    gone = f'SELECT 1 FROM {rel} AS t WHERE t."valid_to" IS NULL AND NOT EXISTS (SELECT 1 FROM {DELTA} AS d WHERE {same_key(key)})'
    fields = [
        "'rows': count(*)",
        f"'key_nulls': count(*) FILTER (WHERE {nulls})",
        doubles_field(key, DELTA),
        f"'gone': (SELECT count(*) FROM ({gone}) AS g)",
    ]
    if shape.updated_at is not None:
        own = shape.updated_at.name
        others = [name for name in shape.columns if name not in key and identifier(name) != own]
        differs = same.any_differs([*same.loose(key, shape.types), *others], shape.types)
        open_version = f'{rel} AS t ON {same_key(key)} AND t."valid_to" IS NULL'
        unmoved = (
            f"SELECT {columns_sql(key, 'd.')}, {shape.starts()} = {shape.stood_at()} AS interlock_stuck FROM {DELTA} AS d "
            f"JOIN {open_version} WHERE {shape.starts()} <= {shape.stood_at()} AND ({differs})"
        )
        # One that was taken before there was an end, or by a plan of a later time, is not held: it is there.
        held = (
            f"SELECT d.{own} FROM {DELTA} AS d LEFT JOIN {open_version} "
            f"WHERE ({shape.updated_at.beyond('d')}) AND {shape.starts()} IS DISTINCT FROM {shape.stood_at()}"
        )
        counts = [
            "'stuck': count(*) FILTER (WHERE interlock_stuck)",
            "'late': count(*) FILTER (WHERE NOT interlock_stuck)",
            f"'stuck_sample': {sample_of(key, 'interlock_stuck')}",
        ]
        fields += [
            f"'watermark_nulls': count(*) FILTER (WHERE {own} IS NULL)",
            f"'null_sample': {sample_of(key, f'{own} IS NULL')}",
            f"'unmoved': (SELECT {{{', '.join(counts)}}} FROM ({unmoved}) AS s)",
            f"'beyond': (SELECT count(*) FROM ({held}) AS h)",
            f"'beyond_sample': (SELECT {sample_of([shape.updated_at.column], 'TRUE')} FROM ({held}) AS h)",
        ]
    return Statement(role="look_delta", text=f"SELECT {{{', '.join(fields)}}} FROM {DELTA}")


def close_versions(shape: SnapshotShape, rel: str) -> Statement:
    """Ends the open version of each row that changed; a plan of an earlier time than its begin ends it where it began."""
    if shape.updated_at is not None:
        changed = f"{shape.starts()} > {shape.stood_at()} AND {shape.is_taken()}"
    else:
        changed = same.any_differs(shape.compared, shape.types)
    end = f'greatest({shape.starts()}, t."valid_from")'
    text = (
        f'UPDATE {rel} AS t SET "valid_to" = {end} FROM {DELTA} AS d WHERE {same_key(shape.key)} AND t."valid_to" IS NULL AND ({changed})'
    )
    return Statement(role="close", text=text)


def close_gone(shape: SnapshotShape, rel: str) -> Statement:
    """Ends the open version of each key that the source no longer has (`hard_deletes = "close"`), at `$as_of`."""
    end = f"CAST({shape.as_of} AS {shape.valid_type})"
    text = (
        f'UPDATE {rel} AS t SET "valid_to" = greatest({end}, t."valid_from") WHERE t."valid_to" IS NULL '
        f"AND NOT EXISTS (SELECT 1 FROM {DELTA} AS d WHERE {same_key(shape.key)})"
    )
    return Statement(role="close_gone", text=text)


def insert_versions(shape: SnapshotShape, rel: str) -> Statement:
    """A new version for each key that has no open one; it never begins before the last one ended."""
    names = columns_sql(shape.columns)
    ended = f'SELECT {columns_sql(shape.key)}, max("valid_to") AS interlock_end FROM {rel} GROUP BY {columns_sql(shape.key)}'
    text = (
        f'INSERT INTO {rel} ({names}, "valid_from", "valid_to") '
        f"SELECT {columns_sql(shape.columns, 'd.')}, greatest({shape.starts()}, e.interlock_end), NULL FROM {DELTA} AS d "
        f"LEFT JOIN ({ended}) AS e ON {same_key(shape.key, 'e', 'd')} "
        f'WHERE NOT EXISTS (SELECT 1 FROM {rel} AS t WHERE {same_key(shape.key)} AND t."valid_to" IS NULL) AND {shape.is_taken()}'
    )
    return Statement(role="insert", text=text)
