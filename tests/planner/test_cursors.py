"""Bounds of incremental models: ranges are half-open, their union is the whole, and the clock of the plan alone ends them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.planner import cursors
from interlock.engine.planner.cursors import Wish, gaps, merged, observe, until_of
from interlock.engine.project.project import ModelFile
from interlock.engine.warehouse.duckdb.limits import greatest, least
from interlock.engine.warehouse.duckdb.write import bucket
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.machines.evidence import Span

NOON = datetime(2024, 1, 10, 12, 0, 0, 5, tzinfo=UTC)


class Asker:
    """A reader that only answers queries."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")

    def query(self, text: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(text).fetchall()


def model(**more: Any) -> ModelFile:
    return ModelFile(name="m", path="models/m.sql", sidecar=None, text="", **more)


@pytest.mark.parametrize(
    ("type_", "until", "expected"),
    [
        ("DATE", None, "2024-01-12"),
        ("TIMESTAMP", None, "2024-01-11 12:00:00"),
        ("TIMESTAMP WITH TIME ZONE", None, "2024-01-10 12:05:00+00"),
        ("TIMESTAMP", "2 hours", "2024-01-10 14:00:00"),
        ("TIMESTAMP", "none", None),
        ("BIGINT", None, None),
        ("VARCHAR", None, None),
    ],
)
def test_the_upper_end_is_the_plans_time_plus_a_skew(type_: str, until: str | None, expected: str | None) -> None:
    assert until_of(model(until=until), type_, NOON) == expected


def wish(**more: Any) -> Wish:
    fields: dict[str, Any] = {
        "model": "m",
        "column": "day",
        "type": "DATE",
        "high": "2024-01-10",
        "lookback": None,
        "width": "day",
        "until": "2024-01-12",
        "upper_query": None,
        "range_low": None,
        "range_high": None,
        "covered": (),
    }
    return Wish(**{**fields, **more})


def test_the_last_stretch_begins_at_the_watermark_less_lookback() -> None:
    found = observe(Asker(), [wish(lookback="2 days", covered=(Span(low="", high="2024-01-11"),))])[0]["m"]  # type: ignore[arg-type]
    assert found.low == "2024-01-08"
    assert found.ranges == (Span(low="2024-01-08", high="2024-01-12"),)
    assert found.covered == (Span(low="", high="2024-01-12"),)


def test_a_week_begins_on_monday_and_integers_in_steps() -> None:
    asked = [wish(width="week"), wish(model="n", type="BIGINT", high="-7", width="5", until=None, upper_query="select 12 as day")]
    found = observe(Asker(), asked)[0]  # type: ignore[arg-type]
    assert found["m"].low == "2024-01-08"
    assert found["n"].low == "-10"
    assert found["n"].ranges == (Span(low="-10", high="13"),)


def test_missing_ranges_are_what_lies_between_covered_ones() -> None:
    covered = (Span(low="2024-01-01", high="2024-01-03"), Span(low="2024-01-05", high="2024-01-11"))
    found = observe(Asker(), [wish(covered=covered)])[0]["m"]  # type: ignore[arg-type]
    assert found.ranges == (Span(low="2024-01-03", high="2024-01-05"), Span(low="2024-01-10", high="2024-01-12"))
    assert found.covered == (Span(low="2024-01-01", high="2024-01-12"),)


def test_an_end_that_is_no_value_of_the_type_is_named() -> None:
    found = observe(Asker(), [wish(range_low="yesterday", range_high="2024-01-03")])[0]["m"]  # type: ignore[arg-type]
    assert found.bad_range == "yesterday"


ends = st.integers(min_value=0, max_value=30)


@given(st.lists(st.tuples(ends, ends), max_size=8))
def test_merging_keeps_every_value_and_overlaps_nowhere(pairs: list[tuple[int, int]]) -> None:
    order = {str(value): value for value in range(31)}
    result = merged([Span(low=str(low), high=str(high)) for low, high in pairs], order)
    inside = {value for low, high in pairs for value in range(low, high)}
    again = [value for span in result for value in range(int(span.low), int(span.high))]
    assert sorted(again) == sorted(inside)
    assert sorted({*inside, *(v for s in gaps(result, order, "30") for v in range(int(s.low), int(s.high)))}) == (
        list(range(min(inside), max(inside) + 1)) if inside else []
    )


@pytest.mark.parametrize("type_", ["TINYINT", "USMALLINT", "INTEGER", "UBIGINT", "HUGEINT"])
@pytest.mark.parametrize("width", [1, 7, 200, 30_000])
def test_a_range_begins_within_its_type(type_: str, width: int) -> None:
    first, last = int(least(type_) or "0"), int(greatest(type_) or "0")
    for value in {first, first + 1, max(first, -7), max(first, -1), 0, 1, 100, last - 1, last}:
        start = bucket("v", str(width), type_)
        answer = Asker().query(f"SELECT CAST({start} AS VARCHAR), typeof({start}) FROM (SELECT CAST('{value}' AS {type_}) AS v)")
        assert answer == [(str(max(first, value // width * width)), type_)]


def test_what_is_looked_back_at_begins_within_its_type() -> None:
    asked = [
        wish(type="UINTEGER", high="5", width=None, until=None, lookback="10"),
        wish(model="d", type="DECIMAL(4,1)", high="-999.0", width=None, until=None, lookback="10"),
    ]
    found = observe(Asker(), asked)[0]  # type: ignore[arg-type]
    assert (found["m"].low, found["d"].low) == ("0", "-999.9")


def test_many_are_asked_in_lots_and_each_gets_its_own_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    wishes = [wish(model=f"m{number}", high=f"2024-01-{number + 1:02d}") for number in range(7)]
    whole = observe(Asker(), wishes)  # type: ignore[arg-type]
    assert len({facts.low for facts in whole[0].values()}) == 7
    monkeypatch.setattr(cursors, "ASKED_AT_ONCE", 3)
    assert observe(Asker(), wishes) == whole  # type: ignore[arg-type]
    assert observe(Asker(), []) == ({}, {})  # type: ignore[arg-type]


def test_what_several_ask_is_asked_once_and_each_answer_is_its_own() -> None:
    class Counting(Asker):
        asked = 0

        def query(self, text: str) -> list[tuple[Any, ...]]:
            self.asked += text.count("'low': ")
            return super().query(text)

    first, second = Span(low="", high="2024-01-05"), Span(low="2024-01-05", high="")
    wishes = [
        *(wish(model=f"m{number}") for number in range(5)),
        wish(model="before", covered=(first,)),
        wish(model="after", covered=(second,)),
    ]
    counting = Counting()
    found, why = observe(counting, wishes)  # type: ignore[arg-type]
    assert counting.asked == 2
    assert why == {}
    for each in wishes:
        assert found[each.model] == observe(Asker(), [each])[0][each.model]  # type: ignore[arg-type]
    assert found["before"].covered != found["after"].covered


def test_what_gets_no_answer_gets_none_for_whoever_asked_it() -> None:
    class Failing(Asker):
        def query(self, text: str) -> list[tuple[Any, ...]]:
            try:
                return super().query(text)
            except duckdb.Error as error:
                raise WarehouseError(str(error), kind="permanent", scope="statement", code="W608") from None

    bad = {"type": "INTEGER", "width": None, "until": None, "upper_query": "SELECT nothing_there AS day"}
    wishes = [wish(model="a", high="1", **bad), wish(model="good"), wish(model="b", high="1", **bad)]
    found, why = observe(Failing(), wishes)  # type: ignore[arg-type]
    assert set(found) == {"good"}
    assert set(why) == {"a", "b"}
    assert "nothing_there" in why["a"]
