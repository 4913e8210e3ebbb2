"""A source's freshness: converted where the zone of its times is declared, proposed where dbt takes it to be UTC, else refused."""

from __future__ import annotations

import re
from typing import Any, Final

from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt import toml
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.nodes import problem_of
from interlock.engine.importers.dbt.session import Rendering, Session
from interlock.engine.importers.dbt.sources import SourceNode
from interlock.engine.importers.dbt.template import CannotKeep
from interlock.engine.importers.dbt.yamls import Table, items, table

_ZONED: Final = re.compile(r"timestamptz|timestamp\s+with\s+time\s+zone|timestamp_tz|timestamp_ltz", re.IGNORECASE)
_AT_ZONE: Final = re.compile(r"\(?\s*(\w+)\s+at\s+time\s+zone\s+'([^']+)'\s*\)?", re.IGNORECASE)
_LIMITS: Final = {"warn_after": "warn", "error_after": "error"}
_EFFECT: Final = (
    "what reads the source asks it in each run, where dbt asks when told to; a time in the future fails; without rows it never passes"
)
_NOTHING: Final = "no column says when a row was loaded: dbt asks the warehouse itself, or a query"


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


def convert(session: Session, source: SourceNode, *, accept: bool) -> None:
    """Say what becomes of what is asked of a source's table, if anything is, and write it where it is kept."""
    asked = _of(source, "freshness")
    if source.problem is not None or source.disabled or not isinstance(asked, dict) or not asked:
        return
    own, _ = _said(source.entry, "freshness")
    above = _said(source.above, "freshness")[1]
    if own and isinstance(above, dict):
        asked = {**above, **asked}
    holder = source.entry if own else source.above
    nested = table(holder.get("config"))
    line = nested.at("freshness") if "freshness" in nested else holder.at("freshness")
    rendering = Rendering(source.path, source.package)
    try:
        asked = table(session.value(asked, rendering))
        column = session.value(_of(source, "loaded_at_field"), rendering)
    except (CannotKeep, *t.EVALUATION) as error:
        problem = problem_of(error, source.path, line)
        source.freshness = _item(source, line, "refused", problem.why, problem.remedy, code=problem.code)
        return
    why, remedy = _in_the_way(source, asked, column)
    if why:
        source.freshness = _item(source, line, "refused", why, remedy, code="D830")
        return
    expression = _AT_ZONE.fullmatch(column.strip())
    name, zone = (expression[1], expression[2]) if expression else (column.strip(), None)
    known = zone is not None or _is_zoned(source, name)
    limits = [_limit(name, table(asked[key]), severity, zone if known else "UTC") for key, severity in _LIMITS.items() if asked.get(key)]
    if known:
        source.made["freshness"] = limits if len(limits) > 1 else limits[0]
        source.freshness = _item(source, line, "converted", _EFFECT)
        return
    if accept:
        source.made["freshness"] = limits if len(limits) > 1 else limits[0]
    source.freshness = _item(
        source,
        line,
        "proposed",
        f"the zone of `{name}` is not declared, and dbt takes a time without one to be UTC's; {_EFFECT}",
        "see whether its times are UTC's; with --accept-proposals it is written so",
        code="D830",
        proposal=f"[sources.{toml.string(source.key)}]\n" + "\n".join(toml.pairs({"freshness": limits if len(limits) > 1 else limits[0]})),
        written=accept,
    )


def refuse(source: SourceNode, why: str) -> None:
    """Take back what the compiler does not take."""
    source.made.pop("freshness", None)
    line = source.freshness.line if source.freshness is not None else source.line
    source.freshness = _item(source, line, "refused", why, "name a column of times, and the zone that they are in", code="D830")


def _in_the_way(source: SourceNode, asked: Table, column: Any) -> tuple[str, str]:
    """Why it cannot be asked, and what helps; nothing where it can."""
    if asked.get("filter"):
        return "it looks at some of the rows only (`filter`)", "ask it of a view over the source, as a check `freshness`"
    if _of(source, "loaded_at_query") or not isinstance(column, str) or not column.strip():
        return _NOTHING, "name a column in loaded_at_field"
    if not re.fullmatch(r"\w+", column.strip()) and not _AT_ZONE.fullmatch(column.strip()):
        return f"`{column}` is no column", "ask it of a view over the source that has a column for it, as a check `freshness`"
    limits = [table(asked[key]) for key in _LIMITS if asked.get(key)]
    if not limits:
        return "it has neither warn_after nor error_after", "give it one"
    for limit in limits:
        if not isinstance(limit.get("count"), int) or limit.get("period") not in {"minute", "hour", "day"}:
            return "one of its limits is no count of minutes, hours or days", "write it like {count: 12, period: hour}"
    return "", ""


def _is_zoned(source: SourceNode, name: str) -> bool:
    """Whether the source declares that the column's times have a zone."""
    declared = [table(each) for each in items(source.entry.get("columns"))]
    return any(
        str(each.get("name")).lower() == name.lower() and _ZONED.fullmatch(str(each.get("data_type") or "").strip()) is not None
        for each in declared
    )


def _limit(column: str, limit: Table, severity: str, zone: str | None) -> dict[str, Any]:
    count, period = limit["count"], limit["period"]
    age = f"{count} {period}{'s' if count != 1 else ''}"
    return {"column": column, "max_age": age, **({"zone": zone} if zone is not None else {}), "severity": severity}


def _item(
    source: SourceNode,
    line: int | None,
    status: Any,
    why: str,
    remedy: str = "",
    *,
    code: str = "",
    proposal: str = "",
    written: bool = False,
) -> Item:
    return Item(
        kind="config", name=f"{source.source}.{source.name}.freshness", status=status, path=source.path, line=line, code=code, why=why,
        remedy=remedy, proposal=proposal, into="sources.toml" if status == "converted" or written else "",
        written="yes" if status == "converted" or written else "no",
    )  # fmt: skip
