"""dbt's own manifest: compiled text, where it provably depends on neither a database, nor an earlier run, nor how dbt was called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from jinja2 import TemplateError, nodes

from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.nodes import INCREMENTAL

PATH: Final = "target/manifest.json"
RESULTS: Final = "target/run_results.json"
VERSIONS: Final = range(10, 21)
"""Of the manifest's schema: dbt 1.6 writes 10, 1.7 writes 11, and 1.8 and later 12."""

_ASKS: Final = (
    INCREMENTAL
    | t.RUN_TIME
    | {
        t.PHASE,
        "run_started_at",
        "invocation_id",
        "invocation_args_dict",
        "selected_resources",
        "dbt_version",
        "flags",
        "this",
        "model",
        "env_var",
    }
    | {"modules", "context", "builtins", "api"}
)
"""Names whose value is another one at another time, or in another place."""
_ADAPTER: Final = frozenset({"dispatch", "quote", "type"})
"""What `adapter` answers without a database."""
_EMPTY: Final = re.compile(r"where\s+false\s+limit\s+0", re.IGNORECASE)


@dataclass(frozen=True)
class _Read:
    """A manifest, as far as it is one."""

    nodes: tuple[Mapping[str, Any], ...]
    sources: tuple[Mapping[str, Any], ...]
    macros: Mapping[str, Any]
    called: Mapping[str, Any] | None
    """How dbt was called when it was written, if that is known."""


def use(conversion: Conversion) -> None:
    """Say what manifest is there, and keep what of it may be used: by model, its compiled text."""
    path = conversion.found.tree.root / PATH
    if not path.is_file():
        return
    try:
        read: Any = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        _refuse(conversion, f"it is not readable: {error}", "run `dbt compile` again; nothing of it was used")
        return
    metadata = _mapping(_mapping(read).get("metadata"))
    version = _version(metadata)
    if version not in VERSIONS:
        _refuse(conversion, f"its schema version is {version}", "use dbt 1.6 or later; nothing of it was used")
        return
    adapter = metadata.get("adapter_type")
    if adapter not in {None, "duckdb"}:
        why = f"schema version {version}; its texts are compiled for {adapter}, and none of them is used"
        conversion.found.items.append(Item(kind="file", name=PATH, status="documented", path=PATH, why=why))
        return
    manifest = _Read(
        _values(read.get("nodes")),
        _values(read.get("sources")),
        _mapping(read.get("macros")),
        _called(conversion, metadata.get("invocation_id")),
    )
    usable = {str(node.get("original_file_path")): node for node in manifest.nodes if _is_plain(conversion, manifest, node)}
    conversion.compiled = usable
    conversion.relations = {
        str(node["relation_name"]): (
            str(node.get("package_name")),
            str(node.get("name")),
            str(node.get("resource_type")),
            str(node.get("source_name", "")),
            "" if node.get("version") is None else str(node["version"]),
        )
        for node in [*manifest.nodes, *manifest.sources]
        if node.get("relation_name")
    }
    why = f"schema version {version}; {len(usable)} compiled texts may be used where a template cannot be evaluated"
    conversion.found.items.append(Item(kind="file", name=PATH, status="converted", path=PATH, why=why))


def _refuse(conversion: Conversion, why: str, remedy: str) -> None:
    conversion.found.refuse("file", PATH, PATH, None, "D802", why, remedy)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _values(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(each for each in _mapping(value).values() if isinstance(each, dict))


def _version(metadata: Mapping[str, Any]) -> int:
    found = re.search(r"/v([0-9]{1,3})\.json$", str(metadata.get("dbt_schema_version", "")))
    return int(found[1]) if found else 0


def _called(conversion: Conversion, invocation: Any) -> Mapping[str, Any] | None:
    """The arguments of the very call that wrote the manifest; nothing where they cannot be told."""
    path = conversion.found.tree.root / RESULTS
    try:
        read: Any = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    if invocation is None or _mapping(_mapping(read).get("metadata")).get("invocation_id") != invocation:
        return None
    arguments = _mapping(read).get("args")
    return arguments if isinstance(arguments, dict) else None


def _is_plain(conversion: Conversion, manifest: _Read, node: Mapping[str, Any]) -> bool:
    """Whether a node's compiled text is the only one that its template can give: raw text as now, and nothing asked at run time."""
    compiled = node.get("compiled_code")
    if node.get("resource_type") != "model" or not isinstance(compiled, str) or node.get("language", "sql") != "sql":
        return False
    if node.get("package_name") != conversion.session.root or not compiled.strip():
        return False
    file = conversion.found.tree.root / Path(str(node.get("original_file_path")))
    try:
        now = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError):
        return False
    raw = str(node.get("raw_code"))
    if now.strip().replace("\r\n", "\n") != raw.strip().replace("\r\n", "\n"):
        return False
    texts = _texts(manifest, node, raw)
    if texts is None:
        return False
    called = manifest.called
    if _EMPTY.search(compiled) or (called is not None and (called.get("empty") or called.get("sample"))):
        return False  # dbt was told to look at no rows, or at some
    asks = set(_ASKS)
    if called is None or called.get("vars"):
        asks.add("var")
    if called is None or called.get("target") not in {None, conversion.found.tree.profile.get("name", "dev")}:
        asks.add("target")
    return not any(_asks(conversion, text, frozenset(asks)) for text in texts)


def _texts(manifest: _Read, node: Mapping[str, Any], raw: str) -> list[str] | None:
    """The template and all macros that it may call; nothing where one of them is not there."""
    waiting = list(_mapping(node.get("depends_on")).get("macros") or [])
    seen: set[str] = set()
    texts = [raw]
    while waiting:
        name = str(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        macro = manifest.macros.get(name)
        if not isinstance(macro, dict):
            return None
        texts.append(str(macro.get("macro_sql")))
        waiting += _mapping(macro.get("depends_on")).get("macros") or []
    return texts


def _asks(conversion: Conversion, text: str, names: frozenset[str]) -> bool:
    try:
        tree = conversion.session.env.parse(text)
    except TemplateError:
        return True
    if t.mentions(tree, names):
        return True
    plain = sum(
        isinstance(each.node, nodes.Name) and each.node.name == "adapter" and each.attr in _ADAPTER for each in tree.find_all(nodes.Getattr)
    )
    return plain != sum(each.name == "adapter" for each in tree.find_all(nodes.Name))
