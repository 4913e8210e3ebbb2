"""Options that name a model: whether they can have an effect on it at all, and whether they have one in this plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.planner.choice import EXTENDED, Choice, Desk, definition_moved
from interlock.engine.planner.facts import Facts, is_made_anew
from interlock.engine.planner.plan import Options
from interlock.engine.planner.statements import is_guarded
from interlock.machines.actions import MAKES


def without_meaning(options: Options, models: Mapping[str, CompiledModel], facts: Facts) -> list[Diagnostic]:
    """P422 for an option that can have no effect on the model that it names, whatever its state: somebody means something else."""
    named = [("--on-change", name) for name in options.on_change] + [("--allow-shrink", name) for name in options.allow_shrink]
    found = []
    for option, name in named:
        model, body = models[name], facts.body(name)
        if model.kind in EXTENDED or (body is not None and body.materialized in EXTENDED):
            continue
        asks = "what to do when rows that took time to collect" if option == "--on-change" else "whether rows that took time to collect"
        what = "no longer fit its definition" if option == "--on-change" else "may become fewer"
        found.append(
            Diagnostic(
                code="P422",
                summary=f"{option} names `{name}`, and has no meaning for a {model.kind}",
                because=f"it says {asks} {what}; a {model.kind} is made anew whenever it changed",
                remedy="take the option out",
                subject=name,
            )
        )
    return found


def with_unused(desk: Desk, model: CompiledModel, choice: Choice) -> Choice:
    """The choice, with a note for each option that names the model and changes nothing in this plan, or that got no answer of it."""
    name = model.name
    notes = []
    if name in desk.options.on_change and (why := _no_change(desk, model, choice)):
        notes.append(f"--on-change {name}={desk.options.on_change[name]} changes nothing: {why}")
    anew = choice.full and is_made_anew(choice.action, desk.facts.body(name))
    if name in desk.options.allow_shrink and choice.action != "refuse" and not anew:
        notes.append(f"--allow-shrink {name} changes nothing: no rows that stand there are made anew")
    is_asked = desk.options.verify_content == "yes" or is_guarded(model)
    if is_asked and choice.action not in MAKES | {"refuse"} and (why := _unverified(desk, name)):
        notes.append(f"its content was not verified: {why}")
    return msgspec.structs.replace(choice, notes=(*choice.notes, *notes)) if notes else choice


def _unverified(desk: Desk, name: str) -> str:
    """Why nothing can be said of the content of a table that stands there; empty where it can. What is not said would be read as a pass."""
    body = desk.facts.body(name)
    if body is None or body.kind != "table" or desk.facts.head(name).token is None:
        return ""
    if body.fingerprint is None:
        return "its last receipt has no fingerprint of all rows"
    if body.fingerprint.engine != desk.compiled.engine:
        return f"it was fingerprinted by {body.fingerprint.engine}, and {desk.compiled.engine} cannot tell whether it is the same"
    return ""


def _no_change(desk: Desk, model: CompiledModel, choice: Choice) -> str:
    body = desk.facts.body(model.name)
    if body is None or desk.facts.head(model.name).token is None:
        return "it is made for the first time"
    if model.name in desk.options.full_refresh:
        return "--full-refresh makes it anew"
    if choice.action == "refuse":
        return ""
    if choice.action == "create":
        return "it is made again"
    if body.materialized == model.kind and not definition_moved(desk.compiled, model, body):
        return "its definition has not changed"
    return ""
