"""Permits: values that only this package makes, and without which the driver neither writes nor commits.

A constructor asks for a key that never leaves `machines/`, so that a write without its guards is a type error for mypy and
`PermitDenied` at run time. With the key, making a permit is total: it cannot fail after its record is written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import InitVar, dataclass
from typing import Final, Literal, NoReturn, TypeAlias, assert_never

from interlock.machines.evidence import (
    AcceptEvidence,
    ArchiveEvidence,
    AttachEvidence,
    AuthorizeEvidence,
    BootstrapEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    CompactEvidence,
    CompileEvidence,
    Entry,
    GenesisEvidence,
    RefuseEvidence,
    ResetEvidence,
    SealEvidence,
    StartEvidence,
    TornEvidence,
    Transition,
    VerifyEvidence,
)

Act: TypeAlias = Literal["genesis", "accept_warehouse", "reset", "compact_receipts"]


class PermitDenied(Exception):  # noqa: N818 - the field's word: an answer about a permit, not a crash of one
    """A permit was asked for where its machine does not stand, or made by someone who may not."""


class _Key:
    """Who holds the only instance may make permits."""

    __slots__ = ()


_KEY: Final = _Key()
_DIGEST_LENGTH: Final = 64


def _demand(key: object) -> None:
    if key is not _KEY:
        msg = "only a machine makes a permit"
        raise PermitDenied(msg)


class _Permit:
    """What all permits share: there is no way around the constructor."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise PermitDenied("a permit is neither copied nor stored")


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePermit(_Permit):
    """The door to a transaction that writes one model. Comes from a ModelRun in `bootstrapping`."""

    model: str
    anchor: str
    plan: str
    statements: frozenset[str]
    """Digests of the statements that the transaction may run."""
    key: InitVar[_Key]

    def __post_init__(self, key: _Key) -> None:
        _demand(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPermit(_Permit):
    """The door to COMMIT, for this receipt of this attempt and no other."""

    anchor: str
    receipt: str
    """Digest of the receipt's body, which is its id."""
    key: InitVar[_Key]

    def __post_init__(self, key: _Key) -> None:
        _demand(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparePermit(_Permit):
    """The door to the serial transaction before the models. Comes from a Run in `authorized`."""

    run: str
    statements: frozenset[str]
    key: InitVar[_Key]

    def __post_init__(self, key: _Key) -> None:
        _demand(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealPermit(_Permit):
    """The door to a run's seal row. Comes from a Run in `running` whose models have all ended."""

    run: str
    statements: frozenset[str]
    key: InitVar[_Key]

    def __post_init__(self, key: _Key) -> None:
        _demand(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActPermit(_Permit):
    """The door to the transaction of an act of the ledger. Comes from the act's own record."""

    act: Act
    record: str
    """Digest of that record."""
    statements: frozenset[str]
    key: InitVar[_Key]

    def __post_init__(self, key: _Key) -> None:
        _demand(key)


def act_permit(written: Transition | Entry, record: str, statements: Collection[str]) -> ActPermit:
    """The permit of an act that is on record: just written, or found again (a genesis that a kill left unfinished).

    Args:
        written: the act's record, of machine `ledger`.
        record: the digest of that record, as the ledger gave it.
        statements: digests of the statements that the act may run.

    Raises:
        PermitDenied: where the record is no act that writes to the warehouse.
    """
    if written.machine != "ledger":
        msg = f"a record of machine `{written.machine}` permits no act"
        raise PermitDenied(msg)
    if not _is_digest(record):
        msg = "an act needs the digest of its record"
        raise PermitDenied(msg)
    act: Act
    match written.evidence:
        case GenesisEvidence():
            act = "genesis"
        case AcceptEvidence():
            act = "accept_warehouse"
        case ResetEvidence():
            act = "reset"
        case CompactEvidence():
            act = "compact_receipts"
        case (
            TornEvidence()
            | AttachEvidence()
            | ArchiveEvidence()
            | VerifyEvidence()
            | BootstrapEvidence()
            | CommitEvidence()
            | CheckpointEvidence()
            | RefuseEvidence()
            | AuthorizeEvidence()
            | StartEvidence()
            | CloseEvidence()
            | CompileEvidence()
            | SealEvidence()
        ):
            msg = f"a record of the event `{written.event}` permits no write to the warehouse"
            raise PermitDenied(msg)
        case _ as unreachable:
            assert_never(unreachable)
    return ActPermit(act=act, record=record, statements=frozenset(statements), key=_KEY)


def _is_digest(text: str) -> bool:
    return len(text) == _DIGEST_LENGTH and not text.strip("0123456789abcdef")
