"""How text looks: colour or none, widths of characters, tables, and words for numbers. Pure but for `look_of`."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TextIO, TypeAlias

from interlock.engine.views.given import HERE, Given
from interlock.machines.records import Record

Ink: TypeAlias = Literal["red", "yellow", "green", "blue", "dim", "bold"]

_CODES: Final[dict[Ink, str]] = {"red": "31", "yellow": "33", "green": "32", "blue": "36", "dim": "2", "bold": "1"}
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_WORDS: Final = re.compile(r"(?:`[^`]*`|\S)+")
_ROOM_MIN: Final = 24
"""Prose has at least this much beside its indent, however narrow the terminal is."""
_ESCAPED: Final = re.compile(r"\x1b\[[0-9;]*m")


class Look(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether to colour, and for which width to write (0: do not cut)."""

    colour: Literal["yes", "no"] = "no"
    width: int = 0
    given: Given = HERE
    """Where the person said that the project is, for the commands that are proposed."""

    def act(self, text: str) -> str:
        """A text whose proposed commands can be typed as they stand."""
        return self.given.act(text)

    def ink(self, text: str, *inks: Ink) -> str:
        """The text in this colour, or as it is."""
        if self.colour == "no" or not text:
            return text
        return f"\x1b[{';'.join(_CODES[each] for each in inks)}m{text}\x1b[0m"


PLAIN: Final = Look()


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that understands cursor movement."""
    try:
        return stream.isatty() and os.environ.get("TERM", "") != "dumb"
    except ValueError:  # closed
        return False


def look_of(stream: TextIO, environment: Mapping[str, str], given: Given = HERE) -> Look:
    """The look for a stream: colour only on a terminal, and never where NO_COLOR is set to anything."""
    if not is_terminal(stream):
        return PLAIN if given is HERE else Look(given=given)
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        width = 80
    return Look(colour="no" if environment.get("NO_COLOR") else "yes", width=width, given=given)


def printable(text: str) -> str:
    """The text with control and direction characters made visible, so that no data can move the cursor or hide words."""
    if text.isascii() and text.isprintable():
        return text
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The text on one line, made printable."""
    if text.isascii() and text.isprintable():
        return text
    return printable(text.replace("\r\n", "\n").replace("\n", "\\n").replace("\t", " "))


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal; colour codes take none."""
    bare = _ESCAPED.sub("", text)
    if bare.isascii():
        return len(bare)
    return sum(_width_of_character(character) for character in bare)


def _width_of_character(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def cut(text: str, width: int) -> str:
    """A text without colour codes, at most so wide, with an ellipsis where something was cut."""
    if width_of(text) <= width:
        return text
    taken: list[str] = []
    room = width - 1
    for character in text:
        room -= _width_of_character(character)
        if room < 0:
            break
        taken.append(character)
    return "".join(taken) + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text filled up with blanks to a width."""
    fill = " " * max(0, width - width_of(text))
    return fill + text if right else text + fill


def table(rows: Sequence[Sequence[str]], *, indent: str = "  ", gap: str = "  ", right: frozenset[int] = frozenset()) -> list[str]:
    """Rows in aligned columns; a column that is empty in every row takes no room; blanks at the end are cut.

    `right` holds the indexes of the columns that are aligned to the right (numbers).
    """
    if not rows:
        return []
    count = max(len(row) for row in rows)
    filled = [list(row) + [""] * (count - len(row)) for row in rows]
    widths = [max(width_of(row[index]) for row in filled) for index in range(count)]
    kept = [index for index in range(count) if widths[index]]
    return [(indent + gap.join(pad(row[index], widths[index], right=index in right) for index in kept)).rstrip() for row in filled]


def number(count: int) -> str:
    """A whole number with commas between thousands."""
    return f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number and its noun: `1 row`, `2 rows`."""
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def duration(milliseconds: int) -> str:
    """A time span for people: `12 ms`, `3.4 s`, `2 min 5 s`, `1 h 2 min`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s" if milliseconds < 59_950 else "1 min 0 s"
    minutes, seconds = divmod(milliseconds // 1000, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def listed(names: Iterable[str], *, most: int = 8) -> str:
    """Names after each other, cut after so many: `a, b, c and 4 more`."""
    known = list(names)
    if len(known) <= most + 1:
        return ", ".join(known)
    return f"{', '.join(known[:most])} and {len(known) - most} more"


def short(identity: str | None) -> str:
    """The first twelve characters of a digest: enough for people to tell ids apart."""
    return identity[:12] if identity else ""


def indented(text: str, indent: str, first: str | None = None, *, width: int = 0) -> list[str]:
    """Each line of a text behind an indent (`first` before the first line), made printable; of prose at most so wide, 0: not cut."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").rstrip("\n").split("\n"):
        start = indent if lines or first is None else first
        lines += _wrapped(printable(line), start, indent, width) if width else [start + printable(line)]
    return lines


def _wrapped(line: str, first: str, indent: str, width: int) -> list[str]:
    """A line of prose as several. What stands between backticks is not broken, so that it can be copied."""
    room = max(width, width_of(indent) + _ROOM_MIN)
    if width_of(first) + width_of(line) <= room:
        return [first + line]
    lines, begun = [first], False
    for word in _WORDS.findall(line):
        if begun and width_of(lines[-1]) + 1 + width_of(word) > room:
            lines.append(indent)
            begun = False
        lines[-1] += f" {word}" if begun else word
        begun = True
    return lines
