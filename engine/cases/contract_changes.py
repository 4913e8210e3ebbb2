"""`diff --contracts`: what models promised when they were last written, beside what they promise now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from interlock.engine.cases.promises import Promised, last_promised
from interlock.engine.cases.reading import compile_offline
from interlock.engine.compiler.check_parts import AS_OF
from interlock.engine.compiler.compiled import Compiled, CompiledCheck, CompiledModel
from interlock.engine.compiler.lineage import ColumnOf, Lineages
from interlock.engine.compiler.lineage_kept import KeptLineages
from interlock.engine.compiler.nested import fits
from interlock.engine.diagnostics import refused
from interlock.engine.planner import checks as check_sql
from interlock.engine.planner.items import assignable_of, protected_of
from interlock.engine.planner.plan import Item
from interlock.engine.runner.ground import Ground
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.machines.evidence import Difference, PromisedColumn

_MOMENT: Final = re.compile(r"'[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+\+00:00'")
"""How the plan's time is put into a text."""


class _Change(NamedTuple):
    subject: str
    """A column, or another part of the promise."""
    planned: str
    found: str
    breaking: bool
    column: str | None = None
    """Whose readers it concerns; of every other part, all who read the model."""


def contract_changes(ground: Ground) -> tuple[str, tuple[Difference, ...]]:
    """The newest plan that was applied, and how promises changed since; a breaking change has the code C305, a compatible one none.

    Raises:
        Refused: P401, no plan was applied yet; or the project does not compile.
    """
    compiled = compile_offline(ground)
    newest, before = last_promised(ground, compiled)
    if not newest:
        raise refused("P401", "no plan of this project was applied yet", remedy="`interlock run` applies the first one")
    lineages = KeptLineages(ground.project, ground.target, compiled, ground.cache)
    found: list[Difference] = []
    for name, promised in sorted(before.items()):
        model = compiled.models.get(name)
        for change in _changes(promised, model):
            downstream = () if model is None else _reach(compiled, lineages, name, change)
            found.append(_difference(f"{name}.{change.subject}", change, downstream))
    lineages.keep()
    return newest, tuple(found)


def _reach(compiled: Compiled, lineages: Lineages, name: str, change: _Change) -> tuple[str, ...]:
    if change.column is None:
        return compiled.children.get(name, ())
    column = lineages.named(f"{name}.{change.column}") or ColumnOf(relation=name, column=change.column)
    reached = lineages.impact(column)
    others = [each for each in (*reached.direct, *reached.further) if each.relation != name or each.how in {"values", "rows", "named"}]
    names = dict.fromkeys(f"{each.relation}.{each.column}" if each.column else each.relation for each in others)
    unsure = (f"{each} perhaps, whose text cannot be followed as a whole" for each in reached.unsure)
    return (*(each for each in names if each != f"{name}.{column.column}"), *unsure)


def _changes(before: Promised | None, model: CompiledModel | None) -> Iterator[_Change]:
    if model is None:
        yield from () if before is None else _gone(before.item)
        return
    if before is None:
        because = "another promise, which cannot be compared: no saved plan holds the one before"
        yield _Change("promise", "as its receipt has it", because, breaking=True)
        return
    changes = [*_of_columns(before.item, model), *_of_checks(before, model)]
    if before.item.extra_columns != model.extra_columns:
        weaker = before.item.extra_columns == "refuse"
        changes.append(_Change("extra_columns", before.item.extra_columns, model.extra_columns, breaking=weaker))
    if not changes and before.item.digests.promise != model.digests.promise:
        # Fail closed: something of it is another that the plan has no word for.
        because = "another one, in something that the saved plan does not spell out"
        changes.append(_Change("promise", "as planned", because, breaking=True))
    yield from changes


def _gone(item: Item) -> Iterator[_Change]:
    for promise in item.contract:
        yield _Change(promise.column, "promised", "the model is gone", breaking=True, column=promise.column)


# --- columns ----------------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """What is promised of one column."""

    name: str
    type: str | None
    nulls: str
    protected: bool
    assignable: str | None
    """The type of whose values a narrower one has some too, as its author wrote it; empty where the type is exact.

    Nothing where the plan is of before that was kept."""

    def __str__(self) -> str:
        kind = f"any type that fits {self.assignable}" if self.assignable else (self.type or "any type")
        nulls = " without nulls" if self.nulls == "forbidden" else ""
        return f"{kind}{nulls}{', protected' if self.protected else ''}"


