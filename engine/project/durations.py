"""Lengths of time as people write them: `5 minutes`, `2 days`, or a whole number for columns that are no times."""

from __future__ import annotations

import re
from datetime import timedelta

_TEXT = re.compile(r"\s*([0-9]{1,9})(?:\s*(second|minute|hour|day|week)s?)?\s*", re.ASCII)


def duration(text: str) -> timedelta | int:
    """Read `2 days`, `5 minutes`, `1 hour`, or a whole number such as `100`.

    Months and years are no lengths of time (they have no fixed one) and are not read.

    Raises:
        ValueError: the text is no such thing; the message says what one looks like.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"`{text}` is no length of time; write a whole number of seconds, minutes, hours, days or weeks, such as `2 days`")
    number = int(found[1])
    return number if found[2] is None else timedelta(**{f"{found[2]}s": number})


def seconds(text: str) -> int:
    """A length of time in whole seconds.

    Raises:
        ValueError: the text is no length of time, or has no unit.
    """
    length = duration(text)
    if isinstance(length, int):
        raise ValueError(f"`{text}` has no unit; write it as `{text.strip()} hours`, say")  # noqa: TRY004 - a wrong value, not a wrong type
    return length.days * 86400 + length.seconds
