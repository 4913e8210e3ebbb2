"""What every durable value has in common: closed frozen records, canonical bytes, and digests that name their kind."""

from __future__ import annotations

import hashlib
from typing import TypeVar

import msgspec

T = TypeVar("T")


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of everything that is stored or shown: immutable, by keyword only, closed."""


_CANONICAL = msgspec.json.Encoder(order="sorted")
_DECLARED = msgspec.json.Encoder()
_BEGUN: dict[tuple[str, int], hashlib._Hash] = {}
"""Digests of what the bytes of each kind are preceded by, to go on from; a handful."""


def canonical(value: object) -> bytes:
    """JSON with sorted keys: the form of bodies whose digest is an id (plans, receipts). They hold no floats."""
    return _CANONICAL.encode(value)


def declared(value: object) -> bytes:
    """JSON in the order in which the fields are declared: the form of a ledger record."""
    return _DECLARED.encode(value)


def before(kind: str, version: int = 1) -> str:
    """What the bytes of a kind are preceded by in their digest."""
    return f"interlock:{kind}:{version}\n"


def digest(kind: str, data: bytes, *, version: int = 1) -> str:
    """sha256 in hex of `data`, domain-separated by its kind, so that bytes of one kind never pass as another.

    Args:
        kind: what the bytes are, such as `plan`, `receipt`, `record`.
        data: the bytes as stored; nothing is ever encoded again to verify.
        version: of the kind's byte format.
    """
    begun = _BEGUN.get((kind, version))
    if begun is None:
        begun = _BEGUN[kind, version] = hashlib.sha256(before(kind, version).encode())
    whole = begun.copy()
    whole.update(data)
    return whole.hexdigest()


def digest_of(kind: str, value: object, *, version: int = 1) -> str:
    """The digest of a value's canonical bytes."""
    return digest(kind, canonical(value), version=version)
