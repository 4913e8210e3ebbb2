"""What is put to sources before anything reads them: how fresh they are, and whether they keep what they promise.

Of files, it is a promise too that what they hold is held by the types that they are read with. One question for each source,
asked on one path: when the plan is made (of its freshness), in the run before its first reader begins, and by `interlock check`.
An answer that does not come is a verdict too, and never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, assert_never

from interlock.engine.compiler.compiled import Compiled, CompiledModel, CompiledSource
from interlock.engine.compiler.held import Unheld, held_field, unheld_of
from interlock.engine.planner.asked import reached_by
from interlock.engine.planner.checks import FUTURE_SECONDS_MAX, NOW, fresh_fields
from interlock.engine.planner.choice import Choice, refuse
from interlock.engine.planner.plan import SourceQuestion
from interlock.engine.project.exact import loss_of
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.protocol import Reader, WarehouseError
from interlock.machines.actions import WRITES_ROWS
from interlock.machines.evidence import SourceCheck, SourceVerdict, VerifyEvidence
from interlock.machines.guards_source import source_cells_are_held, source_promises_hold, sources_are_fresh

INTERRUPTED: Final = "G562"
_TOLD_MAX: Final = 3
"""Columns that a reason names."""
_KEEPS: Final = frozenset({"refuse", "move", "drop", "adopt"})
"""Actions that read no source, whatever the model's text says."""


def freshness_checks(source: CompiledSource) -> tuple[SourceCheck, ...]:
    """The questions how fresh a source is, where sources.toml asks any."""
    return tuple(
        SourceCheck(
            source=source.source.name,
            question="freshness",
            column=asked.question.column,
            severity=asked.severity,
            limit_seconds=asked.question.max_age_seconds,
            no_rows=asked.no_rows,
        )
        for asked in source.source.freshness
    )


def null_checks(source: str, columns: Iterable[str]) -> tuple[SourceCheck, ...]:
    """Whether columns of a source that promise none have nulls."""
    return tuple(SourceCheck(source=source, question="not_null", column=column, severity="error") for column in columns)


def cell_checks(source: CompiledSource) -> tuple[SourceCheck, ...]:
    """Whether what a source's files hold is held by the types that they are read with, where those could lose anything."""
    if held_field(source) is None:
        return ()
    return (SourceCheck(source=source.source.name, question="cells", column="", severity="error"),)


