"""Reading from the last seal: what the ledger came to there is kept beside it, and everyday commands verify from there on.

The kept state is no authority. It is taken only where its own digest holds, the ledger's first record and the `close`
record at which it was taken stand where they stood, the heads give the digest that the seal vouches for, no file before
that record's has another size or time, and what stands before it in its own file has the digest that it had. Where one of these differs, or anything behind it does not hold, the whole ledger is read,
and says what is wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from pathlib import Path
from typing import BinaryIO, assert_never

from interlock.engine import faults
from interlock.engine.diagnostics import Refused
from interlock.engine.ledger.fold import Fold, Illegal
from interlock.engine.ledger.kept import (
    Kept,
    NoState,
    Segment,
    bytes_of,
    can_be_kept,
    fold_of,
    heads_digest,
    kept_from,
    kept_of,
    sequence_of,
)
from interlock.engine.ledger.lines import BadLine, Numbered, UnknownRecord, read_line
from interlock.engine.ledger.places import packed_path, segment_path, state_path
from interlock.engine.ledger.reader import (
    LedgerAbsent,
    LedgerBroken,
    LedgerRead,
    LedgerUnreadable,
    LedgerWhole,
    Scan,
    Tip,
    Unsound,
    opened,
    read,
    segment_numbers,
)
from interlock.engine.ledger.subjects import Behind
from interlock.machines.evidence import CloseEvidence, GenesisEvidence

KEEP_RECORDS_MIN = 256
"""Records since the last state before a new one is made: reading so many takes less than making it."""

_BLOCK = 64 * 1024
_PIECE = 1024 * 1024
_HEAD_BYTES = 200


def read_since_seal(directory: Path) -> LedgerRead:
    """What can be known of the ledger, verified from the last seal at which its state was kept; else as `read`."""
    found = _from_state(directory)
    return found if found is not None else read(directory)


def fold_since_seal(directory: Path) -> Fold:
    """The facts of a ledger, for whoever answers from them alone; those of an empty one only where there positively is none.

    Raises:
        Refused: K707 or K708 (exit 4), what it says cannot be known.
    """
    match read_since_seal(directory):
        case LedgerWhole(fold=fold):
            return fold
        case LedgerAbsent():
            return Fold()
        case (LedgerBroken() | LedgerUnreadable()) as found:
            raise Refused(found.finding, exit_code=4)
        case _ as unreachable:
            assert_never(unreachable)


def keep(directory: Path, sequence: int, *, records_min: int = KEEP_RECORDS_MIN) -> bool:
    """Keep what the ledger comes to, if it stands at a seal; `False` where nothing was kept.

    Nothing waits for the disk: what a power failure leaves of the file has not its digest.

    Args:
        directory: of the ledger. Nobody writes it now.
        sequence: of its newest record.
        records_min: how many it must be past the last state.
    """
    place = state_path(directory)
    with contextlib.suppress(OSError):
        with place.open("rb") as file:
            since = sequence - sequence_of(file.read(_HEAD_BYTES))
        if 0 <= since < records_min:
            return False
    if sequence < records_min:
        return False
    found = read_since_seal(directory)
    if not isinstance(found, LedgerWhole) or found.torn or not can_be_kept(found.fold):
        return False
    aside = place.with_name(f".{place.name}.new")
    try:
        with segment_path(directory, found.tip.segment).open("rb") as file:
            start = _line_start(file.fileno(), found.tip.offset)
            before = _digest_of(file, start)
        kept = kept_from(
            found.fold,
            segment=found.tip.segment,
            start=start,
            offset=found.tip.offset,
            before=before,
            segments=_segments(directory, found.tip.segment),
            first=_first(directory).digest,
        )
        faults.point("ledger.state.write.before")
        aside.write_bytes(bytes_of(kept))
        faults.point("ledger.state.rename.before")
        aside.replace(place)
        faults.point("ledger.state.rename.after")
    except (OSError, EOFError, zlib.error, BadLine, UnknownRecord):
        # It is kept for speed alone; the next command tries again.
        with contextlib.suppress(OSError):
            faults.point("ledger.state.unlink.before")
            aside.unlink(missing_ok=True)
            faults.point("ledger.state.unlink.after")
        return False
    return True


def _from_state(directory: Path) -> LedgerWhole | None:
    try:
        kept = kept_of(state_path(directory).read_bytes())
        fold = fold_of(kept)
        if not _holds(directory, kept, fold):
            return None
        scan = Scan(directory, start=Tip(sequence=kept.sequence, digest=kept.digest, segment=kept.segment, offset=kept.offset))
        fold.behind = Behind(kept.spent, kept.named, lambda: _whole(directory, fold.sequence))
        for digest, entry in scan:
            fold.feed(digest, entry)
    except (OSError, EOFError, zlib.error, NoState, BadLine, UnknownRecord, Unsound, Illegal, KeyError):
        return None
    assert scan.tip is not None
    return LedgerWhole(fold=fold, tip=scan.tip, torn=scan.torn, genesis=kept.genesis, begins=kept.sequence)


def _holds(directory: Path, kept: Kept, fold: Fold) -> bool:
    """Whether the state is that of the ledger which lies here."""
    if not _files_are_as_they_were(directory, kept) or heads_digest(fold) != kept.seal.heads:
        return False
    first = _first(directory)
    if (first.digest, first.entry.evidence) != (kept.first, kept.genesis) or not isinstance(first.entry.evidence, GenesisEvidence):
        return False
    with opened(directory, kept.segment) as file:
        if _digest_of(file, kept.start) != kept.before:
            return False
        digest, entry = read_line(file.read(kept.offset - kept.start))
    evidence = entry.evidence
    return (
        (digest, entry.sequence) == (kept.digest, kept.sequence)
        and isinstance(evidence, CloseEvidence)
        and entry.target == "closed"
        and evidence.seal_expected == kept.seal
    )


def _files_are_as_they_were(directory: Path, kept: Kept) -> bool:
    """No segment up to the state's record was touched. The newest may have grown; then its time says nothing."""
    numbers = segment_numbers(directory)
    if numbers != list(range(1, len(numbers) + 1)) or [each.number for each in kept.segments] != numbers[: len(kept.segments)]:
        return False
    if not kept.segments or kept.segments[-1].number != kept.segment:
        return False
    for each in kept.segments:
        try:
            there = (packed_path if each.packed == "yes" else segment_path)(directory, each.number).stat()
        except FileNotFoundError:
            if each.packed == "yes" or not _is_packed(directory, each, may_have_grown=each.number == kept.segment):
                return False
            continue
        has_grown = each.number == kept.segment and there.st_size > each.bytes
        if not has_grown and (there.st_size, there.st_mtime_ns) != (each.bytes, each.changed_ns):
            return False
    return True


