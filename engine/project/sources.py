"""sources.toml → what is read but not made here."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Literal, TypeAlias

from msgspec import UNSET

from interlock.engine.diagnostics import did_you_mean
from interlock.engine.project.checks import freshness_of
from interlock.engine.project.document import Document
from interlock.engine.project.files import SourcesToml, SourceTable
from interlock.engine.project.models import check_tags
from interlock.engine.project.positions import KeyPath
from interlock.engine.project.project import Source, SourceColumn, SourceFreshness

Format: TypeAlias = Literal["parquet", "csv", "json"]

_FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}
_COMPRESSED = {".gz", ".zst"}

_FILES = frozenset({"union_by_name", "hive_partitioning"})
_TEXT = frozenset({"compression", "dateformat", "timestampformat"})
OPTIONS: dict[str, frozenset[str]] = {
    "csv": _FILES
    | _TEXT
    | {
        "allow_quoted_nulls",
        "comment",
        "decimal_separator",
        "delim",
        "encoding",
        "escape",
        "header",
        "max_line_size",
        "new_line",
        "normalize_names",
        "nullstr",
        "quote",
        "sep",
        "skip",
        "strict_mode",
        "thousands",
    },
    "json": _FILES | _TEXT | {"format", "maximum_object_size", "records"},
    "parquet": _FILES | {"binary_as_string"},
}
"""Options of the readers that a source may set. None of those that drop rows which do not fit is among them."""


def sources_of(document: Document, file: SourcesToml) -> dict[str, Source]:
    """The sources of sources.toml. One that is not well-formed is left out, after its finding."""
    found: dict[str, Source] = {}
    folded: dict[str, str] = {}
    for name, table in file.sources.items():
        here: KeyPath = ("sources", name)
        parts = name.split(".")
        if len(parts) > 2 or any(not part.strip() for part in parts):
            because = "a source is called as it stands in FROM: name, or schema.name"
            document.report(
                "S108",
                here,
                f"`{name}` is no name for a source",
                because=because,
                remedy='write [sources.orders] or [sources."raw.orders"]',
            )
            continue
        if name.lower() in folded:
            because = f"`{folded[name.lower()]}` is the same name: case is not looked at"
            document.report("S106", here, f"two sources are called `{name}`", because=because, remedy="take one out")
            continue
        folded[name.lower()] = name
        source = _source(document, here, name, table)
        if source is not None:
            found[name] = source
    return found


def _source(document: Document, here: KeyPath, name: str, table: SourceTable) -> Source | None:
    before = len(document.findings)
    check_tags(document, table.tags)
    schema, _, last = name.rpartition(".")
    columns = _columns(document, here, table)
    origin = f"{document.path}: sources.{name}"
    common: dict[str, Any] = {"name": name, "columns": columns, "description": table.description, "tags": table.tags, "origin": origin}
    _fingerprint(document, here, table)
    common |= {
        "fingerprint": None if table.fingerprint is UNSET else table.fingerprint,
        "fingerprint_column": None if table.fingerprint_column is UNSET else table.fingerprint_column,
    }
    common["freshness"] = _freshness(document, (*here, "freshness"), table)
    if table.path is not UNSET:
        format_ = _files(document, here, table, table.path)
        if len(document.findings) > before:
            return None
        return Source(path=table.path, format=format_, options=table.options, **common)
    for key, unset in (("format", table.format is UNSET), ("options", not table.options)):
        if not unset:
            document.report(
                "S116", (*here, key), f"`{key}` has no effect", because="the source is no file", remedy="take it out, or add path"
            )
    for key in ("schema", "identifier", "database"):
        value = getattr(table, key)
        if value is not UNSET and not value.strip():
            document.report("S104", (*here, key), f"`{key}` is empty", remedy="write its name, or take it out")
    if len(document.findings) > before:
        return None
    named = None if table.schema is UNSET else table.schema
    database = None if table.database is UNSET else table.database
    return Source(
        schema=named or schema or ("main" if database else None),
        identifier=last if table.identifier is UNSET else table.identifier,
        database=database,
        **common,
    )


def _freshness(document: Document, here: KeyPath, table: SourceTable) -> tuple[SourceFreshness, ...]:
    if table.freshness is UNSET:
        return ()
    several = isinstance(table.freshness, tuple)
    asked = table.freshness if isinstance(table.freshness, tuple) else (table.freshness,)
    found: dict[str, SourceFreshness] = {}
    for index, each in enumerate(asked):
        place: KeyPath = (*here, index) if several else here
        if each.severity in found:
            because = f"freshness that {'warns' if each.severity == 'warn' else 'refuses'} is asked already"
            document.report("S116", place, "two limits of one severity", because=because, remedy="keep the stricter one")
            continue
        question = freshness_of(document, place, each)
        if question is not None:
            no_rows: Literal["refuse", "warn"] = "warn" if each.severity == "warn" else "refuse"
            found[each.severity] = SourceFreshness(
                question=question, severity=each.severity, no_rows=no_rows if each.no_rows is UNSET else each.no_rows
            )
    if not asked:
        document.report("S104", here, "`freshness` is an empty list", remedy="ask something, or take it out")
    return tuple(found[severity] for severity in sorted(found))


def _fingerprint(document: Document, here: KeyPath, table: SourceTable) -> None:
    column = table.fingerprint_column
    if table.fingerprint == "receipt" and table.path is not UNSET:
        document.report(
            "S116",
            (*here, "fingerprint"),
            '`fingerprint = "receipt"` is not for files',
            because="a receipt stands beside a relation that another Interlock project makes",
            remedy='write fingerprint = "content", or name the relation instead of path',
        )
    if table.fingerprint != "column":
        if column is not UNSET:
            remedy = 'take it out, or set fingerprint = "column"'
            document.report(
                "S116",
                (*here, "fingerprint_column"),
                "`fingerprint_column` has no effect",
                because="it is for fingerprint = column",
                remedy=remedy,
            )
    elif column is UNSET or not column.strip():
        because = 'fingerprint = "column" looks at its greatest value'
        document.report(
            "S105",
            (*here, "fingerprint_column"),
            "`fingerprint_column` is missing",
            because=because,
            remedy='add fingerprint_column = "updated_at"',
        )


def _files(document: Document, here: KeyPath, table: SourceTable, path: str) -> Format | None:
    for key in ("schema", "identifier", "database"):
        if getattr(table, key) is not UNSET:
            document.report(
                "S116", (*here, key), f"`{key}` has no effect", because="the source is files: it has path", remedy="take one of the two out"
            )
    if not path.strip():
        document.report("S104", (*here, "path"), "`path` is empty", remedy='write a file or pattern, such as "landing/*.csv"')
        return None
    format_ = _FORMATS.get(_extension(path)) if table.format is UNSET else table.format
    if format_ is None:
        document.report(
            "S105",
            (*here, "format"),
            "`format` is missing",
            because=f"`{path}` does not say it by its extension",
            remedy='add format = "parquet", "csv" or "json"',
        )
        return None
    for option in table.options:
        if option not in OPTIONS[format_]:
            because = f"options for {format_} are: {', '.join(sorted(OPTIONS[format_]))}"
            remedy = did_you_mean(option, OPTIONS[format_], "take it out")
            document.report("S103", (*here, "options", option), f"unknown option `{option}`", because=because, remedy=remedy)
    return format_


def _extension(path: str) -> str:
    pure = PurePosixPath(path.replace("\\", "/"))
    suffix = pure.suffix.lower()
    return PurePosixPath(pure.stem).suffix.lower() if suffix in _COMPRESSED else suffix


def _columns(document: Document, here: KeyPath, table: SourceTable) -> dict[str, SourceColumn] | None:
    if table.columns is UNSET:
        return None
    if not table.columns:
        document.report(
            "S105", (*here, "columns"), "`columns` names no column", remedy="name them, or take it out: they are then looked up"
        )
        return None
    columns: dict[str, SourceColumn] = {}
    folded: set[str] = set()
    for name, declared in table.columns.items():
        at = (*here, "columns", name)
        column = SourceColumn(type=declared) if isinstance(declared, str) else None
        if column is None and not isinstance(declared, str):
            column = SourceColumn(
                type=declared.type,
                nullable=declared.nullable is not False,
                may_hold_nulls=declared.nullable is True,
                description=declared.description,
            )
        if column is None or not column.type.strip() or not name.strip():
            document.report("S104", at, f"column `{name}` has no type or no name", remedy='write it as name = "BIGINT"')
        elif name.lower() in folded:
            document.report("S106", at, f"column `{name}` is declared twice", because="case is not looked at", remedy="take one out")
        else:
            folded.add(name.lower())
            columns[name] = column
    return columns
