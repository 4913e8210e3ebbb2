"""Recovery: each open attempt of a dead run gets its event, what it had not begun is refused, and the run is sealed and closed.

The runner's loop entered in the middle; there is no branch for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.subjects import AttemptFold, RunFold
from interlock.engine.planner.plan import Item
from interlock.engine.runner.answers import Setting
from interlock.engine.runner.attempt import SETTLING, go, refuse
from interlock.engine.runner.bench import Attempt, Bench, InDoubt
from interlock.engine.runner.seal import close_run
from interlock.engine.warehouse.protocol import Session
from interlock.machines.evidence import Absent, Digests, RefuseEvidence, ScopeEnd
from interlock.machines.model_run import ModelRun
from interlock.machines.run import Run

NOTHING = Digests(definition="", promise="", note="", environment="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of an open run."""

    run: str
    outcome: str
    in_doubt: tuple[str, ...]


def settle_all(
    fold: Fold,
    session: Session,
    *,
    project: str,
    by: str,
    append: Callable[..., str],
    sync: Callable[[], None],
    serial: int,
    tip: Callable[[], str],
) -> list[Settled]:
    """Every open run of the ledger, oldest first.

    Args:
        fold: the ledger's facts.
        session: the warehouse; authority over it is known.
        project: its id.
        by: the run that does this.
        append: the ledger's; records carry the dead run's id, and `by`.
        sync: waits until records are durable.
        serial: of the last closed run.
        tip: the ledger's newest record.
    """
    done = []
    for run in sorted(fold.open.values(), key=lambda each: each.opened_sequence):
        numbers = partial(fold.attempt_number, run.plan or "")
        settled = settle_one(run, session, project=project, by=by, append=append, sync=sync, serial=serial + 1, tip=tip, numbers=numbers)
        if settled.outcome in ("succeeded", "partial"):
            serial += 1
        done.append(settled)
    return done


def settle_one(
    run: RunFold,
    session: Session,
    *,
    project: str,
    by: str,
    append: Callable[..., str],
    sync: Callable[[], None],
    serial: int,
    tip: Callable[[], str],
    numbers: Callable[[str], int],
) -> Settled:
    """One open run. Where an attempt stays in doubt, the run stays open. `numbers`: of the next attempt at a model."""

    def write(transition: object) -> str:
        return append(transition, run=run.run, by=by)

    machine = Run(run.run, write, state=run.state, authorized=run.authorize)
    if run.state == "authorized":
        machine.step("refuse", _crash("the run was stopped before it began"))
        sync()
        return Settled(run=run.run, outcome="refused", in_doubt=())
    assert run.authorize is not None
    bench = _bench(run, session, project, write, sync)
    ends: list[ScopeEnd] = []
    doubts: list[str] = []
    for scope in run.authorize.scope:
        known = run.attempts.get(scope.model)
        number = numbers(scope.model)
        state = known.state if known is not None and known.is_over else _attempt(bench, scope.model, scope.action, known, run, number)
        if state == "in_doubt":
            doubts.append(scope.model)
        ends.append(ScopeEnd(model=scope.model, state=state))
    if doubts:
        sync()
        return Settled(run=run.run, outcome="in_doubt", in_doubt=tuple(doubts))
    end = close_run(machine, session, project=project, serial=serial, ends=tuple(ends), sync=sync, tip=tip)
    return Settled(run=run.run, outcome=end.outcome, in_doubt=())


def _bench(run: RunFold, session: Session, project: str, write: Callable[..., str], sync: Callable[[], None]) -> Bench:
    assert run.authorize is not None
    return Bench(
        run=run.run,
        setting=Setting(project=project, plan=run.plan or "", engine=session.version),
        session=session,
        append=write,
        sync=sync,
        heads={},
        bodies={},
        targets={},
        sealed={},
        authority=run.authorize.authority.row,
        decision="settle",
        permission="open",
        attempt_number=lambda _: 1,
        states={},
    )


def _attempt(bench: Bench, key: str, action: str, known: AttemptFold | None, run: RunFold, number: int) -> str:
    subject = known.subject if known is not None else f"{key}#{number}"
    state = known.state if known is not None else "planned"
    machine = ModelRun(
        subject,
        bench.append,
        state=None if state == "planned" else state,
        bootstrap=known.bootstrap if known is not None else None,
        anchor=known.anchor if known is not None else None,
        commit=known.commit if known is not None else None,
    )
    attempt = Attempt(bench=bench, item=_item(key, action), machine=machine)
    if state in ("planned", "verified"):
        refuse(attempt, _crash(f"run {run.run} was stopped before this model asked for its target"))
        return "refused"
    go(attempt, SETTLING)
    return "in_doubt" if isinstance(attempt.answer, InDoubt) else machine.state_name


def _item(key: str, action: str) -> Item:
    """Of a dead run's plan only the key is needed: what was pinned stands in the ledger."""
    return Item(
        model=key,
        kind="table",
        action=action,  # type: ignore[arg-type] # as the ledger has it
        reasons=(),
        schema="",
        relation="",
        layer=0,
        digests=NOTHING,
        relation_kind="none",
    )


def _crash(because: str, proof: Absent | None = None) -> RefuseEvidence:
    return RefuseEvidence(cause="crash", code="G563", because=because, remedy="run it again", proof=proof)
