"""The acts of a person, part of `interlock.engine.api`: each is shown before it is done, and recorded with its reason."""

from __future__ import annotations

from pathlib import Path

from interlock.engine.context import Context
from interlock.engine.context import ground_of as _ground
from interlock.engine.context import where_of as _where
from interlock.engine.diagnostics import refused
from interlock.engine.results import ActResult, Confirm


def adopt(ctx: Context, model: str, *, confirm: Confirm, reason: str) -> ActResult:
    """Take what stands at a model's name as it is: a one-item plan.

    Raises:
        Refused: it cannot be adopted, with the reason.
    """
    from interlock.engine.cases.acting import adopt_model  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    return adopt_model(ground, model, confirm=confirm, reason=reason, where=_where(ground))


def reset(ctx: Context, *, confirm: Confirm, reason: str) -> ActResult:
    """Start over: drop what we made in the target, and set its ledger aside. Never on a protected target.

    Raises:
        Refused: K743 on a protected target; S111 without `--target`.
    """
    from interlock.engine.cases.acting import reset_target  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    if ctx.target_name is None:
        raise refused("S111", "reset needs its target to be named", remedy=f"say `--target {ground.target.name}`, if that is the one")
    return reset_target(ground, confirm=confirm, reason=reason, where=_where(ground))


def accept_warehouse(ctx: Context, *, confirm: Confirm, reason: str) -> ActResult:
    """Take the warehouse's word where ledger and warehouse disagree.

    Raises:
        Refused: it cannot be read, so there is no word to take.
    """
    from interlock.engine.cases.acting import accept  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    return accept(ground, confirm=confirm, reason=reason, where=_where(ground))


def attach(ctx: Context, directory: Path, *, confirm: Confirm, reason: str) -> ActResult:
    """Bring a ledger that lies elsewhere to beside the database that names it.

    Raises:
        Refused: there is no whole ledger of this project there, or the database names another.
    """
    from interlock.engine.cases import attending  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    return attending.attach(ground, directory, confirm=confirm, reason=reason, where=_where(ground))


def archive(ctx: Context, *, confirm: Confirm, reason: str) -> ActResult:
    """Close the ledger's segment and pack what is closed; every record stays readable.

    Raises:
        Refused: ledger and warehouse cannot be trusted, or a run is open.
    """
    from interlock.engine.cases import attending  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    return attending.archive(ground, confirm=confirm, reason=reason, where=_where(ground))


def compact_receipts(ctx: Context, *, confirm: Confirm, reason: str) -> ActResult:
    """Let receipts go from the warehouse that no head names and whose bodies the ledger holds.

    Raises:
        Refused: ledger and warehouse cannot be trusted, a run is open, or a receipt was altered.
    """
    from interlock.engine.cases import compacting  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    return compacting.compact(ground, confirm=confirm, reason=reason, where=_where(ground))
