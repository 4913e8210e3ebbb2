"""Questions about rows that are there: checks without building, and an incremental table beside a full build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Literal

from interlock.engine import outcome as outcomes
from interlock.engine.cases.sources import checks_of_sources, counts_of
from interlock.engine.clock import stamp
from interlock.engine.compiler.compiled import Compiled, CompiledCheck, CompiledModel
from interlock.engine.diagnostics import Diagnostic, Outcome, did_you_mean, refused
from interlock.engine.planner import checks as check_sql
from interlock.engine.planner.frame import cursor_column
from interlock.engine.project.project import ModelFile
from interlock.engine.results import CheckResult, ModelChecks, SourceChecks
from interlock.engine.runner.authority import Sight, look
from interlock.engine.runner.binding import bound_to
from interlock.engine.runner.ground import Ground, stop_on_errors
from interlock.engine.runner.selection import Request
from interlock.engine.warehouse.duckdb import same
from interlock.engine.warehouse.duckdb.quoting import identifier, relation, string
from interlock.engine.warehouse.duckdb.reader import DuckDBReader
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import HeadRow, WarehouseError
from interlock.machines.evidence import CheckVerdict

SHOWN_MAX = 5


def _opened(ground: Ground, as_of: str) -> DuckDBReader:
    reader = ground.reader(ground.macros(as_of))
    if reader is None:
        message = f"`{ground.target.path}` does not exist"
        raise refused("W601", message, remedy="build something first: `interlock run`", subject=ground.target.name)
    return reader


def check_models(
    ground: Ground, select: Sequence[str], exclude: Sequence[str]
) -> tuple[tuple[ModelChecks, ...], tuple[SourceChecks, ...], tuple[Diagnostic, ...]]:
    """Verdicts of every check of the selected models, on the rows that are there now, and of all that their sources may be asked.

    Raises:
        Refused: nothing that was selected has a check: that is no pass.
    """
    as_of = stamp(ground.clock())
    with closing(_opened(ground, as_of)) as reader:
        sight = look(ground.directory, ground.project.id, reader)
        compiled, findings, selected = _compiled(ground, reader, sight, as_of, select, exclude)
        asked = [compiled.models[name] for name in compiled.models if name in selected and compiled.models[name].checks]
        sources, of_sources = checks_of_sources(reader, compiled, selected, as_of)
        if not asked and not sources:
            raise refused(
                "G526",
                "nothing was checked",
                because="no selected model has a check, and no source of theirs promises anything",
                remedy="add [[checks]] to a sidecar, or select other models",
            )
        heads = {head.model: head for head in sight.heads}
        models = tuple(_check_model(reader, sight, heads.get(model.name), model, as_of) for model in asked)
        return models, sources, (*findings, *of_sources)


def check_result(ground: Ground, select: Sequence[str], exclude: Sequence[str], where: Mapping[str, Any]) -> CheckResult:
    """`check` as a result: every verdict, how many are of which kind, and what is no pass as findings."""
    models, sources, findings = check_models(ground, select, exclude)
    of_sources = counts_of(sources)
    verdicts = [verdict for model in models for verdict in model.verdicts]
    failed = sum(verdict.outcome == "failed" and verdict.severity == "error" for verdict in verdicts) + of_sources["failed"]
    warned = sum(verdict.outcome == "failed" and verdict.severity == "warn" for verdict in verdicts) + of_sources["warned"]
    unknown = sum(verdict.outcome == "not_evaluated" for verdict in verdicts) + of_sources["not_evaluated"]
    outcome: Outcome = "refused" if failed or unknown else "done"
    return CheckResult(
        command="check",
        outcome=outcome,
        exit_code=outcomes.exit_of(outcome),
        findings=(
            *(found for found in findings if found.severity != "note"),
            *(found for model in models for found in verdict_findings(model)),
        ),
        models=models,
        sources=sources,
        evaluated=len(verdicts) + of_sources.total() - unknown,
        failed=failed,
        warned=warned,
        not_evaluated=unknown,
        **where,
    )


def _against(verdict: CheckVerdict) -> str:
    if verdict.failing is None:
        return verdict.because
    return f"{verdict.failing} against it" + (f", {verdict.because}" if verdict.because else "")


def verdict_findings(model: ModelChecks) -> tuple[Diagnostic, ...]:
    """Verdicts that are no pass, as findings."""
    found = []
    for verdict in model.verdicts:
        if verdict.outcome == "passed":
            continue
        code = "G527" if verdict.outcome == "failed" else "G526"
        severity: Literal["error", "warning"] = "warning" if verdict.severity == "warn" and code == "G527" else "error"
        summary = f"check `{verdict.check}` of `{model.model}` {'failed' if code == 'G527' else 'was not evaluated'}"
        remedy = "correct the rows or the check" if code == "G527" else "make it possible to evaluate it; that is no pass"
        found.append(
            Diagnostic(code=code, severity=severity, summary=summary, because=_against(verdict), remedy=remedy, subject=model.model)
        )
    return tuple(found)


def _compiled(
    ground: Ground, reader: DuckDBReader, sight: Sight, as_of: str, select: Sequence[str], exclude: Sequence[str]
) -> tuple[Compiled, tuple[Diagnostic, ...], frozenset[str]]:
    bound = bound_to(ground, Request(select=tuple(select), exclude=tuple(exclude)), sight, reader, as_of)
    stop_on_errors(bound.findings)
    return bound.compiled, bound.findings, bound.selected


def _check_model(reader: DuckDBReader, sight: Sight, row: HeadRow | None, model: CompiledModel, as_of: str) -> ModelChecks:
    rel = relation(model.schema, model.relation)
    foreign = _foreign(reader, row, model)
    verdicts = []
    for check in model.checks:
        if foreign:
            verdicts.append(_unknown(check, foreign))
            continue
        probe = check_sql.probe(check, rel, as_of)
        own = check_sql.statement(check, rel)
        text = f"SELECT {probe.expression} FROM {rel} AS interlock_t" if probe is not None else own.text if own is not None else ""
        verdicts.append(_verdict(reader, check, text))
    head = sight.fold.head(model.name)
    ranges = "all rows"
    if head.rows is not None:
        ranges = "its only row" if head.rows == 1 else f"all {head.rows} rows"
    if head.watermark is not None:
        ranges += f", from {head.watermark.low} to {head.watermark.high}"
    return ModelChecks(model=model.name, verdicts=tuple(verdicts), ranges=ranges)


def _foreign(reader: DuckDBReader, row: HeadRow | None, model: CompiledModel) -> str:
    """Why what stands in a model's place says nothing of the model; empty where its last run left it so."""
    place = f"{model.schema}.{model.relation}"
    seen = reader.catalog().find(model.schema, model.relation)
    if seen is None:
        return f"nothing stands at {place}"
    if row is None or row.token is None:
        return f"no run made what stands at {place}"
    return "" if seen.token == row.token else f"what stands at {place} is not what its last run left"


