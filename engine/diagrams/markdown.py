"""Pages about the machines, generated from their classes, for review."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from interlock.engine.diagrams.drawing import machine_drawing
from interlock.engine.diagrams.formats import mermaid_of
from interlock.machines.guards import INVARIANTS, Guard
from interlock.machines.machine import Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.plan import Plan
from interlock.machines.run import Run
from interlock.machines.table import Row, compile_table, guards_of

MACHINES: tuple[type[Machine], ...] = (ModelRun, Run, Plan)

_TITLES = {"model_run": "ModelRun", "run": "Run", "plan": "Plan"}
_NOTICE = "Generated from the classes in `machines/` by `python -m interlock.engine.diagrams`; a test fails when they differ."

_ASKED = (
    "All guards of an event are asked, and all reasons are kept. An event that is not in the table raises, and the machine has not moved."
)
_BESIDE = """\
## Beside the guards

- **I1** also holds at the driver: a permit names the digests of the statements that may run, and the driver refuses every other.
- **I2**: evidence from before a write can say `unreadable`, which no guard takes for an answer; a guard that raises, or evidence of
  another kind, refuses.
- **I3**: from a write on there is no `unreadable`: while it is not known whether a write exists, no event is sent, and the attempt
  stays in `bootstrapping`. Where a receipt stands in the warehouse and a guard refuses it, the record says so first, as
  `receipt_and_guards_agree` (K731 or K732).
- **I4**: a promise that is not proved when the plan is made is proved on the rows before they are visible, or there is no plan."""


def markdown(machine: type[Machine]) -> str:
    """One machine: its states, its events, the guards of each event, and a diagram."""
    table = compile_table(machine)
    parts = [
        f"# {_TITLES[table.machine]}",
        table.summary,
        _NOTICE,
        "## States",
        _table(("state", "what is true"), [(_state(state, table.initial, table.final), table.meaning[state]) for state in table.states]),
        "## Events",
        _table(
            ("event", "from", "to, if every guard holds", "else"),
            [(f"`{row.event}`", row.source, row.target, _otherwise(row)) for row in table.rows],
        ),
        _ASKED,
    ]
    for row in table.rows:
        guards = guards_of(machine, row)
        if guards:
            parts += [f"### Guards of `{row.event}` from {row.source}", _guards(guards)]
    parts += [
        "## Diagram",
        "The number beside an event is how many guards it has; `else` is what happens when one of them refuses.",
        f"```mermaid\n{mermaid_of(machine_drawing(table))}```",
    ]
    return "\n\n".join(parts) + "\n"


def invariants() -> str:
    """The four invariants, and for each of them the guards that encode it."""
    parts = ["# The four invariants", _NOTICE]
    for invariant, (name, line) in INVARIANTS.items():
        rows = [
            (f"`{each.name}`", f"`{machine.ledger_name}` {row.event}", each.code, _cell(each.says), _cell(each.reads))
            for machine in MACHINES
            for row in compile_table(machine).rows
            for each in guards_of(machine, row)
            if each.invariant == invariant
        ]
        parts += [
            f"## {invariant}: {name}",
            f"{line[0].upper()}{line[1:]}.",
            _table(("guard", "asked by", "code", "it holds if", "it reads"), rows),
        ]
    parts += [
        _BESIDE,
    ]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Every generated page, by its path under `specs`."""
    return {**{f"machines/{machine.ledger_name}.md": markdown(machine) for machine in MACHINES}, "invariants.md": invariants()}


def _state(state: str, initial: str, final: Sequence[str]) -> str:
    if state == initial:
        return f"**{state}** (initial)"
    return f"**{state}** (final)" if state in final else f"**{state}**"


def _otherwise(row: Row) -> str:
    if row.fallback is not None:
        return row.fallback
    return "raises, and has not moved" if row.requirement else "no guard"


def _guards(guards: Iterable[Guard[Any]]) -> str:
    return _table(
        ("guard", "invariant", "code", "it holds if", "it reads"),
        [(f"`{each.name}`", each.invariant, each.code, _cell(each.says), _cell(each.reads)) for each in guards],
    )


def _cell(sentence: str) -> str:
    """A sentence as the end of a cell's heading: `it holds if` … without its full stop."""
    text = sentence.rstrip(".")
    return text[:1].lower() + text[1:]


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