def _is_packed(directory: Path, segment: Segment, *, may_have_grown: bool) -> bool:
    """It was packed since. The last bytes of the packed file say how many bytes it holds."""
    with packed_path(directory, segment.number).open("rb") as file:
        file.seek(-4, os.SEEK_END)
        size = int.from_bytes(file.read(4), "little")
    return size == segment.bytes or (may_have_grown and size > segment.bytes)


def _segments(directory: Path, last: int) -> tuple[Segment, ...]:
    found = []
    for number in range(1, last + 1):
        try:
            packed, there = "no", segment_path(directory, number).stat()
        except FileNotFoundError:
            packed, there = "yes", packed_path(directory, number).stat()
        found.append(Segment(number=number, packed="yes" if packed == "yes" else "no", bytes=there.st_size, changed_ns=there.st_mtime_ns))
    return tuple(found)


def _first(directory: Path) -> Numbered:
    with opened(directory, 1) as file:
        return read_line(file.readline())


def _digest_of(file: BinaryIO, length: int) -> str:
    """Of the file's first bytes. It stands behind them then."""
    found = hashlib.sha256()
    while length and (piece := file.read(min(length, _PIECE))):
        found.update(piece)
        length -= len(piece)
    return found.hexdigest()


def _line_start(descriptor: int, end: int) -> int:
    """Where the line begins that ends at `end`."""
    at = end - 1
    while at > 0:
        begin = max(0, at - _BLOCK)
        position = os.pread(descriptor, at - begin, begin).rfind(b"\n")
        if position >= 0:
            return begin + position + 1
        at = begin
    return 0


def _whole(directory: Path, sequence: int) -> Fold:
    """The facts of every record up to one.

    Raises:
        Refused: the ledger does not hold, or cannot be read.
    """
    scan, fold = Scan(directory), Fold()
    try:
        for digest, entry in scan:
            fold.feed(digest, entry)
            if entry.sequence == sequence:
                break
    except Unsound as error:
        raise Refused(error.found.finding, exit_code=4) from error
    except Illegal as error:
        broken = LedgerBroken(fold.sequence + 1, f"it cannot follow the records before it: {error}")
        raise Refused(broken.finding, exit_code=4) from error
    return fold
