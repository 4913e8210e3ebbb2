"""A plan from facts: every selected model's item, in order, and the body whose digest is the plan's id. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.planner import checks as check_sql
from interlock.engine.planner.bystanders import broken_views, readers_left, readers_of
from interlock.engine.planner.choice import Changing, Choice, Desk, refuse
from interlock.engine.planner.choose import choose
from interlock.engine.planner.closure import closure_of, variables_of
from interlock.engine.planner.facts import Facts, target_state
from interlock.engine.planner.frame import AFTER, Frame
from interlock.engine.planner.items import build, move_item
from interlock.engine.planner.orphans import after_drops, drops, orphans_of, place_of, relation_of, tokens, why_dropped
from interlock.engine.planner.plan import WRITES_ROWS, Item, Options, OrphanSeen, PlanBody, Selection, SourcePin, UpstreamPin
from interlock.engine.planner.sources import freshness_checks, question_of, refused_by_sources, relied_on_in
from interlock.engine.planner.upstreams import moved_upstream
from interlock.engine.project.project import Project
from interlock.engine.warehouse.duckdb import control, write
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.protocol import HeadRow, RelationSeen, Statement
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import CheckPin, Head, ReceiptBody
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
    """
    selected = frozenset(selection.models)
    desk = Desk(compiled=compiled, facts=facts, options=options, target=target, selected=selected)
    items: list[Item] = []
    changing: dict[str, Changing] = {}
    planned: set[str] = set()
    renamed = _renamed(desk, selected)
    moves = {name: move for name, move in renamed.items() if not _remade(compiled.models[name], move[2])}
    orphans = orphans_of(desk, frozenset(old for old, _, _ in moves.values() if old))
    former = {move[1].model for name, move in renamed.items() if name not in moves}
    leaving = drops(desk, [(head, reason) for head in orphans if (reason := why_dropped(head, options, former))])
    gone = tokens(leaving)
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
            choice = moved_upstream(desk, model, {other: move[2] for other, move in moves.items()}) or choose(desk, model, changing)
        choice = refused_by_sources(compiled, model, choice, facts.said) or choice
        chosen[name] = choice
        if choice.action != "no_op":
            planned.add(name)
        if choice.action in WRITES_ROWS or choice.action == "move":
            changing[name] = "relation" if choice.action in ("create", "replace", "convert") else "rows"
    readers = readers_of(desk, chosen, gone)
    chosen.update(broken_views(desk, chosen, readers, orphans))
    for name, choice in chosen.items():
        model = compiled.models[name]
        item = _moved(frame(), model, moves[name], chosen, gone) if name in moves else build(frame(), model, choice)
        items.append(after_drops(desk, item, place_of(model), leaving))
        if any(check.check.after == "publication" for check in model.checks) and item.action not in ("refuse", "drop", "move"):
            after.append(model)
    for model in after:
        again = _recheck_after(frame(), model, {item.model: item for item in items}, changing)
        if again is not None:
            items.append(again)
    items += leaving
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
        orphans=tuple(OrphanSeen(model=head.model, relation=relation_of(desk, head)) for head in orphans),
        macros=compiled.macros,
    )


def _moved(
    frame: Frame,
    model: CompiledModel,
    move: tuple[str, HeadRow, ReceiptBody | None],
    chosen: Mapping[str, Choice],
    gone: frozenset[str | None],
) -> Item:
    old_name, old, body = move
    if body is None:
        return build(frame, model, refuse("P424", f"the receipt of `{old_name}` cannot be read", "see `interlock status`"))
    schema, name = body.relation.split(".", 1)
    seen = frame.desk.facts.catalog.find(schema, name)
    if seen is None or seen.token != old.token:
        because = f"{body.relation} is not as the receipt of `{old_name}` left it"
        return build(frame, model, refuse("P424", because, "take `renamed_from` out to build it anew"))
    if schema != model.schema:
        because = f"it stands in schema `{schema}`, and the model makes it in `{model.schema}`: a relation cannot move between schemas"
        return build(frame, model, refuse("P424", because, f'set `schema = "{schema}"`, or take `renamed_from` out to build it anew'))
    standing = frame.desk.seen(model)
    if standing is not None and (standing.schema, standing.name) != (seen.schema, seen.name):
        return build(
            frame, model, refuse("P424", f"{model.schema}.{model.relation} is there already", "move it away, or take `renamed_from` out")
        )
    place = (schema.lower(), name.lower())
    left = readers_left(frame.desk, model, place, chosen, gone) if name.lower() != model.relation.lower() else ()
    if left:
        because = f"{body.relation} is read by {', '.join(left)}, which would break under its new name"
        return build(frame, model, refuse("P420", because, "select those views too, change them first, or drop them"))
    return move_item(frame, model, old, body, name)


