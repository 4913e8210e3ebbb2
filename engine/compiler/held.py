"""Whether what files hold is held by the types that they are read with: the reader casts, and rounds and cuts off in silence.

Files of text are read once more with texts in the place of the types, and each cell is held against its type: what is the cell's
own text again after the cast has lost nothing; what is not must be written in a way of which it is known that nothing is lost.
What is no value at all is an error where it is read, and not asked here.
Files of Parquet say the types of their columns themselves, and the reader takes those of one file for all.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

import msgspec

from interlock.engine.compiler.compiled import CompiledSource
from interlock.engine.compiler.nested import Type, fits, read
from interlock.engine.compiler.source_texts import reader
from interlock.engine.compiler.types import INTEGERS
from interlock.engine.project.project import Source
from interlock.engine.warehouse.duckdb.quoting import identifier, string

_FILE: Final = "interlock_file"
_CELL_MAX: Final = 80
"""Characters of a cell that is shown."""

_DECIMAL: Final = re.compile(r"DECIMAL\(([0-9]+),\s*([0-9]+)\)")
_PRECISION_MAX: Final = 38
_EXACT: Final = r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|DECIMAL\(.*\)"
"""Numbers that a DOUBLE has the nearest to."""
_DAY: Final = r"-?[0-9]+[-/ \\][0-9]{1,2}[-/ \\][0-9]{1,2}( \(BC\))?"
_ZONE: Final = r"(Z|UTC|[+-][0-9]{1,2}(:?[0-9]{2}){0,2})"
_NAMED_ZONE: Final = r"[A-Z][A-Z0-9_+/-]*"
_ENDLESS: Final = "-?infinity|epoch"
_DIGITS: Final = {
    "TIMESTAMP": 6,
    "TIMESTAMP_S": 0,
    "TIMESTAMP_MS": 3,
    "TIMESTAMP_NS": 9,
    "TIMESTAMP WITH TIME ZONE": 6,
    "TIMESTAMPTZ_NS": 9,
    "TIMESTAMP_NS WITH TIME ZONE": 9,
}
_TIMES: Final = {"TIME": 6, "TIME_NS": 9, "TIME WITH TIME ZONE": 6}

Text: TypeAlias = Literal["csv", "json"]


class Unheld(msgspec.Struct, frozen=True, kw_only=True):
    """What one column of a source's files has that its type does not hold, as the warehouse answers."""

    column: str
    type: str
    file: str
    failing: int
    """Cells, or 1 for a file's own type."""
    cell: str | None = None
    found: str | None = None
    """The type of the column in the file, where that is what differs."""


def held_field(source: CompiledSource) -> str | None:
    """The question as an expression: a list of what is not held (`Unheld`). Nothing where no type can lose anything."""
    if source.source.path is None or not source.files:
        return None
    if source.source.format == "parquet":
        return _of_types(source)
    return _of_cells(source, "json" if source.source.format == "json" else "csv")


def unheld_of(answer: Any) -> tuple[Unheld, ...]:
    """What the question's answer comes to. Of a file's own type, one that fits, or that the reader narrows aloud, is no loss."""
    found = msgspec.convert(answer, list[Unheld])
    return tuple(each for each in found if each.failing and (each.found is None or not keeps(each.found, each.type)))


def keeps(found: str, wanted: str) -> bool:
    """Whether the reader gives each value of a file's type as it is in another, or an error.

    >>> keeps("INTEGER", "BIGINT"), keeps("BIGINT", "INTEGER"), keeps("DOUBLE", "BIGINT"), keeps("DATE", "TIMESTAMP"), keeps("TIMESTAMP", "DATE")
    (True, True, False, True, False)
    """
    return _keeps(read(found), read(wanted))


def _keeps(found: Type, wanted: Type) -> bool:
    if found.parts or wanted.parts:
        there = {name.lower(): part for name, part in found.parts}
        # A field that only one of the two has is a null, or is not read: as with columns.
        pairs = [(there[name.lower()], part) for name, part in wanted.parts if name.lower() in there]
        return found.name == wanted.name and all(_keeps(one, other) for one, other in pairs)
    if found.name == wanted.name or fits(found.name, wanted.name):
        return True
    if found.name in INTEGERS and wanted.name in INTEGERS:
        return True  # what does not fit is an error
    if wanted.name in ("VARCHAR", "JSON"):
        return found.name != "BLOB"
    scales = _DECIMAL.fullmatch(found.name), _DECIMAL.fullmatch(wanted.name)
    if scales[1] is not None and (scales[0] is not None or found.name in INTEGERS):
        return int(scales[1][2]) >= (int(scales[0][2]) if scales[0] is not None else 0)  # digits before the point are an error
    if found.name in _DIGITS or found.name == "DATE":
        zoned = "TZ" in wanted.name or "ZONE" in wanted.name
        same = found.name != "DATE" and zoned == ("TZ" in found.name or "ZONE" in found.name)
        return (
            wanted.name in _DIGITS and (same or (found.name == "DATE" and not zoned)) and _DIGITS.get(found.name, 0) <= _DIGITS[wanted.name]
        )
    return False


