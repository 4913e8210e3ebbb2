"""Types as people write them, in the warehouse's own spelling."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from interlock.engine.diagnostics import nearest
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound
from interlock.engine.warehouse.duckdb.parser import Statements, Tree
from interlock.engine.warehouse.duckdb.quoting import identifier

_DECIMALS: Final = frozenset({"dec", "decimal", "numeric"})
_TEXTS: Final = frozenset({"varchar", "char", "character", "bpchar", "nvarchar", "string", "text", "varying"})
_BARE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BITS: Final = frozenset({"bit", "bitstring"})
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


class Length(NotBound, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A type with a length that the warehouse reads over: nothing would hold it."""

    plain: str
    """The same type without it, as it is written."""
    condition: str = ""
    """What the length of a value was to be, such as `<= 3`; empty where the length is that of a part."""

    def remedy(self, column: str = "") -> str:
        """What to write instead; with the check that holds the length, where the column may have one."""
        holds = self.holds(column) if column else ""
        return f"write `{self.plain}`" + (f", and hold the length by a check: `{holds}`" if holds else "")

    def holds(self, column: str) -> str:
        """The expression of a check that holds the length, nulls let through; empty where the length is that of a part."""
        if not self.condition:
            return ""
        name = column if _is_column(column) else identifier(column)
        least, limit = self.condition.split()
        return f"coalesce(length({name}), {0 if least == '<=' else limit}) {self.condition}"


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
    if not isinstance(found, NotBound) and (length := length_in(text)) is not None:
        return length
    if isinstance(found, NotBound):
        # DuckDB's own proposal is now `main.INTEGER`, now `main.JSON`, for the same slip.
        near = nearest(text.partition("(")[0].strip(), _COMMON)
        message = found.message.partition("\n")[0].rstrip("!")
        if any(token.text.lower() in _DECIMALS for token in tokens):
            return OutOfRange(message=message)
        return msgspec.structs.replace(found, message=message, candidates=(near,) if near else ())
    return found[0].type


def length_in(text: str) -> Length | None:
    """The length that a type names and DuckDB does not keep; nothing where all that it says is kept.

    >>> found = length_in("varchar(3)")
    >>> (found.plain, found.holds("code")) if found else None
    ('varchar', 'coalesce(length(code), 0) <= 3')
    >>> length_in("decimal(4,2)")
    """
    tokens = [token for token in parser.tokens(text) if token.kind != "comment"]
    data = text.encode()
    plain, written, condition, bits = b"", 0, "", False
    for at, token in enumerate(tokens[:-3]):
        name = token.text.strip('"').lower()
        opens, size, closes = tokens[at + 1 : at + 4]
        if name not in _TEXTS | _BITS or (opens.text, size.kind) != ("(", "number") or not closes.text.startswith(")"):
            continue
        before = tokens[at - 1].text.lower() if at else ""
        bits = name in _BITS or (name == "varying" and before in _BITS)
        is_whole = closes.end == len(data.rstrip()) and closes.text == ")" and at == (1 if name == "varying" else 0)
        condition = f"{'=' if name in _BITS else '<='} {size.text}" if is_whole else ""
        plain += data[written : token.end]
        written = closes.start + 1
    if not written:
        return None
    what = "bits of any number" if bits else "texts of any length"
    return Length(
        message=f"DuckDB takes {what} and reads over the length, so nothing would hold it",
        plain=(plain + data[written:]).decode().strip(),
        condition=condition,
    )


def _is_column(name: str) -> bool:
    """Whether a name stands for a column as it is, without quotes."""
    return _BARE.fullmatch(name) is not None and isinstance(parser.parse(f"SELECT length({name})"), Statements)


def _is_cast(tree: Tree) -> bool:
    """Whether the statement is one cast of NULL and nothing else: a text that closes the bracket would add to it."""
    node = tree["node"]
    items = node.get("select_list", [])
    if len(items) != 1 or set(node) - {"type", "select_list", "from_table", "cte_map", "aggregate_handling"}:
        return False
    item = items[0]
    plain = node.get("from_table", {}).get("type") == "EMPTY" and item.get("type") == "OPERATOR_CAST"
    return bool(plain and item.get("alias") == "x" and item.get("child", {}).get("literal", {}).get("kind") == "NULL_LITERAL")
