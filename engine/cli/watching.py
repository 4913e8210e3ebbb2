"""`compile --watch`: compile again whenever a file of the project changes, until somebody stops it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

State: TypeAlias = Mapping[str, tuple[int, int]]
"""Of each file its time and its size."""

SECONDS: Final = 0.3
_FILES: Final = ("interlock.toml", "sources.toml", "sources.lock.toml")
_FOLDERS: Final = ("models", "seeds", "macros")


def state_of(root: Path) -> State:
    """The project's files as they are now. One that is being replaced right now counts as gone."""
    found: dict[str, tuple[int, int]] = {}
    paths = [root / name for name in _FILES]
    for folder in _FOLDERS:
        for directory, _, names in os.walk(root / folder):
            paths += [Path(directory, name) for name in names]
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        found[str(path)] = (status.st_mtime_ns, status.st_size)
    return found


def watch(once: Callable[[], int], look: Callable[[], State], wait: Callable[[], None] = lambda: time.sleep(SECONDS)) -> int:
    """Call `once` now and after each change. Ctrl-C ends it, with the exit code of the last time.

    Args:
        once: compiles and shows; answers with an exit code.
        look: the project's files.
        wait: lets some time go by.
    """
    code = 0
    before: State | None = None
    try:
        while True:
            now = look()
            if now != before:
                before = now
                code = once()
            wait()
    except KeyboardInterrupt:
        return code