def _of_types(source: CompiledSource) -> str:
    options = {name: value for name, value in source.source.options.items() if name == "binary_as_string"}
    options["hive_partitioning"] = False
    files = " UNION ALL ".join(
        f"SELECT {string(file)} AS file, column_name, column_type FROM (DESCRIBE FROM {reader('parquet', (file,), options)})"
        for file in source.files
    )
    wanted = ", ".join(f"({string(column.name)}, {string(column.type)})" for column in source.columns)
    answer = "{'column': w.name, 'type': w.type, 'file': f.file, 'failing': 1, 'found': f.column_type}"
    # Who declares a DOUBLE takes the nearest number, as in a file of text; nobody said so where the reader chose it.
    nearest = f" AND NOT (w.type = 'DOUBLE' AND regexp_full_match(f.column_type, {string(_EXACT)}))" if source.source.columns else ""
    return (
        f"(SELECT coalesce(list({answer} ORDER BY w.name, f.file), []) FROM (SELECT column_name, column_type, min(file) AS file FROM ({files}) GROUP BY ALL) AS f "
        f"JOIN (VALUES {wanted}) AS w(name, type) ON lower(w.name) = lower(f.column_name) WHERE f.column_type <> w.type{nearest})"
    )


def _of_cells(source: CompiledSource, format_: Text) -> str | None:
    declared = source.source.columns
    if declared is None:
        return None
    kinds = {column.name.lower(): column.type for column in source.columns}
    asked: dict[str, str] = {}
    texts, bad = [], []
    for name in declared:
        kind = read(kinds[name.lower()])
        number = len(asked)
        unheld = _unheld(f"t{number}", kind, source.source, format_)
        if unheld is not None:
            texts.append(f"{_as_text(f'c{number}', kind, source.source, format_)} AS t{number}")
            bad.append(f"{_of_text(f'c{number}', f't{number}', kind, unheld, format_)} AS b{number}")
            asked[name] = _shape(kind, format_)
    if not asked:
        return None
    types = {name: asked.get(name, column.type) for name, column in declared.items() if format_ == "csv" or name in asked}
    call = reader(format_, source.files, source.source.options, types, filename=_FILE)
    cells = ", ".join(f"{identifier(name)} AS c{number}" for number, name in enumerate(asked))
    answers = ", ".join(
        _answer(f"c{number}", f"b{number}", name, kinds[name.lower()], shape) for number, (name, shape) in enumerate(asked.items())
    )
    any_bad = " OR ".join(f"b{number}" for number in range(len(asked)))
    return (
        f"(SELECT [{answers}] FROM (SELECT *, {', '.join(bad)} FROM (SELECT *, {', '.join(texts)} FROM "
        f"(SELECT {cells}, {_FILE} FROM {call}))) WHERE {any_bad})"
    )


def _answer(cell: str, bad: str, name: str, kind: str, shape: str) -> str:
    """How many cells of a column are not held, the least of them, and a file that it stands in."""
    where = f"FILTER (WHERE {bad})"
    text = f"CAST({cell} AS VARCHAR)"
    if shape.startswith("DECIMAL("):
        text = f"regexp_replace({text}, '0+$', '')"
    file = _relative(f"arg_min({_FILE}, {text}) {where}")
    return (
        f"{{'column': {string(name)}, 'type': {string(kind)}, 'file': coalesce({file}, ''), 'failing': count(*) {where}, "
        f"'cell': left(min({text}) {where}, {_CELL_MAX})}}"
    )


def _relative(file: str) -> str:
    """The name of a file as the project knows it: the reader tells it with the directory where it looked."""
    place = "current_setting('file_search_path') || '/'"
    return f"CASE WHEN starts_with({file}, {place}) THEN substr({file}, length({place}) + 1) ELSE {file} END"


