"""A project's .dbtignore: patterns as git has them, of files that dbt passes over."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

FILE: Final = ".dbtignore"


def ignoring(text: str) -> Callable[[str], bool]:
    r"""Whether dbt passes over a file, by its path relative to the package.

    >>> ignored = ignoring("models/old/\n*.tmp.sql\n!kept.tmp.sql\n/seeds/a?.csv")
    >>> [ignored(path) for path in ("models/old/deep/a.sql", "models/a.tmp.sql", "models/kept.tmp.sql", "seeds/ab.csv", "models/seeds/ab.csv")]
    [True, True, False, True, False]
    """
    patterns = [made for line in text.splitlines() if (made := _pattern(line)) is not None]

    def ignored(path: str) -> bool:
        found = False
        for pattern, is_ignored in patterns:
            if pattern.match(path):
                found = is_ignored
        return found

    return ignored


def _pattern(line: str) -> tuple[re.Pattern[str], bool] | None:
    line = line.rstrip() if not line.endswith("\\ ") else line
    if not line or line.startswith("#"):
        return None
    is_ignored = not line.startswith("!")
    line = line.removeprefix("!").removeprefix("\\")
    is_folder = line.endswith("/")
    anchored = "/" in line.strip("/") or line.startswith("/")
    parts = line.strip("/").split("/")
    made = "" if anchored else "(?:.*/)?"
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == "**":
            made += ".*" if is_last else "(?:.*/)?"
        else:
            made += _part(part) + ("" if is_last else "/")
    try:
        return re.compile(made + ("/.*" if is_folder else "(?:/.*)?") + r"\Z", re.DOTALL), is_ignored
    except re.error:
        return None  # as git passes over it


def _part(part: str) -> str:
    made, index = "", 0
    while index < len(part):
        letter = part[index]
        if letter == "*":
            made += "[^/]*"
        elif letter == "?":
            made += "[^/]"
        elif letter == "[" and (end := part.find("]", index + 2)) != -1:
            inside = part[index + 1 : end].replace("\\", "\\\\")
            made += f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]"
            index = end
        elif letter == "\\" and index + 1 < len(part):
            index += 1
            made += re.escape(part[index])
        else:
            made += re.escape(letter)
        index += 1
    return made
