"""Types as people write them, in the warehouse's own spelling."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from interlock.engine.diagnostics import nearest
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound
from interlock.engine.warehouse.duckdb.parser import Statements, Tree

_DECIMALS: Final = frozenset({"dec", "decimal", "numeric"})
_COMPLETE = re.compile(r"\(\s*\d+\s*,\s*\d+\s*\)")

INTEGERS: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
)
TIMES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"})
_COMMON: Final = sorted(
    INTEGERS | TIMES | {"VARCHAR", "BOOLEAN", "DOUBLE", "FLOAT", "DECIMAL", "BLOB", "TIME", "TIMESTAMPTZ", "UUID", "JSON"}
)
"""What a misspelt type is most likely to be."""
ZONED: Final = frozenset({"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS", "TIMESTAMP_NS WITH TIME ZONE"})


class Incomplete(NotBound, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A type whose digits are not all said."""


class OutOfRange(NotBound, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decimal whose precision or scale is not to be had."""


def is_cursor(kind: str) -> bool:
    """Whether a watermark may have this type: it has a total order, and its text is exact."""
    return kind in INTEGERS or kind in TIMES or kind in ZONED or kind.startswith("DECIMAL(") or kind == "VARCHAR"


def is_time(kind: str) -> bool:
    """Whether values are points in time."""
    return kind in TIMES or kind in ZONED


def canonical_type(text: str, binder: Binder) -> str | NotBound:
    """The warehouse's spelling of a type; `Incomplete` where precision or scale is not said."""
    if text not in binder.types:
        binder.types[text] = _canonical_type(text, binder)
    return binder.types[text]


def _canonical_type(text: str, binder: Binder) -> str | NotBound:
    if not text.strip():
        return NotBound(message="it is empty")
    expression = f"SELECT CAST(NULL AS {text}\n) AS x"
    answer = parser.parse(expression)
    if not isinstance(answer, Statements) or len(answer.trees) != 1 or not _is_cast(answer.trees[0]):
        return NotBound(message="it is not one type")
    tokens = [token for token in parser.tokens(text) if token.kind != "comment"]
    for token in tokens:
        if token.text.lower() in _DECIMALS and not _COMPLETE.match(text.encode()[token.end :].decode().lstrip()):
            return Incomplete(
                message=f"`{token.text}` without precision and scale means DECIMAL(18,3), or whole numbers where only one is given"
            )
    found = binder.columns_of(expression)
    if isinstance(found, NotBound):
        # DuckDB's own proposal is now `main.INTEGER`, now `main.JSON`, for the same slip.
        near = nearest(text.partition("(")[0].strip(), _COMMON)
        message = found.message.partition("\n")[0].rstrip("!")
        if any(token.text.lower() in _DECIMALS for token in tokens):
            return OutOfRange(message=message)
        return msgspec.structs.replace(found, message=message, candidates=(near,) if near else ())
    return found[0].type


def _is_cast(tree: Tree) -> bool:
    """Whether the statement is one cast of NULL and nothing else: a text that closes the bracket would add to it."""
    node = tree["node"]
    items = node.get("select_list", [])
    if len(items) != 1 or set(node) - {"type", "select_list", "from_table", "cte_map", "aggregate_handling"}:
        return False
    item = items[0]
    plain = node.get("from_table", {}).get("type") == "EMPTY" and item.get("type") == "OPERATOR_CAST"
    return bool(plain and item.get("alias") == "x" and item.get("child", {}).get("literal", {}).get("kind") == "NULL_LITERAL")
