"""The two bindings: what is selected is bound as it compiles, what is not as it stands in the warehouse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

import msgspec

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.diagnostics import Diagnostic, Refused, in_order, refused
from interlock.engine.planner.choice import definition_moved, output_columns, relation_kind
from interlock.engine.planner.observe import UNSOUND, Unreadable, read_bodies
from interlock.engine.project.project import NotNull
from interlock.engine.runner.authority import Sight
from interlock.engine.runner.ground import Ground, scoped
from interlock.engine.runner.selection import (
    Request,
    findings_for,
    found_in_files,
    heads_of,
    paths_of,
    reach_of,
    select_in,
)
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import Catalog, Reader, WarehouseError
from interlock.machines.evidence import Column, ReceiptBody


class _Fields(TypedDict):
    deployed: dict[str, tuple[Column, ...]]
    never_null: dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a command works on: the project as it is bound for a selection, and every finding about that."""

    compiled: Compiled
    selected: frozenset[str]
    said: tuple[str, ...]
    findings: tuple[Diagnostic, ...]


def bind(ground: Ground, request: Request, sight: Sight, reader: Reader, catalog: Catalog, as_of: str) -> Bound:
    """Compile, select, and bind what is selected to what it will read.

    Without a selection the two bindings are one. With one, a model above it that is not selected is not compiled at all where
    it stands as we left it: its own sources and texts decide nothing now.

    Raises:
        Refused: a selector matches nothing, or the project is empty.
        WarehouseError: a receipt or a source could not be asked for.
        Unreadable: a receipt cannot be read.
    """
    world = ground.world(reader, catalog)
    compiled = ground.compile_in(world, as_of)
    selected, said = select_in(ground, compiled, request, heads_of(sight.fold))
    whole = not request.select and not request.exclude
    kept = {name: compiled.models[name] for name in sorted(reach_of(compiled, selected) - selected)}
    standing = {name: model for name, model in kept.items() if model.kind != "ephemeral"}
    broken = any(finding.severity == "error" for finding in compiled.findings)
    if whole or not selected or not (standing or broken):
        findings = findings_for(ground, compiled, selected, whole=whole)
        return Bound(compiled=compiled, selected=selected, said=said, findings=findings)
    deployed, moved = _deployed(ground, compiled, standing, sight, reader, catalog)
    if not broken and not moved and _is_bound_alike(compiled, selected, deployed["deployed"]):
        return Bound(compiled=compiled, selected=selected, said=said, findings=findings_for(ground, compiled, selected, whole=False))
    from interlock.engine.compiler.compile import compile_project  # noqa: PLC0415 - loads the compiler

    aside = compile_project(ground.project, ground.target, as_of=as_of, world=msgspec.structs.replace(world, **deployed), only=selected)
    findings = in_order((*found_in_files(ground, paths_of(compiled, selected)), *aside.findings, *_unread(compiled)))
    if moved and any(finding.severity == "error" for finding in aside.findings):
        # What stands above it is not what the text above says, and that text does not compile: it may be the reason.
        above = scoped(compiled.findings, frozenset(compiled.models[name].path for name in moved))
        findings = in_order(dict.fromkeys((*findings, *above)))
    return Bound(compiled=_merged(compiled, aside, selected), selected=selected, said=said, findings=findings)


def bound_to(ground: Ground, request: Request, sight: Sight, reader: Reader, as_of: str) -> Bound:
    """`bind`, for a command that asks the warehouse something; errors of the warehouse are refusals.

    Raises:
        Refused: as `bind`, or what it rests on could not be read.
    """
    try:
        return bind(ground, request, sight, reader, reader.catalog(), as_of)
    except WarehouseError as error:
        raise refusal(error, subject=ground.target.name) from error
    except Unreadable as error:
        raise unreadable(str(error), ground.target.name) from error


def unreadable(because: str, target: str) -> Refused:
    """K706: what a head names is not what stands there."""
    return refused("K706", "a receipt cannot be read", because=because, remedy=UNSOUND.replace("TARGET", target))


def _deployed(
    ground: Ground, compiled: Compiled, standing: Mapping[str, CompiledModel], sight: Sight, reader: Reader, catalog: Catalog
) -> tuple[_Fields, list[str]]:
    """Fields of the world: columns of what stands as we left it, and what is proved of them; and models that say otherwise now.

    A model that is not what is deployed is bound as its text has it, where that compiles: then the plan refuses what reads it,
    and findings are those that its author would see.
    """
    heads = {head.model: head for head in sight.heads}
    bodies = read_bodies(reader, ground.project.id, [heads[name] for name in standing if name in heads])
    columns = {}
    never_null = {}
    moved = []
    for name, model in standing.items():
        head, body = heads.get(name), bodies.get(name)
        seen = catalog.find(model.schema, model.relation)
        if head is None or head.token is None or body is None or seen is None:
            continue
        differs = seen.token != head.token or seen.kind != relation_kind(model) or bool(definition_moved(compiled, model, body))
        if differs and not model.blocked:
            continue
        if differs:
            moved.append(name)
        columns[name] = seen.columns
        never_null[name] = _held(model, body)
    return {"deployed": columns, "never_null": never_null}, moved


def _is_bound_alike(compiled: Compiled, selected: frozenset[str], deployed: Mapping[str, tuple[Column, ...]]) -> bool:
    """Whether the second binding would be the first one over again: columns are as they compile, and no proof rests on the rest."""
    if any(promise.nulls == "forbidden" for name in selected for promise in compiled.models[name].contract):
        return False
    return all(output_columns(compiled.models[name], columns) == compiled.models[name].columns for name, columns in deployed.items())


def _held(model: CompiledModel, body: ReceiptBody) -> frozenset[str]:
    """Columns without a null in any row that the receipt speaks of: it counted them, or a check that still asks it passed."""
    counted = {found.column.lower() for found in body.nulls if found.nulls == 0}
    if body.digests.promise != model.digests.promise:
        return frozenset(counted)
    passed = {verdict.check for verdict in body.verdicts if verdict.outcome == "passed"}
    checks = [check for check in model.file.checks if check.name in passed]
    return frozenset(
        counted.union(*({column.lower() for column in check.question.columns} for check in checks if isinstance(check.question, NotNull)))
    )


def _unread(compiled: Compiled) -> Iterable[Diagnostic]:
    return (finding for finding in compiled.findings if finding.code == "S121")


def _merged(compiled: Compiled, aside: Compiled, selected: frozenset[str]) -> Compiled:
    """The whole project, in which what is selected (and what is put into it) is as it was bound to the warehouse."""
    taken = {name: model for name, model in aside.models.items() if name in selected or model.kind == "ephemeral"}
    models = {name: taken.get(name, compiled.models[name]) for name in aside.models}
    return msgspec.structs.replace(
        compiled,
        models={**models, **{name: model for name, model in compiled.models.items() if name not in models}},
        sources={**compiled.sources, **aside.sources},
        macros=aside.macros,
        findings=aside.findings,
    )
