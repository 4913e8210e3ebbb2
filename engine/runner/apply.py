"""The one way to write: lock, look, settle what is open, plan or take the saved plan, look again, and carry it out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal

from interlock.engine.clock import moment as moment_of
from interlock.engine.clock import stamp
from interlock.engine.compiler.semantics import SEMANTICS_VERSION
from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.planner.differences import Now, differences, moved_receipts, views_since
from interlock.engine.planner.edits import Texts
from interlock.engine.planner.observe import Unreadable, read_bodies
from interlock.engine.planner.plan import PlanBody
from interlock.engine.runner import genesis
from interlock.engine.runner.authority import Sight, demand
from interlock.engine.runner.bench import Attempt
from interlock.engine.runner.binding import unreadable
from interlock.engine.runner.carry import Carried, Order, carry_out
from interlock.engine.runner.door import Door
from interlock.engine.runner.ground import Ground, discover
from interlock.engine.runner.marks import Marks
from interlock.engine.runner.planning import Planned, load, make_plan, save
from interlock.engine.runner.selection import Request
from interlock.engine.runner.settle import Settled, settle_all
from interlock.engine.runner.site import Site, site
from interlock.engine.runner.texts import texts_now
from interlock.engine.warehouse.duckdb.dependents import bound_now
from interlock.engine.warehouse.duckdb.files import remove_empty
from interlock.engine.warehouse.duckdb.session import VERSION as ENGINE
from interlock.engine.warehouse.duckdb.session import DuckDBSession, refusal
from interlock.engine.warehouse.protocol import Reader, WarehouseError
from interlock.machines.evidence import AuthorityFinding, Difference, ReceiptBody


@dataclass(slots=True, kw_only=True)
class Applied:
    """What a command that writes came to."""

    run: str | None
    planned: Planned
    carried: Carried | None
    settled: tuple[Settled, ...]
    authority: AuthorityFinding
    differences: tuple[Difference, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()


def run(
    ground: Ground,
    source: Request | str,
    *,
    elsewhere: Mapping[str, Path],
    threads: int,
    fail_fast: bool,
    review: Literal["reviewed", "unreviewed", "open"],
    progress: Callable[[Attempt, str], None],
    planned_is: Callable[[PlanBody], None],
    said: Callable[[str], None],
    confirm: Callable[[Planned], bool] = lambda _: True,
    accept: Callable[[Site, Sight], Sight] | None = None,
    reason: str = "",
    door: Door | None = None,
) -> Applied:
    """Apply a saved plan by its id, or plan and apply in one step. Both pass the same guards.

    Args:
        ground: project and target.
        source: what is to be planned, or a saved plan's id.
        elsewhere: ledger directories of the project's other targets, by name.
        threads: workers.
        fail_fast: begin nothing after the first refusal.
        review: whether a person saw the plan.
        progress: told of each state.
        planned_is: told of the plan before it is carried out.
        said: told what a person should know now.
        confirm: asked before anything is written (adopt).
        accept: takes the warehouse's word where the target says so.
        reason: of a person's act, for the ledger.
        door: by which a request goes in; else the target is locked here.
    """
    saved = load(ground.directory, source, elsewhere) if isinstance(source, str) else None
    if saved is not None and saved.body is not None:
        ground = ground.with_variables(saved.body.options.variables)
    with site(ground, "apply" if saved is not None else "run", door) as place:
        sight = place.sight()
        if accept is not None and sight.finding.decision == "refuse":
            sight = accept(place, sight)
        demand(sight, ground.target.name)
        moment = ground.clock()
        run_id = genesis.run_id(moment)
        place.lock.names_run(run_id)
        settled: list[Settled] = []
        if sight.fold.open:
            settled, sight = settle_open(place, sight, run_id, said)
            demand_no_doubt(settled)
            demand(sight, ground.target.name)
        if saved is None:
            assert isinstance(source, Request)
            as_of = moment_of(source.as_of) if source.as_of else moment
            place.use_macros(lambda: ground.macros(stamp(as_of)))
            reader = place.session.reader() if place.session is not None else None
            try:
                planned = make_plan(ground, source, sight, reader, as_of)
            finally:
                if reader is not None:
                    reader.close()
        else:
            planned = saved
        if planned.body is None or not confirm(planned):
            return Applied(run=None, planned=planned, carried=None, settled=tuple(settled), authority=sight.finding)
        if saved is None:
            save(ground.directory, planned)
        unbroken = saved is None and place.session is not None
        found = differences_now(place, planned, sight)
        sight = _founded(place, sight, planned.body, found)
        return carry_on(
            place,
            planned,
            sight,
            found,
            settled,
            run_id,
            threads,
            fail_fast,
            review,
            progress,
            planned_is,
            unbroken=unbroken,
            reason=reason,
        )


def demand_no_doubt(settled: list[Settled]) -> None:
    """Stop while nobody knows whether an attempt wrote.

    Raises:
        Refused: K742; the run stays open.
    """
    names = ", ".join(f"`{name}`" for each in settled for name in each.in_doubt)
    if not names:
        return
    finding = Diagnostic(
        code="K742",
        summary=f"it is not known whether {names} wrote",
        because="the outcome of a COMMIT was lost, and the receipt cannot be read now",
        remedy="make the warehouse readable and run again: the receipt decides",
    )
    raise Refused(finding, exit_code=3)


def settle_open(place: Site, sight: Sight, run_id: str, said: Callable[[str], None]) -> tuple[list[Settled], Sight]:
    """Every open run gets its end, and both are looked at again."""
    ledger = place.ledger or place.open_ledger(sight)
    assert place.session is not None
    for name in sight.fold.open:
        said(f"run {name} was not closed; it is settled first")
    try:
        settled = settle_all(
            sight.fold,
            place.session,
            project=place.ground.project.id,
            by=run_id,
            append=ledger.append,
            sync=ledger.sync,
            serial=sight.fold.serial,
            tip=lambda: ledger.tip,
        )
    except WarehouseError as error:
        raise refusal(error, subject=place.ground.target.name) from error
    return settled, place.sight()


def _founded(place: Site, sight: Sight, body: PlanBody, found: tuple[Difference, ...]) -> Sight:
    """Ledger and identity, made or finished where this is a first run."""
    ground = place.ground
    decision = sight.finding.decision
    if decision in {"proceed", "settle"}:
        if place.ledger is None:
            place.open_ledger(sight)
        return sight
    if found:
        raise Refused(*(finding_of(each) for each in found))
    if decision == "fresh":
        place.begin_ledger()
    elif place.ledger is None:
        place.open_ledger(sight)
    if place.session is None:
        if ground.database_state() == "empty":
            # A kill while DuckDB made the file leaves one of no bytes, which cannot be opened. Nothing can be in it.
            try:
                remove_empty(ground.target.location)
            except WarehouseError as error:
                raise refusal(error, subject=ground.target.name) from error
        place.session = ground.session(create=True, macros=body.macros)
    try:
        genesis.found_warehouse(ground.directory, place.session, ground.clock)
    except WarehouseError as error:
        if error.kind != "outcome_unknown":
            raise refusal(error, subject=ground.target.name) from error
    again = place.sight()
    if again.finding.decision not in ("proceed", "settle"):
        demand(again, ground.target.name)
        message = f"after genesis the authority is row {again.finding.row}"
        raise AssertionError(message)
    return again


def finding_of(difference: Difference) -> Diagnostic:
    """A difference, for a person."""
    because = f"planned: {difference.planned}; found: {difference.found}"
    return Diagnostic(
        code=difference.code,
        summary=f"`{difference.subject}` is not as planned",
        because=because,
        remedy=difference.remedy,
        invariant="I1",
        diff=difference.diff,
    )


def differences_now(place: Site, planned: Planned, sight: Sight, own: Mapping[str, str | None] | None = None) -> tuple[Difference, ...]:
    """What is not as planned, and not as a run of this plan left it.

    Args:
        place: the opened target.
        planned: the saved plan.
        sight: of ledger and warehouse.
        own: receipts that runs of this plan left, by item; `None`: those that the ledger has checkpointed.
    """
    ground, body = place.ground, planned.body
    assert body is not None
    try:
        reader = place.session.reader() if place.session is not None else ground.scratch(body.macros)
        with closing(reader):
            now = now_of(ground, body, sight, reader)
    except WarehouseError as error:
        raise refusal(error, subject=ground.target.name) from error
    own = sight.fold.checkpointed_by(planned.id) if own is None else own
    return compared(ground, planned, now, own)


def compared(ground: Ground, planned: Planned, now: Now, own: Mapping[str, str | None]) -> tuple[Difference, ...]:
    """What of a saved plan is not as planned.

    Args:
        ground: the project and target as they are now.
        planned: the saved plan.
        now: the world as it is now.
        own: receipts that runs of this plan left, by item.
    """
    assert planned.body is not None
    texts = Texts(planned=planned.texts, now=texts_now(planned.body, ground.project))
    return differences(planned.body, project=ground.project, target=ground.target, now=now, own=own, texts=texts)


def now_of(ground: Ground, body: PlanBody, sight: Sight, reader: Reader) -> Now:
    """The world as a plan is held against it."""
    catalog = reader.catalog()
    wanted = {pin.source for pin in body.sources}
    sources = dict(discover(ground.project, ground.target, reader, catalog, only=wanted).sources) if wanted else {}
    heads = {head.model: head for head in sight.heads}
    moved = moved_receipts(body, heads)
    return Now(
        ledger=sight.fold.ledger or None,
        warehouse=sight.identity.warehouse if sight.identity is not None else None,
        accepted=sight.fold.accepted_sequence,
        engine=ENGINE,
        semantics_version=SEMANTICS_VERSION,
        catalog=catalog,
        heads=heads,
        sources=sources,
        bound=bound_now(reader, [view for view, _ in views_since(body, catalog, {})]),
        runs={receipt: row.run for receipt, row in reader.receipts(ground.project.id, moved).items()} if moved else {},
    )


def bodies_for(ground: Ground, planned: Planned, sight: Sight, reader: Reader) -> dict[str, ReceiptBody]:
    """What the heads' receipts say of all that a plan touches or reads, by model.

    Each is read and checked once a command: for a plan that was made just now, by its making.

    Raises:
        Refused: K706, a receipt is not what its head names.
        WarehouseError: there was no answer.
    """
    assert planned.body is not None
    wanted = {name for item in planned.body.items for name in (item.head_model, item.renamed_from, *item.reads) if name is not None}
    standing = [head for head in sight.heads if head.model in wanted]
    bodies = {head.model: planned.receipts[head.receipt] for head in standing if head.receipt in planned.receipts}
    try:
        return bodies | read_bodies(reader, ground.project.id, [head for head in standing if head.model not in bodies])
    except Unreadable as error:
        raise unreadable(str(error), ground.target.name) from error


def carry_on(
    place: Site,
    planned: Planned,
    sight: Sight,
    found: tuple[Difference, ...],
    settled: list[Settled],
    run_id: str,
    threads: int,
    fail_fast: bool,  # noqa: FBT001 - passed on as it came
    review: Literal["reviewed", "unreviewed", "open"],
    progress: Callable[[Attempt, str], None],
    planned_is: Callable[[PlanBody], None],
    *,
    continues: str | None = None,
    reason: str = "",
    unbroken: bool = False,
) -> Applied:
    """Carry a sealed plan out; with `continues`, what no run of it has checkpointed yet.

    With `unbroken`, it was made while this session had the database.
    """
    body, ledger, session = planned.body, place.ledger, place.session
    assert body is not None
    assert ledger is not None
    assert session is not None
    ground = place.ground
    place.use_macros(lambda: body.macros)
    reader = session.reader()
    try:
        catalog = reader.catalog()
        bodies = bodies_for(ground, planned, sight, reader)
    except WarehouseError as error:
        raise refusal(error, subject=ground.target.name) from error
    finally:
        reader.close()
    sealed = load(ground.directory, planned.id, {}).body
    assert sealed is not None
    order = Order(
        run=run_id,
        project=ground.project.id,
        plan=planned.id,
        body=body,
        sealed=sealed,
        history=tuple(f"{step.event}: {step.source} → {step.target} {step.evidence}" for step in planned.history),
        authority=sight.finding,
        differences=found,
        spent_by=sight.fold.spent_by(planned.id),
        reason=reason,
        continues=continues,
        done=frozenset(sight.fold.checkpointed_by(planned.id)) if continues is not None else frozenset(),
        review=review,
        catalog=catalog,
        heads={head.model: head for head in sight.heads},
        bodies=bodies,
        attempt_number=lambda key: sight.fold.attempt_number(planned.id, key),
        serial=sight.fold.serial,
        now=stamp(ground.clock()),
        threads=threads,
        fail_fast=fail_fast,
        session=session,
        append=ledger.append,
        sync=ledger.sync,
        tip=lambda: ledger.tip,
        progress=progress,
        marks=Marks(ground.project, ground.target, body.sources, session, catalog, unbroken=unbroken),
        stop=place.stop,
        redact=ground.redact,
        begun=lambda: planned_is(body),
    )
    with interruptible(place.stop, session):
        try:
            carried = carry_out(order)
        except WarehouseError as error:
            raise refusal(error, subject=ground.target.name) from error
    return Applied(run=run_id, planned=planned, carried=carried, settled=tuple(settled), authority=sight.finding, differences=found)


@contextmanager
def interruptible(stop: threading.Event, session: DuckDBSession) -> Iterator[None]:
    """Ctrl-C (and a polite kill) stops the run cleanly; what is in COMMIT is left to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        session.interrupt()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
