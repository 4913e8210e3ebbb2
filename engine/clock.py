"""The clock, so that no decision reads the machine's time by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

Clock: TypeAlias = Callable[[], datetime]


def system_clock() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A moment as text: UTC, microseconds, `Z`."""
    at = moment if moment.tzinfo is UTC else moment.astimezone(UTC)  # mostly it is, and each record asks
    if at.microsecond:  # its encoder writes the same, a tenth as long; it leaves out microseconds that are 0
        return str(msgspec.to_builtins(at))
    return at.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def moment(text: str) -> datetime:
    """Read what `stamp` wrote, or any ISO 8601 time with a zone; without one, UTC is meant.

    Raises:
        ValueError: the text is no such time.
    """
    parsed = datetime.fromisoformat(text)
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
