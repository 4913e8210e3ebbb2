"""The receipt: what a transaction says of itself in the row that commits with its data. It is read back as it was written, for ever."""

from __future__ import annotations

from typing import Literal

from interlock.machines.records import Record
from interlock.machines.values import Column, Digests, Fingerprint, HeadSeen, Read, Span, Watermark


class CheckVerdict(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a check said. `failing`: rows against it; `None` only where it was not evaluated."""

    check: str
    severity: Literal["error", "warn"]
    outcome: Literal["passed", "failed", "not_evaluated"]
    failing: int | None
    because: str


class SourceSeen(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source's fingerprint when the plan was made (`none`: it has none)."""

    source: str
    fingerprint: str
    files: str = ""
    """Digest of the list of files, where it is read from files: a view holds the list that it was made with."""


class NullCount(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nulls found in a column that promises none."""

    column: str
    nulls: int


class Delta(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Counts over the staged delta; each is what a statement returned, and `None` where the strategy has no such question."""

    rows: int
    watermark_nulls: int | None = None
    key_nulls: int | None = None
    key_doubles: int | None = None
    lossy_casts: int | None = None
    changed_at_watermark: int | None = None
    """Rows that were written at the watermark and that the query no longer gives (append)."""
    conflicting_keys: int | None = None
    """Keys that are there already with other values (append with a key)."""
    out_of_range: int | None = None
    """Rows outside the planned ranges, or beyond `$until` where held rows are refused."""
    sample: str = ""
    """The first offending values, for people."""


class Applied(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement of the transaction that went through: its role, and the rows that it touched where it says so."""

    role: str
    rows: int | None


class Shrink(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A full refresh beside what it replaces: rows and watermark before and after, and whether a shrink was allowed."""

    rows_before: int
    rows_after: int
    before: Watermark | None
    after: Watermark | None
    missing: int
    """What the old rows are known by and the new ones do not have; of `ends`, and of receipts of before: ends of the old range."""
    permission: Literal["allowed", "not_allowed"]
    compared: Literal["range", "keys", "versions", "ends", "rows"] = "range"
    """By what an old row is looked for among the new ones: the value of its watermark, its key, or its key and when its version began.

    `ends`: the old rows do not stand there any more; only the ends of their range and their number are known.
    `rows`: the new relation has no column of the old range, so that all that can be told is how many rows it has.
    """
    sample: str = ""
    """The first of what is missing, for people."""
    definition: Literal["same", "other"] = "other"
    """Whether old and new rows are of one definition, so that it was the source that gave fewer."""


class ColumnAdded(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column that rows gained when they were there already: those up to this watermark, as text, have no value of their own in it."""

    name: str
    at: str


class ReceiptBody(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What commits with the data and proves the write. Its canonical bytes are stored; their digest is its id."""

    format: int
    project: str
    model: str
    relation: str
    kind: Literal["table", "view", "none"]
    materialized: str
    """`view`, `table`, `incremental`, `snapshot` or `seed`: a change of it is a conversion."""
    action: str
    anchor: str
    plan: str
    previous: str | None
    digests: Digests
    parts: dict[str, str]
    """Digest of each part of the definition, so that a later plan can say which one moved."""
    text: str
    """The author's text that ran."""
    canonical: str = ""
    """Of receipts that were written while it was kept: the canonical form of the text. It is read, and written no more."""
    engine: str
    """Whose parser made the canonical form that the definition is a digest of. Another one reads the text again."""
    statements: str
    """Digest of the digests of the statements."""
    reads: tuple[Read, ...]
    sources: tuple[SourceSeen, ...]
    head: HeadSeen
    """The model's own head as this transaction saw it."""
    applied: tuple[Applied, ...]
    shape: tuple[Column, ...]
    """Columns of the relation as it now stands."""
    nulls: tuple[NullCount, ...]
    verdicts: tuple[CheckVerdict, ...]
    rows_before: int | None
    fingerprint_before: Fingerprint | None = None
    """Of all rows before anything was written, only where the model is guarded by it."""
    rows_written: int
    rows_deleted: int
    rows_held: int
    rows_late: int | None
    """Where they are counted: rows below what was looked at that the query gives and that are not there."""
    rows_stale: int | None = None
    """Likewise, the other way round: rows that are there and that the query no longer gives: changed, moved or deleted at the source."""
    rows_kept: int | None = None
    """Keys of an append that are there with other values, and stay (`on_conflict = "keep"`)."""
    rows_gone: int | None = None
    """Keys of a snapshot that the source no longer has."""
    rows_after: int | None
    """`None` for a view, which is not counted."""
    delta: Delta | None
    shrink: Shrink | None
    fingerprint: Fingerprint | None
    token: str | None
    generation: str | None
    watermark: Watermark | None
    ranges: tuple[Span, ...]
    """Covered ranges of a partition model, merged. An empty `low` is open."""
    moved: Read | None = None
    """The model that this one was before a rename, and the receipt that was left there."""
    protected: tuple[str, ...] = ()
    """Columns that were promised never to disappear: readers rely on them until a receipt no longer says so."""
    adopted: Literal["yes", "no"] = "no"
    """Whether the rows are as a person took them over, and were never made by the model; a move does not make them so."""
    looked: Literal["at_all", "at_a_range"] = "at_all"
    """What its rows' last write looked at. After a range that a person asked for, inputs that have not moved may still hold news."""
    added: tuple[ColumnAdded, ...] = ()
    """Columns that are younger than the rows up to a watermark: there they are compared with nothing."""
