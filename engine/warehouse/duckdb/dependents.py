"""Views that stand in the warehouse: what they read, and whether they would still bind if a relation had other columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.parser import Statements, parse
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.signature import NotOneSelect, signature
from interlock.engine.warehouse.protocol import ALIAS, Catalog, RelationSeen
from interlock.machines.evidence import Column

Place: TypeAlias = tuple[str, str]
"""Schema and name, folded."""

_PREFIX = "CREATE VIEW"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}


def names_in(view: RelationSeen) -> frozenset[Place]:
    """Relations that a stored view reads; an unqualified name is looked for in `main` and in the view's own schema."""
    parsed = parse(select_of(view))
    if not isinstance(parsed, Statements):
        return frozenset()
    found: set[Place] = set()
    stack: list[Any] = list(parsed.trees)
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if node.get("type") == "BASE_TABLE" and node.get("table_name"):
                name = str(node["table_name"]).lower()
                schema = str(node.get("schema_name") or "").lower()
                found |= {(schema, name)} if schema else {("main", name), (view.schema.lower(), name)}
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return frozenset(found)


def select_of(view: RelationSeen) -> str:
    """The SELECT of a stored view, or nothing where its text is not one that we know how to read."""
    text = view.text or ""
    start = text.upper().find(" AS ")
    if not text.upper().startswith(_PREFIX) or start < 0:
        return ""
    return text[start + 4 :].rstrip().rstrip(";")


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
