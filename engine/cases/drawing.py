"""`diagram` and `lineage`: machines, the ways that runs took, and a project's models, drawn."""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

from interlock.engine.audit.judge import TABLES
from interlock.engine.audit.told import Story, Told
from interlock.engine.cases.auditing import story_of
from interlock.engine.cases.columns import column_story, written
from interlock.engine.cases.reading import compile_offline
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.diagnostics import Refused, did_you_mean, refused
from interlock.engine.diagrams.difference import difference_of, page_of, read_page
from interlock.engine.diagrams.drawing import Drawing, Node, NodeLook, Taken, machine_drawing, models_drawing, path_drawing
from interlock.engine.diagrams.formats import dot_of, json_of, mermaid_of, text_of_drawing
from interlock.engine.diagrams.markdown import MACHINES, markdown
from interlock.engine.diagrams.svg import svg_of
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.since_seal import fold_since_seal
from interlock.engine.outcome import exit_of
from interlock.engine.runner.ground import Ground
from interlock.machines.machine import Machine
from interlock.machines.table import compile_table

BY_NAME: dict[str, type[Machine]] = {machine.ledger_name: machine for machine in MACHINES}


def diagram_of(machine: str | None, form: str) -> str:
    """A machine in a format; without a name, all of them.

    Raises:
        Refused: S114, there is no such machine.
    """
    chosen = [BY_NAME[_named(machine)]] if machine is not None else list(MACHINES)
    return "\n".join(markdown(each) if form == "md" else formatted(machine_drawing(compile_table(each)), form) for each in chosen)


def _named(machine: str) -> str:
    known = machine.lower().replace("-", "_")
    for name, kind in BY_NAME.items():
        if known in (name, name.replace("_", ""), kind.__name__.lower()):
            return name
    raise refused("S114", f"there is no machine `{machine}`", remedy=did_you_mean(known, BY_NAME, f"they are {', '.join(BY_NAME)}"))


def formatted(drawing: Drawing, form: str) -> str:
    """A drawing in a format."""
    match form:
        case "dot":
            return dot_of(drawing)
        case "svg":
            return svg_of(drawing)
        case "txt":
            return text_of_drawing(drawing)
        case "json":
            return json_of(drawing)
        case "md":
            said = "".join(f"\n- {line}" for line in drawing.said)
            return f"# {drawing.title}\n\n```mermaid\n{mermaid_of(drawing)}```\n{said}".rstrip() + "\n"
        case _:
            return mermaid_of(drawing)


# --- the way of a run ---------------------------------------------------------------------------------------------------


def path_of(place: Path | Ground, run: str, model: str | None, form: str) -> dict[str, Any]:
    """The way that a run took, or one of its models.

    Raises:
        Refused: the ledger knows nothing of it.
    """
    found = story_of(place, run, None, is_run=True) if model is None else story_of(place, model, run)
    story: Story = found["story"]
    if not story.steps:
        raise refused("S114", f"nothing of `{model or run}` is in the ledger: {story.answer}", remedy="`interlock audit log` lists what is")
    table = TABLES["run" if model is None else "model_run"]
    drawing = path_drawing(table, [taken_of(step) for step in story.steps], f"{story.subject}, run {story.run}" if model else story.subject)
    # What the story was read from decides how this ends: a drawing from a broken ledger is no success.
    return {"text": formatted(drawing, form), **{key: value for key, value in found.items() if key not in ("question", "story")}}


def taken_of(step: Told) -> Taken:
    """A told transition as an arrow."""
    against = [f"{guard.guard} [{guard.code}] {guard.because}" for guard in step.guards if guard.holds == "no"]
    if not step.guards and step.target == "refused":
        against = [f"{fact.name}: {fact.value}" for fact in step.facts if fact.name in ("cause", "detail")]
    return Taken(event=step.event, source=step.source, target=step.target, against=tuple(against))


# --- what a change did --------------------------------------------------------------------------------------------------


