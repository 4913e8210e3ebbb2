"""A source's freshness: what dbt asks is documented, with the check that asks it here."""

from __future__ import annotations

import re
from typing import Any, Final, Protocol

from interlock.engine.importers.dbt import toml
from interlock.engine.importers.dbt.items import Kind
from interlock.engine.importers.dbt.sources import SourceNode
from interlock.engine.importers.dbt.yamls import Table, table

_WHY: Final = (
    "freshness is asked of a model: a check `freshness` on one that reads the source. Where its times have no zone, the zone must be "
    "declared; a time in the future fails; without rows there is no answer, and that is said as such"
)
_NOTHING: Final = "no column says when a row was loaded: dbt asks the warehouse itself, or a query, which has no counterpart"
_SEVERITIES: Final = {"warn_after": "warn", "error_after": "error"}


class _Documents(Protocol):
    def document(self, kind: Kind, name: str, path: str, line: int | None, why: str, text: str = "") -> None:
        """Keep an item of something that is carried as documentation."""


def _said(holder: Table, key: str) -> tuple[bool, Any]:
    """Whether a source or its table says something of a key, be it `null`; under `config`, as dbt has it since 1.10, or beside it."""
    for each in (table(holder.get("config")), holder):
        if key in each:
            return True, each[key]
    return False, None


def _of(source: SourceNode, key: str) -> Any:
    """The table's own word, be it `null`; else the source's."""
    own, value = _said(source.entry, key)
    return value if own else _said(source.above, key)[1]


def document(found: _Documents, source: SourceNode) -> None:
    """Document what is asked of a source's table, if anything is."""
    asked = _of(source, "freshness")
    if not isinstance(asked, dict) or not asked:
        return
    own, _ = _said(source.entry, "freshness")
    above = _said(source.above, "freshness")[1]
    if own and isinstance(above, dict):
        asked = {**above, **asked}
    holder = source.entry if own else source.above
    nested = table(holder.get("config"))
    line = nested.at("freshness") if "freshness" in nested else holder.at("freshness")
    column = _of(source, "loaded_at_field")
    text = f"loaded_at_field: {column}\n" + "\n".join(f"{key}: {value}" for key, value in asked.items())
    why = _WHY
    if not isinstance(column, str) or not column.strip():
        why = f"{_WHY}; {_NOTHING}"
    elif not re.fullmatch(r"\w+", column.strip()):
        why = f"{_WHY}; `{column}` is no column: give the model one for it"
    else:
        text += "".join(_check(column.strip(), table(asked.get(key)), severity) for key, severity in _SEVERITIES.items())
    found.document("config", f"{source.source}.{source.name}.freshness", source.path, line, why, text)


def _check(column: str, limit: Table, severity: str) -> str:
    count, period = limit.get("count"), limit.get("period")
    if not isinstance(count, int) or period not in {"minute", "hour", "day"}:
        return ""
    age = f"{count} {period}{'s' if count != 1 else ''}"
    inner = f"column = {toml.string(column)}, max_age = {toml.string(age)}"
    return (
        f"\n\n[[checks]]\nfreshness = {{ {inner} }}"
        f' # and zone = "…", the zone of its times, if the column has none\nseverity = "{severity}"'
    )
