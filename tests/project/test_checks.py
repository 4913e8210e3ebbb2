from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from tests.project.files import one, place, project

from interlock.engine.project.project import (
    AcceptedValues,
    Check,
    ContractColumn,
    CustomSql,
    ExpressionHolds,
    Freshness,
    NotNull,
    Relationships,
    RowCount,
    Unique,
)


def checks(root: Path, text: str) -> tuple[Check, ...]:
    found = project(root, {"models/m.toml": text})
    assert found.findings == (), found.findings
    return found.models["m"].checks


def test_each_question_is_read_and_named(tmp_path: Path) -> None:
    found = checks(
        tmp_path,
        """
[[checks]]
unique = ["a", "B c"]
[[checks]]
not_null = "a"
[[checks]]
accepted_values = { column = "a", values = [1, 2.50] }
severity = "warn"
[[checks]]
relationships = { column = "a", to = "raw.orders", to_column = "id" }
[[checks]]
expression = "a > 0"
description = "positive"
[[checks]]
row_count = { min = 1 }
[[checks]]
freshness = { column = "at", max_age = "2 hours", zone = "UTC" }
[[checks]]
sql = "select * from m where false"
name = "none_of_these"
after = "publication"
""",
    )
    assert [(check.name, check.question) for check in found] == [
        ("unique_a_b_c", Unique(columns=("a", "B c"))),
        ("not_null_a", NotNull(columns=("a",))),
        ("accepted_values_a", AcceptedValues(column="a", values=(Decimal(1), Decimal("2.50")))),
        ("relationships_a", Relationships(column="a", to="raw.orders", to_column="id")),
        ("expression", ExpressionHolds(expression="a > 0")),
        ("row_count", RowCount(rows_min=1, rows_max=None)),
        ("freshness_at", Freshness(column="at", max_age_seconds=7200, zone="UTC")),
        ("none_of_these", CustomSql(sql="select * from m where false")),
    ]
    assert [check.severity for check in found] == ["error", "error", "warn", *["error"] * 5]
    assert found[4].description == "positive"
    assert found[7].after == "publication"
    assert found[0].origin == "models/m.toml: checks[0]"


def test_names_are_numbered_and_never_those_that_are_given(tmp_path: Path) -> None:
    text = '[[checks]]\nexpression = "a"\n[[checks]]\nexpression = "b"\n[[checks]]\nexpression = "c"\nname = "expression_2"\n'
    assert [check.name for check in checks(tmp_path, text)] == ["expression", "expression_3", "expression_2"]


def test_values_keep_their_types(tmp_path: Path) -> None:
    (check,) = checks(tmp_path, '[[checks]]\naccepted_values = { column = "d", values = [2024-01-01, 2024-01-02] }\n')
    assert isinstance(check.question, AcceptedValues)
    assert check.question.values == (date(2024, 1, 1), date(2024, 1, 2))


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ('severity = "warn"', "S105", "checks[0]"),
        ('unique = "a"\nnot_null = "a"', "S116", "checks[0]"),
        ('uniqe = "a"\nunique = "a"', "S103", "checks[0].uniqe"),
        ("unique = []", "S104", "checks[0].unique"),
        ('unique = ["a", "A"]', "S104", "checks[0].unique"),
        ('unique = [" "]', "S104", "checks[0].unique"),
        ('accepted_values = { column = "a", values = [] }', "S104", "checks[0].accepted_values.values"),
        ('accepted_values = { column = "a", values = ["a", 1] }', "S104", "checks[0].accepted_values.values"),
        ('accepted_values = { column = "a", values = [[1]] }', "S104", "checks[0].accepted_values.values[0]"),
        ('accepted_values = { column = "a", values = [nan] }', "S104", "checks[0].accepted_values.values[0]"),
        ('accepted_values = { column = "a", values = [10:00:00] }', "S104", "checks[0].accepted_values.values[0]"),
        ('accepted_values = { column = "a", values = [9223372036854775808] }', "S104", "checks[0].accepted_values.values[0]"),
        (
            'accepted_values = { column = "a", values = [2024-01-01T00:00:00, 2024-01-01T00:00:00Z] }',
            "S104",
            "checks[0].accepted_values.values",
        ),
        ("row_count = {}", "S105", "checks[0].row_count"),
        ("row_count = { min = 2, max = 1 }", "S116", "checks[0].row_count"),
        ("row_count = { min = -1 , max = 3 }", "S104", "checks[0].row_count.min"),
        ('freshness = { column = "a", max_age = "2" }', "S104", "checks[0].freshness.max_age"),
        ('expression = " "', "S104", "checks[0].expression"),
        ('sql = ""', "S104", "checks[0].sql"),
        ('unique = "a"\nseverity = "fatal"', "S104", "checks[0].severity"),
        ('unique = "a"\nname = "Two Words"', "S108", "checks[0].name"),
        ('unique = "a"\nname = "x"\n[[checks]]\nunique = "b"\nname = "x"', "S106", "checks[1].name"),
    ],
)
def test_a_check_that_is_wrong_says_where(tmp_path: Path, text: str, code: str, key: str) -> None:
    finding = one(project(tmp_path, {"models/m.toml": f"[[checks]]\n{text}\n"}))
    assert (finding.code, place(finding)[3]) == (code, key)
    assert finding.remedy


def test_a_relationship_without_all_of_its_parts_names_each(tmp_path: Path) -> None:
    found = project(tmp_path, {"models/m.toml": '[[checks]]\nrelationships = { column = "a" }\n'})
    assert {place(finding)[3] for finding in found.findings} >= {"checks[0].relationships.to", "checks[0].relationships.to_column"}


def test_a_contract_column_may_be_its_type_alone(tmp_path: Path) -> None:
    text = '[contract]\nextra_columns = "refuse"\n[contract.columns]\na = "BIGINT"\nB = { nullable = false, protected = true, description = "b" }\n'
    contract = project(tmp_path, {"models/m.toml": text}).models["m"].contract
    assert contract is not None
    assert contract.extra_columns == "refuse"
    assert contract.columns == {"a": ContractColumn(type="BIGINT"), "B": ContractColumn(nullable=False, protected=True, description="b")}


def test_a_primary_key_is_two_checks(tmp_path: Path) -> None:
    text = '[[checks]]\nprimary_key = ["a", "b"]\nseverity = "warn"\n[[checks]]\nprimary_key = "c"\nname = "key"\n'
    assert [(check.name, check.question, check.severity) for check in checks(tmp_path, text)] == [
        ("unique_a_b", Unique(columns=("a", "b")), "warn"),
        ("not_null_a_b", NotNull(columns=("a", "b")), "warn"),
        ("key", Unique(columns=("c",)), "error"),
        ("key_not_null", NotNull(columns=("c",)), "error"),
    ]
