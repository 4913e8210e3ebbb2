"""The use cases that only ask, part of `interlock.engine.api`: of the project, of the ledger, of rows that are there, of a code."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.engine import outcome as outcomes
from interlock.engine.context import Context
from interlock.engine.context import ground_of as _ground
from interlock.engine.context import where_of as _where
from interlock.engine.diagnostics import Outcome, did_you_mean, refused
from interlock.engine.results import (
    CheckResult,
    CompareResult,
    CompiledView,
    CompileResult,
    DoctorResult,
    ExplainResult,
    Listed,
    ListResult,
    ShowResult,
    StatusResult,
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
