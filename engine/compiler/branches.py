"""Set operations by position: whether the columns of their branches have one order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from interlock.engine.compiler.outputs import OutputNames, only_column
from interlock.engine.compiler.reading import Problem, Reading, first_offset
from interlock.engine.compiler.relations import Columns
from interlock.engine.warehouse.duckdb.parser import Tree

Names: TypeAlias = Sequence[str] | None
Looked: TypeAlias = Callable[[Tree], Columns]
"""Columns of a query as the pass that follows rows finds them: it knows more shapes than a tree says by itself, and costs more."""


def misplaced(reading: Reading, outputs: OutputNames, looked: Looked) -> list[Problem]:
    """Set operations by position whose branches have the same names in another order."""
    found: list[Problem] = []
    for node, _ in reading.set_operations:
        children = node.get("children", ())
        branches = [_names(child, outputs, looked) for child in children]
        first = branches[0] if branches else None
        for child, branch in zip(children[1:], branches[1:], strict=True):
            if first is None or branch is None:
                continue
            if _crossed(first, branch):
                operation = str(node.get("setop_type", "UNION")).replace("_", " ")
                found.append(
                    Problem(
                        "L226",
                        f"{operation} puts columns of other names together",
                        f"it goes by position: ({', '.join(first)}) beside ({', '.join(branch)})",
                        "write UNION BY NAME, or name the columns in one order"
                        if operation == "UNION"
                        else "name the columns in one order",
                        first_offset(child.get("select_list", [])) or first_offset(child),
                    )
                )
    return found


def _names(node: Tree, outputs: OutputNames, looked: Looked) -> Names:
    """What the columns of a branch are most likely meant to be, in small letters."""
    said = outputs.of(node)
    if said is not None:
        return [output.likely.lower() for output in said]
    columns = looked(node)
    if columns is None:
        return None
    return [(column.name or only_column(column.expression[0] if column.expression is not None else {})).lower() for column in columns]


def _crossed(here: Sequence[str], there: Sequence[str]) -> bool:
    """Whether a column stands where the other side has one of another name, and both sides have both names."""
    pairs = [(one, other) for one, other in zip(here, there, strict=False) if one and other and one != other]
    return any(one in there and other in here for one, other in pairs)
