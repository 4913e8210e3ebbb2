"""Relations that no model makes any more: listed, and dropped only where that is asked and nothing is left that reads them. Pure.

They were made for models that the project no longer has, or that have another schema or alias now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.compiler.names import physical
from interlock.engine.planner.choice import EXTENDED, Choice, Desk, refuse
from interlock.engine.planner.choose import left_behind
from interlock.engine.planner.facts import head_of
from interlock.engine.planner.items import drop_item
from interlock.engine.planner.plan import Item
from interlock.engine.warehouse.duckdb.dependents import Place, names_in
from interlock.engine.warehouse.protocol import HeadRow, RelationSeen
from interlock.machines.actions import MAKES
from interlock.machines.evidence import Present, ReceiptBody


class Orphan(NamedTuple):
    """A relation of ours that no model makes any more."""

    key: str
    """Of its item, and of the head that a drop stands on: the deleted model, or the relation's own name where the model lives on."""
    model: str
    relation: str
    head: HeadRow
    token: str | None
    body: ReceiptBody | None
    seen: RelationSeen | None

    @property
    def place(self) -> Place:
        """Where it stands, as the warehouse compares names."""
        schema, _, name = self.relation.lower().partition(".")
        return schema, name


def orphans_of(desk: Desk, moved: frozenset[str]) -> list[Orphan]:
    """Of models that are gone from the project, and whose relations may still stand."""
    found = []
    for head in sorted(desk.facts.heads.values(), key=lambda head: head.model):
        known = desk.compiled.models.get(head.model)
        if head.token is None or head.model in moved or (known is not None and known.kind != "ephemeral"):
            continue
        body, seen = desk.facts.body(head.model), _seen(desk, head)
        if body is not None and seen is None and desk.facts.catalog.find(*body.relation.split(".", 1)) is None:
            continue  # somebody dropped it already: nothing is left to do, and nothing to refuse
        if body is not None and seen is not None and f"{seen.schema}.{seen.name}".lower() != body.relation.lower():
            continue  # somebody renamed it: it is theirs
        if seen is None and (body is None or _is_taken(desk, body)):
            continue  # its relation is not there, or another model took it over
        relation = body.relation if body is not None else f"{seen.schema}.{seen.name}" if seen is not None else ""
        found.append(Orphan(head.model, head.model, relation, head, head.token, body, seen))
    return found


def _is_taken(desk: Desk, body: ReceiptBody) -> bool:
    """Whether what stands where a receipt left its relation carries another model's token: `adopt` took it over."""
    seen = desk.facts.catalog.find(*body.relation.split(".", 1))
    return seen is not None and any(head.token is not None and head.token == seen.token for head in desk.facts.heads.values())


def strays_of(desk: Desk, moved: Collection[str]) -> list[Orphan]:
    """At former places of models: left by earlier plans, and by what this one makes at another place instead of moving it."""
    found = []
    for place, body in desk.facts.strays.items():
        seen = desk.facts.catalog.find(*place)
        if seen is not None and not _is_replaced(desk, place, body.model):
            found.append(_stray(desk, body.model, seen, body))
    for name in sorted(desk.selected - frozenset(moved)):
        if desk.compiled.models[name].kind == "ephemeral":
            continue  # it is made nowhere: what it left is an orphan by its own head
        before, receipt = left_behind(desk, desk.compiled.models[name]), desk.facts.body(name)
        if before is not None and receipt is not None:
            found.append(_stray(desk, name, before, receipt))
    return sorted(found, key=lambda stray: stray.relation)


def _is_replaced(desk: Desk, place: Place, name: str) -> bool:
    """Whether what stands there is in the way of its own model, which is selected and makes it anew: then it is no orphan."""
    model = desk.compiled.models.get(name)
    if name not in desk.selected or model is None or place_of(model) != place:
        return False
    return model.kind not in (*EXTENDED, "ephemeral") or name in (*desk.options.full_refresh, desk.options.adopt)


def _stray(desk: Desk, model: str, seen: RelationSeen, body: ReceiptBody) -> Orphan:
    relation = f"{seen.schema}.{seen.name}"
    return Orphan(relation, model, relation, desk.facts.head(relation), seen.token, body, seen)


def _seen(desk: Desk, head: HeadRow) -> RelationSeen | None:
    return next((seen for seen in desk.facts.catalog.relations.values() if seen.token == head.token), None)


# --- dropping them ----------------------------------------------------------------------------------------------------


def drops(desk: Desk, leaving: Sequence[Orphan], remade: Mapping[str, str]) -> tuple[Item, ...]:
    """What is dropped, or refused since something reads it that stays. What is dropped beside it does not count, and goes first."""
    gone = {each.token for each in leaving}
    while True:
        items = tuple(_drop(desk, each, remade.get(each.model), frozenset(gone)) for each in leaving)
        stays = {each.token for each, item in zip(leaving, items, strict=True) if item.action != "drop"} & gone
        if not stays:
            break
        gone -= stays
    dropped = [item for item in items if item.action == "drop"]
    return tuple(after_drops(desk, item, (item.schema.lower(), item.relation.lower()), dropped) for item in items)


def tokens(items: Sequence[Item]) -> frozenset[str | None]:
    """Tokens of the relations that these items drop."""
    return frozenset(item.target.token for item in items if item.action == "drop" and isinstance(item.target, Present))


