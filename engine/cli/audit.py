"""`interlock audit …`: questions about what was done. Those that take a ledger's file need neither project nor warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from interlock.engine.cli import options as o

if TYPE_CHECKING:
    from interlock.engine.api import Context
    from interlock.engine.cli.invocation import Invocation

audit = typer.Typer(help="Questions about what was built, and what was not.", pretty_exceptions_enable=False, rich_markup_mode=None)

Ledger: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ledger", metavar="PATH", help="A ledger's file or directory, or a bundle, instead of the project's; e.g. --ledger run.zip"
    ),
]
LIMIT_DEFAULT = 1000


def _call(ctx: typer.Context) -> Invocation:
    call: Invocation = ctx.obj
    return call


def _place(ctx: typer.Context, ledger: Path | None, project: Path | None, target: str | None) -> Context | Path:
    """A ledger that was named, or the project's."""
    if ledger is not None:
        return ledger
    return _call(ctx).open(project=project, target=target, variables=None, wait=None)


@audit.command(epilog="Example: interlock audit log --model fct_orders --refused")
def log(
    ctx: typer.Context,
    *,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only this model's; e.g. --model fct_orders")] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only this run's; the id's beginning will do; e.g. --run 2026")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Only from here on; e.g. --since 2026-03-02T10:00:00Z")
    ] = None,
    refused: Annotated[bool, typer.Option("--refused", help="Only refusals.")] = False,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="N", help="Only behind this record: the next page; e.g. --after 1200")
    ] = 0,
    limit: Annotated[int, typer.Option("--limit", min=0, metavar="N", help="Lines of a page; 0 for all; e.g. --limit 50")] = LIMIT_DEFAULT,
    ledger: Ledger = None,
    project: o.Project = None,
    target: o.Target = None,
    json: o.Json = False,
) -> int:
    """Show the timeline, one line a transition."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    place = _place(ctx, ledger, project, target)
    if limit == 0:
        return _call(ctx).console.stream(*api.audit_log_stream(place, model=model, run=run, since=since, refused=refused, after=after))
    result = api.audit_log(place, model=model, run=run, since=since, refused=refused, after=after, limit=limit)
    return _call(ctx).console.answer(result)


@audit.command(epilog="Example: interlock audit explain fct_orders")
def explain(
    ctx: typer.Context,
    question: Annotated[
        str,
        typer.Argument(metavar="MODEL|RUN|REFUSAL", help="A model, a run's id, a code such as G527, or a record's number; e.g. fct_orders"),
    ],
    *,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Which of a model's runs; else its newest; e.g. --run 2026")
    ] = None,
    ledger: Ledger = None,
    project: o.Project = None,
    target: o.Target = None,
    json: o.Json = False,
) -> int:
    """Say why something ended where it did. Each guard, what it saw, what it decided, and what would have had to be true."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    return _call(ctx).console.answer(api.audit_explain(_place(ctx, ledger, project, target), question, run=run))


@audit.command(epilog="Example: interlock audit replay shop.duckdb.interlock/3f9c2a")
def replay(
    ctx: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="A ledger's file or directory, or a bundle; else the project's.", show_default=False),
    ] = None,
    *,
    at: Annotated[str | None, typer.Option("--at", metavar="SEQ|TIME", help="Every model's state at that moment; e.g. --at 120")] = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="RUN RUN", help="Two runs beside each other; e.g. --diff 20260302 20260303"),
    ] = None,
    tip: Annotated[
        str | None,
        typer.Option(
            "--tip",
            metavar="SEQ:SHA256",
            help="Begin behind this record, which you know; older segments may be elsewhere; e.g. --tip 1200:ab…",
        ),
    ] = None,
    project: o.Project = None,
    target: o.Target = None,
    json: o.Json = False,
) -> int:
    """Judge every record of a ledger again. Verdicts are computed anew from the evidence; needs neither project nor warehouse."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    place = _place(ctx, path, project, target)
    return _call(ctx).console.answer(api.audit_replay(place, at=at, runs=diff, tip=tip))


@audit.command(epilog="Example: interlock audit verify --target prod")
def verify(
    ctx: typer.Context,
    *,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Hold the ledger against the warehouse. Receipts, seals, heads, columns, rows and contents; changes nothing."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return call.console.answer(api.audit_verify(context))


@audit.command(epilog="Example: interlock audit bundle 20260302T101500-3f9c2a")
def bundle(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or how it begins; e.g. 20260302T101500")],
    *,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to write it; e.g. --out run.zip")] = None,
    ledger: Ledger = None,
    project: o.Project = None,
    target: o.Target = None,
    json: o.Json = False,
) -> int:
    """Write one file that a colleague can replay elsewhere. Ledger, plan and versions of a run; no rows, no secrets."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    return _call(ctx).console.answer(api.audit_bundle(_place(ctx, ledger, project, target), run, out=out))


@audit.command(epilog="Example: interlock audit compare fct_events")
def compare(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="An incremental model; e.g. fct_events")],
    *,
    project: o.Project = None,
    target: o.Target = None,
    variables: o.Variables = None,
    wait: o.Wait = None,
    json: o.Json = False,
) -> int:
    """Compare a table with a full build of its model. Builds it aside, and compares row for row."""
    from interlock.engine import api  # noqa: PLC0415

    del json
    call = _call(ctx)
    context = call.open(project=project, target=target, variables=variables, wait=wait)
    return call.console.answer(api.compare(context, model))
