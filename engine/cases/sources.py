"""What sources said in a plan or a run that did not pass and refused nobody, as findings."""

from __future__ import annotations

from collections.abc import Iterable

from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.planner.plan import PlanBody
from interlock.engine.planner.sources import warnings_of
from interlock.machines.evidence import SourceCheck, SourceVerdict

LOAD = "load it; nothing that reads it was stopped, for its freshness only warns"


def source_warnings(body: PlanBody | None, said: Iterable[SourceVerdict] = ()) -> tuple[Diagnostic, ...]:
    """Once for each source: by what the run was told, else by what it said when the plan was made."""
    if body is None:
        return ()
    later = {(verdict.source, verdict.question, verdict.column): verdict for verdict in said}
    found = []
    for pin in body.sources:
        checks = pin.question.checks if pin.question is not None else ()
        now = [later.get((verdict.source, verdict.question, verdict.column), verdict) for verdict in pin.said]
        found += [warning(check, because) for check in checks for because in warnings_of([check], now)]
    return tuple(found)


def warning(check: SourceCheck, because: str) -> Diagnostic:
    """A source that is not fresh, where that only warns."""
    return Diagnostic(
        code="G504",
        severity="warning",
        summary=f"source `{check.source}` is not fresh",
        because=because,
        remedy=LOAD,
        at=Position(path="sources.toml", key=f"sources.{check.source}.freshness"),
        subject=check.source,
        invariant="I4",
    )
