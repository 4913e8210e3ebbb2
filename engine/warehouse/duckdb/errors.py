"""What DuckDB raised, classified by class and code and never by its text."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.protocol import ErrorKind, ErrorScope, WarehouseError

DriverError: TypeAlias = duckdb.Error | RuntimeError
"""What a call of the driver may raise: RuntimeError is its answer to a SIGINT that no handler took."""

DRIVER_ERRORS: tuple[type[Exception], ...] = (duckdb.Error, RuntimeError)

INTERRUPTED = "G562"
OUTCOME_UNKNOWN = "K742"

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_FILE = frozenset({errno.EISDIR, errno.ENOTDIR})

_CSV: Final = re.compile(r"CSV Error on Line: (\d+)\nOriginal Line: ?(.*?)\n(.*?)(?:\n\n|\n\s*file = |$)", re.DOTALL)
_CSV_FILE: Final = re.compile(r"^\s*file = (.+)$", re.MULTILINE)
_LINES_MAX: Final = 6
_LINE_MAX: Final = 200
CSV_REMEDY: Final = "correct that line, or say in sources.toml how the file is read: its `options`, or the types of its columns"
_PID = re.compile(r"\(PID (\d+)\)")


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """What `errors_as_json` gives, as far as it is used. Other keys are allowed: they differ from error to error."""

    exception_type: str = ""
    exception_message: str = ""
    error_subtype: str = ""
    position: str | None = None
    errno: str | None = None


def detail(error: BaseException) -> Detail:
    r"""The structured part of an error; one without (COMMIT gives none) has its text as the message.

    Of an error of the engine's own the structure holds its stack, and advice to report it follows.

    >>> detail(duckdb.InternalException('INTERNAL Error: {"exception_message":"no such vector","stack_trace":"a.so(x)"}\nReport it.')).exception_message
    'no such vector'
    """
    text = str(error)
    start = text.find("{")
    if start >= 0:
        try:
            found = msgspec.json.decode(text[start : text.rfind("}") + 1].encode(errors="replace"), type=Detail)
        except msgspec.DecodeError:
            return Detail(exception_message=text)
        if found.exception_message:
            return found
    return Detail(exception_message=text)


def in_short(message: str) -> str:
    r"""A message without what helps nobody: of a CSV file's error the place and the reason, else the first lines.

    >>> in_short("CSV Error on Line: 3\nOriginal Line: a,b\nToo many columns\n\nPossible fixes:\n  file = x.csv\n  delimiter = ,")
    'line 3 of x.csv: Too many columns (it is `a,b`)'
    """
    found = _CSV.search(message)
    if found is not None:
        file = _CSV_FILE.search(message)
        where = f"line {found[1]}" + (f" of {file[1].strip()}" if file else "")
        line = found[2] if len(found[2]) <= _LINE_MAX else f"{found[2][:_LINE_MAX]}…"
        return f"{where}: {' '.join(found[3].split())} (it is `{line}`)"
    told, _, dump = message.partition("The search space used was:")
    if dump:
        return told.strip()
    lines = [line for line in message.splitlines() if line.strip()]
    return message if len(lines) <= _LINES_MAX else "\n".join([*lines[:_LINES_MAX], f"… and {len(lines) - _LINES_MAX} lines more"])


def classify(error: DriverError) -> WarehouseError:
    """An error of a statement. Every one of them ends the transaction that it happened in."""
    said = detail(error)
    offset = int(said.position) if said.position is not None and said.position.isdecimal() else None

    def as_(code: str, kind: ErrorKind, scope: ErrorScope, remedy: str = "") -> WarehouseError:
        short = in_short(said.exception_message)
        return WarehouseError(short, kind=kind, scope=scope, code=code, remedy=remedy, offset=offset)

    match error:
        case duckdb.InterruptException() | RuntimeError():
            return as_(INTERRUPTED, "permanent", "transaction", "run it again")
        case duckdb.FatalException() | duckdb.InternalException():
            return as_("W611", "permanent", "database", "run it again: what is durable is looked up first")
        case duckdb.IOException():
            code, kind, scope, remedy = _of_number(said)
            return as_(code, kind, scope, remedy)
        case duckdb.PermissionException():
            return as_("W605", "denied", "statement")
        case duckdb.TransactionException():
            return as_("W610", "transient", "transaction", "run it again")
        case duckdb.ConnectionException():
            return as_("W609", "transient", "connection", "run it again")
        case duckdb.ResourceInUseException():
            return as_("W604", "busy", "target", "close the other connection of this process")
        case duckdb.OutOfMemoryException():
            return as_("W608", "permanent", "transaction", "give `settings.memory_limit` of the target more, or lower `threads`")
        case duckdb.CatalogException() if said.error_subtype == "MISSING_ENTRY":
            return as_("W608", "absent", "transaction")
        case _ if said.exception_type == "Data Corruption":
            return as_("W607", "permanent", "database", "restore the database from a backup")
        case _ if _CSV.search(said.exception_message):
            return as_("W608", "permanent", "transaction", CSV_REMEDY)
        case _:
            return as_("W608", "permanent", "transaction")


def classify_attach(error: DriverError, path: Path) -> WarehouseError:
    """An error of attaching a database file."""
    said = detail(error)
    number = _number(said)

    def as_(code: str, kind: ErrorKind, message: str, remedy: str) -> WarehouseError:
        return WarehouseError(message, kind=kind, scope="target", code=code, remedy=remedy)

    if isinstance(error, duckdb.ResourceInUseException):
        return as_("W604", "busy", f"`{path}` is open already in this process", "close the other connection first")
    if not isinstance(error, duckdb.IOException):
        if said.exception_type == "Data Corruption":
            return as_("W607", "permanent", f"`{path}` is damaged: {said.exception_message}", "restore it from a backup")
        return classify(error)
    match number:
        case errno.EAGAIN:
            return as_("W604", "busy", _who_has(path, said), "close it there, or wait for it with `--wait`")
        case errno.ENOENT:
            return as_("W601", "absent", f"`{path}` does not exist", "check `path` of the target")
        case number if number in _DENIED:
            return as_("W605", "denied", f"`{path}` cannot be opened for this use: {said.exception_message}", "change its permissions")
        case number if number in _FULL:
            return as_("W606", "permanent", f"the disk of `{path}` is full", "make room and run it again")
        case number if number in _NO_FILE:
            return as_("W607", "permanent", f"`{path}` is not a file", "give the path of a DuckDB file")
        case None:
            # Of what attaching a file can meet, only its content comes without a number of the operating system.
            remedy = "give the path of a DuckDB file, or restore it from a backup"
            return as_("W607", "permanent", f"`{path}` is not a DuckDB database, or is damaged: {said.exception_message}", remedy)
        case _:
            return as_("W609", "permanent", f"`{path}` cannot be read: {said.exception_message}", "check the disk")


def not_prepared(error: DriverError) -> WarehouseError:
    """A setting or a macro that DuckDB does not take: the database is there all the same, so never of kind `absent`."""
    known = classify(error)
    remedy = known.remedy or "check `settings` of the target, and the project's macros"
    return WarehouseError(known.message, kind="permanent", scope="target", code=known.code, remedy=remedy, offset=known.offset)


def outcome_unknown(error: BaseException, *, disk: Literal["full", "room"]) -> WarehouseError:
    """A COMMIT that raised: rows may be durable all the same. `code` says what happened as far as it is known."""
    code = OUTCOME_UNKNOWN
    message = detail(error).exception_message
    scope: ErrorScope = "connection"
    if isinstance(error, DRIVER_ERRORS):
        known = classify(error)  # type: ignore[arg-type]
        scope = "database" if known.scope == "database" else "connection"
        if known.code in {"W606", "W611"}:
            code = known.code
    if disk == "full":
        code = "W606"
    remedy = "make room and run it again" if code == "W606" else "run it again: what is durable is looked up first"
    return WarehouseError(message, kind="outcome_unknown", scope=scope, code=code, remedy=remedy)


def _number(said: Detail) -> int | None:
    return int(said.errno) if said.errno is not None and said.errno.isdecimal() else None


def _of_number(said: Detail) -> tuple[str, ErrorKind, ErrorScope, str]:
    number = _number(said)
    if number in _FULL:
        return "W606", "permanent", "transaction", "make room and run it again"
    if number in _DENIED:
        return "W605", "denied", "transaction", "change the permissions of the file"
    if number == errno.ENOENT:
        return "W608", "absent", "transaction", ""
    return "W608", "permanent", "transaction", ""


def _who_has(path: Path, said: Detail) -> str:
    found = _PID.search(said.exception_message)
    who = f"process {found.group(1)}" if found else "another process"
    return f"{who} has `{path}` open"
