"""One pass over the project's directory: which files there are, by what they are for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from interlock.engine.diagnostics import Diagnostic, Position


def walk(root: Path, folder: str, findings: list[Diagnostic]) -> list[str]:
    """Every file under `folder`, as paths relative to the project with forward slashes, sorted.

    Hidden files and folders are left out. Links are followed, but never in a circle. A folder that cannot be listed is a
    finding (S101): what is in it is not "absent".
    """
    top = root / folder
    if not os.path.lexists(top):
        return []
    return sorted(_under(str(top), folder, frozenset(), findings))


def _under(directory: str, shown: str, above: frozenset[tuple[int, int]], findings: list[Diagnostic]) -> Iterator[str]:
    folders: list[tuple[str, str]] = []
    try:
        place = os.stat(directory)  # noqa: PTH116 - ten thousand files: no Path for each
        identity = (place.st_dev, place.st_ino)
        if identity in above:
            return
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                path = f"{shown}/{entry.name}"
                if entry.is_dir():
                    folders.append((entry.path, path))
                else:
                    yield path
    except OSError as error:
        because = error.strerror or type(error).__name__
        at = Position(path=shown)
        findings.append(
            Diagnostic(code="S101", summary=f"`{shown}` cannot be read", because=because, remedy="see to its permissions", at=at)
        )
        return
    for inner, path in folders:
        yield from _under(inner, path, above | {identity}, findings)
