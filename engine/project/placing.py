"""Findings about keys of TOML files, at the line of the key: rules that know a key by its path are told where it stands in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.project.document import position
from interlock.engine.project.positions import key_path, locate

_Keys: TypeAlias = dict[str, tuple[int, int]]
_LAST: Final = re.compile(r'\.(?:"[^"]*"|[^."\[\]]+)$|\[\d+\]$')
"""The last part of a key path as it is shown."""


def placed(findings: Iterable[Diagnostic], root: Path) -> tuple[Diagnostic, ...]:
    """The same findings; those that name a key of a TOML file and no line get its line, or that of the nearest key above it.

    Args:
        findings: of a project.
        root: its directory.
    """
    files: dict[str, tuple[str, _Keys] | None] = {}

    def at(place: Position) -> Position:
        if place.line is not None or not place.key or not place.path.endswith(".toml"):
            return place
        if place.path not in files:
            files[place.path] = _keys_of(root / place.path)
        known = files[place.path]
        return place if known is None else _found(place, *known)

    def finding(each: Diagnostic) -> Diagnostic:
        there, also = each.at and at(each.at), tuple(at(place) for place in each.also)
        return each if there is each.at and also == each.also else msgspec.structs.replace(each, at=there, also=also)

    return tuple(finding(each) for each in findings)


def _keys_of(file: Path) -> tuple[str, _Keys] | None:
    """A file's text and where each of its keys stands; nothing where it cannot be read, which has been told by whoever reads it."""
    try:
        text = file.read_text(encoding="utf-8")
        places = locate(text)
    except (OSError, ValueError, IndexError):
        return None
    keys: _Keys = {}
    for path, place in places.items():
        # Some rules write a dotted name in quotes, and some do not.
        plain = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
        keys[plain] = keys[key_path(path)] = place
    return text, keys


def _found(place: Position, text: str, keys: _Keys) -> Position:
    key = place.key
    while key not in keys:
        above = _LAST.sub("", key)
        # Of several tables of one name, the first is not the one that is meant.
        if above == key or f"{above}[0]" in keys:
            return place
        key = above
    offset, length = keys[key]
    return position(place.path, text, offset, length=length, key=place.key)
