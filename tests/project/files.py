"""A project on disk for a test: only what the test says, over a smallest one that is right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interlock.engine.diagnostics import Diagnostic
from interlock.engine.project.load import load
from interlock.engine.project.project import Project

CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n'
MODEL = "select 1 as id\n"


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def project(
    root: Path,
    files: Mapping[str, str | bytes] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Project:
    write(root, {"interlock.toml": CONFIG, "models/m.sql": MODEL, **(files or {})})
    return load(root, environment=environment or {}, variables=variables)


def codes(found: Project) -> list[str]:
    return [finding.code for finding in found.findings]


def one(found: Project) -> Diagnostic:
    assert len(found.findings) == 1, [(finding.code, finding.summary) for finding in found.findings]
    return found.findings[0]


def place(finding: Diagnostic) -> tuple[str, int | None, int | None, str]:
    assert finding.at is not None
    return finding.at.path, finding.at.line, finding.at.column, finding.at.key
