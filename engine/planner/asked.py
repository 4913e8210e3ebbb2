"""Why the checks of a model are to be asked again, though nothing of the model itself moved. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from interlock.engine.compiler.compiled import Compiled, CompiledCheck, CompiledModel
from interlock.engine.planner.choice import Changing, Desk
from interlock.machines.evidence import ReceiptBody

After = Literal["rows", "publication"]


class Reached(NamedTuple):
    """What checks of one model read, directly or through views and ephemeral models, sorted; the model itself left out."""

    models: tuple[str, ...]
    sources: tuple[str, ...]


def checks_of(model: CompiledModel, after: After) -> tuple[CompiledCheck, ...]:
    """Those that are asked before its rows are visible, or those after."""
    return tuple(check for check in model.checks if check.check.after == after)


def reached_by(compiled: Compiled, model: CompiledModel, after: After) -> Reached:
    """What the answers of its checks hang on besides its own rows."""
    models: set[str] = set()
    sources: set[str] = set()
    for check in checks_of(model, after):
        sources.update(check.sources)
        for name in check.reads:
            read = compiled.models[name]
            if read.kind != "ephemeral":
                models.add(name)
            if read.kind in ("view", "ephemeral"):
                models.update(read.tables_read, read.views_read)
                sources.update(read.sources_read)
    return Reached(tuple(sorted(models - {model.name})), tuple(sorted(sources)))


def all_sources(compiled: Compiled, model: CompiledModel) -> tuple[str, ...]:
    """Sources that it or one of its checks reads."""
    checked = (name for after in ("rows", "publication") for name in reached_by(compiled, model, after).sources) if model.checks else ()
    return tuple(sorted({*model.sources_read, *checked}))


def asked_again(
    desk: Desk, model: CompiledModel, body: ReceiptBody | None, changing: Mapping[str, Changing], after: After
) -> tuple[str, ...]:
    """The reasons, each as a sentence; none where each answer is still that of the receipt.

    Args:
        desk: what may be looked at.
        model: with its checks.
        body: of the receipt of its head.
        changing: models that this plan writes.
        after: which of its checks.
    """
    if not checks_of(model, after):
        return ()
    reasons = [
        f"check `{each.check.name}` asks {', '.join(each.moving)}, so it is asked in each run"
        for each in checks_of(model, after)
        if each.moving
    ]
    reached = reached_by(desk.compiled, model, after)
    before = {read.model: read.generation for read in body.reads} if body is not None else {}
    for name in reached.models:
        if name in changing:
            reasons.append(f"`{name}`, which a check of it reads, is written in this plan")
        elif name not in before or desk.facts.head(name).generation != before[name]:
            reasons.append(f"`{name}`, which a check of it reads, has changed since it was asked")
    seen = {source.source: source.fingerprint for source in body.sources} if body is not None else {}
    for name in reached.sources:
        now = desk.facts.fingerprints.get(name, "none")
        if now == "none":
            why = desk.facts.unmarked.get(name)
            reasons.append(
                f"source `{name}`, which a check of it reads, has no fingerprint{f' ({why})' if why else ''}, so it may have moved"
            )
        elif now != seen.get(name):
            reasons.append(f"source `{name}`, which a check of it reads, has moved")
    return tuple(reasons)
