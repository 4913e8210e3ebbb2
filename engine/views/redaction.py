"""Takes secrets out of a value before it is shown, whatever form it is shown in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec

Redactor: TypeAlias = Callable[[str], str]
V = TypeVar("V")


def nothing_secret(text: str) -> str:
    """The redactor for when no project has been read yet, so that no secret is known."""
    return text


def redacted(value: V, redact: Redactor) -> V:
    """The same value with every text in it redacted; parts without a secret stay as they are."""
    if redact is nothing_secret or redact is str:
        return value
    return _walk(value, redact)  # type: ignore[no-any-return]


def _walk(value: Any, redact: Redactor) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple):
        parts = tuple(_walk(part, redact) for part in value)
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    if isinstance(value, list):
        return [_walk(part, redact) for part in value]
    if isinstance(value, dict):
        return {_walk(key, redact): _walk(part, redact) for key, part in value.items()}
    if isinstance(value, msgspec.Struct):
        changes = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            new = _walk(old, redact)
            if new is not old and new != old:
                changes[name] = new
        return msgspec.structs.replace(value, **changes) if changes else value
    return value
