"""Which sums and averages of a statement are of floating point numbers: asked of the plan that the engine binds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from interlock.engine.compiler.functions import SUMS, WEIGHTED
from interlock.engine.compiler.reading import nodes_in
from interlock.engine.compiler.types import INTEGERS
from interlock.engine.warehouse.duckdb.parser import Tree

_FLOATING: Final = frozenset({"FLOAT", "DOUBLE"})
_EXACT: Final = INTEGERS | {"DECIMAL", "NUMERIC"}


class Sums(NamedTuple):
    """Of a statement."""

    floating: frozenset[str]
    """Names of sums and averages of which at least one is of floating point numbers."""
    columns: Mapping[str, frozenset[str]]
    """Types of the columns of what it reads, by name in small letters; empty where a name may be another thing's too."""

    def may_float(self, name: str, argument: Tree) -> bool:
        """Whether this sum or average may be of floating point numbers."""
        found = "sum" if name in WEIGHTED else name  # the plan shows what a macro stands for
        return found in self.floating and not self._is_exact(argument)

    def _is_exact(self, tree: Tree) -> bool:
        """Whether an argument is exact by its own words, where another sum of its statement is not."""
        kind = tree.get("type")
        if kind == "OPERATOR_CAST":
            return str(tree.get("type_expr", {}).get("type_name", "")).upper() in _EXACT
        if kind == "VALUE_CONSTANT":
            return bool(tree.get("literal", {}).get("kind") == "INTEGER")
        if kind == "COLUMN_REF" and tree.get("column_names"):
            types = self.columns.get(str(tree["column_names"][-1]).lower(), frozenset())
            return bool(types) and not types & _FLOATING
        return False


UNKNOWN: Final = Sums(SUMS, {})
"""Where the engine gives no plan: any of them may be."""


def sums_of(plan: Mapping[str, Any] | None, *, is_plain: bool) -> Sums:
    """What a plan says, as `json_serialize_plan` gives it; without one, nothing is known. `is_plain`: of a single SELECT."""
    if plan is None:
        return UNKNOWN
    floating: set[str] = set()
    columns: dict[str, set[str]] = {}
    for node in nodes_in(plan):
        name = _name(node)
        if name in SUMS and {(each.get("return_type") or {}).get("id") for each in node.get("children", ())} & _FLOATING:
            floating.add(name)
        if is_plain and node.get("type") == "LOGICAL_GET":
            for column, kind in zip(node.get("names", ()), node.get("returned_types", ()), strict=False):
                columns.setdefault(str(column).lower(), set()).add(str(kind.get("id")))
    return Sums(frozenset(floating), {name: frozenset(kinds) for name, kinds in columns.items()})


def _name(node: Mapping[str, Any]) -> str:
    path = (node.get("qname") or {}).get("path") or [""]
    return str(path[-1]).lower() if str(node.get("expression_class", "")).startswith("BOUND_") else ""
