"""Sources: sources.toml, and the names by which models read them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from interlock.engine.compiler.types import length_in
from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt import toml
from interlock.engine.importers.dbt.configs import clean, levels
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.names import quoted
from interlock.engine.importers.dbt.nodes import Problem, problem_of
from interlock.engine.importers.dbt.reading import File
from interlock.engine.importers.dbt.session import Rendering, Session
from interlock.engine.importers.dbt.template import CannotKeep
from interlock.engine.importers.dbt.yamls import Table, items, line_of, table

_READER: Final = re.compile(r"\s*read_(?:csv(?:_auto)?|parquet|json(?:_auto)?)\(\s*'([^']+)'\s*\)\s*", re.IGNORECASE)
_TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*(\(\s*\d+\s*(,\s*\d+\s*)?\))?(\[\])?")


@dataclass
class SourceNode:
    """A table of a dbt source."""

    package: str
    source: str
    name: str
    path: str
    line: int | None
    entry: Table
    above: Table
    fqn: list[str]
    key: str = ""
    """Its name in sources.toml."""
    schema: str = ""
    identifier: str = ""
    """As dbt calls it."""
    made: dict[str, Any] = field(default_factory=dict)
    problem: Problem | None = None
    disabled: str = ""
    notes: list[str] = field(default_factory=list)
    readers: set[str] = field(default_factory=set)
    uses_types: bool = False
    freshness: Item | None = None
    """What became of the question how fresh it is."""

    @property
    def text(self) -> str:
        """How a FROM clause names it."""
        return ".".join(quoted(part) for part in self.key.split("."))


def found_in(entries: Any, file: File, package: str) -> list[SourceNode]:
    """The tables of a `sources:` list."""
    found: list[SourceNode] = []
    for entry in items(entries):
        above = table(entry)
        tables = items(above.get("tables"))
        for index, each in enumerate(tables):
            one = table(each)
            if "name" in one:
                source, name = str(above.get("name")), str(one["name"])
                fqn = [package, *file.folders, source, name]
                found.append(SourceNode(package, source, name, file.path, line_of(tables, index), one, above, fqn))
    return found


@dataclass
class Places:
    """Where the sources' databases lie, seen from the new project."""

    database: str | None
    """Path of the DuckDB file that dbt builds, if it can be read beside."""
    name: str
    attached: dict[str, str]
    root: Path
    out: Path


def refuse_overridden(found: list[SourceNode]) -> None:
    """A package's source that the project changes by `overrides`: which of the two words holds for each key is dbt's to say."""
    changed = {(str(each.above["overrides"]), each.source): f"{each.path}:{each.line}" for each in found if each.above.get("overrides")}
    for source in found:
        place = changed.get((source.package, source.source))
        if place is not None or source.above.get("overrides"):
            why = (
                f"`overrides` at {place} changes it"
                if place is not None
                else f"it overrides a source of package `{source.above['overrides']}`"
            )
            source.problem = Problem("D822", why, "write what it comes to into the package's own file", source.line, source.path)


def convert(source: SourceNode, session: Session, places: Places, relations: set[tuple[str, str]], taken: dict[str, SourceNode]) -> None:
    """Fill what sources.toml says of it, or say why it can't be kept. `taken`: names in sources.toml that others have."""
    if source.problem is not None:
        return
    rendering = Rendering(source.path, source.package)
    try:
        above, entry = (
            session.value(
                {key: value for key, value in each.items() if key not in (_LATER if places.name else _LATER | _DATABASES)}, rendering
            )
            for each in (source.above, source.entry)
        )
    except (CannotKeep, *t.EVALUATION) as error:
        source.problem = problem_of(error, source.path, source.line)
        return
    try:
        config = {
            key: session.value(value, Rendering(path, source.package, of_project=True))
            for path, tree in session.project_levels(source.package, "sources")
            for level, _ in levels(tree, source.fqn)
            for key, value in level.items()
            if key == "enabled"
        }
    except (CannotKeep, *t.EVALUATION) as error:
        source.problem = problem_of(error, source.path, source.line)
        return
    config |= {clean(str(key)): value for each in (above, entry) for key, value in table(each.get("config")).items()}
    if config.get("enabled", True) in {False, "false", "False"}:
        source.disabled = "by `enabled: false`"
        return
    source.schema = schema = str(above.get("schema") or source.source)
    source.identifier = identifier = str(entry.get("identifier") or source.name)
    key_schema = re.sub(r"[.\s]+", "_", source.source)
    key_name = re.sub(r"[.\s]+", "_", source.name)
    if (key_schema.lower(), key_name.lower()) in relations:
        key_schema += "__source"
    base, number = key_schema, 1
    while (other := taken.get(f"{key_schema}.{key_name}".lower())) is not None:
        number += 1
        key_schema = f"{source.package}__{base}" if other.package != source.package and number == 2 else f"{base}_{number}"
    source.key = f"{key_schema}.{key_name}"
    taken[source.key.lower()] = source
    meta = {
        **table(above.get("meta")),
        **table(table(above.get("config")).get("meta")),
        **table(entry.get("meta")),
        **table(table(entry.get("config")).get("meta")),
    }
    plugin = config.get("plugin") or meta.get("plugin")
    if plugin:
        why = f"its rows come from dbt-duckdb's plugin `{plugin}`, which nothing runs here"
        source.problem = Problem("D822", why, "load it into a table or file, and declare that in sources.toml", source.line, source.path)
        return
    location = config.get("external_location") or meta.get("external_location")
    made: dict[str, Any] = {}
    if location:
        _files(source, str(location), schema, identifier, made, places)
    else:
        database = above.get("database") or above.get("catalog")
        made["schema"] = schema
        if identifier != key_name:
            made["identifier"] = identifier
        if database and str(database) in places.attached:
            made["database"] = places.attached[str(database)]
        elif database and str(database) != places.name and places.name:
            source.problem = Problem(
                "D822",
                f"its database `{database}` is not known",
                "declare it in sources.toml by hand, with `database` or `path`",
                source.line,
                source.path,
            )
            return
        elif places.database is not None:
            made["database"] = places.database
    description = entry.get("description") or above.get("description")
    if isinstance(description, str) and "{{" not in description:
        made["description"] = description.strip()
    columns = items(source.entry.get("columns"))
    typed = {str(table(each)["name"]): _type(session, each, rendering) for each in columns if table(each).get("name")}
    if typed and all(_TYPE.fullmatch(each) for each in typed.values()) and places.database is None and not location:
        lengths = {name: length.plain for name, kind in typed.items() if (length := length_in(kind)) is not None}
        if lengths:
            listed = ", ".join(f"`{typed[name]}` of `{name}`" for name in lengths)
            source.notes.append(f"DuckDB does not keep the length in {listed}, so it was left out")
        made["columns"] = {**typed, **lengths}
        source.uses_types = True
    source.made = made


