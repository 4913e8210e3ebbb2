"""What a model reads from outside the plan must stand there, be ours, and be what the project says that it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.planner.choice import (
    Choice,
    Desk,
    columns_differ,
    columns_left,
    definition_moved,
    earlier_of,
    in_words,
    output_columns,
    refuse,
    relation_kind,
)
from interlock.engine.planner.facts import same_columns
from interlock.machines.evidence import ReceiptBody


def unplannable_upstream(desk: Desk, model: CompiledModel) -> Choice | None:
    """The refusal of a model that reads something which is not selected and not as it should be."""
    direct = _named(desk, model)
    asked = {name for check in model.checks for name in check.reads}
    for name in sorted((direct | asked | {*model.tables_read, *model.views_read}) - desk.selected):
        refused = _refused(desk, model, desk.compiled.models[name], is_bound=name in direct)
        if refused is not None:
            return refused
    return None


def moved_upstream(desk: Desk, model: CompiledModel, moved: Mapping[str, ReceiptBody | None]) -> Choice | None:
    """The refusal of a model that reads columns of a renamed one which the plan only moves: its new text is built by the next run."""
    for name in sorted(_named(desk, model) & moved.keys()):
        body, upstream = moved[name], desk.compiled.models[name]
        if body is None or upstream.blocked:
            continue
        left = output_columns(upstream, columns_left(body))
        if not same_columns(upstream.columns, left):
            because = f"`{name}` is only moved by this plan, and its new text gives other columns: {columns_differ(left, upstream.columns)}"
            return refuse("P410", because, f"run again after this: the next run builds `{name}` from its new text, and then this")
    return None


def _named(desk: Desk, model: CompiledModel) -> set[str]:
    """Relations that its text names, or the text of an ephemeral that is put into it."""
    found: set[str] = set()
    waiting = list(model.references)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if desk.compiled.models[name].kind == "ephemeral":
            waiting += desk.compiled.models[name].references
    return {name for name in found if desk.compiled.models[name].kind != "ephemeral"}


def _refused(desk: Desk, model: CompiledModel, upstream: CompiledModel, *, is_bound: bool) -> Choice | None:
    if upstream.kind == "ephemeral":
        return None
    name = upstream.name
    along = f"select `+{model.name}`, which takes `{name}` along, or run `+{name}` first"
    too = f"build it first: `interlock run --select +{name}`, or select it too: `--select +{model.name}`"
    head, seen, body = desk.facts.head(name), desk.seen(upstream), desk.facts.body(name)
    if head.token is None or seen is None:
        return refuse("P411", f"it reads `{name}`, which is not built in this target", too)
    place = f"{seen.schema}.{seen.name}"
    if seen.token != head.token and earlier_of(desk, upstream) is not None:
        because = f"it reads `{name}`, and what stands at {place} is of an earlier run: its last one made it at another place"
        return refuse("P411", because, too)
    if seen.token != head.token:
        return refuse(
            "P417",
            f"it reads `{name}`, and what stands at {place} is not what we made",
            f"see `interlock plan --select {name}`, which says what helps",
        )
    if not is_bound or body is None:
        return None
    parts = definition_moved(desk.compiled, upstream, body)
    if parts:
        return refuse("P410", f"`{name}` differs from what is deployed: {in_words(desk, upstream, parts)}", along)
    if seen.kind != relation_kind(upstream) or not same_columns(seen.columns, columns_left(body)):
        because = f"the columns of {place} are not those that `{name}` left: {columns_differ(columns_left(body), seen.columns)}"
        return refuse("P410", because, along)
    left = output_columns(upstream, columns_left(body))
    if not upstream.blocked and not same_columns(upstream.columns, left):
        return refuse(
            "P410", f"the columns of `{name}` differ from those that are deployed: {columns_differ(left, upstream.columns)}", along
        )
    return None
