"""What a model's configuration becomes: its sidecar."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from interlock.engine.compiler.types import Length, length_in
from interlock.engine.importers.dbt import incremental, versions
from interlock.engine.importers.dbt.configs import CHANGES, HOOKS, KNOWN, UPDATES, listed, unknown
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.nodes import Node, column_entries
from interlock.engine.importers.dbt.yamls import items, table

_HARMLESS: Final = re.compile(
    r"\s*(grant|revoke|analyze|analyse|comment\s+on|vacuum|checkpoint|optimize|alter\s+table\s+\S+\s+set\s+(tag|comment))\b", re.IGNORECASE
)
_ASKING: Final = re.compile(r"\b(run_query|statement|adapter)\b")
RELATION: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", re.ASCII)
_WITHOUT_DIGITS: Final = {"numeric": "DECIMAL(18,3)", "decimal": "DECIMAL(18,3)"}


def sidecar(node: Node, schema: str, default_schema: str, report: Callable[[Item], None]) -> None:
    """Fill the node's sidecar, or refuse the node."""
    config = node.config
    materialized = str(config.get("materialized", "view"))
    match materialized:
        case "view" | "table" | "ephemeral":
            made: dict[str, Any] | None = {"materialized": materialized}
        case "incremental" if config.get("full_refresh") is True:
            node.notes.append("full_refresh: true makes it anew in each run: a table")
            made, materialized = {"materialized": "table"}, "table"
        case "incremental":
            made = incremental.sidecar_of(node)
        case _:
            node.refuse("D810", f"`materialized: {materialized}` has no counterpart", "use view, table, incremental, ephemeral or snapshot")
            made = None
    refuse_changes(node, materialized)
    _report_unknown(node, report)
    if made is not None:
        _schema_change(node, materialized, made)
    node.sidecar = made or {}
    common(node, schema, default_schema, materialized)


def common(node: Node, schema: str, default_schema: str, materialized: str) -> None:
    """Keys that every kind has: relation, schema, tags, description."""
    if materialized != "ephemeral":
        if node.alias != node.into:
            if RELATION.fullmatch(node.alias):
                node.sidecar["alias"] = node.alias
            else:
                node.refuse("D810", f"a relation cannot be called `{node.alias}` here", "use letters, digits and underscores in its alias")
        if schema != default_schema:
            if RELATION.fullmatch(schema):
                node.sidecar["schema"] = schema
            else:
                node.refuse("D810", f"a schema cannot be called `{schema}` here", "use letters, digits and underscores in its name")
    tags = [str(tag) for tag in listed(node.config.get("tags"))]
    if tags:
        kept = [tag if TAG.fullmatch(tag) else re.sub(r"[^A-Za-z0-9_./-]+", "_", tag).lstrip("./-") or "tag" for tag in tags]
        if kept != tags:
            node.notes.append("tags were spelt so that a selector can name them")
        node.sidecar["tags"] = list(dict.fromkeys(kept))


def refuse_changes(node: Node, materialized: str) -> None:
    """Refuse what would change the rows and has no counterpart; say what was left out because it changes none."""
    problem = blocking(node, materialized)
    if problem is not None:
        node.refuse(*problem)
    if node.config.get("database"):
        node.notes.append(f"`database: {node.config['database']}` was left out: a target is one database")
    for key, sql in _hooks(node):
        if is_harmless(sql):
            node.notes.append(f"{key} was left out: it changes no rows ({sql.strip().splitlines()[0][:60]})")


def blocking(node: Node, materialized: str) -> tuple[str, str, str] | None:
    """Code, reason and remedy, where the configuration holds something without a counterpart."""
    for key in sorted((CHANGES if materialized == "incremental" else CHANGES - UPDATES) & set(node.config)):
        if node.config[key]:
            why = f"`{key}` changes which rows are written, and has no counterpart"
            return "D810", why, "take it out, or write the query so that it is not needed"
    for key, sql in _hooks(node):
        if materialized == "ephemeral":
            return "D810", f"the {key} of an ephemeral model never runs", "take it out, or make the model a view"
        if not is_harmless(sql):
            why = f"it has a {key}, and nothing runs beside a model's own statement here"
            return "D810", why, "move what it does into a model, or run it outside"
    return None


def is_harmless(hook: str) -> bool:
    """Whether a hook changes no rows: each of its statements is one of those that never do, and its template asks nothing."""
    return all(_HARMLESS.match(each) for each in hook.split(";") if each.strip()) and _ASKING.search(hook) is None


def _hooks(node: Node) -> list[tuple[str, str]]:
    found = [(key, hook) for key in sorted(HOOKS & set(node.config)) for hook in listed(node.config[key])]
    texts = [(key, str(hook.get("sql", "") if isinstance(hook, dict) else hook)) for key, hook in found]
    return [(key, text) for key, text in texts if text.strip()]


