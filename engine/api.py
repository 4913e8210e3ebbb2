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
from interlock.engine.clock import Clock, stamp, system_clock
from interlock.engine.clock import moment as moment_of
from interlock.engine.context import Context, open_context
from interlock.engine.context import ground_of as _ground
from interlock.engine.context import where_of as _where
from interlock.engine.diagnostics import Outcome, refused
from interlock.engine.results import (
    Confirm,
    DiffResult,
    InitResult,
    PlanResult,
    Progress,
    RunResult,
    Silent,
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
    from interlock.engine.api_questions import check, compare, compile_, doctor, explain, ls, show, status
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
        "interlock.engine.api_questions": ("check", "compare", "compile_", "doctor", "explain", "ls", "show", "status"),
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
    moment = moment_of(as_of) if as_of else ctx.clock()
    reader = ground.reader(ground.macros(stamp(moment)))
    try:
        sight = look(ground.directory, ground.project.id, reader)
        demand(sight, ground.target.name)
        if reader is None:
            ground.demand_creatable()
        planned = make_plan(ground, request, sight, reader, moment)
    finally:
        if reader is not None:
            reader.close()
    open_runs = tuple(sight.fold.open)
    said = planned.said
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
    from interlock.engine.runner.door import entered  # noqa: PLC0415

    ground = _ground(ctx, writes=True)
    if not unreviewed:
        ground.demand_seen()
    request = _request(
        select, exclude, full_refresh, allow_shrink, on_change, force, drop_orphans, as_of, low, high, verify_content, ctx.variables
    )
    review: Literal["unreviewed", "open"] = "unreviewed" if ground.target.protected else "open"
    with entered(ground, "run") as door:
        from interlock.engine.cases.running import run_command  # noqa: PLC0415 - loaded while the database opens

        return run_command(
            ground, "run", request, threads=threads, fail_fast=fail_fast, review=review, progress=progress or Silent(), door=door
        )


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
