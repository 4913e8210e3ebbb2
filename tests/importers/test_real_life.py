"""What real projects have and small ones do not: met in public projects, written down here in words of our own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.importers.dbt_projects import imported

from interlock.engine.importers.dbt.suggest import nearest

ELSEWHERE = "shop: {target: prod, outputs: {prod: {type: snowflake, account: a, schema: analytics}}}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("unique_keys", "unique_key"),
        ("materialised", "materialized"),
        ("tag", "tags"),
        ("post_hooks", "post-hook"),
        ("engine", None),
        ("table_type", None),
        ("order_by", None),
        ("incremental_stratgy", "incremental_strategy"),
    ],
)
def test_only_a_slip_of_the_hand_is_a_suggestion(written: str, meant: str | None) -> None:
    assert nearest(written, ["unique_key", "materialized", "tags", "post-hook", "begin", "table_tag", "incremental_strategy"]) == meant


def test_a_database_that_only_the_environment_names_is_no_reason_to_refuse(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "profiles.yml": ELSEWHERE,
            "dbt_project.yml": "name: shop\nversion: '1'\nprofile: shop\nmodels:\n  +database: \"{{ env_var('PROD_DATABASE') }}\"\n",
            "models/m.sql": "select 1 as id",
            "models/s.yml": "sources: [{name: raw, database: \"{{ env_var('LOAD_DATABASE') }}\", tables: [{name: t}]}]",
        },
    )
    assert found.item("m").status == found.item("raw.t", "source").status == "converted"
    assert "`database: {{ env_var('PROD_DATABASE') }}` was left out" in found.item("m").why


def test_a_level_that_cannot_be_evaluated_is_refused_at_its_own_line(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": "name: shop\nversion: '1'\nmodels:\n  +tags: [a]\n  +schema: \"{{ env_var('NOT_SET') }}\"\n",
            "models/m.sql": "select 1 as id",
            "models/n.sql": "select 1 as id",
        },
    )
    assert (found.item("m").code, found.item("m").place) == ("D812", "dbt_project.yml:5")
    assert (found.item("n").code, found.item("n").place) == ("D812", "dbt_project.yml:5")


def test_a_property_that_cannot_be_evaluated_is_refused_at_its_own_line(tmp_path: Path) -> None:
    properties = "models:\n  - name: n\n    config:\n      tags: [a]\n      alias: \"{{ env_var('NOT_SET') }}\"\n"
    found = imported(tmp_path, {"models/n.sql": "select 1 as id", "models/n.yml": properties})
    assert (found.item("n").code, found.item("n").place) == ("D812", "models/n.yml:5")


def test_types_of_another_warehouse_are_left_out_of_sources_and_the_project_compiles(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "profiles.yml": ELSEWHERE,
            "models/m.sql": "select * from {{ source('raw', 'theirs') }}",
            "models/o.sql": "select a + 1 as a from {{ source('raw', 'ours') }}",
            "models/s.yml": """
                sources:
                  - name: raw
                    tables:
                      - {name: theirs, columns: [{name: a, data_type: number}, {name: b, data_type: timestamp_ntz}]}
                      - {name: ours, columns: [{name: a, data_type: "{{ 'big' ~ 'int' }}"}, {name: b, data_type: varchar}]}
            """,
        },
    )
    declared = tomllib.loads(found.text("sources.toml"))["sources"]
    assert "columns" not in declared["raw.theirs"]
    assert declared["raw.ours"]["columns"] == {"a": "bigint", "b": "varchar"}
    assert "its declared types were left out" in found.item("raw.theirs", "source").why
    assert [finding for finding in found.done.findings if finding.severity == "error"] == []


def test_a_contract_s_types_may_be_templates(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": "select 1 as id",
            "models/s.yml": """
                models:
                  - name: m
                    config: {contract: {enforced: true}}
                    columns: [{name: id, data_type: "{{ 'UInt8' if target.type == 'clickhouse' else 'integer' }}"}]
            """,
        },
    )
    assert tomllib.loads(found.sidecar("m"))["contract"]["columns"]["id"]["type"] == "integer"


def test_the_parts_of_dbt_s_own_rules_for_names_can_be_called(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "macros/names.sql": """
                {% macro generate_schema_name(custom_schema_name, node) -%}
                    {{ generate_schema_name_for_env(custom_schema_name, node) if node.name == 'plain' else default__generate_schema_name(custom_schema_name, node) }}
                {%- endmacro %}
                {% macro generate_alias_name(custom_alias_name=none, node=none) -%}
                    {{ 'x_' ~ default__generate_alias_name(custom_alias_name, node) }}
                {%- endmacro %}
            """,
            "models/plain.sql": "{{ config(schema='gold') }} select 1 as id",
            "models/other.sql": "{{ config(schema='gold', alias='o') }} select '{{ model.name }}' as id",
            "models/many_v2.sql": "select '{{ model.name }}' as id",
            "models/s.yml": "models: [{name: many, versions: [{v: 2}]}]",
        },
    )
    sides = {name: tomllib.loads(found.sidecar(name)) for name in ("plain", "other", "many_v2")}
    assert (sides["plain"].get("schema"), sides["plain"]["alias"]) == (None, "x_plain")
    assert (sides["other"]["schema"], sides["other"]["alias"]) == ("main_gold", "x_o")
    assert sides["many_v2"]["alias"] == "x_many_v2"
    assert "'many'" in found.sql("many_v2")


@pytest.mark.parametrize(
    "text",
    [
        "select '{{ run_started_at - modules.datetime.timedelta(1) }}' as d",
        "select '{{ (run_started_at + modules.datetime.timedelta(1)).date() }}' as d",
        "{% if run_started_at > 1 %}select 1 as d{% endif %}",
        "{{ '%s' % invocation_id }}",
        "select '{{ 'a' in selected_resources }}' as d",
        "select '{{ '{}'.format(run_started_at) }}' as d",
    ],
)
def test_the_clock_is_refused_as_the_clock_whatever_is_done_with_it(tmp_path: Path, text: str) -> None:
    item = imported(tmp_path, {"models/m.sql": text}).item("m")
    assert item.code in {"D829", "D804"}, item


def test_sections_that_only_hold_anchors_are_no_mistake(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": "select 1 as id",
            "models/s.yml": "x-common: &c {tests: [unique]}\ncolumn_definitions: {a: 1}\nmodles: []\nmodels: [{name: m, columns: [{<<: *c, name: id}]}]",
        },
    )
    assert found.item("x-common", "config").status == "documented"
    assert found.item("column_definitions", "config").status == "documented"
    assert found.item("modles", "config").remedy == "did you mean `models`?"
    assert len(found.items("test")) == 1


def test_a_misspelt_property_is_said_where_it_stands_since_dbt_passes_over_it(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": "select 1 as id",
            "models/s.yml": """
                models:
                  - name: m
                    descripton: lost
                    columns:
                      - name: id
                        data_test: [unique]
                sources:
                  - name: raw
                    shema: landing
                    tables: [{name: t, identifer: x, columns: [{name: id, test: [unique]}]}]
            """,
        },
    )
    said = {item.name: (item.code, item.line, item.remedy) for item in found.items("config") if item.code}
    assert said == {
        "m.descripton": ("D809", 3, "did you mean `description`?"),
        "m.id.data_test": ("D809", 6, "did you mean `data_tests`?"),
        "raw.shema": ("D809", 9, "did you mean `schema`?"),
        "raw.t.identifer": ("D809", 10, "did you mean `identifier`?"),
        "raw.t.id.test": ("D809", 10, "did you mean `tests`?"),
    }


def test_sources_are_switched_by_the_project_s_levels_too(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": """
                name: shop
                version: '1'
                sources:
                  shop:
                    staging:
                      raw: {gone: {+enabled: "{{ var('on', false) }}"}}
                      rwa: {+enabled: false}
            """,
            "models/staging/s.yml": "sources: [{name: raw, tables: [{name: t}, {name: gone}]}]",
            "models/m.sql": "select * from {{ source('raw', 'gone') }}",
        },
    )
    assert (found.item("raw.t", "source").status, found.item("raw.gone", "source").status) == ("converted", "disabled")
    assert found.item("m").code == "D808"
    assert found.item("sources.shop.staging.rwa", "config").code == "D809"
