"""The statements of the write protocol for DuckDB, by action. Pure: every text is known when the plan is made.

What a statement answers is a STRUCT (a dict in Python) wherever the runner reads more than one value from it, so that no
meaning hangs on a position. Names of roles are a contract with the publication guards (`machines/guards`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from interlock.engine.warehouse.duckdb.quoting import identifier, literal, relation_in, schema_name, string
from interlock.engine.warehouse.protocol import Statement
from interlock.machines.evidence import Column, Span
from interlock.machines.records import Record

DELTA = relation_in("temp", "main", "interlock_delta")
SAMPLE_MAX = 3
FORWARD = "9999-12-31"


class Cursor(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The column that an incremental model is restricted by, and its bounds as text of `type`.

    `low` is inclusive, `until` exclusive; `None` is open. `ranges` are half-open (partition), an empty end is open.
    """

    column: str
    type: str
    low: str | None = None
    until: str | None = None
    ranges: tuple[Span, ...] = ()
    refuse_beyond: Literal["yes", "no"] = "no"
    """Rows beyond `until` refuse instead of being held."""
    closed_range: Literal["yes", "no"] = "no"
    """A backfill: only the ranges are looked at, and nothing beyond them."""

    @property
    def name(self) -> str:
        """The column, quoted."""
        return identifier(self.column)

    def at(self, text: str) -> str:
        """A value of the cursor's type."""
        return f"CAST({string(text)} AS {self.type})"

    def before_until(self) -> str:
        """Rows that may be taken now."""
        return "TRUE" if self.until is None else f"{self.name} < {self.at(self.until)}"

    def beyond(self) -> str:
        """Rows whose time has not come; infinite ones where there is no upper end."""
        if self.until is not None:
            return f"{self.name} >= {self.at(self.until)}"
        return f"isinf({self.name})" if _can_be_infinite(self.type) else "FALSE"

    def in_ranges(self) -> str:
        """Rows of the ranges that are replaced."""
        return " OR ".join(f"({self._in(span)})" for span in self.ranges) or "FALSE"

    def _in(self, span: Span) -> str:
        ends = []
        if span.low:
            ends.append(f"{self.name} >= {self.at(span.low)}")
        if span.high:
            ends.append(f"{self.name} < {self.at(span.high)}")
        return " AND ".join(ends) or "TRUE"

    def staged(self) -> str:
        """Rows of the query's output that are staged: the new ones, nulls (to be seen and refused), and held ones."""
        if self.ranges:
            beyond = [] if self.closed_range == "yes" else [f"({self.beyond()})"]
            return " OR ".join([f"({self.in_ranges()})", *beyond, f"{self.name} IS NULL"])
        if self.low is None:
            return "TRUE"
        return f"{self.name} >= {self.at(self.low)} OR {self.name} IS NULL"

    def taken(self) -> str:
        """Of the staged rows, those that are written."""
        if self.ranges:
            return f"({self.in_ranges()})"
        return f"({self.before_until()})"


def bucket(expression: str, width: str | None, type_: str) -> str:
    """The start of the partition that a value lies in: of a time, or of integer ranges of a width."""
    if width is None:
        return expression
    if width.isdigit():
        return f"(({expression}) - ((({expression}) % {width} + {width}) % {width}))"
    return f"CAST(date_trunc({string(width)}, {expression}) AS {type_})"


def _can_be_infinite(type_: str) -> bool:
    return type_ == "DATE" or type_.startswith("TIMESTAMP")


def wrapped(query: str) -> str:
    """An author's query as a derived table: the newline keeps a trailing comment from swallowing the bracket."""
    return f"(\n{query}\n)"


def columns_sql(names: Sequence[str], prefix: str = "") -> str:
    """Quoted names, comma-separated."""
    return ", ".join(f"{prefix}{identifier(name)}" for name in names)


# --- making a relation whole ------------------------------------------------------------------------------------------


