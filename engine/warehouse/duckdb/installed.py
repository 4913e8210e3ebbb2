"""Which DuckDB this is, without loading it: that takes as long as reading ten thousand files."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def engine_version() -> str:
    """The version of the engine that would bind."""
    module: Any = sys.modules.get("interlock.engine.warehouse.duckdb.parser")
    if module is not None:
        return str(module.ENGINE)
    found = [path.name for folder in _folders() for path in folder.glob("duckdb-*.dist-info")]
    if len(found) == 1:
        return found[0].removeprefix("duckdb-").removesuffix(".dist-info")
    from interlock.engine.warehouse.duckdb.parser import ENGINE  # noqa: PLC0415 - only where its files do not say it

    return ENGINE


def build() -> str:
    """The very file of the engine: two builds of one version are two engines."""
    spec = importlib.util.find_spec("_duckdb") or importlib.util.find_spec("duckdb")
    if spec is None or spec.origin is None:
        return ""
    status = Path(spec.origin).stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _folders() -> list[Path]:
    spec = importlib.util.find_spec("duckdb")
    return [] if spec is None or spec.origin is None else [Path(spec.origin).parent.parent]
