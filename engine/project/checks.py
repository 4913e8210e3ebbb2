"""[[checks]] and [contract] tables → the promises of a model or seed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import assert_never

from msgspec import UNSET

from interlock.engine.project.document import Document
from interlock.engine.project.durations import seconds
from interlock.engine.project.files import CheckTable, ContractColumnTable, ContractTable, FreshnessTable, SourceFreshnessTable
from interlock.engine.project.names import NAME_RULE, is_name, suggestion
from interlock.engine.project.positions import KeyPath, key_path
from interlock.engine.project.project import (
    AcceptedValues,
    Check,
    Contract,
    ContractColumn,
    CustomSql,
    ExpressionHolds,
    Freshness,
    NotNull,
    Question,
    Relationships,
    RowCount,
    Scalar,
    Unique,
)

QUESTIONS = ("unique", "not_null", "primary_key", "accepted_values", "relationships", "expression", "row_count", "freshness", "sql")

_INT64 = 2**63


def scalar(document: Document, path: KeyPath, value: object) -> Scalar | None:
    """A TOML value that SQL can hold as a literal, or nothing after a finding."""
    match value:
        case bool() | str() | datetime() | date():
            return value
        case int() if -_INT64 <= value < _INT64:
            return value
        case int():
            document.report(
                "S104", path, f"`{key_path(path)}` is too large", because="whole numbers have 64 bits", remedy="write it as a text"
            )
            return None
        case Decimal() if value.is_finite():
            return value
        case _:
            document.report(
                "S104",
                path,
                f"`{key_path(path)}` has a wrong value",
                because=f"it is {type(value).__name__ if not isinstance(value, Decimal) else value}",
                remedy="write a text, a whole number, a decimal, true, false, a date or a timestamp",
            )
            return None


def scalars(document: Document, path: KeyPath, values: Sequence[object]) -> tuple[Scalar, ...] | None:
    """A list of literals of one type, or nothing after a finding. Whole numbers among decimals become decimals."""
    if not values:
        document.report(
            "S104", path, f"`{key_path(path)}` is an empty list", because="no type can be told from it", remedy="give it a value"
        )
        return None
    found: list[Scalar] = []
    for index, value in enumerate(values):
        one = scalar(document, (*path, index), value)
        if one is None:
            return None
        found.append(one)
    kinds = {type(value) for value in found}
    if kinds == {int, Decimal}:
        return tuple(Decimal(value) if isinstance(value, int) else value for value in found)
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        document.report(
            "S104", path, f"`{key_path(path)}` mixes types", because=f"it holds {names}", remedy="write all of them in one type"
        )
        return None
    if any(isinstance(value, datetime) for value in found) and len({getattr(value, "tzinfo", None) is None for value in found}) > 1:
        document.report(
            "S104", path, f"`{key_path(path)}` mixes times with and without a zone", remedy="write all with a zone, or all without"
        )
        return None
    return tuple(found)


def columns_of(document: Document, path: KeyPath, value: str | tuple[str, ...]) -> tuple[str, ...] | None:
    """One or more column names, each once, or nothing after a finding."""
    names = (value,) if isinstance(value, str) else value
    if not names or any(not name.strip() for name in names):
        document.report("S104", path, f"`{key_path(path)}` names no column", remedy='write column names, such as ["order_id"]')
        return None
    folded = [name.lower() for name in names]
    for index, name in enumerate(folded):
        if name in folded[:index]:
            document.report("S104", path, f"`{key_path(path)}` names `{names[index]}` twice", remedy="take one out")
            return None
    return names


def freshness_of(document: Document, path: KeyPath, table: FreshnessTable | SourceFreshnessTable) -> Freshness | None:
    """How old the newest row may be, or nothing after a finding."""
    if not table.column.strip():
        document.report("S104", (*path, "column"), f"`{key_path((*path, 'column'))}` is empty", remedy="name a column that holds a time")
        return None
    try:
        limit = seconds(table.max_age)
    except ValueError as error:
        document.report("S104", (*path, "max_age"), str(error), remedy='write it as max_age = "2 hours"')
        return None
    zone = None if table.zone is UNSET else table.zone
    return Freshness(column=table.column, max_age_seconds=limit, zone=zone)


def _questions(document: Document, path: KeyPath, table: CheckTable) -> tuple[Question, ...]:
    """What a check asks: a primary key is two questions, every other one is one; none after a finding."""
    question = _question(document, path, table)
    if question is None:
        return ()
    if table.primary_key is not UNSET and isinstance(question, Unique):
        return (question, NotNull(columns=question.columns))
    return (question,)


def _question(document: Document, path: KeyPath, table: CheckTable) -> Question | None:
    asked = [name for name in QUESTIONS if getattr(table, name) is not UNSET]
    if not asked and document.has_findings(path):
        return None  # it asks something, but not in a way that could be read
    if len(asked) != 1:
        because = f"it asks {len(asked)}: {', '.join(asked)}" if asked else f"the questions are: {', '.join(QUESTIONS)}"
        code = "S116" if asked else "S105"
        document.report(
            code, path, f"`{key_path(path)}` must ask one question", because=because, remedy="write one [[checks]] for each question"
        )
        return None
    name = asked[0]
    here = (*path, name)
    if table.unique is not UNSET:
        names = columns_of(document, here, table.unique)
        return None if names is None else Unique(columns=names)
    if table.primary_key is not UNSET:
        names = columns_of(document, here, table.primary_key)
        return None if names is None else Unique(columns=names)
    if table.not_null is not UNSET:
        names = columns_of(document, here, table.not_null)
        return None if names is None else NotNull(columns=names)
    if table.accepted_values is not UNSET:
        values = scalars(document, (*here, "values"), table.accepted_values.values)
        return None if values is None else AcceptedValues(column=table.accepted_values.column, values=values)
    if table.relationships is not UNSET:
        to = table.relationships
        return Relationships(column=to.column, to=to.to, to_column=to.to_column)
    if table.expression is not UNSET:
        return ExpressionHolds(expression=table.expression) if _written(document, here, table.expression) else None
    if table.row_count is not UNSET:
        low = None if table.row_count.min is UNSET else table.row_count.min
        high = None if table.row_count.max is UNSET else table.row_count.max
        if low is None and high is None:
            document.report("S105", here, f"`{key_path(here)}` has neither min nor max", remedy="write row_count = { min = 1 }")
            return None
        if low is not None and high is not None and low > high:
            document.report("S116", here, f"`{key_path(here)}`: min is above max", because=f"{low} > {high}", remedy="exchange them")
            return None
        return RowCount(rows_min=low, rows_max=high)
    if table.freshness is not UNSET:
        return freshness_of(document, here, table.freshness)
    if table.sql is not UNSET:
        return CustomSql(sql=table.sql) if _written(document, here, table.sql) else None
    raise AssertionError(name)


def _written(document: Document, path: KeyPath, text: str) -> bool:
    if text.strip():
        return True
    document.report("S104", path, f"`{key_path(path)}` is empty", remedy="write its SQL, or take the check out")
    return False


def _stem(question: Question) -> str:
    match question:
        case Unique(columns=columns):
            words: tuple[str, ...] = ("unique", *columns)
        case NotNull(columns=columns):
            words = ("not_null", *columns)
        case AcceptedValues(column=column):
            words = ("accepted_values", column)
        case Relationships(column=column):
            words = ("relationships", column)
        case Freshness(column=column):
            words = ("freshness", column)
        case ExpressionHolds():
            words = ("expression",)
        case RowCount():
            words = ("row_count",)
        case CustomSql():
            words = ("sql",)
        case _ as unreachable:
            assert_never(unreachable)
    return suggestion("_".join(words))


def checks_of(document: Document, path: KeyPath, tables: Sequence[CheckTable]) -> tuple[Check, ...]:
    """The checks of one file, with their names. A check that is not well-formed is left out, after its finding."""
    taken: dict[str, int] = {}
    for index, table in enumerate(tables):
        name = table.name
        if name is UNSET:
            continue
        here = (*path, index, "name")
        if not is_name(name):
            document.report("S108", here, f"`{name}` is no name for a check", because=NAME_RULE, remedy=f"call it `{suggestion(name)}`")
        if name in taken:
            because = f"`{key_path((*path, taken[name]))}` has that name"
            document.report("S106", here, f"two checks are called `{name}`", because=because, remedy="give one another name")
        taken.setdefault(name, index)
    checks: list[Check] = []
    for index, table in enumerate(tables):
        here = (*path, index)
        for place, question in enumerate(_questions(document, here, table)):
            name = table.name
            if name is UNSET or place:
                stem = name = _stem(question) if name is UNSET else f"{name}_not_null"
                number = 1
                while name in taken:
                    number += 1
                    name = f"{stem}_{number}"
                taken[name] = index
            origin = f"{document.path}: {key_path(here)}"
            checks.append(
                Check(
                    name=name,
                    question=question,
                    severity=table.severity,
                    after=table.after,
                    description=table.description,
                    origin=origin,
                )
            )
    return tuple(checks)


def contract_of(document: Document, path: KeyPath, table: ContractTable) -> Contract | None:
    """The contract of one file, or nothing after a finding."""
    if not table.columns:
        document.report("S105", path, "the contract names no column", remedy="add [contract.columns.NAME], or take [contract] out")
        return None
    seen: dict[str, str] = {}
    columns: dict[str, ContractColumn] = {}
    for name, column in table.columns.items():
        here = (*path, "columns", name)
        if not name.strip():
            document.report("S104", here, "the contract has a column without a name", remedy="name it")
            continue
        if name.lower() in seen:
            because = f"`{seen[name.lower()]}` is the same column: case is not looked at"
            document.report("C306", here, f"the contract names `{name}` twice", because=because, remedy="take one out")
            continue
        seen[name.lower()] = name
        columns[name] = _contract_column(document, here, column)
    return Contract(columns=columns, extra_columns=table.extra_columns, prove=table.prove)


def _contract_column(document: Document, path: KeyPath, column: str | ContractColumnTable) -> ContractColumn:
    if isinstance(column, str):
        return ContractColumn(type=_type(document, path, column))
    declared = None if column.type is UNSET else _type(document, (*path, "type"), column.type)
    return ContractColumn(
        type=declared,
        nullable=column.nullable,
        protected=column.protected,
        description=column.description,
        prove=column.prove,
        assignable=column.assignable,
    )


def _type(document: Document, path: KeyPath, text: str) -> str | None:
    if text.strip():
        return text
    document.report("C304", path, f"`{key_path(path)}` is empty", remedy="write a type such as BIGINT, or take it out")
    return None
