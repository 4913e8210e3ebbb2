"""A plan from facts: every selected model's item, in order, and the body whose digest is the plan's id. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.planner import checks as check_sql
from interlock.engine.planner.asked import all_sources, asked_again, checks_of, reached_by
from interlock.engine.planner.bystanders import broken_views, made_again, readers_of
from interlock.engine.planner.choice import Changing, Choice, Desk
from interlock.engine.planner.choose import choose
from interlock.engine.planner.closure import closure_of, variables_of
from interlock.engine.planner.facts import Facts, target_state
from interlock.engine.planner.frame import AFTER, Frame
from interlock.engine.planner.gates import gated
from interlock.engine.planner.items import build, source_seen
from interlock.engine.planner.options import with_unused
from interlock.engine.planner.orphans import after_drops, drops, orphans_of, place_of, settled, strays_of, tokens
from interlock.engine.planner.plan import Item, Options, OrphanSeen, PlanBody, Selection, SourcePin, UpstreamPin
from interlock.engine.planner.renames import is_remade, moved, moves_in_place, renames
from interlock.engine.planner.sources import freshness_checks, not_fresh, question_of, refused_by_sources, relied_on_in, source_checks_of
from interlock.engine.planner.statements import is_guarded
from interlock.engine.planner.upstreams import moved_upstream
from interlock.engine.project.project import Project
from interlock.engine.warehouse.duckdb import control, write
from interlock.engine.warehouse.duckdb.dependents import Place
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.protocol import RelationSeen, Statement
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.actions import MAKES, WRITES_ROWS
from interlock.machines.evidence import CheckPin, Head
from interlock.machines.records import Record

FORMAT = 1


class Identity(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which ledger and warehouse a plan is made for; `None`s on a fresh start."""

    ledger: str | None
    warehouse: str | None
    serial: int
    accepted: int


def draft(
    *,
    project: Project,
    target: TargetConfig,
    compiled: Compiled,
    facts: Facts,
    selection: Selection,
    options: Options,
    as_of: str,
    moment: datetime,
    identity: Identity,
    bound: Callable[[Sequence[RelationSeen]], frozenset[Place]],
    reads_all: Callable[[Sequence[str]], dict[str, tuple[str, ...]]] = lambda _: {},
) -> PlanBody:
    """The body of the plan.

    Args:
        project: as its files say.
        target: that it is for.
        compiled: the project, compiled for that target, without errors in what is selected.
        facts: the one look at the world.
        selection: what was asked for and what it came to.
        options: of the command line.
        as_of: the plan's time as text.
        moment: the same, as a time.
        identity: which ledger and warehouse it is for.
        bound: which of some views bind in the warehouse as it is.
        reads_all: of models that are extended, what they read whole all the same. It decides nothing, and is noted.
    """
    selected = frozenset(selection.models)
    desk = Desk(compiled=compiled, facts=facts, options=options, target=target, selected=selected, bound=bound)
    items: list[Item] = []
    changing: dict[str, Changing] = {}
    planned: set[str] = set()
    renamed = renames(desk)
    anew = {name: move for name, move in renamed.items() if is_remade(desk, compiled.models[name], move)}
    remade = {move.old.model: name for name, move in anew.items()}
    moves = {**{name: move for name, move in renamed.items() if name not in anew}, **moves_in_place(desk)}
    orphans = (*orphans_of(desk, frozenset(move.old.model for move in moves.values())), *strays_of(desk, moves))
    leaving = drops(desk, [each for each in orphans if options.drop_orphans == "yes" or each.model in remade], remade)
    gone = tokens(leaving)
    desk = replace(desk, orphans=frozenset(each.token for each in orphans if each.seen is not None), leaving=gone)
    readers: dict[str, tuple[RelationSeen, ...]] = {}
    after: list[CompiledModel] = []

    relied_on = relied_on_in(compiled, selected)

    def frame() -> Frame:
        return Frame(
            desk=desk,
            project=project.id,
            as_of=as_of,
            moment=moment,
            planned=frozenset(planned),
            readers=readers,
            relied_on=relied_on,
        )

    chosen: dict[str, Choice] = {}
    for name, model in compiled.models.items():
        if name not in selected or model.kind == "ephemeral":
            continue
        if name in moves:
            choice = Choice(action="move", reasons=())
        else:
            choice = moved_upstream(desk, model, {other: move.body for other, move in moves.items()}) or choose(desk, model, changing)
        choice = made_again(desk, model, choice, chosen)
        choice = with_unused(desk, model, refused_by_sources(compiled, model, choice, facts.said) or choice)
        chosen[name] = choice
        if choice.action != "no_op":
            planned.add(name)
        if choice.action in WRITES_ROWS or choice.action == "move":
            changing[name] = "relation" if choice.action in MAKES else "rows"
    readers = readers_of(desk, chosen, gone)
    chosen.update(broken_views(desk, chosen, readers, frozenset(each.token for each in orphans)))
    extends = [name for name, choice in chosen.items() if choice.action in ("append", "merge", "replace_range") and not choice.backfill]
    desk = replace(desk, facts=structs.replace(facts, reads_all=reads_all(extends) if extends else {}))
    for name, choice in chosen.items():
        model = compiled.models[name]
        item = moved(frame(), model, moves[name], chosen, gone) if name in moves else build(frame(), model, choice)
        items.append(after_drops(desk, item, place_of(model), leaving))
        if any(check.check.after == "publication" for check in model.checks) and item.action not in ("refuse", "drop", "move"):
            after.append(model)
    for model in after:
        again = _recheck_after(frame(), model, {item.model: item for item in items}, changing)
        if again is not None:
            items.append(again)
    items = gated(items)
    items += settled(desk, leaving, orphans, remade, chosen, {item.model: item.layer for item in items})
    touched = _closure_models(compiled, selected)
    return PlanBody(
        format=FORMAT,
        semantics_version=compiled.semantics_version,
        project=project.id,
        ledger=identity.ledger,
        warehouse=identity.warehouse,
        serial=identity.serial,
        accepted=identity.accepted,
        target=target.name,
        target_schema=target.schema,
        as_of=as_of,
        engine=compiled.engine,
        selection=selection,
        options=options,
        layers=_layers(items),
        closure=closure_of(project, target, compiled, touched),
        variables=variables_of(project, compiled, touched),
        sources=_source_pins(desk, items, as_of),
        upstreams=_upstreams(desk),
        items=tuple(items),
        orphans=tuple(OrphanSeen(model=each.model, relation=each.relation) for each in orphans),
        macros=compiled.macros,
    )


