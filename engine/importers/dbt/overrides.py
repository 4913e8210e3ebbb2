"""Macros by which dbt itself writes: a project that has its own of such a name changes what is written, and nothing here calls it."""

from __future__ import annotations

from typing import Final

from interlock.engine.importers.dbt.session import Macro, Session

_VIEW: Final = frozenset({"create_view_as", "get_create_view_as_sql", "create_or_replace_view", "get_replace_view_sql"})
_TABLE: Final = frozenset(
    {"create_table_as", "get_create_table_as_sql", "get_select_subquery", "get_table_columns_and_constraints"}
    | {"table_columns_and_constraints", "get_assert_columns_equivalent", "assert_columns_equivalent", "get_empty_subquery_sql"}
)
_INCREMENTAL: Final = frozenset(
    {"get_incremental_append_sql", "get_incremental_delete_insert_sql", "get_incremental_merge_sql", "get_incremental_insert_overwrite_sql"}
    | {"get_incremental_default_sql", "get_incremental_microbatch_sql", "get_insert_into_sql", "get_merge_sql", "get_merge_update_columns"}
    | {"get_merge_unique_key_match", "get_delete_insert_merge_sql", "get_insert_overwrite_merge_sql", "merge_join_clause"}
    | {"incremental_validate_on_schema_change", "check_for_schema_changes", "sync_column_schemas", "process_schema_changes"}
)
_SNAPSHOT: Final = frozenset(
    {"strategy_dispatch", "snapshot_hash_arguments", "snapshot_timestamp_strategy", "snapshot_string_as_time", "snapshot_check_strategy"}
    | {"snapshot_check_all_get_existing_columns", "create_columns", "post_snapshot", "get_true_sql", "snapshot_staging_table"}
    | {
        "build_snapshot_table",
        "build_snapshot_staging_table",
        "get_updated_at_column_data_type",
        "check_time_data_types",
        "snapshot_get_time",
    }
    | {
        "get_dbt_valid_to_current",
        "unique_key_fields",
        "unique_key_join_on",
        "unique_key_is_null",
        "unique_key_is_not_null",
        "snapshot_merge_sql",
    }
)
_SEED: Final = frozenset({"create_csv_table", "reset_csv_table", "get_csv_sql", "load_csv_rows", "get_seed_column_quoted_csv"})
WRITERS: Final = {"view": _VIEW, "table": _TABLE, "incremental": _TABLE | _INCREMENTAL, "snapshot": _TABLE | _SNAPSHOT, "seed": _SEED}
"""By what is built: the macros that decide what comes to stand there."""
TESTS: Final = ("get_test_sql",)
WHERE: Final = "get_where_subquery"
_OF_ADAPTER: Final = frozenset({"table", "incremental"})
"""Materializations that dbt's adapter for DuckDB has itself: it asks for those before a project's default ones."""


def overriding(session: Session, materialized: str) -> Macro | None:
    """The project's own macro that takes part in building this, where there is one."""
    own = session.macros.get(session.root, {})
    for suffix in ("_duckdb", *(() if materialized in _OF_ADAPTER else ("_default",))):
        if f"materialization_{materialized}{suffix}" in own:
            return own[f"materialization_{materialized}{suffix}"]
    found = (taking(session, name) for name in sorted(WRITERS.get(materialized, frozenset())))
    return next((macro for macro in found if macro is not None), None)


def taking(session: Session, name: str) -> Macro | None:
    """The project's own macro that dbt takes for one of its own."""
    return session.macros.get(session.root, {}).get(name) or session.override(name)
