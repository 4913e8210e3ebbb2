"""The use cases as typed functions. The command line is a thin layer over them; programs may call them as they are.

Every function answers with a result (its `exit_code` by the one table) or raises `Refused` with all findings.
"""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from interlock.engine import outcome as outcomes
from interlock.engine.clock import Clock, system_clock
from interlock.engine.clock import moment as moment_of
from interlock.engine.context import Context, open_context
from interlock.engine.context import ground_of as _ground
from interlock.engine.context import where_of as _where
from interlock.engine.diagnostics import Outcome, did_you_mean, refused
from interlock.engine.results import (
    CheckResult,
    CompareResult,
    CompiledView,
    CompileResult,
    Confirm,
    DiffResult,
    DoctorResult,
    ExplainResult,
    InitResult,
    Listed,
    ListResult,
    PlanResult,
    Progress,
    RunResult,
    ShowResult,
    Silent,
    StatusResult,
)

if TYPE_CHECKING:
    from interlock.engine.api_acts import accept_warehouse, adopt, archive, attach, compact_receipts, reset
    from interlock.engine.api_audit import (
        audit_bundle,
        audit_explain,
        audit_log,
        audit_log_stream,
        audit_replay,
        audit_verify,
        diagram,
        diagram_diff,
        diagram_run,
        lineage,
        report,
    )
    from interlock.engine.api_sources import diff_contracts, sources_diff, sources_pin
    from interlock.engine.results_import import ImportResult
    from interlock.engine.runner.selection import Request

__all__ = [
    "Confirm",
    "Context",
    "accept_warehouse",
    "adopt",
    "apply",
    "archive",
    "attach",
    "audit_bundle",
    "audit_explain",
    "audit_log",
    "audit_log_stream",
    "audit_replay",
    "audit_verify",
    "check",
    "compact_receipts",
    "compare",
    "compile_",
    "diagram",
    "diagram_diff",
    "diagram_run",
    "diff",
    "diff_contracts",
    "doctor",
    "explain",
    "import_dbt",
    "init",
    "lineage",
    "ls",
    "open_context",
    "plan",
    "report",
    "reset",
    "resume",
    "run",
    "show",
    "sources_diff",
    "sources_pin",
    "status",
]

_APART = {
    name: module
    for module, names in {
        "interlock.engine.api_acts": ("accept_warehouse", "adopt", "archive", "attach", "compact_receipts", "reset"),
        "interlock.engine.api_audit": (
            *("audit_bundle", "audit_explain", "audit_log", "audit_log_stream", "audit_replay", "audit_verify"),
            *("diagram", "diagram_diff", "diagram_run", "lineage", "report"),
        ),
        "interlock.engine.api_sources": ("diff_contracts", "sources_diff", "sources_pin"),
    }.items()
    for name in names
}
"""Use cases that stand in modules of their own, imported with the first call."""


def __getattr__(name: str) -> object:
    if name not in _APART:
        raise AttributeError(name)
    from importlib import import_module  # noqa: PLC0415 - for these alone

    return getattr(import_module(_APART[name]), name)


def init(directory: Path, *, sample: str | None = None) -> InitResult:
    """Make a working project, or a copy of a sample.

    Raises:
        Refused: S120, the directory holds something that is in the way.
    """
    from interlock.engine.project.scaffold import init as scaffold  # noqa: PLC0415

    files = scaffold(directory, sample=sample, project_id=secrets.token_hex(8))
    where = f"cd {shlex.quote(str(directory))}" if str(directory) != "." else "interlock ls"
    return InitResult(
        command="init",
        outcome="done",
        exit_code=0,
        directory=str(directory),
        files=files,
        next_commands=(where, "interlock plan", "interlock run"),
    )


