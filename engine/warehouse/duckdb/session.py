"""Opening a DuckDB warehouse, for writing or for reading.

The file is attached to an in-memory connection under one fixed alias, so that no statement holds its name, and two programs
never differ by the name of their default database.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from interlock.engine import faults
from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.warehouse.duckdb.control import Bound
from interlock.engine.warehouse.duckdb.cursors import Cursors, fetch, interrupted
from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.errors import DRIVER_ERRORS, classify, classify_attach, not_prepared, outcome_unknown
from interlock.engine.warehouse.duckdb.files import demand_openable, demand_reachable, disk, file_id, lock_file
from interlock.engine.warehouse.duckdb.quoting import identifier, string
from interlock.engine.warehouse.duckdb.reader import DuckDBReader
from interlock.engine.warehouse.duckdb.settings import costs
from interlock.engine.warehouse.duckdb.settings import statements as settings_of
from interlock.engine.warehouse.duckdb.transaction import DuckDBTransaction, demand_permit, not_permitted
from interlock.engine.warehouse.lock import PAUSE_SECONDS, holder_of
from interlock.engine.warehouse.protocol import ALIAS, Statement, WarehouseError
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.permits import ActPermit, PreparePermit, SealPermit, WritePermit

VERSION = duckdb.__version__
"""The engine's version, as plans and receipts name it."""

KNOWN_WRONG: dict[str, str] = {}
"""Versions of the engine that are known to give wrong rows, and what is wrong with each. A plan of one is refused."""

# Extensions are never fetched and Python variables are never tables: what runs is what the plan says.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}


def open_session(
    target: TargetConfig,
    *,
    root: Path,
    macros: Sequence[str] = (),
    attach: Mapping[str, Path] | None = None,
    create: bool = False,
    settings: Mapping[str, str] | None = None,
    threads: int = 1,
    wait_seconds: float | None = None,
) -> DuckDBSession:
    """Open a target's database to write in it.

    Args:
        target: which database.
        root: the project's directory, which relative paths of file sources start from.
        macros: CREATE TEMP MACRO statements, for every cursor.
        attach: other database files by alias, read-only.
        create: whether the file may be made.
        settings: DuckDB settings by name, for every cursor; `None`: those of the target, with ours where it says nothing.
        threads: DuckDB's own; ours come on top, one cursor each.
        wait_seconds: how long a busy database is waited for.

    Raises:
        WarehouseError: it cannot be opened, with the code that says why.
    """
    plan = _Opening(target, root=root, macros=macros, attach=attach or {}, settings=settings, threads=threads)
    cursors = plan.open(write=True, create=create, wait_seconds=wait_seconds)
    return DuckDBSession(target.location, cursors, plan, again=lambda: plan.open(write=True, create=False, wait_seconds=wait_seconds))


def open_reader(
    target: TargetConfig,
    *,
    root: Path,
    macros: Sequence[str] = (),
    attach: Mapping[str, Path] | None = None,
    settings: Mapping[str, str] | None = None,
    threads: int = 1,
    wait_seconds: float | None = None,
) -> DuckDBReader:
    """Open a target's database read-only; closing the reader closes it.

    Raises:
        WarehouseError: of kind `absent` where there is no such file; else with the code that says why not.
    """
    plan = _Opening(target, root=root, macros=macros, attach=attach or {}, settings=settings, threads=threads)
    cursors = plan.open(write=False, create=False, wait_seconds=wait_seconds)
    try:
        return DuckDBReader(cursors, on_close=cursors.close)
    except BaseException:
        cursors.close()
        raise


def open_scratch(target: TargetConfig, *, root: Path, macros: Sequence[str] = (), attach: Mapping[str, Path] | None = None) -> DuckDBReader:
    """An empty database in memory in the target's place, where the target positively has none yet.

    It answers what a first run needs to know: columns of file sources, other databases, values of literals.
    """
    cursors = _Opening(target, root=root, macros=macros, attach=attach or {}, settings=None, threads=1).scratch()
    return DuckDBReader(cursors, on_close=cursors.close)


def refusal(error: WarehouseError, *, subject: str = "") -> Refused:
    """The refusal that a person sees for an error of the warehouse."""
    return Refused(Diagnostic(code=error.code, summary=error.message, remedy=error.remedy, subject=subject))


