"""dbt's own manifest: compiled text, where it provably depends on neither a database nor an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
from jinja2 import TemplateSyntaxError

from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.nodes import INCREMENTAL

PATH: Final = "target/manifest.json"
VERSIONS: Final = range(10, 21)
"""Of the manifest's schema: dbt 1.6 writes 10."""


def use(conversion: Conversion) -> None:
    """Say what manifest is there, and keep what of it may be used: by model, its compiled text."""
    path = conversion.found.tree.root / PATH
    if not path.is_file():
        return
    try:
        read: Any = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        conversion.found.refuse(
            "file", PATH, PATH, None, "D802", f"it is not readable: {error}", "run `dbt compile` again; nothing of it was used"
        )
        return
    version = _version(read)
    if version not in VERSIONS:
        conversion.found.refuse(
            "file", PATH, PATH, None, "D802", f"its schema version is {version}", "use dbt 1.6 or later; nothing of it was used"
        )
        return
    usable = {node["original_file_path"]: node for node in read.get("nodes", {}).values() if _is_plain(conversion, read, node)}
    conversion.compiled = usable
    conversion.relations = {
        str(node.get("relation_name")): (
            str(node.get("package_name")),
            str(node.get("name")),
            str(node.get("resource_type")),
            str(node.get("source_name", "")),
        )
        for node in [*read.get("nodes", {}).values(), *read.get("sources", {}).values()]
        if node.get("relation_name")
    }
    why = f"schema version {version}; {len(usable)} compiled texts may be used where a template cannot be evaluated"
    conversion.found.items.append(Item(kind="file", name=PATH, status="converted", path=PATH, why=why))


def _version(read: Any) -> int:
    text = str(read.get("metadata", {}).get("dbt_schema_version", "")) if isinstance(read, dict) else ""
    digits = text.rsplit("/v", 1)[-1].removesuffix(".json")
    return int(digits) if digits.isdecimal() else 0


def _is_plain(conversion: Conversion, read: Any, node: Any) -> bool:
    """Whether a node's compiled text is the only one that its template can give: raw text as now, and nothing asked at run time."""
    if node.get("resource_type") != "model" or not node.get("compiled_code") or node.get("language", "sql") != "sql":
        return False
    if node.get("package_name") != conversion.session.root:
        return False
    file = conversion.found.tree.root / Path(str(node.get("original_file_path")))
    try:
        now = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    raw = str(node.get("raw_code"))
    if now.strip().replace("\r\n", "\n") != raw.strip().replace("\r\n", "\n"):
        return False
    macros = read.get("macros", {})
    waiting, seen = list(node.get("depends_on", {}).get("macros", [])), set()
    texts = [raw]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in macros:
            return False
        texts.append(str(macros[name].get("macro_sql")))
        waiting += macros[name].get("depends_on", {}).get("macros", [])
    asks = (
        INCREMENTAL
        | t.RUN_TIME
        | {
            "run_started_at",
            "invocation_id",
            "adapter_get",
            "get_columns_in_relation",
            "get_relation",
            "flags",
            "this",
            "modules",
            "env_var",
        }
    )
    return not any(_mentions(conversion, text, asks) for text in texts)


def _mentions(conversion: Conversion, text: str, names: frozenset[str] | set[str]) -> bool:
    try:
        return bool(t.mentions(conversion.session.env.parse(text), frozenset(names)))
    except TemplateSyntaxError:
        return True
