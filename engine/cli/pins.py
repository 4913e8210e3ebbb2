"""`interlock sources`: what sources look like, on record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from interlock.engine.cli import options as o

if TYPE_CHECKING:
    from interlock.engine.cli.invocation import Invocation

sources = typer.Typer(help="Columns of sources, on record.", pretty_exceptions_enable=False, rich_markup_mode=None)
Names = Annotated[list[str] | None, typer.Argument(metavar="SOURCE...", help="Only these sources; e.g. raw.orders")]


@sources.callback()
def group() -> None:
    """Columns of sources, on record."""


@sources.command(epilog="Example: interlock sources pin raw.orders --target dev")
def pin(
    ctx: typer.Context,
    names: Names = None,
    *,
    project: o.Project = None,
    target: o.Target = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Write the columns of sources, as they are now, to sources.lock.toml: then `compile` needs no warehouse."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    context = call.open(project=project, target=target, variables=None, wait=wait)
    return call.console.answer(api.sources_pin(context, names or ()))


@sources.command(epilog="Example: interlock sources diff --target prod")
def diff(
    ctx: typer.Context,
    names: Names = None,
    *,
    project: o.Project = None,
    target: o.Target = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Show how sources differ from what is pinned or declared of them. Exit 3 if one does."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    context = call.open(project=project, target=target, variables=None, wait=wait)
    return call.console.answer(api.sources_diff(context, names or ()))
