"""The database file as the operating system sees it, without ever opening it.

Closing any descriptor of the file, by anyone in this process, drops DuckDB's lock on it. So only names and inodes are looked at.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal, TypeAlias

from interlock.engine.diagnostics import nearest
from interlock.engine.faults import point
from interlock.engine.warehouse.protocol import ErrorKind, WarehouseError
from interlock.machines.records import Record

FileState: TypeAlias = Literal["missing", "empty", "file", "other"]

_ROOM_BYTES_MIN = 1 << 16
"""Less free space than this is a full disk: DuckDB writes in blocks of 256 KiB."""

_SUFFIXES = frozenset({".duckdb", ".db", ".ddb"})


class FileId(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file a name means: device and inode."""

    device: int
    inode: int


def file_id(location: Path) -> FileId | None:
    """Which file stands at the path; `None` for none.

    Raises:
        WarehouseError: the question got no answer.
    """
    found = _stat(location)
    return None if found is None else FileId(device=found.st_dev, inode=found.st_ino)


def file_state(location: Path) -> FileState:
    """What stands at the path. A kill while DuckDB makes a new file can leave an empty one, which cannot be attached.

    Raises:
        WarehouseError: the question got no answer.
    """
    found = _stat(location)
    if found is None:
        return "missing"
    if not location.is_file():
        return "other"
    return "empty" if found.st_size == 0 else "file"


def remove_empty(location: Path) -> None:
    """Remove an empty database file. Only for who knows that no write of ours can exist.

    Raises:
        WarehouseError: it is not empty, or it cannot be removed.
    """
    if file_state(location) != "empty":
        raise _error("W607", "permanent", f"`{location}` is not empty, and stays", "restore it from a backup")
    try:
        point("database.remove.before")
        location.unlink()
        wal(location).unlink(missing_ok=True)
        point("database.remove.after")
    except OSError as error:
        raise _error("W605", "denied", f"`{location}` cannot be removed: {error.strerror}", "remove the empty file") from error


def wal(location: Path) -> Path:
    """The write-ahead log of a database file."""
    return location.with_name(location.name + ".wal")


def lock_file(location: Path) -> Path:
    """The lock file beside a database file."""
    return location.with_name(location.name + ".interlock") / "lock"


def disk(location: Path) -> Literal["full", "room"]:
    """Whether there is room where the database lies; where that cannot be asked, it is not called full."""
    try:
        return "full" if shutil.disk_usage(location.parent).free < _ROOM_BYTES_MIN else "room"
    except OSError:
        return "room"


def demand_reachable(location: Path) -> None:
    """The file that DuckDB would open, or make, is the one that is looked at here.

    Raises:
        WarehouseError: W602, it is another one.
    """
    if "\\" in str(location):
        because = f"the path `{location}` holds a backslash, which DuckDB reads as `/`"
        raise _error("W602", "absent", because, "put the database at a path without one, and name it by `path` of the target")


def demand_openable(location: Path, *, write: bool, create: bool) -> None:
    """What can be said before DuckDB is asked, so that each case has its own answer.

    Raises:
        WarehouseError: W601, W602, W605 or W607.
    """
    demand_reachable(location)
    state = file_state(location)
    if state == "missing":
        _demand_creatable(location, create=write and create)
        return
    if state == "other":
        what = "is a directory, and no file" if location.is_dir() else "is not a file"
        raise _error("W607", "permanent", f"`{location}` {what}", "give the path of a DuckDB file")
    if state == "empty":
        remedy = "if it never held anything, remove it; else restore it from a backup"
        raise _error("W607", "permanent", f"`{location}` is an empty file, and no DuckDB database", remedy)
    if not os.access(location, os.R_OK):
        raise _error("W605", "denied", f"`{location}` may not be read by this user", "change its permissions")
    if not write:
        return
    if not os.access(location, os.W_OK):
        raise _error("W605", "denied", f"`{location}` may not be written by this user", "change its permissions")
    # The write-ahead log is made beside the file.
    if not os.access(location.parent, os.W_OK | os.X_OK):
        raise _error("W605", "denied", f"directory `{location.parent}` may not be written by this user", "change its permissions")


def _demand_creatable(location: Path, *, create: bool) -> None:
    directory = location.parent
    if not directory.is_dir():
        raise _error(
            "W602", "absent", f"directory `{directory}` does not exist", f"make it, or correct `path` ({_near_directory(directory)})"
        )
    if _stat(wal(location)) is not None:
        # Making a new database here would delete the log, and with it rows that were committed.
        because = f"`{location}` is gone, but its write-ahead log `{wal(location).name}` is there"
        raise _error("W601", "absent", because, "restore the database file; if it is not wanted, remove the log")
    if not create:
        near = nearest(location.name, _databases(directory))
        remedy = f"did you mean `{near}`?" if near else "correct `path` of the target, or say `create = true` there"
        raise _error("W601", "absent", f"`{location}` does not exist", remedy)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise _error("W605", "denied", f"directory `{directory}` may not be written by this user", "change its permissions")


def _databases(directory: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in directory.iterdir() if entry.suffix in _SUFFIXES)
    except OSError:
        return []


def _near_directory(directory: Path) -> str:
    above = directory.parent
    if not above.is_dir():
        return f"`{above}` does not exist either"
    try:
        near = nearest(directory.name, [entry.name for entry in above.iterdir() if entry.is_dir()])
    except OSError:
        near = None
    return f"did you mean `{near}`?" if near else "nothing there has such a name"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _error(
            "W605", "denied", f"`{path}` cannot be looked at: {error.strerror}", "change the permissions of its directory"
        ) from error


def _error(code: str, kind: ErrorKind, message: str, remedy: str) -> WarehouseError:
    return WarehouseError(message, kind=kind, scope="target", code=code, remedy=remedy)
