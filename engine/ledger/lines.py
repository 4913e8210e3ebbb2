"""The line of a ledger file: `{"sha256":"<hex>","record":<bytes>}` and a newline.

The digest is over the bytes of `record` as they stand; nothing is ever encoded again to verify. The frame is compared
byte by byte and not parsed: there is one way to write a line, so any changed byte of it is found.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from interlock.machines.evidence import Entry
from interlock.machines.records import declared, digest

LINE_BYTES_MAX = 64 * 1024 * 1024
"""Longest line, newline included. Writer and reader hold to it, so that reading needs bounded memory."""

_HEAD = b'{"sha256":"'
_MIDDLE = b'","record":'
_TAIL = b"}\n"
_DIGEST = len(_HEAD)
_DIGEST_END = _DIGEST + 64
_RECORD = _DIGEST_END + len(_MIDDLE)
_TAIL_BEGIN = -len(_TAIL)

_decode = msgspec.json.Decoder(Entry).decode


class BadLine(Exception):  # noqa: N818 - a finding about bytes
    """The bytes are no line of a ledger, or were changed."""


class UnknownRecord(Exception):  # noqa: N818 - a finding about bytes
    """The line is as it was written, but this version of the program does not know such a record."""


class Line(NamedTuple):
    """A line as it is written, and the digest of its record."""

    data: bytes
    digest: str


class Numbered(NamedTuple):
    """A record as it was read, and its digest."""

    digest: str
    entry: Entry


def write_line(entry: Entry) -> Line:
    """The line of a record.

    Raises:
        ValueError: the record is longer than a line may be.
    """
    record = declared(entry)
    sha256 = digest("record", record)
    data = b"".join((_HEAD, sha256.encode(), _MIDDLE, record, _TAIL))
    if len(data) > LINE_BYTES_MAX:
        message = f"a record of {len(record)} bytes is longer than a line of the ledger may be ({LINE_BYTES_MAX})"
        raise ValueError(message)
    return Line(data, sha256)


def read_line(data: bytes) -> Numbered:
    """The record of a line, its newline included, after its digest was verified.

    Raises:
        BadLine: a byte is not as it was written.
        UnknownRecord: the bytes are as they were written, and the record is none that this version knows.
    """
    if not data.endswith(_TAIL) or not data.startswith(_HEAD) or not data.startswith(_MIDDLE, _DIGEST_END):
        message = "it has not the form of a ledger line (format 1)"
        raise BadLine(message)
    record = data[_RECORD:_TAIL_BEGIN]
    found = digest("record", record)
    if not data.startswith(found.encode(), _DIGEST):
        message = "its bytes do not have the digest that stands beside them"
        raise BadLine(message)
    try:
        entry = _decode(record)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        message = f"it is as it was written, but is no record that this version knows ({error}); was it written by a newer release?"
        raise UnknownRecord(message) from error
    return Numbered(found, entry)
