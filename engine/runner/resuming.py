"""`resume`: what a dead run left open gets its end; then a new run on the same plan does what no run of it has checkpointed.

Everything that can refuse this is asked before anything is written, so a refused resume leaves the dead run as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from interlock.engine.diagnostics import Refused, did_you_mean, refused
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.subjects import RunFold
from interlock.engine.planner.plan import PlanBody
from interlock.engine.runner import genesis
from interlock.engine.runner.apply import Applied, carry_on, demand_no_doubt, differences_now, finding_of, settle_open
from interlock.engine.runner.authority import Sight, demand
from interlock.engine.runner.bench import Attempt
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.planning import Planned, load
from interlock.engine.runner.settle import Settled
from interlock.engine.runner.site import Site, site


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What resuming came to: the run that was meant, and the new one if anything was left to do."""

    run: str
    plan: str
    applied: Applied
    done: frozenset[str]
    """Items that runs of the plan had checkpointed before."""


def resume(
    ground: Ground,
    wanted: str | None,
    *,
    threads: int,
    fail_fast: bool,
    progress: Callable[[Attempt, str], None],
    planned_is: Callable[[PlanBody, frozenset[str]], None],
    said: Callable[[str], None],
) -> Resumed:
    """Go on with a run that did not do all of its plan.

    Args:
        ground: project and target.
        wanted: the run, or a beginning of its id that fits one; `None`: the newest that is open or has begun.
        threads: workers.
        fail_fast: begin nothing after the first refusal.
        progress: told of each state.
        planned_is: told of the plan before it is carried out, and of what of it was done before.
        said: told what a person should know now.

    Raises:
        Refused: there is no such run (P429), nothing to resume (P430), the plan no longer holds, or ledger and warehouse
            cannot be trusted; nothing was written then.
    """
    with site(ground, "resume") as place:
        sight = place.sight()
        demand(sight, ground.target.name)
        run = chosen(sight.fold, wanted)
        plan = run.plan or ""
        own = left_by_runs(sight, plan)
        is_done = scope_of(sight.fold, plan) <= own.keys()
        if is_done and not any(each.is_open for each in sight.fold.runs_of(plan)):
            raise _nothing(run)
        planned = Planned(id=plan, body=None, history=(), findings=(), said=())
        if not is_done:
            planned = load(ground.directory, plan, {})
            _demand_holds(place, planned, sight, own, run)
        run_id = genesis.run_id(ground.clock())
        place.lock.names_run(run_id)
        settled: list[Settled] = []
        if sight.fold.open:
            settled, sight = settle_open(place, sight, run_id, said)
            demand_no_doubt(settled)
            demand(sight, ground.target.name)
        elif place.ledger is None:
            place.open_ledger(sight)
        done = frozenset(sight.fold.checkpointed_by(plan))
        if planned.body is None:
            applied = Applied(run=None, planned=planned, carried=None, settled=tuple(settled), authority=sight.finding)
            return Resumed(run=run.run, plan=plan, applied=applied, done=done)
        spent = sight.fold.spent_by(plan)
        continues = run.run if run.run in spent else spent[-1] if spent else None
        said(f"goes on with plan {plan[:12]} of run {run.run}: of its models, {len(done)} {'is' if len(done) == 1 else 'are'} done")
        found = differences_now(place, planned, sight)
        review = run.authorize.review if run.authorize is not None else "open"

        def rest_is(body: PlanBody) -> None:
            planned_is(body, done)

        applied = carry_on(
            place, planned, sight, found, settled, run_id, threads, fail_fast, review, progress, rest_is, continues=continues
        )
        return Resumed(run=run.run, plan=plan, applied=applied, done=done)


def chosen(fold: Fold, wanted: str | None) -> RunFold:
    """The run that is meant.

    Raises:
        Refused: P429 there is no such run; P430 no run has begun.
    """
    if wanted is not None:
        runs = fold.runs if wanted in fold.runs else fold.every_run()
        fitting = [run for name, run in runs.items() if name.startswith(wanted)] if wanted else []
        if wanted in runs:
            fitting = [runs[wanted]]
        if len(fitting) == 1:
            return fitting[0]
        because = f"{len(fitting)} runs begin like that" if fitting else "the ledger of this target has no such run"
        raise refused(
            "P429",
            f"there is no run `{wanted}`",
            because=because,
            remedy=did_you_mean(wanted, runs, "`interlock status` names the runs"),
        )
    begun = [run for run in fold.runs.values() if run.is_open or run.running_since is not None or _was_stopped(run)]
    if not begun:
        raise refused("P430", "there is nothing to resume", because="no run has begun in this target", remedy="start with `interlock run`")
    # An open run is the newest there can be but for one case: a run in doubt, after which others were refused.
    return max(begun, key=lambda run: (run.is_open, run.opened_sequence))


def _was_stopped(run: RunFold) -> bool:
    """It was authorized and killed before its first model, and an earlier command said so for it."""
    return run.refusal is not None and run.refusal.cause == "crash"


def _nothing(run: RunFold) -> Refused:
    if run.plan is None:
        because = f"run {run.run} was refused before it had a plan"
    elif run.close is not None and run.close.outcome == "succeeded":
        because = f"run {run.run} succeeded"
    else:
        because = f"everything in the plan of run {run.run} is checkpointed"
    return refused("P430", "there is nothing to resume", because=because, remedy="`interlock plan` shows what there is to do")


def scope_of(fold: Fold, plan: str) -> set[str]:
    """Everything that runs of a plan were to do."""
    return {item.model for run in fold.runs_of(plan) if run.authorize is not None for item in run.authorize.scope}


def left_by_runs(sight: Sight, plan: str) -> dict[str, str | None]:
    """Receipts that runs of a plan left, by item: those on record, and those of attempts that died before their record."""
    own = dict(sight.fold.checkpointed_by(plan))
    heads = {head.model: head for head in sight.heads}
    for attempt in (attempt for run in sight.fold.runs_of(plan) for attempt in run.open_attempts):
        model = attempt.model.partition(":")[0]
        body = sight.unexpected.get(model)
        if body is not None and body.anchor == attempt.anchor:
            own[attempt.model] = heads[model].receipt
    return own


def _demand_holds(place: Site, planned: Planned, sight: Sight, own: dict[str, str | None], run: RunFold) -> None:
    """The plan still holds: all that moved was moved by a run of this plan."""
    assert planned.body is not None
    place.ground = place.ground.with_variables(planned.body.options.variables)
    target = place.ground.target
    if target.protected and (run.authorize is None or run.authorize.review == "open"):
        raise refused(
            "P421",
            f"target `{target.name}` is protected: what is written there must have been seen",
            because=f"run {run.run} began when it was not",
            remedy=f"make a plan with `interlock plan --target {target.name}`, look at it, and apply it",
            subject=target.name,
        )
    found = differences_now(place, planned, sight, own)
    if found:
        raise Refused(*(finding_of(each) for each in found))
