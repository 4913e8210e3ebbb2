"""Reading a ledger: streaming, without any lock, while a writer may append. Every digest and every parent is verified."""

from __future__ import annotations

import errno
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from interlock.engine.diagnostics import Diagnostic
from interlock.engine.ledger.fold import Fold, Illegal
from interlock.engine.ledger.lines import LINE_BYTES_MAX, BadLine, Numbered, UnknownRecord, read_line
from interlock.engine.ledger.places import packed_path, segment_number, segment_path, segments_directory
from interlock.machines.evidence import GenesisEvidence
from interlock.machines.records import Record

_CHUNK = 256 * 1024
_TRIES = 3
_NEWLINE = ord("\n")


class Tip(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest whole record, and where its line ends: a writer goes on from here."""

    sequence: int
    digest: str
    segment: int
    offset: int
    """Bytes of whole lines in that segment."""


@dataclass(frozen=True, slots=True)
class LedgerAbsent:
    """No record is there, positively. `torn`: bytes of a first line that was never finished."""

    torn: int = 0


@dataclass(frozen=True, slots=True)
class LedgerWhole:
    """Every record is as it was written and follows the one before it. `torn`: bytes after the last whole line."""

    fold: Fold
    tip: Tip
    torn: int
    genesis: GenesisEvidence
    begins: int = 0
    """The record at which reading began: 0 with the first one, else with a kept state."""


@dataclass(frozen=True, slots=True)
class LedgerBroken:
    """The records up to `sequence` - 1 are as they were written; at `sequence` something was changed, lost or added."""

    sequence: int
    because: str
    place: str = ""
    """Segment and line."""

    @property
    def finding(self) -> Diagnostic:
        """For people."""
        return Diagnostic(
            code="K707",
            summary=f"the ledger is broken at record {self.sequence}",
            because=f"{self.place}: {self.because}" if self.place else self.because,
            remedy="restore the ledger from a copy, or take the warehouse's word with `interlock ledger accept-warehouse`",
        )


@dataclass(frozen=True, slots=True)
class LedgerUnreadable:
    """The ledger is there, and what it says cannot be known."""

    because: str
    sequence: int | None = None

    @property
    def finding(self) -> Diagnostic:
        """For people."""
        return Diagnostic(
            code="K708",
            summary="the ledger cannot be read" if self.sequence is None else f"the ledger cannot be read from record {self.sequence} on",
            because=self.because,
            remedy="make the file readable, or use the release that wrote it",
        )


LedgerRead: TypeAlias = LedgerAbsent | LedgerWhole | LedgerBroken | LedgerUnreadable


class Unsound(Exception):  # noqa: N818 - an answer about a ledger
    """Reading stopped: `found` says at which record and why."""

    def __init__(self, found: LedgerBroken | LedgerUnreadable) -> None:
        super().__init__(found.because)
        self.found = found


class Scan:
    """One pass over a ledger. Iterate it for the records; then `tip` and `torn` say where it ended."""

    def __init__(self, directory: Path, *, start: Tip | None = None) -> None:
        """Begin with the ledger; or behind a record whose place is known, and whose bytes were verified."""
        self._directory = directory
        self._start = start
        self._begin()

    def _begin(self) -> None:
        # The tip in its parts: a record of its own for each line would be a fifteenth of what reading takes.
        start = self._start
        self._sequence, self._digest = (start.sequence, start.digest) if start is not None else (0, "")
        self._number, self._offset = (start.segment, start.offset) if start is not None else (1, 0)
        self.torn = 0

    @property
    def tip(self) -> Tip | None:
        """The newest record that was read, if any."""
        if not self._sequence:
            return None
        return Tip(sequence=self._sequence, digest=self._digest, segment=self._number, offset=self._offset)

    def __iter__(self) -> Iterator[Numbered]:
        """The records in order, each with verified bytes, sequence and parent.

        Raises:
            Unsound: a record is broken, or cannot be read.
        """
        self._begin()
        try:
            segments = segment_numbers(self._directory)
            for position, number in enumerate(segments, start=1):
                if number != position:
                    raise Unsound(LedgerBroken(self._next, f"segment {position:06d}.jsonl is missing"))
                if self._start is not None and number < self._start.segment:
                    continue
                yield from self._segment(number, is_last=position == len(segments))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise Unsound(LedgerBroken(self._next, f"a packed segment is damaged: {error}")) from error
        except OSError as error:
            raise Unsound(unreadable(error)) from error

    @property
    def _next(self) -> int:
        return self._sequence + 1

    def _segment(self, number: int, *, is_last: bool) -> Iterator[Numbered]:
        name = segment_path(self._directory, number).name
        line = 0
        if self._start is None or number != self._start.segment:
            self._number, self._offset = number, 0
        with opened(self._directory, number) as file:
            if self._offset:
                file.seek(self._offset)
            while data := file.readline(LINE_BYTES_MAX + 1):
                line += 1
                if data[-1] != _NEWLINE:
                    self.torn = len(data)
                    if self.torn > LINE_BYTES_MAX:
                        place = _place(name, line)
                        self.torn += _rest(file, Unsound(LedgerBroken(self._next, "the line is longer than a line may be", place)))
                    break
                try:
                    read = read_line(data)
                except BadLine as error:
                    raise Unsound(LedgerBroken(self._next, str(error), _place(name, line))) from error
                except UnknownRecord as error:
                    raise Unsound(LedgerUnreadable(f"{_place(name, line)}: {error}", self._next)) from error
                digest, entry = read
                if entry.sequence != self._sequence + 1:
                    because = f"record {entry.sequence} stands where record {self._next} must stand"
                    raise Unsound(LedgerBroken(self._next, because, _place(name, line)))
                if entry.parent != self._digest:
                    raise Unsound(LedgerBroken(self._next, "its parent is not the record before it", _place(name, line)))
                self._sequence, self._digest = entry.sequence, digest
                self._offset += len(data)
                yield read
        if not is_last and (self.torn or not self._offset):
            what = f"{self.torn} bytes at its end are no line" if self.torn else "it is empty"
            raise Unsound(LedgerBroken(self._next, f"{what}, though another segment follows", name))


def entries(directory: Path) -> Iterator[Numbered]:
    """The records of the ledger in a ledger directory, in order; bounded memory, no lock. Nothing for an absent ledger.

    Raises:
        Unsound: a record is broken, or cannot be read.
    """
    return iter(Scan(directory))


def read(directory: Path) -> LedgerRead:
    """What can be known of the ledger in a ledger directory."""
    found = _read_once(directory)
    for _ in range(_TRIES - 1):
        # A writer that cuts a torn line and goes on while we are in the middle of it looks like damage, once.
        if not isinstance(found, LedgerBroken):
            break
        again = _read_once(directory)
        if again == found:
            break
        found = again
    return found


def _read_once(directory: Path) -> LedgerRead:
    scan, fold = Scan(directory), Fold()
    try:
        for digest, entry in scan:
            try:
                fold.feed(digest, entry)
            except Illegal as error:
                place = f"{scan.tip.segment:06d}.jsonl" if scan.tip is not None else ""
                return LedgerBroken(entry.sequence, f"it cannot follow the records before it: {error}", place)
    except Unsound as error:
        return error.found
    if scan.tip is None or fold.genesis is None:
        return LedgerAbsent(torn=scan.torn)
    return LedgerWhole(fold=fold, tip=scan.tip, torn=scan.torn, genesis=fold.genesis)


def unreadable(error: OSError) -> LedgerUnreadable:
    """What is known where a file or directory of the ledger does not answer."""
    return LedgerUnreadable(_words(error))


def segment_numbers(directory: Path) -> list[int]:
    """Numbers of the segments that are there, in order. A directory that is positively not there has none."""
    try:
        names = [item.name for item in segments_directory(directory).iterdir()]
    except FileNotFoundError:
        return []
    return sorted({number for name in names if (number := segment_number(name)) is not None})


@contextmanager
def opened(directory: Path, number: int) -> Iterator[BinaryIO]:
    """A segment's bytes, as written or packed. While both are there, packing is not over, and what was written counts."""
    try:
        file = segment_path(directory, number).open("rb", buffering=_CHUNK)
    except FileNotFoundError:
        with gzip.open(packed_path(directory, number), "rb") as packed:
            yield packed  # type: ignore[misc] # it reads as a binary file does
        return
    with file:
        yield file


def _place(name: str, line: int) -> str:
    return f"{name}, line {line}"


def _rest(file: BinaryIO, otherwise: Unsound) -> int:
    """Bytes up to the end of the file, if they hold no newline: what stands before them is no finished line then."""
    count = 0
    while chunk := file.read(_CHUNK):
        if b"\n" in chunk:
            raise otherwise
        count += len(chunk)
    return count


def _words(error: OSError) -> str:
    name = errno.errorcode.get(error.errno, "") if error.errno is not None else ""
    return f"{error.strerror or error} ({name}): {error.filename}" if name else str(error)