def changed_since(machine: str | None, ref: str, root: Path) -> str:
    """Each machine as it was at a commit, a branch or a tag, beside what it is. Asks git, in the repository that holds the machines' pages.

    Raises:
        Refused: S101, that state has no such page; S114, no such machine.
    """
    chosen = [_named(machine)] if machine is not None else list(BY_NAME)
    parts = []
    for name in chosen:
        text = _page_at(ref, name, root)
        try:
            before = read_page(text)
        except ValueError as error:
            raise refused("S101", f"specs/machines/{name}.md of {ref} cannot be read", because=str(error)) from error
        parts.append(difference_of(BY_NAME[name].__name__, before, page_of(compile_table(BY_NAME[name])), ref))
    return "\n".join(parts)


def _page_at(ref: str, name: str, root: Path) -> str:
    remedy = "run this in a clone of Interlock, and name a commit, a branch or a tag that it has"
    if ref.startswith("-"):
        raise refused("S104", f"`{ref}` is no commit", remedy=remedy)
    command = ["git", "-C", str(root), "show", f"{ref}:specs/machines/{name}.md"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - no shell, and the ref is no option
    except (OSError, subprocess.TimeoutExpired) as error:
        raise refused("S101", "git cannot be asked", because=str(error), remedy=remedy) from error
    if ran.returncode:
        raise refused("S101", f"{ref} has no specs/machines/{name}.md", because=ran.stderr.strip(), remedy=remedy)
    return ran.stdout


# --- models -------------------------------------------------------------------------------------------------------------

_LOOKS: dict[str, NodeLook] = {"checkpointed": "good", "refused": "refused", "accepted": "good"}


def lineage_of(ground: Ground, model: str | None, form: str) -> dict[str, Any]:
    """The project's models, each coloured by its last state in the target; with a model, what it comes from and what comes of it.

    Of `MODEL.COLUMN` or `SOURCE.COLUMN`: where its values come from, what it reaches, and what is not made without it.

    Raises:
        Refused: S114, there is no such model; or the project does not compile at all.
    """
    compiled = compile_offline(ground)
    if model is not None and "." in model:
        text = written(column_story(ground.project, ground.target, compiled, model, ground.cache), form)
        return {"text": text, "outcome": "done", "exit_code": 0}
    if model is not None and model not in compiled.models:
        raise refused("S114", f"there is no model `{model}`", remedy=did_you_mean(model, compiled.models, "see `interlock ls`"))
    names = set(compiled.models) if model is None else family(compiled, model)
    fold = Fold()
    ended: dict[str, Any] = {"outcome": "done", "exit_code": exit_of("done")}
    try:
        fold = fold_since_seal(ground.directory)
    except Refused as error:
        # The models are drawn all the same, without a state: none is known.
        ended = {"outcome": "refused", "exit_code": exit_of("refused", untrusted=True), "findings": error.findings}
    return {"text": formatted(project_drawing(ground.project.name, compiled, fold, names), form), **ended}


def family(compiled: Compiled, model: str) -> set[str]:
    """A model, all that it comes from, and all that comes of it."""
    after: dict[str, list[str]] = {}
    for name, each in compiled.models.items():
        for parent in each.references:
            after.setdefault(parent, []).append(name)
    return _reached(model, {name: each.references for name, each in compiled.models.items()}) | _reached(model, after)


def _reached(start: str, edges: dict[str, Any]) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        for name in edges.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def project_drawing(title: str, compiled: Compiled, fold: Fold, names: Collection[str]) -> Drawing:
    """Models and sources, from left to right."""
    shown = [name for name in sorted(compiled.models, key=lambda name: (compiled.models[name].layer, name)) if name in names]
    sources = sorted({source for name in shown for source in compiled.models[name].sources})
    nodes = [Node(id=f"source {source}", label=source, note="source", look="idle") for source in sources]
    for name in shown:
        known = fold.models.get(name)
        attempt = known.attempt if known is not None else None
        state = attempt.state if attempt is not None else "accepted" if known is not None and known.last is not None else ""
        kind = compiled.models[name].kind
        code = f" [{attempt.refusal.code}]" if attempt is not None and attempt.refusal is not None else ""
        nodes.append(Node(id=name, label=name, note=f"{kind}{code}", look=_LOOKS.get(state, "open" if state else "plain")))
    reads = [(f"source {source}", name) for name in shown for source in compiled.models[name].sources]
    reads += [(parent, name) for name in shown for parent in compiled.models[name].references if parent in names]
    return models_drawing(title, nodes, reads)
