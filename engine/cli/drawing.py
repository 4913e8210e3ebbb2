"""`interlock diagram` and `interlock lineage`: what a machine, a run's way or a project looks like."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.engine.cli import options as o
from interlock.engine.cli.arguments import NotUnderstoodError
from interlock.engine.cli.audit import Ledger

if TYPE_CHECKING:
    from interlock.engine.cli.invocation import Invocation


class DiagramFormat(StrEnum):
    """Formats of a machine."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    MD = "md"
    TXT = "txt"


class LineageFormat(StrEnum):
    """Formats of a project's models."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: interlock diagram model_run --format svg")(diagram)
    app.command(epilog="Example: interlock lineage fct_orders --format svg")(lineage)


def diagram(
    ctx: typer.Context,
    machine: Annotated[str | None, typer.Argument(metavar="MACHINE", help="model_run, run or plan; else all three; e.g. model_run")] = None,
    *,
    format_: Annotated[DiagramFormat, typer.Option("--format", help="How it is written; e.g. --format svg")] = DiagramFormat.TXT,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="The way that this run took; e.g. --run 20260302")] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Of a run, this model's way; e.g. --model fct_orders")
    ] = None,
    diff: Annotated[
        str | None, typer.Option("--diff", metavar="REF", help="What changed since that commit of Interlock, as Markdown; e.g. --diff main")
    ] = None,
    ledger: Ledger = None,
    project: o.Project = None,
    target: o.Target = None,
    json: o.Json = False,
) -> int:
    """Draw a state machine, from its own class. Or the way that a run took through it, or what a change did to it."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    if diff is not None and (run, model, ledger) != (None, None, None):
        raise NotUnderstoodError("--diff compares machines with those of a commit, and takes no --run, --model or --ledger")
    if diff is not None:
        return call.console.answer(api.diagram_diff(machine, diff, Path.cwd()))
    if run is None:
        if model is not None:
            raise NotUnderstoodError("--model needs --run: which run's way shall be drawn?")
        if ledger is not None:
            raise NotUnderstoodError("--ledger needs --run: without one, a machine is drawn from its class and no ledger is read")
        return call.console.answer(api.diagram(machine, form=format_.value))
    place = ledger if ledger is not None else call.open(project=project, target=target, variables=None, wait=None)
    return call.console.answer(api.diagram_run(place, run, model=model, form=format_.value))


def lineage(
    ctx: typer.Context,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL[.COLUMN]", help="Only what it comes from and what comes of it; e.g. raw.orders.amount")
    ] = None,
    *,
    format_: Annotated[LineageFormat, typer.Option("--format", help="How it is written; e.g. --format svg")] = LineageFormat.MERMAID,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    json: o.Json = False,
) -> int:
    """Draw the project's models, each coloured by its last state in the target. Of a column: where it comes from, and what breaks without it."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    context = call.open(project=project, target=target, variables=variables, wait=None)
    return call.console.answer(api.lineage(context, model, form=format_.value))