def accepted(node: Node, schema: str, default_schema: str, report: Callable[[Item], None]) -> None:
    """Complete the sidecar of an accepted proposal."""
    refuse_changes(node, "incremental")
    _report_unknown(node, report)
    _schema_change(node, "incremental", node.sidecar)
    common(node, schema, default_schema, "incremental")


def _report_unknown(node: Node, report: Callable[[Item], None]) -> None:
    own = set(node.rendering.configs) if node.rendering is not None else set()
    if node.properties is not None:
        from_yaml = table(node.properties.entry.get("config"))
        for key in from_yaml:
            plain = str(key).removeprefix("+").replace("_hook", "-hook")
            if plain not in KNOWN:
                report(unknown(str(key), f"{node.name}.{key}", node.properties.path, from_yaml.at(key)))
                own.discard(str(key))
    for key in sorted(own - KNOWN):
        report(unknown(key, f"{node.name}.{key}", node.file.path, node.line))


def _schema_change(node: Node, materialized: str, made: dict[str, Any]) -> None:
    if materialized not in {"incremental", "snapshot"}:
        return
    match node.config.get("on_schema_change"):
        case "append_new_columns":
            made["on_schema_change"] = "append_columns"
        case "sync_all_columns":
            node.notes.append("on_schema_change: sync_all_columns became refuse: columns are never dropped by themselves")
        case "ignore":
            node.notes.append("on_schema_change: ignore became refuse: a new column is not lost without a word")
        case _:
            pass
    if node.config.get("full_refresh") is False:
        made["full_refresh"] = False


def contract(node: Node, report: Callable[[Item], None], evaluated: Callable[[Any], Any]) -> None:
    """An enforced contract and its constraints, with what templates in them give."""
    enforced = table(node.config.get("contract")).get("enforced", False)
    if not enforced or node.properties is None or node.contract_rule:
        return
    node.contract_rule = "refuse"
    for name, given, line in column_entries(node):
        entry = table({key: evaluated(value) if key in {"data_type", "constraints"} else value for key, value in given.items()})
        column: dict[str, Any] = {}
        if entry.get("data_type"):
            written = str(entry["data_type"]).strip()
            column["type"] = _WITHOUT_DIGITS.get(written.lower(), written)
            length = length_in(written)
            if length is not None:
                column["type"] = length.plain
                _length(node, name, written, length)
        if isinstance(entry.get("description"), str) and "{{" not in entry["description"]:
            column["description"] = entry["description"]
        for constraint in items(entry.get("constraints")):
            _constraint(node, table(constraint), [name], column, line, report)
        node.contract[name] = column
    for constraint in items(evaluated(versions.said_of(node.properties.entry, node.version, "constraints"))):
        each = table(constraint)
        columns = [str(one) for one in listed(each.get("columns"))]
        _constraint(node, each, columns, None, getattr(each, "line", None), report)


def _length(node: Node, column: str, written: str, length: Length) -> None:
    """A length is kept by a check: dbt's contract names it, and DuckDB reads over it."""
    expression = length.holds(column)
    if expression:
        node.checks.append({"expression": expression, "name": _name("length", [column], node)})
    how = "a check holds it" if expression else "nothing holds it: write a check with sql, if rows may break it"
    node.notes.append(f"`{column}`: DuckDB does not keep the length in `{written}`; {how}")


def _constraint(
    node: Node, entry: Any, columns: list[str], column: dict[str, Any] | None, line: int | None, report: Callable[[Item], None]
) -> None:
    kind = entry.get("type")
    path = node.properties.path if node.properties is not None else ""
    if kind in {"not_null", "primary_key"}:
        if column is not None:
            column["nullable"] = False
        else:
            for name in columns:
                node.contract.setdefault(name, {})["nullable"] = False
    if kind in {"unique", "primary_key"}:
        node.checks.append({"unique": columns, "name": _name("unique", columns, node)})
    elif kind == "check" and entry.get("expression"):
        node.checks.append({"sql": f"select * from {node.into} where not ({entry['expression']})", "name": _name("check", columns, node)})
    elif kind not in {"not_null", "unique", "primary_key"}:
        is_view = node.sidecar.get("materialized") == "view"
        why = "dbt makes no constraints of a view" if is_view else "DuckDB holds it in dbt's table, and nothing holds it here"
        status: Any = "documented" if is_view else "refused"
        report(
            Item(
                kind="config", name=f"{node.name}.constraints.{kind}", status=status, path=path, line=line, why=why,
                code="" if status == "documented" else "D810", remedy="" if status == "documented" else f"write it as a {'test `relationships`' if kind == 'foreign_key' else 'check'}",
            )
        )  # fmt: skip


def _name(stem: str, columns: list[str], node: Node) -> str:
    base = re.sub(r"[^a-z0-9_]+", "_", "_".join([stem, *columns]).lower()).strip("_") or stem
    taken = {check.get("name") for check in node.checks}
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
