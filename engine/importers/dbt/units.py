"""dbt's unit tests: refused, each with the inputs that it leaves open."""

from __future__ import annotations

import re
from typing import Final

from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt.collect import Found
from interlock.engine.importers.dbt.nodes import INCREMENTAL, Node
from interlock.engine.importers.dbt.yamls import Table, items, table

_REMEDY: Final = "write its rows as seeds, and a check on a model over them"


def refuse_all(found: Found) -> None:
    """An item for each."""
    nodes = {node.name: node for node in found.nodes if node.kind == "model"}
    for name, path, line, entry in found.unit_tests:
        why = "a unit test is no check of rows"
        node = nodes.get(str(entry.get("model")))
        open_ = _missing(entry, node) if node is not None else [f"nothing is called `{entry.get('model')}`"]
        found.refuse("test", name, path, line, "D815", "; ".join([why, *open_]), _REMEDY)


def _missing(entry: Table, node: Node) -> list[str]:
    if node.tree is None:
        return []
    given = {re.sub(r"[\s\"']", "", str(table(each).get("input"))) for each in items(entry.get("given"))}
    said: list[str] = []
    if t.mentions(node.tree, INCREMENTAL):
        modes = table(table(entry.get("overrides")).get("macros"))
        if "is_incremental" not in modes:
            said.append(f"`{node.name}` asks `is_incremental()`, and the test does not say what it is (overrides.macros.is_incremental)")
        if modes.get("is_incremental", True) and t.mentions(node.tree, frozenset({"this"})) and "this" not in given:
            said.append(f"`{node.name}` reads `this`, and the test has no input for it")
    for call in t.calls(node.tree):
        if call.path in {("ref",), ("source",)} and call.arguments and all(isinstance(each, str) for each in call.arguments):
            wanted = f"{call.path[0]}({','.join(call.arguments)})"
            if wanted not in given:
                said.append(f"it has no input for `{call.path[0]}({', '.join(repr(each) for each in call.arguments)})`")
    return list(dict.fromkeys(said))