def _recheck_after(frame: Frame, model: CompiledModel, items: Mapping[str, Item], changing: Mapping[str, Changing]) -> Item | None:
    """Checks after publication: asked after what they read is checkpointed, so they cannot roll it back."""
    first = items[model.name]
    desk = frame.desk
    checks = checks_of(model, "publication")
    reached = reached_by(desk.compiled, model, "publication")
    body = desk.facts.body(model.name)
    known = {verdict.check for verdict in body.verdicts} if body is not None else set()
    missing = [f"check `{check.check.name}` was not answered yet" for check in checks if check.check.name not in known]
    does = first.action != "no_op"
    again = (
        *asked_again(desk, model, body, changing, "publication"),
        *(because for _, because, _ in not_fresh(desk.compiled, reached.sources, desk.facts.said)),
    )
    if not (does or again or missing):
        return None
    reasons = ("its checks after publication are asked", *(() if does else (*missing, *again)))
    item = build(frame, model, Choice(action="recheck", reasons=reasons))
    rel = relation(model.schema, model.relation)
    probes = [probe for check in checks if (probe := check_sql.probe(check, rel, frame.as_of)) is not None]
    own = [statement for check in checks if (statement := check_sql.statement(check, rel)) is not None]
    statements: list[Statement] = [control.READ_HEADS]
    if item.relation_kind == "table":
        statements.append(write.count_before(rel, content=is_guarded(model) and not does))
    if probes or item.relation_kind == "table":
        statements.append(write.look(rel, not_null=(), cursor=None, old=None, key=(), width=None, probes=probes, content=False))
    statements += [*own, control.INSERT_RECEIPT, control.FENCE]
    reads = tuple(sorted({*item.reads, *reached.models}))
    seen = {each.source: each for each in item.sources}
    upstreams = {name for name in reads if name in frame.planned} | ({model.name} if does else set())
    return structs.replace(
        item,
        model=f"{model.name}{AFTER}",
        statements=tuple(statements),
        checks=tuple(CheckPin(check=check.check.name, severity=check.check.severity) for check in checks),
        contract=(),
        reads=reads,
        reads_planned={name: desk.facts.head(name).receipt for name in reads if name not in frame.planned},
        source_checks=source_checks_of(desk.compiled, model, "recheck", frame.relied_on.get(model.name, {}), reached.sources),
        sources=tuple(seen.get(name) or source_seen(desk, name) for name in sorted({*seen, *reached.sources})),
        upstreams=tuple(sorted(upstreams)),
        follows=model.name if does else None,
        head=item.head if not does else Head(),
        layer=max([item.layer, *(items[name].layer for name in reached.models if name in items)]) + 1,
    )


def _layers(items: list[Item]) -> tuple[tuple[str, ...], ...]:
    layers: dict[int, list[str]] = {}
    for item in items:
        layers.setdefault(item.layer, []).append(item.model)
    return tuple(tuple(sorted(layers[number])) for number in sorted(layers))


def _closure_models(compiled: Compiled, selected: frozenset[str]) -> frozenset[str]:
    """The selected models and everything above them."""
    found: set[str] = set()
    stack = list(selected)
    while stack:
        name = stack.pop()
        if name in found:
            continue
        found.add(name)
        stack.extend(compiled.models[name].references)
    return frozenset(found)


def _source_pins(desk: Desk, items: Sequence[Item], as_of: str) -> tuple[SourcePin, ...]:
    compiled = desk.compiled
    names = sorted({source for name in desk.selected for source in all_sources(compiled, compiled.models[name])})
    checks = [check for item in items for check in item.source_checks]
    pins = []
    for name in names:
        source = compiled.sources[name]
        question = question_of(source, (*freshness_checks(source), *checks), as_of)
        pins.append(
            SourcePin(
                source=name,
                columns=source.observed or source.columns,
                files=source.files,
                question=question if question.checks else None,
                said=desk.facts.said.get(name, ()),
            )
        )
    return tuple(pins)


def _upstreams(desk: Desk) -> tuple[UpstreamPin, ...]:
    names: set[str] = set()
    for name in desk.selected:
        model = desk.compiled.models[name]
        names |= {*model.references, *model.tables_read, *model.views_read}
    pins = []
    for name in sorted(names - desk.selected):
        model = desk.compiled.models[name]
        if model.kind == "ephemeral":
            continue
        head = desk.facts.head(name)
        body = desk.facts.body(name)
        pins.append(
            UpstreamPin(
                model=name,
                definition=body.digests.definition if body is not None else "",
                columns=body.shape if body is not None else (),
                token=head.token,
                receipt=head.receipt,
                relation=f"{model.schema}.{model.relation}" if target_state(desk.facts, name, desk.seen(model)) == "as_left" else "",
            )
        )
    return tuple(pins)