def _renamed(desk: Desk, selected: frozenset[str]) -> dict[str, tuple[str, HeadRow, ReceiptBody | None]]:
    """Models with a former name: only while the old head has a token and the new one none."""
    found = {}
    for name in sorted(selected):
        model = desk.compiled.models[name]
        old_name = model.file.renamed_from
        if not old_name or model.kind == "ephemeral" or old_name in desk.compiled.models:
            continue
        old, new = desk.facts.head(old_name), desk.facts.head(name)
        if old.token is not None and new.token is None:
            found[name] = (old_name, old, desk.facts.body(old_name))
    return found


def _remade(model: CompiledModel, body: ReceiptBody | None) -> bool:
    """Whether a renamed model is made anew and the old relation dropped, instead of moved.

    So it is for a view at another name: it holds no rows, and what it reads may have been renamed beside it, so that a view
    that was only moved would be broken until the next run.
    """
    return body is not None and body.kind == "view" and model.kind == "view" and body.relation != f"{model.schema}.{model.relation}"


def _recheck_after(frame: Frame, model: CompiledModel, items: Mapping[str, Item], changing: Mapping[str, Changing]) -> Item | None:
    """Checks after publication: asked after what they read is checkpointed, so they cannot roll it back."""
    first = items[model.name]
    checks = tuple(check for check in model.checks if check.check.after == "publication")
    asked = {name for check in checks for name in check.reads} - {model.name}
    body = frame.desk.facts.body(model.name)
    known = {verdict.check for verdict in body.verdicts} if body is not None else set()
    moved = [name for name in sorted(asked) if name in changing]
    missing = [check.check.name for check in checks if check.check.name not in known]
    does = first.action != "no_op"
    if not (does or moved or missing):
        return None
    reasons = ("its checks after publication are asked",)
    choice = Choice(action="recheck", reasons=reasons)
    item = build(frame, model, choice)
    rel = relation(model.schema, model.relation)
    probes = [probe for check in checks if (probe := check_sql.probe(check, rel, frame.as_of)) is not None]
    own = [statement for check in checks if (statement := check_sql.statement(check, rel)) is not None]
    statements: list[Statement] = [control.READ_HEADS]
    if item.relation_kind == "table":
        statements.append(write.count_before(rel, content=False))
    if probes or item.relation_kind == "table":
        statements.append(write.look(rel, not_null=(), cursor=None, old=None, key=(), width=None, probes=probes, content=False))
    statements += [*own, control.INSERT_RECEIPT, control.FENCE]
    reads = tuple(sorted({*item.reads, *asked}))
    upstreams = {name for name in reads if name in frame.planned} | ({model.name} if does else set())
    return _replace(
        item,
        model=f"{model.name}{AFTER}",
        statements=tuple(statements),
        checks=tuple(CheckPin(check=check.check.name, severity=check.check.severity) for check in checks),
        contract=(),
        reads=reads,
        reads_planned={name: frame.desk.facts.head(name).receipt for name in reads if name not in frame.planned},
        upstreams=tuple(sorted(upstreams)),
        follows=model.name if does else None,
        head=item.head if not does else Head(),
        layer=max([item.layer, *(items[name].layer for name in asked if name in items)]) + 1,
    )


def _replace(item: Item, **changes: object) -> Item:
    import msgspec  # noqa: PLC0415 - one use

    return msgspec.structs.replace(item, **changes)


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
    names = sorted({source for name in desk.selected for source in compiled.models[name].sources_read})
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
