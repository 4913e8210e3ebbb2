"""Who runs when. It has no memory of its own: what is ready follows from the states of the plan's items.

A model starts as soon as what it reads is checkpointed; a refused one withholds its descendants and nobody else.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from interlock.engine.planner.frame import AFTER
from interlock.engine.planner.plan import Item
from interlock.engine.runner.attempt import SETTLING, STEPS, go, refuse
from interlock.engine.runner.bench import Attempt, Bench, InDoubt
from interlock.engine.runner.together import carry_together, is_small
from interlock.engine.turns import short_turns
from interlock.machines.evidence import RefuseEvidence
from interlock.machines.model_run import ModelRun

TERMINAL = frozenset({"checkpointed", "refused"})
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LOOKED_AT_MAX = 32


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
    workers: int = 1
    together: int = 1
    """How many small models may share a transaction."""
    attempts: dict[str, Attempt] = field(default_factory=dict)
    milliseconds: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, Item] = field(default_factory=dict)
    """Items that were not started, in the plan's order."""
    ready: list[tuple[int, str]] = field(default_factory=list)
    """Of those, what the states let start, the first of the plan first: kept so that nobody goes through all items to find it."""
    small: int = 0
    """How many workers are at small models now."""
    doubt: str | None = None
    """An item of whose COMMIT nobody can say anything: then the warehouse gives no answers, and nothing more is begun."""
    error: BaseException | None = None
    condition: threading.Condition = field(default_factory=threading.Condition)
    failed: list[str] = field(default_factory=list)
    """Refused for a reason of their own, the first one first: kept, so that nobody goes through all attempts at every beginning."""
    sizes: dict[str, bool] = field(default_factory=dict)
    """Whether an item is small, by key: what it reads has ended when it is asked, so it is worked out once."""
    _place: dict[str, int] = field(default_factory=dict)
    _offered: set[str] = field(default_factory=set)
    _below: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing was started."""
        self.waiting = dict(self.items)
        self._place = {name: place for place, name in enumerate(self.items)}
        for name, item in self.items.items():
            for upstream in item.upstreams:
                self._below.setdefault(upstream, []).append(name)
            self._offer(name)

    def in_doubt(self) -> list[str]:
        """Items of which nobody knows yet whether they wrote."""
        return sorted(name for name, attempt in self.attempts.items() if isinstance(attempt.answer, InDoubt))

    def settle(self) -> None:
        """Ask once more what became of the items in doubt, each by its receipt, after the warehouse was opened again."""
        for name in self.in_doubt():
            attempt = self.attempts[name]
            go(attempt, SETTLING)
            _ended(self, self.items[name], attempt)
            self.progress(attempt, self.states[name])

    def ended(self, name: str) -> None:
        """Its state is one of an end: what reads it may have become ready."""
        for below in self._below.get(name, ()):
            self._offer(below)

    def _offer(self, name: str) -> None:
        if name in self.waiting and name not in self._offered and _may_start(self, self.items[name]):
            self._offered.add(name)
            heapq.heappush(self.ready, (self._place[name], name))


def run_all(work: Work) -> None:
    """Until every item has ended, or is in doubt, or a bug stops all.

    Raises:
        BaseException: what stopped a worker: the ledger could not be written, a fault, a bug.
    """
    workers = [threading.Thread(target=_work, args=(work,), name=f"model-{number}", daemon=True) for number in range(work.workers)]
    with short_turns():
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                # A wait with an end lets the main thread see signals.
                worker.join(timeout=0.05)
    if work.error is not None:
        raise work.error


class _Taken(NamedTuple):
    """What a worker starts now: an item, or small ones that are ready together; nothing where nothing may start."""

    items: list[Item]
    small: bool = False


def _work(work: Work) -> None:
    while True:
        with work.condition:
            taken = _take(work)
            while not taken.items:
                if work.error is not None or not work.waiting:
                    # What runs now will not make anything ready that its own worker would not see.
                    work.condition.notify_all()
                    return
                work.condition.wait(timeout=0.05)
                taken = _take(work)
            work.small += taken.small
        try:
            _carry(work, taken.items)
        except BaseException as error:  # noqa: BLE001 - carried to the main thread, which raises it
            with work.condition:
                work.error = work.error or error
                work.condition.notify_all()
            return
        with work.condition:
            work.small -= taken.small
            work.condition.notify_all()


def _take(work: Work) -> _Taken:
    """The next of the plan's order that may start."""
    if work.error is not None:
        return _Taken([])
    if work.waiting and (work.stop.is_set() or work.doubt is not None or (work.fail_fast and _first_failure(work) is not None)):
        return _Taken([work.waiting.pop(next(iter(work.waiting)))])
    # What small models cost is our own work: more workers than cores only get into each other's way. The others wait for large ones.
    first = _pop(work) if work.small < CORES else _pop_large(work)
    if first is None:
        return _Taken([])
    if not _may_share(work, first):
        return _Taken([first])
    return _Taken([first, *_beside(work, min(work.together, (len(work.ready) + 1) // min(work.workers, CORES)))], small=True)


def _beside(work: Work, size: int) -> list[Item]:
    """Small ones that go with a first one, so that there are no more than `size`."""
    taken: list[Item] = []
    others: list[tuple[int, str]] = []
    while work.ready and len(taken) + 1 < size and len(others) < size:
        name = work.ready[0][1]
        if name in work.waiting and not _may_share(work, work.waiting[name]):
            others.append(heapq.heappop(work.ready))
        elif (item := _pop(work)) is not None:
            taken.append(item)
    for entry in others:
        heapq.heappush(work.ready, entry)
    return taken


def _pop(work: Work) -> Item | None:
    while work.ready:
        _, name = heapq.heappop(work.ready)
        if name in work.waiting:
            return work.waiting.pop(name)
    return None


def _pop_large(work: Work) -> Item | None:
    """The first one that is not small; far behind small ones none is looked for, its turn comes."""
    small: list[tuple[int, str]] = []
    found: Item | None = None
    while work.ready and found is None and len(small) < LOOKED_AT_MAX:
        entry = heapq.heappop(work.ready)
        item = work.waiting.get(entry[1])
        if item is not None and _may_share(work, item):
            small.append(entry)
        elif item is not None:
            found = work.waiting.pop(entry[1])
    for entry in small:
        heapq.heappush(work.ready, entry)
    return found


def _may_start(work: Work, item: Item) -> bool:
    """What it reads is checkpointed, or something that it reads never will be."""
    states = [work.states[upstream] for upstream in item.upstreams if upstream in work.items]
    return any(state in {"refused", "in_doubt"} for state in states) or all(state == "checkpointed" for state in states)


def _may_share(work: Work, item: Item) -> bool:
    small = work.sizes.get(item.model)
    if small is None:
        small = work.sizes[item.model] = is_small(item, work.bench)
    return small and _withheld(work, item) is None


def _first_failure(work: Work) -> str | None:
    """The first item that was refused for a reason of its own."""
    return next(iter(work.failed), None)


def _was_withheld(attempt: Attempt) -> bool:
    evidence = getattr(attempt.answer, "evidence", None)
    return isinstance(evidence, RefuseEvidence) and evidence.cause in ("upstream", "fail_fast", "interrupt")


def _carry(work: Work, items: Sequence[Item]) -> None:
    begun = time.monotonic()
    going: list[Attempt] = []
    for item in items:
        machine = ModelRun(f"{item.model}#{work.bench.attempt_number(item.model)}", work.bench.append)
        attempt = Attempt(bench=work.bench, item=item, machine=machine)
        withheld = _withheld(work, item)
        with work.condition:
            work.attempts[item.model] = attempt
        if withheld is not None:
            refuse(attempt, withheld)
        else:
            work.progress(attempt, "planned")
            going.append(attempt)

    def moved(current: Attempt) -> None:
        if current.machine.state_name not in TERMINAL:
            work.states[current.item.model] = current.machine.state_name
            work.progress(current, current.machine.state_name)

    if len(going) > 1:
        carry_together(going, moved)
    elif going:
        go(going[0], STEPS, moved)
    milliseconds = round((time.monotonic() - begun) * 1000)
    with work.condition:
        for item in items:
            work.milliseconds[item.model] = milliseconds
            _ended(work, item, work.attempts[item.model])
    for item in items:
        work.progress(work.attempts[item.model], work.states[item.model])


def _ended(work: Work, item: Item, attempt: Attempt) -> None:
    if isinstance(attempt.answer, InDoubt):
        work.states[item.model] = "in_doubt"
        work.doubt = work.doubt or item.model
    else:
        if attempt.machine.state_name == "checkpointed" and attempt.row is not None and attempt.found is not None:
            work.bench.heads[item.head_model] = attempt.row
            work.bench.bodies[item.head_model] = attempt.found.body
        work.states[item.model] = attempt.machine.state_name
        if work.states[item.model] == "refused" and not _was_withheld(attempt):
            work.failed.append(item.model)
    work.ended(item.model)


def _withheld(work: Work, item: Item) -> RefuseEvidence | None:
    """Why an item is not begun at all."""
    if work.stop.is_set():
        return RefuseEvidence(
            cause="interrupt", code="G562", because="the run was interrupted before it began", remedy="run it again", proof=None
        )
    for upstream in item.upstreams:
        if work.states.get(upstream) == "refused":
            return upstream_refused(upstream, _root(work, upstream))
    if work.doubt is not None:
        because = f"the warehouse gave no answer after the COMMIT of `{work.doubt}`, so nothing more was begun"
        return RefuseEvidence(cause="warehouse", code="W611", because=because, remedy="mend what it says, and run it again", proof=None)
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
    waits = (
        f"it waits for {_named(upstream)}, which were refused" if upstream.endswith(AFTER) else f"it reads `{upstream}`, which was refused"
    )
    because = waits + ("" if root == upstream else f" because of {_named(root)}")
    remedy = f"mend what {_named(root)} found and run it again" if root.endswith(AFTER) else f"mend `{root}` and run it again"
    return RefuseEvidence(cause="upstream", code="G561", because=because, remedy=remedy, proof=None)


def _named(key: str) -> str:
    return f"the checks of `{key.removesuffix(AFTER)}` after publication" if key.endswith(AFTER) else f"`{key}`"


def keys(items: Sequence[Item]) -> dict[str, Item]:
    """Items that do something, by key, in the plan's order. No-ops stand in the plan alone."""
    return {item.model: item for item in items if item.action != "no_op"}