def _shape(kind: Type, format_: Text) -> str:
    """What a type is read as, so that nothing is lost: of CSV the text, of JSON the same shape with the values as they stand."""
    if format_ == "csv":
        return "VARCHAR"
    if kind.name == "STRUCT":
        return f"STRUCT({', '.join(f'{identifier(name)} {_shape(part, format_)}' for name, part in kind.parts)})"
    if kind.name == "MAP":
        return f"MAP(VARCHAR, {_shape(kind.parts[1][1], format_)})"
    if kind.parts:
        return f"{_shape(kind.parts[0][1], format_)}[]"
    if _through_a_double(kind.name):
        return "JSON"
    return _wide(kind.name) or "VARCHAR"


def _wide(name: str) -> str | None:
    """A decimal with as many digits before the point, and all others behind it; nothing for one that has all of them already.

    A decimal is read from a JSON number's own digits; every other way to see them goes through a DOUBLE.
    """
    found = _DECIMAL.fullmatch(name)
    if found is None or int(found[1]) == _PRECISION_MAX:
        return None
    return f"DECIMAL({_PRECISION_MAX},{_PRECISION_MAX - int(found[1]) + int(found[2])})"


def _through_a_double(name: str) -> bool:
    """Whether a decimal has no place for more digits, so that only a JSON number's text tells of them."""
    return _DECIMAL.fullmatch(name) is not None and _wide(name) is None


def _as_text(cell: str, kind: Type, source: Source, format_: Text) -> str:
    """A cell as the text that is held against its type; a nested one with texts in the place of its values."""
    if format_ == "json":
        return _leaf(cell, kind, format_)
    if kind.parts:
        return f"TRY_CAST({cell} AS {_texts(kind)})"
    if not _is_number(kind.name):
        return cell
    thousands, point = source.options.get("thousands"), source.options.get("decimal_separator")
    if isinstance(thousands, str) and thousands:
        cell = f"replace({cell}, {string(thousands)}, '')"
    return f"replace({cell}, {string(point)}, '.')" if isinstance(point, str) and point not in ("", ".") else cell


def _texts(kind: Type) -> str:
    if kind.name == "STRUCT":
        return f"STRUCT({', '.join(f'{identifier(name)} {_texts(part)}' for name, part in kind.parts)})"
    if kind.name == "MAP":
        return f"MAP({_texts(kind.parts[0][1])}, {_texts(kind.parts[1][1])})"
    return f"{_texts(kind.parts[0][1])}[]" if kind.parts else "VARCHAR"


def _json_text(cell: str) -> str:
    """A JSON value's text; of a number with more digits than are known, one that is no number."""
    text = f"CAST({cell} AS VARCHAR)"
    return f"CASE WHEN starts_with({text}, '\"') THEN json_extract_string({cell}, '$') WHEN {_unknown(text)} THEN '?' ELSE {text} END"


def _unknown(number: str) -> str:
    """Whether a JSON number with a fraction has more digits than the DOUBLE keeps through which it came."""
    digits = rf"ltrim(regexp_replace(regexp_replace({number}, '\.0+$|[eE].*$', ''), '[^0-9]', '', 'g'), '0')"
    return f"(regexp_matches({number}, '[.eE]') AND length({digits}) > 15)"


def _of_text(cell: str, text: str, kind: Type, unheld: str, format_: Text) -> str:
    """Whether a cell is not held; a nested text that is none of its shape is not."""
    if kind.parts and format_ == "csv":
        return f"({cell} IS NOT NULL AND ({text} IS NULL OR {unheld}))"
    return f"({unheld})"


def _unheld(text: str, kind: Type, source: Source, format_: Text, depth: int = 0) -> str | None:
    """An expression that is true where a text is not held by its type, and never null; nothing where a type can lose nothing."""
    if kind.name in ("STRUCT", "MAP"):
        return _unheld_parts(text, kind, source, format_, depth)
    if kind.name == "LIST" or kind.name.startswith("ARRAY "):
        return _unheld_items(text, kind.parts[0][1], source, format_, depth)
    if kind.parts:
        return None
    decimal = _DECIMAL.fullmatch(kind.name)
    if format_ == "json" and decimal is not None and _wide(kind.name) is not None:
        return f"coalesce({text} <> TRY(round({text}, {decimal[2]})), {text} IS NOT NULL)"
    well = _well_written(text, kind.name, source, format_)
    if well is None:
        return None
    return f"CASE WHEN {text} IS NULL OR {_at_a_glance(text, kind.name)} THEN FALSE ELSE NOT coalesce({well}, FALSE) END"


def _at_a_glance(text: str, name: str) -> str:
    """What is true of most texts that are held, and costs least; what is no value of the type is an error where it is read."""
    if name == "DATE":
        return f"{text} LIKE '____-__-__'"
    if "TZ" in name or "ZONE" in name:
        return "FALSE"  # the engine takes longer to write one than to match it
    return f"coalesce(CAST(TRY_CAST({text} AS {name}) AS VARCHAR) = {text}, FALSE)"


