"""Relations that move to another name with all that is known of them, and those that are rather made anew. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.planner.bystanders import readers_left
from interlock.engine.planner.choice import EXTENDED, Choice, Desk, definition_moved, refuse, relation_kind
from interlock.engine.planner.choose import DROPPED_NOW, former_place
from interlock.engine.planner.facts import is_adopted
from interlock.engine.planner.frame import Frame
from interlock.engine.planner.items import build, move_item
from interlock.engine.planner.plan import Item
from interlock.engine.warehouse.protocol import HeadRow, RelationSeen
from interlock.machines.evidence import ReceiptBody


class Move(NamedTuple):
    """From the head of a former name, or from the model's own where only its alias is another."""

    old: HeadRow
    body: ReceiptBody | None


def moved(frame: Frame, model: CompiledModel, move: Move, chosen: Mapping[str, Choice], gone: frozenset[str | None]) -> Item:
    """The item that moves a relation, or why it cannot move."""
    old, body = move
    if body is None:
        return build(frame, model, refuse("P424", f"the receipt of `{old.model}` cannot be read", "see `interlock status`"))
    otherwise = "set its alias back" if old.model == model.name else "take `renamed_from` out to build it anew"
    schema, name = body.relation.split(".", 1)
    seen = frame.desk.facts.catalog.find(schema, name)
    standing = frame.desk.seen(model)
    if seen is None or seen.token != old.token:
        return build(frame, model, _is_elsewhere(frame.desk, model, move, body, standing))
    if schema != model.schema:
        because = f"it stands in schema `{schema}`, and the model makes it in `{model.schema}`: a relation cannot move between schemas"
        return build(frame, model, refuse("P424", because, f'set `schema = "{schema}"`, or {otherwise}'))
    if standing is not None and (standing.schema, standing.name) != (seen.schema, seen.name):
        because = f"{model.schema}.{model.relation} is there already, and {body.relation} cannot take its name"
        return build(frame, model, refuse("P424", because, _to_free(frame.desk, standing)))
    place = (schema.lower(), name.lower())
    left = readers_left(frame.desk, place, chosen, gone) if name.lower() != model.relation.lower() else ()
    if left:
        because = f"{body.relation} is read by {', '.join(left)}, which would break under its new name"
        return build(frame, model, refuse("P420", because, "select those views too, change them first, or drop them"))
    return move_item(frame, model, old, body, name)


def _is_elsewhere(desk: Desk, model: CompiledModel, move: Move, body: ReceiptBody, standing: RelationSeen | None) -> Choice:
    """What was to be moved is not where its receipt left it. Without `renamed_from` the model is made anew where nothing is in its way."""
    there = next((seen for seen in desk.facts.catalog.relations.values() if seen.token == move.old.token), None)
    because = f"{body.relation} is not as the receipt of `{move.old.model}` left it"
    if there is not None:
        because += f": somebody renamed it: it stands at {there.schema}.{there.name}"
    again = (
        f"rename it to {body.relation} again" if there is not None and desk.facts.catalog.find(*body.relation.split(".", 1)) is None else ""
    )
    if standing is None:
        remedies = [again, "take `renamed_from` out to build it anew"]
    elif there is standing:
        remedies = [again, "take it as it is with `interlock adopt MODEL`"]
    else:
        remedies = [f"{model.schema}.{model.relation} is there: {_to_free(desk, standing)}"]
    return refuse("P424", because, ", or ".join(each for each in remedies if each), model=model.name)


def _to_free(desk: Desk, standing: RelationSeen) -> str:
    """What frees the place that a relation is to move to."""
    if standing.token in desk.leaving:
        return DROPPED_NOW
    if standing.token in desk.orphans:
        return "drop what stands there with `--drop-orphans`, and run again; or give the model another `alias`"
    return "rename or drop it yourself and run again, or give the model another `alias`"


def renames(desk: Desk) -> dict[str, Move]:
    """Models with a former name: only while the old head has a token and the new one none."""
    found = {}
    for name in sorted(desk.selected):
        model = desk.compiled.models[name]
        old_name = model.file.renamed_from
        if not old_name or model.kind == "ephemeral" or old_name in desk.compiled.models or desk.options.adopt == name:
            continue
        old, new = desk.facts.head(old_name), desk.facts.head(name)
        if old.token is not None and new.token is None:
            found[name] = Move(old, desk.facts.body(old_name))
    return found


def is_remade(desk: Desk, model: CompiledModel, move: Move) -> bool:
    """Whether a renamed model is made anew and the old relation dropped, instead of moved.

    So it is where nothing is lost by it and a move would not do: for a view at another name (what it reads may have been
    renamed beside it, so that a view that was only moved would be broken until the next run); for a table or seed whose text
    changed too, or that was adopted, which is made anew in any case; and where the relation would have to move to another schema.
    """
    body = move.body
    if body is None or body.relation == f"{model.schema}.{model.relation}" or {body.materialized, model.kind} & EXTENDED:
        return False
    if body.kind != relation_kind(model) or body.kind == "view" or not body.relation.startswith(f"{model.schema}."):
        return True
    return is_adopted(body) or bool(definition_moved(desk.compiled, model, body))


def moves_in_place(desk: Desk) -> dict[str, Move]:
    """Models whose rows took time to collect and whose alias alone is another: the relation takes its new name, and stays theirs."""
    found = {}
    for name in sorted(desk.selected):
        model = desk.compiled.models[name]
        if model.kind not in EXTENDED or name in desk.options.full_refresh or desk.options.adopt == name:
            continue
        before = former_place(desk, model)
        if before is not None and before.schema == model.schema:
            found[name] = Move(desk.facts.head(name), desk.facts.body(name))
    return found