def drop(kind: Literal["table", "view"], rel: str) -> Statement:
    """Raises where nothing of that kind stands there: it is its own probe."""
    return Statement(role="drop", text=f"DROP {kind.upper()} {rel}")


def create_table(rel: str, query: str) -> Statement:
    """Never OR REPLACE: raises where something stands there. A writing CTE is refused in this place by the warehouse."""
    return Statement(role="create", text=f"CREATE TABLE {rel} AS SELECT * FROM {wrapped(query)}")


def create_view(rel: str, query: str) -> Statement:
    """A view over the author's text."""
    return Statement(role="create", text=f"CREATE VIEW {rel} AS {wrapped(query)}")


def create_seed(rel: str, columns: Sequence[Column], rows: Sequence[Sequence[str | None]]) -> Statement:
    """A table over literal cells, each cast to its column's type. With no rows, an empty table of those columns."""
    casts = ", ".join(f"CAST(v.c{index} AS {column.type}) AS {identifier(column.name)}" for index, column in enumerate(columns))
    if not rows:
        empty = ", ".join(f"CAST(NULL AS {column.type}) AS {identifier(column.name)}" for column in columns)
        return Statement(role="create", text=f"CREATE TABLE {rel} AS SELECT {empty} WHERE FALSE")
    cells = ",\n".join("(" + ", ".join("NULL::VARCHAR" if cell is None else string(cell) for cell in row) + ")" for row in rows)
    names = ", ".join(f"c{index}" for index in range(len(columns)))
    return Statement(role="create", text=f"CREATE TABLE {rel} AS SELECT {casts} FROM (VALUES\n{cells}\n) AS v({names})")


def hold(rel: str, cursor: Cursor) -> Statement:
    """Takes rows beyond `until` out of a table that was made whole; answers how many."""
    return Statement(role="hold", text=f"DELETE FROM {rel} WHERE {cursor.beyond()}")


def create_snapshot(rel: str, query: str, *, valid_from: str, valid_type: str) -> Statement:
    """A snapshot's first state: every row is valid from its own time on."""
    text = (
        f'CREATE TABLE {rel} AS SELECT *, CAST({valid_from} AS {valid_type}) AS "valid_from", CAST(NULL AS {valid_type}) AS "valid_to" '
        f"FROM {wrapped(query)}"
    )
    return Statement(role="create", text=text)


def add_column(rel: str, column: Column, number: int) -> Statement:
    """A column that the model gained, null in the rows that are there."""
    return Statement(role=f"add_column:{number}", text=f"ALTER TABLE {rel} ADD COLUMN {identifier(column.name)} {column.type}")


# --- extending --------------------------------------------------------------------------------------------------------


def stage(query: str, cursor: Cursor | None) -> Statement:
    """The delta, as a temporary table that only this connection sees, always of the same name."""
    where = "" if cursor is None or cursor.staged() == "TRUE" else f" WHERE {cursor.staged()}"
    return Statement(role="stage", text=f"CREATE TEMP TABLE {DELTA} AS SELECT * FROM {wrapped(query)}{where}")


def unstage() -> Statement:
    """The delta is gone before COMMIT; a rollback takes it along too."""
    return Statement(role="unstage", text=f"DROP TABLE {DELTA}")


