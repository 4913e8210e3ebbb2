"""What has become of a unit: its compiled form, with everything that is reached through views and ephemerals."""

from __future__ import annotations

from collections.abc import Iterable

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.compiler.contracts import pinned
from interlock.engine.compiler.digests import (
    NOT_IN_DEFINITION,
    definition_of,
    definition_parts_of_model,
    definition_parts_of_seed,
    note_of,
    promise_of,
)
from interlock.engine.compiler.reliance import relied_on
from interlock.engine.compiler.source_texts import identity
from interlock.engine.compiler.unit import Surroundings, Unit
from interlock.engine.project.project import ModelFile, SeedFile
from interlock.machines.evidence import Digests


def finished(unit: Unit, around: Surroundings, layer: int) -> CompiledModel:
    """What has become of a unit, as a value. What it reads is finished."""
    if isinstance(unit.file, SeedFile):
        parts = definition_parts_of_seed(unit.file, unit.columns)
    else:
        parts = _definition_parts(unit, unit.file, around)
    reads = sorted({node.name for node in unit.texts_read() if node.kind != "source"})
    upstream = [around.units[name] for name in reads if name in around.units]
    tables, views, sources = _reached(unit, upstream)
    ephemerals = [each.model for each in upstream if each.is_ephemeral and each.model is not None]
    analysis = unit.analysis
    notes = set(analysis.reading.notes) if analysis is not None and analysis.reading is not None else set()
    if (
        analysis is not None
        and analysis.reading is not None
        and any(call.name in around.aggregates or call.name == "count_star" for call in analysis.reading.calls)
    ):
        notes.add("aggregate")
    unit.model = CompiledModel(
        name=unit.name,
        kind=unit.kind,
        file=unit.file,
        schema=unit.node.schema,
        relation=unit.node.relation,
        text=unit.file.text if isinstance(unit.file, ModelFile) else "",
        sql=unit.sql,
        columns=unit.columns,
        references=tuple(reads),
        sources=_merged({node.name for node in unit.texts_read() if node.kind == "source"}, (each.sources for each in ephemerals)),
        tables_read=tables,
        views_read=views,
        sources_read=sources,
        variables=_merged(analysis.variables if analysis is not None else (), (each.variables for each in ephemerals)),
        macros=_merged(analysis.macros if analysis is not None else (), (each.macros for each in ephemerals)),
        volatile=_merged(analysis.volatile if analysis is not None else (), (each.volatile for each in ephemerals)),
        unsettled=unit.unsettled,
        notes=_merged(notes, (each.notes for each in ephemerals)),
        layer=layer,
        contract=pinned(unit.file.contract, unit.promises, unit.relation_columns()),
        extra_columns=unit.file.contract.extra_columns if unit.file.contract else "allow",
        contract_findings=unit.contract_findings,
        relies_on=relied_on(unit, around) if unit.bound and around.deployed(unit.name) is None else (),
        checks=unit.checks,
        digests=Digests(
            definition=definition_of(parts),
            promise=promise_of(unit.file.contract, unit.promises, unit.file.checks, {}),
            note=note_of(unit.file),
            environment=around.environment,
        ),
        description=unit.file.description,
        tags=unit.file.tags,
        path=unit.file.path,
        as_of_columns=tuple(sorted(output.name for output in unit.outputs or () if output.as_of)),
        restricted=unit.restricted,
        blocked=unit.blocked or unit.errors() or not unit.bound,
        definition_parts=parts,
    )
    return unit.model


def _definition_parts(unit: Unit, model: ModelFile, around: Surroundings) -> dict[str, str]:
    analysis = unit.analysis
    assert analysis is not None
    resolution: dict[str, str] = {}
    sources: dict[str, object] = {}
    ephemerals: dict[str, str] = {}
    for place in analysis.places:
        written = ".".join(place.reference.path).lower()
        node = place.node
        other = around.units.get(node.name) if node.kind != "source" else None
        if node.kind == "source":
            resolution[written] = "source"
            sources[written] = identity(around.context.names.sources[node.name], around.target)
        elif other is not None and other.is_ephemeral:
            resolution[written] = "ephemeral"
            ephemerals[written] = other.model.digests.definition if other.model is not None else ""
        else:
            resolution[written] = f"{node.schema}.{node.relation}"
    values = around.context.values
    macros = around.context.macros
    return definition_parts_of_model(
        model,
        analysis.canonical(),
        resolution=resolution,
        sources=sources,
        ephemerals=ephemerals,
        macros={name: macros.by_name[name].digest for name in analysis.macros},
        variables={name: values.literal(name) or "" for name in analysis.variables if name not in NOT_IN_DEFINITION},
    )


def _reached(unit: Unit, upstream: Iterable[Unit]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    tables: set[str] = set()
    views: set[str] = set()
    sources = {node.name for node in unit.texts_read() if node.kind == "source"}
    for each in upstream:
        if each.kind not in {"view", "ephemeral"}:
            tables.add(each.name)
            continue
        if each.kind == "view":
            views.add(each.name)
        if each.model is not None:
            tables.update(each.model.tables_read)
            views.update(each.model.views_read)
            sources.update(each.model.sources_read)
    return tuple(sorted(tables)), tuple(sorted(views)), tuple(sorted(sources))


def _merged(own: Iterable[str], others: Iterable[Iterable[str]]) -> tuple[str, ...]:
    found = set(own)
    for other in others:
        found.update(other)
    return tuple(sorted(found))
