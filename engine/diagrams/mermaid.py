"""Mermaid text of a machine, from its class."""

from __future__ import annotations

from interlock.machines.machine import Machine
from interlock.machines.table import Table, compile_table


def mermaid(machine: type[Machine]) -> str:
    """A `stateDiagram-v2` of the machine: each arrow with its event, and with `else` where a guard refuses."""
    return drawn(compile_table(machine))


def drawn(table: Table) -> str:
    """The same, of a table; arrows between the same two states are one."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for row in table.rows:
        arrows.setdefault((row.source, row.target), []).append(f"{row.event} [{len(row.guards)}]" if row.guards else row.event)
        if row.fallback is not None:
            arrows.setdefault((row.source, row.fallback), []).append(f"{row.event} else")
    lines = ["stateDiagram-v2", "    direction LR", f"    [*] --> {table.initial}"]
    lines += [f"    {source} --> {target}: {', '.join(labels)}" for (source, target), labels in arrows.items()]
    lines += [f"    {state} --> [*]" for state in table.final]
    return "\n".join(lines) + "\n"
