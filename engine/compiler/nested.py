"""Types as trees: where two differ, and whether values of one fit into the other without a loss."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_DIGITS: Final = {
    "TINYINT": 3,
    "SMALLINT": 5,
    "INTEGER": 10,
    "BIGINT": 19,
    "HUGEINT": 39,
    "UTINYINT": 3,
    "USMALLINT": 5,
    "UINTEGER": 10,
    "UBIGINT": 20,
    "UHUGEINT": 39,
}
_BITS: Final = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_UNSIGNED: Final = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}
_MANTISSA: Final = {"FLOAT": 24, "DOUBLE": 53}
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_SUFFIX: Final = re.compile(r"(.*)\[(\d*)\]", re.DOTALL)


class Type(NamedTuple):
    """A type: its name, and for a nested one its parts with their names."""

    name: str
    parts: tuple[tuple[str, Type], ...] = ()


def read(text: str) -> Type:
    """A type as the engine spells it.

    >>> read("STRUCT(a INTEGER, b VARCHAR[])").parts[1]
    ('b', Type(name='LIST', parts=(('[]', Type(name='VARCHAR', parts=())),)))
    """
    text = text.strip()
    suffix = _SUFFIX.fullmatch(text)
    if suffix is not None:
        return Type(f"ARRAY {suffix[2]}" if suffix[2] else "LIST", (("[]", read(suffix[1])),))
    head, bracket, rest = text.partition("(")
    if head not in {"STRUCT", "MAP", "UNION"} or not bracket:
        return Type(text)
    inner = _split(rest.removesuffix(")"))
    if head == "MAP":
        return Type(head, (("key", read(inner[0])), ("value", read(inner[-1]))))
    return Type(head, tuple((name, read(kind)) for name, kind in map(_field, inner)))


def difference(found: str, wanted: str) -> str:
    """Where the types differ, for people; empty where they differ as a whole or not at all."""
    place = _difference(read(found), read(wanted), "")
    return place if not place.startswith(" ") else ""


def same(found: str, wanted: str) -> bool:
    """Whether the types are one to the engine: of fields and members it does not look at case, so a cast would leave them as they are.

    >>> same("STRUCT(a INTEGER)[]", "STRUCT(A INTEGER)[]"), same("STRUCT(a INTEGER)", "STRUCT(b INTEGER)"), same("ENUM('a')", "ENUM('A')")
    (True, False, False)
    """
    return found == wanted or _folded(read(found)) == _folded(read(wanted))


def _folded(kind: Type) -> Type:
    return kind._replace(parts=tuple((name.lower(), _folded(part)) for name, part in kind.parts))


def fits(found: str, wanted: str) -> bool:
    """Whether every value of one type is a value of the other: by integer digits and scale, part by part.

    >>> fits("INTEGER", "BIGINT"), fits("DECIMAL(10,2)", "DECIMAL(12,2)"), fits("DECIMAL(10,2)", "DECIMAL(10,4)"), fits("BIGINT", "DOUBLE")
    (True, True, False, False)
    """
    return _fits(read(found), read(wanted))


def _fits(found: Type, wanted: Type) -> bool:
    if found.parts or wanted.parts:
        if found.name != wanted.name or [name.lower() for name, _ in found.parts] != [name.lower() for name, _ in wanted.parts]:
            return False
        return all(_fits(one, other) for (_, one), (_, other) in zip(found.parts, wanted.parts, strict=True))
    if found.name == wanted.name or (found.name, wanted.name) == ("FLOAT", "DOUBLE"):
        return True
    bits = _BITS.get(found.name, _UNSIGNED.get(found.name))
    if bits is not None:
        if wanted.name in _BITS:
            return bits <= _BITS[wanted.name]
        if wanted.name in _UNSIGNED:
            return found.name in _UNSIGNED and bits <= _UNSIGNED[wanted.name]
        if wanted.name in _MANTISSA:
            return bits <= _MANTISSA[wanted.name]
    target = _decimal(wanted.name)
    if target is None:
        return False
    if found.name in _DIGITS:
        return target[0] - target[1] >= _DIGITS[found.name]
    source = _decimal(found.name)
    return source is not None and target[1] >= source[1] and target[0] - target[1] >= source[0] - source[1]


def _decimal(name: str) -> tuple[int, int] | None:
    match = _DECIMAL.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


def _difference(found: Type, wanted: Type, place: str) -> str:
    if _folded(found) == _folded(wanted):
        return ""
    if found.name != wanted.name or not found.parts:
        return f"{place} is {spelled(found)}, and the contract says {spelled(wanted)}"
    names, promised = [name for name, _ in found.parts], [name for name, _ in wanted.parts]
    if [name.lower() for name in names] != [name.lower() for name in promised]:
        return f"{place} has fields {', '.join(names)}, and the contract says {', '.join(promised)}"
    pairs = zip(found.parts, wanted.parts, strict=True)
    return next(_difference(one, other, _under(place, name)) for (name, one), (_, other) in pairs if _folded(one) != _folded(other))


def _under(place: str, name: str) -> str:
    return f"{place}{name}" if name == "[]" or not place else f"{place}.{name}"


def spelled(kind: Type) -> str:
    """As the engine spells it."""
    if kind.name == "LIST":
        return f"{spelled(kind.parts[0][1])}[]"
    if kind.name.startswith("ARRAY "):
        return f"{spelled(kind.parts[0][1])}[{kind.name.removeprefix('ARRAY ')}]"
    if kind.name == "MAP":
        return f"MAP({spelled(kind.parts[0][1])}, {spelled(kind.parts[1][1])})"
    if kind.parts:
        return f"{kind.name}({', '.join(f'{name} {spelled(part)}' for name, part in kind.parts)})"
    return kind.name


def _split(text: str) -> list[str]:
    """At commas that stand in no bracket and no quotes."""
    found, depth, start, quoted = [], 0, 0, ""
    for index, letter in enumerate(text):
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "\"'":
            quoted = letter
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[start:index])
            start = index + 1
    return [each.strip() for each in (*found, text[start:])]


def _field(text: str) -> tuple[str, str]:
    if text.startswith('"'):
        end = next(match.end() for match in re.finditer(r'"(?:[^"]|"")*"', text))
        return text[1 : end - 1].replace('""', '"'), text[end:].strip()
    name, _, kind = text.partition(" ")
    return name, kind
