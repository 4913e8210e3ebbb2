"""Whatever a person wrote survives the way into DuckDB's text and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.warehouse.duckdb.quoting import identifier, literal, relation, string
from interlock.engine.warehouse.duckdb.write import comment

CONNECTION = duckdb.connect()
CONNECTION.execute("SET TimeZone = 'UTC'")
CONNECTION.execute("ATTACH ':memory:' AS warehouse")
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)


def value_of(text: str) -> object:
    row = CONNECTION.execute(f"SELECT {text}").fetchone()
    assert row is not None
    return row[0]


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_survives(text: str) -> None:
    assert value_of(string(text)) == text


@given(NAMES)
def test_any_name_survives(name: str) -> None:
    assert CONNECTION.execute(f"SELECT 1 AS {identifier(name)}").description[0][0] == name


@given(NAMES)
def test_any_name_can_be_a_relation(name: str) -> None:
    quoted = relation("main", name)
    CONNECTION.execute(f"CREATE TABLE {quoted} AS SELECT 1 AS a")
    CONNECTION.execute(comment("table", quoted, name, None).text)
    assert CONNECTION.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall() == [(name, name)]
    CONNECTION.execute(f"DROP TABLE {quoted}")


@given(st.integers(min_value=-(2**127) + 1, max_value=2**127 - 1))
def test_any_integer_survives(number: int) -> None:
    assert value_of(literal(number)) == number
    assert value_of(f"0 -{literal(number)}" if number > -(2**126) and number < 2**126 else "0") in {-number, 0}


@given(st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**20), max_value=10**20))
def test_any_decimal_survives_as_a_decimal(number: Decimal) -> None:
    assert value_of(literal(number)) == number
    assert str(value_of(f"typeof({literal(number)})")).startswith("DECIMAL")


@given(st.dates(min_value=date(1, 1, 1)))
def test_any_date_survives(day: date) -> None:
    assert value_of(literal(day)) == day


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_any_time_survives_with_and_without_a_zone(moment: datetime) -> None:
    assert value_of(literal(moment)) == moment
    aware = moment.replace(tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert value_of(f"epoch_us({literal(aware)})") == (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_a_list_is_a_list() -> None:
    assert value_of(literal(("a'b", "c"))) == ["a'b", "c"]
    assert value_of(f"3 IN {literal((1, 2, 3))}") is True


@pytest.mark.parametrize("value", [2**127, Decimal("NaN"), Decimal("Infinity"), Decimal(10) ** 40, Decimal("1e-39"), "\ud800"])
def test_what_has_no_exact_literal_is_refused(value: str | int | Decimal) -> None:
    with pytest.raises(ValueError, match=r".+"):
        literal(value)


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        identifier(name)
