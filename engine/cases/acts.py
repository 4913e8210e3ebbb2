"""What all acts of a person share: their answer, that no run may be open, and that the record is on disk before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from interlock.engine import outcome as outcomes
from interlock.engine.diagnostics import refused
from interlock.engine.ledger.writer import OwnEvidence, own
from interlock.engine.results import ActResult
from interlock.engine.runner.authority import Sight
from interlock.engine.runner.site import Site
from interlock.engine.warehouse.duckdb.control import Bound
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.machines.permits import act_permit

Where: TypeAlias = Mapping[str, Any]
"""Project, target and location, as every answer names them."""


def acted(command: str, act: str, shown: Sequence[str], outcome: Literal["done", "nothing", "refused"], where: Where) -> ActResult:
    """The answer of an act that was done, had nothing to do, or was not agreed to."""
    return ActResult(
        command=command,
        outcome=outcome,
        exit_code=outcomes.exit_of(outcome),
        act=act,
        shown=tuple(shown),
        done="yes" if outcome == "done" else "no",
        **where,
    )


def demand_ended(sight: Sight, target: str, then: str) -> None:
    """Stop where a run is open: what it wrote has no end on record yet.

    Raises:
        Refused: K745.
    """
    if sight.fold.open:
        raise refused(
            "K745",
            "a run is open",
            because=f"run {next(iter(sight.fold.open))} has not ended",
            remedy=f"run `interlock resume`, then {then}",
            subject=target,
        )


def perform(place: Site, evidence: OwnEvidence, bound: Sequence[Bound]) -> None:
    """Record the act, wait until the record is on disk, and carry it out in one transaction that this record permits.

    Args:
        place: with its ledger open, and its session where there is something to carry out.
        evidence: of the act.
        bound: its statements with their values; none where the record is all.

    Raises:
        LedgerError: it cannot be recorded; nothing was written.
        Refused: the warehouse did not take it; the act can be given again.
    """
    ground = place.ground
    assert place.ledger is not None
    transition = own(ground.project.id, evidence)
    record = place.ledger.append(transition, run=None)
    place.ledger.sync()
    if not bound:
        return
    assert place.session is not None
    try:
        place.session.act(act_permit(transition, record, [statement.digest for statement, _ in bound]), bound)
    except WarehouseError as error:
        raise refusal(error, subject=ground.target.name) from error
