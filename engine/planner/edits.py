"""What was edited in the project since a plan was made: which file or value, whose it is, and the lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from typing import Final, NamedTuple

from interlock.engine.planner.closure import ABSENT
from interlock.engine.planner.plan import PlanBody
from interlock.engine.project.project import Project
from interlock.machines.evidence import Difference

AGAIN: Final = "make a new plan with `interlock plan`, look at it, and apply that"
LINES_MAX: Final = 40
MODELS_MAX: Final = 5
_SUBJECTS: Final = {"target": "the target's schema or settings", "macros": "macros"}


class Texts(NamedTuple):
    """Of files, by path: as they were when the plan was made, beside what it holds itself, and as they are now where that differs."""

    planned: Mapping[str, str]
    now: Mapping[str, str]


def edited(body: PlanBody, project: Project, key: str, planned: str, there: str, texts: Texts) -> Difference:
    """One thing of the plan's closure that has another digest now.

    Args:
        body: the plan.
        project: as its files are now.
        key: of the closure.
        planned: its value in the plan.
        there: its value now.
        texts: of files, as far as they are known.
    """
    kind, _, name = key.partition(":")
    subject, diff = _SUBJECTS.get(kind, name), ""
    before, after = f"as it was ({_short(planned)})", f"edited ({_short(there)})"
    if kind == "var":
        before, after = body.variables.get(name, "no value"), str(project.variables.get(name, "no value"))
    elif kind in {"lock", "pin"}:
        subject = f"sources.lock.toml: {name}".removesuffix(": ")
        before, after = (planned, there) if kind == "pin" else (_short(planned), _short(there))
    elif planned == ABSENT:
        before, after = "no such file", f"new ({_short(there)})"
    elif there == ABSENT:
        after = "gone"
    if kind == "file":
        after += _whose(body, name)
        diff = _lines(body, name, texts)
    return Difference(code="P406", subject=subject, planned=before, found=after, remedy=AGAIN, diff=diff)


def _whose(body: PlanBody, file: str) -> str:
    models = [item.model for item in body.items if _is_of(item.path, file)]
    named = ", ".join(f"`{model}`" for model in models[:MODELS_MAX])
    more = f" and {len(models) - MODELS_MAX} more" if len(models) > MODELS_MAX else ""
    return f", for {named}{more}" if models else ""


def _is_of(path: str, file: str) -> bool:
    """Whether a file is a model's: its own, its sidecar, or the defaults of a folder that it lies in."""
    if not path:
        return False
    if file.endswith("/_defaults.toml"):
        return path.startswith(file.removesuffix("_defaults.toml"))
    return path.rpartition(".")[0] == file.rpartition(".")[0]


def _lines(body: PlanBody, path: str, texts: Texts) -> str:
    """Of a plan whose files' texts were not kept, only the file is named."""
    planned = next((item.text for item in body.items if item.path == path and item.text), texts.planned.get(path))
    now = texts.now.get(path)
    if planned is None or now is None:
        return ""
    lines = list(unified_diff(planned.splitlines(), now.splitlines(), "planned", "now", lineterm="", n=1))
    return "\n".join([*lines[:LINES_MAX], *([f"… {len(lines) - LINES_MAX} more lines"] if len(lines) > LINES_MAX else [])])


def _short(value: str) -> str:
    return value if value == ABSENT else value[:12]
