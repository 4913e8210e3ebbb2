"""Accepted values beside a column's type: what is compared loses nothing, and the rows are never cast."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from tests.compiler.projects import codes, errors, model

from interlock.engine.compiler.values import asked
from interlock.engine.warehouse.duckdb.quoting import Scalar

_BIG = 2**53 + 1

# type, values that it holds, values that it does not
TABLE: tuple[tuple[str, tuple[Scalar, ...], tuple[Scalar, ...]], ...] = (
    ("VARCHAR", ("a", "01", "it's", ""), (1, Decimal("1.5"), True, date(2024, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC))),
    ("INTEGER", (1, -1, "1", "-1", "1.0", Decimal("1.0"), True), ("a", "01", "+1", " 1", "1.5", "1e0", Decimal("1.5"), 2**31, date(2024, 1, 1))),
    ("UTINYINT", (255, "255"), (256, -1, "-1")),
    ("HUGEINT", (1, "170141183460469231731687303715884105727", Decimal("1.0")), ("170141183460469231731687303715884105728", Decimal("0.5"))),
    ("DECIMAL(10,2)", (1, Decimal("1.5"), Decimal("1.50"), "1.5", "1.500", "1"), (Decimal("1.005"), "1.005", "01.5", "x", 10**9)),
    ("DOUBLE", (1, Decimal("0.1"), "0.1", "1", "inf", _BIG - 1), (_BIG, "a", "00.1")),
    ("FLOAT", (Decimal("0.1"), "0.1", 1), (2**24 + 1, Decimal("0.123456789012"))),
    ("BOOLEAN", (True, False, "true", "False", 1, 0), (2, "yes", "1", "t", date(2024, 1, 1))),
    ("DATE", (date(2024, 1, 1), "2024-01-01", "infinity", datetime(2024, 1, 1)), ("01/02/2024", "2024-01-01 10:00", "2024-01-01+02", 20240101, True, datetime(2024, 1, 1, 10), datetime(2024, 1, 1, tzinfo=UTC))),
    ("TIMESTAMP", (date(2024, 1, 1), datetime(2024, 1, 1, 10), "2024-01-01", "2024-01-01T10:00", "2024-01-01 10:00:00.123456"), ("2024-01-01 10:00:00+02", "2024-01-01 10:00:00.1234567", "now", 1, datetime(2024, 1, 1, tzinfo=UTC))),
    ("TIMESTAMP_S", ("2024-01-01 10:00:00", datetime(2024, 1, 1, 10)), ("2024-01-01 10:00:00.5", datetime(2024, 1, 1, 10, 0, 0, 5))),
    ("TIMESTAMP_NS", ("2024-01-01 10:00:00.123456789", "2024-01-01"), ("9999-01-01",)),
    ("TIMESTAMP WITH TIME ZONE", (datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T10:00:00Z", "2024-01-01 10:00+02", "2024-01-01", date(2024, 1, 1)), ("yesterday", 1, True)),
    ("TIME", ("10:00", "10:00:00.5"), ("2024-01-01 10:00:00", "10", 10, date(2024, 1, 1))),
    ("UUID", ("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), ("a0eebc99", 1)),
    ("ENUM('a', 'b')", ("a", "b"), ("c", "A", 1, True)),
    ("INTEGER[]", ("[1, 2]",), ("[1,2]", "x", 1)),
    ("STRUCT(a INTEGER)", ("{'a': 1}",), ("x", 1)),
    ("JSON", ('{"a": 1}', "1"), ("a", 1)),
    ("INTERVAL", ("1 day",), ("a", 1)),
    ("BIT", ("101",), ("x", 1, True)),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, held, _ in TABLE for value in held], ids=str)
def test_a_value_that_the_type_holds_is_found_among_its_rows_and_rows_are_compared_as_they_are(kind: str, value: Scalar) -> None:
    found = asked(value, kind)
    assert found is not None
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        assert connection.sql(f"SELECT {found.kept}").fetchall() == [(True,)]
        connection.execute(f"CREATE TABLE t AS SELECT {found.sql}::{kind} AS x")
        assert connection.sql(f"SELECT x IN ({found.sql}) FROM t").fetchall() == [(True,)]
        plan = connection.sql(f"EXPLAIN SELECT x IN ({found.sql}) FROM t").fetchall()[0][1]
        assert "CAST(x" not in plan
        assert "TRY" not in plan


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, _, strange in TABLE for value in strange], ids=str)
def test_a_value_that_the_type_does_not_hold_is_none(kind: str, value: Scalar) -> None:
    found = asked(value, kind)
    if found is not None:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            assert connection.sql(f"SELECT {found.kept}").fetchall() == [(False,)]


@pytest.mark.parametrize(
    ("column", "values", "at", "because", "remedy"),
    [
        ("status", "[1, 2]", 0, "it is a number, and `status` holds texts", 'write texts, such as "1"'),
        ("status", "[true]", 0, "it is true or false", 'write texts, such as "true"'),
        ("status", "[2024-01-01]", 0, "it is a date", 'write texts, such as "2024-01-01"'),
        ("day", '["2024-01-01", "2024-01-01 10:00:00"]', 1, "would take it for 2024-01-01", 'write "2024-01-01"'),
        ("day", "[2024-01-01T00:00:00Z]", 0, "it is a time with a zone, and `day` is DATE", "write values of the type of `day`"),
        ("id", '["1", "01"]', 1, "would take it for 1", 'write "1"'),
        ("id", "[1, 2.5]", 1, "would take it for 3", "write values of the type of `id`"),
        ("id", "[1.0, 12345678901234567890123456789012345678901.5]", 1, "digits", "write it with fewer digits"),
        ("amount", '["1.00", "a"]', 1, "Could not convert", "write values of the type of `amount`"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_where_it_stands(
    column: str, values: str, at: int, because: str, remedy: str, tmp_path: Path
) -> None:
    body = f'[[checks]]\nunique = ["id"]\n[[checks]]\naccepted_values = {{ column = "{column}", values = {values} }}\n'
    found = model(tmp_path, "select id, amount, status, ordered_at, day from raw.orders", body)
    assert codes(found) == ["L225"], errors(found)
    (finding,) = errors(found)
    assert finding.at is not None
    assert (finding.at.path, finding.at.key) == ("models/m.toml", f"checks[1].accepted_values.values[{at}]")
    assert because in finding.because
    assert remedy in finding.remedy


def test_each_value_that_is_none_is_told(tmp_path: Path) -> None:
    body = '[[checks]]\naccepted_values = { column = "day", values = ["x", "2024-01-01", "y"] }\n'
    found = errors(model(tmp_path, "select day from raw.orders", body))
    assert [each.at.key for each in found if each.at] == ["checks[0].accepted_values.values[0]", "checks[0].accepted_values.values[2]"]
