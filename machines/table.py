"""A machine's class as a plain table: for replaying many runs at once, for documents and for diagrams.

It is made by looking at the class, so that it cannot say anything else; a test holds both equal over every state and event.
"""

from __future__ import annotations

from typing import Any, cast

from interlock.machines.guards import Guard, Requirement
from interlock.machines.machine import Machine, State
from interlock.machines.records import Record


class Row(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one event does in one state. `requirement` and `fallback` are `None` where there is none."""

    source: str
    event: str
    target: str
    requirement: str | None
    fallback: str | None
    guards: tuple[str, ...]


class Table(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of a machine, in declared order."""

    machine: str
    summary: str
    states: tuple[str, ...]
    initial: str
    final: tuple[str, ...]
    meaning: dict[str, str]
    rows: tuple[Row, ...]

    def row(self, state: str, event: str) -> Row | None:
        """The row of an event in a state; `None` where it is not possible."""
        for row in self.rows:
            if (row.source, row.event) == (state, event):
                return row
        return None

    def answer(self, state: str, event: str, *, holds: bool) -> str | None:
        """The state after an event, given whether its guards hold; `None` where it is not taken."""
        row = self.row(state, event)
        if row is None:
            return None
        return row.target if holds or row.requirement is None else row.fallback


def requirement_of(machine: type[Machine], name: str) -> Requirement:
    """The composite guard of that name."""
    return cast("Requirement", getattr(machine, name))


def guards_of(machine: type[Machine], row: Row) -> tuple[Guard[Any], ...]:
    """The guards that a row asks."""
    return () if row.requirement is None else requirement_of(machine, row.requirement).guards


def compile_table(machine: type[Machine]) -> Table:
    """Look a machine's class over.

    Raises:
        ValueError: where the class says something that a row cannot: see `lint`.
    """
    states = tuple(machine.states_map.values())
    return Table(
        machine=machine.ledger_name,
        summary=(machine.__doc__ or "").strip().splitlines()[0],
        states=tuple(state.id for state in states),
        initial=next(state.id for state in states if state.initial),
        final=tuple(state.id for state in states if state.final),
        meaning=dict(machine.meaning),
        rows=tuple(_row(machine, state, event) for state in states for event in machine.evidence_types if _leaves(state, event)),
    )


def _leaves(state: State, event: str) -> list[tuple[str, tuple[str, ...]]]:
    """The transitions of an event out of a state, in the order in which they are tried: target and names of conditions."""
    return [
        (transition.target.id, tuple(str(condition) for condition in transition.cond))
        for transition in state.transitions
        if transition.target is not None and event in (each.id for each in transition.events)
    ]


def _row(machine: type[Machine], state: State, event: str) -> Row:
    taken = _leaves(state, event)
    (target, conditions), *rest = taken
    if len(conditions) > 1 or len(rest) > 1 or any(names for _, names in rest) or (rest and not conditions):
        msg = f"{machine.__name__}: `{event}` in `{state.id}` is no guarded transition with at most one unguarded fallback"
        raise ValueError(msg)
    requirement = conditions[0] if conditions else None
    guards = requirement_of(machine, requirement).guards if requirement else ()
    return Row(
        source=state.id,
        event=event,
        target=target,
        requirement=requirement,
        fallback=rest[0][0] if rest else None,
        guards=tuple(each.name for each in guards),
    )