def look_delta(cursor: Cursor | None, key: Sequence[str], *, old_low: str | None, old_high: str | None) -> Statement:
    """Counts over the delta, and the watermark as it will be: the greatest of what was and what is written."""
    taken = cursor.taken() if cursor else "TRUE"
    fields = [f"'rows': count(*) FILTER (WHERE {taken})"]
    if cursor is not None:
        name = cursor.name
        fields += [
            f"'watermark_nulls': count(*) FILTER (WHERE {name} IS NULL)",
            f"'null_sample': {_sample_of(key or [cursor.column], f'{name} IS NULL')}",
            f"'beyond': count(*) FILTER (WHERE {cursor.beyond()})" if cursor.closed_range == "no" else "'beyond': 0",
            f"'beyond_sample': {_sample_of([cursor.column], cursor.beyond())}",
            *_watermark_fields(cursor, taken, old_low, old_high),
        ]
    if key:
        nulls = " OR ".join(f"{identifier(name)} IS NULL" for name in key)
        doubles = f"SELECT {columns_sql(key)} FROM {DELTA} WHERE {taken} GROUP BY {columns_sql(key)} HAVING count(*) > 1"
        fields += [
            f"'key_nulls': count(*) FILTER (WHERE ({taken}) AND ({nulls}))",
            f"'key_doubles': (SELECT count(*) FROM ({doubles}) AS k)",
            f"'double_sample': (SELECT {_sample_of(key, 'TRUE')} FROM ({doubles}) AS k)",
        ]
    return Statement(role="look_delta", text=f"SELECT {{{', '.join(fields)}}} FROM {DELTA}")


def _watermark_fields(cursor: Cursor, taken: str, old_low: str | None, old_high: str | None) -> list[str]:
    name = cursor.name
    high = f"max({name}) FILTER (WHERE {taken})"
    low = f"min({name}) FILTER (WHERE {taken})"
    if old_high is not None:
        high = f"greatest({high}, {cursor.at(old_high)})"
    if old_low is not None:
        low = f"least({low}, {cursor.at(old_low)})"
    return [
        f"'high': CAST({high} AS VARCHAR)",
        f"'low': CAST({low} AS VARCHAR)",
        f"'lossy': CAST(CAST(CAST({high} AS VARCHAR) AS {cursor.type}) IS DISTINCT FROM {high} AS INTEGER)",
    ]


def _sample_of(names: Sequence[str], where: str) -> str:
    row = "concat_ws(', ', " + ", ".join(f"coalesce(CAST({identifier(name)} AS VARCHAR), 'NULL')" for name in names) + ")"
    return f"array_to_string(min({row}, {SAMPLE_MAX}) FILTER (WHERE {where}), '; ')"


def changed_at_watermark(rel: str, cursor: Cursor, watermark: str, compared: Sequence[str], key: Sequence[str]) -> Statement:
    """Rows that were written at the watermark and that the query no longer gives. With a key, keys are compared."""
    names = columns_sql(key or compared)
    at = f"{cursor.name} = {cursor.at(watermark)}"
    there = f"SELECT {names} FROM {rel} WHERE {at}"
    now = f"SELECT {names} FROM {DELTA}" + ("" if key else f" WHERE {at}")
    gone = f"{there} EXCEPT ALL {now}" if not key else f"{there} EXCEPT {now}"
    sample = _sample_of(key or compared, "TRUE")
    return Statement(role="changed_at_watermark", text=f"SELECT {{'rows': count(*), 'sample': {sample}}} FROM ({gone}) AS gone")


def conflicting_keys(rel: str, key: Sequence[str], compared: Sequence[str], cursor: Cursor) -> Statement:
    """Keys of the delta that are there already with other values (append with a key)."""
    others = [name for name in compared if name not in key]
    differs = " OR ".join(f"t.{identifier(name)} IS DISTINCT FROM d.{identifier(name)}" for name in others) or "FALSE"
    on = _on(key)
    delta = f"(SELECT * FROM {DELTA} WHERE {cursor.taken()}) AS d"
    sample = _sample_of(key, "TRUE")
    inner = f"SELECT {columns_sql(key, 'd.')} FROM {delta} JOIN {rel} AS t ON {on} WHERE {differs}"
    return Statement(role="conflicting_keys", text=f"SELECT {{'rows': count(*), 'sample': {sample}}} FROM ({inner}) AS c")


