"""Seeds: the file as it is, with the types that dbt gives its columns."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from interlock.engine.compiler.types import length_in
from interlock.engine.importers.dbt import materialize
from interlock.engine.importers.dbt.nodes import Node
from interlock.engine.project.rows import Malformed, rows

_NUMBER: Final = re.compile(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][+-]?\d+)?|nan", re.ASCII | re.IGNORECASE)
_PADDED: Final = re.compile(r"[+-]?0\d", re.ASCII)
_ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII)
_TEXT: Final = re.compile(r"varchar|text|string|char|bpchar|nvarchar", re.IGNORECASE)
_NAMES: Final = {
    "string": "VARCHAR",
    "int": "INTEGER",
    "number": "DOUBLE",
    "numeric": "DECIMAL(18,3)",
    "decimal": "DECIMAL(18,3)",
    "float64": "DOUBLE",
    "int64": "BIGINT",
    "bool": "BOOLEAN",
}


def type_of(cells: list[str | None]) -> tuple[str, str]:
    """The type that dbt finds for a column, and what is said where it is another one.

    >>> type_of(["1", "2"])[0], type_of(["1.5"])[0], type_of(["true", None])[0], type_of(["007"])[0], type_of(["2024-01-01"])[0]
    ('INTEGER', 'DOUBLE', 'BOOLEAN', 'VARCHAR', 'DATE')
    """
    present = [cell.strip() for cell in cells if cell and cell.strip().lower() != "null"]
    if not present:
        return "INTEGER", ""
    if all(_NUMBER.fullmatch(cell) for cell in present) and (numbers := _numbers(present)) is not None:
        if any(_PADDED.match(cell) for cell in present):
            return "VARCHAR", "numbers with leading zeros stay texts; dbt cuts the zeros"
        if all(number.is_nan() or number == number.to_integral_value() for number in numbers):
            return _whole([number for number in numbers if not number.is_nan()]), ""
        return "DOUBLE", ""
    if all(_is_time(cell, "%Y-%m-%d") for cell in present):
        return "DATE", ""
    # Each column is of one form: days among times, or `T` among spaces, make it a column of texts.
    if all(_is_time(cell, "%Y-%m-%d %H:%M:%S") for cell in present) or all(_ISO.fullmatch(cell) for cell in present):
        return "TIMESTAMP", ""
    if all(cell.lower() in {"true", "false"} for cell in present):
        return "BOOLEAN", ""
    return "VARCHAR", ""


def _numbers(cells: list[str]) -> list[Decimal] | None:
    try:
        return [Decimal(cell) for cell in cells]
    except ArithmeticError:
        return None


def _whole(numbers: list[Decimal]) -> str:
    """The smallest type that holds them; beyond the digits that dbt counts with, its own."""
    if any(number.copy_abs() >= 10**28 for number in numbers):
        return "DOUBLE"
    return next(
        name for name, bits in {"INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}.items() if all(-(2**bits) <= n < 2**bits for n in numbers)
    )


def _is_time(cell: str, form: str) -> bool:
    try:
        datetime.strptime(cell, form)  # noqa: DTZ007 - whether it has this form; its value is not used
    except ValueError:
        return False
    return True


def convert(node: Node, schema: str, default_schema: str) -> None:
    """Fill the node's sidecar and its text."""
    config = node.config
    delimiter = str(config.get("delimiter") or ",")
    if len(delimiter) != 1:
        node.refuse("D825", f"its delimiter is `{delimiter}`", "use a single character")
        return
    try:
        numbered = list(rows(node.file.text, delimiter))
    except Malformed as error:
        node.refuse("D825", f"the file cannot be read: {error.because}", "correct it", error.line)
        return
    found = [row for _, row in numbered]
    if not found:
        node.refuse("D825", "the file is empty", "give it a header")
        return
    ragged = next(((line, row) for line, row in numbered if len(row) != len(found[0])), None)
    if ragged is not None:
        node.refuse("D825", f"the row has {len(ragged[1])} cells and the header has {len(found[0])}", "correct the file", ragged[0])
        return
    guessed = next((line for line, row in numbered for cell in row if cell and len(cell) > 1 and cell[0] == cell[-1] == "'"), None)
    if guessed is not None:
        why = "a cell stands between single quotes, and dbt's reader may take them for the file's own"
        node.refuse("D825", why, "take the quotes off, or write double ones", guessed)
        return
    header = [cell or "" for cell in found[0]]
    declared = {str(name): str(type_) for name, type_ in (config.get("column_types") or {}).items()}
    types: dict[str, str] = {}
    for index, name in enumerate(header):
        if name in declared:
            given = declared[name]
            types[name] = _NAMES.get(given.lower(), given)
            length = length_in(given)
            if length is not None:
                types[name] = length.plain
                node.notes.append(f"`{name}`: DuckDB does not keep the length in `{given}`, so it was left out")
            continue
        types[name], said = type_of([row[index] for row in found[1:] if index < len(row)])
        if said:
            node.notes.append(f"`{name}`: {said}")
    for name in declared:
        if name not in header:
            node.notes.append(f"column_types names `{name}`, which the file does not have so: dbt passes over it")
    made: dict[str, Any] = {}
    if delimiter != ",":
        made["delimiter"] = delimiter
    node.sidecar = made
    materialize.common(node, schema, default_schema, "seed")
    node.sidecar["columns"] = types
    node.text = node.file.text
    # dbt loads the file by COPY, which keeps the text `null` in a column of texts; with `fast: false` it is none there, too.
    keeps = {name for name, kind in types.items() if _TEXT.match(kind) and config.get("fast", True)}
    if any(cell is not None and _is_none(cell, header[index] in keeps) for row in found[1:] for index, cell in enumerate(row)):
        node.text = _rewritten(found, header, keeps, delimiter)
        node.notes.append("empty cells in quotes are NULL in dbt: they were written without quotes")


def _is_none(cell: str, keeps: bool) -> bool:  # noqa: FBT001 - a property of the column, not a switch
    """Whether dbt reads a cell as NULL."""
    return not cell or (cell.strip().lower() == "null" and not keeps)


def _rewritten(found: list[Any], header: list[str], keeps: set[str], delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    for row in found[1:]:
        writer.writerow(["" if cell is None or _is_none(cell, header[index] in keeps) else cell for index, cell in enumerate(row)])
    return out.getvalue()
