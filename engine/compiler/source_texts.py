"""How a source is written and told apart: what stands for it in a text, and which files it has. Needs no engine."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from interlock.engine.compiler.names import physical
from interlock.engine.diagnostics import Position
from interlock.engine.project.project import Project, Source
from interlock.engine.warehouse.duckdb.quoting import file_name, identifier, literal, relation, relation_in, string
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.records import digest

_READERS: Final = {"csv": "read_csv", "json": "read_json", "parquet": "read_parquet"}


def database_alias(path: str) -> str:
    """The alias under which another DuckDB file is attached, from its path as the project writes it."""
    return "src_" + digest("source-database", path.encode())[:16]


def is_own_database(source: Source, root: Path, target: TargetConfig) -> bool:
    """Whether a source's database file is the target's own, which cannot be attached a second time."""
    return source.database is not None and (root / source.database).resolve() == target.location.resolve()


_PATTERN_MAX = 4096
"""A longer path is none of any file system, and matching one full of brackets takes minutes."""


def match_files(project: Project) -> dict[str, tuple[str, ...]]:
    """The files of each file source, sorted, relative to the project with forward slashes; none where nothing matches."""
    found: dict[str, tuple[str, ...]] = {}
    for source in project.sources.values():
        if source.path is not None and len(source.path) > _PATTERN_MAX:
            found[source.name] = ()
        elif source.path is not None:
            matches = glob.glob(source.path, root_dir=project.root, recursive=True)  # noqa: PTH207 - patterns may leave the project
            files = (Path(match).as_posix() for match in matches if (project.root / match).is_file())
            found[source.name] = tuple(sorted(files))
    return found


def source_sql(source: Source, target: TargetConfig, files: tuple[str, ...] = ()) -> str:
    """What stands in a FROM clause for a source: a quoted name, or a reader over its files.

    Declared columns of files are what the reader is told and all that it gives, so `*` means the declared ones.
    """
    if source.path is None:
        if source.database is not None:
            return relation_in(database_alias(source.database), source.schema or "main", source.identifier or source.name)
        return relation(*physical(source, target))
    declared = source.columns
    types = None if declared is None else {name: column.type for name, column in declared.items()}
    call = reader(source.format or "parquet", files, source.options, types)
    if declared is None:
        return call
    return f"(SELECT {', '.join(identifier(name) for name in declared)} FROM {call})"


def reader(
    format_: str,
    files: tuple[str, ...],
    options: Mapping[str, str | int | bool],
    types: Mapping[str, str] | None = None,
    *,
    filename: str | None = None,
) -> str:
    """The call that reads files.

    Args:
        format_: of the files.
        files: relative to the project.
        options: of the reader.
        types: by column, where they are declared; a Parquet file has its own.
        filename: a column for the name of the file that a row stands in.
    """
    arguments = ["[" + ", ".join(file_name(file) for file in files) + "]"]
    arguments += [f"{option} = {_option(value)}" for option, value in sorted(options.items())]
    if types is not None and format_ != "parquet":
        all_named = format_ == "json" or options.get("header") is False
        struct = ", ".join(f"{string(name)}: {string(kind)}" for name, kind in types.items())
        arguments.append(f"{'columns' if all_named else 'types'} = {{{struct}}}")
    if filename is not None:
        arguments.append(f"filename = {string(filename)}")
    return f"{_READERS[format_]}({', '.join(arguments)})"


def identity(source: Source, target: TargetConfig) -> dict[str, Any]:
    """How a source is read, as part of the definition of its readers; never which files there are."""
    if source.path is not None:
        columns = None if source.columns is None else {name: column.type for name, column in source.columns.items()}
        return {"path": source.path, "format": source.format, "options": dict(sorted(source.options.items())), "columns": columns}
    if source.database is not None:
        return {"database": source.database, "relation": f"{source.schema or 'main'}.{source.identifier or source.name}"}
    return {"relation": ".".join(physical(source, target))}


def position(source: Source, *keys: str) -> Position:
    """Where a source is declared."""
    path, _, key = source.origin.partition(": ")
    return Position(path=path, key=".".join([key or f"sources.{source.name}", *keys]))


def _option(value: str | int | bool) -> str:  # noqa: FBT001 - a value from a file, not a switch
    return literal(value)
