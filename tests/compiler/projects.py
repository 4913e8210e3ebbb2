"""A compiled project for a test, from its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interlock.engine.compiler.compile import compile_project
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.compiler.world import World
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.project.load import load
from interlock.machines.evidence import Column

AS_OF = "2026-03-01T12:00:00.000000Z"
CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n'
SOURCES = """
["raw.orders".columns]
id = "BIGINT"
customer = "INTEGER"
amount = "DECIMAL(10,2)"
status = "VARCHAR"
ordered_at = "TIMESTAMPTZ"
day = "DATE"

["raw.customers".columns]
id = "INTEGER"
name = "VARCHAR"
ratio = "DOUBLE"
naive = "TIMESTAMP"
tags = "VARCHAR[]"
place = "STRUCT(city VARCHAR, zip INTEGER)"
""".replace('["raw', '[sources."raw')


def compiled(
    root: Path,
    files: Mapping[str, str],
    *,
    world: World | None = None,
    only: frozenset[str] | None = None,
    as_of: str = AS_OF,
) -> Compiled:
    for path, content in {"interlock.toml": CONFIG, "sources.toml": SOURCES, **files}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode())
    project = load(root, environment={})
    assert not [finding for finding in project.findings if finding.severity == "error"], project.findings
    return compile_project(project, project.targets["dev"], as_of=as_of, world=world, only=only)


def model(root: Path, text: str, toml: str = "", **more: str) -> Compiled:
    """One model `m` beside a few others."""
    files = {"models/m.sql": text, **({"models/m.toml": toml} if toml else {})}
    return compiled(root, {**files, **{path.replace("__", "/") + ".sql": content for path, content in more.items()}})


def errors(found: Compiled) -> list[Diagnostic]:
    return [finding for finding in found.findings if finding.severity == "error"]


def codes(found: Compiled) -> list[str]:
    return sorted({finding.code for finding in found.findings})


def the(found: Compiled, code: str) -> Diagnostic:
    matching = [finding for finding in found.findings if finding.code == code]
    assert len(matching) == 1, [(finding.code, finding.summary, finding.because) for finding in found.findings]
    return matching[0]


def place(finding: Diagnostic) -> tuple[str, int | None, int | None, int]:
    assert finding.at is not None
    return finding.at.path, finding.at.line, finding.at.column, finding.at.length


def columns(found: Compiled, name: str = "m") -> dict[str, str]:
    return {column.name: column.type for column in found.models[name].columns}


def column(name: str, kind: str) -> Column:
    return Column(name=name, type=kind)
