"""`run`, `apply` and `diff`: what the one way to write came to, as a result."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from interlock.engine import outcome as outcomes
from interlock.engine.cases.sources import source_warnings
from interlock.engine.diagnostics import Diagnostic, Outcome
from interlock.engine.ledger.places import ledger_directory
from interlock.engine.planner.plan import Item, PlanBody
from interlock.engine.results import ModelResult, Progress, RunResult
from interlock.engine.runner.apply import Applied, bodies_for, compared, now_of, run
from interlock.engine.runner.authority import demand, look
from interlock.engine.runner.bench import Attempt, InDoubt, Refuse
from interlock.engine.runner.door import Door
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.planning import load
from interlock.engine.runner.selection import Request
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.machines.evidence import CommitEvidence, Difference, Found, ReceiptBody, RefuseEvidence, RolledBack


def elsewhere(ground: Ground) -> dict[str, Path]:
    """Ledger directories of the project's other targets."""
    return {
        name: ledger_directory(target, ground.project.id) for name, target in ground.project.targets.items() if name != ground.target.name
    }


def run_command(
    ground: Ground,
    command: Literal["run", "apply"],
    source: Request | str,
    *,
    threads: int | None,
    fail_fast: bool,
    review: Literal["reviewed", "unreviewed", "open"],
    progress: Progress,
    door: Door | None = None,
) -> RunResult:
    """Carry out a request or a saved plan, and say what happened. A request may come with the door that it goes in by."""
    from interlock.engine.cases.acting import accept_by_itself  # noqa: PLC0415 - needs this module's neighbours

    begun = time.monotonic()

    def planned_is(body: PlanBody) -> None:
        idle = sum(item.action == "no_op" for item in body.items)
        progress.planned(len(body.items) - idle, idle)

    applied = run(
        ground,
        source,
        elsewhere=elsewhere(ground),
        threads=threads or ground.target.threads,
        fail_fast=fail_fast,
        review=review,
        progress=lambda attempt, state: told_of(progress, attempt, state),
        planned_is=planned_is,
        said=progress.said,
        accept=accept_by_itself if ground.target.accept_warehouse else None,
        door=door,
    )
    return result_of(ground, command, applied, round((time.monotonic() - begun) * 1000))


def told_of(progress: Progress, attempt: Attempt, state: str) -> None:
    """Tell a person who waits where a model is, and how many rows it wrote; a view writes none."""
    body = _body(attempt)
    progress.moved(attempt.item.model, state, body.rows_written if body is not None and body.kind == "table" else None)


def result_of(ground: Ground, command: str, applied: Applied, milliseconds: int) -> RunResult:
    """A run's result: each model's way through its states, and no-ops with their reasons."""
    body = applied.planned.body
    where: dict[str, Any] = {"project": ground.project.name, "target": ground.target.name, "location": ground.target.path}
    settled = tuple(f"{each.run} ({each.outcome})" for each in applied.settled)
    if body is None or applied.carried is None:
        return RunResult(
            command=command, outcome="nothing", exit_code=0, findings=told(applied.planned.findings), run=None, plan=None, models=(),
            settled=settled, milliseconds=milliseconds, authority=applied.authority, said=applied.planned.said, **where,
        )  # fmt: skip
    carried = applied.carried
    outcome: Outcome = carried.outcome
    # A run that was refused before it began has done nothing to any model.
    models = tuple(_model(item, applied) for item in body.items) if carried.states or outcome != "refused" else ()
    if outcome == "succeeded" and models and all(model.state == "no_op" for model in models):
        outcome = "nothing"
    said = [verdict for attempt in carried.attempts.values() for verdict in attempt.said]
    findings = (
        *told(applied.planned.findings),
        *source_warnings(body, said),
        *_verdict_findings(applied),
        *_emptied(body, models),
        *_closed(body, applied),
    )
    untrusted = any(outcomes.is_untrusted(model.code) for model in models if model.code)
    exit_code = outcomes.exit_of(outcome, untrusted=untrusted or any(outcomes.is_untrusted(finding.code) for finding in findings))
    return RunResult(
        command=command,
        outcome=outcome,
        exit_code=exit_code,
        findings=findings,
        run=applied.run,
        plan=applied.planned.id,
        models=models,
        settled=settled,
        milliseconds=milliseconds,
        body=body,
        authority=applied.authority,
        said=applied.planned.said,
        **where,
    )


def _emptied(body: PlanBody, models: tuple[ModelResult, ...]) -> tuple[Diagnostic, ...]:
    """Tables that end with no rows where they had some. A full refresh of what took time to collect is refused instead."""
    items = {
        item.model: item
        for item in body.items
        if item.action in ("convert", "replace_range") or (item.action == "replace" and item.kind in {"table", "seed"})
    }
    return tuple(
        Diagnostic(
            code="G540",
            severity="warning",
            summary=f"`{model.model}` ends with no rows",
            because=f"it had {items[model.model].head.rows}",
            remedy="look at what it reads; a check of `row_count` would have kept the old rows",
            subject=model.model,
        )
        for model in models
        if model.model in items and model.state == "checkpointed" and model.rows_after == 0 and items[model.model].head.rows
    )


