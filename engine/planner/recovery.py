"""The two recovery tables: what ledger, warehouse and target together allow. Exactly one row matches each case."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

import msgspec

from interlock.machines.records import Record

LedgerState: TypeAlias = Literal["absent", "unwritten", "whole", "broken", "unreadable"]
IdentityState: TypeAlias = Literal["absent", "ours", "other", "gone", "unreadable"]
HeadsState: TypeAlias = Literal["none", "equal", "ahead", "newer", "older", "contradicted"]
Decision: TypeAlias = Literal["fresh", "finish_genesis", "proceed", "settle", "refuse"]

ModelLedger: TypeAlias = Literal[
    "never", "open_before", "open_bootstrapping", "open_committed", "checkpointed", "refused_nothing", "refused_receipt"
]
ModelHead: TypeAlias = Literal["none", "named", "open_attempt", "other"]
ModelTarget: TypeAlias = Literal["absent", "as_left", "other_shape", "token_gone", "unreadable"]
ModelDecision: TypeAlias = Literal["create", "proceed", "dropped", "reshaped", "attempt_absent", "settle", "refuse"]


class AuthorityRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the first table: may ledger and warehouse be trusted?"""

    row: str
    ledger: frozenset[LedgerState]
    identity: frozenset[IdentityState]
    heads: frozenset[HeadsState]
    decision: Decision
    how: str
    code: str = ""
    remedy: str = ""


class ModelRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the second table: what may be done to a target?"""

    row: str
    ledger: frozenset[ModelLedger]
    head: frozenset[ModelHead]
    target: frozenset[ModelTarget]
    decision: ModelDecision
    how: str
    code: str = ""
    remedy: str = ""


class Tables(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Both tables, as `specs/recovery.toml` holds them."""

    authority: tuple[AuthorityRow, ...]
    model: tuple[ModelRow, ...]


@cache
def tables() -> Tables:
    """The tables that this release decides by."""
    return msgspec.toml.decode(files("interlock.specs").joinpath("recovery.toml").read_bytes(), type=Tables)


def authority_row(ledger: LedgerState, identity: IdentityState, heads: HeadsState) -> AuthorityRow:
    """The one row of the authority table that matches."""
    (row,) = (each for each in tables().authority if ledger in each.ledger and identity in each.identity and heads in each.heads)
    return row


def model_row(ledger: ModelLedger, head: ModelHead, target: ModelTarget) -> ModelRow:
    """The one row of the model table that matches."""
    (row,) = (each for each in tables().model if ledger in each.ledger and head in each.head and target in each.target)
    return row
