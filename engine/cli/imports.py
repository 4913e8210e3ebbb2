"""`interlock import …`: another tool's project as one of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.engine.cli import options as o

if TYPE_CHECKING:
    from interlock.engine.cli.invocation import Invocation

imports = typer.Typer(help="Turn another tool's project into one of ours.", pretty_exceptions_enable=False, rich_markup_mode=None)


@imports.callback()
def group() -> None:
    """Turn another tool's project into one of ours."""


@imports.command(epilog="Example: interlock import dbt jaffle_shop --out shop")
def dbt(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The dbt project: the directory with dbt_project.yml; e.g. jaffle_shop")],
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="NEWDIR", help="Where the new project is made; empty, or not there; e.g. --out shop")
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Exit 3 if anything was refused.")] = False,
    accept_proposals: Annotated[
        bool, typer.Option("--accept-proposals", help="Write what is proposed for incremental models, marked for review.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Run the new project, and compare its tables with those that dbt built.")
    ] = False,
    json: o.Json = False,
) -> int:
    """Import a dbt project: each item is converted, or refused with its reason. Writes to NEWDIR only."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    return call.console.answer(api.import_dbt(directory, out, strict=strict, accept_proposals=accept_proposals, compare=compare))
