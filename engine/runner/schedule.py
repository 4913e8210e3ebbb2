"""Who runs when. It has no memory of its own: what is ready follows from the states of the plan's items.

A model starts as soon as what it reads is checkpointed; a refused one withholds its descendants and nobody else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from interlock.engine.planner.plan import Item
from interlock.engine.runner.attempt import STEPS, Attempt, Bench, InDoubt, go, refuse
from interlock.machines.evidence import RefuseEvidence
from interlock.machines.model_run import ModelRun

TERMINAL = frozenset({"checkpointed", "refused"})


@dataclass(slots=True, kw_only=True)
class Work:
    """The items of a run that is running, and where each stands."""

    bench: Bench
    items: Mapping[str, Item]
    states: dict[str, str]
    """By key: `waiting` before an attempt, then the machine's states. Shared with the bench, which reads it."""
    fail_fast: bool
    progress: Callable[[Attempt, str], None]
    stop: threading.Event
    """A person asked to stop."""
    attempts: dict[str, Attempt] = field(default_factory=dict)
    milliseconds: dict[str, int] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    error: BaseException | None = None
    condition: threading.Condition = field(default_factory=threading.Condition)

    def in_doubt(self) -> list[str]:
        """Items of which nobody knows yet whether they wrote."""
        return sorted(name for name, attempt in self.attempts.items() if isinstance(attempt.answer, InDoubt))


def run_all(work: Work, threads: int) -> None:
    """Until every item has ended, or is in doubt, or a bug stops all.

    Raises:
        BaseException: what stopped a worker: the ledger could not be written, a fault, a bug.
    """
    workers = [threading.Thread(target=_work, args=(work,), name=f"model-{number}", daemon=True) for number in range(max(1, threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            # A wait with an end lets the main thread see signals.
            worker.join(timeout=0.05)
    if work.error is not None:
        raise work.error


def _work(work: Work) -> None:
    while True:
        with work.condition:
            item = _next(work)
            while item is None:
                if work.error is not None or _is_over(work):
                    work.condition.notify_all()
                    return
                work.condition.wait(timeout=0.05)
                item = _next(work)
            work.started.add(item.model)
        try:
            _one(work, item)
        except BaseException as error:  # noqa: BLE001 - carried to the main thread, which raises it
            with work.condition:
                work.error = work.error or error
                work.condition.notify_all()
            return
        with work.condition:
            work.condition.notify_all()


def _is_over(work: Work) -> bool:
    """Nothing is left to start. What runs now will not make anything ready that its own worker would not see."""
    return all(name in work.started for name in work.items)


def _next(work: Work) -> Item | None:
    if work.error is not None:
        return None
    for name, item in work.items.items():
        if name in work.started:
            continue
        if work.stop.is_set() or (work.fail_fast and _first_failure(work) is not None):
            return item
        states = [work.states[upstream] for upstream in item.upstreams if upstream in work.items]
        if any(state in {"refused", "in_doubt"} for state in states):
            return item
        if all(state == "checkpointed" for state in states):
            return item
    return None


def _first_failure(work: Work) -> str | None:
    """The first item that was refused for a reason of its own."""
    for name, attempt in work.attempts.items():
        if work.states[name] == "refused" and not _was_withheld(attempt):
            return name
    return None


def _was_withheld(attempt: Attempt) -> bool:
    evidence = getattr(attempt.answer, "evidence", None)
    return isinstance(evidence, RefuseEvidence) and evidence.cause in ("upstream", "fail_fast", "interrupt")


def _one(work: Work, item: Item) -> None:
    begun = time.monotonic()
    number = work.bench.attempt_number(item.model)
    machine = ModelRun(f"{item.model}#{number}", work.bench.append)
    attempt = Attempt(bench=work.bench, item=item, machine=machine)
    withheld = _withheld(work, item)
    with work.condition:
        work.attempts[item.model] = attempt

    def moved(current: Attempt) -> None:
        if current.machine.state_name not in TERMINAL:
            work.states[item.model] = current.machine.state_name
            work.progress(current, current.machine.state_name)

    if withheld is not None:
        refuse(attempt, withheld)
    else:
        work.progress(attempt, "planned")
        go(attempt, STEPS, moved)
    work.milliseconds[item.model] = round((time.monotonic() - begun) * 1000)
    with work.condition:
        _ended(work, item, attempt)
    work.progress(attempt, work.states[item.model])


def _ended(work: Work, item: Item, attempt: Attempt) -> None:
    if isinstance(attempt.answer, InDoubt):
        work.states[item.model] = "in_doubt"
        return
    if attempt.machine.state_name == "checkpointed" and attempt.row is not None and attempt.found is not None:
        work.bench.heads[item.head_model] = attempt.row
        work.bench.bodies[item.head_model] = attempt.found.body
    work.states[item.model] = attempt.machine.state_name


def _withheld(work: Work, item: Item) -> RefuseEvidence | None:
    """Why an item is not begun at all."""
    if work.stop.is_set():
        return RefuseEvidence(
            cause="interrupt", code="G562", because="the run was interrupted before it began", remedy="run it again", proof=None
        )
    for upstream in item.upstreams:
        if work.states.get(upstream) in ("refused", "in_doubt"):
            return upstream_refused(upstream, _root(work, upstream))
    failed = _first_failure(work) if work.fail_fast else None
    if failed is not None:
        because = f"`{failed}` was refused, and --fail-fast was asked"
        return RefuseEvidence(cause="fail_fast", code="G564", because=because, remedy=f"mend `{failed}` and run it again", proof=None)
    return None


def _root(work: Work, name: str) -> str:
    """The refused item at the beginning of a row of withheld ones."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        attempt = work.attempts.get(name)
        evidence = getattr(attempt.answer, "evidence", None) if attempt is not None else None
        if not (isinstance(evidence, RefuseEvidence) and evidence.cause == "upstream"):
            return name
        above = [upstream for upstream in work.items[name].upstreams if work.states.get(upstream) in ("refused", "in_doubt")]
        if not above:
            return name
        name = above[0]
    return name


def upstream_refused(upstream: str, root: str) -> RefuseEvidence:
    """The refusal of a model that reads a refused one."""
    because = f"it reads `{upstream}`, which was refused" + ("" if root == upstream else f" because of `{root}`")
    return RefuseEvidence(cause="upstream", code="G561", because=because, remedy=f"mend `{root}` and run it again", proof=None)


def keys(items: Sequence[Item]) -> dict[str, Item]:
    """Items that do something, by key, in the plan's order. No-ops stand in the plan alone."""
    return {item.model: item for item in items if item.action != "no_op"}
