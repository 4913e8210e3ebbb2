"""What cannot be converted is refused with its code and its place; what can be goes on."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb
import pytest
from tests.importers.dbt_projects import imported, write

from interlock.engine import api
from interlock.engine.diagnostics import Refused


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("select {{ run_query('select 1') }}", "D804"),
        ("{% set x = adapter.get_columns_in_relation(ref('one')) %}select 1 as id", "D804"),
        ("{% for n in graph.nodes %}select 1{% endfor %}", "D804"),
        ("{% call statement('x') %}select 1{% endcall %}select 1 as id", "D804"),
        ("select {{ 1 / 0 }} as id", "D805"),
        ("{% if x %} select 1", "D805"),
        ("{{ exceptions.raise_compiler_error('no') }}", "D805"),
        ("select {{ nothing_of_this_name }} as id", "D806"),
        ("select {{ nothing_of_this_name('x') }} as id", "D806"),
        ("select {{ missing_package.key(['a']) }} as id", "D806"),
        ("select {{ adapter.dispatch('nowhere')() }} as id", "D806"),
        ("select * from {{ ref('onee') }}", "D807"),
        ("select * from {{ source('raw', 'x') }}", "D807"),
        ("{{ config(materialized='materialized_view') }} select 1 as id", "D810"),
        ("{{ config(sql_header='set x = 1') }} select 1 as id", "D810"),
        ("select '{{ env_var('NOT_SET') }}' as id", "D812"),
        ("select '{{ env_var('DBT_ENV_SECRET_X') }}' as id", "D813"),
        ("select '{{ env_var('MY_PASSWORD', 'p') }}' as id", "D813"),
        ("select ammount as id from {{ ref('one') }}", "D817"),
        ("selec 1 as id", "D817"),
        ("select 1 as id; select 2 as id", "D817"),
        ("create table x as select 1 as id", "D817"),
        ("{% if model.depends_on %}select 1 as id{% endif %}", "D805"),
        ("{% if model.get('compiled') %}select 1 as id{% endif %}", "D805"),
        ("{% if target.get('host') %}select 1 as id{% endif %}", "D805"),
        ("{% if target.user == 'x' %}select 1 as id{% endif %}", "D805"),
        ("{% if flags.FULL_REFRESH %}select 1 as id{% endif %}", "D805"),
        ("{% if this.nowhere %}select 1 as id{% endif %}", "D805"),
        ("select '{{ this.database }}' as id", "D805"),
        ("select * from {{ this }}", "D818"),
        ("select '{{ run_started_at }}' as t", "D829"),
        ("select '{{ modules.datetime.datetime.now() }}' as t", "D829"),
        ("{{ config(tags=[modules.datetime.datetime.utcnow() | string]) }} select 1 as id", "D829"),
        ("select '{{ invocation_id }}' as t", "D829"),
        ("select {{ var('unheard') }} as id", "D820"),
        ("select {{ ''.__class__.__mro__ }} as id", "D805"),
        ("{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }} select 1 as id", "D805"),
    ],
)
def test_a_model_is_refused_at_its_line(tmp_path: Path, text: str, code: str) -> None:
    found = imported(
        tmp_path, {"models/one.sql": "select 1 as id", "models/m.sql": "\n" + text, "models/below.sql": "select * from {{ ref('m') }}"}
    )
    item = found.item("m")
    assert (item.code, item.status) == (code, "refused"), item
    assert item.path == "models/m.sql"
    assert item.line in {1, 2}
    assert item.why
    assert item.remedy
    assert found.item("below").code == "D808"
    assert found.item("one").status == "converted"


def test_a_python_model_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {"models/p.py": "def model(dbt, session): ...", "models/a/x.sql": "select 1 as id", "models/b/x.sql": "select 2 as id"},
    )
    assert found.item("p").code == "D816"
    assert sorted(item.code for item in found.items("model") if item.name == "x") == ["", "D823"]


def test_a_broken_yaml_file_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": "select 1 as id",
            "models/s.yml": "models:\n  - name: a\n   description: x\n",
            "models/l.sql": b"select '\xff' as x",
        },
    )
    assert found.item("models/s.yml", "file").code == "D802"
    assert found.item("models/s.yml", "file").line == 3
    assert found.item("models/l.sql", "file").code == "D802"
    assert found.item("a").status == "converted"


def test_snapshots_sources_and_seeds_that_cannot_be_kept(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}",
            "seeds/ragged.csv": "a,b\n1\n",
            "snapshots/s.sql": "{% snapshot s %}{{ config(unique_key=\"a || b\", strategy='check', check_cols='all') }} select 1 as a, 2 as b{% endsnapshot %}",
            "snapshots/t.sql": "{% snapshot t %}{{ config(unique_key='a', strategy='timestamp') }} select 1 as a{% endsnapshot %}",
            "models/s.yml": """
                sources:
                  - name: raw
                    database: elsewhere
                    tables: [{name: x}]
                  - name: lake
                    meta: {external_location: "read_csv('a.csv', delim = ';')"}
                    tables: [{name: y}]
            """,
            "models/m.sql": "select * from {{ source('raw', 'x') }}",
        },
    )
    assert (found.item("s", "snapshot").code, found.item("t", "snapshot").code) == ("D821", "D821")
    assert (found.item("raw.x", "source").code, found.item("lake.y", "source").code) == ("D822", "D822")
    assert found.item("ragged", "seed").code == "D825"
    assert found.item("m").code == "D808"


def test_a_project_for_another_warehouse_says_so(tmp_path: Path) -> None:
    profile = "shop: {target: prod, outputs: {prod: {type: postgres, host: h, password: \"{{ env_var('PGPASS') }}\", schema: analytics}}}"
    rows = "select 7 / 2 as half, * from (values (1), (null), (2)) t(n) order by n desc limit 1"
    found = imported(
        tmp_path, {"profiles.yml": profile, "models/a.sql": "{{ config(materialized='table') }} " + rows}, environment={"PGPASS": "hush"}
    )
    assert [finding.code for finding in found.done.findings] == ["D824"]
    assert "told to keep division of integers and the order of nulls as there" in found.done.findings[0].because
    assert 'schema = "analytics"' in found.text("interlock.toml")
    assert "target `prod` was read" in found.item("profiles.yml", "file").why
    assert any("written for postgres" in said for said in found.done.said)
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as warehouse:
        assert warehouse.execute("select * from analytics.a").fetchall() == [(3, None)]


@pytest.mark.parametrize(("kind", "said"), [("snowflake", "the order of nulls as there"), ("clickhouse", "its own division")])
def test_what_duckdb_can_be_told_of_another_warehouse_it_is_told(tmp_path: Path, kind: str, said: str) -> None:
    profile = f"shop: {{target: prod, outputs: {{prod: {{type: {kind}}}}}}}"
    found = imported(tmp_path, {"profiles.yml": profile, "models/a.sql": "select 1 as id"})
    assert said in found.done.findings[0].because
    assert ("nulls_last_on_asc" in found.text("interlock.toml")) == (kind == "snowflake")


def test_settings_of_the_profile_that_change_answers_are_the_target_s(tmp_path: Path) -> None:
    profile = """
        shop:
          target: dev
          outputs:
            dev:
              type: duckdb
              path: shop.duckdb
              extensions: [httpfs]
              settings: {timezone: "{{ env_var('ZONE', 'America/New_York') }}", integer_division: true, memory_limit: 1GB, s3_secret_access_key: hush}
    """
    text = "{{ config(materialized='table') }} select 7 / 2 as half, timestamptz '2024-01-01 00:00:00+00' :: varchar as t"
    found = imported(tmp_path, {"profiles.yml": profile, "models/a.sql": text})
    said = {item.name: item.status for item in found.items("config") if item.name.startswith("profile.")}
    assert said == {
        "profile.timezone": "converted", "profile.integer_division": "converted", "profile.memory_limit": "documented",
        "profile.s3_secret_access_key": "documented", "profile.extensions": "documented",
    }  # fmt: skip
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as warehouse:
        assert warehouse.execute("select * from main.a").fetchall() == [(3, "2023-12-31 19:00:00-05")]
    assert all(b"hush" not in path.read_bytes() for path in found.out.rglob("*") if path.is_file())


def test_secrets_are_written_nowhere(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: x.duckdb, settings: {s3_secret: \"{{ env_var('S3_SECRET') }}\"}}}}",
            "models/a.sql": "select '{{ env_var('REGION') }}' as region, '{{ env_var('DBT_ENV_SECRET_T') }}' as t",
            "models/b.sql": "select '{{ env_var('REGION') }}' as region",
        },
        environment={"REGION": "EU", "DBT_ENV_SECRET_T": "hush-hush", "S3_SECRET": "hush-hush"},
    )
    assert found.item("a").code == "D813"
    assert "'EU'" in found.sql("b")
    assert "REGION" in found.item("b").why
    assert all(b"hush-hush" not in path.read_bytes() for path in found.out.rglob("*") if path.is_file())


def test_a_directory_without_a_project_and_one_that_is_not_empty_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        api.import_dbt(tmp_path, tmp_path / "new", environment={})
    assert refusal.value.findings[0].code == "D801"
    write(tmp_path / "dbt", {"models/a.sql": "select 1 as id"})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(Refused) as refusal:
        api.import_dbt(tmp_path / "dbt", tmp_path / "full", environment={})
    assert refusal.value.findings[0].code == "S120"
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    write(tmp_path / "broken", {"dbt_project.yml": "name: [\n"})
    with pytest.raises(Refused) as refusal:
        api.import_dbt(tmp_path / "broken", tmp_path / "new", environment={})
    assert refusal.value.findings[0].code == "D802"


def test_strict_exits_3_if_anything_was_refused(tmp_path: Path) -> None:
    write(tmp_path / "dbt", {"models/a.sql": "select 1 as id", "models/b.py": ""})
    loose = api.import_dbt(tmp_path / "dbt", tmp_path / "one", environment={})
    strict = api.import_dbt(tmp_path / "dbt", tmp_path / "two", environment={}, strict=True)
    assert (loose.exit_code, strict.exit_code) == (0, 3)
    assert [finding.code for finding in strict.findings] == ["D816"]
    assert strict.items == loose.items


def test_every_item_stands_in_the_report_with_its_place(tmp_path: Path) -> None:
    found = imported(tmp_path, {"models/a.sql": "select 1 as id", "models/b.py": "", "macros/m.sql": "{% macro m() %}1{% endmacro %}"})
    report = found.text("IMPORT.md")
    for item in found.done.items:
        assert f"{item.kind} `{item.name}`" in report
        assert item.place in report


def test_an_import_writes_nothing_but_the_new_project(tmp_path: Path) -> None:
    files = {"models/a.sql": "{% do run_query('insert into t values (1)') %} select 1 as id", "models/b.sql": "select 1 as id"}
    found = imported(tmp_path, files)
    assert sorted(path.relative_to(found.root).as_posix() for path in found.root.rglob("*") if path.is_file()) == sorted(
        ["dbt_project.yml", *files]
    )
    assert not list(tmp_path.rglob("*.duckdb"))


def test_a_relation_s_name_as_a_text_is_refused(tmp_path: Path) -> None:
    found = imported(
        tmp_path, {"models/one.sql": "select 1 as id", "models/m.sql": "select '{{ ref('one') }}' as origin, id from {{ ref('one') }}"}
    )
    assert found.item("m").code == "D805"
    assert "`one`" in found.item("m").why


def test_sources_that_cannot_be_looked_at_are_said(tmp_path: Path) -> None:
    files = {"models/s.yml": "sources: [{name: raw, tables: [{name: t}]}]", "models/m.sql": "select id from {{ source('raw', 't') }}"}
    found = imported(tmp_path, {**files, "models/below.sql": "select id from {{ ref('m') }}", "models/other.sql": "select 1 as id"})
    assert [item.status for item in found.items("model")] == ["converted"] * 3
    assert any("cannot be looked at now: raw.t" in said for said in found.done.said)


def test_a_macro_file_that_does_not_parse_lets_nothing_else_stand_in_for_its_macros(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "macros/own.sql": "{% macro generate_alias_name(custom_alias_name=none, node=none) %}{{ node.name | upper }}{% endmacro %}\n"
            "{% macro type_string() %}varchar(3){% endmacro %}\n{# the macro for none #}{% if %}",
            "models/plain.sql": "select 1 as id",
            "seeds/s.csv": "id\n1\n",
        },
    )
    refused = {item.name: item for item in found.done.items if item.status == "refused"}
    assert "macros/own.sql" in refused
    assert refused["plain"].code == "D805"
    assert "generate_alias_name" in refused["plain"].why
    assert "macros/own.sql, which does not parse" in refused["plain"].why


def test_what_calls_a_macro_of_a_file_that_does_not_parse_is_refused_and_nothing_else(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "macros/own.sql": "{% macro type_string() %}varchar(3){% endmacro %}\n{% test not_null(model, column_name) %}select 1{% endtest %}\n{% if %}",
            "models/calls.sql": "select cast(1 as {{ type_string() }}) as id",
            "models/plain.sql": "select 1 as id",
            "models/schema.yml": "models: [{name: plain, columns: [{name: id, data_tests: [not_null]}]}]",
        },
    )
    refused = {item.name: item for item in found.done.items if item.status == "refused"}
    assert refused["calls"].code == "D805"
    assert "plain" not in refused
    assert any("not_null" in name for name in refused), "dbt's own not_null is not what the project has"


@pytest.mark.parametrize("kind", ["{% test not_null(model, column_name) %}", "{% macro default__test_not_null(model, column_name) %}"])
def test_a_test_of_the_project_stands_before_dbts_own_of_that_name(tmp_path: Path, kind: str) -> None:
    end = "{% endtest %}" if "{% test" in kind else "{% endmacro %}"
    found = imported(
        tmp_path,
        {
            "macros/own.sql": kind + "select {{ column_name }} from {{ model }} where {{ column_name }} = 7" + end,
            "models/plain.sql": "select 1 as id",
            "models/schema.yml": "models: [{name: plain, columns: [{name: id, data_tests: [not_null, unique]}]}]",
        },
    )
    sidecar = found.text("models/plain.toml")
    assert "id = 7" in sidecar
    assert "not_null = " not in sidecar
    assert 'unique = ["id"]' in sidecar


def test_an_import_of_which_nothing_was_converted_does_not_ask_to_run_it(tmp_path: Path) -> None:
    write(tmp_path / "dbt", {"models/m.sql": "select {{ run_query('select 1') }}"})
    done = api.import_dbt(tmp_path / "dbt", tmp_path / "new", environment={})
    assert done.next_commands == (f"cd {tmp_path / 'new'}", "interlock explain D804")


UNEQUAL = """
    {% test as_many(model, other) %}
    {{ config(fail_calc='sum(n)') }}
    {% if not execute %}{{ return('') }}{% endif %}
    {% if execute %}{{ config(severity='warn') }}{% endif %}
    select abs((select count(*) from {{ model }}) - (select count(*) from {{ other }})) as n
    {% endtest %}
