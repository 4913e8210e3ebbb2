"""Checks as SQL: each answers a STRUCT with `failing` (null: it could not be evaluated) and a sample for people.

Simple checks are fields of the one aggregate query over the relation (alias `interlock_t`). Those that run what an author
wrote, or read other relations, are statements of their own, so that an error in one is that check's own.
"""

from __future__ import annotations

from typing import assert_never

from interlock.engine.compiler.compiled import CompiledCheck
from interlock.engine.project.project import (
    AcceptedValues,
    CustomSql,
    ExpressionHolds,
    Freshness,
    NotNull,
    Relationships,
    RowCount,
    Unique,
)
from interlock.engine.warehouse.duckdb.quoting import identifier, string
from interlock.engine.warehouse.duckdb.write import SAMPLE_MAX, Probe, as_of_literal, columns_sql
from interlock.engine.warehouse.protocol import Statement

PREFIX = "check:"
FUTURE_SECONDS_MAX = 300
"""A time this far beyond `$as_of` is a clock that differs; more is a row from the future, which is not fresh."""


def _answer(failing: str, sample: str) -> str:
    return f"{{'failing': CAST({failing} AS BIGINT), 'sample': CAST({sample} AS VARCHAR)}}"


def _first(expression: str, where: str) -> str:
    return f"array_to_string(min(DISTINCT CAST({expression} AS VARCHAR), {SAMPLE_MAX}) FILTER (WHERE {where}), ', ')"


def probe(check: CompiledCheck, rel: str, as_of: str) -> Probe | None:
    """The check as a field of the aggregate query, or nothing where it is a statement of its own."""
    question = check.check.question
    name = PREFIX + check.check.name
    match question:
        case NotNull(columns=columns):
            where = " OR ".join(f"{identifier(column)} IS NULL" for column in columns)
            return Probe(name=name, expression=_answer(f"count(*) FILTER (WHERE {where})", "NULL"))
        case AcceptedValues(column=column):
            where = f"{identifier(column)} IS NOT NULL AND {identifier(column)} NOT IN ({check.failing})"
            return Probe(name=name, expression=_answer(f"count(*) FILTER (WHERE {where})", _first(identifier(column), where)))
        case Unique(columns=columns):
            return Probe(name=name, expression=f"({_unique(columns, rel)})")
        case RowCount(rows_min=low, rows_max=high):
            outside = [f"count(*) < {low}" if low is not None else "", f"count(*) > {high}" if high is not None else ""]
            failing = f"CASE WHEN {' OR '.join(each for each in outside if each)} THEN 1 ELSE 0 END"
            return Probe(name=name, expression=_answer(failing, "concat(count(*), ' rows')"))
        case Freshness():
            return Probe(name=name, expression=_freshness(question, as_of))
        case ExpressionHolds() | Relationships() | CustomSql():
            return None
        case _ as unreachable:
            assert_never(unreachable)


def statement(check: CompiledCheck, rel: str) -> Statement | None:
    """The check as a statement of its own, or nothing where it is a field of the aggregate query."""
    role = PREFIX + check.check.name
    question = check.check.question
    match question:
        case ExpressionHolds():
            answer = _answer(f"count(*) FILTER (WHERE (\n{check.failing}\n) IS NOT TRUE)", "NULL")
            return Statement(role=role, text=f"SELECT {answer} FROM {rel}")
        case Relationships(column=column, to_column=to_column):
            name = f"t.{identifier(column)}"
            orphan = (
                f"SELECT {name} AS v FROM {rel} AS t WHERE {name} IS NOT NULL "
                f"AND NOT EXISTS (SELECT 1 FROM {check.to_relation} AS p WHERE p.{identifier(to_column)} = {name})"
            )
            return Statement(role=role, text=f"SELECT {_answer('count(*)', _first('v', 'TRUE'))} FROM ({orphan}) AS o")
        case CustomSql():
            sample = f"array_to_string(list(CAST(o AS VARCHAR))[1:{SAMPLE_MAX}], '; ')"
            return Statement(
                role=role, text=f"SELECT {_answer('count(*)', sample)} FROM (SELECT * FROM (\n{check.failing}\n) LIMIT 1000000) AS o"
            )
        case NotNull() | AcceptedValues() | Unique() | RowCount() | Freshness():
            return None
        case _ as unreachable:
            assert_never(unreachable)


