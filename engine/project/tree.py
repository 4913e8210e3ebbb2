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
                if not entry.name.isprintable():
                    name = os.fsencode(entry.name).decode("utf-8", "backslashreplace")
                    findings.append(
                        _unreadable(f"{shown}/{name}", "its name is not UTF-8, or has control characters", "give it another name")
                    )
                    continue
                path = f"{shown}/{entry.name}"
                if entry.is_dir():
                    folders.append((entry.path, path))
                else:
                    yield path
    except OSError as error:
        because = error.strerror or type(error).__name__
        findings.append(_unreadable(shown, because, "see to its permissions"))
        return
    for inner, path in folders:
        yield from _under(inner, path, above | {identity}, findings)


def _unreadable(path: str, because: str, remedy: str) -> Diagnostic:
    return Diagnostic(code="S101", summary=f"`{path}` cannot be read", because=because, remedy=remedy, at=Position(path=path))
