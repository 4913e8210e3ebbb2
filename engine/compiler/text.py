"""The author's text: its tokens, places in it, and the replacing of spans. Offsets are in bytes of UTF-8."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterable
from typing import Final, NamedTuple

from interlock.engine.diagnostics import Position
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.parser import Token

_AT_END: Final = (";", "--", "*/", "/*")


class Edit(NamedTuple):
    """A span and what stands in its place."""

    start: int
    end: int
    text: str


class Spliced(NamedTuple):
    """A text after its edits, and the way back: for each run of bytes, where it begins in the new and in the old text."""

    text: str
    starts: tuple[int, ...]
    origins: tuple[tuple[int, bool], ...]
    """Old offset of each run, and whether the run stands as it was (else every byte of it comes from that offset)."""

    def origin(self, offset: int) -> int:
        """The offset in the old text that a byte of the new one comes from."""
        index = max(0, bisect.bisect_right(self.starts, offset) - 1)
        old, kept = self.origins[index]
        return old + (offset - self.starts[index]) if kept else old


class Text:
    """A text of a project file, such as a model or a check's expression."""

    def __init__(self, text: str, path: str, key: str = "") -> None:
        """Hold it.

        Args:
            text: as it stands in the file.
            path: of the file, relative to the project.
            key: for a text that stands within a TOML file, its key path; then places in it are not places in the file.
        """
        self.text = text
        self.path = path
        self.key = key
        self.data = text.encode()

    @functools.cached_property
    def tokens(self) -> list[Token]:
        """All tokens."""
        return parser.tokens(self.text)

    @functools.cached_property
    def words(self) -> list[Token]:
        """The tokens without comments."""
        return [token for token in self.tokens if token.kind != "comment"]

    @functools.cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.words]

    @functools.cached_property
    def end(self) -> int:
        """Where the statement ends: one or more `;` and comments after it are not part of it."""
        whole = self.text.rstrip()
        last = whole[whole.rfind("\n") + 1 :]
        if last and not any(mark in last for mark in _AT_END):
            return len(whole.encode())  # without asking for tokens: a comment or a `;` at the end would stand in the last line
        for token in reversed(self.words):
            if token.text != ";":
                return token.end
        return 0

    def word_at(self, offset: int) -> int | None:
        """The index in `words` of the one that begins at an offset."""
        index = bisect.bisect_left(self._starts, offset)
        return index if index < len(self._starts) and self._starts[index] == offset else None

    def at(self, offset: int | None, length: int = 0) -> Position:
        """The place of a byte offset, for a person."""
        if self.key or offset is None:
            return Position(path=self.path, key=self.key)
        offset = min(offset, len(self.data))
        before = self.data[:offset].decode(errors="ignore")
        line_start = before.rfind("\n") + 1
        line_end = self.text.find("\n", line_start)
        excerpt = self.text[line_start:] if line_end < 0 else self.text[line_start:line_end]
        column = len(before) - line_start
        shown = len(self.data[offset : offset + length].decode(errors="ignore").partition("\n")[0])
        return Position(path=self.path, line=before.count("\n") + 1, column=column + 1, length=shown, excerpt=excerpt.rstrip("\r"))

    def splice(self, edits: Iterable[Edit], *, start: int = 0, end: int | None = None) -> Spliced:
        """The statement with spans replaced, without what stands after it; or the part of the text from `start` to `end`."""
        end = self.end if end is None else end
        pieces: list[bytes] = []
        starts: list[int] = []
        origins: list[tuple[int, bool]] = []
        written = 0
        cursor = start

        def put(piece: bytes, origin: int, *, kept: bool) -> None:
            nonlocal written
            if piece:
                pieces.append(piece)
                starts.append(written)
                origins.append((origin, kept))
                written += len(piece)

        for edit in sorted(edits):
            put(self.data[cursor : edit.start], cursor, kept=True)
            put(edit.text.encode(), edit.start, kept=False)
            cursor = edit.end
        put(self.data[cursor:end], cursor, kept=True)
        return Spliced(b"".join(pieces).decode(), tuple(starts) or (0,), tuple(origins) or ((0, True),))


def wrapped(text: str) -> str:
    """A statement in brackets: the line breaks keep a comment at its end from swallowing the bracket."""
    return f"(\n{text}\n)"