"""


def test_a_text_is_the_one_that_runs_and_its_configuration_the_one_that_is_found_before(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "macros/m.sql": "{% macro phase() %}{% if not execute %}{{ return('parsing') }}{% endif %}{{ return('running') }}{% endmacro %}"
            "{% macro generate_alias_name(custom_alias_name=none, node=none) %}{{ node.name }}_{{ 'run' if execute else 'parse' }}{% endmacro %}",
            "tests/generic/as_many.sql": UNEQUAL,
            "models/b.sql": "select 1 as id",
            "models/a.sql": """
                {{ config(materialized='table' if execute else 'view', tags=['x']) }}
                {% if execute %}{{ config(tags=['never']) }}{% endif %}
                -- depends_on: {{ ref('b') }}
                select '{{ phase() }}' as p, '{{ execute }}' as e, '{{ execute is true }}' as t, '{{ execute == false }}' as f,
                    '{{ config.get('materialized') }}' as m, '{{ config.get('tags') | join(',') }}' as tags, id
                from {% if execute %}{{ ref('b') }}{% else %}nothing{% endif %}
            """,
            "models/s.yml": "models: [{name: a, data_tests: [{as_many: {arguments: {other: ref('b')}}}]}]",
            "tests/single.sql": "{% if execute %}select * from {{ ref('a') }} where false{% else %}{{ ref('a') }}{% endif %}",
        },
    )
    assert [found.item("a").code, found.item("as_many on a", "test").code, found.item("single", "test").code] == ["", "", ""]
    side = tomllib.loads(found.sidecar("a"))
    assert (side["materialized"], side["tags"], side["alias"]) == ("view", ["x"], "a_parse")
    assert "select 'running' as p, 'True' as e, 'True' as t, 'False' as f,\n    'view' as m, 'x' as tags, id\nfrom b" in found.sql("a")
    many = next(check for check in side["checks"] if check["name"] == "as_many")
    assert "sum(n)" in many["sql"]
    assert "severity" not in many


def test_what_is_referred_to_only_where_a_text_runs_is_refused_as_dbt_refuses_it(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/b.sql": "select 1 as id",
            "models/a.sql": "{% if execute %}select * from {{ ref('b') }}{% else %}select 2 as id{% endif %}",
            "models/s.yml": "sources: [{name: raw, tables: [{name: t}]}]",
            "tests/single.sql": "select * from {{ ref('b') }} {% if execute %}, {{ source('raw', 't') }}{% endif %}",
        },
    )
    assert (found.item("a").code, found.item("single", "test").code) == ("D804", "D804")
    assert "`b` is referred to only where `execute` is true" in found.item("a").why
    assert "`raw.t`" in found.item("single", "test").why
