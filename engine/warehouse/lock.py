"""One writer a database: a lock on a file of its own, which dies with its process and says who holds it.

The database file itself is never opened here: closing any descriptor of it would drop the engine's own lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from interlock.engine.diagnostics import Diagnostic, Refused, did_you_mean, refused
from interlock.machines.records import Record

EXIT_BUSY = 3

PAUSE_SECONDS = 0.05
"""Between two tries."""

GRACE_SECONDS = 0.2
"""For which a busy lock is tried even by who does not wait: a reader that asks who holds it has it for an instant."""


class Holder(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who holds a lock. `since` is a time in UTC."""

    pid: int
    host: str
    user: str
    since: str
    command: str
    run: str | None = None


class Lock:
    """A lock that is held. It ends with `release`, or with the process."""

    def __init__(self, path: Path, descriptor: int, holder: Holder) -> None:
        self.path = path
        self.holder = holder
        self._descriptor: int | None = descriptor
        self._say(holder)

    def names_run(self, run: str) -> None:
        """Say which run holds it, for those who wait."""
        self.holder = msgspec.structs.replace(self.holder, run=run)
        self._say(self.holder)

    def release(self) -> None:
        """Give it back. The file stays: removing it would let two writers lock two files of one name."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        with contextlib.suppress(OSError):
            # The words are for people; whoever reads them asks first whether anybody holds it.
            os.ftruncate(descriptor, 0)
        os.close(descriptor)

    def _say(self, holder: Holder) -> None:
        if self._descriptor is None:
            return
        said = msgspec.json.encode(holder) + b"\n"
        # One write over the old text, then the cut: who reads meanwhile sees a whole line first, or nothing that decodes.
        # The words are for people. On a full disk the lock holds without them, and what needs room says so by itself.
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, said, 0)
            os.ftruncate(self._descriptor, len(said))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


def acquire(
    path: Path,
    holder: Holder,
    wait_seconds: float | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> Lock:
    """Take the lock of a database.

    Args:
        path: the lock file; its directory is made if it is not there.
        holder: what others will read of us.
        wait_seconds: how long a busy lock is waited for; `None`: not at all; infinity: for ever.
        sleep: waits; a test gives its own.
        monotonic: tells seconds; a test gives its own.

    Raises:
        Refused: W603 where it is busy; W602, W605 or W606 where its file cannot be made or locked.
    """
    descriptor = _open(path)
    try:
        limit = monotonic() + max(wait_seconds or 0.0, GRACE_SECONDS)
        while not _take(descriptor, fcntl.LOCK_EX):
            if monotonic() >= limit:
                raise _busy(path, _read(path))  # noqa: TRY301 - the descriptor is closed on every way out
            sleep(PAUSE_SECONDS)
        return Lock(path, descriptor, holder)
    except OSError as error:
        os.close(descriptor)
        raise _not_taken(path, error) from error
    except BaseException:
        os.close(descriptor)
        raise


def holder_of(path: Path) -> Holder | None:
    """Who holds the lock now, without taking it; `None` where nobody does or can, or where they have not said so yet."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if _take(descriptor, fcntl.LOCK_SH):
            return None
    except OSError:
        return None  # its file system knows no locks, and nobody gets one there
    finally:
        os.close(descriptor)
    return _read(path)


def _take(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: Path) -> int:
    try:
        if not path.parent.parent.is_dir():
            raise no_directory(path.parent.parent)
        path.parent.mkdir(exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _not_opened(path, error) from error


def _not_opened(path: Path, error: OSError) -> Refused:
    because = f"`{path}`: {error.strerror}"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return refused("W606", "the lock file cannot be made", because=because, remedy="make room on the disk and run it again")
    if error.errno in {errno.ENOTDIR, errno.EISDIR, errno.EEXIST}:
        return refused("W605", "the lock file cannot be made", because=because, remedy="move away what stands at that path")
    remedy = "make the directory writable; a target in a directory that may not be written can be read only"
    return refused("W605", "the lock file cannot be made", because=because, remedy=remedy)


def _not_taken(path: Path, error: OSError) -> Refused:
    because = f"`{path}`: {error.strerror}"
    return refused("W605", "the lock file cannot be locked", because=because, remedy="put the database on a file system that has locks")


def no_directory(directory: Path) -> Refused:
    """W602, with the nearest name."""
    above = directory.parent
    names = [entry.name for entry in above.iterdir() if entry.is_dir()] if above.is_dir() else []
    otherwise = f"make it (`mkdir -p {directory}`), or correct `path` of the target"
    return refused("W602", f"directory `{directory}` does not exist", remedy=did_you_mean(directory.name, names, otherwise))


def _read(path: Path) -> Holder | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def _busy(path: Path, holder: Holder | None) -> Refused:
    if holder is None:
        because = f"`{path}` is locked by a process that has not said who it is"
    else:
        run = f", run {holder.run}" if holder.run else ""
        because = f"process {holder.pid} of {holder.user} on {holder.host} (`{holder.command}`{run}) has it since {holder.since}"
    finding = Diagnostic(
        code="W603",
        summary="another process is writing this database",
        because=because,
        remedy="wait until it is done, or let this wait with `--wait`; one that hangs may be ended: the next run settles what it began",
    )
    return Refused(finding, exit_code=EXIT_BUSY)
