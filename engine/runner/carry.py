"""One run of one plan: authorize, prepare, start, the models, seal, close. Every command that applies work passes here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from interlock.engine.planner.plan import PlanBody
from interlock.engine.runner.answers import Setting
from interlock.engine.runner.bench import Attempt, Bench
from interlock.engine.runner.marks import Marks
from interlock.engine.runner.schedule import Work, keys, run_all
from interlock.engine.runner.seal import close_run
from interlock.engine.runner.sources import Sources
from interlock.engine.runner.together import TOGETHER_MAX
from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.protocol import Catalog, HeadRow, Session, WarehouseError
from interlock.machines.evidence import (
    AuthorityFinding,
    AuthorizeEvidence,
    Difference,
    Missing,
    Present,
    ReceiptBody,
    RefuseEvidence,
    ScopeEnd,
    ScopeItem,
    StartEvidence,
    TargetSeen,
    Verdict,
)
from interlock.machines.records import digest_of
from interlock.machines.run import Run


@dataclass(slots=True, kw_only=True)
class Carried:
    """What a run came to."""

    outcome: Literal["succeeded", "partial", "refused", "in_doubt", "interrupted"]
    attempts: Mapping[str, Attempt]
    states: Mapping[str, str]
    milliseconds: Mapping[str, int]
    verdicts: tuple[Verdict, ...] = ()


@dataclass(slots=True, kw_only=True)
class Order:
    """What is to be carried out, and under which authority. All of it becomes evidence."""

    run: str
    project: str
    plan: str
    body: PlanBody
    sealed: PlanBody
    """The same plan as its file has it: items are compared by digest before they run."""
    history: tuple[str, ...]
    authority: AuthorityFinding
    differences: tuple[Difference, ...]
    spent_by: tuple[str, ...]
    review: Literal["reviewed", "unreviewed", "open"]
    catalog: Catalog
    heads: dict[str, HeadRow]
    bodies: dict[str, ReceiptBody]
    attempt_number: Callable[[str], int]
    serial: int
    now: str
    """When the run begins, as text: what sources say of a later time is in the future."""
    threads: int
    fail_fast: bool
    session: Session
    append: Callable[..., str]
    sync: Callable[[], None]
    tip: Callable[[], str]
    progress: Callable[[Attempt, str], None]
    stop: threading.Event = field(default_factory=threading.Event)
    together: int = field(default_factory=lambda: TOGETHER_MAX)
    """How many small models may share a transaction."""
    reason: str = ""
    """Why, where a person's act is carried out."""
    continues: str | None = None
    """The run of this plan that this one goes on from."""
    done: frozenset[str] = frozenset()
    """Items that runs of this plan have checkpointed; the scope is the rest."""
    marks: Marks
    """Of the plan's sources, as they are read."""
    redact: Callable[[str], str] = str
    begun: Callable[[], None] = lambda: None
    """Told when the run is running: a run that is refused before has begun nothing."""


def carry_out(order: Order) -> Carried:
    """Carry out a plan, exactly.

    Raises:
        WarehouseError: the preparing transaction or the seal failed; the run is refused, or stays open.
        LedgerError: a record could not be written; the run stays open.
    """

    def write(transition: object) -> str:
        return order.append(transition, run=order.run, by=None)

    items = {name: item for name, item in keys(order.body.items).items() if name not in order.done}
    machine = Run(order.run, write)
    step = machine.step("authorize", _authorization(order, items))
    if machine.state_name != "authorized":
        order.sync()
        return Carried(outcome="refused", attempts={}, states={}, milliseconds={}, verdicts=step.transition.verdicts)
    try:
        _prepare(order, machine, items)
    except BaseException as error:
        if isinstance(error, Exception):
            _refuse_run(machine, error, order.redact)
            order.sync()
        raise
    step = machine.step("start", _started(order, items))
    if machine.state_name != "running":
        order.sync()
        return Carried(outcome="refused", attempts={}, states={}, milliseconds={}, verdicts=step.transition.verdicts)
    order.begun()
    states = dict.fromkeys(items, "waiting")
    work = Work(
        bench=_bench(order, items, states, write),
        items=items,
        states=states,
        fail_fast=order.fail_fast,
        progress=order.progress,
        stop=order.stop,
        workers=min(order.threads, max(1, len(items))),
        # Models of one transaction begin together, and after the first refusal nothing may begin.
        together=1 if order.fail_fast else order.together,
    )
    run_all(work)
    if work.in_doubt():
        _ask_again(order.session, work)
    if work.in_doubt():
        order.sync()
        ended: Literal["interrupted", "in_doubt"] = "interrupted" if order.stop.is_set() else "in_doubt"
        return Carried(outcome=ended, attempts=work.attempts, states=states, milliseconds=work.milliseconds)
    ends = tuple(ScopeEnd(model=name, state=states[name]) for name in items)
    end = close_run(machine, order.session, project=order.project, serial=order.serial + 1, ends=ends, sync=order.sync, tip=order.tip)
    outcome: Literal["succeeded", "partial", "refused", "interrupted"] = end.outcome
    if order.stop.is_set() and outcome == "partial":
        outcome = "interrupted"
    return Carried(outcome=outcome, attempts=work.attempts, states=states, milliseconds=work.milliseconds, verdicts=end.verdicts)