def _closed(body: PlanBody, applied: Applied) -> tuple[Diagnostic, ...]:
    """Snapshots of which no version is open any more, since their query gave no rows: what a source looks like that was not delivered."""
    assert applied.carried is not None
    found = []
    for item in body.items:
        attempt = applied.carried.attempts.get(item.model)
        if item.action != "snapshot" or attempt is None or applied.carried.states[item.model] != "checkpointed":
            continue
        wrote = _body(attempt)
        if wrote is not None and wrote.delta is not None and wrote.delta.rows == 0 and wrote.rows_deleted:
            found.append(
                Diagnostic(
                    code="G540",
                    severity="warning",
                    summary=f"every open version of `{item.model}` was closed",
                    because=f"its query gave no rows, and {wrote.rows_deleted} were open",
                    remedy="look at what it reads; a check that wants an open version would have kept them open",
                    subject=item.model,
                )
            )
    return tuple(found)


def told(findings: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Findings for somebody who runs: errors and warnings. Notes are for `interlock compile`."""
    return tuple(finding for finding in findings if finding.severity != "note")


def _verdict_findings(applied: Applied) -> tuple[Diagnostic, ...]:
    """Why the run itself was refused before it began."""
    assert applied.carried is not None
    texts = {f"{each.subject}: planned {each.planned}, found {each.found}": each.diff for each in applied.differences if each.diff}
    return tuple(
        Diagnostic(
            code=verdict.code,
            summary=verdict.because,
            remedy=verdict.remedy,
            invariant=verdict.invariant,
            subject=applied.planned.id[:12],
            diff=texts.get(verdict.because, ""),
        )
        for verdict in applied.carried.verdicts
        if verdict.holds == "no"
    )


def _body(attempt: Attempt) -> ReceiptBody | None:
    found = attempt.found
    if found is not None:
        return found.body
    match attempt.answer:
        case CommitEvidence(receipt=Found(body=body)):
            return body
        case CommitEvidence(receipt=RolledBack(body=body)):
            return body
        case _:
            return None


def _model(item: Item, applied: Applied) -> ModelResult:
    carried = applied.carried
    assert carried is not None
    if item.action == "no_op":
        return ModelResult(
            model=item.model,
            action="no_op",
            layer=item.layer,
            state="no_op",
            path=(),
            reason="; ".join(item.reasons),
            rows_after=item.head.rows,
        )
    attempt = carried.attempts.get(item.model)
    if attempt is None:
        return ModelResult(
            model=item.model, action=item.action, layer=item.layer, state="planned", path=("planned",), reason="; ".join(item.reasons)
        )
    state = carried.states[item.model]
    body = _body(attempt)
    wrote = body if body is not None and state == "checkpointed" else None
    code, cause, because, remedy, detail = _why(attempt, state)
    return ModelResult(
        model=item.model,
        action=item.action,
        layer=item.layer,
        state=state,
        path=tuple(attempt.path),
        reason="; ".join(item.reasons),
        rows_written=wrote.rows_written if wrote is not None else None,
        rows_deleted=wrote.rows_deleted if wrote is not None else None,
        rows_held=wrote.rows_held if wrote is not None else None,
        rows_before=item.head.rows if wrote is not None and item.action == "convert" else None,
        rows_late=wrote.rows_late if wrote is not None else None,
        rows_stale=wrote.rows_stale if wrote is not None else None,
        rows_after=wrote.rows_after if wrote is not None else None,
        milliseconds=carried.milliseconds.get(item.model),
        receipt=attempt.row.receipt if attempt.row is not None and state == "checkpointed" else None,
        code=code,
        cause=cause,
        because=because,
        remedy=remedy,
        detail=detail,
        verdicts=body.verdicts if body is not None else (),
        sources=attempt.said,
    )


def _why(attempt: Attempt, state: str) -> tuple[str, str, str, str, str]:
    if state == "in_doubt" and isinstance(attempt.answer, InDoubt):
        return "K742", "in_doubt", attempt.answer.because, "run again: the receipt decides", ""
    if state != "refused":
        return "", "", "", "", ""
    if isinstance(attempt.answer, Refuse):
        evidence: RefuseEvidence = attempt.answer.evidence
        return evidence.code, evidence.cause, evidence.because, evidence.remedy, evidence.detail
    failing = [verdict for verdict in attempt.verdicts if verdict.holds == "no"]
    if not failing:
        return "X901", "guard", "it was refused without a reason", "please report it", ""
    first = failing[0]
    more = "; ".join(verdict.because for verdict in failing[1:])
    detail = attempt.item.path + (f"; also: {more}" if more else "")
    return first.code, "guard", first.because, first.remedy, detail


def diff_of(ground: Ground, plan_id: str) -> tuple[str, tuple[Difference, ...]]:
    """A saved plan against the project and the warehouse as they are now."""
    planned = load(ground.directory, plan_id, elsewhere(ground))
    assert planned.body is not None
    ground = ground.with_variables(planned.body.options.variables)
    reader = ground.reader() or ground.scratch()
    with closing(reader):
        sight = look(ground.directory, ground.project.id, reader if ground.database_exists() else None)
        demand(sight, ground.target.name)
        try:
            now = now_of(ground, planned.body, sight, reader)
            bodies_for(ground, planned, sight, reader)
        except WarehouseError as error:
            raise refusal(error, subject=ground.target.name) from error
    own = sight.fold.checkpointed_by(planned.id)
    found = compared(ground, planned, now, own)
    spent = sight.fold.spent_by(planned.id)
    if spent:
        last = sight.fold.runs[spent[-1]]
        left = last.close is None or last.close.outcome != "succeeded"
        remedy = "a plan is applied once: " + ("`interlock resume` does what is left of it, or plan again" if left else "plan again")
        applied = Difference(code="P403", subject="the plan", planned="not applied", found=f"applied by {', '.join(spent)}", remedy=remedy)
        found = (applied, *found)
    return planned.id, found
