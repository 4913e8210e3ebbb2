"""Relations of models that the project no longer has: listed, and dropped only where that is asked and nothing is left that reads them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.planner.choice import Desk, refuse
from interlock.engine.planner.facts import head_of
from interlock.engine.planner.items import drop_item
from interlock.engine.planner.plan import Item, Options
from interlock.engine.warehouse.duckdb.dependents import Place
from interlock.engine.warehouse.protocol import HeadRow, RelationSeen
from interlock.machines.evidence import ReceiptBody


def orphans_of(desk: Desk, moved: frozenset[str]) -> list[HeadRow]:
    """Heads of models that are gone from the project, and whose relations may still stand."""

    def is_orphan(head: HeadRow) -> bool:
        known = desk.compiled.models.get(head.model)
        left = head.token is not None and head.model not in moved and (known is None or known.kind == "ephemeral")
        return left and not _is_gone(desk, head)

    return sorted((head for head in desk.facts.heads.values() if is_orphan(head)), key=lambda head: head.model)


def relation_of(desk: Desk, head: HeadRow) -> str:
    """Where an orphan stands."""
    body = desk.facts.body(head.model)
    if body is not None:
        return body.relation
    seen = _seen(desk, head)
    return "" if seen is None else f"{seen.schema}.{seen.name}"


def why_dropped(head: HeadRow, options: Options, former: set[str]) -> str:
    """Why this plan drops an orphan; empty where it does not."""
    if options.drop_orphans == "yes":
        return "the project has no such model any more, and --drop-orphans was asked"
    return "the view was renamed, and is made under its new name" if head.model in former else ""


def drops(desk: Desk, leaving: Sequence[tuple[HeadRow, str]]) -> tuple[Item, ...]:
    """What is dropped, or refused since something reads it that stays. What is dropped beside it does not count, and goes first."""
    gone = {head.token for head, _ in leaving}
    while True:
        items = tuple(_drop(desk, head, reason, frozenset(gone)) for head, reason in leaving)
        stays = {head.token for (head, _), item in zip(leaving, items, strict=True) if item.action != "drop"} & gone
        if not stays:
            break
        gone -= stays
    dropped = [item for item in items if item.action == "drop"]
    return tuple(after_drops(desk, item, (item.schema.lower(), item.relation.lower()), dropped) for item in items)


def tokens(items: Sequence[Item]) -> frozenset[str | None]:
    """Tokens of the relations that these items drop."""
    return frozenset(item.head.token for item in items if item.action == "drop")


def after_drops(desk: Desk, item: Item, place: Place, dropped: Sequence[Item]) -> Item:
    """An item that begins only when the dropped views that read its relation are gone, so that nobody finds one of them broken."""
    readers = desk.facts.dependents.get(place, ())
    names = {each.model for each in dropped if (each.schema, each.relation) in readers}
    if item.action in ("refuse", "no_op") or not names:
        return item
    return msgspec.structs.replace(item, upstreams=tuple(sorted({*item.upstreams, *names})))


def place_of(model: CompiledModel) -> Place:
    """Where a model's relation stands, as the warehouse compares names."""
    return (model.schema.lower(), model.relation.lower())


def _is_gone(desk: Desk, head: HeadRow) -> bool:
    """Whether somebody dropped it already: then nothing is left to do, and nothing to refuse."""
    body = desk.facts.body(head.model)
    if body is None or _seen(desk, head) is not None:
        return False
    return desk.facts.catalog.find(*body.relation.split(".", 1)) is None


def _seen(desk: Desk, head: HeadRow) -> RelationSeen | None:
    return next((seen for seen in desk.facts.catalog.relations.values() if seen.token == head.token), None)


def _drop(desk: Desk, head: HeadRow, reason: str, gone: frozenset[str | None]) -> Item:
    body, seen = desk.facts.body(head.model), _seen(desk, head)
    if body is None:
        message = f"receipt of {head.model} was not read"
        raise AssertionError(message)
    schema, name = body.relation.split(".", 1)
    if seen is None:
        return _refused(head, body, "P417", f"{body.relation} was replaced: what stands there is not ours", "drop it by hand")
    places = desk.facts.dependents.get((schema.lower(), name.lower()), ())
    readers = [place for place in places if (found := desk.facts.catalog.find(*place)) is not None and found.token not in gone]
    if readers:
        because = f"it is read by {', '.join(f'{a}.{b}' for a, b in readers)}, which would break"
        return _refused(head, body, "P420", because, "drop those views first")
    return drop_item(head, body, seen.schema, seen.name, seen.kind, reason)


def _refused(head: HeadRow, body: ReceiptBody, code: str, because: str, remedy: str) -> Item:
    schema, name = body.relation.split(".", 1)
    choice = refuse(code, because, remedy)
    return Item(
        model=head.model,
        kind="orphan",
        action="refuse",
        reasons=choice.reasons,
        schema=schema,
        relation=name,
        layer=0,
        digests=body.digests,
        relation_kind="none",
        head=head_of(head, body),
        refusal=choice.refusal,
    )