def _unknown(check: CompiledCheck, because: str) -> CheckVerdict:
    because = f"it could not be evaluated: {because}"
    return CheckVerdict(check=check.check.name, severity=check.check.severity, outcome="not_evaluated", failing=None, because=because)


def _verdict(reader: DuckDBReader, check: CompiledCheck, text: str) -> CheckVerdict:
    name, severity = check.check.name, check.check.severity
    try:
        answer: dict[str, Any] = reader.query(text)[0][0]
    except WarehouseError as error:
        return _unknown(check, error.message)
    failing = answer["failing"]
    because = check_sql.because_of(failing, answer.get("sample"))
    return CheckVerdict(
        check=name,
        severity=severity,
        outcome="not_evaluated" if failing is None else "passed" if failing == 0 else "failed",
        failing=failing,
        because=because,
    )


def compare_model(ground: Ground, name: str) -> dict[str, Any]:
    """An incremental model's table beside the rows that its query gives now, up to its watermark, as multisets.

    Raises:
        Refused: no such model, not an incremental one, or nothing is built.
    """
    as_of = stamp(ground.clock())
    with closing(_opened(ground, as_of)) as reader:
        sight = look(ground.directory, ground.project.id, reader)
        if name not in ground.project.models and name not in ground.project.seeds:
            known = (*ground.project.models, *ground.project.seeds)
            raise refused("S114", f"there is no model `{name}`", remedy=did_you_mean(name, known, "see `interlock ls`"))
        bound = bound_to(ground, Request(select=(name,)), sight, reader, as_of)
        stop_on_errors(bound.findings)
        model = bound.compiled.models[name]
        column = cursor_column(model)
        if column is None or not isinstance(model.file, ModelFile):
            raise refused(
                "P416",
                f"`{name}` is a {model.kind}",
                because="only an incremental model can be compared with a full build",
                remedy="see `interlock ls`",
            )
        head = sight.fold.head(name)
        if head.token is None:
            raise refused("P411", f"`{name}` is not built in this target", remedy=f"run it: `interlock run --select {name}`")
        if foreign := _foreign(reader, next((each for each in sight.heads if each.model == name), None), model):
            raise refused(
                "P417", f"`{name}` cannot be compared", because=foreign, remedy=f"see `interlock plan --select {name}`: it says what helps"
            )
        written_by = head.watermark.column if head.watermark is not None else ""
        if written_by and written_by.lower() != column.name.lower():
            raise refused(
                "P412",
                f"`{name}` cannot be compared",
                because=f"its rows were written by the watermark `{written_by}`, and it says `{column.name}` now",
                remedy=f"see `interlock plan --select {name}`: it says what helps",
            )
        try:
            return _compare(reader, model, column.name, column.type, head.watermark.high if head.watermark is not None else None)
        except WarehouseError as error:
            raise refusal(error, subject=name) from error


