"""Whether a statement makes one of texts that differ: under a collation they may be equal, and any of them stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from interlock.engine.compiler.reading import NO_NODES, QUERIES, nodes_in
from interlock.engine.warehouse.duckdb.parser import Tree

_BINARY: Final = frozenset({"binary", "c", "posix"})
_COUNTING: Final = frozenset({"approx_count_distinct", "bool_and", "bool_or", "count", "count_if", "count_star", "countif"})
_COMPARING: Final = frozenset({"COMPARISON", "BETWEEN"})


def merged_by_collation(root: Tree, aggregates: frozenset[str]) -> Tree | None:
    """The COLLATE of a text that goes on as a value, in a statement that groups, compares rows as a whole or takes a greatest value."""
    if not is_collated(root):
        return None
    place = next(_collated(root, compared=False), None)
    return place if place is not None and any(_merges(node, aggregates) for node in nodes_in(root)) else None


def is_collated(tree: Any) -> bool:
    """Whether texts that differ may be equal in an expression."""
    return any(_is_collate(node) for node in nodes_in(tree))


def _is_collate(node: Tree) -> bool:
    return node.get("type") == "COLLATE" and str(node.get("collation", "")).lower() not in _BINARY


def _collated(value: Any, *, compared: bool) -> Iterator[Tree]:
    """Collations of what is not only compared, and not only ordered by."""
    if isinstance(value, list):
        for part in value:
            yield from _collated(part, compared=compared)
    elif isinstance(value, dict):
        if not compared and _is_collate(value):
            yield value
        kind = str(value.get("type"))  # the size of a sample has a type too, and it is no node
        if kind in QUERIES:
            compared = False
        elif value.get("class") in _COMPARING or kind == "COMPARE_IN":
            compared = True
        for label, part in value.items():
            if label != "orders" and label not in NO_NODES - {"cte_map"}:
                yield from _collated(part, compared=compared)


def _merges(node: Tree, aggregates: frozenset[str]) -> bool:
    match node.get("type"):
        case "DISTINCT_MODIFIER":
            return True
        case "SELECT_NODE":
            return bool(node.get("group_expressions")) or node.get("aggregate_handling") == "FORCE_AGGREGATES"
        case "SET_OPERATION_NODE":
            return node.get("setop_all") is False or node.get("setop_type") in {"EXCEPT", "INTERSECT"}
        case "RECURSIVE_CTE_NODE":
            return not node.get("union_all")
        case "FUNCTION" | "WINDOW_AGGREGATE":
            name = str(node.get("function_name", "")).lower()
            return name in aggregates and name not in _COUNTING
        case _:
            return False
