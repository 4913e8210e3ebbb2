"""Whether two values are one and the same.

The engine's equality is wider for some types: under a collation `Anna` is `anna`, `0.0` is `-0.0`, and a month is thirty days. What
it calls equal is no change to a statement that asks `IS DISTINCT FROM`, and the value that stands there stays. A collation is in no
type's name, so each text is compared byte by byte; where it has none, that is the very comparison of before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from interlock.engine.warehouse.duckdb.quoting import identifier

_PLAIN: Final = re.compile(
    r"U?(?:TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|BIGNUM|DECIMAL\([0-9]+, ?[0-9]+\)|BOOLEAN|DATE|TIME(?:_NS| WITH TIME ZONE)?"
    r"|TIMESTAMP(?:_S|_MS|_NS)?(?: WITH TIME ZONE)?|TIMESTAMPTZ_NS|UUID|BLOB|BIT|JSON|ENUM\(.*\)",
    re.DOTALL,
)
"""Types of which equal values are the same."""
_NESTED: Final = re.compile(r"(?:STRUCT|MAP)\(.*\)|.*\[[0-9]*\]", re.DOTALL)
_LOOSE: Final = re.compile(r"VARCHAR|FLOAT|DOUBLE|INTERVAL|VARIANT|UNION|GEOMETRY", re.IGNORECASE)
"""Words in the name of a nested type by which it may hold values that are equal and not the same; a field of such a name costs little."""


def is_plain(type_: str) -> bool:
    """Whether equal values of a type are always the same.

    >>> is_plain("BIGINT"), is_plain("STRUCT(a INTEGER, b DATE[])"), is_plain("VARCHAR"), is_plain("STRUCT(a DOUBLE)"), is_plain("ENUM('a')[]")
    (True, True, False, False, True)
    """
    if _NESTED.fullmatch(type_) is not None:
        return _LOOSE.search(type_) is None
    return _PLAIN.fullmatch(type_) is not None


def differs(left: str, right: str, type_: str) -> str:
    """A condition, never null: the values are not the same. It is in brackets where it has to be.

    >>> differs("t.a", "d.a", "BIGINT"), differs("t.a", "d.a", "VARCHAR")
    ('t.a IS DISTINCT FROM d.a', 't.a COLLATE "binary" IS DISTINCT FROM d.a COLLATE "binary"')
    """
    if type_ == "VARCHAR":
        left, right = _bytes(left), _bytes(right)
    unequal = f"{left} IS DISTINCT FROM {right}"
    hidden = [f"{one} IS DISTINCT FROM {other}" for one, other in zip(_hidden(left, type_), _hidden(right, type_), strict=True)]
    return f"({' OR '.join([unequal, *hidden])})" if hidden else unequal


def same(left: str, right: str, type_: str) -> str:
    """The opposite, as conditions of which the first may carry a join."""
    if type_ == "VARCHAR":
        left, right = _bytes(left), _bytes(right)
    hidden = [f"{one} IS NOT DISTINCT FROM {other}" for one, other in zip(_hidden(left, type_), _hidden(right, type_), strict=True)]
    return " AND ".join([f"{left} IS NOT DISTINCT FROM {right}", *hidden])


def told_apart(names: Sequence[str], types: Mapping[str, str]) -> str:
    """Columns for EXCEPT and GROUP BY: with these, rows are equal only if their values are the same. The names stay, some are added.

    Args:
        names: columns.
        types: of them, by name in small letters.
    """
    columns = [f"{_bytes(name)} AS {name}" if type_ == "VARCHAR" else name for name, type_ in _typed(names, types)]
    added = [hidden for name, type_ in _typed(names, types) for hidden in _hidden(name, type_)]
    return ", ".join([*columns, *(f"{expression} AS interlock_same_{number}" for number, expression in enumerate(added))])


def group_of(names: Sequence[str], types: Mapping[str, str]) -> str:
    """The same as expressions alone, for PARTITION BY."""
    parts = [[_bytes(name) if type_ == "VARCHAR" else name, *_hidden(name, type_)] for name, type_ in _typed(names, types)]
    return ", ".join(expression for part in parts for expression in part)


def any_differs(names: Sequence[str], types: Mapping[str, str], left: str = "t", right: str = "d") -> str:
    """A condition: some of the columns do."""
    pairs = [(f"{left}.{name}", f"{right}.{name}", type_) for name, type_ in _typed(names, types)]
    return " OR ".join(differs(*pair) for pair in pairs) or "FALSE"


def loose(names: Sequence[str], types: Mapping[str, str]) -> list[str]:
    """Those of the columns that a join by equality takes for the same where they are not."""
    return [name for name in names if not is_plain(types[name.lower()])]


def passed_over(names: Sequence[str], types: Mapping[str, str], left: str = "t", right: str = "d") -> str:
    """A condition: some of the columns are equal and not the same, and an UPDATE would leave what stands there. Empty where none can be.

    The engine's UPDATE compares by the engine's equality too, and writes no value that it calls equal; of texts it compares the bytes.
    """
    pairs = [
        (f"{left}.{name}", f"{right}.{name}", _hidden(f"{left}.{name}", type_), _hidden(f"{right}.{name}", type_))
        for name, type_ in _typed(names, types)
    ]
    return " OR ".join(
        f"({one} = {other} AND {mine} IS DISTINCT FROM {theirs})"
        for one, other, its, others in pairs
        for mine, theirs in zip(its, others, strict=True)
    )


def _typed(names: Sequence[str], types: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(identifier(name), types[name.lower()]) for name in names]


def _bytes(value: str) -> str:
    return f'{value} COLLATE "binary"'


def _hidden(value: str, type_: str) -> list[str]:
    """What equal values of a type may still differ in: the sign of a zero; else the bytes of the text."""
    if type_ == "VARCHAR" or is_plain(type_):
        return []
    if type_ in ("FLOAT", "DOUBLE"):
        return [f"({value} = 0 AND signbit({value}))"]
    return [f"encode(CAST({value} AS VARCHAR))"]
