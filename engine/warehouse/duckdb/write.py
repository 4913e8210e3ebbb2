"""The statements of the write protocol for DuckDB, by action. Pure: every text is known when the plan is made.

What a statement answers is a STRUCT (a dict in Python) wherever the runner reads more than one value from it, so that no
meaning hangs on a position. Names of roles are a contract with the publication guards (`machines/guards`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from interlock.engine.warehouse.duckdb import row_type
from interlock.engine.warehouse.duckdb.comments import comment_of
from interlock.engine.warehouse.duckdb.limits import least
from interlock.engine.warehouse.duckdb.quoting import identifier, relation_in, string
from interlock.engine.warehouse.protocol import Statement
from interlock.machines.evidence import Column, Fingerprint, Span
from interlock.machines.records import Record

DELTA = relation_in("temp", "main", "interlock_delta")
SAMPLE_MAX = 3


class Cursor(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The column that an incremental model is restricted by, and its bounds as text of `type`.

    `low` is inclusive, `until` exclusive; `None` is open. `ranges` are half-open (partition), an empty end is open.
    """

    column: str
    type: str
    low: str | None = None
    until: str | None = None
    ranges: tuple[Span, ...] = ()
    closed_range: Literal["yes", "no"] = "no"
    """A backfill: only the ranges are looked at, and nothing beyond them."""
    passes_over: Literal["yes", "no"] = "no"
    """A backfill above rows that no run has looked at: the watermark stays."""

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

    def beyond(self, alias: str = "") -> str:
        """Rows whose time has not come; infinite ones where there is no upper end."""
        name = f"{alias}.{self.name}" if alias else self.name
        if self.until is not None:
            return f"{name} >= {self.at(self.until)}"
        return f"isinf({name})" if _can_be_infinite(self.type) else "FALSE"

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
    first = least(type_)
    if width.isdigit() and first is not None:
        # A range may begin before the first value of the type does; TRY takes no aggregate, so the value has a name.
        value, over = "interlock_v", f"interlock_v % {width}"
        below = f"coalesce(TRY(CAST({value} - {over} - {width} AS {type_})), CAST({string(first)} AS {type_}))"
        start = f"CASE WHEN {over} < 0 THEN {below} ELSE CAST({value} - {over} AS {type_}) END"
        return f"(SELECT {start} FROM (SELECT {expression} AS {value}))"
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


def add_column(rel: str, column: Column, number: int) -> Statement:
    """A column that the model gained, null in the rows that are there."""
    return Statement(role=f"add_column:{number}", text=f"ALTER TABLE {rel} ADD COLUMN {identifier(column.name)} {column.type}")


def watermark_fields(cursor: Cursor, taken: str, old_low: str | None, old_high: str | None) -> list[str]:
    """Fields of a STRUCT: the watermark ends as text, and whether the round trip through text loses anything."""
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


def sample_of(names: Sequence[str], where: str) -> str:
    """The first few rows that meet a condition, as text for people."""
    row = "concat_ws(', ', " + ", ".join(f"coalesce(CAST({identifier(name)} AS VARCHAR), 'NULL')" for name in names) + ")"
    return f"array_to_string(min({row}, {SAMPLE_MAX}) FILTER (WHERE {where}), '; ')"


def doubles_field(key: Sequence[str], rows: str) -> str:
    """How many keys are there twice or more, and the first few of them: one member of a look, for which rows are grouped once."""
    names = columns_sql(key)
    doubled = f"SELECT {names} FROM {rows} GROUP BY {names} HAVING count(*) > 1"
    return f"'doubles': (SELECT {{'keys': count(*), 'sample': {sample_of(key, 'TRUE')}}} FROM ({doubled}) AS k)"


# --- looking ----------------------------------------------------------------------------------------------------------


def count_before(rel: str, *, content: bool) -> Statement:
    """Rows of the target before anything is written; with `content`, their fingerprint too."""
    fields = ["'rows': count(*)", *(_fingerprint_fields() if content else [])]
    return Statement(role="count_before", text=f"SELECT {{{', '.join(fields)}}} FROM {rel} AS interlock_t")


