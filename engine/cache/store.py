"""Files of the cache, `.interlock/` in the project: checked before they are read, replaced whole, and never missed.

A file is a head, a digest of what follows, and that. What is cut short, altered, not a plain file or not ours is as if it
were not there. Losing any of it costs time and nothing else, so nothing here is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = ".interlock"
HEAD: Final = b"interlock cache 1\n"
SIZE_MAX: Final = 1 << 30
_DIGEST_SIZE: Final = hashlib.sha256().digest_size
_TEMPORARY: Final = ".part-"


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache of one project."""

    root: Path
    """The project's directory."""
    writes: bool = True
    """False: what is there is used, and nothing is written."""

    def read(self, name: str) -> memoryview | None:
        """What was kept under a name, whole and unaltered; or nothing."""
        folder = self._folder()
        if folder is None:
            return None
        try:
            data = _read(os.path.join(folder, name))  # noqa: PTH118 - as below
        except OSError:
            return None
        if data is None or not data.startswith(HEAD) or len(data) < len(HEAD) + _DIGEST_SIZE:
            return None
        view = memoryview(data)
        body = view[len(HEAD) + _DIGEST_SIZE :]
        return body if hashlib.sha256(body).digest() == view[len(HEAD) : len(HEAD) + _DIGEST_SIZE] else None

    def write(self, name: str, body: bytes) -> None:
        """Keep something, in the place of what was kept under that name. Where that cannot be, nothing is kept."""
        if not self.writes or len(body) + len(HEAD) + _DIGEST_SIZE > SIZE_MAX:
            return
        with contextlib.suppress(OSError):
            folder = self._folder() or self._made()
            if folder is not None:
                _replace(folder, name, (HEAD, hashlib.sha256(body).digest(), body))

    def _folder(self) -> str | None:
        """The directory, if it is one: through a link it would be somebody else's."""
        folder = os.path.join(self.root, FOLDER)  # noqa: PTH118 - before anything else is imported
        try:
            return folder if stat.S_ISDIR(os.lstat(folder).st_mode) else None
        except OSError:
            return None

    def _made(self) -> str | None:
        with contextlib.suppress(FileExistsError):
            folder = self.root / FOLDER
            folder.mkdir()
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        return self._folder()


def _read(path: str) -> bytes | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > SIZE_MAX:
            return None
        return file.read()


def _replace(folder: str, name: str, parts: tuple[bytes, ...]) -> None:
    """Under another name first, so that a reader sees the old file or the new one."""
    place = Path(folder, name)
    aside = Path(folder, f"{name}{_TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
        aside.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
    for left in Path(folder).glob(f"{name}{_TEMPORARY}*"):
        _clear(left)


def _clear(left: Path) -> None:
    """Take away what a writer left that was killed."""
    owner = left.name.rpartition(_TEMPORARY)[2].partition("-")[0]
    if owner.isdecimal() and not _is_running(int(owner)):
        with contextlib.suppress(OSError):
            left.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
