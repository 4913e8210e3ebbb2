"""A transaction that writes what its permit allows, and commits what its machine has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from interlock.engine import faults
from interlock.engine.warehouse.duckdb.control import FENCE, INSERT_RECEIPT, published, rows_touched
from interlock.engine.warehouse.duckdb.cursors import Cursors, Gate, fetch, interrupted
from interlock.engine.warehouse.duckdb.errors import DRIVER_ERRORS, classify, outcome_unknown
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.duckdb.signature import signature
from interlock.engine.warehouse.protocol import DELTA, HeadMove, Row, Statement, WarehouseError
from interlock.machines.evidence import Column
from interlock.machines.permits import CommitPermit, WritePermit

_State: TypeAlias = Literal["open", "dead", "committing", "committed", "rolled_back"]

_ALIVE = "SELECT 1"
_FORGET_DELTA = f"DROP TABLE IF EXISTS {DELTA}"
_DELTA_NAME = DELTA.rpartition(".")[2]
_RECEIPT = INSERT_RECEIPT.digest
_PUBLISHES = frozenset({INSERT_RECEIPT.digest, FENCE.digest})
"""What a permit must allow for its model's row of a statement that publishes several."""


class DuckDBTransaction:
    """One model's transaction, or that of several small ones. After any error it is dead: it runs nothing more and cannot be committed.

    DuckDB's COMMIT after a failed statement returns normally and writes nothing, so deadness is kept here as well.
    """

    def __init__(
        self,
        cursors: Cursors,
        permits: Sequence[WritePermit],
        *,
        check_file: Callable[[], None],
        disk: Callable[[], Literal["full", "room"]],
    ) -> None:
        self._cursors = cursors
        self._permits = tuple(permits)
        self._permit = self._permits[0]
        """Of the model whose turn it is."""
        self._check_file = check_file
        self._disk = disk
        self._receipts: dict[str, set[str]] = {permit.anchor: set() for permit in self._permits}
        """What was inserted, by the attempt whose turn it was."""
        self._delta = False
        self._cursor = cursors.take()
        self._gate = Gate(self._cursor)
        self._state: _State = "open"
        cursors.wrote()
        try:
            faults.point("warehouse.begin.before")
            self._cursor.execute("BEGIN TRANSACTION")
            faults.point("warehouse.begin.after")
        except DRIVER_ERRORS as error:
            self._discard()
            raise classify(error) from error  # type: ignore[arg-type]
        except BaseException:
            self._discard()
            raise
        cursors.watch(self._gate)

    def turn(self, permit: WritePermit) -> None:
        """From here on, run what this permit allows, and nothing of the others'."""
        if permit not in self._permits:
            self._state = "dead"
            message = "the permit is of another transaction"
            raise WarehouseError(message, kind="permanent", scope="transaction", code="W612")
        self._permit = permit

    def run(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Run one allowed statement and fetch all that it answers."""
        self._demand_open()
        digest = statement.digest
        if digest not in self._permit.statements:
            self._state = "dead"
            raise not_permitted(statement, self._permit.model)
        if _DELTA_NAME in statement.text:
            self._delta = True
        answer = self._execute(statement, parameters)
        if digest == _RECEIPT and parameters is not None:
            self._receipts[self._permit.anchor].add(str(parameters["receipt"]))
        return answer

    def publish(self, project: str, moves: Sequence[tuple[WritePermit, HeadMove]]) -> None:
        """Receipts and heads of all models that share it, in two statements: what these write is checked row by row.

        Raises:
            WarehouseError: W612 where a row is not by the permit of its model; W610 where a head is not the one that was expected.
        """
        self._demand_open()
        for permit, move in moves:
            if permit not in self._permits or move.receipt.model != permit.model or not permit.statements >= _PUBLISHES:
                self._state = "dead"
                raise _not_covered(move.receipt.model)
        if len({move.receipt.model for _, move in moves}) != len(moves) or len({move.receipt.run for _, move in moves}) != 1:
            self._state = "dead"
            raise _not_covered("a model that stands there twice, or of a run of its own")
        (insert, rows), (fence, heads) = published([move for _, move in moves], project=project)
        self._execute(insert, rows)
        for permit, move in moves:
            self._receipts[permit.anchor].add(move.receipt.receipt)
        if rows_touched(self._execute(fence, heads)) != len(moves):
            self._state = "dead"
            message = f"one of {len(moves)} heads is not the one that was expected: another writer was here"
            raise WarehouseError(message, kind="permanent", scope="transaction", code="W610", remedy="run it again")

    def _execute(self, statement: Statement, parameters: Mapping[str, Any] | None) -> list[Row]:
        if self._cursors.interrupted.is_set():
            self._state = "dead"
            raise interrupted()
        with self._or_dead():
            faults.point(f"warehouse.{statement.role}.before")
            with self._gate.open():
                answer = fetch(self._cursor, statement.text, parameters)
            faults.point(f"warehouse.{statement.role}.after")
        return answer

    def columns(self, schema: str, name: str) -> tuple[Column, ...]:
        """Columns of a relation as this transaction sees it."""
        self._demand_open()
        with self._or_dead(), self._gate.open():
            found = signature(self._cursor, f"FROM {relation(schema, name)}")
        return tuple(Column(name=column, type=str(type_)) for column, type_ in zip(*found, strict=True))

    def commit(self, *permits: CommitPermit) -> None:
        """`SELECT 1`, then COMMIT, with the permit of every attempt that writes here. Proves nothing: read the receipts back."""
        self._demand_open()
        for permit in permits:
            demand_permit(permit, CommitPermit)
            if permit.anchor not in self._receipts:
                self._state = "dead"
                raise WarehouseError("the permit is of another attempt", kind="permanent", scope="transaction", code="W612")
            if permit.receipt not in self._receipts[permit.anchor]:
                self._state = "dead"
                raise WarehouseError(f"receipt {permit.receipt} was not inserted here", kind="permanent", scope="transaction", code="W612")
        if {permit.anchor for permit in permits} != self._receipts.keys():
            self._state = "dead"
            raise WarehouseError("a model of this transaction has no permit", kind="permanent", scope="transaction", code="W612")
        with self._or_dead():
            self._check_file()
            faults.point("warehouse.alive.before")
            with self._gate.open():
                fetch(self._cursor, _ALIVE, None)
            faults.point("warehouse.commit.before")
        if self._cursors.interrupted.is_set():
            self._state = "dead"
            raise interrupted()
        # From here on the gate stays closed: no interrupt of ours reaches the COMMIT.
        self._state = "committing"
        try:
            self._cursor.execute("COMMIT")
            faults.point("warehouse.commit.after")
        except DRIVER_ERRORS as error:
            self._discard()
            raise outcome_unknown(error, disk=self._disk()) from error
        except BaseException:
            self._discard()
            raise
        finally:
            self._cursors.wrote()
        self._state = "committed"
        self._give_back()
        try:
            self._check_file()
        except WarehouseError as error:
            raise WarehouseError(error.message, kind="outcome_unknown", scope="target", code=error.code, remedy=error.remedy) from error

    def rollback(self) -> None:
        """Roll back and prove it: either ROLLBACK went through, or the connection is closed, and COMMIT was never sent.

        Raises:
            RuntimeError: a COMMIT was sent, so nothing can be said here of what was written.
        """
        if self._state == "rolled_back":
            return
        if self._state in {"committing", "committed"}:
            message = "a transaction whose COMMIT was sent cannot be rolled back"
            raise RuntimeError(message)
        self._state = "rolled_back"
        try:
            faults.point("warehouse.rollback.before")
            self._cursor.execute("ROLLBACK")
            faults.point("warehouse.rollback.after")
        except DRIVER_ERRORS:
            # No transaction is active on a dead connection; closing it ends whatever is.
            self._discard()
            return
        except BaseException:
            self._discard()
            raise
        self._delta = False
        self._give_back()

    @contextmanager
    def _or_dead(self) -> Iterator[None]:
        """For what the engine is asked before COMMIT: after any error of it, nothing more is run here and nothing is committed."""
        try:
            yield
        except DRIVER_ERRORS as error:
            self._state = "dead"
            raise classify(error) from error  # type: ignore[arg-type]
        except BaseException:
            self._state = "dead"
            raise

    def _demand_open(self) -> None:
        if self._state != "open":
            message = f"the transaction is over: {self._state.replace('_', ' ')}"
            raise WarehouseError(message, kind="permanent", scope="transaction", code="W608")

    def _give_back(self) -> None:
        self._cursors.forget(self._gate)
        if self._delta:
            # The staged delta outlives the COMMIT on its cursor. It is no relation of the warehouse.
            try:
                faults.point("warehouse.forget.before")
                self._cursor.execute(_FORGET_DELTA)
                faults.point("warehouse.forget.after")
            except DRIVER_ERRORS:
                self._cursor.close()
                return
        self._cursors.give(self._cursor)

    def _discard(self) -> None:
        """Close the connection: what it left, if anything, is looked up on another."""
        self._cursors.forget(self._gate)
        self._cursor.close()


def demand_permit(permit: object, kind: type) -> None:
    """A permit is a value that only a machine makes; mypy says so before, and this at run time.

    Raises:
        TypeError: it is something else.
    """
    if type(permit) is not kind:
        message = f"this needs a {kind.__name__}, not a {type(permit).__name__}"
        raise TypeError(message)


def _not_covered(model: str) -> WarehouseError:
    message = f"a receipt of {model} is not covered by a permit of this transaction"
    return WarehouseError(message, kind="permanent", scope="transaction", code="W612", remedy="make a new plan")


def not_permitted(statement: Statement, of: str) -> WarehouseError:
    """W612: the statement is not one that the machine allowed."""
    message = f"statement `{statement.role}` of {of} is not in its permit: {statement.text[:200]}"
    return WarehouseError(message, kind="permanent", scope="statement", code="W612", remedy="make a new plan")
