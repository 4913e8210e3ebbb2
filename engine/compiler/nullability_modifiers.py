"""What stands behind a query, ORDER BY, DISTINCT, LIMIT and OFFSET, and what it reads; for lineage."""

from __future__ import annotations

from interlock.engine.compiler.relations import NO_FACTS, NO_ROWS, Column, Columns, Env
from interlock.engine.warehouse.duckdb.parser import Tree

Condition = tuple[str, Tree, Env]
"""What it does to rows, the expression, and where that stands."""


def modified(node: Tree, columns: Columns, env: Env) -> list[Condition]:
    """What orders the rows of a query, makes them distinct and cuts them off.

    Args:
        node: of the query.
        columns: that it gives; nothing where they are not known.
        env: where its ORDER BY stands.
    """
    outside = Env(NO_ROWS, NO_FACTS, env.outer)
    found: list[Condition] = []
    for modifier in node.get("modifiers", ()):
        for order in modifier.get("orders", ()):
            expression = order.get("expression", {})
            place = at_place(expression, columns)
            if place is not None:
                found.append(("order", _column(place), env))
            elif _is_all(expression):
                found += [("order", _column(column), env) for column in columns or ()]
            else:
                found.append(("order", expression, env))
        if modifier.get("type") == "DISTINCT_MODIFIER":
            targets: list[Tree] = modifier.get("distinct_on_targets", [])
            for target in targets:
                place = at_place(target, columns)
                found.append(("distinct", target if place is None else _column(place), env))
            if not targets:
                found += [("distinct", _column(column), env) for column in columns or ()]
        found += [("limit", modifier[label], outside) for label in ("limit", "offset") if label in modifier]
    return found


def at_place(tree: Tree, columns: Columns) -> Column | None:
    """The output column that a number names in ORDER BY or GROUP BY."""
    literal = tree.get("literal", {})
    if tree.get("type") == "POSITIONAL_REFERENCE":
        index = int(tree.get("index", 0))
    elif tree.get("type") == "VALUE_CONSTANT" and literal.get("kind") == "INTEGER":
        index = int(literal.get("text", "0"))
    else:
        return None
    return columns[index - 1] if columns is not None and 0 < index <= len(columns) else None


def _is_all(tree: Tree) -> bool:
    """ORDER BY ALL."""
    return tree.get("type") == "STAR" and not tree.get("expr") and not tree.get("relation_name")


def _column(column: Column) -> Tree:
    return {"type": "BOUND_COLUMN", "column": column}
