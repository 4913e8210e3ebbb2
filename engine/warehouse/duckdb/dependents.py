"""Views that stand in the warehouse: what they read, and whether they bind as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from interlock.engine.warehouse.duckdb.parser import Statements, Tree, parse
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.protocol import Reader, RelationSeen, WarehouseError

Place: TypeAlias = tuple[str, str]
"""Schema and name, folded."""

_PREFIX = "CREATE VIEW"
_AS = re.compile(" AS ", re.IGNORECASE)
_NOT_BOUND = frozenset({"W605", "W607", "W608"})
"""Codes of what a view itself can lack: a name, a file that it reads, leave to read it."""
_WOULD_WRITE = "W610"


def place_in(view: RelationSeen) -> Place:
    """Where a relation stands."""
    return (view.schema.lower(), view.name.lower())


def names_in(view: RelationSeen) -> frozenset[Place]:
    """Relations that a stored view reads; an unqualified name is looked for in `main` and in the view's own schema. A CTE's is none."""
    return _names_in(view.text or "", view.schema.lower())


@lru_cache(maxsize=16_384)  # a plan asks several times of the same view
def _names_in(text: str, schema: str) -> frozenset[Place]:
    found: set[Place] = set()
    # Each part with the names of the CTEs that are seen from it.
    waiting: list[tuple[Any, frozenset[str]]] = [(tree, frozenset()) for tree in _read(text)[1]]
    while waiting:
        node, ctes = waiting.pop()
        if isinstance(node, list):
            waiting += [(part, ctes) for part in node]
        if not isinstance(node, dict):
            continue
        if node.get("type") == "BASE_TABLE":
            found |= _places(node, ctes, schema)
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
    return {(said, name)} if said else {("main", name), (schema, name)}


def select_of(view: RelationSeen) -> str:
    """The SELECT of a stored view, or nothing where its text is not one that we know how to read."""
    return _read(view.text or "")[0]


def _read(text: str) -> tuple[str, tuple[Tree, ...]]:
    text = text.rstrip().rstrip(";")
    if text.upper().startswith(_PREFIX):
        for found in _AS.finditer(text):  # the name of the view, or of a column of it, may hold the word too
            select = text[found.end() :]
            parsed = parse(select)
            if isinstance(parsed, Statements):
                return select, parsed.trees
    return "", ()


def behind(place: Place, readers: Mapping[Place, Iterable[RelationSeen]]) -> dict[Place, RelationSeen]:
    """The views that read a relation, directly or through others of these.

    Args:
        place: of the relation.
        readers: views by what they read directly.
    """
    found: dict[Place, RelationSeen] = {}
    waiting = [place]
    while waiting:
        for view in readers.get(waiting.pop(), ()):
            if place_in(view) not in found:
                found[place_in(view)] = view
                waiting.append(place_in(view))
    return found


def bound_now(reader: Reader, views: Sequence[RelationSeen]) -> frozenset[Place]:
    """The views that bind in the warehouse as it is, with all that it has: its macros and types, files, other databases.

    All are asked in one question. Where that does not bind, each half of them is, so that few broken ones cost few questions. One
    that would write (`nextval`) cannot be bound by a reader: it counts as one that binds, and the transaction tells.

    Raises:
        WarehouseError: there was no answer.
    """
    if not views:
        return frozenset()
    try:
        reader.columns_of(f"SELECT {', '.join(f'EXISTS (FROM {relation(view.schema, view.name)})' for view in views)}")
    except WarehouseError as error:
        if error.code not in (*_NOT_BOUND, _WOULD_WRITE):
            raise
        if len(views) > 1:
            half = len(views) // 2
            return bound_now(reader, views[:half]) | bound_now(reader, views[half:])
        return frozenset(place_in(view) for view in views if error.code == _WOULD_WRITE)
    return frozenset(place_in(view) for view in views)