def import_dbt(
    directory: Path,
    out: Path,
    *,
    strict: bool = False,
    accept_proposals: bool = False,
    compare: bool = False,
    environment: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> ImportResult:
    """Turn a dbt project into one of ours: each item is converted, or refused with its reason. Writes to `out` only.

    Raises:
        Refused: D801, D802, there is no dbt project that can be read; S120, `out` is not empty; D827, nothing to compare with;
            with `compare`, also as `run`.
    """
    from interlock.engine.cases.importing import import_dbt as importing  # noqa: PLC0415

    given = os.environ if environment is None else environment

    def built(project: Path) -> Path:
        ctx = open_context(project, target="dev", environment=given, clock=clock)
        run(ctx)
        return ctx.project.targets["dev"].location

    return importing(
        directory,
        out,
        project_id=secrets.token_hex(8),
        environment=given,
        clock=clock,
        strict=strict,
        accept_proposals=accept_proposals,
        built=built if compare else None,
    )


# --- compile, ls, show: no warehouse is needed -------------------------------------------------------------------------


def compile_(ctx: Context, *, select: Sequence[str] = (), exclude: Sequence[str] = ()) -> CompileResult:
    """Compile the selected models and report every finding about them.

    Raises:
        Refused: with all findings, if one is an error.
    """
    from interlock.engine.cases.reading import compiled_for_reading  # noqa: PLC0415
    from interlock.engine.compiler.collector import paused  # noqa: PLC0415
    from interlock.engine.compiler.kept import briefs  # noqa: PLC0415
    from interlock.engine.runner.ground import stop_on_errors  # noqa: PLC0415
    from interlock.engine.runner.selection import findings_for  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    compiled, selected, _ = compiled_for_reading(ground, select, exclude)
    findings = findings_for(ground, compiled, selected, whole=not select and not exclude)
    stop_on_errors(findings)
    with paused():
        views = tuple(
            CompiledView(
                model=model.name,
                kind=model.kind,
                relation=f"{model.schema}.{model.relation}",
                path=model.path,
                columns=model.columns,
                reads=model.references,
                sources=model.sources,
                layer=model.layer,
                sql=model.sql,
            )
            for model in briefs(compiled.models)
            if model.name in selected
        )
    return CompileResult(command="compile", outcome="done", exit_code=0, findings=findings, models=views, **_where(ground))


def ls(ctx: Context, *, select: Sequence[str] = (), exclude: Sequence[str] = ()) -> ListResult:
    """Selected nodes. Needs no warehouse: state is compared with the ledger's word.

    Raises:
        Refused: a selector matches nothing, or the project is empty.
    """
    from interlock.engine.cases.reading import compiled_for_reading, ended_with  # noqa: PLC0415
    from interlock.engine.compiler.kept import briefs  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    compiled, selected, said = compiled_for_reading(ground, select, exclude)
    nodes = tuple(
        Listed(
            name=model.name,
            kind=model.kind,
            path=model.path,
            relation="" if model.kind == "ephemeral" else f"{model.schema}.{model.relation}",
            tags=model.tags,
            parents=model.references,
            description=model.description,
        )
        for model in sorted(briefs(compiled.models), key=lambda each: (each.layer, each.name))
        if model.name in selected
    )
    return ListResult(command="ls", **ended_with(ground), nodes=nodes, said=said, **_where(ground))


def show(ctx: Context, model: str, *, limit: int | None = None) -> ShowResult:
    """The exact SQL of a model; with `limit`, its first rows as the warehouse gives them now.

    Raises:
        Refused: there is no such model, it does not compile, or the rows cannot be read.
    """
    from interlock.engine.cases.showing import show_model  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    sql, columns, rows = show_model(ground, model, limit)
    return ShowResult(command="show", outcome="done", exit_code=0, model=model, sql=sql, columns=columns, rows=rows, **_where(ground))


def status(ctx: Context) -> StatusResult:
    """What the ledger says of the target: open runs, the last run, every model. Needs no warehouse, and never waits."""
    from interlock.engine.cases.standing import status_of  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    found = status_of(ground)
    return StatusResult(command="status", **found, **_where(ground))


# --- plan, apply, run ---------------------------------------------------------------------------------------------------


def plan(
    ctx: Context,
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    full_refresh: Sequence[str] = (),
    allow_shrink: Sequence[str] = (),
    on_change: Mapping[str, str] | None = None,
    force: Sequence[str] = (),
    drop_orphans: bool = False,
    as_of: str | None = None,
    low: str | None = None,
    high: str | None = None,
    verify_content: bool = False,
    save: bool = True,
) -> PlanResult:
    """Say exactly what would be done, and seal it. Reads through a read-only connection; settles nothing.

    Raises:
        Refused: it does not compile, ledger and warehouse cannot be trusted, or an observation could not be read.
    """
    from interlock.engine.cases.running import told  # noqa: PLC0415
    from interlock.engine.cases.sources import source_warnings  # noqa: PLC0415
    from interlock.engine.runner.authority import demand, look  # noqa: PLC0415
    from interlock.engine.runner.planning import make_plan  # noqa: PLC0415
    from interlock.engine.runner.planning import save as save_plan  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    request = _request(
        select, exclude, full_refresh, allow_shrink, on_change, force, drop_orphans, as_of, low, high, verify_content, ctx.variables
    )
    reader = ground.reader(ground.macros())
    try:
        sight = look(ground.directory, ground.project.id, reader)
        demand(sight, ground.target.name)
        if reader is None:
            ground.demand_creatable()
        moment = moment_of(as_of) if as_of else ctx.clock()
        planned = make_plan(ground, request, sight, reader, moment)
    finally:
        if reader is not None:
            reader.close()
    open_runs = tuple(sight.fold.open)
    said = (
        *planned.said,
        *(f"run {run} is open; `interlock resume` does the rest of it, `interlock run` ends it first" for run in open_runs),
    )
    if planned.body is None:
        return PlanResult(
            command="plan", outcome="nothing", exit_code=0, findings=told(planned.findings), plan=None, saved="no", body=None,
            authority=sight.finding, open_runs=open_runs, said=said, **_where(ground),
        )  # fmt: skip
    if save:
        save_plan(ground.directory, planned, root=ground.project.root)
    has_refused = any(item.action == "refuse" for item in planned.body.items)
    idle = all(item.action == "no_op" for item in planned.body.items)
    outcome: Outcome = "refused" if has_refused else "nothing" if idle else "planned"
    return PlanResult(
        command="plan",
        outcome=outcome,
        exit_code=outcomes.exit_of(outcome),
        findings=(*told(planned.findings), *source_warnings(planned.body)),
        plan=planned.id,
        saved="yes" if save else "no",
        body=planned.body,
        authority=sight.finding,
        open_runs=open_runs,
        said=said,
        **_where(ground),
    )


def apply(
    ctx: Context, plan_id: str, *, threads: int | None = None, fail_fast: bool = False, progress: Progress | None = None
) -> RunResult:
    """Carry out a saved plan, exactly.

    Raises:
        Refused: no such plan, it was altered, or ledger and warehouse cannot be trusted.
    """
    from interlock.engine.cases.running import run_command  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    review: Literal["reviewed", "open"] = "reviewed" if ground.target.protected else "open"
    return run_command(ground, "apply", plan_id, threads=threads, fail_fast=fail_fast, review=review, progress=progress or Silent())


def run(
    ctx: Context,
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    full_refresh: Sequence[str] = (),
    allow_shrink: Sequence[str] = (),
    on_change: Mapping[str, str] | None = None,
    force: Sequence[str] = (),
    drop_orphans: bool = False,
    as_of: str | None = None,
    low: str | None = None,
    high: str | None = None,
    verify_content: bool = False,
    threads: int | None = None,
    fail_fast: bool = False,
    unreviewed: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Plan and apply in one step, through the same guards; what a killed run left open is closed first.

    Raises:
        Refused: as `plan` and `apply`; P421 on a protected target without `unreviewed`.
    """
    from interlock.engine.cases.running import demand_seen, run_command  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    if not unreviewed:
        demand_seen(ground)
    request = _request(
        select, exclude, full_refresh, allow_shrink, on_change, force, drop_orphans, as_of, low, high, verify_content, ctx.variables
    )
    review: Literal["unreviewed", "open"] = "unreviewed" if ground.target.protected else "open"
    return run_command(ground, "run", request, threads=threads, fail_fast=fail_fast, review=review, progress=progress or Silent())


def resume(
    ctx: Context, run: str | None = None, *, threads: int | None = None, fail_fast: bool = False, progress: Progress | None = None
) -> RunResult:
    """Go on with a run that was stopped or ended partial: the same plan, and of it what no run has checkpointed.

    Raises:
        Refused: no such run, nothing to resume, the plan no longer holds, or ledger and warehouse cannot be trusted.
    """
    from interlock.engine.cases.resuming import resume_command  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    return resume_command(ground, run, threads=threads, fail_fast=fail_fast, progress=progress or Silent(), where=_where(ground))


def diff(ctx: Context, plan_id: str) -> DiffResult:
    """A saved plan against the working tree and the warehouse as they are now.

    Raises:
        Refused: no such plan, or the warehouse cannot be read.
    """
    from interlock.engine.cases.running import diff_of  # noqa: PLC0415
    from interlock.engine.runner.apply import finding_of  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    plan, found = diff_of(ground, plan_id)
    outcome: Outcome = "refused" if found else "done"
    return DiffResult(
        command="diff",
        outcome=outcome,
        exit_code=outcomes.exit_of(outcome),
        findings=tuple(finding_of(each) for each in found),
        plan=plan,
        differences=found,
        **_where(ground),
    )


# --- questions about rows -----------------------------------------------------------------------------------------------


def check(ctx: Context, *, select: Sequence[str] = (), exclude: Sequence[str] = ()) -> CheckResult:
    """Evaluate the checks of the selected models, and of the sources that they read, on the rows that are there; nothing is built.

    Raises:
        Refused: the warehouse cannot be read, or nothing that was selected has a check.
    """
    from interlock.engine.cases.checking import check_result  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    return check_result(ground, select, exclude, _where(ground))


def compare(ctx: Context, model: str) -> CompareResult:
    """Build an incremental model fully aside and compare it with its table, row for row.

    Raises:
        Refused: there is no such model, or it is not incremental, or nothing is built yet.
    """
    from interlock.engine.cases.checking import compare_model  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    found = compare_model(ground, model)
    outcome: Outcome = "done" if found["only_there"] == found["only_rebuilt"] == 0 else "refused"
    return CompareResult(
        command="audit compare", outcome=outcome, exit_code=outcomes.exit_of(outcome), model=model, **found, **_where(ground)
    )


# --- looking at all of it, and at a code ---------------------------------------------------------------------------------


def doctor(ctx: Context) -> DoctorResult:
    """Look at everything that a run rests on: project, versions, lock, ledger, warehouse, receipts, open runs. Changes nothing."""
    from interlock.engine.cases.doctoring import doctor_of  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    return doctor_of(ground, _where(ground))


def explain(code: str) -> ExplainResult:
    """The page of a code or an invariant, or what a row of the recovery tables says.

    Raises:
        Refused: there is no such code.
    """
    from importlib.resources import files  # noqa: PLC0415

    from interlock.engine.cases.explaining import row_page  # noqa: PLC0415
    from interlock.machines.refusals import CATALOGUE  # noqa: PLC0415

    page = row_page(known := code.upper())
    if page is None and known not in CATALOGUE:
        raise refused("S114", f"there is no code `{code}`", remedy=did_you_mean(known, CATALOGUE, "codes are written like P412"))
    written = files("interlock.specs") / "refusals" / f"{known}.md"
    title, text = page or (CATALOGUE[known], written.read_text(encoding="utf-8"))
    return ExplainResult(command="explain", outcome="done", exit_code=0, code=known, title=title, page=text)


# --- shared -------------------------------------------------------------------------------------------------------------


def _request(
    select: Sequence[str],
    exclude: Sequence[str],
    full_refresh: Sequence[str],
    allow_shrink: Sequence[str],
    on_change: Mapping[str, str] | None,
    force: Sequence[str],
    drop_orphans: bool,  # noqa: FBT001
    as_of: str | None,
    low: str | None,
    high: str | None,
    verify_content: bool,  # noqa: FBT001
    variables: Mapping[str, str],
) -> Request:
    from interlock.engine.planner.plan import Options  # noqa: PLC0415
    from interlock.engine.runner.selection import Request  # noqa: PLC0415

    if as_of is not None:
        try:
            moment_of(as_of)
        except ValueError as error:
            raise refused(
                "S104", f"--as-of `{as_of}` is no time", because=str(error), remedy="write it like 2024-01-31T12:00:00Z"
            ) from error
    return Request(
        select=tuple(select),
        exclude=tuple(exclude),
        options=Options(
            full_refresh=tuple(sorted(set(full_refresh))),
            allow_shrink=tuple(sorted(set(allow_shrink))),
            on_change=dict(on_change or {}),
            force=tuple(sorted(set(force))),
            drop_orphans="yes" if drop_orphans else "no",
            range_low=low,
            range_high=high,
            verify_content="yes" if verify_content else "no",
            variables=dict(variables),
        ),
        as_of=as_of,
    )
