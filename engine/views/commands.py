"""Commands that a person may copy: with all that decides what they do, quoted as a shell reads it."""

from __future__ import annotations

import shlex

from interlock.engine.planner.plan import PlanBody
from interlock.engine.views.given import HERE, Given
from interlock.engine.views.look import printable


def run_of(body: PlanBody, given: Given = HERE) -> str:
    """The run that is the same work as a plan: the same time, selection and wishes. On a protected target, its plan: a run is refused there."""
    options = body.options
    words = ["interlock", "plan" if given.protected == "yes" else "run", "--target", body.target, "--as-of", body.as_of]
    for name, terms in (("--select", body.selection.select), ("--exclude", body.selection.exclude)):
        words += [name, *terms] if terms else []
    for name, models in (("--full-refresh", options.full_refresh), ("--allow-shrink", options.allow_shrink), ("--force", options.force)):
        words += [word for model in models for word in (name, model)]
    words += [word for model, wish in options.on_change.items() for word in ("--on-change", f"{model}={wish}")]
    words += ["--drop-orphans"] if options.drop_orphans == "yes" else []
    for name, end in (("--from", options.range_low), ("--to", options.range_high)):
        words += [name, end] if end is not None else []
    words += ["--verify-content"] if options.verify_content == "yes" else []
    return _line([*words, *_variables(body), *given.options(words)])


def apply_of(body: PlanBody, plan: str, given: Given = HERE) -> str:
    """What carries this plan out."""
    words = ["interlock", "apply", plan, "--target", body.target]
    return _line([*words, *given.options(words)])


def show_of(body: PlanBody, model: str, given: Given = HERE) -> str:
    """What prints a model's SQL as this plan has it."""
    words = ["interlock", "show", model, "--target", body.target, *_variables(body)]
    return _line([*words, *given.options(words)])


def _variables(body: PlanBody) -> list[str]:
    return [word for name, value in body.options.variables.items() for word in ("--vars", f"{name}={value}")]


def _line(words: list[str]) -> str:
    return printable(" ".join(shlex.quote(word) for word in words))
