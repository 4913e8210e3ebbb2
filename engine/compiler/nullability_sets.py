"""Columns of set operations, and columns under other names, for the nullability pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from interlock.engine.compiler.nullability_names import PATTERN, picked
from interlock.engine.compiler.relations import Column, Columns
from interlock.engine.warehouse.duckdb.parser import Tree

_BARE: Final = frozenset({"class", "type", "query_location", "query_location_length"})
"""What a `*` holds that leaves nothing out."""


def side_by_side(branches: list[tuple[Column, ...]], rule: Callable[[Iterable[bool]], bool]) -> Columns:
    """Columns by position; `rule` says when one that is never null in some branches is so as a whole."""
    if len({len(branch) for branch in branches}) != 1:
        return None
    found: list[Column] = []
    for columns in zip(*branches, strict=True):
        mixed = len({column.json for column in columns}) > 1
        found.append(
            Column(
                columns[0].name,
                never_null=not mixed and rule(column.never_null for column in columns),
                json=any(column.json for column in columns),
                merged=columns,
            )
        )
    return tuple(found)


def by_name(branches: list[tuple[Column, ...]]) -> Columns:
    """Columns by name; one that a branch does not have may be null."""
    named = [{column.name.lower(): column for column in branch if column.name is not None} for branch in branches]
    if any(len(columns) < len(branch) for columns, branch in zip(named, branches, strict=True)):
        return None
    names = list(dict.fromkeys(name for columns in named for name in columns))
    found: list[Column] = []
    for name in names:
        there = [columns[name] for columns in named if name in columns]
        mixed = len({column.json for column in there}) > 1
        never_null = len(there) == len(branches) and not mixed and all(column.never_null for column in there)
        found.append(Column(there[0].name, never_null=never_null, json=any(column.json for column in there), merged=tuple(there)))
    return tuple(found)


def renamed(columns: tuple[Column, ...], names: Iterable[str]) -> tuple[Column, ...]:
    """The columns under other names, as far as there are some."""
    aliases = list(names)
    if not aliases:
        return columns
    return tuple(column.again(aliases[index] if index < len(aliases) else column.name) for index, column in enumerate(columns))


def chosen(columns: Columns, expression: Tree | None) -> Columns:
    """The columns that COLUMNS picks by a pattern or by a list of names; nothing where it is not sure which."""
    if expression is None or columns is None:
        return columns
    names = [column.name for column in columns if column.name is not None]
    if len(names) < len(columns):
        return None
    literals = [expression]
    if expression.get("function_name") == "list_filter":
        listed, condition = (argument["expression"] for argument in expression.get("arguments", ()))
        flags = picked(names, condition) if listed.get("type") == "STAR" and listed.keys() <= _BARE else None
        return None if flags is None else tuple(column for column, flag in zip(columns, flags, strict=True) if flag)
    if expression.get("function_name") == "list_value":
        literals = [argument["expression"] for argument in expression.get("arguments", ())]
    texts = [each.get("literal", {}).get("text") for each in literals if each.get("literal", {}).get("kind") == "STRING"]
    if len(texts) < len(literals) or not texts:
        return None
    if literals[0] is not expression:
        wanted = {text.lower() for text in texts}
        return tuple(column for column in columns if (column.name or "").lower() in wanted)
    if not PATTERN.fullmatch(texts[0]):
        return None
    try:
        pattern = re.compile(texts[0])
    except re.error:
        return None
    return tuple(column for column in columns if pattern.search(column.name or ""))
