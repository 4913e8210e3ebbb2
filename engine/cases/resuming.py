"""`resume`: what going on with a stopped run came to, as a result."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from interlock.engine.cases.running import result_of, told_of
from interlock.engine.planner.plan import PlanBody
from interlock.engine.results import Progress, RunResult
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.resuming import resume


def resume_command(
    ground: Ground, wanted: str | None, *, threads: int | None, fail_fast: bool, progress: Progress, where: dict[str, Any]
) -> RunResult:
    """Go on with a stopped run, and say what happened."""
    begun = time.monotonic()

    def planned_is(body: PlanBody, done: frozenset[str]) -> None:
        idle = sum(item.action == "no_op" for item in body.items)
        progress.planned(sum(item.action != "no_op" and item.model not in done for item in body.items), idle)

    resumed = resume(
        ground,
        wanted,
        threads=threads or ground.target.threads,
        fail_fast=fail_fast,
        progress=lambda attempt, state: told_of(progress, attempt, state),
        planned_is=planned_is,
        said=progress.said,
    )
    milliseconds = round((time.monotonic() - begun) * 1000)
    if resumed.applied.carried is None:
        return RunResult(
            command="resume",
            outcome="succeeded",
            exit_code=0,
            run=resumed.run,
            plan=resumed.plan,
            models=(),
            settled=tuple(f"{each.run} ({each.outcome})" for each in resumed.applied.settled),
            milliseconds=milliseconds,
            authority=resumed.applied.authority,
            said=("all of its plan was done; only its end was not on record",),
            **where,
        )
    result = result_of(ground, "resume", resumed.applied, milliseconds)
    models = tuple(model for model in result.models if model.model not in resumed.done)
    said = (
        *result.said,
        f"goes on with run {resumed.run}: of its models, {len(resumed.done)} {'was' if len(resumed.done) == 1 else 'were'} checkpointed before",
    )
    return msgspec.structs.replace(result, models=models, said=said)
