"""What a change did to a machine: its page as it was beside the machine as it is, for a pull request.

The page is generated from the class and held to it by a test, so that the page of an earlier state is that state's machine.
"""

from __future__ import annotations

import re
from typing import Final

from interlock.engine.diagrams.drawing import Drawing, Edge, EdgeLook, Node, NodeLook
from interlock.engine.diagrams.formats import mermaid_of
from interlock.machines.records import Record
from interlock.machines.table import Row, Table

_CELL: Final = re.compile(r"(?<!\\)\|")
_GUARDS: Final = re.compile(r"### Guards of `(\w+)` from (\w+)")
_NOWHERE: Final = frozenset({"raises, and has not moved", "no guard"})


class Page(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a machine's page says, as far as it is compared."""

    states: tuple[str, ...]
    rows: tuple[Row, ...]


def page_of(table: Table) -> Page:
    """A machine as it is."""
    return Page(
        states=table.states,
        rows=tuple(
            Row(source=row.source, event=row.event, target=row.target, requirement=None, fallback=row.fallback, guards=row.guards)
            for row in table.rows
        ),
    )


def read_page(text: str) -> Page:
    """A machine's page, read.

    Raises:
        ValueError: it is no such page.
    """
    states = tuple(cells[0].replace("**", "").partition(" (")[0] for cells in _table(text, "## States"))
    guards = {(found[1], found[2]): tuple(cells[0].strip("`") for cells in _table(text, found[0])) for found in _GUARDS.finditer(text)}
    rows = []
    for cells in _table(text, "## Events"):
        event, source, target, otherwise = (cell.strip("`") for cell in cells)
        fallback = None if otherwise in _NOWHERE else otherwise
        rows.append(
            Row(source=source, event=event, target=target, requirement=None, fallback=fallback, guards=guards.get((event, source), ()))
        )
    if not states or not rows:
        raise ValueError("it has no table of states and events")
    return Page(states=states, rows=tuple(rows))


def _table(text: str, heading: str) -> list[list[str]]:
    """The rows of the first table behind a heading."""
    _, found, rest = text.partition(f"{heading}\n")
    if not found:
        return []
    rows: list[list[str]] = []
    for line in rest.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]])
        elif rows or line.startswith("#"):
            break
    return rows[2:]


def difference_of(title: str, before: Page, after: Page, ref: str) -> str:
    """Markdown: both tables with what is new and what is gone marked, and one diagram."""
    if before == after:
        return f"# {title}: no change since {ref}\n"
    parts = [f"# {title}: what changed since {ref}"]
    gone = [state for state in before.states if state not in after.states]
    new = [state for state in after.states if state not in before.states]
    parts += [f"States gone: {', '.join(gone)}."] if gone else []
    parts += [f"States new: {', '.join(new)}."] if new else []
    changed = _changes(before, after)
    parts += ["## Changes", "\n".join(f"- {line}" for line in changed)] if changed else []
    parts += ["## Before", _rows(before, after, "–"), "## After", _rows(after, before, "+")]
    parts += [
        "## Diagram",
        "What is new is drawn strong, what is gone is marked so.",
        f"```mermaid\n{mermaid_of(_drawing(title, before, after))}```",
    ]
    return "\n\n".join(parts) + "\n"


def _keyed(page: Page) -> dict[tuple[str, str], Row]:
    return {(row.source, row.event): row for row in page.rows}


def _changes(before: Page, after: Page) -> list[str]:
    old, now = _keyed(before), _keyed(after)
    lines = []
    for key in dict.fromkeys((*old, *now)):
        name = f"`{key[1]}` from {key[0]}"
        one, other = old.get(key), now.get(key)
        if one is None:
            lines.append(f"{name} is new")
        elif other is None:
            lines.append(f"{name} is gone")
        else:
            lines += [f"{name} leads to {other.target}, and led to {one.target}"] if one.target != other.target else []
            lines += (
                [f"{name} falls to {other.fallback or 'nothing'}, and fell to {one.fallback or 'nothing'}"]
                if one.fallback != other.fallback
                else []
            )
            lines += [f"{name} no longer asks `{guard}`" for guard in one.guards if guard not in other.guards]
            lines += [f"{name} asks `{guard}` now" for guard in other.guards if guard not in one.guards]
    return lines


def _rows(page: Page, other: Page, mark: str) -> str:
    known = _keyed(other)
    lines = ["| | event | from | to | else | guards |", "| --- | --- | --- | --- | --- | --- |"]
    for row in page.rows:
        sign = "" if known.get((row.source, row.event)) == row else mark
        guards = ", ".join(f"`{guard}`" for guard in row.guards)
        lines.append(f"| {sign} | `{row.event}` | {row.source} | {row.target} | {row.fallback or ''} | {guards} |")
    return "\n".join(lines)


def _drawing(title: str, before: Page, after: Page) -> Drawing:
    looks: dict[str, NodeLook] = {state: "faint" for state in before.states if state not in after.states}
    looks |= {state: "visited" for state in after.states if state not in before.states}
    states = dict.fromkeys((*after.states, *before.states))
    old, now = _ways(before), _ways(after)
    edges = []
    for way in dict.fromkeys((*now, *old)):
        look: EdgeLook = "plain" if old.get(way) == now.get(way) else "taken"
        label = ", ".join(now.get(way, ()))
        if way not in now:
            label = f"gone ({', '.join(old[way])})"
        elif way not in old:
            label = f"new ({label})"
        elif old[way] != now[way]:
            label = f"{label} (was {', '.join(old[way])})"
        edges.append(Edge(source=way[0], target=way[1], label=label, look=look))
    return Drawing(
        title=title, nodes=tuple(Node(id=state, label=state, look=looks.get(state, "plain")) for state in states), edges=tuple(edges)
    )


def _ways(page: Page) -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], list[str]] = {}
    for row in page.rows:
        found.setdefault((row.source, row.target), []).append(f"{row.event} [{len(row.guards)}]" if row.guards else row.event)
        if row.fallback is not None:
            found.setdefault((row.source, row.fallback), []).append(f"{row.event} else")
    return {way: tuple(labels) for way, labels in found.items()}
