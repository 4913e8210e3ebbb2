"""A drawing as a value: nodes and edges with a look. Made from a machine, from the way that a run took, or from a project's models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from interlock.machines.records import Record
from interlock.machines.table import Table

NodeLook: TypeAlias = Literal["plain", "visited", "good", "refused", "open", "idle", "faint"]
EdgeLook: TypeAlias = Literal["plain", "otherwise", "taken", "refusing", "faint"]


class Node(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something in a drawing. `note` stands in small letters below its name."""

    id: str
    label: str
    look: NodeLook = "plain"
    note: str = ""
    ends: Literal["initial", "final", "no"] = "no"


class Edge(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An arrow."""

    source: str
    target: str
    label: str = ""
    look: EdgeLook = "plain"


class Drawing(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is drawn. `said` is for people who read, below it."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    said: tuple[str, ...] = ()
    kind: Literal["machine", "models"] = "machine"


class Taken(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transition that was taken; `against`: what a refusing guard said."""

    event: str
    source: str
    target: str
    against: tuple[str, ...] = ()


def machine_drawing(table: Table) -> Drawing:
    """A machine: each arrow with its event and the number of its guards, and `else` where a guard refuses."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for row in table.rows:
        arrows.setdefault((row.source, row.target), []).append(f"{row.event} [{len(row.guards)}]" if row.guards else row.event)
        if row.fallback is not None:
            arrows.setdefault((row.source, row.fallback), []).append(f"{row.event} else")
    edges = [
        Edge(source=source, target=target, label=", ".join(labels), look="otherwise" if target == "refused" else "plain")
        for (source, target), labels in arrows.items()
    ]
    return Drawing(title=table.machine, nodes=_states(table, {}), edges=tuple(edges), said=(table.summary,))


def path_drawing(table: Table, steps: Sequence[Taken], title: str) -> Drawing:
    """The way that was taken: visited states, edges numbered in order, and the guard that refused with its reason."""
    looks: dict[str, NodeLook] = {}
    numbers: dict[tuple[str, str], list[str]] = {}
    said = []
    for number, step in enumerate(steps, start=1):
        looks.setdefault(step.source, "visited")
        looks[step.target] = "visited"
        numbers.setdefault((step.source, step.target), []).append(f"{number}. {step.event}")
        said += [f"{number}. {step.event}: {reason}" for reason in step.against]
    if steps:
        end = steps[-1].target
        looks[end] = "refused" if end == "refused" else "good" if end in table.final else "open"
    edges = []
    ways = dict.fromkeys(
        (*((row.source, row.target) for row in table.rows), *((row.source, row.fallback) for row in table.rows if row.fallback))
    )
    for source, target in ways:
        taken = numbers.get((source, target))
        look: EdgeLook = "faint" if taken is None else "refusing" if target == "refused" else "taken"
        edges.append(Edge(source=source, target=target, label=", ".join(taken or ()), look=look))
    return Drawing(title=title, nodes=_states(table, looks, faint=True), edges=tuple(edges), said=tuple(said))


def _states(table: Table, looks: Mapping[str, NodeLook], *, faint: bool = False) -> tuple[Node, ...]:
    otherwise: NodeLook = "faint" if faint else "plain"
    return tuple(
        Node(
            id=state,
            label=state,
            look=looks.get(state, otherwise),
            ends="initial" if state == table.initial else "final" if state in table.final else "no",
        )
        for state in table.states
    )


def models_drawing(title: str, models: Iterable[Node], reads: Iterable[tuple[str, str]]) -> Drawing:
    """Models and what they read: an arrow from what is read to what reads it."""
    return Drawing(
        title=title, nodes=tuple(models), edges=tuple(Edge(source=source, target=target) for source, target in reads), kind="models"
    )
