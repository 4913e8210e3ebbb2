"""Tests of dbt_utils and dbt_expectations whose package is not there: those with an exact counterpart, as SELECTs of failing rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Question: TypeAlias = Callable[[str, str | None, Mapping[str, Any]], str | None]


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def _combination(model: str, _: str | None, given: Mapping[str, Any]) -> str | None:
    columns = given.get("combination_of_columns") or given.get("column_list")
    if not columns or given.get("quote_columns"):
        return None
    names = ", ".join(_listed(columns))
    return f"select {names} from {model} group by {names} having count(*) > 1"


def _expression(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    expression = given.get("expression")
    if expression is None:
        return None
    whole = f"{column} {expression}" if column else str(expression)
    return f"select * from {model} where not ({whole})"


def _range(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    low, high = given.get("min_value"), given.get("max_value")
    if column is None or (low is None and high is None):
        return None
    mark = "=" if given.get("inclusive", True) else ""
    outside = [
        *([f"not {column} >{mark} {low}"] if low is not None else []),
        *([f"not {column} <{mark} {high}"] if high is not None else []),
    ]
    return f"select * from {model} where {' or '.join(outside)}"


def _between(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    low, high = given.get("min_value"), given.get("max_value")
    if column is None or (low is None and high is None) or given.get("row_condition") or given.get("strictly"):
        return None
    inside = [*([f"{column} >= {low}"] if low is not None else []), *([f"{column} <= {high}"] if high is not None else [])]
    return f"select * from {model} where not ({' and '.join(inside)})"


def _at_least_one(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    if column is None or given.get("group_by_columns"):
        return None
    return f"select 1 from (select count({column}) as filled from {model}) as counted where filled = 0"


def _not_constant(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    if column is None or given.get("group_by_columns"):
        return None
    return f"select 1 from (select count(distinct {column}) as different from {model}) as counted where different = 1"


def _not_accepted(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    values = given.get("values")
    if column is None or not isinstance(values, list) or not values:
        return None
    quote = given.get("quote") is not False
    listed = ", ".join("'" + str(each).replace("'", "''") + "'" if quote else str(each) for each in values)
    return f"select {column} from {model} where {column} in ({listed})"


def _not_null(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    return None if column is None or given.get("row_condition") else f"select {column} from {model} where {column} is null"


def _unique(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    if column is None or given.get("row_condition"):
        return None
    return f"select {column} from {model} where {column} is not null group by {column} having count(*) > 1"


def _in_set(model: str, column: str | None, given: Mapping[str, Any]) -> str | None:
    values = given.get("value_set")
    if column is None or not isinstance(values, list) or not values or given.get("row_condition"):
        return None
    quote = given.get("quote_values") is not False
    listed = ", ".join("'" + str(each).replace("'", "''") + "'" if quote else str(each) for each in values)
    return f"select {column} from {model} where {column} not in ({listed})"


WITHOUT_PACKAGE: Final[dict[str, Question]] = {
    "dbt_utils.unique_combination_of_columns": _combination,
    "dbt_utils.expression_is_true": _expression,
    "dbt_utils.accepted_range": _range,
    "dbt_utils.at_least_one": _at_least_one,
    "dbt_utils.not_constant": _not_constant,
    "dbt_utils.not_accepted_values": _not_accepted,
    "dbt_expectations.expect_column_values_to_not_be_null": _not_null,
    "dbt_expectations.expect_column_values_to_be_unique": _unique,
    "dbt_expectations.expect_column_values_to_be_in_set": _in_set,
    "dbt_expectations.expect_column_values_to_be_between": _between,
}
