"""Which functions a model may call, and which of them do not give the same answer twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TABLE_FUNCTIONS: Final = frozenset(
    {"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest", "regexp_split_to_table"}
)
"""The table functions that a model may call: they look at their arguments and at nothing else."""

OUTSIDE: Final = frozenset(
    {
        "current_connection_id",
        "current_query",
        "current_query_id",
        "current_setting",
        "current_transaction_id",
        "currval",
        "getenv",
        "getvariable",
        "in_search_path",
        "json_execute_serialized_sql",
        "json_serialize_plan",
        "nextval",
        "parse_duckdb_log_message",
        "pg_sleep",
        "query",
        "query_table",
        "setseed",
        "setval",
        "sleep_ms",
        "stats",
        "txid_current",
        "which_secret",
        "write_log",
    }
)
"""Scalar functions that read the session or the machine, or leave something behind."""

OUTSIDE_PREFIXES: Final = ("read_", "duckdb_", "pragma_", "sniff_", "parquet_", "has_", "inet_", "pg_get_", "__internal_")

VOLATILE: Final = frozenset(
    {
        "ago",
        "current_catalog",
        "current_database",
        "current_date",
        "current_localtime",
        "current_localtimestamp",
        "current_schema",
        "current_schemas",
        "current_time",
        "current_timestamp",
        "gen_random_uuid",
        "get_current_time",
        "get_current_timestamp",
        "localtime",
        "localtimestamp",
        "now",
        "pg_conf_load_time",
        "pg_postmaster_start_time",
        "random",
        "today",
        "transaction_timestamp",
        "uuid",
        "uuidv4",
        "uuidv7",
        "vector_type",
        "version",
    }
)
"""Functions whose answer depends on when or where they are asked."""

RANDOM: Final = frozenset({"gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7"})
"""Of the volatile functions, those that answer by chance."""

PLACES: Final = frozenset(
    {"current_catalog", "current_database", "current_schema", "current_schemas", "pg_conf_load_time", "pg_postmaster_start_time"}
    | {"vector_type", "version"}
)
"""Of the volatile functions, those that answer by where they are asked. The others ask the clock."""

CLOCK_WORDS: Final = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
"""Volatile functions that are written without brackets, so that they look like columns."""

UNSTABLE_BY_ZONE: Final = frozenset(
    {
        "+",
        "-",
        "century",
        "date_diff",
        "date_part",
        "date_sub",
        "date_trunc",
        "datediff",
        "datepart",
        "datesub",
        "datetrunc",
        "day",
        "dayname",
        "dayofmonth",
        "dayofweek",
        "dayofyear",
        "decade",
        "era",
        "error",
        "generate_series",
        "hour",
        "isodow",
        "isoyear",
        "julian",
        "last_day",
        "make_timestamptz",
        "microsecond",
        "millennium",
        "millisecond",
        "minute",
        "month",
        "monthname",
        "quarter",
        "range",
        "second",
        "strftime",
        "time_bucket",
        "timezone",
        "timezone_hour",
        "timezone_minute",
        "week",
        "weekday",
        "weekofyear",
        "year",
        "yearweek",
    }
)
"""The engine does not call them consistent because they depend on the time zone, which we set; `error` only raises."""

ORDERED: Final = frozenset(
    {
        "any_value",
        "approx_quantile",
        "approx_top_k",
        "arbitrary",
        "array_agg",
        "first",
        "group_concat",
        "json_group_array",
        "json_group_object",
        "json_group_structure",
        "last",
        "list",
        "listagg",
        "reservoir_quantile",
        "string_agg",
        "variant_group_array",
    }
)
"""Aggregates whose answer depends on the order of rows, which is not fixed unless they are given one."""

FLOATING: Final = frozenset(
    {
        "corr",
        "covar_pop",
        "covar_samp",
        "entropy",
        "favg",
        "fsum",
        "geomean",
        "geometric_mean",
        "kahan_sum",
        "kurtosis",
        "kurtosis_pop",
        "product",
        "regr_avgx",
        "regr_avgy",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "sem",
        "skewness",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "sumkahan",
        "var_pop",
        "var_samp",
        "variance",
    }
)
"""Aggregates that add or multiply floating point numbers whatever they are given: the last digits hang on the order, those of
compensated sums too. Measured with one, two and four threads; medians, quantiles and counts are exact."""

WEIGHTED: Final = frozenset({"wavg", "weighted_avg"})
"""Macros of the engine for a quotient of two sums."""

SUMS: Final = frozenset({"avg", "mean", "sum"}) | WEIGHTED
"""Aggregates that are exact over whole numbers and decimals, and not over floating point numbers."""

WRITTEN_OUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("geomean", "geometric_mean"), "exp(avg(ln(…) ORDER BY …))"),
    **dict.fromkeys(WEIGHTED, "sum(value * weight ORDER BY …) / sum(weight ORDER BY …)"),
    "json_group_array": "to_json(list(… ORDER BY …))",
    "json_group_object": "to_json(map_from_entries(list((key, value) ORDER BY key)))",
    "json_group_structure": "json_structure(to_json(list(… ORDER BY …))) -> 0",
    "variant_group_array": "CAST(list(… ORDER BY …) AS VARIANT)",
}
"""Macros of the engine take no ORDER BY: what stands for them, where they need one."""

PICKED: Final = frozenset({"arg_max", "arg_max_null", "arg_min", "arg_min_null", "argmax", "argmin", "max_by", "min_by"})
"""Aggregates that take the value of one row: of any of those that are equal in what they look for."""

COMMONEST: Final = frozenset({"mode"})
"""Aggregates that take the commonest value: of several that are, any of these."""

SETTLING: Final = frozenset(
    {
        "array_length",
        "array_reverse_sort",
        "array_sort",
        "len",
        "length",
        "list_contains",
        "list_count",
        "list_has",
        "list_max",
        "list_min",
        "list_reverse_sort",
        "list_sort",
        "list_unique",
    }
)
"""Functions whose answer does not depend on the order of a list."""


def is_outside(name: str) -> bool:
    """Whether a function other than a table function reads or writes something outside of its arguments."""
    return name in OUTSIDE or name.startswith(OUTSIDE_PREFIXES)


def is_volatile(name: str, arguments: int) -> bool:
    """Whether it may answer differently when it is asked again: `age(x)` counts from today, `age(x, y)` does not."""
    return name in VOLATILE or (name == "age" and arguments == 1)