def keys_outside(rel: str, key: Sequence[str], cursor: Cursor) -> Statement:
    """Keys of the delta that also stand outside the ranges that are replaced: a row that moved between partitions."""
    outside = f"(SELECT * FROM {rel} WHERE NOT coalesce({cursor.in_ranges()}, FALSE)) AS t"
    delta = f"(SELECT * FROM {DELTA} WHERE {cursor.taken()}) AS d"
    inner = f"SELECT {columns_sql(key, 'd.')} FROM {delta} JOIN {outside} ON {_on(key)}"
    return Statement(role="conflicting_keys", text=f"SELECT {{'rows': count(*), 'sample': {_sample_of(key, 'TRUE')}}} FROM ({inner}) AS c")


def late(rel: str, query: str, cursor: Cursor, compared: Sequence[str]) -> Statement:
    """Rows below the lower end that the query gives and the target does not have; costs a full read."""
    if cursor.low is None:
        return Statement(role="late", text="SELECT 0")
    below = f"{cursor.name} < {cursor.at(cursor.low)}"
    names = columns_sql(compared)
    inner = f"SELECT {names} FROM {wrapped(query)} WHERE {below} EXCEPT ALL SELECT {names} FROM {rel} WHERE {below}"
    return Statement(role="late", text=f"SELECT count(*) FROM ({inner}) AS late")


def _on(key: Sequence[str], left: str = "t", right: str = "d") -> str:
    return " AND ".join(f"{left}.{identifier(name)} = {right}.{identifier(name)}" for name in key)


def _same(names: Sequence[str], left: str, right: str) -> str:
    return " AND ".join(f"{left}.{identifier(name)} IS NOT DISTINCT FROM {right}.{identifier(name)}" for name in names) or "TRUE"


def insert_new(rel: str, columns: Sequence[str], cursor: Cursor, watermark: str | None) -> Statement:
    """Append: rows above the watermark. Those at it are `insert_ties`."""
    above = "" if watermark is None else f" AND {cursor.name} > {cursor.at(watermark)}"
    names = columns_sql(columns)
    return Statement(role="insert", text=f"INSERT INTO {rel} ({names}) SELECT {names} FROM {DELTA} WHERE {cursor.taken()}{above}")


def insert_ties(rel: str, columns: Sequence[str], cursor: Cursor, watermark: str, compared: Sequence[str]) -> Statement:
    """Append: rows that tie with the watermark and came later, found as a difference of multisets."""
    names = columns_sql(columns)
    at = f"{cursor.name} = {cursor.at(watermark)} AND {cursor.taken()}"
    if list(compared) == list(columns):
        new = f"SELECT {names} FROM {DELTA} WHERE {at} EXCEPT ALL SELECT {names} FROM {rel} WHERE {cursor.name} = {cursor.at(watermark)}"
        return Statement(role="insert_ties", text=f"INSERT INTO {rel} ({names}) SELECT {names} FROM ({new}) AS d")
    same = columns_sql(compared)
    there = f"SELECT {same}, count(*) AS interlock_n FROM {rel} WHERE {cursor.name} = {cursor.at(watermark)} GROUP BY {same}"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {same}) AS interlock_r FROM {DELTA} WHERE {at}"
    text = (
        f"INSERT INTO {rel} ({names}) SELECT {columns_sql(columns, 'd.')} FROM ({ranked}) AS d "
        f"LEFT JOIN ({there}) AS t ON {_same(compared, 't', 'd')} WHERE d.interlock_r > coalesce(t.interlock_n, 0)"
    )
    return Statement(role="insert_ties", text=text)


def insert_absent(rel: str, columns: Sequence[str], cursor: Cursor, key: Sequence[str]) -> Statement:
    """Append with a key: only keys that are not there."""
    text = (
        f"INSERT INTO {rel} ({columns_sql(columns)}) SELECT {columns_sql(columns, 'd.')} FROM {DELTA} AS d WHERE {cursor.taken()} "
        f"AND NOT EXISTS (SELECT 1 FROM {rel} AS t WHERE {_on(key)})"
    )
    return Statement(role="insert", text=text)


