"""What a person selected, and the findings that concern it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.compiler.kept import briefs
from interlock.engine.diagnostics import Diagnostic, Refused, in_order, refused
from interlock.engine.planner.plan import Options
from interlock.engine.planner.select import Node, select
from interlock.engine.project.clashes import relation_conflicts
from interlock.engine.runner.ground import Ground, scoped
from interlock.machines.records import Record

if TYPE_CHECKING:
    from interlock.engine.ledger.fold import Fold
    from interlock.engine.ledger.subjects import Last


class Request(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person asked to be planned."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    options: Options = Options()
    as_of: str | None = None


def nodes_of(compiled: Compiled) -> dict[str, Node]:
    """What selectors see of the project: its graph, with the edges that checks make."""
    seen = list(briefs(compiled.models))
    parents: dict[str, set[str]] = {model.name: set(model.references) for model in seen}
    for parent, children in compiled.children.items():
        for child in children:
            parents[child].add(parent)
    return {
        model.name: Node(name=model.name, path=model.path, tags=model.tags, parents=tuple(sorted(parents[model.name]))) for model in seen
    }


def modified_of(compiled: Compiled, heads: Mapping[str, Last]) -> frozenset[str]:
    """Models whose definition, promise or place differs from their head's in this target, new ones among them."""
    found = set()
    for name, model in compiled.models.items():
        if model.kind == "ephemeral":
            continue
        known = heads.get(name)
        if known is None or _is_another(model, known):
            found.add(name)
    return frozenset(found)


def _is_another(model: CompiledModel, last: Last) -> bool:
    """A model that belongs elsewhere is made or moved there, whatever its text says."""
    if last.digests is None or (last.digests.definition, last.digests.promise) != (model.digests.definition, model.digests.promise):
        return True
    return bool(last.relation) and last.relation.lower() != f"{model.schema}.{model.relation}".lower()


def heads_of(fold: Fold) -> dict[str, Last]:
    """Every head that the ledger knows and that has a relation."""
    return {name: known.last for name, known in fold.models.items() if known.last is not None and known.last.head.token is not None}


def choose(
    compiled: Compiled, request: Request, heads: Mapping[str, Last], errors: Sequence[Diagnostic] = ()
) -> tuple[frozenset[str], tuple[str, ...]]:
    """The selected models, and what is to be said of the selection. `errors` are those of the project's files.

    Raises:
        Refused: S113, S114, S115.
    """
    if not compiled.models and errors:
        raise Refused(*errors)
    if not compiled.models:
        raise refused("S113", "the project is empty", because="it has no model and no seed", remedy="write a SELECT into models/NAME.sql")
    if not request.select and not request.exclude:
        return frozenset(compiled.models), ()
    chosen = select(
        request.select,
        request.exclude,
        nodes=nodes_of(compiled),
        modified=lambda: modified_of(compiled, heads),
        new=lambda: frozenset(name for name in compiled.models if name not in heads and compiled.models[name].kind != "ephemeral"),
    )
    asked = " ".join(request.select)
    said = (f"`{asked}` selects nothing: no model is modified or new, so there is nothing to do",) if chosen.empty_because_state else ()
    return frozenset(chosen.names), said


def paths_of(compiled: Compiled, models: frozenset[str]) -> frozenset[str]:
    """Files of the given models and of all that they read."""
    paths = {compiled.models[name].path for name in _reached(models, {name: model.references for name, model in compiled.models.items()})}
    return frozenset(paths | {str(PurePosixPath(path).with_suffix(".toml")) for path in paths})


def reach_of(compiled: Compiled, models: frozenset[str]) -> frozenset[str]:
    """The given models and all that they and their checks read, however far above."""
    parents = {name: set(node.parents) for name, node in nodes_of(compiled).items()}
    for name, model in compiled.models.items():
        parents[name].update(read for check in model.checks for read in check.reads)
    return _reached(models, parents)


def _reached(models: Iterable[str], parents: Mapping[str, Iterable[str]]) -> frozenset[str]:
    seen: set[str] = set()
    stack = list(models)
    while stack:
        name = stack.pop()
        if name in parents and name not in seen:
            seen.add(name)
            stack.extend(parents[name])
    return frozenset(seen)


def found_in_files(ground: Ground, paths: frozenset[str]) -> tuple[Diagnostic, ...]:
    """Findings of these files of the project, of those that all models share, and of relations that clash."""
    return scoped((*ground.project.findings, *relation_conflicts(ground.project, ground.target)), paths)


def findings_for(ground: Ground, compiled: Compiled, models: frozenset[str], *, whole: bool) -> tuple[Diagnostic, ...]:
    """Findings of the project's files, of relations that clash and of the compiler, as far as they concern the models."""
    files = (*ground.project.findings, *relation_conflicts(ground.project, ground.target))
    if whole:
        return in_order((*files, *compiled.findings))
    elsewhere = _sources_elsewhere(compiled, models)
    compiling = [finding for finding in compiled.findings if finding.subject not in elsewhere]
    return scoped(in_order((*files, *compiling)), paths_of(compiled, models))


def _sources_elsewhere(compiled: Compiled, models: frozenset[str]) -> frozenset[str]:
    """Sources that texts of other models read, and none of these models or of what they read."""
    reached = reach_of(compiled, models)
    read: dict[bool, set[str]] = {True: set(), False: set()}
    for name, model in compiled.models.items():
        read[name in reached].update(model.sources)
    return frozenset(read[False] - read[True] - set(compiled.models))


def select_in(ground: Ground, compiled: Compiled, request: Request, heads: Mapping[str, Last]) -> tuple[frozenset[str], tuple[str, ...]]:
    """`choose`, and where nothing can be chosen the errors of the project's files beside it: one may be the reason.

    Raises:
        Refused: as `choose`.
    """
    errors = tuple(finding for finding in ground.project.findings if finding.severity == "error")
    try:
        return choose(compiled, request, heads, errors)
    except Refused as error:
        # what could not be read is there: that its name selects nothing would only mislead
        unread = {name.lower() for name in ground.project.unread}
        findings = [each for each in error.findings if each.code != "S114" or each.subject.lower() not in unread]
        raise Refused(*dict.fromkeys((*findings, *errors)), exit_code=error.exit_code) from error
