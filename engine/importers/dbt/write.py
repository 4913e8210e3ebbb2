"""The new project's files as texts; nothing is written here."""

from __future__ import annotations

import re
from typing import Any, Final

from interlock.engine.importers.dbt import sources, toml
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.items import Item, counted
from interlock.engine.importers.dbt.nodes import Node
from interlock.engine.importers.dbt.snapshots import HISTORY

_IGNORED: Final = "*.duckdb\n*.duckdb.wal\n*.interlock/\n.interlock/\n"
_CONFIG: Final = """\
[project]
id = "{id}"    # random: all that is kept in a warehouse is keyed by it; never change it
name = {name}
default_target = "dev"

[targets.dev]
type = "duckdb"
path = "{stem}.duckdb"
schema = "{schema}"
create = true             # the file may be made by a run
on_change = "rebuild"     # an edited incremental model is rebuilt; a production target says "refuse"
"""
_SAYS: Final = {
    "converted": "converted",
    "proposed": "proposed",
    "refused": "refused",
    "disabled": "disabled",
    "documented": "carried as documentation",
}


def files_of(conversion: Conversion, project_id: str) -> dict[str, str]:
    """Every file but the report, by path. Notes on each node which of them are its own."""
    name = conversion.session.root
    stem = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_") or "project"
    config = _CONFIG.format(id=project_id, name=toml.string(name), stem=stem, schema=conversion.default_schema)
    if conversion.settings:
        config += "\n".join(["", "[targets.dev.settings]", *toml.pairs(conversion.settings)]) + "\n"
    files = {
        "interlock.toml": config,
        ".gitignore": _IGNORED,
    }
    for node in conversion.found.nodes:
        node.written = []
        if node.live:
            own = _files(node, conversion)
            node.written = list(own)
            files.update(own)
    declared = sources.text_of(conversion.found.sources)
    if declared:
        files["sources.toml"] = declared
    documents = _documents(conversion)
    if documents:
        files["DOCUMENTATION.md"] = documents
    return files


def _files(node: Node, conversion: Conversion) -> dict[str, str]:
    # What is hidden from people is read by dbt, and by nothing here.
    folder = "/".join(part.lstrip(".") or "hidden" for part in node.file.inner.split("/")[:-1])
    inside = f"{folder}/" if folder else ""
    foreign = f"packages/{node.package}/" if node.package != conversion.session.root else ""
    if node.kind == "seed":
        base = f"seeds/{foreign}{inside}{node.into}"
        return {f"{base}.csv": node.text, f"{base}.toml": _sidecar(node)}
    if node.kind == "snapshot":
        base = f"models/snapshots/{node.into}"
        history = f"{base}{HISTORY}.sql"
        return {f"{base}.sql": node.text_of_view, f"{base}.toml": _sidecar(node), **node.extra, history: _query(node)}
    base = f"models/{foreign}{inside}{node.into}"
    return {f"{base}.sql": _query(node), f"{base}.toml": _sidecar(node)}


def _query(node: Node) -> str:
    text = re.sub(r"\A(?:[ \t]*\r?\n)+", "", node.text)
    text = text if text.endswith("\n") else f"{text}\n"
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if node.file.crlf else text


def _sidecar(node: Node) -> str:
    side = dict(node.sidecar)
    lines: list[str] = []
    if node.proposal is not None:
        lines.append(f"# Proposed by the import from dbt, and accepted: review watermark and strategy. {node.proposal.why}.")
    columns = side.pop("columns", None)
    description = side.pop("description", None)
    lines += toml.pairs({**({"description": description} if description else {}), **side})
    if columns:
        lines += ["", "[columns]", *toml.pairs(columns)]
    if node.contract_rule:
        lines += ["", "[contract]", f'extra_columns = "{node.contract_rule}"']
    for name, column in node.contract.items():
        lines += [f"[contract.columns.{toml.key(name)}]", *toml.pairs(column)]
    for check in node.checks:
        lines += ["", "[[checks]]", *toml.pairs(check)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _documents(conversion: Conversion) -> str:
    if not conversion.found.documents:
        return ""
    lines = ["# Documentation", "", "What the dbt project says and no file here has a place for.", ""]
    for kind, name, text in conversion.found.documents:
        fence = "```"
        while fence in text:
            fence += "`"
        lines += [
            f"## {name}" if kind == "columns" else f"## {name} ({kind})",
            "",
            *([text] if kind == "columns" else [fence, text, fence]),
            "",
        ]
    return "\n".join(lines)


def report(name: str, items: tuple[Item, ...], said: tuple[str, ...]) -> str:
    """IMPORT.md: counts, then a line for each item."""
    lines = [
        f"# Import of {name}",
        "",
        *(f"- {line}" for line in said),
        "",
        "| kind | converted | proposed | refused | disabled | documented |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.kind} | {each.converted} | {each.proposed} | {each.refused} | {each.disabled} | {each.documented} |"
        for each in counted(items)
    ]
    for status in ("refused", "proposed", "disabled", "converted", "documented"):
        those = [item for item in items if item.status == status]
        if not those:
            continue
        lines += ["", f"## {_SAYS[status].capitalize()} ({len(those)})", ""]
        for item in those:
            lines += _item(item)
    return "\n".join(lines) + "\n"


def _item(item: Item) -> list[str]:
    code = f" **{item.code}**" if item.code else ""
    place = f" `{item.place}`" if item.path else ""
    into = f" → `{item.into}`" if item.into else ""
    why = f": {_flat(item.why)}" if item.why else ""
    remedy = f" *What to do:* {_flat(item.remedy)}." if item.remedy else ""
    lines = [f"- {item.kind} `{item.name}`{place}{into}{code}{why}.{remedy}".replace("..", ".")]
    if item.proposal and item.written == "no":
        sidecar, _, query = item.proposal.partition("\n---\n")
        sql = ["  ```sql", *(f"  {line}" for line in query.splitlines()), "  ```"] if query else []
        lines += [
            "",
            "  ```toml",
            *(f"  {line}" for line in sidecar.splitlines()),
            "  ```",
            *sql,
            "",
        ]
    return lines


def _flat(text: str) -> str:
    return " ".join(text.split())


def ordered(items: list[Item]) -> tuple[Item, ...]:
    """Items by kind, place and name, each once."""

    def place(item: Item) -> tuple[Any, ...]:
        return (item.kind, item.path, item.line or 0, item.name, item.status, item.why)

    return tuple(sorted(dict.fromkeys(items), key=place))