def merge(rel: str, columns: Sequence[str], cursor: Cursor, key: Sequence[str]) -> Statement:
    """Update by name all columns but the key, insert what is new; equal rows are not written."""
    others = [name for name in columns if name not in key]
    delta = f"(SELECT {columns_sql(columns)} FROM {DELTA} WHERE {cursor.taken()}) AS d"
    matched = ""
    if others:
        differs = " OR ".join(f"t.{identifier(name)} IS DISTINCT FROM d.{identifier(name)}" for name in others)
        sets = ", ".join(f"{identifier(name)} = d.{identifier(name)}" for name in others)
        matched = f" WHEN MATCHED AND ({differs}) THEN UPDATE SET {sets}"
    text = (
        f"MERGE INTO {rel} AS t USING {delta} ON ({_on(key)}){matched} "
        f"WHEN NOT MATCHED THEN INSERT ({columns_sql(columns)}) VALUES ({columns_sql(columns, 'd.')})"
    )
    return Statement(role="merge", text=text)


def delete_ranges(rel: str, cursor: Cursor) -> Statement:
    """Partition: the ranges go as a whole; they come back in the same transaction."""
    return Statement(role="delete", text=f"DELETE FROM {rel} WHERE {cursor.in_ranges()}")


def insert_ranges(rel: str, columns: Sequence[str], cursor: Cursor) -> Statement:
    """Partition: the rows of the ranges, by name."""
    names = columns_sql(columns)
    return Statement(role="insert", text=f"INSERT INTO {rel} ({names}) SELECT {names} FROM {DELTA} WHERE {cursor.taken()}")


# --- snapshot ---------------------------------------------------------------------------------------------------------


