"""Does a restriction of a query's output reach what it reads? Asked of the engine's own EXPLAIN, never guessed from the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from interlock.engine.warehouse.protocol import ALIAS


def read_whole(explained: str, low: str) -> tuple[str, ...]:
    """Relations that are read whole, sorted; none where the lower end reaches at least one scan as a bare column's bound.

    A bound on an expression (`CAST(ts AS DATE) >= ...`) is evaluated on every row, so it does not count.

    Args:
        explained: the engine's EXPLAIN as JSON.
        low: the lower end, as the engine writes it in a filter.
    """
    bound = re.compile(rf"(?<![\w)])\"?\w+\"? >=? '?{re.escape(low)}")
    names: set[str] = set()
    for scan in _scans(msgspec.json.decode(explained)):
        if any(bound.search(text) for text in _texts(scan.get("Filters"))):
            return ()
        names.add(str(scan.get("Table") or scan.get("Function") or "files").removeprefix(f"{ALIAS}."))
    return tuple(sorted(names))


def _scans(nodes: Any) -> Iterator[dict[str, Any]]:
    for node in nodes if isinstance(nodes, list) else [nodes]:
        extra = node.get("extra_info") or {}
        name = str(node.get("name", ""))
        if not node.get("children") and ("SCAN" in name or name.startswith("READ_")):
            yield {"Function": name.strip().lower(), **extra}
        yield from _scans(node.get("children") or [])


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]
