"""Packing closed segments: the same bytes in less room. Every reader reads them as before, and verifies each."""

from __future__ import annotations

import gzip
from pathlib import Path

from interlock.engine.faults import point
from interlock.engine.ledger.durable import sync_directory, write_file
from interlock.engine.ledger.places import packed_path, segment_number, segment_path, segments_directory


def closed_segments(directory: Path, last: int) -> list[int]:
    """Segments up to `last` that still stand as they were written."""
    names = [item.name for item in segments_directory(directory).iterdir() if item.suffix == ".jsonl"]
    return sorted(number for name in names if (number := segment_number(name)) is not None and number <= last)


def pack(directory: Path, number: int) -> int:
    """Pack a closed segment; gives the bytes that it takes now. The unpacked file goes only when the packed one was read back.

    Raises:
        OSError: it cannot be done; the segment stands as it was.
    """
    plain, packed = segment_path(directory, number), packed_path(directory, number)
    data = plain.read_bytes()
    # Without a time in its head, so that the same segment packs to the same bytes.
    write_file(packed, gzip.compress(data, mtime=0))
    if gzip.decompress(packed.read_bytes()) != data:
        message = f"{packed.name} does not hold what {plain.name} holds"
        raise OSError(message)
    point("file.remove.before")
    plain.unlink()
    point("file.remove.after")
    sync_directory(packed.parent)
    return packed.stat().st_size
