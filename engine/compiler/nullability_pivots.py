"""Columns of PIVOT with literal values, and of UNPIVOT."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlock.engine.compiler.relations import Column, Columns, Env
from interlock.engine.warehouse.duckdb.parser import Tree


def unpivoted(table: Tree, source: list[Column], env: Env) -> Columns:
    """Columns that stay, then the names, then the values. Nulls are left out unless they are asked for."""
    values, pivots = table.get("unpivot_names", []), table.get("pivots", [])
    if len(values) != 1 or len(pivots) != 1 or len(pivots[0].get("unpivot_names", ())) != 1:
        return None
    taken: list[Column] = []
    by_name = {column.name.lower(): column for column in source if column.name is not None}
    for entry in pivots[0].get("entries", ()):
        tree = entry.get("star_expr", {})
        names = tree.get("column_names", [])
        column = by_name.get(names[-1].lower()) if tree.get("type") == "COLUMN_REF" and len(names) == 1 else None
        if column is None:
            return None
        taken.append(column)
    if len(by_name) < len(source) or len({column.json for column in taken}) > 1:
        return None
    stay = [column for column in source if column not in taken]
    with_nulls = bool(table.get("include_nulls"))
    value = Column(
        values[0],
        never_null=not with_nulls or all(column.never_null for column in taken),
        json=any(column.json for column in taken),
        expression=({"type": "LIST", "parts": [entry["star_expr"] for entry in pivots[0]["entries"]]}, env),
    )
    return (*stay, Column(pivots[0]["unpivot_names"][0], never_null=True), value)


def pivoted(table: Tree, source: list[Column], env: Env) -> Columns:
    """Columns that rows are grouped by, then a cell for each value; known for one aggregate and one pivoted column."""
    pivots, aggregates = table.get("pivots", []), table.get("aggregates", [])
    if len(pivots) != 1 or len(aggregates) != 1 or any(column.name is None for column in source):
        return None
    cells = [_cell(entry) for entry in pivots[0].get("entries", ())]
    if not cells or None in cells or aggregates[0].get("alias"):
        return None
    by_name = {column.name.lower(): column for column in source if column.name is not None}
    groups: list[str] = table.get("groups", [])
    if groups:
        names = [group.lower() for group in groups]
    else:
        used = {name.lower() for tree in (pivots[0].get("pivot_expressions", []), aggregates) for name in _names(tree)}
        if "*" in used:
            return None
        names = [name for name in by_name if name not in used]
    if any(name not in by_name for name in names) or {(cell or "").lower() for cell in cells} & set(names):
        return None
    counts = aggregates[0].get("function_name") in {"count", "count_star"}
    made = ({"type": "LIST", "parts": [*aggregates, *pivots]}, env)
    return (*(by_name[name] for name in names), *(Column(cell, never_null=counts, expression=made) for cell in cells))


def _cell(entry: Tree) -> str | None:
    if entry.get("alias"):
        return str(entry["alias"])
    tree = entry.get("star_expr", {})
    literal = tree.get("literal", {})
    return literal.get("text") if tree.get("type") == "VALUE_CONSTANT" and literal.get("kind") in {"STRING", "INTEGER"} else None


def _names(tree: Any) -> Iterable[str]:
    if isinstance(tree, list):
        for part in tree:
            yield from _names(part)
    elif isinstance(tree, dict):
        if tree.get("type") == "STAR":
            yield "*"
        if tree.get("type") == "COLUMN_REF" and tree.get("column_names"):
            yield tree["column_names"][-1]
        for part in tree.values():
            if isinstance(part, dict | list):
                yield from _names(part)
