"""`interlock receipts`: what the warehouse keeps of what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from interlock.engine.cli import options as o
from interlock.engine.cli.ledgers import acted

if TYPE_CHECKING:
    from interlock.engine.cli.invocation import Invocation

receipts = typer.Typer(help="What the warehouse keeps of what was written.", pretty_exceptions_enable=False, rich_markup_mode=None)


@receipts.callback()
def group() -> None:
    """What the warehouse keeps of what was written."""


@receipts.command(epilog='Example: interlock receipts compact --target dev --reason "a year of runs"')
def compact(
    ctx: typer.Context,
    *,
    yes: o.Yes = False,
    reason: o.Reason = "",
    project: o.Project = None,
    target: o.Target = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Let receipts go that no head names, where the ledger holds their bodies. Heads, seals and tables stay; asks first."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    context = call.open(project=project, target=target, variables=None, wait=wait)
    return acted(call, api.compact_receipts(context, confirm=lambda lines: call.console.confirmed(lines, yes=yes), reason=reason))
