from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.project.files import CONFIG, codes, one, place, project

from interlock.engine.project.project import Variable

DECLARED = """
[vars]
text = "x"
number = 1
price = 1.50
flag = true
day = 2024-01-01
naive = 2024-01-01T00:00:00
zoned = 2024-01-01T00:00:00Z
numbers = [1, 2]
words = ["a", "b"]
"""


def variables(root: Path, **given: str) -> dict[str, Variable]:
    found = project(root, {"interlock.toml": CONFIG + DECLARED}, variables=given)
    assert found.findings == (), found.findings
    return found.variables


def test_declared_values_keep_their_types(tmp_path: Path) -> None:
    assert variables(tmp_path) == {
        "text": "x",
        "number": 1,
        "price": Decimal("1.50"),
        "flag": True,
        "day": date(2024, 1, 1),
        "naive": datetime(2024, 1, 1),
        "zoned": datetime(2024, 1, 1, tzinfo=UTC),
        "numbers": (1, 2),
        "words": ("a", "b"),
    }
    assert str(variables(tmp_path)["price"]) == "1.50"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", "12", "12"),
        ("text", "", ""),
        ("number", "-3", -3),
        ("price", "2", Decimal(2)),
        ("flag", "false", False),
        ("flag", "TRUE", True),
        ("day", "2024-02-29", date(2024, 2, 29)),
        ("naive", "2024-01-02 03:04:05", datetime(2024, 1, 2, 3, 4, 5)),
        ("zoned", "2024-01-02T00:00:00+00:00", datetime(2024, 1, 2, tzinfo=UTC)),
        ("numbers", "3, 4", (3, 4)),
        ("numbers", "[5]", (5,)),
        ("words", "a,b c", ("a", "b c")),
        ("words", '["a,b", "c"]', ("a,b", "c")),
    ],
)
def test_a_given_value_takes_the_declared_type(tmp_path: Path, name: str, text: str, value: Variable) -> None:
    assert variables(tmp_path, **{name: text})[name] == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("number", "1.5"),
        ("number", "one"),
        ("number", "9223372036854775808"),
        ("price", "1e3"),
        ("price", "nan"),
        ("flag", "yes"),
        ("day", "01.02.2024"),
        ("naive", "2024-01-02T00:00:00Z"),
        ("zoned", "2024-01-02T00:00:00"),
        ("numbers", "1,x"),
        ("numbers", ""),
        ("words", "[1"),
        ("words", "[]"),
    ],
)
def test_a_value_of_another_type_is_refused(tmp_path: Path, name: str, text: str) -> None:
    finding = one(project(tmp_path, {"interlock.toml": CONFIG + DECLARED}, variables={name: text}))
    assert (finding.code, finding.subject) == ("S104", name)


def test_a_variable_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    finding = one(project(tmp_path, {"interlock.toml": CONFIG + DECLARED}, variables={"txt": "x"}))
    assert (finding.code, finding.remedy) == ("S121", "did you mean `text`?")
    assert one(project(tmp_path, {"interlock.toml": CONFIG}, variables={"as_of": "x"})).remedy == "use --as-of"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("until = 1", "S106"),
        ("Upper = 1", "S108"),
        ("x = { a = 1 }", "S104"),
        ("x = [[1]]", "S104"),
        ("x = []", "S104"),
        ('x = [1, "a"]', "S104"),
        ("x = inf", "S104"),
        ("x = 10:00:00", "S104"),
        ("x = 9223372036854775808", "S104"),
    ],
)
def test_a_variable_that_sql_could_not_hold_is_refused(tmp_path: Path, line: str, code: str) -> None:
    found = project(tmp_path, {"interlock.toml": CONFIG + f"[vars]\n{line}\n"})
    assert codes(found) == [code]
    assert place(found.findings[0])[1] == 8
