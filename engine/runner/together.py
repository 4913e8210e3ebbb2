"""Small models that share a transaction, which makes them cheaper and changes nothing else.

Each has its own ModelRun, receipt, fence row and permit. If anything fails, by value or by error, the whole transaction is
rolled back and each goes on alone, so that a failure stays its own. What an unknown COMMIT came to is asked receipt by receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from interlock.engine.planner.observe import Unreadable, read_published
from interlock.engine.planner.plan import Item
from interlock.engine.runner.attempt import STEPS, go
from interlock.engine.runner.bench import Answer, Attempt, Bench, Effect
from interlock.engine.runner.writing import abandon, fill, find, found_as, heads_wanted, move_of
from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.machines.actions import ADDS
from interlock.machines.permits import CommitPermit

TOGETHER_MAX = 16
ROWS_MAX = 100_000
"""Of what a model reads: one that reads more, or nobody knows how much, is alone."""

SHARING = ADDS | {"create", "replace"}


def is_small(item: Item, bench: Bench) -> bool:
    """Whether a model may share a transaction: it makes or extends its relation, reads few rows, if any, and leaves no staged delta behind.

    The staged delta has one name for all: a model drops its own before the next one's turn.
    """
    if item.action not in SHARING or item.refusal is not None or item.follows is not None or item.renamed_from is not None:
        return False
    roles = [statement.role for statement in item.statements]
    if roles[:1] != [control.READ_HEADS.role] or roles.count("stage") != roles.count("unstage"):
        return False
    if item.relation_kind == "view" and not item.checks:
        return True
    rows = 0
    # What is extended is read too: for its keys, its watermark or its fingerprint.
    for name in (*item.reads, *([item.model] if item.action in ADDS else [])):
        body = bench.bodies.get(name)
        if body is None:
            return False
        rows += body.rows_after or 0
    for source in item.sources:
        seen = bench.rows_of(source.source)
        if seen is None:
            return False
        rows += seen
    return rows <= ROWS_MAX


def carry_together(attempts: Sequence[Attempt], moved: Callable[[Attempt], None]) -> None:
    """Take attempts to their ends, written in one transaction if that is possible, else one by one."""
    for attempt in attempts:
        go(attempt, STEPS, moved, until="bootstrapping")
    writing = [attempt for attempt in attempts if attempt.machine.state_name == "bootstrapping"]
    if not writing:
        return
    # The records of all of them are on disk before the first write.
    writing[0].bench.sync()
    answers = _written(writing) if len(writing) > 1 else {}
    for attempt in writing:
        go(attempt, _steps(answers), moved)


def _steps(answers: Mapping[str, Answer]) -> Mapping[str, tuple[Effect, str]]:
    if not answers:
        return STEPS
    return {**STEPS, "bootstrapping": (lambda attempt: answers[attempt.item.model], "commit")}


def _written(attempts: Collection[Attempt]) -> dict[str, Answer]:
    """By key, what reading back says of each; empty where it was rolled back, and each has to go on alone."""
    permits = {attempt.item.model: attempt.machine.write_permit() for attempt in attempts}
    bench = next(iter(attempts)).bench
    session, setting = bench.session, bench.setting
    for attempt in attempts:
        attempt.tries += 1
    try:
        transaction = session.begin(*permits.values())
    except WarehouseError:
        return {}
    try:
        # One question for all, before anything is written: none of them reads another, since they were ready together.
        wanted = sorted(frozenset().union(*(heads_wanted(attempt.item) for attempt in attempts)))
        heads = transaction.run(control.READ_HEADS, {"project": setting.project, "models": wanted})
        bodies = {}
        for attempt in attempts:
            transaction.turn(permits[attempt.item.model])
            bodies[attempt.item.model] = fill(attempt, transaction, heads)
        moves = [(permits[attempt.item.model], move_of(attempt, bodies[attempt.item.model])) for attempt in attempts]
        transaction.publish(setting.project, moves)
        commits = []
        for attempt in attempts:
            permit = attempt.machine.publication_is_permitted(bodies[attempt.item.model])
            if not isinstance(permit, CommitPermit):
                transaction.rollback()
                return {}
            commits.append(permit)
        transaction.commit(*commits)
    except WarehouseError as error:
        if error.kind == "outcome_unknown":
            return _found(attempts, error)
        transaction.rollback()
        return {}
    except BaseException:
        abandon(transaction)
        raise
    return _found(attempts)


def _found(attempts: Collection[Attempt], error: WarehouseError | None = None) -> dict[str, Answer]:
    """The receipts of all, in one question; where that gets no answer, each is asked for by itself."""
    bench = next(iter(attempts)).bench
    try:
        reader = bench.session.reader()
        try:
            published = read_published(reader, bench.setting.project, [attempt.item.head_model for attempt in attempts])
        finally:
            reader.close()
    except (WarehouseError, Unreadable):
        return {attempt.item.model: find(attempt, error) for attempt in attempts}
    return {attempt.item.model: found_as(attempt, *published[attempt.item.head_model], error) for attempt in attempts}
