"""How a run ends: first the seal row in the warehouse, with the ledger's tip, then the `close` record that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.protocol import Session, WarehouseError, digest_of_heads
from interlock.machines.evidence import CloseEvidence, ScopeEnd, SealRow, Verdict
from interlock.machines.run import Run


class Ended(NamedTuple):
    """How a run ended, and where its end was refused, why."""

    outcome: Literal["succeeded", "partial", "refused"]
    verdicts: tuple[Verdict, ...] = ()


def close_run(
    machine: Run,
    session: Session,
    *,
    project: str,
    serial: int,
    ends: tuple[ScopeEnd, ...],
    sync: Callable[[], None],
    tip: Callable[[], str],
) -> Ended:
    """Seal, read back, close. A seal that a killed process left is taken as it is.

    Args:
        machine: the run, in `running`.
        session: the warehouse.
        project: its id.
        serial: that this run gets.
        ends: every model of the scope, and its end.
        sync: waits until records are durable.
        tip: the ledger's newest record.

    Raises:
        WarehouseError: the seal cannot be written or read; the run stays open, and the next command closes it.
    """
    outcome: Literal["succeeded", "partial"] = "succeeded" if all(end.state == "checkpointed" for end in ends) else "partial"
    sync()
    reader = session.reader()
    try:
        seal = reader.seal_of(project, machine.subject)
        heads = reader.heads(project)
    finally:
        reader.close()
    expected = seal or SealRow(
        project=project, run=machine.subject, serial=serial, tip=tip(), outcome=outcome, heads=digest_of_heads(heads)
    )
    if seal is None:
        bound = control.seal(expected)
        code, remedy, because = "W608", "give the same command again: any command closes the run", ""
        try:
            session.seal(machine.seal_permit([bound[0].digest], ends), [bound])
        except WarehouseError as error:
            if error.kind != "outcome_unknown":
                raise
            because = f": {error.message}"
            if error.code == "W606":
                code, remedy = error.code, error.remedy
            session.reopen()
        reader = session.reader()
        try:
            seal = reader.seal_of(project, machine.subject)
        finally:
            reader.close()
        if seal is None:
            # Nothing is sent: the run stays open, and the next command closes it.
            message = f"the seal of the run is not there after its COMMIT{because}"
            raise WarehouseError(message, kind="permanent", scope="target", code=code, remedy=remedy)
    assert machine.authorized_as is not None
    step = machine.step(
        "close",
        CloseEvidence(
            planned=machine.authorized_as.scope,
            executed=ends,
            outcome=outcome,
            seal_expected=expected,
            seal=seal,
        ),
    )
    sync()
    return Ended(outcome) if machine.state_name == "closed" else Ended("refused", step.transition.verdicts)
