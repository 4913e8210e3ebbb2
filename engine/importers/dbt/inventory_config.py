"""A line for every configuration key: what became of it, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from interlock.engine.importers.dbt.configs import CARRIED, CHANGES, DOCUMENTS, HOOKS, KNOWN, clean, listed
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.materialize import is_harmless
from interlock.engine.importers.dbt.nodes import Node
from interlock.engine.importers.dbt.reading import Package
from interlock.engine.importers.dbt.suggest import did_you_mean
from interlock.engine.importers.dbt.yamls import Table, table

READ: Final = frozenset(
    {"name", "profile", "models", "seeds", "snapshots", "sources", "tests", "data_tests", "vars", "dispatch", "packages-install-path", "modules-path"}
    | {"model-paths", "source-paths", "seed-paths", "data-paths", "test-paths", "macro-paths", "snapshot-paths", "analysis-paths", "on-run-start", "on-run-end"}
)  # fmt: skip
"""Keys of dbt_project.yml that decide something of the import."""
LEFT: Final = frozenset(
    {"version", "config-version", "require-dbt-version", "clean-targets", "target-path", "log-path", "asset-paths", "docs-paths", "query-comment", "quoting", "flags"}
    | {"dbt-cloud", "exposures", "metrics", "semantic-models", "saved-queries", "unit_tests", "restrict-access", "function-paths", "functions", "validation"}
)  # fmt: skip
"""Keys of dbt_project.yml that are about dbt itself."""


def config_items(conversion: Conversion) -> list[Item]:
    """Items of every key of dbt_project.yml, and of each resource's own configuration."""
    found: list[Item] = []
    for package in conversion.found.tree.packages:
        found += _project(package)
        for plural in ("models", "seeds", "snapshots", "sources", "tests", "data_tests"):
            found += _levels(package.config.get(plural), package.path, (plural,))
    for node in conversion.found.nodes:
        found += _own(node)
    return found


def _project(package: Package) -> Iterator[Item]:
    for key in package.config:
        line = package.config.at(key)
        if key in READ:
            yield Item(kind="config", name=str(key), status="converted", path=package.path, line=line, why="the import goes by it")
        elif key in LEFT:
            yield Item(kind="config", name=str(key), status="documented", path=package.path, line=line, why="it is about dbt itself")
        else:
            remedy = did_you_mean(str(key), READ | LEFT, "take it out")
            why = "dbt_project.yml has no such key"
            yield Item(kind="config", name=str(key), status="refused", path=package.path, line=line, code="D809", why=why, remedy=remedy)


def _levels(tree: Any, path: str, above: tuple[str, ...]) -> Iterator[Item]:
    if not isinstance(tree, Table):
        return
    for key, value in tree.items():
        plain = clean(str(key))
        if plain in KNOWN and (str(key).startswith("+") or not isinstance(value, Table)):
            yield _item(plain, value, ".".join((*above, str(key))), path, tree.at(key))
        elif isinstance(value, Table):
            yield from _levels(value, path, (*above, str(key)))


def _own(node: Node) -> Iterator[Item]:
    said: set[str] = set()
    if node.properties is not None:
        given = table(node.properties.entry.get("config"))
        for key, value in given.items():
            plain = clean(str(key))
            if plain in KNOWN:
                said.add(plain)
                yield _item(plain, value, f"{node.name}.{plain}", node.properties.path, given.at(key))
    if node.rendering is not None:
        for key, value in node.rendering.configs.items():
            if key in KNOWN and not (key in said and key not in node.rendering.configs):
                yield _item(key, value, f"{node.name}.{key}", node.file.path, node.line)


def _item(key: str, value: Any, name: str, path: str, line: int | None) -> Item:
    if key in HOOKS:
        texts = [str(hook.get("sql", "") if isinstance(hook, dict) else hook) for hook in listed(value)]
        if all(not text.strip() or is_harmless(text) for text in texts):
            return Item(kind="hook", name=name, status="documented", path=path, line=line, why="it changes no rows, and is not run here")
        return Item(
            kind="hook", name=name, status="refused", path=path, line=line, code="D810", why="nothing runs beside a model's own statement here",
            remedy="move what it does into a model, or run it outside",
        )  # fmt: skip
    if key in CHANGES and value:
        return Item(
            kind="config", name=name, status="refused", path=path, line=line, code="D810", why="it changes which rows are written, and has no counterpart",
            remedy="take it out, or write the query so that it is not needed",
        )  # fmt: skip
    if key in CARRIED:
        return Item(kind="config", name=name, status="converted", path=path, line=line)
    assert key in DOCUMENTS | CHANGES
    return Item(kind="config", name=name, status="documented", path=path, line=line, why="it does not change rows")