class DuckDBSession:
    """An opened database that may be written to."""

    def __init__(self, location: Path, cursors: Cursors, opening: _Opening, again: Callable[[], Cursors]) -> None:
        self.version = VERSION
        self.location = location
        self._cursors = cursors
        self._opening = opening
        self._again = again
        self._file = file_id(location)
        self._serial = threading.Lock()

    def use_macros(self, macros: Sequence[str]) -> None:
        """From here on, every cursor has these macros (CREATE TEMP MACRO statements) and no others, also after it was opened again.

        A macro may hold the time and the variables of a plan, which are not always known when the database is opened.

        Raises:
            WarehouseError: one of them cannot be made.
        """
        if self._opening.macros == tuple(macros):
            return
        self._opening.macros = tuple(macros)
        self._cursors.prepare_anew(self._opening.preparation)
        self._cursors.give(self._cursors.take())

    def reader(self) -> DuckDBReader:
        """A connection for reading, on its own snapshots."""
        return DuckDBReader(self._cursors)

    def begin(self, *permits: WritePermit) -> DuckDBTransaction:
        """Begin the transaction of one model, or one that several small models share."""
        for permit in permits:
            demand_permit(permit, WritePermit)
        if self._cursors.interrupted.is_set():
            raise interrupted()
        self.check_same_file()
        return DuckDBTransaction(self._cursors, permits, check_file=self.check_same_file, disk=lambda: disk(self.location))

    def prepare(self, permit: PreparePermit, statements: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
        """The serial transaction before the models."""
        demand_permit(permit, PreparePermit)
        if self._cursors.interrupted.is_set():
            raise interrupted()
        self._serially("prepare", permit.statements, f"run {permit.run}", statements)

    def act(self, permit: ActPermit, statements: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
        """The serial transaction of an act of the ledger."""
        demand_permit(permit, ActPermit)
        self._serially(permit.act, permit.statements, f"act {permit.act}", statements)

    def seal(self, permit: SealPermit, statements: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
        """Insert the seal row. An interrupted run is sealed too."""
        demand_permit(permit, SealPermit)
        self._serially("seal", permit.statements, f"run {permit.run}", statements)

    def check_same_file(self) -> None:
        """The path still names the file that is open: DuckDB does not notice when it no longer does.

        Raises:
            WarehouseError: W613.
        """
        if file_id(self.location) == self._file:
            return
        message = f"`{self.location}` was removed or replaced while it was open"
        remedy = "find out by whom, put the right file there, and run it again"
        raise WarehouseError(message, kind="permanent", scope="database", code="W613", remedy=remedy)

    def interrupt(self) -> None:
        """Interrupt running statements, except on a connection that has entered COMMIT, and let no other model begin."""
        self._cursors.interrupt()

    def reopen(self) -> None:
        """Close every connection and open the same file again: a checkpoint that fails leaves a database that answers nothing.

        Raises:
            WarehouseError: it cannot be opened, or another file is there now.
        """
        before = self._cursors
        before.close()
        self.check_same_file()
        self._cursors = self._again()
        self.check_same_file()
        if before.interrupted.is_set():
            self._cursors.interrupted.set()

    def close(self) -> None:
        """Close every connection. What was not committed is rolled back."""
        self._cursors.close()

    def _serially(self, what: str, allowed: frozenset[str], of: str, statements: Sequence[Bound]) -> None:
        for statement, _ in statements:
            if statement.digest not in allowed:
                raise not_permitted(statement, of)
        self.check_same_file()
        with self._serial:
            cursor = self._cursors.take()
            self._cursors.wrote()
            try:
                faults.point(f"warehouse.{what}.before")
                cursor.execute("BEGIN TRANSACTION")
                for statement, values in statements:
                    faults.point(f"warehouse.{what}.statement.before")
                    fetch(cursor, statement.text, values)
                    faults.point(f"warehouse.{what}.statement.after")
                fetch(cursor, "SELECT 1", None)
                faults.point(f"warehouse.{what}.commit.before")
            except DRIVER_ERRORS as error:
                cursor.close()
                raise classify(error) from error  # type: ignore[arg-type]
            except BaseException:
                cursor.close()
                raise
            try:
                cursor.execute("COMMIT")
                faults.point(f"warehouse.{what}.commit.after")
            except DRIVER_ERRORS as error:
                cursor.close()
                raise outcome_unknown(error, disk=disk(self.location)) from error
            except BaseException:
                cursor.close()
                raise
            finally:
                self._cursors.wrote()
            self._cursors.give(cursor)
        try:
            self.check_same_file()
        except WarehouseError as error:
            raise WarehouseError(error.message, kind="outcome_unknown", scope="target", code=error.code, remedy=error.remedy) from error


class _Opening:
    """How a database is opened: the same for both."""

    def __init__(
        self,
        target: TargetConfig,
        *,
        root: Path,
        macros: Sequence[str],
        attach: Mapping[str, Path],
        settings: Mapping[str, str] | None,
        threads: int,
    ) -> None:
        self._location = target.location
        self._attach = attach
        self._threads = threads
        self.macros = tuple(macros)
        self._settings = (
            "SET errors_as_json = true",
            f"SET file_search_path = {string(str(root))}",
            *(
                settings_of(target)
                if settings is None
                else (f"SET {identifier(name)} = {string(value)}" for name, value in settings.items())
            ),
        )
        self._once = (
            # An in-memory connection would spill into the working directory.
            f"SET temp_directory = {string(str(self._location) + '.tmp')}",
            *costs(target),
        )

    @property
    def preparation(self) -> tuple[str, ...]:
        """What makes a cursor ready. All of it is the cursor's own: another one does not have it."""
        return (*self._settings, *self.macros)

    def open(self, *, write: bool, create: bool, wait_seconds: float | None) -> Cursors:
        """Open, and wait for a busy database as long as was asked."""
        limit = time.monotonic() + (wait_seconds or 0.0)
        while True:
            try:
                return self._open(write=write, create=create)
            except WarehouseError as error:
                if error.kind != "busy" or time.monotonic() >= limit:
                    raise
            time.sleep(PAUSE_SECONDS)

    def scratch(self) -> Cursors:
        """Nothing of the target is touched: an empty database stands under its alias."""
        connection = duckdb.connect(":memory:", config={**_CONFIG, "threads": self._threads})
        try:
            self._location = Path(":memory:")
            self._attach_all(connection, write=True)
            return self._prepared(connection)
        except BaseException:
            connection.close()
            raise

    def _open(self, *, write: bool, create: bool) -> Cursors:
        demand_openable(self._location, write=write, create=create)
        before = file_id(self._location)
        try:
            connection = duckdb.connect(":memory:", config={**_CONFIG, "threads": self._threads})
        except DRIVER_ERRORS as error:
            raise classify(error) from error  # type: ignore[arg-type]
        try:
            self._attach_all(connection, write=write)
            after = file_id(self._location)
            if after is None or (before is not None and before != after):
                message = f"`{self._location}` was replaced while it was being opened"
                raise WarehouseError(message, kind="permanent", scope="target", code="W613", remedy="run it again")  # noqa: TRY301
            return self._prepared(connection)
        except BaseException:
            connection.close()
            raise

    def _attach_all(self, connection: duckdb.DuckDBPyConnection, *, write: bool) -> None:
        try:
            connection.execute("SET errors_as_json = true")
            for statement in self._once:
                connection.execute(statement)
        except DRIVER_ERRORS as error:
            raise not_prepared(error) from error  # type: ignore[arg-type]
        # TYPE keeps DuckDB from looking for an extension that would read a file of another kind.
        in_memory = str(self._location) == ":memory:"
        options = "TYPE duckdb" if write or in_memory else "TYPE duckdb, READ_ONLY"
        try:
            faults.point("warehouse.attach.before")
            connection.execute(f"ATTACH {string(str(self._location))} AS {identifier(ALIAS)} ({options})")
            faults.point("warehouse.attach.after")
        except DRIVER_ERRORS as error:
            raise self._with_holder(classify_attach(error, self._location)) from error  # type: ignore[arg-type]
        for alias, path in sorted(self._attach.items()):
            try:
                demand_reachable(path)
            except WarehouseError as error:
                raise _source_error(error, path) from error
            try:
                connection.execute(f"ATTACH {string(str(path))} AS {identifier(alias)} (TYPE duckdb, READ_ONLY)")
            except DRIVER_ERRORS as error:
                raise _source_error(classify_attach(error, path), path) from error  # type: ignore[arg-type]

    def _prepared(self, connection: duckdb.DuckDBPyConnection) -> Cursors:
        cursors = Cursors(connection, self.preparation)
        cursors.give(cursors.take())
        return cursors

    def _with_holder(self, error: WarehouseError) -> WarehouseError:
        """Say who has it, where that is one of us."""
        if error.code != "W604" or (holder := holder_of(lock_file(self._location))) is None or holder.pid == os.getpid():
            return error
        run = f", run {holder.run}" if holder.run else ""
        message = f"{error.message}: `{holder.command}`{run} of {holder.user} on {holder.host}, since {holder.since}"
        return WarehouseError(message, kind=error.kind, scope=error.scope, code="W603", remedy=error.remedy)


def _source_error(error: WarehouseError, path: Path) -> WarehouseError:
    remedy = "check `database` of the source in sources.toml" if error.kind == "absent" else error.remedy
    message = f"source database `{path}` cannot be attached: {error.message}"
    return WarehouseError(message, kind=error.kind, scope="target", code="W614", remedy=remedy)
