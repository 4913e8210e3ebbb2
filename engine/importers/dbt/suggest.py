"""What was meant: only a name that one or two slips of the hand make of the one that is there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one name that is a slip away, or nothing.

    >>> nearest("unique_keys", ["unique_key", "begin"]), nearest("engine", ["begin"]), nearest("materialised", ["materialized"])
    ('unique_key', None, 'materialized')
    """
    folded = {each.lower(): each for each in names}
    for close in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6):
        if _slips(name.lower(), close) <= 1 + len(name) // 6:
            return folded[close]
    return None


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    """A remedy that names what was meant, or `otherwise`."""
    near = nearest(name, names)
    return f"did you mean `{near}`?" if near else otherwise


def _slips(one: str, other: str) -> int:
    """How many letters are too many, missing or wrong."""
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one, 1):
        above, row = row, [index]
        for place, wanted in enumerate(other, 1):
            row.append(min(above[place] + 1, row[-1] + 1, above[place - 1] + (letter != wanted)))
    return row[-1]
