"""Where each key of a TOML text stands. Read only on the way to an error, so that a finding can point at its key."""

from __future__ import annotations

import re
import tomllib
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
    re.DOTALL,
)
_OTHER = re.compile(r"[^,\]}\n#]*")


def key_path(path: KeyPath) -> str:
    """A key path as a person writes it: `contract.columns.order_id`, `checks[1].unique`, `sources."raw.orders"`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            shown = part if _BARE.fullmatch(part) else f'"{part}"'
            text += f".{shown}" if text else shown
    return text


def locate(text: str) -> dict[KeyPath, tuple[int, int]]:
    """Offset and length of every key of a TOML text, by key path. The text has been parsed already: it is valid."""
    scan = _Scan(text)
    scan.document()
    return scan.found


class _Scan:
    """A walk over a valid TOML text that keeps only where keys are."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[KeyPath, tuple[int, int]] = {}
        self.tables: dict[KeyPath, int] = {}
        """How many elements each array of tables has so far."""

    def document(self) -> None:
        prefix: KeyPath = ()
        while True:
            self.skip(_BETWEEN)
            if self.at >= len(self.text):
                return
            if self.text[self.at] == "[":
                prefix = self.header()
            else:
                self.pair(prefix)

    def header(self) -> KeyPath:
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        self.skip(_BLANK)
        keys = self.dotted()
        self.skip(_BLANK)
        self.at += 2 if many else 1
        path: KeyPath = ()
        for name, offset, length in keys[:-1]:
            path = self.resolved((*path, name))
            self.found.setdefault(path, (offset, length))
        name, offset, length = keys[-1]
        path = (*path, name)
        if many:
            self.found.setdefault(path, (offset, length))
            self.tables[path] = self.tables.get(path, 0) + 1
        path = self.resolved(path)
        self.found[path] = (offset, length)
        return path

    def resolved(self, path: KeyPath) -> KeyPath:
        return (*path, self.tables[path] - 1) if path in self.tables else path

    def pair(self, prefix: KeyPath) -> None:
        path = prefix
        for name, offset, length in self.dotted():
            path = (*path, name)
            self.found.setdefault(path, (offset, length))
        self.skip(_BLANK)
        self.at += 1  # the equals sign
        self.skip(_BLANK)
        self.value(path)

    def dotted(self) -> list[tuple[str, int, int]]:
        keys: list[tuple[str, int, int]] = []
        while True:
            start = self.at
            if self.text[start] in "\"'":
                self.skip(_STRING)
                name = str(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])
            else:
                self.skip(_BARE)
                name = self.text[start : self.at]
            keys.append((name, start, self.at - start))
            self.skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1
            self.skip(_BLANK)

    def value(self, path: KeyPath) -> None:
        start = self.text[self.at]
        if start in "\"'":
            self.skip(_STRING)
        elif start == "[":
            self.array(path)
        elif start == "{":
            self.inline(path)
        else:
            self.skip(_OTHER)

    def array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while True:
            self.skip(_BETWEEN)
            if self.text[self.at] == "]":
                self.at += 1
                return
            if self.text[self.at] == ",":
                self.at += 1
                continue
            start = self.at
            self.value((*path, index))
            self.found.setdefault((*path, index), (start, len(self.text[start : self.at].rstrip())))
            index += 1

    def inline(self, path: KeyPath) -> None:
        self.at += 1
        while True:
            self.skip(_BETWEEN)
            if self.text[self.at] == "}":
                self.at += 1
                return
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self.pair(path)

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