def _fingerprint_fields() -> list[str]:
    # The alias would be taken for a column of that name; no column has it (L232, S117). A star cannot stand beside the other fields of a
    # look. As numbers that Python reads: each cast, and what stands in for no rows, would be bound once more for every table.
    return ["'sum': sum(hash(interlock_t))", "'xor': bit_xor(hash(interlock_t))"]


def fingerprint_of(answer: Mapping[str, Any], engine: str) -> Fingerprint:
    """The fingerprint in the answer of a statement that asks for it. Without rows, sum and xor are none, and 0."""
    return Fingerprint(rows=int(answer["rows"]), sum=str(answer["sum"] or 0), xor=str(answer["xor"] or 0), engine=engine)


def fingerprint(role: Literal["print_before", "print_after", "print_all"], rel: str, where: str) -> Statement:
    """Count, sum and xor of row hashes over the rows that the action touches."""
    text = f"SELECT {{'rows': count(*), {', '.join(_fingerprint_fields())}}} FROM {rel} AS interlock_t WHERE {where}"
    return Statement(role=role, text=text)


class Probe(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question in the one aggregate query: its name in the answer, and an expression over the relation."""

    name: str
    expression: str


def look(
    rel: str,
    *,
    not_null: Sequence[str],
    cursor: Cursor | None,
    old: str | None,
    key: Sequence[str],
    width: str | None,
    probes: Sequence[Probe],
    content: bool,
    reached: str | None = None,
) -> Statement:
    """One aggregate over the relation as it now stands: rows, nulls, watermark ends, keys, simple checks, fingerprint.

    Args:
        rel: quoted name of the relation.
        not_null: columns whose nulls are counted.
        cursor: of an incremental made whole, for its watermark.
        old: of what is made anew: the field that says what the new rows lack (`replaced.py`).
        key: of an incremental made whole, for nulls and doubles.
        width: of a partition model made whole: where its first covered range begins.
        probes: simple checks.
        content: whether the fingerprint of all rows is taken.
        reached: the watermark before, of a relation that is extended: it does not sink to what stands there now.
    """
    fields = ["'rows': count(*)"]
    fields += [f"{string('null:' + name)}: count(*) FILTER (WHERE {identifier(name)} IS NULL)" for name in not_null]
    if cursor is not None:
        fields += [
            f"'watermark_nulls': count(*) FILTER (WHERE {cursor.name} IS NULL)",
            *watermark_fields(cursor, "FALSE" if cursor.passes_over == "yes" else "TRUE", None, reached),
        ]
        fields += [f"'null_sample': {sample_of(list(key) or [cursor.column], f'{cursor.name} IS NULL')}"]
    if cursor is not None and width is not None:
        fields.append(f"'low_bucket': CAST({bucket(f'min({cursor.name})', width, cursor.type)} AS VARCHAR)")
    if old is not None:
        fields.append(old)
    if key:
        nulls = " OR ".join(f"{identifier(name)} IS NULL" for name in key)
        fields += [
            f"'key_nulls': count(*) FILTER (WHERE {nulls})",
            doubles_field(key, rel),
        ]
    fields += [f"{string(probe.name)}: {probe.expression}" for probe in probes]
    if content:
        fields += [*_fingerprint_fields(), row_type.FIELD]
    return Statement(role="look", text=f"SELECT {{{', '.join(fields)}}} FROM {rel} AS interlock_t")


def bind_view(schema_and_name: str, rel: str) -> Statement:
    """A view that reads what was replaced still binds, in this transaction."""
    return Statement(role=f"bind:{schema_and_name}", text=f"SELECT * FROM {rel} LIMIT 0")


def comment(kind: Literal["table", "view"], rel: str, description: str, token: str | None) -> Statement:
    """The description and the token. COMMENT takes no parameter, so its text is written here."""
    return Statement(role="comment", text=f"COMMENT ON {kind.upper()} {rel} IS {string(comment_of(description, token))}")


def rename(kind: Literal["table", "view"], rel: str, new_name: str) -> Statement:
    """A relation keeps its rows and its token under another name of the same schema."""
    return Statement(role="rename", text=f"ALTER {kind.upper()} {rel} RENAME TO {identifier(new_name)}")


def as_of_literal(as_of: str) -> str:
    """The plan's time as an expression of type TIMESTAMP WITH TIME ZONE."""
    return f"TIMESTAMPTZ {string(as_of)}"
