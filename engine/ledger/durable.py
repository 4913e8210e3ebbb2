"""Writing that a power failure cannot undo: files, renames and the directories that name them."""

from __future__ import annotations

import os
from pathlib import Path

from interlock.engine.faults import point


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    point("directory.fsync.before")
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    point("directory.fsync.after")


def make_directory(directory: Path) -> None:
    """Make a directory with its parents; each new name is durable when this returns."""
    missing: list[Path] = []
    at = directory
    while not at.is_dir():
        missing.append(at)
        at = at.parent
    for made in reversed(missing):
        point("directory.make.before")
        made.mkdir(exist_ok=True)
        point("directory.make.after")
        sync_directory(made.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """write(2) until all of it is written: a nearly full disk takes a part and says so only at the next call."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def write_file(path: Path, data: bytes) -> None:
    """Write a whole file: after this it stands under its name with these bytes, and before this it never does.

    Its directory is made where it is missing. What was there under that name is replaced.

    Raises:
        OSError: it could not be written; nothing stands under the name that was not there before.
    """
    make_directory(path.parent)
    aside = path.with_name(f".{path.name}.new")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            point("file.write.before")
            write_all(descriptor, data)
            point("file.write.after")
            point("file.fsync.before")
            os.fsync(descriptor)
            point("file.fsync.after")
        finally:
            os.close(descriptor)
        point("file.rename.before")
        aside.replace(path)
        point("file.rename.after")
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def set_aside(directory: Path, name: str) -> Path:
    """Rename a directory to `name` (or the first free `name-2`, `name-3`, …) beside it, durably; gives the new path."""
    kept = directory.with_name(name)
    number = 2
    while kept.exists():
        kept = directory.with_name(f"{name}-{number}")
        number += 1
    point("directory.rename.before")
    directory.rename(kept)
    point("directory.rename.after")
    sync_directory(kept.parent)
    return kept
