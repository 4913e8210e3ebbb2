"""Views that read what a plan makes anew, and that the plan does not make anew: they must not break, or the plan refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.planner.choice import Choice, Desk, columns_left, refuse
from interlock.engine.planner.facts import same_columns
from interlock.engine.planner.frame import new_columns
from interlock.engine.warehouse.duckdb.dependents import Place, behind, names_in, place_in
from interlock.engine.warehouse.duckdb.shadows import bindable, broken_by
from interlock.engine.warehouse.protocol import RelationSeen
from interlock.machines.actions import MAKES
from interlock.machines.evidence import Column


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
    """By model whose relation is made anew, or gets columns: the views to be bound in its transaction, which read it.

    Those that read it through others are among them where its columns are not what they were: else what is between stays as it is.
    A view that no model makes and that does not even bind now is somebody else's and decides nothing here; nor does one with a
    token of `gone`, which this plan drops first. What is read through a view that the plan makes anew is asked when that is made.
    A view that cannot be bound before something else is made as well is not asked here either, where it is asked then, or is shown
    to bind with all that this plan makes.
    """
    shaped = [name for name, choice in chosen.items() if _is_shaped(choice)]
    if not shaped:
        return {}
    models = desk.compiled.models
    strangers, ours = _strangers(desk, gone), _ours(desk, chosen)
    readers = _by_place([*strangers, *ours])
    found = {name: _asked_with(desk, models[name], chosen[name], readers) for name in shaped}
    asked = {place: view for views in found.values() for place, view in views.items()}
    foreign = [view for view, _ in strangers if place_in(view) in asked]
    broken = frozenset(place_in(view) for view in foreign) - desk.bound(foreign)
    found = {name: {place: view for place, view in views.items() if place not in broken} for name, views in found.items()}
    kept = _without_waiting(desk, chosen, found, [*strangers, *ours])
    return {name: tuple(sorted(views, key=lambda view: (view.schema, view.name))) for name, views in kept.items() if views}


def _asked_with(
    desk: Desk, model: CompiledModel, choice: Choice, readers: Mapping[Place, Sequence[RelationSeen]]
) -> dict[Place, RelationSeen]:
    if desk.seen(model) is None or _new_shape(desk, model, choice) is not None:
        return behind(_place(model), readers)
    return {place_in(view): view for view in readers.get(_place(model), ())}


def _is_shaped(choice: Choice) -> bool:
    return choice.action in MAKES or bool(choice.add_columns)


_Reading: TypeAlias = tuple[RelationSeen, frozenset[Place]]
"""A view, and what it reads directly."""


def _by_place(reading: Iterable[_Reading]) -> dict[Place, list[RelationSeen]]:
    found: dict[Place, list[RelationSeen]] = {}
    for view, places in reading:
        for place in places:
            found.setdefault(place, []).append(view)
    return found


def _strangers(desk: Desk, gone: frozenset[str | None]) -> list[_Reading]:
    """Views that no model makes, and that this plan does not drop."""
    there = {seen for views in desk.facts.dependents.values() for seen in views}
    views = [seen for place in sorted(there) if (seen := desk.facts.catalog.find(*place)) is not None]
    return [(view, names_in(view)) for view in views if view.token is None or view.token not in gone]


def _ours(desk: Desk, chosen: Mapping[str, Choice]) -> list[_Reading]:
    """Views of the project that stand as they were left and are not made anew.

    What a view's file says now counts only where it is selected and kept; else the text that stands tells.
    """
    found = []
    for name, view in desk.compiled.models.items():
        choice = chosen.get(name)
        if view.kind != "view" or (choice is not None and choice.action in MAKES):
            continue
        seen, token = desk.seen(view), desk.facts.head(name).token
        if seen is None or seen.kind != "view" or token is None or seen.token != token:
            continue
        is_kept = choice is not None and choice.action in ("no_op", "recheck")
        found.append((seen, _read_directly(desk, view) if is_kept else names_in(seen)))
    return found


def _read_directly(desk: Desk, model: CompiledModel) -> frozenset[Place]:
    """What a model reads, through ephemerals only."""
    models = desk.compiled.models
    found: set[Place] = set()
    waiting = list(model.references)
    while waiting:
        read = models[waiting.pop()]
        if read.kind == "ephemeral":
            waiting += read.references
        else:
            found.add(_place(read))
    return frozenset(found)


def _without_waiting(
    desk: Desk, chosen: Mapping[str, Choice], found: Mapping[str, dict[Place, RelationSeen]], standing: Sequence[_Reading]
) -> dict[str, list[RelationSeen]]:
    """By model: the views that can be bound with it. Others reach what is gone, or a view that is still of before.

    One of these is asked in the transaction of what it waits for, where that comes after the model; else it is left out where it
    is shown to bind once all is there.
    """
    models = desk.compiled.models
    gone = _gone(desk)
    if not any(found.values()):
        return {}
    made = {_place(models[name]): models[name] for name, choice in chosen.items() if choice.action in MAKES}
    stale = [(seen, names_in(seen)) for model in made.values() if (seen := desk.seen(model)) is not None and seen.kind == "view"]
    through = _by_place([*standing, *stale]) if stale else {}
    lacking: dict[str, dict[Place, frozenset[Place]]] = {}
    for name, views in found.items():
        own = _place(models[name])
        old = [place for place in behind(own, through) if place in made and place != own]
        behind_old = {place: frozenset(view for view in old if place in behind(view, through)) for place in views} if old else {}
        for place, view in views.items():
            lacks = (_reached(desk, view) & gone.keys() if gone else frozenset()) - {own} | behind_old.get(place, frozenset())
            if lacks:
                lacking.setdefault(name, {})[place] = lacks
    if not lacking:
        return {name: list(views.values()) for name, views in found.items()}
    there = {**gone, **{place: new_columns(model) for place, model in made.items()}}
    asked = {place: found[name][place] for name, lacks in lacking.items() for place in lacks}
    sound = bindable(desk.facts.catalog, list(asked.values()), there, desk.compiled.macros)

    def waits(name: str, place: Place) -> bool:
        lacks = lacking.get(name, {}).get(place)
        if lacks is None:
            return False
        later = any(each in made and name in (*made[each].tables_read, *made[each].views_read) for each in lacks)
        return place in sound or (later and lacks <= made.keys())

    return {name: [view for place, view in views.items() if not waits(name, place)] for name, views in found.items()}


def _gone(desk: Desk) -> dict[Place, tuple[Column, ...]]:
    """Relations that somebody dropped by hand, and their columns: they are made again by their files, if not by this plan."""
    models = desk.compiled.models
    gone = [model for name, model in models.items() if desk.facts.head(name).token is not None and desk.seen(model) is None]
    return {_place(model): columns_left(desk.facts.body(model.name)) or model.columns for model in gone}


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


def broken_views(
    desk: Desk, chosen: Mapping[str, Choice], readers: Mapping[str, tuple[RelationSeen, ...]], orphans: frozenset[str | None]
) -> dict[str, Choice]:
    """Models that are refused, since a view that reads them is shown to break by their new columns.

    Of a view that cannot be asked beforehand, since it reads files or what else the warehouse has, the transaction tells.
    """
    models = desk.compiled.models
    changed = {_place(models[name]): columns for name, choice in chosen.items() if (columns := _new_shape(desk, models[name], choice))}
    if not changed:
        return {}
    gone = _gone(desk)
    refused = {}
    for name, views in readers.items():
        model = models[name]
        if _place(model) not in changed:
            continue
        # What it reads is made before it.
        before = {_place(model), *(_place(models[read]) for read in (*model.tables_read, *model.views_read))}
        new = {place: changed[place] for place in before & changed.keys()}
        broken = broken_by(desk.facts.catalog, views, gone, new, desk.compiled.macros)
        if broken:
            told = [view for view in views if place_in(view) in broken]
            named = ", ".join(f"{view.schema}.{view.name}" for view in told)
            because = f"with its new columns it would break {named}, which this plan does not make anew"
            if all(view.token is not None and view.token in orphans for view in told):
                remedy = "no model makes them any more: `--drop-orphans` drops them first, or change them by hand"
            else:
                remedy = "select those views too, change them first, or drop them"
            refused[name] = refuse("P420", because, remedy)
    return refused


def _new_shape(desk: Desk, model: CompiledModel, choice: Choice) -> tuple[Column, ...] | None:
    """The columns that its relation will have, where these are others than it has."""
    seen = desk.seen(model)
    if seen is None or not _is_shaped(choice):
        return None
    columns = (*seen.columns, *choice.add_columns) if choice.add_columns else new_columns(model)
    return None if same_columns(seen.columns, columns) else columns


def readers_left(desk: Desk, old: Place, chosen: Mapping[str, Choice], gone: frozenset[str | None]) -> tuple[str, ...]:
    """Views that would read nothing once the relation at `old` has another name; those with a token of `gone` are dropped anyway."""
    strangers = [view for view, reads in _strangers(desk, gone) if old in reads]
    sound = desk.bound(strangers)
    # A text that stands names the old place, whatever the file of its model means by now.
    ours = [view for view, _ in _ours(desk, chosen) if old in names_in(view)]
    return tuple(sorted(f"{view.schema}.{view.name}" for view in (*ours, *(view for view in strangers if place_in(view) in sound))))


def _place(model: CompiledModel) -> Place:
    return (model.schema.lower(), model.relation.lower())
