"""Values that evidence is made of: columns, digests, watermarks, ranges, heads, and what was decided about authority."""

from __future__ import annotations

from typing import Literal

from interlock.machines.records import Record


class Column(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of a relation: its name as the warehouse has it and the warehouse's own spelling of its type."""

    name: str
    type: str


class Digests(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model is: each part moves on its own and has its own consequence (`semantics`: what counts as a change)."""

    definition: str
    promise: str
    note: str
    environment: str


class Watermark(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Least and greatest cursor value in rows durably written, as text that the warehouse casts to `type` and back."""

    type: str
    low: str
    high: str
    column: str = ""
    """Whose values they are; not known of rows that an early release wrote."""


class Span(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A half-open range of a partition column, `low <= value < high`, both as text of the column's type."""

    low: str
    high: str


class Read(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that is read, and the receipt that its head names (`None`: the head names none)."""

    model: str
    receipt: str | None
    generation: str | None = None
    """The attempt that last changed its rows, as its head says."""


class Fingerprint(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Additive content fingerprint: count, sum and xor of row hashes, by the engine version that made it."""

    rows: int
    sum: str
    xor: str
    engine: str


class Head(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest receipt of a model and what it left: all `None` where there is none."""

    receipt: str | None = None
    token: str | None = None
    generation: str | None = None
    rows: int | None = None
    watermark: Watermark | None = None
    fingerprint: Fingerprint | None = None
    """Of its content, only where the model is guarded by it."""


class HeadSeen(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="head"):
    """The head row as it was read."""

    receipt: str | None
    token: str | None


class AuthorityFinding(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The row of the authority table that the facts matched, and the facts."""

    row: str
    ledger: str
    identity: str
    heads: str
    decision: Literal["fresh", "finish_genesis", "proceed", "settle", "refuse"]
    code: str
    because: str
    remedy: str