def after_drops(desk: Desk, item: Item, place: Place, dropped: Sequence[Item]) -> Item:
    """An item that begins only when the dropped views that read its relation are gone, so that nobody finds one of them broken."""
    readers = desk.facts.dependents.get(place, ())
    names = {each.model for each in dropped if (each.schema, each.relation) in readers}
    if item.action in ("refuse", "no_op") or not names:
        return item
    return msgspec.structs.replace(item, upstreams=tuple(sorted({*item.upstreams, *names})))


def settled(
    desk: Desk,
    items: Sequence[Item],
    orphans: Sequence[Orphan],
    remade: Mapping[str, str],
    chosen: Mapping[str, Choice],
    layers: Mapping[str, int],
) -> list[Item]:
    """The drops beside everything else that the plan does.

    A table goes only after what is made in its place, and after the views that read it until then. A view holds no rows, and
    goes first. What one of the project's own views still reads, since this plan does not make it anew, stays.

    Args:
        desk: what may be looked at.
        items: as `drops` made them.
        orphans: among them those that these items drop.
        remade: by former name of a model: the one that this plan makes in its place.
        chosen: what this plan does with each model.
        layers: of its other items.
    """
    by_key = {each.key: each for each in orphans}
    views = {place_of(model): name for name, model in desk.compiled.models.items() if model.kind == "view"} if items else {}
    reads = {name: names_in(seen) for place, name in views.items() if (seen := desk.facts.catalog.find(*place)) is not None}
    found = []
    for item in items:
        each = by_key[item.model]
        made_instead = remade.get(each.model, each.model)
        if item.action != "drop" or each.body is None:
            found.append(item)
            continue
        if made_instead in chosen and chosen[made_instead].action == "refuse" and desk.facts.head(each.model).token == each.token:
            continue  # what would stand in its place is refused
        readers = [name for name, read in reads.items() if each.place in read]
        left = [f"view `{name}`" for name in readers if name not in chosen or chosen[name].action not in MAKES]
        left += [f"source `{name}`" for name in desk.compiled.sources if _is_at(desk, name, each.place)]
        if left:
            because = f"it is read by {', '.join(left)}, which would break"
            found.append(_refused(each, each.body, "P420", because, "take those along, or change them first"))
            continue
        awaited = made_instead in chosen and chosen[made_instead].action != "no_op" and not _is_in_the_way(desk, each)
        after = {*readers, *([made_instead] if awaited else [])}
        is_table = isinstance(item.target, Present) and item.target.kind == "table"
        found.append(msgspec.structs.replace(item, upstreams=tuple(sorted({*item.upstreams, *after}))) if is_table else item)
    known = dict(layers)
    for _ in found:
        known.update({item.model: max((known.get(name, 0) + 1 for name in item.upstreams), default=0) for item in found})
    return [msgspec.structs.replace(item, layer=known[item.model]) for item in found]


def _is_in_the_way(desk: Desk, each: Orphan) -> bool:
    """Whether it stands where its own model belongs, which does not go on before it is dropped."""
    model = desk.compiled.models.get(each.model)
    return each.key != each.model and model is not None and place_of(model) == each.place


def place_of(model: CompiledModel) -> Place:
    """Where a model's relation stands, as the warehouse compares names."""
    return (model.schema.lower(), model.relation.lower())


def _is_at(desk: Desk, source: str, place: Place) -> bool:
    schema, name = physical(desk.compiled.sources[source].source, desk.target)
    return (schema.lower(), name.lower()) == place


def _drop(desk: Desk, each: Orphan, successor: str | None, gone: frozenset[str | None]) -> Item:
    if each.body is None:
        message = f"receipt of {each.model} was not read"
        raise AssertionError(message)
    if each.seen is None:
        return _refused(
            each,
            each.body,
            "P417",
            f"{each.relation} was replaced: what stands there is not ours",
            "move it away or drop it by hand; without --drop-orphans it stays",
        )
    places = desk.facts.dependents.get(each.place, ())
    readers = [place for place in places if (found := desk.facts.catalog.find(*place)) is not None and found.token not in gone]
    if readers:
        because = f"it is read by {', '.join(f'{a}.{b}' for a, b in readers)}, which would break"
        return _refused(each, each.body, "P420", because, "drop those views first")
    reason = "the project has no such model any more, and --drop-orphans was asked"
    if successor is not None:
        reason = f"it was renamed, and is made under its new name `{successor}`"
    elif each.key != each.model:
        now = desk.compiled.models.get(each.model)
        reason = f"`{each.model}` stands at {now.schema}.{now.relation} now" if now is not None else f"`{each.model}` was moved away"
        reason += ", and --drop-orphans was asked"
    return drop_item(each.key, each.head, each.token, each.body, each.seen, reason)


def _refused(each: Orphan, body: ReceiptBody, code: str, because: str, remedy: str) -> Item:
    schema, _, name = each.relation.partition(".")
    choice = refuse(code, because, remedy)
    return Item(
        model=each.key,
        kind="orphan",
        action="refuse",
        reasons=choice.reasons,
        schema=schema,
        relation=name,
        layer=0,
        digests=body.digests,
        relation_kind="none",
        head=head_of(each.head, body),
        refusal=choice.refusal,
    )
