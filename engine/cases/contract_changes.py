"""`diff --contracts`: what models promised in the last plan that was applied, beside what they promise now."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.engine.cases.reading import compile_offline
from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.compiler.lineage import ColumnOf
from interlock.engine.compiler.lineage_kept import KeptLineages
from interlock.engine.compiler.nested import fits
from interlock.engine.diagnostics import Refused, refused
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.reader import LedgerWhole
from interlock.engine.ledger.since_seal import read_since_seal
from interlock.engine.planner.plan import Item
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.planning import load, newest_plans
from interlock.machines.evidence import Difference


def contract_changes(ground: Ground) -> tuple[str, tuple[Difference, ...]]:
    """The newest plan that was applied, and how contracts changed since; a breaking change has the code C305, a compatible one none.

    Raises:
        Refused: P401, no plan was applied yet; or the project does not compile.
    """
    newest, before = _last_applied(ground)
    if not newest:
        raise refused("P401", "no plan of this project was applied yet", remedy="`interlock run` applies the first one")
    compiled = compile_offline(ground)
    lineages = KeptLineages(ground.project, ground.target, compiled, ground.cache)
    found: list[Difference] = []
    for name, item in sorted(before.items()):
        model = compiled.models.get(name)
        if model is None:
            found += [_difference(f"{name}.{promise.column}", "promised", "the model is gone", "breaking", ()) for promise in item.contract]
            continue
        for column, planned, now, kind in _changes(item, model):
            reached = lineages.impact(ColumnOf(relation=name, column=column))
            downstream = [
                f"{each.relation}.{each.column}" if each.column else each.relation for each in (*reached.direct, *reached.further)
            ]
            found.append(
                _difference(f"{name}.{column}", planned, now, kind, tuple(each for each in downstream if each != f"{name}.{column}"))
            )
    lineages.keep()
    return newest, tuple(found)


def _last_applied(ground: Ground) -> tuple[str, dict[str, Item]]:
    ledger = read_since_seal(ground.directory)
    fold = ledger.fold if isinstance(ledger, LedgerWhole) else Fold()
    newest = ""
    found: dict[str, Item] = {}
    named: set[str] = set()
    for path in newest_plans(ground.directory):
        if not fold.is_spent(path.stem):
            continue
        try:
            body = load(ground.directory, path.stem, {}).body
        except Refused:
            continue
        if body is None:
            continue
        newest = newest or path.stem
        for item in body.items:
            # What a plan did nothing for, refused, or looks at after publication says nothing of what was promised.
            if item.action not in ("no_op", "refuse") and item.follows is None and item.model == item.head_model:
                found.setdefault(item.head_model, item)
        # However long ago it was: a promise that is not looked for far enough would count as none.
        named = named or {item.head_model for item in body.items}
        if named <= found.keys():
            break
    return newest, found


def _changes(item: Item, model: CompiledModel) -> Iterator[tuple[str, str, str, str]]:
    before = {promise.column.lower(): promise for promise in item.contract}
    after = {promise.column.lower(): promise for promise in model.contract}
    for small, promise in before.items():
        now = after.get(small)
        if now is None:
            yield promise.column, _spelled(promise.type, promise.nulls), "no longer promised", "breaking"
            continue
        old, new = _spelled(promise.type, promise.nulls), _spelled(now.type, now.nulls)
        if old != new:
            weaker = promise.nulls == "forbidden" and now.nulls == "allowed"
            other = promise.type != now.type and promise.type is not None
            narrower = other and now.type is not None and promise.type is not None and fits(now.type, promise.type)
            yield promise.column, old, new, "breaking" if weaker or (other and not narrower) else "compatible"
    for small, promise in after.items():
        if small not in before:
            yield promise.column, "not promised", _spelled(promise.type, promise.nulls), "compatible"
    if item.extra_columns != model.extra_columns:
        kind = "breaking" if item.extra_columns == "refuse" else "compatible"
        yield "extra_columns", item.extra_columns, model.extra_columns, kind


def _spelled(kind: str | None, nulls: str) -> str:
    return f"{kind or 'any type'}{' without nulls' if nulls == 'forbidden' else ''}"


def _difference(subject: str, planned: str, found: str, kind: str, downstream: tuple[str, ...]) -> Difference:
    reach = f"it reaches {', '.join(downstream)}" if downstream else "nothing of this project reads it"
    return Difference(
        code="C305" if kind == "breaking" else "",
        subject=subject,
        planned=planned,
        found=f"{found} ({kind})",
        remedy=f"tell who reads it: {reach}" if kind == "breaking" else reach,
    )
