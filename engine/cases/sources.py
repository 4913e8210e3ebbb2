"""What sources say: what did not pass in a plan or a run and refused nobody, and what `check` asks of them, as findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from interlock.engine.compiler.compiled import Compiled
from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.planner.asked import all_sources
from interlock.engine.planner.plan import PlanBody
from interlock.engine.planner.sources import (
    ask,
    cell_checks,
    freshness_checks,
    key_of,
    null_checks,
    question_of,
    reasons_against,
    relied_on_in,
    warnings_of,
)
from interlock.engine.results import SourceChecks
from interlock.engine.warehouse.protocol import Reader
from interlock.machines.evidence import SourceCheck, SourceVerdict

_SUMMARIES: Final = {
    "freshness": "source `{}` is not fresh",
    "not_null": "source `{}` does not keep what it promises",
    "cells": "types of source `{}` do not hold what its files do",
}
UNUSED = "have it corrected at the source, or take `nullable = false` out: no contract that was selected rests on it"
LOAD = "load it; nothing that reads it was stopped, for its freshness only warns"


def source_warnings(body: PlanBody | None, said: Iterable[SourceVerdict] = ()) -> tuple[Diagnostic, ...]:
    """Once for each source: by what the run was told, else by what it said when the plan was made."""
    if body is None:
        return ()
    later = {key_of(verdict): verdict for verdict in said}
    found = []
    for pin in body.sources:
        checks = pin.question.checks if pin.question is not None else ()
        now = [later.get(key_of(verdict), verdict) for verdict in pin.said]
        found += [warning(check, because) for check in checks for because in warnings_of([check], now)]
    return tuple(found)


def warning(check: SourceCheck, because: str) -> Diagnostic:
    """A source that is not fresh, or does not keep a promise, where that only warns."""
    fresh = check.question == "freshness"
    return Diagnostic(
        code="G504" if fresh else "G505",
        severity="warning",
        summary=f"source `{check.source}` is not fresh" if fresh else f"source `{check.source}` does not keep what it promises",
        because=because,
        remedy=LOAD if fresh else UNUSED,
        at=_position(check),
        subject=check.source,
        invariant="I4",
    )


def checks_of_sources(
    reader: Reader, compiled: Compiled, selected: frozenset[str], as_of: str
) -> tuple[tuple[SourceChecks, ...], tuple[Diagnostic, ...]]:
    """Everything that the sources of the selected models may be asked, asked now; and what is no pass, as findings."""
    relied_on = relied_on_in(compiled, selected)
    used = {(source, column) for sources in relied_on.values() for source, columns in sources.items() for column in columns}
    found: list[SourceChecks] = []
    findings: list[Diagnostic] = []
    for name in sorted({source for model in selected for source in all_sources(compiled, compiled.models[model])}):
        source = compiled.sources[name]
        promised = [column for column, declared in (source.source.columns or {}).items() if not declared.nullable]
        checks = (
            *freshness_checks(source),
            *(
                check if (name, check.column) in used else msgspec.structs.replace(check, severity="warn")
                for check in null_checks(name, promised)
            ),
            *cell_checks(source),
        )
        if not checks:
            continue
        verdicts = ask(reader, question_of(source, checks, as_of), as_of)
        found.append(SourceChecks(source=name, checks=checks, verdicts=verdicts))
        for check in checks:
            findings += [_against(check, *reason) for reason in reasons_against([check], _answers_to(check, verdicts))]
            findings += [warning(check, because) for because in warnings_of([check], verdicts)]
    return tuple(found), tuple(findings)


def counts_of(sources: Iterable[SourceChecks]) -> Counter[str]:
    """How many questions `failed`, `warned`, were `not_evaluated`, or `passed`."""
    counts: Counter[str] = Counter()
    for source in sources:
        for check in source.checks:
            reasons = reasons_against([check], _answers_to(check, source.verdicts))
            warned = warnings_of([check], source.verdicts)
            unknown = any(code == "G506" for code, _, _ in reasons)
            counts["not_evaluated" if unknown else "failed" if reasons else "warned" if warned else "passed"] += 1
    return counts


def _answers_to(check: SourceCheck, verdicts: Iterable[SourceVerdict]) -> list[SourceVerdict]:
    return [each for each in verdicts if key_of(each) == key_of(check)]


def _against(check: SourceCheck, code: str, because: str, remedy: str) -> Diagnostic:
    summary = f"source `{check.source}` has not answered" if code == "G506" else _SUMMARIES[check.question].format(check.source)
    return Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=_position(check), subject=check.source, invariant="I4")


def _position(check: SourceCheck) -> Position:
    match check.question:
        case "freshness":
            key = "freshness"
        case "not_null":
            key = f"columns.{check.column}.nullable"
        case "cells":
            key = "columns"
    return Position(path="sources.toml", key=f"sources.{check.source}.{key}")
