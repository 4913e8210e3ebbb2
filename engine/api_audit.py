"""The use cases of audit, drawings and reports, as typed functions: a part of `interlock.engine.api`, which offers them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.engine.context import Context, ground_of, place_of, where_of
from interlock.engine.results_audit import BundleResult, DrawnResult, LogResult, ReplayResult, StoryResult, VerifyResult

if TYPE_CHECKING:
    from interlock.engine.audit.report import Report
    from interlock.engine.audit.timeline import Line

# --- audit: what a ledger says, with or without a project ----------------------------------------------------------------


def audit_log(
    where: Context | Path,
    *,
    model: str | None = None,
    run: str | None = None,
    since: str | None = None,
    refused: bool = False,
    after: int = 0,
    limit: int | None = None,
) -> LogResult:
    """The timeline, a line for each transition that fits.

    Args:
        where: a project's context, or the path of a ledger or a bundle.
        model: only this model's.
        run: only of runs whose id begins like this.
        since: a time.
        refused: only refusals.
        after: only records behind this one.
        limit: lines of a page.

    Raises:
        Refused: there is no ledger, or it knows nothing of the model or run.
    """
    from interlock.engine.audit.timeline import Wanted  # noqa: PLC0415
    from interlock.engine.cases.auditing import log_of, since_of  # noqa: PLC0415

    place, named = place_of(where)
    wanted = Wanted(model=model, run=run, since=since_of(since), refused=refused, after=after)
    return LogResult(command="audit log", **log_of(place, wanted, limit), **named)


def audit_log_stream(
    where: Context | Path,
    *,
    model: str | None = None,
    run: str | None = None,
    since: str | None = None,
    refused: bool = False,
    after: int = 0,
) -> tuple[LogResult, Iterator[Line]]:
    """The whole timeline of a ledger of any length: how it ends, without lines, and the lines one by one.

    Raises:
        Refused: there is no ledger, or it knows nothing of the model or run.
    """
    from interlock.engine.audit.timeline import Wanted  # noqa: PLC0415
    from interlock.engine.cases.auditing import log_stream, since_of  # noqa: PLC0415

    place, named = place_of(where)
    wanted = Wanted(model=model, run=run, since=since_of(since), refused=refused, after=after)
    ended, lines = log_stream(place, wanted)
    return LogResult(command="audit log", lines=(), **ended, **named), lines


def audit_explain(where: Context | Path, question: str, *, run: str | None = None) -> StoryResult:
    """Why a model, a run, a record or the newest refusal with a code ended where it did.

    Raises:
        Refused: there is no ledger, or it knows nothing of that.
    """
    from interlock.engine.cases.auditing import story_of  # noqa: PLC0415

    place, named = place_of(where)
    return StoryResult(command="audit explain", **story_of(place, question, run), **named)


def audit_replay(
    where: Context | Path, *, at: str | None = None, runs: tuple[str, str] | None = None, tip: str | None = None
) -> ReplayResult:
    """Judge every record again. Exit code 4 where the chain cannot be trusted, 3 where a record is illegal.

    Args:
        where: a project's context, or the path of a ledger or a bundle.
        at: a record's number or a time, for every model's state then.
        runs: two runs to be compared.
        tip: `SEQUENCE:SHA256` of a record that is known from elsewhere, behind which to begin.

    Raises:
        Refused: there is no ledger, or `at` or `runs` mean nothing in it.
    """
    from interlock.engine.cases.auditing import replay_of  # noqa: PLC0415

    place, named = place_of(where)
    return ReplayResult(command="audit replay", **replay_of(place, at=at, runs=runs, tip=tip), **named)


def audit_verify(ctx: Context) -> VerifyResult:
    """Hold the ledger against the warehouse. Exit code 4 where they do not agree, 3 where a relation is not as its receipt left it.

    Raises:
        Refused: there is no ledger, or the warehouse cannot be read.
    """
    from interlock.engine.cases.auditing import verify_of  # noqa: PLC0415

    ground = ground_of(ctx, writes=False)
    return VerifyResult(command="audit verify", **verify_of(ground), **where_of(ground))


def audit_bundle(where: Context | Path, run: str, *, out: Path | None = None) -> BundleResult:
    """Write the part of a ledger that a run is about, with its plan, to one file: no rows, no secrets.

    Raises:
        Refused: there is no such run, or the file cannot be written.
    """
    from interlock.engine.cases.auditing import bundle_of  # noqa: PLC0415

    place, named = place_of(where)
    return BundleResult(command="audit bundle", **bundle_of(place, run, out), **named)


# --- drawings -----------------------------------------------------------------------------------------------------------


def diagram(machine: str | None = None, *, form: str = "mermaid") -> DrawnResult:
    """A state machine, from its class; without a name, all of them. `form`: mermaid, dot, svg, md or txt.

    Raises:
        Refused: there is no such machine.
    """
    from interlock.engine.cases.drawing import diagram_of  # noqa: PLC0415

    return DrawnResult(command="diagram", outcome="done", exit_code=0, format=form, text=diagram_of(machine, form))


def diagram_run(where: Context | Path, run: str, *, model: str | None = None, form: str = "mermaid") -> DrawnResult:
    """The way that a run took through its machine, or that one of its models took.

    Raises:
        Refused: the ledger knows nothing of it.
    """
    from interlock.engine.cases.drawing import path_of  # noqa: PLC0415

    place, named = place_of(where)
    return DrawnResult(command="diagram", format=form, **path_of(place, run, model, form), **named)


def diagram_diff(machine: str | None, ref: str, root: Path) -> DrawnResult:
    """What a change did to a machine: its page at a commit of Interlock beside its class, as Markdown.

    Raises:
        Refused: that commit cannot be read.
    """
    from interlock.engine.cases.drawing import changed_since  # noqa: PLC0415

    return DrawnResult(command="diagram", outcome="done", exit_code=0, format="md", text=changed_since(machine, ref, root))


def lineage(ctx: Context, model: str | None = None, *, form: str = "mermaid") -> DrawnResult:
    """The project's models, each coloured by its last state. `form`: mermaid, dot, svg or json.

    Raises:
        Refused: there is no such model, or the project cannot be read.
    """
    from interlock.engine.cases.drawing import lineage_of  # noqa: PLC0415

    ground = ground_of(ctx, writes=False)
    return DrawnResult(command="lineage", format=form, **lineage_of(ground, model, form), **where_of(ground))


def report(where: Context | Path, run: str = "") -> Report:
    """A run as one value: `interlock.engine.views.report.page` makes an HTML page of it.

    Raises:
        Refused: there is no such run.
    """
    from interlock.engine.cases.auditing import report_on  # noqa: PLC0415

    place, _ = place_of(where)
    return report_on(place, run)
