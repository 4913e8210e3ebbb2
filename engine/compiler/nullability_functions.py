"""What each of the engine's functions does with nulls: a table made by asking it, and checked by hand."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

import msgspec

from interlock.machines.records import Record


class Scalars(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scalar functions and operators. One that stands nowhere may give null for anything."""

    strict: frozenset[str]
    """Null exactly if an argument is."""
    total: frozenset[str]
    """Never null if no argument is. What they do with a null argument is not relied on."""
    passing: frozenset[str]
    """Null if an argument is, and perhaps otherwise."""
    never: frozenset[str]
    """Never null at all."""
    any: frozenset[str]
    """Not null if one argument is not."""
    first: frozenset[str]
    """Null exactly if the first argument is, which the others cannot change."""


class Aggregates(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Aggregates. One that stands nowhere may give null for anything."""

    never: frozenset[str]
    """Never null, not even of no rows."""
    rows: frozenset[str]
    """Not null if there is a row, whatever is in it."""
    values: frozenset[str]
    """Not null if there is a row in which no argument is null."""


class Table(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table, and the engine that was asked."""

    engine: str
    scalars: Scalars
    aggregates: Aggregates


DIVISIONS: Final = frozenset({"/", "//", "%", "mod", "divide", "fmod", "fdiv"})
"""Strict functions that give null for a division by zero if a setting says so."""


@functools.cache
def table() -> Table:
    """As it is shipped."""
    data = resources.files("interlock.engine.compiler").joinpath("nullability.json").read_bytes()
    return msgspec.json.decode(data, type=Table)