def _columns(promises: Iterable[PromisedColumn], protected: Iterable[str], assignable: dict[str, str] | None) -> dict[str, _Column]:
    kept = {name.lower() for name in protected}
    types = None if assignable is None else {name.lower(): kind for name, kind in assignable.items()}
    return {
        promise.column.lower(): _Column(
            promise.column,
            promise.type,
            promise.nulls,
            promise.column.lower() in kept,
            None if types is None else types.get(promise.column.lower(), ""),
        )
        for promise in promises
    }


def _of_columns(item: Item, model: CompiledModel) -> Iterator[_Change]:
    before = _columns(item.contract, item.protected, item.assignable)
    after = _columns(model.contract, protected_of(model), assignable_of(model))
    for small, old in before.items():
        new = after.get(small)
        if new is None:
            yield _Change(old.name, str(old), "no longer promised", breaking=True, column=old.name)
            continue
        if old.assignable is None:
            old = old._replace(assignable=new.assignable)  # noqa: PLW2901 - as if it had been kept
        if str(old) != str(new):
            yield _Change(old.name, str(old), str(new), breaking=_is_weaker(old, new), column=old.name)
    for small, new in after.items():
        if small not in before:
            yield _Change(new.name, "not promised", str(new), breaking=False, column=new.name)


def _is_weaker(old: _Column, new: _Column) -> bool:
    if (old.nulls == "forbidden" and new.nulls == "allowed") or (old.protected and not new.protected):
        return True
    wide, wider = old.assignable or old.type, new.assignable or new.type
    if wide is None or (wide.upper(), bool(old.assignable)) == (str(wider).upper(), bool(new.assignable)):
        return False
    return wider is None or bool(new.assignable and not old.assignable) or not fits(wider.upper(), wide.upper())


# --- checks -----------------------------------------------------------------------------------------------------------


def _of_checks(promised: Promised, model: CompiledModel) -> Iterator[_Change]:
    before = {pin.check: (pin.severity, "rows") for pin in promised.item.checks}
    before |= {pin.check: (pin.severity, "publication") for pin in (promised.later.checks if promised.later is not None else ())}
    after = {check.check.name: check for check in model.checks}
    for name, (severity, when) in before.items():
        check = after.get(name)
        old = _asked(severity, when)
        if check is None:
            yield _Change(f"checks.{name}", old, "no longer asked", breaking=severity == "error")
            continue
        new = _asked(check.check.severity, check.check.after)
        # A check that only warns holds nothing back, so nothing that it says was promised.
        weaker = severity == "error" and (check.check.severity == "warn" or (when, check.check.after) == ("rows", "publication"))
        if not _is_asked(check, promised):
            yield _Change(f"checks.{name}", old, f"{new}, and it asks something else", breaking=severity == "error")
        elif new != old:
            yield _Change(f"checks.{name}", old, new, breaking=weaker)
    for name, check in after.items():
        if name not in before:
            yield _Change(f"checks.{name}", "not asked", _asked(check.check.severity, check.check.after), breaking=False)


def _asked(severity: str, when: str) -> str:
    return f"{severity}{' after publication' if when == 'publication' else ''}"


def _is_asked(check: CompiledCheck, promised: Promised) -> bool:
    """Whether the plan's statements ask this very question."""
    items = [promised.item, *([promised.later] if promised.later is not None else [])]
    rel = relation(promised.item.schema, promised.item.relation)
    own = check_sql.statement(check, rel)
    if own is not None:
        texts = [statement.text for item in items for statement in item.statements if statement.role == own.role]
        moving = AS_OF in check.moving
        return any(_words(text, moving=moving) == _words(own.text, moving=moving) for text in texts)
    probe = check_sql.probe(check, rel, promised.as_of)
    return probe is None or any(probe.expression in statement.text for item in items for statement in item.statements)


def _words(text: str, *, moving: bool) -> list[str]:
    """Without comments, and however it is laid out; of a text that reads `$as_of`, without the times that may stand for it."""
    words = [token.text for token in parser.tokens(text) if token.kind != "comment"]
    return ["" if moving and _MOMENT.fullmatch(word) else word for word in words]


def _difference(subject: str, change: _Change, downstream: tuple[str, ...]) -> Difference:
    reach = f"it reaches {', '.join(downstream)}" if downstream else "nothing of this project reads it"
    return Difference(
        code="C305" if change.breaking else "",
        subject=subject,
        planned=change.planned,
        found=f"{change.found} ({'breaking' if change.breaking else 'compatible'})",
        remedy=f"tell who reads it: {reach}" if change.breaking else reach,
    )
