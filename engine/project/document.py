"""A project file as read: its bytes, its text, its tree, and the findings that it gave."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from interlock.engine.diagnostics import Diagnostic, Position, Refused, refused
from interlock.engine.project.positions import KeyPath, key_path, locate
from interlock.engine.project.unclosed import unclosed

_PIECE = 1 << 13
_LARGE = 1 << 20
_BOM = "\ufeff"
_ZERO = re.compile(r"\\(u0000|U00000000|x00)")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_bytes(root: Path, path: str) -> bytes:
    """The bytes of a project file.

    Raises:
        Refused: S101, it cannot be read.
    """
    try:
        # Ten thousand files: no Path and no file object for each, and no room for a large one. A pipe in a file's place is not waited for.
        descriptor = os.open(f"{root}/{path}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            data = os.read(descriptor, _PIECE)
            if 0 < len(data) < _PIECE:
                return data
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "it is a pipe or a device, and no file")
            return _all(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        because = error.strerror or type(error).__name__
        raise refused(
            "S101", f"`{path}` cannot be read", because=because, remedy="see to its permissions", at=Position(path=path)
        ) from error


def _all(descriptor: int, first: bytes) -> bytes:
    pieces = [first]
    while data := os.read(descriptor, _LARGE):
        pieces.append(data)
    return b"".join(pieces)


def decode_text(path: str, data: bytes) -> str:
    """A file's text: UTF-8 whatever the locale, without a byte order mark; line ends stay as they are.

    Raises:
        Refused: S101, it is not UTF-8, or holds a zero byte, which no SQL can carry; says at which byte.
    """
    if (zero := data.find(0)) >= 0:
        raise refused(
            "S101",
            f"`{path}` holds a zero byte",
            because=f"byte {zero} is 0x00",
            remedy="save the file as UTF-8 text",
            at=Position(path=path, line=data.count(b"\n", 0, zero) + 1),
        )
    try:
        return data.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refused(
            "S101",
            f"`{path}` is not UTF-8",
            because=f"byte {error.start} is 0x{data[error.start]:02x}: {error.reason}",
            remedy="save the file as UTF-8",
            at=Position(path=path, line=line),
        ) from error


def position(path: str, text: str, offset: int, *, length: int = 0, key: str = "") -> Position:
    """The place of a character in a text."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    excerpt = text[start : len(text) if end < 0 else end].rstrip("\r")
    line = text.count("\n", 0, offset) + 1
    return Position(path=path, line=line, column=offset - start + 1, length=length, excerpt=excerpt, key=key)


def _broken(path: str, text: str, message: str) -> Refused:
    """S102: why a text is not TOML, and where; of something that is not closed, where it was opened."""
    found = _PLACE.search(message)
    line = int(found[1]) if found and found[1] else text.count("\n") + 1
    column = int(found[2]) if found and found[2] else 1
    lines = text.split("\n")
    summary = f"`{path}` is not valid TOML"
    gave_up = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1 if found and found[1] else len(text)
    open_ = unclosed(text, gave_up)
    if open_ is not None:
        at = position(path, text, open_.offset, length=len(open_.opens))
        because = f"`{open_.opens}` is opened here, and not closed"
        if at.line != line and line <= len(lines) and lines[line - 1].strip():
            because += f" before line {line}"
        return refused("S102", summary, because=because, remedy=f"close it with `{open_.closes}`", at=at)
    excerpt = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
    twice = "twice" in message or "overwrite" in message
    return refused(
        "S102",
        summary,
        because=_PLACE.sub("", message),
        remedy="a key may stand only once" if twice else "write `key = value`, a text in quotes; https://toml.io has the rules",
        at=Position(path=path, line=line, column=column, excerpt=excerpt),
    )


class Document:
    """A TOML file of the project. Findings are collected in `findings` as it is decoded."""

    def __init__(self, path: str, text: str, tree: dict[str, Any]) -> None:
        self.path = path
        self.text = text
        self.tree = tree
        self.findings: list[Diagnostic] = []
        self.first_level: frozenset[str] = frozenset()
        """Keys that may stand above the first table, once the file was found to hold others."""
        self._places: dict[KeyPath, tuple[int, int]] | None = None

    @classmethod
    def parse(cls, path: str, text: str) -> Document:
        """Read a TOML text. Numbers with a point become decimals, so that none is rounded.

        Raises:
            Refused: S102, it is not valid TOML, with line and column; S104, an escape in it is a zero byte.
        """
        try:
            # tomllib wants `\n` or `\r\n`; a lone `\r` is its error to tell.
            tree = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            # A whole number of thousands of digits is TOML, and nothing that Python reads; so are thousands of brackets.
            message = str(error)
            if not isinstance(error, tomllib.TOMLDecodeError):
                message = "it holds a number of too many digits" if isinstance(error, ValueError) else "its values are nested too deeply"
            raise _broken(path, text, message) from error
        document = cls(path, text, tree)
        if _ZERO.search(text):
            for keys, value in strings(tree):
                if "\0" in value or any("\0" in str(key) for key in keys):
                    at = document.at(keys)
                    raise refused("S104", f"`{key_path(keys)}` holds a zero byte", remedy="take it out: no SQL can carry it", at=at)
        return document

    def at(self, path: KeyPath) -> Position:
        """The place of a key, or of the nearest key above it."""
        if self._places is None:
            self._places = locate(self.text)
        shown = key_path(path)
        above = path
        while above:
            if above in self._places:
                offset, length = self._places[above]
                return position(self.path, self.text, offset, length=length, key=shown)
            above = above[:-1]
        return Position(path=self.path, key=shown)

    def has_findings(self, path: KeyPath) -> bool:
        """Whether something under this key was found to be wrong already."""
        above = f"{key_path(path)}."
        return any(finding.at is not None and finding.at.key.startswith(above) for finding in self.findings)

    def report(self, code: str, path: KeyPath, summary: str, *, because: str = "", remedy: str = "", subject: str = "") -> None:
        """Keep a finding about a key."""
        self.findings.append(Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=self.at(path), subject=subject))


def strings(tree: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Every text value of a tree with its key path."""
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from strings(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from strings(value, (*path, index))


def refuse_environment(document: Document) -> None:
    """S104 for each `${` in a file other than `interlock.toml`: environment variables have no meaning there."""
    if "${" not in document.text:
        return
    for path, text in strings(document.tree):
        if "${" in text:
            document.report(
                "S104",
                path,
                f"`${{…}}` has no meaning in `{document.path}`",
                because="environment variables are read in interlock.toml only",
                remedy="use a project variable (`$name`, declared under [vars]) in SQL, or write the value itself",
            )
