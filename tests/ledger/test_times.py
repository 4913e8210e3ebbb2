"""A moment is written in one form only, whatever its zone and its fraction of a second: times are compared as texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import example, given
from hypothesis import strategies as st

from interlock.engine.clock import moment, stamp

ZONES = st.integers(min_value=-23 * 60, max_value=23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 30), timezones=ZONES | st.just(UTC))


@given(MOMENTS)
@example(datetime(2026, 2, 3, 4, 5, 6, 0, tzinfo=UTC))
@example(datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC))
@example(datetime(2026, 2, 3, 4, 5, 6, 120_000, tzinfo=UTC))
@example(datetime(45, 2, 3, 4, 5, 6, 7, tzinfo=UTC))
def test_a_moment_is_written_in_utc_with_microseconds_and_read_again(at: datetime) -> None:
    written = stamp(at)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", written)
    assert moment(written) == at


@given(MOMENTS, MOMENTS)
def test_texts_of_moments_are_in_the_order_of_the_moments(one: datetime, other: datetime) -> None:
    assert (stamp(one) < stamp(other)) == (one < other)
