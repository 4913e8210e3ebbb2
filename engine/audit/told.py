"""What a story is made of: transitions told with their guards, and what a plan said. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from interlock.engine.audit.facts import Fact, facts_of
from interlock.engine.audit.judge import MACHINES, TABLES
from interlock.engine.planner.plan import Bounds, Item
from interlock.machines.evidence import Entry
from interlock.machines.guards import Guard
from interlock.machines.publication import REGISTRY
from interlock.machines.records import Record
from interlock.machines.table import guards_of


def _guards() -> dict[str, Guard[Any]]:
    found: dict[str, Guard[Any]] = dict(REGISTRY)
    for name, table in TABLES.items():
        for row in table.rows:
            found |= {each.name: each for each in guards_of(MACHINES[name], row)}
    return found


GUARDS: Final = _guards()


class Guarded(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A guard in a transition: what it looks at, what it decided, and why."""

    guard: str
    holds: Literal["yes", "no"]
    says: str
    """What is true if it holds."""
    reads: str
    invariant: str = ""
    code: str = ""
    because: str = ""
    remedy: str = ""


class Told(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transition, told."""

    sequence: int
    time: str
    event: str
    source: str
    target: str
    guards: tuple[Guarded, ...]
    facts: tuple[Fact, ...]
    by: str | None = None


class Text(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement of the plan."""

    role: str
    text: str


class Work(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the plan said of a model."""

    action: str
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    statements: tuple[Text, ...] = ()
    text: str = ""
    """The author's text."""


class End(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of a run: what was to be done, and how it ended."""

    model: str
    action: str
    state: str
    code: str = ""
    because: str = ""
    remedy: str = ""


class Story(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole answer. `answer` says it in a sentence."""

    kind: Literal["model", "run", "ledger"]
    subject: str
    answer: str
    run: str | None = None
    plan: str | None = None
    code: str = ""
    because: str = ""
    remedy: str = ""
    needed: tuple[str, ...] = ()
    """What would have had to be true."""
    steps: tuple[Told, ...] = ()
    work: Work | None = None
    ends: tuple[End, ...] = ()
    said: tuple[str, ...] = ()


def told(entry: Entry) -> Told:
    """One record, told."""
    guards = []
    against = {verdict.guard for verdict in entry.verdicts if verdict.holds != "yes"}
    for verdict in entry.verdicts:
        if verdict.code == "G531" and len(against) > 1:
            continue  # that nothing was written follows from the others
        known = GUARDS.get(verdict.guard)
        guards.append(
            Guarded(
                guard=verdict.guard,
                holds=verdict.holds,
                says=known.says if known is not None else "",
                reads=known.reads if known is not None else "",
                invariant=verdict.invariant or (known.invariant if known is not None else ""),
                code=verdict.code,
                because=verdict.because,
                remedy=verdict.remedy,
            )
        )
    return Told(
        sequence=entry.sequence,
        time=entry.time,
        event=entry.event,
        source=entry.source,
        target=entry.target,
        guards=tuple(guards),
        facts=facts_of(entry.evidence),
        by=entry.by if entry.by != entry.run else None,
    )


def work_of(item: Item) -> Work:
    """What a plan says of a model."""
    return Work(
        action=item.action,
        reasons=item.reasons,
        notes=item.notes,
        bounds=tuple(bounds_words(item.bounds)) if item.bounds is not None else (),
        statements=tuple(Text(role=statement.role, text=statement.text) for statement in item.statements),
        text=item.text,
    )


def bounds_words(bounds: Bounds) -> Iterable[str]:
    """What of a query's output was taken."""
    if bounds.ranges:
        for span in bounds.ranges:
            yield f"{span.low} <= {bounds.column} < {span.high}"
    elif bounds.low is not None or bounds.until is not None:
        low = f"{bounds.low} <= " if bounds.low is not None else ""
        high = f" < {bounds.until}" if bounds.until is not None else ""
        yield f"{low}{bounds.column}{high}"
    if bounds.lookback:
        yield f"lookback {bounds.lookback}"
    if bounds.open_ended:
        yield bounds.open_ended
