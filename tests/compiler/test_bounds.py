"""Ranges of times whose upper end is a day: what is told, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import CONFIG, codes, compiled, model, place, the

LOSES = {
    "texts": "ordered_at between '2024-11-01' and '2024-11-30'",
    "typed": "ordered_at between date '2024-11-01' and date '2024-11-30'",
    "cast": "o.ordered_at between cast('2024-11-01' as date) and '2024-11-30'::date",
    "not": "ordered_at not between '2024-11-01' and '2024-11-30'",
    "cast to a time": "day::timestamp between '2024-11-01' and '2024-11-30'",
    "mixed": "ordered_at between timestamp '2024-11-01 08:00:00' and '2024-11-30'",
}
KEEPS = {
    "half open": "ordered_at >= '2024-11-01' and ordered_at < '2024-12-01'",
    "midnight is meant": "ordered_at between '2024-11-01' and timestamptz '2024-11-30 00:00:00+00'",
    "a time in text": "ordered_at between '2024-11-01' and '2024-11-30 23:59:59+00'",
    "a day of a day": "day between '2024-11-01' and '2024-11-30'",
    "compared as a day": "ordered_at::date between '2024-11-01' and '2024-11-30'",
    "a text column": "status between '2024-11-01' and '2024-11-30'",
    "at least": "ordered_at >= '2024-11-01'",
}


@pytest.mark.parametrize("condition", LOSES.values(), ids=LOSES)
def test_between_that_ends_with_a_day_is_an_error(tmp_path: Path, condition: str) -> None:
    finding = the(model(tmp_path, f"select id from raw.orders as o where {condition}"), "L230")
    assert finding.severity == "error"


@pytest.mark.parametrize("condition", KEEPS.values(), ids=KEEPS)
def test_what_loses_no_rows_is_not_spoken_of(tmp_path: Path, condition: str) -> None:
    assert "L230" not in codes(model(tmp_path, f"select id from raw.orders where {condition}"))


@pytest.mark.parametrize("condition", ["ordered_at <= '2024-11-30'", "date '2024-11-30' >= ordered_at"])
def test_at_most_a_day_is_a_warning(tmp_path: Path, condition: str) -> None:
    assert the(model(tmp_path, f"select id from raw.orders where {condition}"), "L230").severity == "warning"


@pytest.mark.parametrize(
    ("value", "loses"),
    [("2024-11-30", True), ('"2024-11-30"', True), ("2024-11-30T08:00:00Z", False), ('"2024-11-30 23:59:59+00"', False)],
)
def test_a_day_of_a_variable_is_a_day(tmp_path: Path, value: str, loses: bool) -> None:
    text = "select id from raw.orders where ordered_at between '2024-11-01' and $last"
    found = compiled(tmp_path, {"interlock.toml": f"{CONFIG}[vars]\nlast = {value}\n", "models/m.sql": text})
    assert codes(found) == (["L230"] if loses else [])


def test_a_time_that_became_a_day_under_its_own_name_is_a_day(tmp_path: Path) -> None:
    text = "with o as (select id, ordered_at::date as ordered_at from raw.orders) select id from o where ordered_at between '2024-11-01' and '2024-11-30'"
    assert "L230" not in codes(model(tmp_path, text))


def test_a_column_made_in_the_text_is_followed_by_its_cast(tmp_path: Path) -> None:
    text = "with o as (select id, cast(day as timestamp) as made from raw.orders) select id from o\nwhere made between '2024-11-01' and '2024-11-30'"
    finding = the(model(tmp_path, text), "L230")
    assert place(finding)[:3] == ("models/m.sql", 2, 37)


def test_the_remedy_helps(tmp_path: Path) -> None:
    found = model(tmp_path, "select id from raw.orders where ordered_at >= '2024-11-01' and ordered_at < '2024-12-01'")
    assert found.findings == ()
