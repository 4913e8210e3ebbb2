"""Cursors: one for each that reads or writes, each prepared alike, none shared by two threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.errors import DRIVER_ERRORS, INTERRUPTED, not_prepared
from interlock.engine.warehouse.protocol import Catalog, Row, WarehouseError


class Gate:
    """Whether what runs on a cursor may be interrupted.

    Closing the gate and an interrupt exclude each other, so that none lands in a COMMIT: rows can be durable although an
    interrupted COMMIT raises.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self._lock = threading.Lock()
        self._open = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """For one statement."""
        with self._lock:
            self._open = True
        try:
            yield
        finally:
            with self._lock:
                self._open = False

    def interrupt(self) -> None:
        """Interrupt the statement that runs, if one does that may be."""
        with self._lock:
            if self._open:
                self._cursor.interrupt()


class Cursors:
    """The connection of a database, and cursors of it that are made once and used again."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, preparation: Sequence[str]) -> None:
        self._connection = connection
        self._preparation = tuple(preparation)
        self._lock = threading.Lock()
        self._free: list[duckdb.DuckDBPyConnection] = []
        self._gates: set[Gate] = set()
        self._closed = False
        self.interrupted = threading.Event()
        self.control: frozenset[str] = frozenset()
        """Control tables that were seen. Nobody else can write the file while it is open, and we never drop one."""
        self._writes = 0
        self._probed: tuple[int, Catalog] | None = None

    def wrote(self) -> None:
        """Something is about to be written, or was: what was probed before says nothing any more."""
        with self._lock:
            self._writes += 1
            self._probed = None

    def probed(self, probe: Callable[[], Catalog]) -> Catalog:
        """What a bulk probe says, made once as long as nothing is written: nobody else can write the file while it is open."""
        with self._lock:
            known, before = self._probed, self._writes
        if known is not None and known[0] == before:
            return known[1]
        found = probe()
        with self._lock:
            if self._writes == before:
                self._probed = before, found
        return found

    def prepare_anew(self, preparation: Sequence[str]) -> None:
        """From here on, cursors are prepared by these statements; those that wait for use were prepared by others, and go.

        Raises:
            RuntimeError: one is in use; it would come back as it was prepared before.
        """
        with self._lock:
            if self._gates:
                message = "cursors are prepared anew while one is in use"
                raise RuntimeError(message)
            self._preparation = tuple(preparation)
            free, self._free = self._free, []
        for cursor in free:
            cursor.close()

    def take(self) -> duckdb.DuckDBPyConnection:
        """A prepared cursor.

        Raises:
            WarehouseError: it cannot be made or prepared.
        """
        with self._lock:
            if self._closed:
                raise closed()
            if self._free:
                return self._free.pop()
        try:
            cursor = self._connection.cursor()
            for statement in self._preparation:
                cursor.execute(statement)
        except DRIVER_ERRORS as error:
            raise not_prepared(error) from error  # type: ignore[arg-type]
        return cursor

    def give(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Back, with no transaction open and no temporary table on it."""
        with self._lock:
            if not self._closed:
                self._free.append(cursor)
                return
        cursor.close()

    def watch(self, gate: Gate) -> None:
        """Let `interrupt` reach it."""
        with self._lock:
            self._gates.add(gate)

    def forget(self, gate: Gate) -> None:
        """It is done with."""
        with self._lock:
            self._gates.discard(gate)

    def interrupt(self) -> None:
        """Interrupt what runs. An interrupt is lost on an idle cursor, so the flag is looked at between statements."""
        self.interrupted.set()
        with self._lock:
            gates = list(self._gates)
        for gate in gates:
            gate.interrupt()

    def close(self) -> None:
        """Close all of them. What is open on one is rolled back."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            free, self._free = self._free, []
        for cursor in free:
            cursor.close()
        self._connection.close()


def fetch(cursor: duckdb.DuckDBPyConnection, text: str | duckdb.Statement, parameters: Mapping[str, Any] | None) -> list[Row]:
    """Run one text and take all that it answers: an error in a late row is raised by the fetch and by nothing else."""
    cursor.execute(text, dict(parameters)) if parameters else cursor.execute(text)
    return cursor.fetchall()


def closed() -> WarehouseError:
    """The connection was closed."""
    return WarehouseError("the connection is closed", kind="permanent", scope="connection", code="W609", remedy="run it again")


def interrupted() -> WarehouseError:
    """The flag was seen."""
    return WarehouseError("interrupted", kind="permanent", scope="transaction", code=INTERRUPTED, remedy="run it again")