def _unique(columns: tuple[str, ...], rel: str) -> str:
    names = columns_sql(columns)
    whole = " AND ".join(f"{identifier(column)} IS NOT NULL" for column in columns)
    doubles = f"SELECT {names} FROM {rel} WHERE {whole} GROUP BY {names} HAVING count(*) > 1"
    row = "concat_ws(', ', " + ", ".join(f"CAST({identifier(column)} AS VARCHAR)" for column in columns) + ")"
    return f"SELECT {_answer('count(*)', _first(row, 'TRUE'))} FROM ({doubles}) AS d"


def _freshness(question: Freshness, as_of: str) -> str:
    greatest, moment = _greatest(question)
    age = f"(epoch({as_of_literal(as_of)}) - epoch({moment}))"
    nothing = f"'no row has a value in ' || {string(question.column)}"
    failing = _not_fresh(moment, f"{age} <= {question.max_age_seconds} AND {age} >= -{FUTURE_SECONDS_MAX}")
    ahead = f"CASE WHEN {age} < -{FUTURE_SECONDS_MAX} THEN ', which is in the future' ELSE '' END"
    return _answer(failing, f"coalesce('newest ' || CAST({greatest} AS VARCHAR) || {ahead}, {nothing})")


def _not_fresh(moment: str, fresh: str) -> str:
    """1 where it is not fresh, null where there is no time. An infinite time has no age: what is not known to be in bounds is not fresh."""
    return f"CASE WHEN {moment} IS NULL THEN NULL WHEN {fresh} THEN 0 ELSE 1 END"


def _greatest(question: Freshness) -> tuple[str, str]:
    """The greatest value of the column, and the time that it means."""
    greatest = f"max({identifier(question.column)})"
    moment = f"TRY_CAST({greatest} AS TIMESTAMPTZ)"  # a DATE may lie beyond all timestamps
    if question.zone:
        # A time that has a zone keeps it, whatever zone the session is in.
        own = f"(contains(typeof({greatest}), 'WITH TIME ZONE') OR contains(typeof({greatest}), 'TIMESTAMPTZ'))"
        moment = f"CASE WHEN {own} THEN {moment} ELSE timezone({string(question.zone)}, TRY_CAST({greatest} AS TIMESTAMP)) END"
    return greatest, moment


NOW = "$now"


def fresh_fields(question: Freshness, as_of: str) -> str:
    """The freshness of a source as a STRUCT: `failing` as for a check, the newest time, its age, how far it is ahead, what is allowed.

    Its age is told from the plan's time. What is in the future is told from when it is asked (`$now`): rows that came after the
    plan was made are news, and no sign of a wrong clock.
    """
    greatest, moment = _greatest(question)
    age = f"(epoch({as_of_literal(as_of)}) - epoch({moment}))"
    ahead = f"(epoch({moment}) - epoch(CAST({NOW} AS TIMESTAMPTZ)))"
    failing = _not_fresh(moment, f"{age} <= {question.max_age_seconds} AND {ahead} <= {FUTURE_SECONDS_MAX}")
    return (
        f"{{'failing': CAST({failing} AS BIGINT), 'newest': CAST({greatest} AS VARCHAR), 'age': TRY_CAST(floor({age}) AS BIGINT), "
        f"'ahead': TRY_CAST(floor({ahead}) AS BIGINT), 'allowed': {question.max_age_seconds}}}"
    )


def because_of(failing: int | None, sample: str | None) -> str:
    """A verdict's reason in words."""
    if failing is None:
        return f"it could not be evaluated{f': {sample}' if sample else ': there is nothing to look at'}"
    if failing == 0:
        return ""
    return f"such as {sample}" if sample else ""