class SnapshotShape(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a snapshot tells versions: by the row's own time, or by comparing columns at `$as_of`."""

    columns: tuple[str, ...]
    """Of the query, without validity."""
    key: tuple[str, ...]
    updated_at: str | None
    compared: tuple[str, ...]
    valid_type: str
    as_of: str
    """Literal expression of the plan's time."""

    def starts(self, alias: str = "d") -> str:
        """When a delta row's version begins."""
        own = f"{alias}.{identifier(self.updated_at)}" if self.updated_at else self.as_of
        return f"CAST({own} AS {self.valid_type})"


def look_snapshot_delta(shape: SnapshotShape, rel: str) -> Statement:
    """Keys twice or null, rows without a time, rows changed although their time did not move, keys gone at the source."""
    key = shape.key
    nulls = " OR ".join(f"{identifier(name)} IS NULL" for name in key)
    doubles = f"SELECT {columns_sql(key)} FROM {DELTA} GROUP BY {columns_sql(key)} HAVING count(*) > 1"
    gone = f'SELECT 1 FROM {rel} AS t WHERE t."valid_to" IS NULL AND NOT EXISTS (SELECT 1 FROM {DELTA} AS d WHERE {_on(key)})'
    fields = [
        "'rows': count(*)",
        f"'key_nulls': count(*) FILTER (WHERE {nulls})",
        f"'key_doubles': (SELECT count(*) FROM ({doubles}) AS k)",
        f"'double_sample': (SELECT {_sample_of(key, 'TRUE')} FROM ({doubles}) AS k)",
        f"'gone': (SELECT count(*) FROM ({gone}) AS g)",
    ]
    if shape.updated_at:
        own = identifier(shape.updated_at)
        others = [name for name in shape.columns if name not in key]
        differs = " OR ".join(f"t.{identifier(name)} IS DISTINCT FROM d.{identifier(name)}" for name in others) or "FALSE"
        stuck = (
            f'SELECT {columns_sql(key, "d.")} FROM {DELTA} AS d JOIN {rel} AS t ON {_on(key)} AND t."valid_to" IS NULL '
            f'WHERE {shape.starts()} = t."valid_from" AND ({differs})'
        )
        fields += [
            f"'watermark_nulls': count(*) FILTER (WHERE {own} IS NULL)",
            f"'null_sample': {_sample_of(key, f'{own} IS NULL')}",
            f"'stuck': (SELECT count(*) FROM ({stuck}) AS s)",
            f"'stuck_sample': (SELECT {_sample_of(key, 'TRUE')} FROM ({stuck}) AS s)",
        ]
    return Statement(role="look_delta", text=f"SELECT {{{', '.join(fields)}}} FROM {DELTA}")


def close_versions(shape: SnapshotShape, rel: str) -> Statement:
    """Ends the open version of each row that changed."""
    if shape.updated_at:
        changed = f'{shape.starts()} > t."valid_from"'
    else:
        changed = " OR ".join(f"t.{identifier(name)} IS DISTINCT FROM d.{identifier(name)}" for name in shape.compared) or "FALSE"
    text = f'UPDATE {rel} AS t SET "valid_to" = {shape.starts()} FROM {DELTA} AS d WHERE {_on(shape.key)} AND t."valid_to" IS NULL AND ({changed})'
    return Statement(role="close", text=text)


def close_gone(shape: SnapshotShape, rel: str) -> Statement:
    """Ends the open version of each key that the source no longer has (`hard_deletes = "close"`), at `$as_of`."""
    end = f"CAST({shape.as_of} AS {shape.valid_type})"
    text = (
        f'UPDATE {rel} AS t SET "valid_to" = greatest({end}, t."valid_from") WHERE t."valid_to" IS NULL '
        f"AND NOT EXISTS (SELECT 1 FROM {DELTA} AS d WHERE {_on(shape.key)})"
    )
    return Statement(role="close_gone", text=text)


def insert_versions(shape: SnapshotShape, rel: str) -> Statement:
    """A new version for each key that has no open one; it never begins before the last one ended."""
    names = columns_sql(shape.columns)
    ended = f'SELECT {columns_sql(shape.key)}, max("valid_to") AS interlock_end FROM {rel} GROUP BY {columns_sql(shape.key)}'
    text = (
        f'INSERT INTO {rel} ({names}, "valid_from", "valid_to") '
        f"SELECT {columns_sql(shape.columns, 'd.')}, greatest({shape.starts()}, e.interlock_end), NULL FROM {DELTA} AS d "
        f"LEFT JOIN ({ended}) AS e ON {_on(shape.key, 'e', 'd')} "
        f'WHERE NOT EXISTS (SELECT 1 FROM {rel} AS t WHERE {_on(shape.key)} AND t."valid_to" IS NULL)'
    )
    return Statement(role="insert", text=text)


# --- looking ----------------------------------------------------------------------------------------------------------


def count_before(rel: str, *, content: bool) -> Statement:
    """Rows of the target before anything is written; with `content`, their fingerprint too."""
    fields = ["'rows': count(*)", *(_fingerprint_fields() if content else [])]
    return Statement(role="count_before", text=f"SELECT {{{', '.join(fields)}}} FROM {rel} AS interlock_t")


def _fingerprint_fields() -> list[str]:
    return [
        "'sum': CAST(coalesce(sum(CAST(hash(interlock_t) AS HUGEINT)), 0) AS VARCHAR)",
        "'xor': CAST(coalesce(bit_xor(hash(interlock_t)), 0) AS VARCHAR)",
    ]


def fingerprint(role: Literal["print_before", "print_after", "print_all"], rel: str, where: str) -> Statement:
    """Count, sum and xor of row hashes over the rows that the action touches."""
    text = f"SELECT {{'rows': count(*), {', '.join(_fingerprint_fields())}}} FROM {rel} AS interlock_t WHERE {where}"
    return Statement(role=role, text=text)


def touched_by_key(key: Sequence[str]) -> str:
    """Rows whose key is in the delta."""
    return f"EXISTS (SELECT 1 FROM {DELTA} AS d WHERE {_on(key, 'interlock_t', 'd')})"


class Probe(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question in the one aggregate query: its name in the answer, and an expression over the relation."""

    name: str
    expression: str


def look(
    rel: str,
    *,
    not_null: Sequence[str],
    cursor: Cursor | None,
    old: tuple[str, str] | None,
    key: Sequence[str],
    width: str | None,
    probes: Sequence[Probe],
    content: bool,
) -> Statement:
    """One aggregate over the relation as it now stands: rows, nulls, watermark ends, keys, simple checks, fingerprint.

    Args:
        rel: quoted name of the relation.
        not_null: columns whose nulls are counted.
        cursor: of an incremental made whole, for its watermark.
        old: watermark ends of what a full refresh replaces: how many of the two are missed.
        key: of an incremental made whole, for nulls and doubles.
        width: of a partition model made whole: where its first covered range begins.
        probes: simple checks.
        content: whether the fingerprint of all rows is taken.
    """
    fields = ["'rows': count(*)"]
    fields += [f"{string('null:' + name)}: count(*) FILTER (WHERE {identifier(name)} IS NULL)" for name in not_null]
    if cursor is not None:
        fields += [f"'watermark_nulls': count(*) FILTER (WHERE {cursor.name} IS NULL)", *_watermark_fields(cursor, "TRUE", None, None)]
        fields += [f"'null_sample': {_sample_of(list(key) or [cursor.column], f'{cursor.name} IS NULL')}"]
    if cursor is not None and width is not None:
        fields.append(f"'low_bucket': CAST({bucket(f'min({cursor.name})', width, cursor.type)} AS VARCHAR)")
    if cursor is not None and old is not None:
        low, high = old
        fields.append(
            f"'missing': CAST(coalesce(min({cursor.name}) > {cursor.at(low)}, TRUE) AS INTEGER) "
            f"+ CAST(coalesce(max({cursor.name}) < {cursor.at(high)}, TRUE) AS INTEGER)"
        )
    if key:
        nulls = " OR ".join(f"{identifier(name)} IS NULL" for name in key)
        doubles = f"SELECT {columns_sql(key)} FROM {rel} GROUP BY {columns_sql(key)} HAVING count(*) > 1"
        fields += [
            f"'key_nulls': count(*) FILTER (WHERE {nulls})",
            f"'key_doubles': (SELECT count(*) FROM ({doubles}) AS k)",
            f"'double_sample': (SELECT {_sample_of(key, 'TRUE')} FROM ({doubles}) AS k)",
        ]
    fields += [f"{string(probe.name)}: {probe.expression}" for probe in probes]
    if content:
        fields += _fingerprint_fields()
    return Statement(role="look", text=f"SELECT {{{', '.join(fields)}}} FROM {rel} AS interlock_t")


def bind_view(schema_and_name: str, rel: str) -> Statement:
    """A view that reads what was replaced still binds, in this transaction."""
    return Statement(role=f"bind:{schema_and_name}", text=f"SELECT * FROM {rel} LIMIT 0")


def comment(kind: Literal["table", "view"], rel: str, description: str, token: str | None) -> Statement:
    """The description, and at its end the token that says the relation is ours."""
    text = f"{description} [interlock:{token}]" if description and token else f"[interlock:{token}]" if token else description
    return Statement(role="comment", text=f"COMMENT ON {kind.upper()} {rel} IS {string(text)}")


def rename(kind: Literal["table", "view"], rel: str, new_name: str) -> Statement:
    """A relation keeps its rows and its token under another name of the same schema."""
    return Statement(role="rename", text=f"ALTER {kind.upper()} {rel} RENAME TO {identifier(new_name)}")


def make_schema(schema: str) -> Statement:
    """A target schema, in the serial transaction before the models."""
    return Statement(role=f"schema:{schema}", text=f"CREATE SCHEMA IF NOT EXISTS {schema_name(schema)}")


def as_of_literal(as_of: str) -> str:
    """The plan's time as an expression of type TIMESTAMP WITH TIME ZONE."""
    return f"TIMESTAMPTZ {string(as_of)}"


def value(text: str | int) -> str:
    """A literal for a plan-time observation."""
    return literal(text)
