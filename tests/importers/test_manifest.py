"""dbt's manifest: a compiled text is used where it is the only one that the template can give, and nowhere else."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.importers.dbt_projects import Import, imported

MACROS = {
    "key": "{% macro key(c) %}{{ return(adapter.dispatch('key', 'tools')(c)) }}{% endmacro %}",
    "default__key": "{% macro default__key(c) %}md5({{ c }}){% endmacro %}",
    "asks": "{% macro asks(c) %}{% if execute %}{% endif %}{% endmacro %}",
    "looks": "{% macro looks(c) %}{{ adapter.list_relations('x') }}{% endmacro %}",
    "hides": "{% macro hides(c) %}{% set a = adapter %}{{ a.dispatch('key')(c) }}{% endmacro %}",
    "reads": "{% macro reads(c) %}md5({{ c }}){% if var('deep', false) %} || 'x'{% endif %}{% endmacro %}",
    "aims": "{% macro aims(c) %}md5({{ c }}) || '{{ target.name }}'{% endmacro %}",
    "times": "{% macro times(c) %}'{{ run_started_at }}'{% endmacro %}",
    "broken": "{% macro broken(c) %}{% if %}",
}
CALLS = {"key": ["default__key"]}
ONE = {"models/one.sql": "select 'x' as id", "models/many_v1.sql": "select 'v1' as id", "models/many_v2.sql": "select 'v2' as id"}
VERSIONS = {"models/v.yml": "models: [{name: many, latest_version: 2, versions: [{v: 1}, {v: 2}]}]"}


def template(macro: str) -> str:
    return "select {{ tools." + macro + "('id') }} as k from {{ ref('one') }}"


def node(name: str, macros: list[str], raw: str, compiled: str | None = 'select md5(id) as k from "shop"."main"."one"') -> dict[str, Any]:
    return {
        "resource_type": "model", "package_name": "shop", "name": name, "original_file_path": f"models/{name}.sql", "raw_code": raw,
        "compiled_code": compiled, "relation_name": f'"shop"."main"."{name}"', "config": {"materialized": "table"}, "language": "sql",
        "depends_on": {"macros": [f"macro.tools.{macro}" for macro in macros]},
    }  # fmt: skip


def manifest(nodes: list[dict[str, Any]], version: str = "12", **metadata: Any) -> str:
    others = [
        {**node("one", [], "x", None), "original_file_path": "models/nowhere.sql"},
        *({**node("many", [], "x", None), "relation_name": f'"shop"."main"."many_v{number}"', "version": number} for number in (1, 2)),
    ]
    return json.dumps(
        {
            "metadata": {
                "dbt_schema_version": f"https://schemas.getdbt.com/dbt/manifest/v{version}.json",
                "adapter_type": "duckdb",
                "invocation_id": "i",
                **metadata,
            },
            "nodes": {f"model.shop.{index}": each for index, each in enumerate([*others, *nodes])},
            "macros": {
                f"macro.tools.{name}": {
                    "macro_sql": text,
                    "depends_on": {"macros": [f"macro.tools.{call}" for call in CALLS.get(name, [])]},
                }
                for name, text in MACROS.items()
            },
        }
    )


def results(**arguments: Any) -> str:
    return json.dumps({"metadata": {"invocation_id": "i"}, "args": arguments, "results": []})


def of(tmp_path: Path, models: dict[str, str], manifest_: str, run: str | None = None) -> Import:
    files = {**ONE, **VERSIONS, **{f"models/{name}.sql": text for name, text in models.items()}, "target/manifest.json": manifest_}
    return imported(tmp_path, files if run is None else {**files, "target/run_results.json": run})


@pytest.mark.parametrize("version", ["10", "11", "12"])
def test_a_text_is_used_of_every_version_since_dbt_1_6(tmp_path: Path, version: str) -> None:
    found = of(tmp_path, {"keyed": template("key")}, manifest([node("keyed", ["key"], template("key"))], version))
    assert found.sql("keyed") == "select md5(id) as k from one\n"
    assert "manifest" in found.item("keyed").why
    assert 'materialized = "table"' in found.sidecar("keyed")
    assert f"schema version {version}; 1 compiled texts" in found.item("target/manifest.json", "file").why


@pytest.mark.parametrize(
    "text",
    [
        manifest([node("keyed", ["key"], template("key"))], "9"),
        "{",
        "[]",
        "null",
        '{"metadata": 1}',
        '{"metadata": {"dbt_schema_version": 12}}',
    ],
)
def test_an_older_or_broken_manifest_is_refused_and_nothing_of_it_used(tmp_path: Path, text: str) -> None:
    found = of(tmp_path, {"keyed": template("key")}, text)
    assert found.item("target/manifest.json", "file").code == "D802"
    assert found.item("keyed").code == "D806"


@pytest.mark.parametrize("field", ["nodes", "macros", "sources"])
@pytest.mark.parametrize(
    "value", [None, [], "x", {"a": 1}, {"a": {"depends_on": 1, "resource_type": "model", "compiled_code": "x", "package_name": "shop"}}]
)
def test_a_manifest_of_any_shape_is_read_without_stumbling(tmp_path: Path, field: str, value: Any) -> None:
    whole = json.loads(manifest([node("keyed", ["key"], template("key"))]))
    whole[field] = value
    found = of(tmp_path, {"keyed": template("key")}, json.dumps(whole))
    assert found.item("one").status == "converted"


def test_a_text_that_may_be_another_one_is_not_used(tmp_path: Path) -> None:
    raw = {name: template(name) for name in ("asks", "looks", "hides", "reads", "aims", "times", "broken")}
    raw |= {
        "edited": template("key") + " where true",
        "newer": template("key") + " {% if is_incremental() %}where true{% endif %}",
        "empty": template("key"),
        "inner": template("key"),
        "missing": template("key"),
    }
    nodes = [node(name, [name], text) for name, text in raw.items() if name in MACROS]
    nodes += [
        node("edited", ["key"], template("key")),
        node("newer", ["key"], raw["newer"]),
        node("empty", ["key"], raw["empty"], 'select md5(id) as k from (select * from "shop"."main"."one" where false limit 0)'),
        node("inner", ["key"], raw["inner"], "with __dbt__cte__e as (select 1 as id) select md5(id) as k from __dbt__cte__e"),
        node("missing", ["key", "nowhere"], raw["missing"]),
    ]
    found = of(tmp_path, raw, manifest(nodes))
    assert {name: found.item(name).code for name in raw} == {name: "D803" if name == "newer" else "D806" for name in raw}


@pytest.mark.parametrize(
    ("run", "usable"),
    [
        (results(vars={}), {"reads", "aims", "keyed"}),
        (results(vars={}, target="dev"), {"reads", "aims", "keyed"}),
        (results(vars={}, target="prod"), {"reads", "keyed"}),
        (results(vars={"deep": True}), {"aims", "keyed"}),
        (results(vars={}, empty=True), set()),
        (results(vars={}, sample="3 days"), set()),
        (results(vars={}).replace('"i"', '"another"'), {"keyed"}),
        ("{", {"keyed"}),
        (None, {"keyed"}),
    ],
)
def test_what_depends_on_how_dbt_was_called_is_used_only_where_that_is_known(tmp_path: Path, run: str | None, usable: set[str]) -> None:
    raw = {"reads": template("reads"), "aims": template("aims"), "keyed": template("key")}
    nodes = [node(name, ["key" if name == "keyed" else name], text) for name, text in raw.items()]
    found = of(tmp_path, raw, manifest(nodes), run)
    assert {name for name in raw if found.item(name).status == "converted"} == usable


def test_texts_for_another_warehouse_are_not_used(tmp_path: Path) -> None:
    found = of(tmp_path, {"keyed": template("key")}, manifest([node("keyed", ["key"], template("key"))], adapter_type="snowflake"))
    assert found.item("keyed").code == "D806"
    assert "compiled for snowflake" in found.item("target/manifest.json", "file").why


def test_a_text_keeps_the_versions_and_the_configuration_that_dbt_found(tmp_path: Path) -> None:
    text = (
        "{{ config(materialized='incremental', unique_key='id', event_time=tools.key('ts'), merge_update_columns=['k']) }} select 1 as id"
    )
    raw = {"keyed": "select {{ tools.key('id') }} as k from {{ ref('many', v=1) }}", "merged": text}
    nodes = [
        node("keyed", ["key"], raw["keyed"], 'select md5(a.id) as k from "shop"."main"."many_v1" as a, "shop"."main"."many_v2" as b'),
        {
            **node("merged", ["key"], text, "select 1 as id"),
            "config": {"materialized": "incremental", "unique_key": "id", "merge_update_columns": ["k"]},
        },
    ]
    found = of(tmp_path, raw, manifest(nodes))
    assert found.sql("keyed").strip() == "select md5(a.id) as k from many_v1 as a, many_v2 as b"
    assert tomllib.loads(found.sidecar("keyed"))["materialized"] == "table"
    assert found.item("merged").code == "D811"
