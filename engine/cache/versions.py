"""What an answer depends on beside its inputs: our own code, the interpreter and the libraries that decode."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterator

import msgspec

from interlock.engine.version import VERSION

FORMAT = 1
"""Raised when the form of what is kept changes."""


def versions() -> dict[str, str]:
    """Each by its name. Another value of any is another answer."""
    return {"format": str(FORMAT), "interlock": VERSION, "code": _code(), "python": sys.version, "msgspec": msgspec.__version__}


@functools.cache
def _code() -> str:
    """Our own files by time and size: a working copy changes without its version."""
    seen = hashlib.sha256()
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - two hundred files
    for top in (here, os.path.join(os.path.dirname(here), "machines")):  # noqa: PTH118, PTH120
        for line in sorted(_files(top)):
            seen.update(line.encode())
    return seen.hexdigest()


def _files(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _files(entry.path)
        elif entry.name.endswith((".py", ".json", ".toml", ".so")):
            status = entry.stat()
            yield f"{entry.path}\0{status.st_size}\0{status.st_mtime_ns}\n"
