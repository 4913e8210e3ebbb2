"""Views that stand in the warehouse: what they read, and whether they would still bind if a relation had other columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.parser import Statements, Tree, parse
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.signature import NotOneSelect, signature
from interlock.engine.warehouse.protocol import ALIAS, Catalog, RelationSeen
from interlock.machines.evidence import Column

Place: TypeAlias = tuple[str, str]
"""Schema and name, folded."""

_PREFIX = "CREATE VIEW"
_AS = re.compile(" AS ", re.IGNORECASE)
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}


def names_in(view: RelationSeen) -> frozenset[Place]:
    """Relations that a stored view reads; an unqualified name is looked for in `main` and in the view's own schema. A CTE's is none."""
    found: set[Place] = set()
    # Each part with the names of the CTEs that are seen from it.
    waiting: list[tuple[Any, frozenset[str]]] = [(tree, frozenset()) for tree in _read(view)[1]]
    while waiting:
        node, ctes = waiting.pop()
        if isinstance(node, list):
            waiting += [(part, ctes) for part in node]
        if not isinstance(node, dict):
            continue
        if node.get("type") == "BASE_TABLE":
            found |= _places(node, ctes, view.schema)
        inner = ctes
        for entry in node.get("cte_map", {}).get("map", ()):
            # One sees those before it, and not itself: a recursive one reads itself on the right side of its query alone.
            waiting.append((entry["value"], inner))
            inner |= {str(entry["key"]).lower()}
        for key, part in node.items():
            if key == "right" and node.get("type") == "RECURSIVE_CTE_NODE":
                waiting.append((part, inner | {str(node["cte_name"]).lower()}))
            elif key != "cte_map":
                waiting.append((part, inner))
    return frozenset(found)


def _places(node: Tree, ctes: frozenset[str], schema: str) -> set[Place]:
    name, said = str(node.get("table_name") or "").lower(), str(node.get("schema_name") or "").lower()
    if node.get("catalog_name") or (name in ctes and said in ("", "recurring")):
        return set()  # the engine stores no view with its own catalog's name, so it is another database's
    return {(said, name)} if said else {("main", name), (schema.lower(), name)}


def select_of(view: RelationSeen) -> str:
    """The SELECT of a stored view, or nothing where its text is not one that we know how to read."""
    return _read(view)[0]


def _read(view: RelationSeen) -> tuple[str, tuple[Tree, ...]]:
    text = (view.text or "").rstrip().rstrip(";")
    if text.upper().startswith(_PREFIX):
        for found in _AS.finditer(text):  # the name of the view, or of a column of it, may hold the word too
            select = text[found.end() :]
            parsed = parse(select)
            if isinstance(parsed, Statements):
                return select, parsed.trees
    return "", ()


def bindable(catalog: Catalog, views: Sequence[RelationSeen], changed: Mapping[Place, tuple[Column, ...]]) -> frozenset[Place]:
    """The views that bind against empty shadows of what they read.

    Args:
        catalog: the bulk probe.
        views: that are asked about.
        changed: columns that relations would have, instead of those of the catalog.
    """
    wanted = {place for view in views for place in names_in(view)}
    good: set[Place] = set()
    connection = duckdb.connect(":memory:", config=_CONFIG)
    try:
        connection.execute(f"ATTACH ':memory:' AS {identifier(ALIAS)}")
        connection.execute(f"USE {identifier(ALIAS)}")
        for place in sorted(wanted):
            seen = catalog.relations.get(place)
            columns = changed.get(place, seen.columns if seen is not None else ())
            if columns:
                _shadow(connection, seen.schema if seen is not None else place[0], seen.name if seen is not None else place[1], columns)
        for view in views:
            try:
                signature(connection, select_of(view) or "SELECT no_text")
            except (duckdb.Error, NotOneSelect):
                continue
            good.add((view.schema.lower(), view.name.lower()))
    finally:
        connection.close()
    return frozenset(good)


def _shadow(connection: duckdb.DuckDBPyConnection, schema: str, name: str, columns: Sequence[Column]) -> None:
    listed = ", ".join(f"{identifier(column.name)} {column.type}" for column in columns)
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(schema)}")
    try:
        connection.execute(f"CREATE TABLE {identifier(schema)}.{identifier(name)} ({listed})")
    except duckdb.Error:
        # A column of a type that no table can have: a view that reads it does not bind, and that is the answer.
        return
