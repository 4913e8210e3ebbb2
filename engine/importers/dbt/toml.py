"""TOML as the importer writes it: tables in order, texts of several lines as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def key(text: str) -> str:
    """A key, quoted where it must be."""
    return text if _BARE.fullmatch(text) else string(text)


def string(text: str) -> str:
    """A text on one line."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def text(value: str) -> str:
    """A text: of several lines literally where that can be read back."""
    if "\n" not in value or "'''" in value or value.endswith("'") or _CONTROL.search(value):
        return string(value)
    return f"'''\n{value}'''"


def value(given: Any) -> str:
    """A value: scalars, lists and inline tables.

    Raises:
        TypeError: TOML has no such value.
    """
    match given:
        case bool():
            return "true" if given else "false"
        case int() | Decimal():
            return str(given)
        case float():
            return repr(given)
        case str():
            return text(given)
        case datetime() | date():
            return given.isoformat()
        case Mapping():
            inner = ", ".join(f"{key(str(name))} = {value(each)}" for name, each in given.items())
            return f"{{ {inner} }}"
        case Sequence():
            return f"[{', '.join(value(each) for each in given)}]"
        case _:
            raise TypeError(type(given).__name__)


def pairs(given: Mapping[str, Any]) -> list[str]:
    """`key = value` lines of what is given."""
    return [f"{key(name)} = {value(each)}" for name, each in given.items()]
