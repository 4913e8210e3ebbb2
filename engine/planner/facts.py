"""What planning saw of the world: every observation that a decision rests on, as one value."""

from __future__ import annotations

from typing import Literal

from interlock.engine.planner.recovery import ModelHead, ModelLedger, ModelTarget
from interlock.engine.warehouse.protocol import Catalog, HeadRow, RelationSeen
from interlock.machines.evidence import (
    Column,
    Fingerprint,
    Head,
    Missing,
    Observation,
    Present,
    ReceiptBody,
    SourceVerdict,
    Span,
)
from interlock.machines.records import Record


class CursorFacts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What only the warehouse can compute of an incremental model's bounds, as text of the cursor's type."""

    low: str | None
    """The watermark less `lookback`, at the start of its partition where there are partitions."""
    until: str | None
    range_low: str | None
    """`--from`, as the type has it; `None` where it was not given."""
    range_high: str | None
    """`--to` likewise, at most the upper end."""
    bad_range: str
    """The end that is no value of the type; empty where both are."""
    empty_range: str = ""
    """`--from` and `--to`, cut at the upper end, where nothing lies between them."""
    covered: tuple[Span, ...]
    """Covered ranges as they will stand after an ordinary extension."""
    covered_backfill: tuple[Span, ...]
    passes_over: Literal["yes", "no"] = "no"
    """Whether `--from` lies above where an ordinary extension begins, so that a backfill leaves rows out that nobody has seen."""
    ranges: tuple[Span, ...]
    """Ranges that an ordinary extension replaces: missing ones, and the last one up to the end."""
    collated: Literal["yes", "no"] = "no"
    """Whether its text is compared by a collation, so that the greatest value is not the greatest."""


class Facts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that was read before deciding. All of it from one look, under one authority."""

    catalog: Catalog
    heads: dict[str, HeadRow]
    receipts: dict[str, ReceiptBody]
    """Body of each head's receipt, by model."""
    expected: dict[str, Head]
    """Heads as the ledger has them."""
    ledger: dict[str, ModelLedger]
    open_anchors: frozenset[str]
    fingerprints: dict[str, str]
    """By source; `none` for one that has no fingerprint."""
    unmarked: dict[str, str] = {}
    """By source that has none though one was asked for: why."""
    said: dict[str, tuple[SourceVerdict, ...]] = {}
    """By source: how fresh it is, where that is asked."""
    cursors: dict[str, CursorFacts]
    reads_all: dict[str, tuple[str, ...]]
    """By incremental model: relations that are read whole although the output is restricted."""
    contents: dict[str, Fingerprint]
    """By model, where contents were verified."""
    counts: dict[str, int]
    """Rows that are there now, of tables whose promise alone moved."""
    dependents: dict[tuple[str, str], tuple[tuple[str, str], ...]]
    """By relation (schema, name folded): views that read it and that no model of the project makes."""
    strays: dict[tuple[str, str], ReceiptBody] = {}
    """By relation (schema, name folded): what we made there for a model that stands elsewhere now."""
    observations: tuple[Observation, ...]
    unanswered: dict[str, str] = {}
    """By model: why its bounds could not be asked for."""
    unreadable: dict[str, str] = {}
    """By model: why its relation, which is there, gave no answer."""

    def head(self, model: str) -> HeadRow:
        """The head row of a model; one of `None`s where there is none."""
        return self.heads.get(model) or HeadRow(model=model, receipt=None, token=None, generation=None)

    def body(self, model: str) -> ReceiptBody | None:
        """The body of a model's head receipt."""
        return self.receipts.get(model)


def head_of(row: HeadRow, body: ReceiptBody | None, *, content: bool = False) -> Head:
    """A head with what its receipt says; rows and watermark only where a relation stands."""
    if row.receipt is None:
        return Head()
    if row.token is None or body is None:
        return Head(receipt=row.receipt, token=row.token, generation=row.generation)
    return Head(
        receipt=row.receipt,
        token=row.token,
        generation=row.generation,
        rows=body.rows_after,
        watermark=body.watermark,
        fingerprint=body.fingerprint if content else None,
    )


def target_of(seen: RelationSeen | None) -> Missing | Present:
    """What stands at a model's name, as evidence."""
    if seen is None:
        return Missing()
    return Present(kind=seen.kind, token=seen.token, columns=seen.columns)


def head_state(facts: Facts, model: str) -> ModelHead:
    """Where a head stands beside the ledger."""
    row = facts.head(model)
    if row.receipt is None:
        return "none"
    expected = facts.expected.get(model)
    if expected is not None and expected.receipt == row.receipt:
        return "none" if row.token is None else "named"
    body = facts.body(model)
    if body is not None and body.anchor in facts.open_anchors:
        return "open_attempt"
    return "other"


def target_state(facts: Facts, model: str, seen: RelationSeen | None) -> ModelTarget:
    """How a relation stands beside what its receipt left."""
    if seen is None:
        return "absent"
    if model in facts.unreadable:
        return "unreadable"
    row = facts.head(model)
    body = facts.body(model)
    if row.token is None or seen.token != row.token or body is None:
        return "token_gone"
    if seen.kind != body.kind or not same_columns(seen.columns, body.shape):
        return "other_shape"
    return "as_left"


def is_made_anew(action: str, body: ReceiptBody | None) -> bool:
    """Whether rows that a receipt tells of are made anew: where they stand, where they stood until somebody dropped them, or at another place.

    Args:
        action: of the plan.
        body: of the newest receipt.
    """
    if body is None:
        return False
    return action in ("replace", "convert") or (action == "create" and body.kind == "table")


def is_of_a_range(body: ReceiptBody | None) -> bool:
    """Whether the last write of a receipt's rows looked at a range that a person asked for, and at nothing else."""
    return body is not None and body.looked == "at_a_range"


def is_adopted(body: ReceiptBody | None) -> bool:
    """Whether a receipt's rows are as a person took them over. Receipts of before say so by their action alone."""
    return body is not None and (body.adopted == "yes" or body.action == "adopt")


def same_columns(left: tuple[Column, ...], right: tuple[Column, ...]) -> bool:
    """Same names, types and order, as the warehouse compares names."""
    if left == right:  # mostly, and quickly told
        return True
    return [(column.name.lower(), column.type) for column in left] == [(column.name.lower(), column.type) for column in right]