def _type(session: Session, column: Any, rendering: Rendering) -> str:
    """A column's declared type; nothing where there is none, or none that can be told."""
    try:
        return str(session.value(table(column).get("data_type"), rendering) or "")
    except (CannotKeep, *t.EVALUATION):
        return ""


_DATABASES: Final = frozenset({"database", "catalog"})
"""Where dbt's own database is not known, or is another warehouse's, theirs say nothing that could be kept."""
_LATER: Final = frozenset(
    {"tables", "columns", "tests", "data_tests", "description", "freshness", "loaded_at_field", "loaded_at_query", "loader"}
)


def _files(source: SourceNode, location: str, schema: str, identifier: str, made: dict[str, Any], places: Places) -> None:
    try:
        location = location.format(schema=schema, name=source.name, identifier=identifier)
    except (KeyError, IndexError, ValueError) as error:
        source.problem = Problem(
            "D822", f"its external_location cannot be filled in: {error}", "write `path` in sources.toml", source.line, source.path
        )
        return
    reader = _READER.fullmatch(location)
    path = reader[1] if reader else location.strip().strip("'")
    if "(" in path or "://" in path or " " in path.strip():
        source.problem = Problem(
            "D822",
            f"its external_location is an expression: {location}",
            "declare it in sources.toml with path, format and options",
            source.line,
            source.path,
        )
        return
    made["path"] = relative_path(path, places.root, places.out)
    if not re.search(r"\.(csv|tsv|json|jsonl|ndjson|parquet)(\.(gz|zst))?$", path, re.IGNORECASE):
        kind = re.match(r"\s*read_(csv|json|parquet)", location, re.IGNORECASE)
        made["format"] = kind[1].lower() if kind else "parquet"


def relative_path(path: str, root: Path, out: Path) -> str:
    """A path of the dbt project, as the new project writes it."""
    return Path(os.path.relpath(root / path, out)).as_posix()


def text_of(sources: list[SourceNode]) -> str:
    """sources.toml."""
    lines: list[str] = []
    for source in sorted(sources, key=lambda each: each.key):
        if source.problem is None and not source.disabled:
            columns = source.made.get("columns")
            lines.append(f"[sources.{toml.string(source.key)}]")
            lines += toml.pairs({key: value for key, value in source.made.items() if key != "columns"})
            if columns:
                lines += [f"[sources.{toml.string(source.key)}.columns]", *toml.pairs(columns)]
            lines.append("")
    return "\n".join(lines)


def item_of(source: SourceNode) -> Item:
    """What became of it."""
    name = f"{source.source}.{source.name}"
    if source.disabled:
        return Item(kind="source", name=name, status="disabled", path=source.path, line=source.line, why=source.disabled)
    if source.problem is not None:
        problem = source.problem
        return Item(
            kind="source",
            name=name,
            status="refused",
            path=source.path,
            line=source.line,
            code=problem.code,
            why=problem.why,
            remedy=problem.remedy,
        )
    return Item(
        kind="source",
        name=name,
        status="converted",
        path=source.path,
        line=source.line,
        into="sources.toml",
        written="yes",
        why="; ".join(source.notes),
    )
