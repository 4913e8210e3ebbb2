"""Versions of a model: what YAML says of one of them, over what it says of all."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import cmp_to_key
from typing import Any, Final

from interlock.engine.importers.dbt.yamls import Table, items, line_of, table

_EVERY: Final = frozenset({"all", "*"})


def version_of(entry: Table, version: str) -> Table:
    """What the entry of a model says of one version; nothing of a model without any."""
    found = (table(each) for each in items(entry.get("versions")) if version and str(table(each).get("v")) == version)
    return next(found, table(None))


def latest(numbers: Iterable[str]) -> str:
    """The version that dbt takes for the latest: the greatest as a number, and as a text where one is none.

    >>> latest(["9.5", "10", "2"]), latest(["a", "b"]), latest([])
    ('10', 'b', '')
    """
    return max(numbers, key=cmp_to_key(_order), default="")


def _order(one: str, other: str) -> int:
    try:
        left, right = float(one), float(other)
    except ValueError:
        return (one > other) - (one < other)
    return (left > right) - (left < right)


def columns_of(entry: Table, version: str) -> Iterator[tuple[Table, int | None]]:
    """The columns of a model, or of one of its versions, with their lines: those of all that it includes, then its own."""
    given, own = items(entry.get("columns")), items(version_of(entry, version).get("columns"))
    chosen = next((table(each) for each in own if "name" not in table(each) and {"include", "exclude"} & set(table(each))), table(None))
    for place, each in ((given, one) for one in enumerate(given)):
        name = table(each[1]).get("name")
        if name is not None and _includes(chosen, name):
            yield table(each[1]), line_of(place, each[0])
    for index, one in enumerate(own):
        if "name" in table(one):
            yield table(one), line_of(own, index)


def _includes(chosen: Table, name: Any) -> bool:
    include, exclude = chosen.get("include", "*"), chosen.get("exclude")
    is_in = include in _EVERY if isinstance(include, str) else isinstance(include, list) and name in include
    return is_in and not (isinstance(exclude, list) and name in exclude)


def tests_of(entry: Table, version: str) -> Iterator[Any]:
    """The lists of tests that are about the model as a whole: a version's own take the place of those of all."""
    own = version_of(entry, version)
    holder = own if any(own.get(key) is not None for key in ("tests", "data_tests")) else entry
    yield from (holder.get(key) for key in ("tests", "data_tests"))


def said_of(entry: Table, version: str, key: str) -> Any:
    """A property: a version's own, if it says one, or that of all."""
    return version_of(entry, version).get(key) or entry.get(key)


def config_of(entry: Table, version: str) -> dict[Any, Any]:
    """The configuration: a version's own over that of all, as dbt merges them, lists and mappings too."""
    return _over(copy.copy(dict(table(entry.get("config")))), table(version_of(entry, version).get("config")))


def _over(below: dict[Any, Any], above: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in above.items():
        there = below.get(key)
        if isinstance(value, dict):
            below[key] = _over(dict(there) if isinstance(there, dict) else {}, value)
        elif isinstance(value, list) and isinstance(there, list):
            below[key] = [*value, *there]
        else:
            below[key] = value
    return below
