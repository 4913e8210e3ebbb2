"""Everything durable has a fault point on either side, so that a sweep over the points is a sweep over all that can be cut off."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READS = "asks, in transactions that are read-only or on databases in memory"
OURS = "files of people and of developers: nothing of a run rests on them, and whoever began to write them writes them again"
EXEMPT = {
    "cache/store.py": "a cache: what is torn or lost is made again",
    "cli/reporting.py": OURS,
    "diagrams/__main__.py": OURS,
    "importers/dbt/imported.py": OURS,
    "planner/items.py": "a statement that is called `rename`, and is run elsewhere",
    "project/scaffold.py": OURS,
    "project/schemas.py": OURS,
    "warehouse/duckdb/beside.py": READS,
    "warehouse/duckdb/binder.py": READS,
    "warehouse/duckdb/constant.py": READS,
    "warehouse/duckdb/cursors.py": "settings of a cursor, and what its callers run between their points",
    "warehouse/duckdb/parser.py": READS,
    "warehouse/duckdb/reader.py": READS,
    "warehouse/duckdb/shadows.py": READS,
    "warehouse/lock.py": "the lock's file says who has it, and nothing rests on that",
}
"""Files whose durable calls need no points. Every other file of the engine is held to them, one that is new tomorrow too."""
FILES = [path for path in sorted(ROOT.glob("engine/**/*.py")) if path.relative_to(ROOT / "engine").as_posix() not in EXEMPT]
DURABLE = {"fsync", "ftruncate", "rename", "unlink", "mkdir", "rmtree", "write_all", "write_bytes", "write_text", "execute", "fetch"}
"""Calls that change what a restarted machine would find, by their last name. `os.replace` and `Path.replace` are told apart from text."""
CARED_FOR = {
    "write_all": "its callers have the points",
    "_attach_all": "settings of the connection and other databases, read-only: nothing durable",
    "scratch": "an empty database in memory",
    "_bring": "it removes a copy that was never in use",
    "columns": "reads",
    "write_file": "removes its own unfinished file on the way out of an error",
    "_undo": "cuts what a failed write left; readers know a torn line",
}


def calls(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "replace" and isinstance(node.func, ast.Attribute) and len(node.args) == 1 and not node.keywords:
            name = "rename"
        yield name, node.lineno


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield path, node


def durable() -> list[tuple[str, str, int]]:
    found = []
    for path, function in functions():
        seen = list(calls(function))
        points = [line for name, line in seen if name == "point"]
        for name, line in seen:
            if name not in DURABLE or function.name in CARED_FOR:
                continue
            if not (any(point < line for point in points) and any(point > line for point in points)):
                found.append((path.name, f"{function.name}: {name}", line))
    return found


def test_everything_durable_has_a_point_before_and_after_it() -> None:
    assert durable() == []


def test_something_durable_was_looked_at() -> None:
    names = {name for _, function in functions() for name, _ in calls(function)}
    assert {"fsync", "ftruncate", "rename", "execute", "unlink", "mkdir"} <= names


@pytest.mark.parametrize("name", sorted(CARED_FOR))
def test_no_exception_is_kept_for_what_is_gone(name: str) -> None:
    assert name in {function.name for _, function in functions()}


@pytest.mark.parametrize("name", sorted(EXEMPT))
def test_no_file_is_exempt_that_has_nothing_durable(name: str) -> None:
    tree = ast.parse((ROOT / "engine" / name).read_text(encoding="utf-8"))
    assert {name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for name, _ in calls(node)} & DURABLE
