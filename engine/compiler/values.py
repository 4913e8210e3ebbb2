"""Values that an author wrote beside a column's type: whether they can be compared, and nothing is lost by it.

Where types differ, DuckDB casts one side before it compares. A number beside a text column makes it cast the *rows*: `'01'` is
taken for 1, and `'new'` is an error. So a value is asked for in the column's own type, and only where the cast keeps what it says.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple, assert_never

from interlock.engine.compiler.types import INTEGERS, TIMES, ZONED
from interlock.engine.warehouse.duckdb.quoting import DIGITS_MAX, Scalar, literal, string

TEXT: Final = "VARCHAR"
_ZONELESS: Final = TIMES - ZONED
"""In these a time with a zone has no place: which instant a row means is not known."""
_FLOATS: Final = frozenset({"FLOAT", "DOUBLE"})
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
"""A number as everybody writes it: a leading zero or plus says that it is a text."""
_TIME: Final = r"\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?"
_CLOCK: Final = re.compile(_TIME)
_ISO: Final = re.compile(rf"\d{{4}}-\d\d-\d\d(?:[ T]{_TIME})?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?")


class Asked(NamedTuple):
    """A value in a column's type."""

    sql: str
    """What stands for it where the column is compared with it."""
    kept: str
    """A condition without columns: true if the type holds just what was written."""


def in_words(value: Scalar) -> str:
    """A value as a person wrote it.

    >>> in_words("a"), in_words(1), in_words(True), in_words(date(2024, 1, 31))
    ('"a"', '1', 'true', '2024-01-31')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case date():
            return value.isoformat()
        case int() | Decimal():
            return str(value)
        case _ as unreachable:
            assert_never(unreachable)


def kind_in_words(value: Scalar) -> str:
    """What kind of value it is.

    >>> kind_in_words(1), kind_in_words(True)
    ('a number', 'true or false')
    """
    match value:
        case bool():
            return "true or false"
        case str():
            return "a text"
        case datetime():
            return "a time" if value.tzinfo is None else "a time with a zone"
        case date():
            return "a date"
        case int() | Decimal():
            return "a number"
        case _ as unreachable:
            assert_never(unreachable)


def as_text(value: Scalar) -> str:
    """What a person has to write for a value beside a column of texts.

    >>> as_text(1), as_text("a")
    ('"1"', '"a"')
    """
    return in_words(value) if isinstance(value, str) else f'"{in_words(value)}"'


def asked(value: Scalar, kind: str) -> Asked | None:
    """The value in a column's type; nothing where values of its kind and of that type are not compared.

    Raises:
        ValueError: DuckDB has no exact literal for the value.

    >>> asked("a", "VARCHAR"), asked(1, "VARCHAR")
    (Asked(sql="'a'", kept='TRUE'), None)
    >>> asked("2024-01-31", "DATE").sql
    "CAST('2024-01-31' AS DATE)"
    """
    written = literal(value)
    cast = f"CAST({written} AS {kind})"
    match value:
        case str():
            return Asked(written, "TRUE") if kind == TEXT else Asked(cast, _text_is_kept(value, kind))
        case bool():
            own, compared = "BOOLEAN", _is_number(kind) or kind == "BOOLEAN"
        case int():
            own, compared = "HUGEINT", _is_number(kind) or kind == "BOOLEAN"
        case Decimal():
            own, compared = _decimal(written), _is_number(kind) or kind == "BOOLEAN"
        case datetime():
            own = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
            compared = kind in ZONED or (value.tzinfo is None and kind in _ZONELESS)
        case date():
            own, compared = "DATE", kind in _ZONELESS or kind in ZONED
        case _ as unreachable:
            assert_never(unreachable)
    return Asked(cast, _is_same(written, kind, own)) if compared else None


def _is_number(kind: str) -> bool:
    return kind in INTEGERS or kind in _FLOATS or kind.startswith("DECIMAL(")


def _decimal(written: str) -> str:
    return f"DECIMAL({DIGITS_MAX},{len(written.strip('()').partition('.')[2])})"


def _is_same(written: str, kind: str, own: str) -> str:
    """There and back it is what it was."""
    return f"TRY_CAST(TRY_CAST({written} AS {kind}) AS {own}) IS NOT DISTINCT FROM {written}"


def _text_is_kept(text: str, kind: str) -> str:
    """The type's own spelling of the value, or another one that is that value for certain."""
    same = _is_same(string(text), kind, TEXT)
    if _is_number(kind) and _NUMBER.fullmatch(text) and len(text) <= DIGITS_MAX:
        number = literal(Decimal(text))
        return f"{same} OR {_is_same(number, kind, _decimal(number))}"
    if kind in {"BOOLEAN", "UUID"}:
        return f"TRY_CAST(TRY_CAST({string(text)} AS {kind}) AS {TEXT}) IS NOT DISTINCT FROM lower({string(text)})"
    if kind == "TIME" and _CLOCK.fullmatch(text):
        return f"TRY_CAST({string(text)} AS TIME) IS NOT NULL"
    found = _ISO.fullmatch(text)
    if found is not None and kind in ZONED:
        return f"{same} OR {_is_same_time(text, kind, 'TIMESTAMPTZ')}"
    if found is not None and kind in _ZONELESS and found["zone"] is None:
        return f"{same} OR {_is_same_time(text, kind, 'TIMESTAMP')}"
    return same


def _is_same_time(text: str, kind: str, whole: str) -> str:
    return f"coalesce(TRY_CAST(TRY_CAST({string(text)} AS {kind}) AS {whole}) = TRY_CAST({string(text)} AS {whole}), FALSE)"
