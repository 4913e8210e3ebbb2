"""Configuration: the keys that dbt knows, and the merging of its levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.suggest import did_you_mean, nearest
from interlock.engine.importers.dbt.yamls import Table

CARRIED: Final = frozenset(
    {"materialized", "enabled", "tags", "alias", "schema", "contract", "unique_key", "incremental_strategy", "on_schema_change", "event_time", "batch_size", "lookback", "begin"}
    | {"full_refresh", "strategy", "updated_at", "check_cols", "hard_deletes", "invalidate_hard_deletes", "column_types", "delimiter", "quote_columns", "target_schema", "dbt_valid_to_current"}
    | {"severity", "where", "warn_if", "error_if", "fail_calc", "limit", "snapshot_meta_column_names", "database", "target_database"}
)  # fmt: skip
"""Keys that decide something of what is made."""

UPDATES: Final = frozenset(
    {"incremental_predicates", "predicates", "merge_update_columns", "merge_exclude_columns", "merge_clauses", "merge_update_condition", "merge_insert_condition"}
    | {"merge_on_using_columns", "merge_update_set_expressions", "merge_with_schema_evolution", "matched_condition", "not_matched_condition", "skip_matched_step"}
    | {"skip_not_matched_step", "not_matched_by_source_action", "not_matched_by_source_condition", "insert_overwrite_partitions", "partitions", "replace_where"}
)  # fmt: skip
"""Keys that change how an incremental model is brought up to date, without a counterpart; elsewhere dbt passes over them."""

CHANGES: Final = UPDATES | {"sql_header"}
"""Keys that change which rows are made, without a counterpart."""

HOOKS: Final = frozenset({"pre-hook", "post-hook"})

DOCUMENTS: Final = frozenset(
    {"meta", "docs", "grants", "group", "access", "persist_docs", "description", "quoting", "packages", "on_configuration_change", "concurrent_batches"}
    | {"store_failures", "store_failures_as", "static_analysis", "freshness", "loaded_at_field", "loaded_at_query", "fast", "latest_version", "deprecation_date"}
    | {"cluster_by", "partition_by", "indexes", "dist", "sort", "sort_type", "bind", "transient", "unlogged", "automatic_clustering", "snowflake_warehouse", "query_tag"}
    | {"copy_grants", "secure", "file_format", "location_root", "options", "labels", "hours_to_expiration", "kms_key_name", "require_partition_filter", "partition_expiration_days"}
    | {"tblproperties", "location", "format", "table_format", "base_location_root", "target_lag", "auto_liquid_cluster", "liquid_clustered_by", "backup", "buckets", "clustered_by"}
    | {"tmp_relation_type", "table_tag", "row_access_policy", "immutable_where", "query_group", "compression", "submission_method", "unique_tmp_table_suffix", "validation_mode"}
)  # fmt: skip
"""Keys that do not change the rows: carried as documentation."""

KNOWN: Final = CARRIED | CHANGES | HOOKS | DOCUMENTS


def clean(key: str) -> str:
    """A key as it is compared: without `+`, hooks with their hyphen."""
    key = key.removeprefix("+")
    return key.replace("_hook", "-hook") if key in {"pre_hook", "post_hook"} else key


def merged(lower: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    """Two levels: the upper one wins, but for lists of tags and hooks, which add, and metadata, which merges."""
    found = dict(lower)
    for key, value in upper.items():
        if key in {"tags", "pre-hook", "post-hook"} and found.get(key) is not None:
            found[key] = [*listed(found[key]), *listed(value)]
        elif (
            key in {"meta", "column_types", "contract", "grants", "docs", "persist_docs"}
            and isinstance(found.get(key), dict)
            and isinstance(value, dict)
        ):
            found[key] = {**found[key], **value}
        else:
            found[key] = value
    return found


def listed(value: Any) -> list[Any]:
    """One or more as a list; none as an empty one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple | set) else [value]


def levels(tree: Any, fqn: list[str], known: frozenset[str] = KNOWN) -> Iterator[tuple[dict[str, Any], list[tuple[str, int]]]]:
    """The configuration of a resource in dbt_project.yml, outermost level first, with the line of each key."""
    here: Any = tree
    for part in [*fqn, None]:
        if not isinstance(here, Table):
            return
        level = {}
        lines = []
        for key, value in here.items():
            plain = clean(str(key))
            if str(key).startswith("+") or (plain in known and not (isinstance(value, Table) and key == part)):
                level[plain] = value
                lines.append((plain, here.at(key)))
        yield level, lines
        if part is None:
            return
        here = here.get(part)


def unknown_keys(tree: Any, path: str, names: set[str], above: tuple[str, ...] = ()) -> Iterator[Item]:
    """Keys of dbt_project.yml that mean nothing: not a known key, and no folder or resource."""
    if not isinstance(tree, Table):
        return
    for key, value in tree.items():
        plain = clean(str(key))
        where = ".".join((*above, str(key)))
        if str(key).startswith("+"):
            if plain not in KNOWN:
                yield unknown(plain, where, path, tree.at(key))
        elif isinstance(value, Table) and plain not in HOOKS:
            if plain in KNOWN and plain not in names:
                continue
            if plain not in names:
                remedy = did_you_mean(plain, names, "take it out")
                why = "no folder, package or resource has that name, so it decides nothing"
                yield Item(kind="config", name=where, status="refused", path=path, line=tree.at(key), code="D809", why=why, remedy=remedy)
            yield from unknown_keys(value, path, names, (*above, str(key)))
        elif plain not in KNOWN:
            yield unknown(plain, where, path, tree.at(key))


def unknown(key: str, where: str, path: str, line: int | None, known: frozenset[str] = KNOWN) -> Item:
    """The item of a key that dbt does not know: it has no effect there, though it may be meant to have one."""
    near = nearest(key, known)
    remedy = f"did you mean `{near}`?" if near else "write it under meta, or take it out"
    return Item(
        kind="config",
        name=where,
        status="refused",
        path=path,
        line=line,
        code="D809",
        why="dbt takes the key and does nothing with it",
        remedy=remedy,
    )
