"""The one place where names and values become DuckDB text. Nothing else builds SQL out of what a person wrote."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TypeAlias, assert_never

from interlock.engine.warehouse.protocol import ALIAS, CONTROL_SCHEMA

Scalar: TypeAlias = str | int | Decimal | bool | date | datetime

DIGITS_MAX = 38
"""Of a DECIMAL; a number with more becomes a DOUBLE without a word, so it is not a literal that we write."""

INTEGER_MAX = 2**127 - 1
"""Of a HUGEINT; beyond it the parser picks types that few operators take."""


def identifier(name: str) -> str:
    """A quoted name.

    >>> identifier('an "odd" name')
    '"an ""odd"" name"'

    Raises:
        ValueError: the name is empty, or holds what DuckDB's catalog does not keep.
    """
    if not name:
        message = "a name may not be empty"
        raise ValueError(message)
    if "\0" in name:
        message = f"a name may not hold a zero byte: {name!r}"
        raise ValueError(message)
    return '"' + _encodable(name).replace('"', '""') + '"'


def relation(schema: str, name: str) -> str:
    """The three-part name of a relation of the target.

    >>> relation("marts", "orders")
    '"warehouse"."marts"."orders"'
    """
    return f"{identifier(ALIAS)}.{identifier(schema)}.{identifier(name)}"


def relation_in(alias: str, schema: str, name: str) -> str:
    """The three-part name of a relation of an attached database.

    >>> relation_in("src_0", "main", "orders")
    '"src_0"."main"."orders"'
    """
    return f"{identifier(alias)}.{identifier(schema)}.{identifier(name)}"


def schema_name(schema: str) -> str:
    """The two-part name of a schema of the target.

    >>> schema_name("marts")
    '"warehouse"."marts"'
    """
    return f"{identifier(ALIAS)}.{identifier(schema)}"


def control(name: str) -> str:
    """The three-part name of a relation that we keep for ourselves.

    >>> control("heads")
    '"warehouse"."interlock"."heads"'
    """
    return relation(CONTROL_SCHEMA, name)


def string(text: str) -> str:
    """A text literal.

    >>> string("it's")
    "'it''s'"
    """
    return "'" + _encodable(text).replace("'", "''") + "'"


def literal(value: Scalar | tuple[Scalar, ...]) -> str:
    """A typed literal: it means the same wherever an expression may stand.

    A negative number is bracketed, for `1 -$x` would start a comment.

    >>> literal(-5), literal(Decimal("1.50")), literal(True), literal(date(2024, 1, 31))
    ('(-5)', '1.50', 'TRUE', "DATE '2024-01-31'")
    >>> literal(("a", "b"))
    "['a', 'b']"

    Raises:
        ValueError: DuckDB has no exact literal for the value.
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return _integer(value)
        case Decimal():
            return _decimal(value)
        case str():
            return string(value)
        case datetime():
            return _timestamp(value)
        case date():
            return f"DATE '{value.isoformat()}'"
        case tuple():
            return "[" + ", ".join(literal(each) for each in value) + "]"
        case _ as unreachable:
            assert_never(unreachable)


def file_name(path: str) -> str:
    """A text literal that names one file to a reader function, relative to the project and to nothing else.

    A plain relative name is looked for in the *working directory* first, and only then in `file_search_path`; a pattern is
    looked for in `file_search_path` only. So the name is written as a pattern that matches itself alone. That also keeps
    `a[1].csv` from being read as one.

    >>> file_name("landing/a.csv"), file_name("landing/a[1].csv"), file_name("/data/a.csv")
    ("'landing/a.cs[v]'", "'landing/a[[]1].csv'", "'/data/a.csv'")
    """
    escaped = "".join(f"[{character}]" if character in "*?[" else character for character in path)
    if escaped == path and not path.startswith("/"):
        escaped = f"{path[:-1]}[{path[-1]}]"
    return string(escaped)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"text that is not Unicode cannot be written: {text!r}"
        raise ValueError(message) from error
    return text


def _integer(value: int) -> str:
    if abs(value) > INTEGER_MAX:
        message = f"{value} does not fit into 128 bits"
        raise ValueError(message)
    return f"({value})" if value < 0 else str(value)


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        message = f"{value} is not a number that a DECIMAL holds"
        raise ValueError(message)
    text = format(value.copy_abs(), "f")
    if "." not in text:
        text += ".0"
    if len(text.replace(".", "").lstrip("0")) > DIGITS_MAX or len(text.partition(".")[2]) > DIGITS_MAX:
        message = f"{value} has more than {DIGITS_MAX} digits"
        raise ValueError(message)
    return f"(-{text})" if value.is_signed() and value else text


def _timestamp(value: datetime) -> str:
    if value.tzinfo is None:
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return f"TIMESTAMPTZ '{value.astimezone(UTC).isoformat(sep=' ')}'"
