"""Keys of YAML properties that dbt does not know: it takes them and does nothing with them, whatever they were meant to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.engine.importers.dbt.configs import unknown
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.yamls import Table, items, table

_ALL: Final = frozenset(
    {"name", "description", "docs", "config", "meta", "tags", "columns", "tests", "data_tests", "version", "group", "access"}
)
_ENTRY: Final[dict[str, frozenset[str]]] = {
    "models": _ALL | {"latest_version", "deprecation_date", "constraints", "time_spine", "versions", "freshness", "semantic_model", "metrics", "primary_entity"},
    "seeds": _ALL,
    "snapshots": _ALL | {"relation"},
    "sources": _ALL | {"database", "catalog", "schema", "loader", "loaded_at_field", "loaded_at_query", "overrides", "freshness", "quoting", "tables", "source_meta"},
    "tables": _ALL | {"identifier", "loader", "loaded_at_field", "loaded_at_query", "freshness", "quoting", "external", "source_meta"},
}  # fmt: skip
_COLUMN: Final = frozenset(
    {"name", "description", "meta", "quote", "constraints", "tests", "data_tests", "tags", "config", "data_type", "docs", "granularity", "policy_tags"}
    | {"dimension", "entity", "include", "exclude", "type"}
)  # fmt: skip
_VERSION: Final = frozenset(
    {"v", "defined_in", "description", "access", "config", "constraints", "docs", "data_tests", "tests", "columns", "deprecation_date"}
)


def unknown_properties(section: str, entry: Table, path: str, name: str) -> Iterator[Item]:
    """An item for each key of an entry, of its columns or of its versions, that means nothing."""
    yield from _unknown(entry, _ENTRY[section], path, name)
    yield from _columns(entry, path, name)
    for version in items(entry.get("versions")) if section == "models" else ():
        each = table(version)
        yield from _unknown(each, _VERSION, path, f"{name}.v{each.get('v')}")
        yield from _columns(each, path, f"{name}.v{each.get('v')}")


def _columns(entry: Table, path: str, name: str) -> Iterator[Item]:
    for column in items(entry.get("columns")):
        each = table(column)
        yield from _unknown(each, _COLUMN, path, f"{name}.{each.get('name')}")


def _unknown(entry: Table, known: frozenset[str], path: str, name: str) -> Iterator[Item]:
    for key in entry:
        if str(key) not in known and not str(key).startswith(("x-", "_")):
            yield unknown(str(key), f"{name}.{key}", path, entry.at(key), known)