def _unheld_parts(text: str, kind: Type, source: Source, format_: Text, depth: int) -> str | None:
    found = []
    for place, (name, part) in enumerate(kind.parts):
        if kind.name == "STRUCT":
            value = f"struct_extract({text}, {string(name)})"
            each = _unheld(_leaf(value, part, format_), part, source, format_, depth)
        elif place == 0 and format_ == "json":
            each = _unheld_items(f"map_keys({text})", part, source, "csv", depth)  # keys are texts there
        else:
            each = _unheld_items(f"map_{'values' if place else 'keys'}({text})", part, source, format_, depth)
        found += [each] if each is not None else []
    return f"({' OR '.join(found)})" if found else None


def _unheld_items(values: str, kind: Type, source: Source, format_: Text, depth: int) -> str | None:
    item = f"x{depth}"
    unheld = _unheld(_leaf(item, kind, format_), kind, source, format_, depth + 1)
    return None if unheld is None else f"coalesce(len(list_filter({values}, lambda {item}: {unheld})) > 0, FALSE)"


def _leaf(value: str, kind: Type, format_: Text) -> str:
    return f"({_json_text(value)})" if format_ == "json" and _through_a_double(kind.name) else value


def _is_number(name: str) -> bool:
    return name in INTEGERS or name == "BIGNUM" or _DECIMAL.fullmatch(name) is not None


def _well_written(text: str, name: str, source: Source, format_: Text) -> str | None:
    """An expression that is true where a text that the type takes is written so that nothing is lost; nothing for a type that takes all."""
    if _is_number(name):
        decimal = _DECIMAL.fullmatch(name)
        number = _number(text, int(decimal[2]) if decimal is not None else 0)
        return number if format_ == "csv" or decimal is not None else f"(NOT {_unknown(text)} AND {number})"
    if name == "DATE":
        if "dateformat" in source.options:
            return None  # read by that, and by nothing else
        return _matches(text, rf"({_DAY}([ T]0{{1,2}}:0{{1,2}}(:0{{1,2}}(\.0*)?)?)?\s*{_ZONE}?|{_ENDLESS})")
    if name in _DIGITS:
        if "timestampformat" in source.options:
            return None
        zone = f"({_ZONE}|{_NAMED_ZONE})?" if "TZ" in name or "ZONE" in name else ""
        return _matches(text, rf"({_DAY}([ T]{_time(_DIGITS[name])})?( \(BC\))?\s*{zone}|{_ENDLESS})")
    if name in _TIMES:
        return _matches(text, _time(_TIMES[name]) + (rf"\s*{_ZONE}?" if "ZONE" in name else ""))
    if name == "INTERVAL":
        return f"NOT regexp_matches({text}, {string('[.][0-9]{6}0*[1-9]')})"
    # A number is any truth to the reader of JSON.
    return f"TRY_CAST({text} AS BOOLEAN) IS NOT NULL" if name == "BOOLEAN" and format_ == "json" else None


def _time(digits: int) -> str:
    return rf"[0-9]{{1,3}}:[0-9]{{1,2}}(:[0-9]{{1,2}}(\.[0-9]{{0,{digits}}}0*)?)?"


def _matches(text: str, pattern: str) -> str:
    whole = rf"(?i)\s*{pattern}\s*"
    return f"regexp_full_match({text}, {string(whole)})"


def _number(text: str, scale: int) -> str:
    """No more digits behind the point than the type has, and where it has none, no zero in front: such a text is a code."""
    whole = "[0-9]*" if scale else "(0|[1-9][0-9]*)?"
    plain = _matches(text, rf"[+-]?{whole}(\.[0-9]{{0,{scale}}}0*)?")
    powers = _matches(text, rf"[+-]?{whole}(\.[0-9]*)?E[+-]?[0-9]+")
    before, behind, power = (f"regexp_extract({text}, '([0-9]*)(?:[.]([0-9]*))?[eE]([+-]?[0-9]+)', {group})" for group in (1, 2, 3))
    needed = (
        f"CASE WHEN rtrim({behind}, '0') <> '' THEN length(rtrim({behind}, '0')) ELSE length(rtrim({before}, '0')) - length({before}) END "
        f"- TRY_CAST({power} AS INTEGER)"
    )
    zero = _matches(text, r"[+-]?[0.]*E.*")
    return f"CASE WHEN {plain} THEN TRUE WHEN {powers} THEN {zero} OR {needed} <= {scale} ELSE FALSE END"
