"""`interlock ledger`: acts on the ledger, and how the answer of any act is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from interlock.engine.cli import options as o

if TYPE_CHECKING:
    from interlock.engine.cli.invocation import Invocation
    from interlock.engine.results import ActResult

ledger = typer.Typer(help="Acts on the ledger.", pretty_exceptions_enable=False, rich_markup_mode=None)


def acted(call: Invocation, result: ActResult) -> int:
    """Show an act's answer; what was shown when it was asked is not said twice."""
    from interlock.engine.diagnostics import Diagnostic  # noqa: PLC0415

    said_already = call.console.asked and not call.console.json
    if call.console.unanswered and result.done == "no":
        unasked = Diagnostic(
            code="S123",
            summary=f"{result.act} was not done: nobody is there to be asked",
            because="it is asked about on a terminal, and standard input is none",
            remedy="look at what it would do, then say `--yes`",
        )
        result = msgspec.structs.replace(result, findings=(*result.findings, unasked))
    return call.console.answer(msgspec.structs.replace(result, shown=()) if said_already else result)


@ledger.command("accept-warehouse", epilog='Example: interlock ledger accept-warehouse --target dev --reason "restored a backup"')
def accept_warehouse(
    ctx: typer.Context,
    *,
    yes: o.Yes = False,
    reason: o.Reason = "",
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Go on from what the warehouse says. For when the ledger is lost or says otherwise; shows what it found, and asks first."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return acted(call, api.accept_warehouse(context, confirm=lambda lines: call.console.confirmed(lines, yes=yes), reason=reason))


@ledger.command(epilog="Example: interlock ledger attach old.duckdb.interlock --target dev")
def attach(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where the ledger lies now; e.g. old.duckdb.interlock")],
    *,
    yes: o.Yes = False,
    reason: o.Reason = "",
    project: o.Project = None,
    target: o.Target = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Bring a ledger to its database. For a database that was moved or renamed; copies, shows what it found, and asks first."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    context = call.open(project=project, target=target, variables=None, wait=wait)
    return acted(call, api.attach(context, directory, confirm=lambda lines: call.console.confirmed(lines, yes=yes), reason=reason))


@ledger.command(epilog="Example: interlock ledger archive --target dev")
def archive(
    ctx: typer.Context,
    *,
    yes: o.Yes = False,
    reason: o.Reason = "",
    project: o.Project = None,
    target: o.Target = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Close what the ledger has so far, and pack it. Every record stays readable and is verified as before; asks first."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    context = call.open(project=project, target=target, variables=None, wait=wait)
    return acted(call, api.archive(context, confirm=lambda lines: call.console.confirmed(lines, yes=yes), reason=reason))
