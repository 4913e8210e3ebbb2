"""Views that read what a plan makes anew, and that the plan does not make anew: they must not break, or the plan refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.planner.choice import Choice, Desk, columns_left, refuse
from interlock.engine.planner.facts import same_columns
from interlock.engine.warehouse.duckdb.dependents import Place, bindable, names_in
from interlock.engine.warehouse.protocol import RelationSeen
from interlock.machines.actions import MAKES


def made_again(desk: Desk, model: CompiledModel, choice: Choice, chosen: Mapping[str, Choice]) -> Choice:
    """A view that has nothing to do, and cannot be bound before several of the models that it reads are made: it is made after them.

    One of them was dropped by hand. Until it is there again the view does not bind, so it cannot be asked in a transaction of
    another one whether that breaks it.

    Args:
        desk: what may be looked at.
        model: any.
        choice: what is to be done with it.
        chosen: what is to be done with all that it reads.
    """
    if model.kind != "view" or choice.action not in ("no_op", "recheck"):
        return choice
    made = [name for name in (*model.tables_read, *model.views_read) if name in chosen and chosen[name].action in MAKES]
    gone = [name for name in made if desk.seen(desk.compiled.models[name]) is None]
    if not gone or len(made) == 1:
        return choice
    named = ", ".join(f"`{name}`" for name in sorted(gone))
    return Choice(action="replace", reasons=(f"it does not bind until {named} is there again, and is made again after that",))


def readers_of(desk: Desk, chosen: Mapping[str, Choice], gone: frozenset[str | None]) -> dict[str, tuple[RelationSeen, ...]]:
    """By model that is made anew: the views to be bound again in its transaction.

    A view that no model makes and that does not even bind now is somebody else's and decides nothing here; nor does one with a
    token of `gone`, which this plan drops first. One of ours that does not bind before another model is there again is not asked
    in the transaction, where it is shown to bind with all that this plan makes.
    """
    strangers: dict[str, list[RelationSeen]] = {}
    found: dict[str, list[RelationSeen]] = {}
    standing = _standing(desk, chosen)
    for name, choice in chosen.items():
        if choice.action not in MAKES:
            continue
        model = desk.compiled.models[name]
        found[name] = _ours(desk, model, standing)
        for schema, view in desk.facts.dependents.get(_place(model), ()):
            seen = desk.facts.catalog.find(schema, view)
            if seen is not None and (seen.token is None or seen.token not in gone):
                strangers.setdefault(name, []).append(seen)
    if strangers:
        views = [view for listed in strangers.values() for view in listed]
        sound = bindable(desk.facts.catalog, views, {})
        for name, listed in strangers.items():
            found[name] += [view for view in listed if _of(view) in sound]
    for name, waiting in _waiting(desk, chosen, found).items():
        found[name] = [view for view in found[name] if view not in waiting]
    return {name: tuple(sorted(views, key=lambda view: (view.schema, view.name))) for name, views in found.items() if views}


def _waiting(desk: Desk, chosen: Mapping[str, Choice], readers: Mapping[str, list[RelationSeen]]) -> dict[str, list[RelationSeen]]:
    """By model that is made anew: views that cannot be bound with it, since another model's relation is gone, and can once all are there."""
    models = desk.compiled.models
    gone = {_place(model): model for name, model in models.items() if desk.facts.head(name).token is not None and desk.seen(model) is None}
    if not gone:
        return {}
    lacking = {_of(view): (view, lacks) for listed in readers.values() for view in listed if (lacks := _reached(desk, view) & gone.keys())}
    if not lacking:
        return {}
    # What is gone is made again by its file, if not by this plan.
    there = {place: columns_left(desk.facts.body(model.name)) or model.columns for place, model in gone.items()}
    made = [models[name] for name, choice in chosen.items() if choice.action in MAKES]
    there |= {_place(model): model.columns for model in made if model.kind != "snapshot"}
    sound = bindable(desk.facts.catalog, [view for view, _ in lacking.values()], there)
    return {
        name: [view for place, (view, lacks) in lacking.items() if view in listed and place in sound and lacks - {_place(models[name])}]
        for name, listed in readers.items()
    }