def relied_on_in(compiled: Compiled, selected: frozenset[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """By model that reads a source, and by source: columns whose promise the contracts of selected models rest on."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in sorted(selected):
        for each in compiled.models[name].relies_on:
            columns = found.setdefault(each.reader, {})
            columns[each.source] = tuple(dict.fromkeys((*columns.get(each.source, ()), *each.columns)))
    return found


def source_checks_of(
    compiled: Compiled, model: CompiledModel, action: str, relied_on: Mapping[str, tuple[str, ...]], checked: Iterable[str]
) -> tuple[SourceCheck, ...]:
    """What is to be asked of the sources that a model or a check of it reads, before they are read.

    Args:
        compiled: the project.
        model: that has an item which is carried out.
        action: of it.
        relied_on: by source: columns whose promise a contract rests on, where the model reads it.
        checked: sources that the checks of this item read.
    """
    reads = action in WRITES_ROWS or (action == "recheck" and model.kind == "view")
    names = sorted({*checked, *(model.sources_read if reads else ())})
    fresh = [check for name in names for check in freshness_checks(compiled.sources[name])]
    cells = [check for name in names for check in cell_checks(compiled.sources[name])]
    promised = [check for name, columns in sorted(relied_on.items()) for check in null_checks(name, columns)] if reads else []
    return (*fresh, *promised, *cells)


def key_of(about: SourceCheck | SourceVerdict) -> tuple[str, str, str, int | None]:
    """Which question it is about: of a source there may be two of freshness, by another limit each."""
    return about.source, about.question, about.column, about.limit_seconds


def question_of(source: CompiledSource, checks: Iterable[SourceCheck], as_of: str) -> SourceQuestion:
    """All that is asked of one source."""
    pins = tuple(dict.fromkeys(check for check in checks if check.source == source.source.name))
    return SourceQuestion(checks=pins, fields=tuple(_field(source, check, as_of) for check in pins), relation=source.sql)


def _field(source: CompiledSource, check: SourceCheck, as_of: str) -> str:
    if check.question == "not_null":
        return f"count(*) FILTER (WHERE {identifier(check.column)} IS NULL)"
    if check.question == "cells":
        field = held_field(source)
        assert field is not None, "it is only asked where there is something to ask"
        return field
    (asked,) = (each.question for each in source.source.freshness if each.severity == check.severity)
    return fresh_fields(asked, as_of)


def ask(reader: Reader, question: SourceQuestion, now: str) -> tuple[SourceVerdict, ...]:
    """What a source says, by one query; where that gets no answer, each question is asked alone, so that an error is its own.

    Args:
        reader: of the target.
        question: all that is asked.
        now: when it is asked, as text.

    Raises:
        WarehouseError: it was interrupted; every other error is a verdict.
    """
    if not question.checks:
        return ()
    try:
        bound = {NOW.removeprefix("$"): now} if any(NOW in field for field in question.fields) else None
        return _answers(question.checks, reader.query(question.text(question.fields), bound)[0][0])
    except WarehouseError as error:
        if error.code == INTERRUPTED:
            raise
        if len(question.checks) == 1:
            return tuple(_verdict(check, "not_evaluated", error.message) for check in question.checks)
    found: list[SourceVerdict] = []
    for check, field in zip(question.checks, question.fields, strict=True):
        found += ask(reader, SourceQuestion(checks=(check,), fields=(field,), relation=question.relation), now)
    return tuple(found)


def _answers(checks: Sequence[SourceCheck], answer: Mapping[str, Any]) -> tuple[SourceVerdict, ...]:
    found = []
    for number, check in enumerate(checks):
        said = answer[f"q{number}"]
        match check.question:
            case "freshness":
                found.append(_fresh(check, answer["rows"], said))
            case "not_null":
                found.append(_nulls(check, said))
            case "cells":
                found.append(_cells(check, said))
            case _ as unreachable:
                assert_never(unreachable)
    return tuple(found)


def _cells(check: SourceCheck, said: Any) -> SourceVerdict:
    if said is None:
        return _verdict(check, "not_evaluated", "nothing is known of its cells")
    found = unheld_of(said)
    if not found:
        return _verdict(check, "passed", failing=0)
    because = "; ".join(_not_held(each) for each in found[:_TOLD_MAX])
    more = "" if len(found) <= _TOLD_MAX else f"; and {len(found) - _TOLD_MAX} more columns"
    return _verdict(check, "failed", because + more, failing=sum(each.failing for each in found))


def _not_held(found: Unheld) -> str:
    if found.found is not None:
        return f"column `{found.column}` of {found.file} is {found.found}, and is read as {found.type} (`union_by_name` reads all by the widest)"
    loss = loss_of(found.type)
    why = loss(found.cell or "") if loss is not None else ""
    more = f", and {found.failing - 1} more {'cell is' if found.failing == 2 else 'cells are'} none" if found.failing > 1 else ""
    return f"`{found.cell}` in column `{found.column}` of {found.file} is no {found.type}: {why or 'as it is written it would not be kept'}{more}"


def _nulls(check: SourceCheck, nulls: int) -> SourceVerdict:
    if nulls == 0:
        return _verdict(check, "passed", failing=0)
    because = f"`{check.column}` has {nulls} null{'' if nulls == 1 else 's'}, and sources.toml promises none"
    return _verdict(check, "failed", because, failing=nulls)


def _fresh(check: SourceCheck, rows: int, said: Mapping[str, Any]) -> SourceVerdict:
    if rows == 0:
        return _verdict(check, "no_rows", "it has no rows")
    if said["failing"] is None:
        known = said["newest"]
        because = (
            f"no row has a value in `{check.column}`" if known is None else f"its newest `{check.column}` is {known}, which is no time"
        )
        return _verdict(check, "not_evaluated", because)
    if said["failing"] == 0:
        return _verdict(check, "passed", failing=0)
    age, newest = said["age"], f"its newest `{check.column}` is {said['newest']}"
    if age is None:
        return _verdict(check, "failed", f"{newest}, of which no age can be told", failing=1)
    if said["ahead"] > FUTURE_SECONDS_MAX:
        return _verdict(check, "failed", f"{newest}, which is {_span(said['ahead'])} ahead: a time in the future is not fresh", failing=1)
    return _verdict(check, "failed", f"{newest}, {_span(age)} before the plan's time; {_span(said['allowed'])} is allowed", failing=1)


def _verdict(check: SourceCheck, outcome: Any, because: str = "", *, failing: int | None = None) -> SourceVerdict:
    return SourceVerdict(
        source=check.source,
        question=check.question,
        column=check.column,
        limit_seconds=check.limit_seconds,
        outcome=outcome,
        failing=failing,
        because=because,
    )


def _span(seconds: int) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} seconds"


def refused_by_sources(
    compiled: Compiled, model: CompiledModel, choice: Choice, said: Mapping[str, tuple[SourceVerdict, ...]]
) -> Choice | None:
    """The refusal of what reads a source that is not as fresh as it has to be, also where nothing else is to be done.

    What the checks of its rows read counts as well. A source that stands still is what freshness is about: whoever reads it has no
    news, and would be a no-op for ever.
    """
    if choice.action in _KEEPS:
        return None
    against = not_fresh(compiled, {*model.sources_read, *reached_by(compiled, model, "rows").sources}, said)
    if not against:
        return None
    code, because, remedy = against[0]
    return refuse(code, because, remedy)


def not_fresh(compiled: Compiled, sources: Iterable[str], said: Mapping[str, tuple[SourceVerdict, ...]]) -> list[tuple[str, str, str]]:
    """Code, reason and remedy of what is against reading these sources, as they answered when the plan was made."""
    names = sorted(sources)
    checks = tuple(check for name in names for check in freshness_checks(compiled.sources[name]))
    return reasons_against(checks, [verdict for name in names for verdict in said.get(name, ())])


def reasons_against(checks: Sequence[SourceCheck], said: Sequence[SourceVerdict]) -> list[tuple[str, str, str]]:
    """Code, reason and remedy of what the guards on sources have against these answers: the plan and the run judge alike."""
    asked = {key_of(check) for check in checks}
    mine = tuple(verdict for verdict in said if key_of(verdict) in asked)
    if not checks:
        return []  # as when a run verifies an item that asks nothing of sources
    evidence = VerifyEvidence(
        plan="", item_sealed="", item_found="", contract=(), authority="", decision="proceed", sources=tuple(checks), said=mine
    )
    verdicts = (*sources_are_fresh(evidence), *source_promises_hold(evidence), *source_cells_are_held(evidence))
    return [(each.code, each.because, each.remedy) for each in verdicts if each.holds != "yes"]


def warnings_of(checks: Sequence[SourceCheck], said: Sequence[SourceVerdict]) -> list[str]:
    """What did not pass and does not refuse, in words."""
    return [
        verdict.because
        for check in checks
        for verdict in said
        if key_of(verdict) == key_of(check) and verdict.outcome != "passed" and not reasons_against([check], [verdict])
    ]
