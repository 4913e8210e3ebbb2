"""Snapshots: a snapshot here, and a view over it with the columns that dbt's has."""

from __future__ import annotations

import re
from typing import Any, Final

from interlock.engine.importers.dbt import materialize, toml
from interlock.engine.importers.dbt.configs import listed
from interlock.engine.importers.dbt.nodes import Node
from interlock.engine.importers.dbt.suggest import did_you_mean
from interlock.engine.importers.dbt.yamls import table

HISTORY: Final = "__history"
_VIEW: Final = """\
-- The columns of dbt's snapshot, over the snapshot that is kept here.
select
    * exclude (valid_from, valid_to),
    md5({key} || '|' || coalesce(cast({shown} as varchar), '')) as {dbt_scd_id},
    {shown} as {dbt_updated_at},
    {from_} as {dbt_valid_from},
    {to} as {dbt_valid_to}
from {history}
"""

_UTC: Final = "({} at time zone 'UTC')"
"""Where columns are compared, dbt's validity has no zone."""
_OWN: Final = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")
"""dbt's own columns, all of which say when it was built where columns are compared; `snapshot_meta_column_names` renames them."""
_COLUMN: Final = re.compile(r'[A-Za-z_]\w*|"[^"]+"', re.ASCII)
_CLOCK: Final = re.compile(
    r"\b(now|today|current_\w+|get_current_\w+|localtime\w*|transaction_timestamp|random|uuid|gen_random_uuid)\b", re.IGNORECASE
)


def build_time(node: Node) -> tuple[str, ...]:
    """Columns of a snapshot that say when it was built, and differ from dbt's for that."""
    if node.kind != "snapshot" or node.config.get("strategy") != "check":
        return ()
    return tuple(name.strip('"') for name in _called(node).values())


def _called(node: Node) -> dict[str, str]:
    """What the snapshot calls each of dbt's own columns."""
    given = table(node.config.get("snapshot_meta_column_names"))
    return {name: str(given.get(name) or name) for name in _OWN}


def convert(node: Node, schema: str, default_schema: str) -> None:
    """Fill the node's files: the history, and the view over it that has the node's name."""
    config = node.config
    keys = [str(key) for key in listed(config.get("unique_key"))]
    strategy = config.get("strategy")
    if not keys or not all(key.replace("_", "a").isalnum() for key in keys):
        node.refuse("D821", "its unique_key is no column", "give the query a column for the key")
        return
    made: dict[str, Any] = {"materialized": "snapshot", "unique_key": keys}
    match strategy:
        case "timestamp" if config.get("updated_at"):
            made |= {"snapshot_by": "updated_at", "updated_at": str(config["updated_at"])}
            updated = str(config["updated_at"])
            node.notes.append(f"a row that changes without a newer `{updated}` stops the run, where dbt would not see the change")
            if not updated.replace("_", "a").isalnum():
                node.refuse("D821", f"`updated_at: {updated}` is no column", "give the query a column for it")
        case "check" if config.get("updated_at"):
            why = "validity begins at its updated_at though columns are compared; here it begins with the run that finds a change"
            node.refuse("D821", why, "use the timestamp strategy, or take updated_at out")
            return
        case "check" if config.get("check_cols"):
            made |= {"snapshot_by": "columns"}
            columns = config["check_cols"]
            if columns not in ("all", ["all"]):
                made["compare"] = [str(each) for each in listed(columns)]
            updated = ""
        case _:
            node.refuse(
                "D821",
                f"`strategy: {strategy}` is not complete, or has no counterpart",
                "use timestamp with updated_at, or check with check_cols",
            )
            return
    deletes = config.get("hard_deletes") or ("invalidate" if config.get("invalidate_hard_deletes") else "ignore")
    if deletes == "invalidate":
        made["hard_deletes"] = "close"
        if updated:
            node.notes.append(
                f"a row that comes back begins when it had been closed, where dbt's begins at its `{updated}`, and the two overlap if that is earlier"
            )
    elif deletes != "ignore":
        node.refuse("D821", f"`hard_deletes: {deletes}` has no counterpart", "use ignore or invalidate")
    called = _called(node)
    for name in sorted(set(table(config.get("snapshot_meta_column_names"))) - {*_OWN, "dbt_is_deleted"}):
        why = f"`snapshot_meta_column_names` names `{name}`, and dbt has no such column"
        node.refuse("D821", why, did_you_mean(str(name), _OWN, "take it out"))
    for name in (name for name in called.values() if not _COLUMN.fullmatch(name)):
        node.refuse("D821", f"`{name}` of its `snapshot_meta_column_names` is no column's name", "use letters, digits and underscores")
    end = config.get("dbt_valid_to_current")
    if end and (not isinstance(end, str) or _CLOCK.search(end)):
        why = f"its `dbt_valid_to_current`, {end}, is another value whenever it is asked"
        node.refuse("D821", why, "write a time that does not move, such as timestamp '9999-12-31'")
    if config.get("target_database"):
        node.notes.append(f"`target_database: {config['target_database']}` was left out: a target is one database")
    history = f"{node.into}{HISTORY}"
    folder = f"models/snapshots/{node.into}"
    node.extra[f"{folder}{HISTORY}.sql"] = ""
    side = {**made, **({"schema": schema} if schema != default_schema else {})}
    node.extra[f"{folder}{HISTORY}.toml"] = "\n".join(toml.pairs(side)) + "\n"
    cast = "coalesce(cast({} as varchar), '')"
    node.sidecar = {"materialized": "view"}
    materialize.common(node, schema, default_schema, "view")
    valid_to = "valid_to" if updated else _UTC.format("valid_to")
    node.text_of_view = _VIEW.format(
        key=" || '|' || ".join(cast.format(key) for key in keys),
        shown=updated or _UTC.format("valid_from"),
        from_="valid_from" if updated else _UTC.format("valid_from"),
        to=f"coalesce({valid_to}, {end})" if end else valid_to,
        history=history,
        **called,
    )
    node.notes.append(f"kept in `{history}`; `{node.into}` is a view over it with dbt's columns")
