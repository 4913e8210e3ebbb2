"""The statements that extend an incremental model: the staged delta, questions about it, and what is written of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from interlock.engine.warehouse.duckdb import same
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.write import DELTA, Cursor, columns_sql, doubles_field, sample_of, watermark_fields, wrapped
from interlock.engine.warehouse.protocol import Statement


def stage(query: str, cursor: Cursor | None) -> Statement:
    """The delta, as a temporary table that only this connection sees, always of the same name."""
    where = "" if cursor is None or cursor.staged() == "TRUE" else f" WHERE {cursor.staged()}"
    return Statement(role="stage", text=f"CREATE TEMP TABLE {DELTA} AS SELECT * FROM {wrapped(query)}{where}")


def unstage() -> Statement:
    """The delta is gone before COMMIT; a rollback takes it along too."""
    return Statement(role="unstage", text=f"DROP TABLE {DELTA}")


def look_delta(
    cursor: Cursor | None,
    key: Sequence[str],
    *,
    old_low: str | None,
    old_high: str | None,
    keeps: str | None = None,
    stays: Literal["yes", "no"] = "no",
) -> Statement:
    """Counts over the delta, and the watermark as it will be: the greatest of what was and what is written.

    Args:
        cursor: of the delta.
        key: its columns.
        old_low: least value of the rows that are there.
        old_high: their greatest.
        keeps: the target, where a row of the delta whose key stands there is not written (`on_conflict = "keep"`): its time is
            that of no row that was.
        stays: whether the watermark stays as it was, since rows above it are left out.
    """
    taken = cursor.taken() if cursor else "TRUE"
    rows, written = DELTA, taken
    if keeps is not None:
        rows = f"(SELECT *, NOT EXISTS (SELECT 1 FROM {keeps} AS t WHERE {same_key(key)}) AS interlock_new FROM {DELTA} AS d) AS w"
        written = f"({taken}) AND interlock_new"
    if stays == "yes":
        written = "FALSE"
    fields = [f"'rows': count(*) FILTER (WHERE {taken})"]
    if cursor is not None:
        name = cursor.name
        fields += [
            f"'watermark_nulls': count(*) FILTER (WHERE {name} IS NULL)",
            f"'null_sample': {sample_of(key or [cursor.column], f'{name} IS NULL')}",
            f"'beyond': count(*) FILTER (WHERE {cursor.beyond()})" if cursor.closed_range == "no" else "'beyond': 0",
            f"'beyond_sample': {sample_of([cursor.column], cursor.beyond())}",
            *watermark_fields(cursor, written, old_low, old_high),
        ]
    if key:
        nulls = " OR ".join(f"{identifier(name)} IS NULL" for name in key)
        fields += [
            f"'key_nulls': count(*) FILTER (WHERE ({taken}) AND ({nulls}))",
            doubles_field(key, f"{DELTA} WHERE {taken}"),
        ]
    return Statement(role="look_delta", text=f"SELECT {{{', '.join(fields)}}} FROM {rows}")


def changed_at_watermark(
    rel: str, cursor: Cursor, watermark: str, compared: Sequence[str], key: Sequence[str], types: Mapping[str, str]
) -> Statement:
    """Rows that were written at the watermark and that the query no longer gives. With a key, keys are compared."""
    names = columns_sql(key) if key else same.told_apart(compared, types)
    at = f"{cursor.name} = {cursor.at(watermark)}"
    there = f"SELECT {names} FROM {rel} WHERE {at}"
    now = f"SELECT {names} FROM {DELTA}" + ("" if key else f" WHERE {at}")
    gone = f"{there} EXCEPT ALL {now}" if not key else f"{there} EXCEPT {now}"
    sample = sample_of(key or compared, "TRUE")
    return Statement(role="changed_at_watermark", text=f"SELECT {{'rows': count(*), 'sample': {sample}}} FROM ({gone}) AS gone")


def conflicting_keys(
    rel: str, key: Sequence[str], compared: Sequence[str], since: Mapping[str, str], cursor: Cursor, types: Mapping[str, str]
) -> Statement:
    """Keys of the delta that are there already with other values (append with a key).

    Args:
        rel: quoted name of the target.
        key: its columns.
        compared: columns whose values are compared.
        since: others, that were added: only in rows above a watermark are they compared.
        cursor: of the delta.
        types: of the columns, by name in small letters.
    """
    # A key that is equal and not the same (`Anna`, `anna`) is another value of its column too.
    told = [*same.loose(key, types), *(name for name in (*compared, *since) if name not in key)]
    other = {name: same.any_differs([name], types) for name in told}
    young = {name: f"(t.{cursor.name} > {cursor.at(at)} AND {other[name]})" for name, at in since.items() if name in other}
    differs = " OR ".join({**other, **young}.values()) or "FALSE"
    on = same_key(key)
    delta = f"(SELECT * FROM {DELTA} WHERE {cursor.taken()}) AS d"
    sample = sample_of(key, "TRUE")
    inner = f"SELECT {columns_sql(key, 'd.')} FROM {delta} JOIN {rel} AS t ON {on} WHERE {differs}"
    return Statement(role="conflicting_keys", text=f"SELECT {{'rows': count(*), 'sample': {sample}}} FROM ({inner}) AS c")


def keys_twice(rel: str, key: Sequence[str]) -> Statement:
    """Keys that stand twice in the target itself (merge by a key that it was not written by): each of their rows would be updated."""
    inner = f"SELECT {columns_sql(key)} FROM {rel} GROUP BY {columns_sql(key)} HAVING count(*) > 1"
    return Statement(role="conflicting_keys", text=f"SELECT {{'rows': count(*), 'sample': {sample_of(key, 'TRUE')}}} FROM ({inner}) AS c")


def keys_outside(rel: str, key: Sequence[str], cursor: Cursor) -> Statement:
    """Keys of the delta that also stand outside the ranges that are replaced: a row that moved between partitions."""
    outside = f"(SELECT * FROM {rel} WHERE NOT coalesce({cursor.in_ranges()}, FALSE)) AS t"
    delta = f"(SELECT * FROM {DELTA} WHERE {cursor.taken()}) AS d"
    inner = f"SELECT {columns_sql(key, 'd.')} FROM {delta} JOIN {outside} ON {same_key(key)}"
    return Statement(role="conflicting_keys", text=f"SELECT {{'rows': count(*), 'sample': {sample_of(key, 'TRUE')}}} FROM ({inner}) AS c")


def late(rel: str, query: str, cursor: Cursor, compared: Sequence[str], types: Mapping[str, str]) -> Statement:
    """Rows below what is looked at: those that the query gives and the target does not have, and the other way round; costs a full read.

    Of ranges, those between that were missing and are made now are no rows below.
    """
    low = cursor.ranges[-1].low if cursor.ranges else cursor.low
    if not low:
        return Statement(role="late", text="SELECT {'late': 0, 'stale': 0}")
    below = f"{cursor.name} < {cursor.at(low)}"
    if cursor.ranges[:-1]:
        below += f" AND NOT ({cursor.in_ranges()})"
    names = same.told_apart(compared, types)
    given = f"SELECT {names} FROM {wrapped(query)} WHERE {below}"
    there = f"SELECT {names} FROM {rel} WHERE {below}"
    counts = f"'late': (SELECT count(*) FROM ({given} EXCEPT ALL {there})), 'stale': (SELECT count(*) FROM ({there} EXCEPT ALL {given}))"
    return Statement(role="late", text=f"SELECT {{{counts}}}")


def same_key(key: Sequence[str], left: str = "t", right: str = "d") -> str:
    """A join condition over the key; keys that hold a null are refused before it is used."""
    return " AND ".join(f"{left}.{identifier(name)} = {right}.{identifier(name)}" for name in key)


def insert_new(rel: str, columns: Sequence[str], cursor: Cursor, watermark: str | None) -> Statement:
    """Append: rows above the watermark. Those at it are `insert_ties`."""
    above = "" if watermark is None else f" AND {cursor.name} > {cursor.at(watermark)}"
    names = columns_sql(columns)
    return Statement(role="insert", text=f"INSERT INTO {rel} ({names}) SELECT {names} FROM {DELTA} WHERE {cursor.taken()}{above}")


def insert_ties(
    rel: str, columns: Sequence[str], cursor: Cursor, watermark: str, compared: Sequence[str], types: Mapping[str, str]
) -> Statement:
    """Append: rows that tie with the watermark and came later, found as a difference of multisets."""
    names = columns_sql(columns)
    at = f"{cursor.name} = {cursor.at(watermark)} AND {cursor.taken()}"
    if list(compared) == list(columns):
        told = same.told_apart(columns, types)
        new = f"SELECT {told} FROM {DELTA} WHERE {at} EXCEPT ALL SELECT {told} FROM {rel} WHERE {cursor.name} = {cursor.at(watermark)}"
        return Statement(role="insert_ties", text=f"INSERT INTO {rel} ({names}) SELECT {names} FROM ({new}) AS d")
    told = same.told_apart(compared, types)
    there = f"SELECT {told}, count(*) AS interlock_n FROM {rel} WHERE {cursor.name} = {cursor.at(watermark)} GROUP BY ALL"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {same.group_of(compared, types)}) AS interlock_r FROM {DELTA} WHERE {at}"
    alike = " AND ".join(same.same(f"t.{identifier(name)}", f"d.{identifier(name)}", types[name.lower()]) for name in compared)
    text = (
        f"INSERT INTO {rel} ({names}) SELECT {columns_sql(columns, 'd.')} FROM ({ranked}) AS d "
        f"LEFT JOIN ({there}) AS t ON {alike or 'TRUE'} WHERE d.interlock_r > coalesce(t.interlock_n, 0)"
    )
    return Statement(role="insert_ties", text=text)


def insert_absent(rel: str, columns: Sequence[str], cursor: Cursor, key: Sequence[str]) -> Statement:
    """Append with a key: only keys that are not there."""
    text = (
        f"INSERT INTO {rel} ({columns_sql(columns)}) SELECT {columns_sql(columns, 'd.')} FROM {DELTA} AS d WHERE {cursor.taken()} "
        f"AND NOT EXISTS (SELECT 1 FROM {rel} AS t WHERE {same_key(key)})"
    )
    return Statement(role="insert", text=text)


def merge(rel: str, columns: Sequence[str], cursor: Cursor, key: Sequence[str], types: Mapping[str, str]) -> Statement:
    """Update by name all columns, insert what is new; rows that are the same are not written.

    Of the key, only what may be equal and not the same (`Anna`, `anna` under a collation) is a value to update.
    """
    written = same.loose(key, types)
    others = [name for name in columns if name not in key or name in written]
    delta = f"(SELECT {columns_sql(columns)} FROM {DELTA} WHERE {cursor.taken()}) AS d"
    matched = ""
    if others:
        differs = same.any_differs(others, types)
        sets = ", ".join(f"{identifier(name)} = d.{identifier(name)}" for name in others)
        matched = f" WHEN MATCHED AND ({differs}) THEN UPDATE SET {sets}"
    text = (
        f"MERGE INTO {rel} AS t USING {delta} ON ({same_key(key)}){matched} "
        f"WHEN NOT MATCHED THEN INSERT ({columns_sql(columns)}) VALUES ({columns_sql(columns, 'd.')})"
    )
    return Statement(role="merge", text=text)


def passed_over(rel: str, columns: Sequence[str], cursor: Cursor, key: Sequence[str], types: Mapping[str, str]) -> Statement | None:
    """Merge: rows go whose new values an UPDATE would not write, so that they are inserted; nothing where no column has such values."""
    alike = same.passed_over(columns, types)
    if not alike:
        return None
    delta = f"(SELECT {columns_sql(columns)} FROM {DELTA} WHERE {cursor.taken()}) AS d"
    return Statement(role="delete", text=f"DELETE FROM {rel} AS t USING {delta} WHERE {same_key(key)} AND ({alike})")


def delete_ranges(rel: str, cursor: Cursor) -> Statement:
    """Partition: the ranges go as a whole; they come back in the same transaction."""
    return Statement(role="delete", text=f"DELETE FROM {rel} WHERE {cursor.in_ranges()}")


def insert_ranges(rel: str, columns: Sequence[str], cursor: Cursor) -> Statement:
    """Partition: the rows of the ranges, by name."""
    names = columns_sql(columns)
    return Statement(role="insert", text=f"INSERT INTO {rel} ({names}) SELECT {names} FROM {DELTA} WHERE {cursor.taken()}")


def touched_by_key(key: Sequence[str]) -> str:
    """Rows whose key is in the delta."""
    return f"EXISTS (SELECT 1 FROM {DELTA} AS d WHERE {same_key(key, 'interlock_t', 'd')})"
