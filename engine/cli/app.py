"""The commands: each parses, calls one use case, and shows its answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.engine.cli import options as o
from interlock.engine.cli.arguments import NotUnderstoodError, terms
from interlock.engine.cli.arguments import on_change as on_change_pairs
from interlock.engine.cli.audit import audit
from interlock.engine.cli.drawing import register as register_drawings
from interlock.engine.cli.imports import imports
from interlock.engine.cli.ledgers import acted, ledger
from interlock.engine.cli.pins import sources
from interlock.engine.cli.receipts import receipts
from interlock.engine.cli.reporting import register as register_report

if TYPE_CHECKING:
    from interlock.engine.cli.invocation import Invocation

app = typer.Typer(
    name="interlock",
    help="SQL models, run as state machines: what was planned is what runs, and nothing is written on a guess.",
    epilog="Start with `interlock init DIR --sample shop`. `interlock explain CODE` says what a code means and what helps.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(ledger, name="ledger")
app.add_typer(audit, name="audit")
register_drawings(app)
register_report(app)
app.add_typer(imports, name="import")
app.add_typer(sources, name="sources")
app.add_typer(receipts, name="receipts")


@app.callback()
def interlock(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """SQL models, run as state machines: what was planned is what runs, and nothing is written on a guess."""
    if version:
        from interlock.engine.version import VERSION  # noqa: PLC0415 - for this answer alone

        typer.echo(f"interlock {VERSION}")
        raise typer.Exit


def _call(ctx: typer.Context) -> Invocation:
    call: Invocation = ctx.obj
    return call


@app.command(epilog="Example: interlock init shop --sample shop")
def init(
    ctx: typer.Context,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory that is to be made, or in which no file is in the way; e.g. shop")
    ],
    *,
    sample: Annotated[str | None, typer.Option("--sample", metavar="NAME", help="Start from a sample project; e.g. --sample shop")] = None,
    json: o.Json = False,
) -> int:
    """Make a new project."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    return _call(ctx).console.answer(api.init(directory, sample=sample))


@app.command("compile", epilog="Example: interlock compile --select fct_orders")
def compile_(
    ctx: typer.Context,
    *,
    select: o.Select = None,
    exclude: o.Exclude = None,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    format_: o.FindingsAs = o.FindingsFormat.TEXT,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Compile again whenever a file of the project changes, with --json a line each time; Ctrl-C ends it."),
    ] = False,
    json: o.Json = False,
) -> int:
    """Check every model: SQL, names, types, contracts. Writes nothing; reads a warehouse only for columns of sources that are not declared."""
    if json and format_ is not o.FindingsFormat.TEXT:
        raise NotUnderstoodError(f"--json and --format {format_.value} are two forms of one answer: take one")
    from interlock.engine import api  # noqa: PLC0415

    call = _call(ctx)
    call.console.form = format_.value

    def once() -> int:
        context = call.open(project=project, target=target, variables=variables, wait=None)
        return call.console.answer(api.compile_(context, select=terms(select), exclude=terms(exclude)))

    return call.watched(once, project) if watch else once()