def _compare(reader: DuckDBReader, model: CompiledModel, cursor: str, type_: str, high: str | None) -> dict[str, Any]:
    left_out = {column.lower() for column in model.as_of_columns}
    names = [column.name for column in model.columns if column.name.lower() not in left_out]
    listed = same.told_apart(names, {column.name.lower(): column.type for column in model.columns})
    upto = f" WHERE {identifier(cursor)} <= CAST({string(high)} AS {type_})" if high is not None else " WHERE FALSE"
    there = f"SELECT {listed} FROM {relation(model.schema, model.relation)}"
    rebuilt = f"SELECT {listed} FROM (\n{model.sql}\n) AS full_build{upto}"
    only_there = f"({there}) EXCEPT ALL ({rebuilt})"
    only_rebuilt = f"({rebuilt}) EXCEPT ALL ({there})"
    counts = reader.query(
        f"SELECT (SELECT count(*) FROM ({there})), (SELECT count(*) FROM ({rebuilt})), "
        f"(SELECT count(*) FROM ({only_there})), (SELECT count(*) FROM ({only_rebuilt}))"
    )[0]
    casts = ", ".join(f"CAST({identifier(column)} AS VARCHAR)" for column in names)

    def first(query: str) -> tuple[tuple[str | None, ...], ...]:
        return tuple(tuple(row) for row in reader.query(f"SELECT {casts} FROM ({query}) AS d ORDER BY ALL LIMIT {SHOWN_MAX}"))

    return {
        "rows_there": int(counts[0]),
        "rows_rebuilt": int(counts[1]),
        "only_there": int(counts[2]),
        "only_rebuilt": int(counts[3]),
        "columns": tuple(names),
        "first_only_there": first(only_there) if counts[2] else (),
        "first_only_rebuilt": first(only_rebuilt) if counts[3] else (),
    }
