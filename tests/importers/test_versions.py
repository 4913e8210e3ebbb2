"""Versions of a model: each has what dbt gives it of what YAML says of all."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.importers.dbt_projects import Import, imported

SQL = "select 1 as id, 2 as a, 3 as z"
PROPERTIES = """
    models:
      - name: dim
        description: of all
        config: {tags: [all], meta: {deep: {one: 1}}, materialized: table, contract: {enforced: true}}
        constraints: [{type: unique, columns: [a]}]
        data_tests: [{above: {arguments: {column: a}}}]
        columns:
          - {name: id, data_type: integer, description: a key, data_tests: [unique]}
          - {name: a, data_type: integer, data_tests: [not_null]}
          - {name: z, data_type: integer}
        versions:
"""
MACRO = "{% test above(model, column) %}select * from {{ model }} where {{ column }} < 0{% endtest %}"


def versioned(tmp_path: Path, versions: str, *files: str) -> Import:
    listed = "".join(f"          - {line}\n" for line in versions.splitlines())
    models = {f"models/{name}.sql": SQL for name in files}
    return imported(tmp_path, {"models/m.yml": PROPERTIES + listed, "tests/generic/above.sql": MACRO, **models})


def checks(found: Import, name: str) -> list[Any]:
    return [check["name"] for check in tomllib.loads(found.sidecar(name)).get("checks", [])]


@pytest.mark.parametrize(
    ("columns", "promised", "asked"),
    [
        ("", ["id", "a", "z"], ["unique_id", "not_null_a"]),
        (", columns: [{name: z, data_tests: [not_null]}]", ["id", "a", "z"], ["unique_id", "not_null_a", "not_null_z"]),
        (", columns: [{include: all}]", ["id", "a", "z"], ["unique_id", "not_null_a"]),
        (", columns: [{include: '*', exclude: [a]}, {name: a, data_type: integer}]", ["id", "z", "a"], ["unique_id"]),
        (
            ", columns: [{include: [id, z]}, {name: a, data_type: integer, data_tests: [unique]}]",
            ["id", "z", "a"],
            ["unique_id", "unique_a_2"],
        ),
        (", columns: [{include: []}, {name: id}, {name: a}, {name: z}]", ["id", "a", "z"], []),
    ],
)
def test_a_version_has_the_columns_that_it_includes_and_their_tests(
    tmp_path: Path, columns: str, promised: list[str], asked: list[str]
) -> None:
    found = versioned(tmp_path, "{v: 1" + columns + "}", "dim_v1")
    assert found.item("dim_v1").status == "converted", found.item("dim_v1").why
    assert list(tomllib.loads(found.sidecar("dim_v1"))["contract"]["columns"]) == promised
    assert checks(found, "dim_v1") == ["unique_a", "above_a", *asked]


def test_a_version_s_own_tests_constraints_and_words_take_the_place_of_those_of_all(tmp_path: Path) -> None:
    found = versioned(
        tmp_path,
        "{v: 1}\n{v: 2, description: the second, data_tests: [], constraints: [{type: unique, columns: [z]}]}",
        "dim_v1",
        "dim_v2",
    )
    one, two = (tomllib.loads(found.sidecar(name)) for name in ("dim_v1", "dim_v2"))
    assert (one["description"], two["description"]) == ("of all", "the second")
    assert checks(found, "dim_v1") == ["unique_a", "above_a", "unique_id", "not_null_a"]
    assert checks(found, "dim_v2") == ["unique_z", "unique_id", "not_null_a"]


def test_a_version_s_configuration_lies_over_that_of_all_in_depth(tmp_path: Path) -> None:
    found = versioned(tmp_path, "{v: 1, config: {tags: [own], contract: {alias_types: false}, materialized: view}}", "dim_v1")
    side = tomllib.loads(found.sidecar("dim_v1"))
    assert (sorted(side["tags"]), side["materialized"]) == (["all", "own"], "view")
    assert side["contract"]["extra_columns"] == "refuse"


@pytest.mark.parametrize(
    ("numbers", "newest"),
    [(["1", "2"], "2"), (["2", "10"], "10"), (["9.5", "10"], "10"), (["alpha", "beta"], "beta"), (["1", "beta"], "beta")],
)
def test_the_latest_is_the_greatest_as_dbt_compares_them(tmp_path: Path, numbers: list[str], newest: str) -> None:
    files = {f"models/n_v{number}.sql": f"select '{number}' as x" for number in numbers}
    listed = ", ".join(f"{{v: {number}}}" for number in numbers)
    found = imported(
        tmp_path,
        {**files, "models/n.yml": f"models: [{{name: n, versions: [{listed}]}}]", "models/reads.sql": "select * from {{ ref('n') }}"},
    )
    assert f"n_v{newest.replace('.', '_')}" in found.sql("reads")


def test_the_version_zero_can_be_the_latest(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/n_v0.sql": "select 0 as x",
            "models/n_v1.sql": "select 1 as x",
            "models/n.yml": "models: [{name: n, latest_version: 0, versions: [{v: 0}, {v: 1}]}]",
            "models/reads.sql": "select * from {{ ref('n') }}",
        },
    )
    assert "n_v0" in found.sql("reads")


def test_a_key_of_a_version_that_means_nothing_is_said(tmp_path: Path) -> None:
    found = versioned(tmp_path, "{v: 1, defined_inn: x, columns: [{name: id, test: [unique]}]}", "dim_v1")
    assert (found.item("dim.v1.defined_inn", "config").code, found.item("dim.v1.id.test", "config").code) == ("D809", "D809")
    assert "`defined_in`" in found.item("dim.v1.defined_inn", "config").remedy
