"""Texts of the files that a plan stands on, so that what was edited since can be shown by its lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interlock.engine.diagnostics import Refused
from interlock.engine.planner.closure import ABSENT
from interlock.engine.planner.plan import PlanBody
from interlock.engine.project.document import read_bytes
from interlock.engine.project.project import Project
from interlock.machines.records import digest

BYTES_MAX = 1 << 16
"""A longer file is named only."""


def texts_of(body: PlanBody, root: Path) -> dict[str, str]:
    """What a plan's files say, of those whose text it does not hold already. Nothing where there is nothing to apply.

    Args:
        body: the plan.
        root: of the project; a file that is another one by now is left out.
    """
    if all(item.action == "no_op" for item in body.items):
        return {}
    held = {item.path for item in body.items if item.text}
    found = {}
    for path, planned in _files(body):
        text = None if path in held or planned == ABSENT else _text(root, path)
        if text is not None and is_as_planned(body, path, text):
            found[path] = text
    return found


def is_as_planned(body: PlanBody, path: str, text: str) -> bool:
    """Whether a text is that of the file that the plan stands on."""
    return body.closure.get(f"file:{path}") == digest("file", text.encode())


def texts_now(body: PlanBody, project: Project) -> Mapping[str, str]:
    """What the files say now that have another digest than the plan's."""
    moved = [path for path, planned in _files(body) if project.digests.get(path, ABSENT) != planned]
    found = {path: _text(project.root, path) for path in moved}
    return {path: text for path, text in found.items() if text is not None}


def _files(body: PlanBody) -> list[tuple[str, str]]:
    pairs = [(key.removeprefix("file:"), value) for key, value in body.closure.items() if key.startswith("file:")]
    return [(path, value) for path, value in pairs if path.endswith((".sql", ".toml"))]


def _text(root: Path, path: str) -> str | None:
    try:
        data = read_bytes(root, path)
        return data.decode() if len(data) <= BYTES_MAX else None
    except (Refused, UnicodeDecodeError):
        return None
