"""Evidence of the ledger's own records: how it began, what was mended, and what a person did. No machine moves by them."""

from __future__ import annotations

from interlock.machines.records import Record
from interlock.machines.values import AuthorityFinding, Digests, Head


class GenesisEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="genesis"):
    """The ledger's first record: whose it is, before any identity is written into the warehouse."""

    project: str
    target: str
    ledger: str
    warehouse: str


class TornEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="torn"):
    """A torn last line was copied aside and cut."""

    bytes: int
    kept_as: str
    sha256: str


class HeadTaken(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A head that was accepted as it stands."""

    model: str
    head: Head
    digests: Digests | None


class AcceptEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="accept_warehouse"):
    """A person (or a CI target) took the warehouse's word."""

    project: str
    ledger: str
    warehouse: str
    found: AuthorityFinding
    heads: tuple[HeadTaken, ...]
    settled: tuple[str, ...]
    """Runs that were open and are closed by this."""
    reason: str
    serial: int = 0
    """Of the warehouse's last seal."""


class ResetEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="reset"):
    """A person starts over: the relations that go, before they go."""

    project: str
    target: str
    relations: tuple[str, ...]
    reason: str


class AttachEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="attach"):
    """A person brought a ledger beside the database that names it."""

    project: str
    ledger: str
    sequence: int
    """Of the newest record that it had where it was found."""
    tip: str
    origin: str
    """Where it was found, as it was given."""
    reason: str


class ArchiveEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="archive"):
    """Segments were closed: up to here they are only read, and are packed."""

    project: str
    segment: int
    """The last one that is closed; its last record is the one of `sequence` and `tip`."""
    sequence: int
    tip: str
    reason: str


class CompactEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="compact_receipts"):
    """A person lets receipts go whose bodies this ledger holds, before they go. Those that heads name stay."""

    project: str
    removed: int
    kept: int
    standing: tuple[str, ...]
    """Others that stay: the last ones of relations that no head stands for any more."""
    reason: str
