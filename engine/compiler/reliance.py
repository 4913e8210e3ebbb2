"""Which promises of sources the proofs of contracts rest on: those, and no others, are asked of the sources in a run.

A promise may be used far below the source. It is followed down from a contract to the tables that it reads, and from what is
needed of those to what they read, until it comes to sources. Whoever reads the source is who has to see that it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from interlock.engine.compiler.compiled import Reliance
from interlock.engine.compiler.names import Node
from interlock.engine.compiler.proofs import NOTHING, Premise, asked_of, promised_by, relation_never_null

if TYPE_CHECKING:
    from interlock.engine.compiler.unit import Surroundings, Unit

Claim = tuple[str, str]
"""A source or table, and a column of it that is relied on to hold no nulls; both in small letters."""


def rests_on_sources(unit: Unit, around: Surroundings) -> frozenset[str]:
    """Of the columns that a contract promises and the query proves, those that are proved by a promise of some source."""
    if not reaches_a_promise(unit, around):
        return frozenset()
    proved = unit.promised_and_proved(around)
    if not proved:
        return proved
    return proved - unit.never_null(around, NOTHING)


def relied_on(unit: Unit, around: Surroundings) -> tuple[Reliance, ...]:
    """What the proof of a unit's contract takes from sources: by itself, or by the tables that it reads."""
    found: dict[tuple[str, str], set[str]] = {}
    first = rests_on_sources(unit, around)
    if not first:
        return ()  # as for nearly every model: before anything is made that grows with the project
    followed: dict[str, frozenset[str]] = {}
    """Columns by table that were gone into: paths through a graph can be many more than its tables."""
    open_: list[tuple[Unit, frozenset[str]]] = [(unit, first)]
    while open_:
        reader, wanted = open_.pop()
        needed = wanted - followed.get(reader.name, frozenset())
        followed[reader.name] = wanted | followed.get(reader.name, frozenset())
        # Names by the claims' spelling, of what this one reads: a list of all that there is would be made for each contract.
        read = {node.name.lower(): node for node in _read_through(reader, around, set())}
        above: dict[str, set[str]] = {}
        for name, column in _least(reader, around, needed):
            node = read[name]
            if node.kind == "source":
                found.setdefault((reader.name, node.name), set()).add(column)
            else:
                above.setdefault(node.name, set()).add(column)
        open_ += [(around.units[name], frozenset(columns)) for name, columns in sorted(above.items())]
    return tuple(
        Reliance(reader=name, source=source, columns=_as_declared(source, columns, around))
        for (name, source), columns in sorted(found.items())
    )


def _as_declared(source: str, columns: set[str], around: Surroundings) -> tuple[str, ...]:
    declared = around.sources[source].source.columns or {}
    return tuple(name for name in declared if name.lower() in columns)


def reaches_a_promise(unit: Unit, around: Surroundings) -> bool:
    """Whether a promise of any source could be in what a unit's text reads, however far above."""
    if unit.reaches_a_promise is None:
        unit.reaches_a_promise = True  # while it is worked out: a circle through what is deployed comes back here
        unit.reaches_a_promise = any(
            bool(promised_by(node.name, around))
            if node.kind == "source"
            else node.name in around.units and reaches_a_promise(around.units[node.name], around)
            for node in unit.texts_read()
            if node.name != unit.name
        )
    return unit.reaches_a_promise


def _least(unit: Unit, around: Surroundings, needed: frozenset[str]) -> list[Claim]:
    """The fewest claims on what a unit reads that still prove the columns: each that can be done without is left out."""
    if not needed:
        return []
    kept = sorted(_claims(unit, around))

    def proves(claims: Iterable[Claim]) -> bool:
        return needed <= unit.never_null(around, Premise("nothing", frozenset(claims)))

    if proves(()):
        return []
    size = max(1, len(kept) // 2)
    while True:
        start = 0
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            if proves(rest):
                kept = rest
            else:
                start += size
        if size == 1:
            return kept
        size //= 2


def _claims(unit: Unit, around: Surroundings) -> set[Claim]:
    """All that a unit may believe of the sources and tables that it reads, through views and ephemerals, and does not prove."""
    found: set[Claim] = set()
    for node in _read_through(unit, around, set()):
        if node.kind == "source":
            found |= {(node.name.lower(), column) for column in promised_by(node.name, around)}
            continue
        table = around.units[node.name]
        if table.kind == "table" and around.deployed(node.name) is None:
            borrowed = relation_never_null(node, around) - relation_never_null(node, around, NOTHING) - asked_of(table)
            found |= {(node.name.lower(), column) for column in borrowed}
    return found


def _read_through(unit: Unit, around: Surroundings, seen: set[str]) -> Iterable[Node]:
    for node in unit.texts_read():
        if node.name in seen:
            continue
        seen.add(node.name)
        other = around.units.get(node.name) if node.kind != "source" else None
        if node.kind == "source" or other is None:
            if node.kind == "source":
                yield node
        elif other.kind in {"view", "ephemeral"}:
            yield from _read_through(other, around, seen)
        else:
            yield node