def _reached(desk: Desk, view: RelationSeen) -> frozenset[Place]:
    """Every place that a view reads, through other views too."""
    found: set[Place] = set()
    waiting = [view]
    while waiting:
        for place in names_in(waiting.pop()) - found:
            found.add(place)
            seen = desk.facts.catalog.find(*place)
            if seen is not None and seen.kind == "view":
                waiting.append(seen)
    return frozenset(found)


def _of(view: RelationSeen) -> Place:
    return (view.schema.lower(), view.name.lower())


def _standing(desk: Desk, chosen: Mapping[str, Choice]) -> list[tuple[str, RelationSeen, bool]]:
    """Views of the project that stand as they were left and are not made anew: name, what stands, whether it is as its file says."""
    found = []
    for name, view in desk.compiled.models.items():
        choice = chosen.get(name)
        if view.kind != "view" or (choice is not None and choice.action in MAKES):
            continue
        seen, token = desk.seen(view), desk.facts.head(name).token
        if seen is not None and seen.kind == "view" and token is not None and seen.token == token:
            found.append((name, seen, choice is not None and choice.action in ("no_op", "recheck")))
    return found


def _ours(desk: Desk, model: CompiledModel, standing: Iterable[tuple[str, RelationSeen, bool]]) -> list[RelationSeen]:
    """Of these the readers of a model. What a view's file says now counts only where it is selected and kept; else the text that stands tells."""
    children = frozenset(desk.compiled.children.get(model.name, ()))
    return [seen for name, seen, is_kept in standing if name in children or (not is_kept and _names(seen, model))]


def _names(view: RelationSeen, model: CompiledModel) -> bool:
    return model.relation.lower() in (view.text or "").lower() and _place(model) in names_in(view)


def broken_views(
    desk: Desk, chosen: Mapping[str, Choice], readers: Mapping[str, tuple[RelationSeen, ...]], orphans: frozenset[str | None]
) -> dict[str, Choice]:
    """Models that are refused, since a view that reads them would break by their new columns."""
    refused = {}
    for name, views in readers.items():
        model = desk.compiled.models[name]
        seen = desk.seen(model)
        columns = model.columns
        if model.kind == "snapshot" or chosen[name].action == "create" or seen is None or same_columns(seen.columns, columns):
            continue
        sound = bindable(desk.facts.catalog, views, {_place(model): columns})
        broken = [view for view in views if _of(view) not in sound]
        if broken:
            named = ", ".join(f"{view.schema}.{view.name}" for view in broken)
            because = f"with its new columns it would break {named}, which this plan does not make anew"
            if all(view.token is not None and view.token in orphans for view in broken):
                remedy = "no model makes them any more: `--drop-orphans` drops them first, or change them by hand"
            else:
                remedy = "select those views too, change them first, or drop them"
            refused[name] = refuse("P420", because, remedy)
    return refused


def readers_left(
    desk: Desk, model: CompiledModel, old: Place, chosen: Mapping[str, Choice], gone: frozenset[str | None]
) -> tuple[str, ...]:
    """Views that would read nothing once the relation at `old` has the model's name; those with a token of `gone` are dropped anyway."""
    places = desk.facts.dependents.get(old, ())
    strangers = [seen for place in places if (seen := desk.facts.catalog.find(*place)) is not None and seen.token not in gone]
    sound = bindable(desk.facts.catalog, strangers, {}) if strangers else frozenset()
    left = [
        *_ours(desk, model, _standing(desk, chosen)),
        *(view for view in strangers if _of(view) in sound),
    ]
    return tuple(sorted(f"{view.schema}.{view.name}" for view in left))


def _place(model: CompiledModel) -> Place:
    return (model.schema.lower(), model.relation.lower())
