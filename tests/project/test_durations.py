from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.engine.project.durations import duration, seconds


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("2 days", timedelta(days=2)),
        ("1 day", timedelta(days=1)),
        ("5 minutes", timedelta(minutes=5)),
        ("90 seconds", timedelta(seconds=90)),
        ("1 week", timedelta(weeks=1)),
        ("3hours", timedelta(hours=3)),
        ("100", 100),
        ("0", 0),
    ],
)
def test_a_length_of_time_is_read(text: str, length: timedelta | int) -> None:
    assert duration(text) == length


@pytest.mark.parametrize(
    "text", ["", "two days", "1 month", "1 year", "-1 day", "1.5 days", "1 day 2 hours", "1 Day", "9" * 12, "\u0663 days"]
)
def test_anything_else_is_not(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        duration(text)


def test_seconds_need_a_unit() -> None:
    assert seconds("2 hours") == 7200
    with pytest.raises(ValueError, match="no unit"):
        seconds("2")
