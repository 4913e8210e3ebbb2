"""A reader of RFC 4180 that tells an empty cell from a quoted empty one, as Python's own does not before 3.12."""

from __future__ import annotations

import re
from functools import cache

Row = tuple[str | None, ...]


class Malformed(Exception):  # noqa: N818 - an answer about the text
    """The text is not CSV, or not of the columns that are declared; `line` counts from 1."""

    def __init__(self, line: int, because: str, remedy: str = "") -> None:
        super().__init__(because)
        self.line = line
        self.because = because
        self.remedy = remedy


@cache
def _cell(delimiter: str) -> re.Pattern[str]:
    escaped = re.escape(delimiter)
    return re.compile(rf'(?:"((?:[^"]|"")*)"|([^{escaped}"\r\n]*))({escaped}|\r?\n|\Z)')


def rows(text: str, delimiter: str) -> list[tuple[int, Row]]:
    """Each row with the line on which it begins. `None` is an empty cell without quotes.

    Lines with nothing on them are left out, unless the file has one column: there they are a row of its own.

    Raises:
        Malformed: a quote without its end, text beside a quoted cell, a quote inside a plain one, a carriage return alone.
    """
    if '"' not in text and "\r" not in text.replace("\r\n", ""):
        return _plain(text, delimiter)
    found: list[tuple[int, Row]] = []
    cell = _cell(delimiter)
    at, line, begun = 0, 1, 1
    cells: list[str | None] = []
    size = len(text)
    while at < size or cells:
        match = cell.match(text, at)
        if match is None:
            raise _why(text, at, line, delimiter)
        quoted, plain, end = match.groups()
        if quoted is None:
            cells.append(plain or None)
        else:
            cells.append(quoted.replace('""', '"'))
            line += quoted.count("\n")
        at = match.end()
        if end != delimiter:
            if cells != [None] or (found and len(found[0][1]) == 1):
                found.append((begun, tuple(cells)))
            cells = []
            line += 1
            begun = line
            if at >= size:
                break
    return found


def _plain(text: str, delimiter: str) -> list[tuple[int, Row]]:
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    found: list[tuple[int, Row]] = []
    for number, line in enumerate(lines, start=1):
        if line:
            found.append((number, tuple(cell or None for cell in line.split(delimiter))))
        elif found and len(found[0][1]) == 1:
            found.append((number, (None,)))
    return found


def _why(text: str, at: int, line: int, delimiter: str) -> Malformed:
    if text[at] == '"':
        quoted = re.compile(r'"(?:[^"]|"")*"').match(text, at)
        if quoted is None:
            return Malformed(line, "a quote is opened and never closed")
        after = text[quoted.end() : quoted.end() + 1]
        line += quoted[0].count("\n")
        return Malformed(line, f"there is {after!r} after a closing quote, where `{delimiter}` or the line's end belongs")
    rest = re.compile(r"[^\r\n\"]*").match(text, at)
    after = text[rest.end() : rest.end() + 1] if rest else ""
    if after == "\r":
        return Malformed(line, "there is a carriage return without a line feed")
    return Malformed(line, "there is a quote inside a cell that does not begin with one; write the cell in quotes, with each quote doubled")
