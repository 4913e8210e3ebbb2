"""`restrict`: a predicate at the span of a relation, where the author asks for one. It changes what the text means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from interlock.engine.compiler.analysis import Analysis, Place
from interlock.engine.compiler.compiled import CompiledModel, RestrictedSpan
from interlock.engine.compiler.names import Node
from interlock.engine.compiler.text import Spliced
from interlock.engine.diagnostics import Diagnostic, Position, did_you_mean
from interlock.engine.project.project import ModelFile
from interlock.machines.evidence import Column


def restricted(model: CompiledModel, predicates: Mapping[str, str]) -> str:
    """The model's SQL with rows of relations left out at their spans.

    Args:
        model: compiled.
        predicates: by pair (`relation.column`), a condition over that relation's columns.
    """
    asked: dict[tuple[int, int], list[str]] = {}
    for span in model.restricted:
        if span.pair in predicates:
            asked.setdefault((span.start, span.end), []).append(predicates[span.pair])
    sql = model.sql
    for (start, end), conditions in sorted(asked.items(), reverse=True):
        where = " AND ".join(f"({condition})" for condition in conditions)
        sql = f"{sql[:start]}(SELECT * FROM {sql[start:end]} WHERE {where}){sql[end:]}"
    return sql


def spans_of(
    model: ModelFile,
    analysis: Analysis,
    rendered: Spliced,
    stands: Callable[[Node], str],
    columns_of: Callable[[Node], tuple[Column, ...] | None],
) -> tuple[tuple[RestrictedSpan, ...], list[Diagnostic]]:
    """Where the pairs of `restrict` stand in the text that runs; findings for those that stand nowhere.

    Args:
        model: the model.
        analysis: of its text.
        rendered: the text that runs.
        stands: what was put in for a relation.
        columns_of: columns of a relation.
    """
    found: list[RestrictedSpan] = []
    findings: list[Diagnostic] = []
    for index, pair in enumerate(model.restrict):
        relation, _, name = pair.rpartition(".")
        places = [place for place in analysis.places if place.node.name.lower() == relation.lower()]
        at = Position(path=model.sidecar or model.path, key=f"restrict[{index}]")
        if not places:
            read = sorted({place.node.name for place in analysis.places})
            findings.append(
                Diagnostic(
                    code="L222",
                    summary=f"`restrict` names `{relation}`, which the text does not read",
                    because=f"it reads {', '.join(f'`{each}`' for each in read) or 'nothing'}",
                    remedy=did_you_mean(relation, read, "name a relation that the text itself reads"),
                    at=at,
                    subject=model.name,
                )
            )
            continue
        columns = columns_of(places[0].node) or ()
        column = next((each for each in columns if each.name.lower() == name.lower()), None)
        if column is None:
            names = [each.name for each in columns]
            findings.append(
                Diagnostic(
                    code="L222",
                    summary=f"`{relation}` has no column `{name}`",
                    because=f"it has {', '.join(f'`{each}`' for each in names)}",
                    remedy=did_you_mean(name, names, "name another column"),
                    at=at,
                    subject=model.name,
                )
            )
            continue
        found += [_span(pair, column, place, rendered, stands) for place in places]
    return tuple(sorted(found, key=lambda each: (each.start, each.pair))), findings


def _span(pair: str, column: Column, place: Place, rendered: Spliced, stands: Callable[[Node], str]) -> RestrictedSpan:
    index = rendered.origins.index((place.start, False))
    data = rendered.text.encode()
    start = len(data[: rendered.starts[index]].decode())
    return RestrictedSpan(pair=pair, column=column.name, type=column.type, start=start, end=start + len(stands(place.node)))
