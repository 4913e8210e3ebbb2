"""The lines of a ledger wherever they lie, read on after damage: a fault is a value here, and what follows it is still looked at."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import msgspec

from interlock.engine.diagnostics import refused
from interlock.engine.ledger.lines import LINE_BYTES_MAX, BadLine, Numbered, UnknownRecord, read_line
from interlock.engine.ledger.places import segment_number, segments_directory
from interlock.machines.evidence import Entry
from interlock.machines.records import Record, declared

FlawKind: TypeAlias = Literal["altered", "missing", "out_of_order", "torn", "unreadable", "illegal", "contradicts", "unexplained"]

CHAIN_FLAWS: frozenset[FlawKind] = frozenset({"altered", "missing", "out_of_order", "torn", "unreadable"})
"""With one of these the chain cannot be trusted; the others are records that no machine can have written."""

BUNDLED_LEDGER = "ledger.jsonl"
"""The member of a bundle that holds its slice of the ledger."""


class Flaw(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something about a record that cannot be: which record, what kind of fault, and what was seen."""

    sequence: int
    kind: FlawKind
    because: str
    place: str = ""
    """File and line."""


class Tip(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that is known from elsewhere: where reading may begin."""

    sequence: int
    digest: str


@dataclass(frozen=True, slots=True)
class Read:
    """A record whose bytes are as they were written, and where it stands."""

    numbered: Numbered
    place: str
    line: bytes
    """As it stands in the file; empty for a record of a bundle of which words are withheld."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a ledger, or a member of a bundle."""

    name: str
    path: Path
    member: str | None = None
    number: int | None = None
    """Of the segment, where it is one."""

    def open(self) -> BinaryIO:
        """Its bytes, from the beginning."""
        if self.member is None:
            if self.path.name.endswith(".gz"):
                return gzip.open(self.path, "rb")  # type: ignore[return-value] # it reads as a binary file does
            return self.path.open("rb", buffering=1 << 20)
        with zipfile.ZipFile(self.path) as bundle:
            return io.BytesIO(bundle.read(self.member))


def parts_of(place: Path) -> tuple[Part, ...]:
    """The files of the ledger that a path means: a segment, a bundle, a directory of segments, or what holds one.

    Raises:
        Refused: S101, nothing there is a ledger.
    """
    try:
        if place.is_file():
            return (_file(place),)
        if place.is_dir():
            for directory in (segments_directory(place), place):
                if directory.is_dir() and (found := _segments(directory)):
                    return found
            inner = [each for each in sorted(place.glob("*/ledger")) if _segments(each)]
            if len(inner) == 1:
                return _segments(inner[0])
            because = f"{len(inner)} ledgers lie in it" if inner else "no segment lies in it, such as ledger/000001.jsonl"
        else:
            because = "there is nothing of that name"
    except OSError as error:
        because = str(error)
    except zipfile.BadZipFile:
        because = "it is a file, but neither a segment of a ledger nor a bundle"
    raise refused(
        "S101",
        f"`{place}` is no ledger",
        because=because,
        remedy="name a file of a ledger, its directory (DATABASE.interlock/PROJECT) or a bundle",
    )


def _file(path: Path) -> Part:
    with path.open("rb") as file:
        is_bundle = file.read(4) == b"PK\x03\x04"
    if not is_bundle:
        return Part(path.name, path)
    with zipfile.ZipFile(path) as bundle:
        if BUNDLED_LEDGER not in bundle.namelist():
            raise zipfile.BadZipFile
    return Part(f"{path.name}:{BUNDLED_LEDGER}", path, member=BUNDLED_LEDGER)


def _segments(directory: Path) -> tuple[Part, ...]:
    numbered: dict[int, Path] = {}
    for item in sorted(directory.iterdir(), reverse=True):
        # While both are there, packing is not over, and what was written counts: `.jsonl` sorts before `.jsonl.gz`.
        if (number := segment_number(item.name)) is not None:
            numbered[number] = item
    return tuple(Part(numbered[number].name, numbered[number], number=number) for number in sorted(numbered))


_WITHHELD_HEAD = b'{"sha256":"'
_WITHHELD_MIDDLE = b'","withheld":'
_WITHHELD_AT = len(_WITHHELD_HEAD) + 64
_WITHHELD_DECODER = msgspec.json.Decoder(Entry)


def withheld_line(digest: str, entry: Entry) -> bytes:
    """The line of a bundle for a record of which words are withheld: its digest as it was, beside what is shown."""
    return b"".join((_WITHHELD_HEAD, digest.encode(), _WITHHELD_MIDDLE, declared(entry), b"}\n"))


def _withheld(data: bytes) -> Numbered | None:
    """The record of such a line; its digest cannot be made again, and holds as far as the next record names it."""
    middle = data[_WITHHELD_AT : _WITHHELD_AT + len(_WITHHELD_MIDDLE)]
    if not data.startswith(_WITHHELD_HEAD) or middle != _WITHHELD_MIDDLE or not data.endswith(b"}\n"):
        return None
    try:
        entry = _WITHHELD_DECODER.decode(data[_WITHHELD_AT + len(_WITHHELD_MIDDLE) : -2])
    except msgspec.MsgspecError:
        return None
    return Numbered(data[len(_WITHHELD_HEAD) : _WITHHELD_AT].decode("ascii", "replace"), entry)


class Tape:
    """One pass over the files of a ledger: records and flaws, in the order in which they stand."""

    def __init__(self, parts: tuple[Part, ...], *, start: Tip | None = None) -> None:
        self._parts = parts
        self._start = start
        self._sequence = start.sequence if start is not None else 0
        self._tip: str | None = start.digest if start is not None else ""
        """Digest of the record before; `None` where that is not known any more."""

    def __iter__(self) -> Iterator[Read | Flaw]:
        """Every whole line as a record or as a flaw; a line that is missing between two is a flaw of its own."""
        # Behind a known tip, segments of before may have been put elsewhere.
        expected = 1 if self._start is None or not self._parts else self._parts[0].number or 1
        for position, part in enumerate(self._parts, start=1):
            if part.number is not None:
                if part.number != expected:
                    yield Flaw(
                        sequence=self._sequence + 1,
                        kind="missing",
                        because=f"segment {expected:06d}.jsonl is not there" if part.number == expected + 1 else "segments are not there",
                        place=part.name,
                    )
                expected = part.number + 1
            try:
                yield from self._part(part, is_last=position == len(self._parts))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                yield self._altered(f"a packed segment is damaged: {error}", part.name)
            except OSError as error:
                yield Flaw(sequence=self._sequence + 1, kind="unreadable", because=str(error), place=part.name)
                self._tip = None

    def _part(self, part: Part, *, is_last: bool) -> Iterator[Read | Flaw]:
        line, empty = 0, True
        with part.open() as file:
            while data := file.readline(LINE_BYTES_MAX + 1):
                empty = False
                line += 1
                place = f"{part.name}, line {line}"
                if data.endswith(b"\n"):
                    yield from self._line(data, place, bundled=part.member is not None)
                elif len(data) > LINE_BYTES_MAX:
                    yield self._altered("the line is longer than a line may be", place)
                elif is_last:
                    because = f"{len(data)} bytes at its end are no whole line: a write was cut short, or the end was cut off"
                    yield Flaw(sequence=self._sequence + 1, kind="torn", because=because, place=place)
                else:
                    yield self._altered(f"{len(data)} bytes at its end are no line, though another segment follows", place)
        if empty and not is_last:
            yield Flaw(sequence=self._sequence + 1, kind="missing", because="it is empty, though another segment follows", place=part.name)

    def _line(self, data: bytes, place: str, *, bundled: bool) -> Iterator[Read | Flaw]:
        withheld = _withheld(data) if bundled else None
        try:
            read = withheld or read_line(data)
        except BadLine as error:
            yield self._altered(str(error), place)
            return
        except UnknownRecord as error:
            self._sequence += 1
            self._tip = None
            yield Flaw(sequence=self._sequence, kind="unreadable", because=str(error), place=place)
            return
        sequence, expected = read.entry.sequence, self._sequence + 1
        start = self._start
        if start is not None and self._sequence == start.sequence and sequence <= start.sequence:
            if sequence == start.sequence and read.digest != start.digest:
                because = f"record {sequence} is not the one of the known tip {start.digest[:12]}"
                yield Flaw(sequence=sequence, kind="altered", because=because, place=place)
            return
        if sequence < expected:
            what = "it stands there already" if sequence == self._sequence else f"record {expected} was to come next"
            yield Flaw(sequence=sequence, kind="out_of_order", because=f"record {sequence} stands here: {what}", place=place)
            return
        if sequence > expected:
            gone = f"record {expected} is" if sequence == expected + 1 else f"records {expected} to {sequence - 1} are"
            yield Flaw(sequence=expected, kind="missing", because=f"{gone} not there: record {sequence} follows", place=place)
        elif self._tip is not None and read.entry.parent != self._tip:
            yield Flaw(sequence=sequence, kind="out_of_order", because="its parent is not the record before it", place=place)
        self._sequence, self._tip = sequence, read.digest
        yield Read(read, place, data if withheld is None else b"")

    def _altered(self, because: str, place: str) -> Flaw:
        self._sequence += 1
        self._tip = None
        return Flaw(sequence=self._sequence, kind="altered", because=because, place=place)
