"""`interlock report`: a run as one page, to be looked at, mailed and printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.engine.cli import options as o
from interlock.engine.cli.audit import Ledger

if TYPE_CHECKING:
    from interlock.engine.cli.invocation import Invocation
    from interlock.engine.diagnostics import Outcome


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: interlock report 20260302 --out report.html")(report)


def report(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or how it begins; else the newest.", show_default=False)] = "",
    *,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write it; e.g. --out report.html")] = Path("report.html"),
    ledger: Ledger = None,
    project: o.Project = None,
    target: o.Target = None,
    json: o.Json = False,
) -> int:
    """Write a run as one HTML page that works offline. Its models, refusals, what ran in parallel, and each model's way."""
    from interlock.engine import api  # noqa: PLC0415
    from interlock.engine.diagnostics import refused  # noqa: PLC0415
    from interlock.engine.outcome import exit_of  # noqa: PLC0415
    from interlock.engine.results_audit import ReportResult  # noqa: PLC0415
    from interlock.engine.views.redaction import redacted  # noqa: PLC0415
    from interlock.engine.views.report import page  # noqa: PLC0415

    del json
    call: Invocation = ctx.obj
    place = ledger if ledger is not None else call.open(project=project, target=target, variables=None, wait=None)
    found = redacted(api.report(place, run), call.console.redact)
    data = page(found).encode("utf-8", "backslashreplace")
    try:
        out.write_bytes(data)
    except OSError as error:
        because = error.strerror or type(error).__name__
        raise refused("W605", f"`{out}` cannot be written", because=because, remedy="name another file with --out") from error
    outcome: Outcome = "refused" if found.findings else "done"
    return call.console.answer(
        ReportResult(
            command="report", outcome=outcome, exit_code=exit_of(outcome, untrusted=bool(found.findings)), findings=found.findings,
            project=found.project, target=found.target, run=found.run, file=str(out), models=len(found.models), bytes=len(data),
        )
    )  # fmt: skip