def _ask_again(session: Session, work: Work) -> None:
    """Open the warehouse once more and look for the receipts; where it cannot be opened, the doubt stays, and so does the run."""
    try:
        session.reopen()
    except WarehouseError:
        return
    work.settle()


def _authorization(order: Order, items: Mapping[str, object]) -> AuthorizeEvidence:
    return AuthorizeEvidence(
        plan=order.plan,
        target=order.body.target,
        authority=order.authority,
        differences=order.differences,
        spent_by=order.spent_by,
        continues=order.continues,
        review=order.review,
        scope=tuple(ScopeItem(model=item.model, action=item.action) for item in order.body.items if item.model in items),
        history=order.history,
        reason=order.reason,
    )


def _refuse_run(machine: Run, error: Exception, redact: Callable[[str], str]) -> None:
    code = getattr(error, "code", "X901")
    remedy = getattr(error, "remedy", "") or "mend what the message names, and run it again"
    machine.step("refuse", RefuseEvidence(cause="warehouse", code=code, because=redact(str(error)), remedy=remedy, proof=None))


def _prepare(order: Order, machine: Run, items: Mapping[str, object]) -> None:
    """Control tables, schemas and head rows, in one serial transaction, only if something is missing."""
    todo = [item for item in order.body.items if item.model in items and item.action != "refuse"]
    schemas = {item.schema for item in todo if item.relation_kind != "none"}
    models = {item.head_model for item in todo}
    missing = {schema for schema in schemas if schema.lower() not in {name.lower() for name in order.catalog.schemas}}
    if models <= order.heads.keys() and not missing:
        return
    bound = control.prepare(project=order.project, schemas=sorted(schemas), models=sorted(models))
    order.session.prepare(machine.prepare_permit([statement.digest for statement, _ in bound]), bound)


def _started(order: Order, items: Mapping[str, object]) -> StartEvidence:
    todo = [item for item in order.body.items if item.model in items and item.action != "refuse"]
    needed = tuple(sorted({item.head_model for item in todo}))
    reader = order.session.reader()
    try:
        found = {row[0] for row in reader.query(control.READ_HEADS.text, {"project": order.project, "models": list(needed)})}
        schemas = {str(row[0]) for row in reader.query("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'warehouse'")}
    finally:
        reader.close()
    wanted = {item.schema for item in todo if item.relation_kind != "none"}
    folded = {schema.lower() for schema in schemas}
    return StartEvidence(
        relations_needed=tuple(sorted(wanted)),
        relations_found=tuple(sorted(schema for schema in wanted if schema.lower() in folded)),
        heads_needed=needed,
        heads_found=tuple(sorted(found)),
    )


def _bench(order: Order, items: Mapping[str, object], states: dict[str, str], write: Callable[..., str]) -> Bench:
    by_key = {item.model: item for item in order.body.items}
    targets: dict[str, TargetSeen] = {}
    for key in items:
        item = by_key[key]
        seen = order.catalog.find(item.schema, item.relation)
        targets[key] = Missing() if seen is None else Present(kind=seen.kind, token=seen.token, columns=seen.columns)
    permission: Literal["open", "reviewed", "unreviewed"] = order.review
    return Bench(
        run=order.run,
        setting=Setting(project=order.project, plan=order.plan, engine=order.session.version),
        session=order.session,
        append=write,
        sync=order.sync,
        heads=order.heads,
        bodies=order.bodies,
        targets=targets,
        sealed={item.model: digest_of("item", item) for item in order.sealed.items},
        authority=order.authority.row,
        decision=order.authority.decision,
        permission=permission,
        attempt_number=order.attempt_number,
        states=states,
        said=Sources(order.body.sources, order.session, order.now, order.redact).said,
        as_read=order.marks.as_read,
        rows_of=lambda source: _rows_of(order.catalog, source),
        redact=order.redact,
    )


def _rows_of(catalog: Catalog, source: str) -> int | None:
    """About how many rows a source has, where it is a relation of the target under the name that it has there."""
    schema, _, name = source.rpartition(".")
    seen = catalog.find(schema, name)
    return seen.about_rows if seen is not None else None