@app.command(epilog="Example: interlock plan --select +fct_orders")
def plan(
    ctx: typer.Context,
    *,
    select: o.Select = None,
    exclude: o.Exclude = None,
    full_refresh: o.FullRefresh = None,
    allow_shrink: o.AllowShrink = None,
    on_change: o.OnChange = None,
    force: o.Force = None,
    drop_orphans: o.DropOrphans = False,
    as_of: o.AsOf = None,
    low: o.Low = None,
    high: o.High = None,
    verify_content: o.VerifyContent = False,
    no_save: Annotated[bool, typer.Option("--no-save", help="Show the plan and write nothing at all.")] = False,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Say what a run would do, exactly, and save it to be applied."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    wishes = on_change_pairs(on_change)
    context = call.open(project=project, target=target, variables=variables, wait=wait, keep=not no_save)
    result = api.plan(
        context,
        select=terms(select),
        exclude=terms(exclude),
        full_refresh=tuple(full_refresh or ()),
        allow_shrink=tuple(allow_shrink or ()),
        on_change=wishes,
        force=tuple(force or ()),
        drop_orphans=drop_orphans,
        as_of=as_of,
        low=low,
        high=high,
        verify_content=verify_content,
        save=not no_save,
    )
    return call.console.answer(result)


@app.command(epilog="Example: interlock apply 3f9c2a… (the id that `interlock plan` printed)")
def apply(
    ctx: typer.Context,
    plan_id: Annotated[str | None, typer.Argument(metavar="PLAN", help="The id that `interlock plan` printed.", show_default=False)] = None,
    *,
    threads: o.Threads = None,
    fail_fast: o.FailFast = False,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Carry out a saved plan, exactly. A plan is applied once."""
    if plan_id is None:
        raise NotUnderstoodError(
            "apply needs the id of a plan: `interlock plan` makes one and prints it; `interlock run` plans and applies in one step"
        )
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    with call.console.progress() as progress:
        result = api.apply(context, plan_id, threads=threads, fail_fast=fail_fast, progress=progress)
    return call.console.answer(result)


@app.command(epilog="Example: interlock run --select state:modified+ --target dev")
def run(
    ctx: typer.Context,
    *,
    select: o.Select = None,
    exclude: o.Exclude = None,
    full_refresh: o.FullRefresh = None,
    allow_shrink: o.AllowShrink = None,
    on_change: o.OnChange = None,
    force: o.Force = None,
    drop_orphans: o.DropOrphans = False,
    as_of: o.AsOf = None,
    low: o.Low = None,
    high: o.High = None,
    verify_content: o.VerifyContent = False,
    threads: o.Threads = None,
    fail_fast: o.FailFast = False,
    unreviewed: o.Unreviewed = False,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Plan and apply in one step. Settles first what an earlier run left open."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    wishes = on_change_pairs(on_change)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    with call.console.progress() as progress:
        result = api.run(
            context,
            select=terms(select),
            exclude=terms(exclude),
            full_refresh=tuple(full_refresh or ()),
            allow_shrink=tuple(allow_shrink or ()),
            on_change=wishes,
            force=tuple(force or ()),
            drop_orphans=drop_orphans,
            as_of=as_of,
            low=low,
            high=high,
            verify_content=verify_content,
            threads=threads,
            fail_fast=fail_fast,
            unreviewed=unreviewed,
            progress=progress,
        )
    return call.console.answer(result)


@app.command(epilog="Example: interlock resume")
def resume(
    ctx: typer.Context,
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run that `interlock status` names; else the last one.", show_default=False)
    ] = None,
    *,
    threads: o.Threads = None,
    fail_fast: o.FailFast = False,
    project: o.Project = None,
    target: o.Target = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Go on with a run that was stopped. Ends what it left open, then does the rest of the same plan; never begins a new one."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=None, wait=wait)
    with call.console.progress() as progress:
        result = api.resume(context, run_id, threads=threads, fail_fast=fail_fast, progress=progress)
    return call.console.answer(result)


@app.command(epilog="Example: interlock check --select fct_orders")
def check(
    ctx: typer.Context,
    *,
    select: o.Select = None,
    exclude: o.Exclude = None,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Put the checks to the rows that are there. Builds nothing."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return call.console.answer(api.check(context, select=terms(select), exclude=terms(exclude)))


@app.command(epilog="Example: interlock status --target dev")
def status(
    ctx: typer.Context,
    *,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    json: o.Json = False,
) -> int:
    """Show what was built and how the last run ended. Needs no warehouse, and works while a run goes on."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=None)
    return call.console.answer(api.status(context))


@app.command(epilog="Example: interlock show fct_orders --limit 10")
def show(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model of the project; e.g. fct_orders")],
    *,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="First rows of what it gives now, built or not; e.g. --limit 10")
    ] = None,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Print a model's SQL, exactly as it runs. With --limit, the rows that it gives now."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return call.console.answer(api.show(context, model, limit=limit))


@app.command(epilog="Example: interlock ls --select tag:finance")
def ls(
    ctx: typer.Context,
    *,
    select: o.Select = None,
    exclude: o.Exclude = None,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    json: o.Json = False,
) -> int:
    """List models and seeds, and what they read."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=None)
    return call.console.answer(api.ls(context, select=terms(select), exclude=terms(exclude)))


@app.command(epilog="Example: interlock diff 3f9c2a…")
def diff(
    ctx: typer.Context,
    plan_id: Annotated[str | None, typer.Argument(metavar="PLAN", help="The id that `interlock plan` printed.")] = None,
    *,
    contracts: Annotated[
        bool, typer.Option("--contracts", help="Compare what models promise with what they promised when they were last applied.")
    ] = False,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Compare a saved plan with how things are now. Looks at the working tree and the warehouse, and changes neither."""
    from interlock.engine import api  # noqa: PLC0415

    if contracts == (plan_id is not None):
        raise NotUnderstoodError("name a plan, or write --contracts")

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return call.console.answer(api.diff_contracts(context) if plan_id is None else api.diff(context, plan_id))


@app.command(epilog="Example: interlock adopt dim_customers --target dev")
def adopt(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model whose relation it shall be; e.g. dim_customers")],
    *,
    yes: o.Yes = False,
    reason: o.Reason = "",
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Take a relation over as a model's own. For one that somebody else made or changed; shows what it does, and asks first."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return acted(call, api.adopt(context, model, confirm=lambda lines: call.console.confirmed(lines, yes=yes), reason=reason))


@app.command(epilog="Example: interlock reset --target dev")
def reset(
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
    """Start over in a target. Drops what the project made there and archives its ledger; needs --target, shows what it does, and asks first."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return acted(call, api.reset(context, confirm=lambda lines: call.console.confirmed(lines, yes=yes), reason=reason))


@app.command(epilog="Example: interlock doctor --target dev")
def doctor(
    ctx: typer.Context,
    *,
    project: o.Project = None,
    target: o.Target = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Look at everything that a run rests on. Project, versions, lock, ledger, warehouse, receipts, open runs; changes nothing."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=None, wait=wait)
    return call.console.answer(api.doctor(context))


@app.command(epilog="Example: interlock explain P412")
def explain(
    ctx: typer.Context,
    code: Annotated[str, typer.Argument(metavar="CODE", help="A code, as it stands in brackets behind `error`; e.g. P412")],
    *,
    json: o.Json = False,
) -> int:
    """Say what a code means, with an example and the remedy."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    return _call(ctx).console.answer(api.explain(code))
