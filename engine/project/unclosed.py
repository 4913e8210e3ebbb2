"""Where a bracket or a text of a broken TOML file was opened: the parser names only the place at which it gave up."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_CLOSES: Final = {"[": "]", "{": "}"}
_WORD: Final = re.compile(
    r'#[^\n]*|"""(?:\\.|(?!""").)*"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|[\[\]{}=\n"\']|[^\[\]{}=\n"\'#]+', re.DOTALL
)


class Unclosed(NamedTuple):
    """What was opened, where, and what closes it."""

    opens: str
    offset: int
    closes: str


def unclosed(text: str, end: int) -> Unclosed | None:
    """The innermost bracket or text that is open where the parser gave up; `None` where none is.

    Args:
        text: of the file.
        end: offset at which the parser gave up.
    """
    open_: list[Unclosed] = []
    is_value = False
    for found in _WORD.finditer(text):
        word = found[0]
        if found.start() >= end:
            break
        if word in {'"', "'", '""', "''"}:
            # Of a text in three quotes that does not end, two are read as an empty one.
            quote = word[0] * 3 if text.startswith(word[0] * 3, found.start()) else word[0]
            if len(word) == 1 or len(quote) > 1:
                return Unclosed(quote, found.start(), quote)
        if word == "=":
            is_value = True
        elif word == "\n" and not open_:
            is_value = False
        elif word in _CLOSES and is_value:
            open_.append(Unclosed(word, found.start(), _CLOSES[word]))
        elif open_ and word == open_[-1].closes:
            open_.pop()
    return open_[-1] if open_ else None
