"""Cases in which importers have failed, each with its right behaviour."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb
import pytest
from tests.importers.dbt_projects import imported

from interlock.engine import api
from interlock.engine.diagnostics import Refused

FILTERED = """
    {{ config(materialized='incremental', unique_key='id') }}
    select 1 as id, timestamp '2024-01-01' as event_time
    {% if is_incremental() %}
    where event_time > (select max(event_time) from {{ this }})
    {% endif %}
"""


def test_a_ref_in_an_sql_comment_is_executed_and_said(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": "select 1 as id",
            "models/b.sql": "-- was: {{ ref('a') }}\nselect 2 as id",
            "models/c.sql": "select 1 as x\n-- {{ ref('gone') }}\n",
        },
    )
    assert "line 1" in found.item("b").why
    assert [finding.code for finding in found.done.findings] == ["D814"]
    assert found.item("c").code == "D807"
    assert found.item("c").line == 2
    assert "SQL comment" in found.item("c").why


def test_a_branch_on_a_query_s_result_is_refused(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/b.sql": "select 1 as id",
            "models/a.sql": "{% if execute and run_query('select 1').columns[0][0] > 0 %} select * from {{ ref('b') }} {% else %} select 1 as id {% endif %}",
            "models/c.sql": "select * from {{ ref('a') }}",
        },
    )
    assert (found.item("a").code, found.item("c").code) == ("D804", "D808")
    assert found.item("a").place == "models/a.sql:1"
    assert found.item("b").status == "converted"


def test_what_branches_refer_to_is_said_whichever_is_taken(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/b.sql": "select 1 as id, 2 as wide",
            "models/c.py": "",
            "models/s.yml": "sources: [{name: raw, tables: [{name: t}]}]",
            "models/a.sql": """
                {% if var('wide', false) %}
                select * from {{ ref('b') }} join {{ ref('gone') }} using (id) join {{ source('raw', 't') }} using (id)
                {% elif target.name == 'prod' %}
                select * from {{ ref('c') }}
                {% else %}
                select 1 as id
                {% endif %}
            """,
            "models/below.sql": "select * from {{ ref('a') }}",
            "macros/m.sql": "{% macro pick() %}\n{% if var('w', false) %}select * from {{ ref('b') }}{% else %}select 1 as id{% endif %}{% endmacro %}",
            "models/through.sql": "{{ pick() }}",
        },
    )
    assert "macros/m.sql:2: `b` is referred to in a branch that was not taken" in found.item("through").why
    why = found.item("a").why
    assert found.item("a").status == "converted"
    assert "line 2: `b` is referred to in a branch that was not taken; with these values it is never read" in why
    assert "line 2: `raw.t` is referred to in a branch that was not taken" in why
    assert "line 4: `c` is referred to" in why
    assert "line 2: `gone` is referred to in a branch that was not taken; nothing that is enabled is called so" in why
    assert "values of wide were written in" in why
    assert "target.name = dev was evaluated" in why
    assert found.item("below").status == "converted"


@pytest.mark.parametrize("name", ["b", "gone"])
@pytest.mark.parametrize("asked", ["execute", "run_query('select 1')", "load_result('x')", "adapter.get_relation('a', 'b', 'c')"])
def test_a_branch_that_asks_the_database_is_refused_whatever_it_refers_to(tmp_path: Path, asked: str, name: str) -> None:
    text = "{% if " + asked + " %} select * from {{ ref('" + name + "') }} {% else %} select 1 as id {% endif %}"
    found = imported(tmp_path, {"models/b.sql": "select 1 as id", "models/a.sql": text})
    assert (found.item("a").code, found.item("a").place) == ("D804", "models/a.sql:1")


def test_a_unit_test_is_refused_with_what_it_leaves_open(tmp_path: Path) -> None:
    unit = "\n  - {name: %s, model: m, given: [%s], expect: {rows: []}%s}"
    ours = "{input: this, rows: []}"
    rows = "{input: \"ref('b')\", rows: []}"
    mode = ", overrides: {macros: {is_incremental: %s}}"
    found = imported(
        tmp_path,
        {
            "models/b.sql": "select 1 as id, date '2024-01-01' as d",
            "models/m.sql": """
                {{ config(materialized='incremental') }}
                select * from {{ ref('b') }}
                {% if is_incremental() %} where d > (select max(d) from {{ this }}) {% endif %}
            """,
            "models/s.yml": "unit_tests:"
            + unit % ("no_mode", rows, "")
            + unit % ("no_this", rows, mode % "true")
            + unit % ("no_rows", ours, mode % "true")
            + unit % ("whole", rows, mode % "false")
            + unit.replace("model: m", "model: n") % ("nowhere", "", ""),
        },
    )
    assert {item.code for item in found.items("test")} == {"D815"}
    assert "does not say what it is (overrides.macros.is_incremental)" in found.item("no_mode", "test").why
    assert "`m` reads `this`, and the test has no input for it" in found.item("no_this", "test").why
    assert "it has no input for `ref('b')`" in found.item("no_rows", "test").why
    assert found.item("whole", "test").why == "a unit test is no check of rows"
    assert "nothing is called `n`" in found.item("nowhere", "test").why
    assert found.item("no_this", "test").line == 3


def test_a_variable_that_nothing_reads_is_said_with_the_one_that_was_meant(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": "name: shop\nversion: '1'\nvars:\n  wyde: true\n",
            "models/a.sql": "select 1 as id{% if var('wide', false) %}, 2 as n{% endif %}",
        },
    )
    assert "nothing that was evaluated reads it" in found.item("wyde", "var").why
    assert "`wide`" in found.item("wyde", "var").remedy
    assert found.item("wyde", "var").line == 4
    with pytest.raises(Refused) as refusal:
        api.compile_(api.open_context(found.out, variables={"wyde": "true"}, environment={}))
    assert refusal.value.findings[0].summary == "nothing reads the variable `wyde`"


FRESHNESS = """
    sources:
      - name: raw
        loaded_at_field: ts
        freshness: {warn_after: {count: 1, period: hour}, error_after: {count: 2, period: hour}}
        tables:
          - {name: plain}
          - {name: none, loaded_at_field: null}
          - {name: own, loaded_at_field: seen, freshness: {error_after: {count: 1, period: day}}}
          - {name: quiet, freshness: null}
          - {name: worked_out, loaded_at_field: "ts::timestamp"}
          - {name: zoned, columns: [{name: TS, data_type: timestamp with time zone}]}
          - {name: said, loaded_at_field: "(ts at time zone 'Europe/Berlin')"}
          - {name: some, freshness: {filter: "id > 1"}}
      - name: newer
        config: {loaded_at_field: ts, freshness: {warn_after: {count: 5, period: minute}}}
        tables: [{name: t}, {name: quiet, config: {freshness: null}}]
"""


@pytest.mark.parametrize("accept", [False, True])
def test_freshness_is_asked_of_the_columns_that_the_table_names(tmp_path: Path, accept: bool) -> None:
    found = imported(tmp_path, {"models/s.yml": FRESHNESS, "models/m.sql": "select 1 as id"}, accept=accept)
    said = {item.name.removesuffix(".freshness"): item for item in found.items("config") if item.name.endswith(".freshness")}
    assert {name: item.status for name, item in said.items()} == {
        "raw.plain": "proposed", "raw.none": "refused", "raw.own": "proposed", "raw.worked_out": "refused", "raw.zoned": "converted",
        "raw.said": "converted", "raw.some": "refused", "newer.t": "proposed",
    }  # fmt: skip
    assert {item.code for item in said.values()} == {"D830", ""}
    assert said["raw.own"].line == 8
    assert "no column says when a row was loaded" in said["raw.none"].why
    assert "`ts::timestamp` is no column" in said["raw.worked_out"].why
    assert "some of the rows only" in said["raw.some"].why
    assert "the zone of `ts` is not declared" in said["newer.t"].why
    written = {name: source.get("freshness") for name, source in tomllib.loads(found.text("sources.toml"))["sources"].items()}
    limits = [{"column": "ts", "max_age": "1 hour", "severity": "warn"}, {"column": "ts", "max_age": "2 hours", "severity": "error"}]
    assert written["raw.zoned"] == limits
    assert written["raw.said"] == [{**limit, "zone": "Europe/Berlin"} for limit in limits]
    assert written.get("raw.quiet") is written.get("newer.quiet") is written["raw.none"] is written["raw.some"] is None
    assert written["newer.t"] == ({"column": "ts", "max_age": "5 minutes", "zone": "UTC", "severity": "warn"} if accept else None)
    proposed = tomllib.loads(said["raw.own"].proposal)["sources"]["raw.own"]["freshness"]
    assert [limit["max_age"] for limit in proposed] == ["1 hour", "1 day"]
    assert proposed == (written["raw.own"] or proposed)


def test_freshness_of_a_column_that_is_not_there_is_refused_when_the_source_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "dbt").mkdir()
    with duckdb.connect(str(tmp_path / "dbt" / "shop.duckdb")) as connection:
        connection.execute("create schema raw; create table raw.t as select 1 as id")
    found = imported(
        tmp_path,
        {
            "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}",
            "models/s.yml": """
                sources:
                  - name: raw
                    tables: [{name: t, loaded_at_field: "ts at time zone 'UTC'", freshness: {warn_after: {count: 1, period: hour}}}]
            """,
            "models/m.sql": "select * from {{ source('raw', 't') }}",
        },
    )
    assert (found.item("raw.t.freshness", "config").code, found.item("m").status) == ("D830", "converted")
    assert "no column `ts`" in found.item("raw.t.freshness", "config").why
    assert "freshness" not in found.text("sources.toml")


def test_a_computed_name_of_a_variable_is_evaluated_and_said(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": "{% set k = 'w_' ~ target.name %}select {{ var(k, 1) }} as id",
            "models/b.sql": "select {{ var('nowhere') }} as id",
        },
    )
    assert found.sql("a").strip() == "select 1 as id"
    assert "w_dev" in found.item("a").why
    assert "target.name = dev" in found.item("a").why
    assert found.item("b").code == "D820"


def test_a_package_that_is_missing_is_named_with_its_macro(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "packages.yml": "packages:\n  - package: dbt-labs/dbt_utils\n    version: 1.3.0\n",
            "models/a.sql": "select 1 as id",
            "models/b.sql": "select {{ dbt.date_trunc('day', 'ts') }} as d from (select timestamp '2024-01-02 03:04:05' as ts)",
            "models/c.sql": "select\n  {{ dbt_utils.star(ref('a')) }} from {{ ref('a') }}",
        },
    )
    assert found.item("dbt_utils", "package").code == "D806"
    assert "date_trunc('day', ts)" in found.sql("b")
    refused = found.item("c")
    assert (refused.code, refused.line) == ("D806", 2)
    assert "`dbt_utils.star`: package `dbt_utils` is not there" in refused.why
    assert any("dbt_utils.star (1)" in said for said in found.done.said)


def test_the_project_s_override_of_a_package_s_macro_wins_and_is_said(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": "name: shop\nversion: '1'\ndispatch: [{macro_namespace: tools, search_order: [shop, tools]}]\n",
            "dbt_packages/tools/dbt_project.yml": "name: tools\nversion: '1'\n",
            "dbt_packages/tools/macros/k.sql": """
                {% macro key(c) %}{{ return(adapter.dispatch('key', 'tools')(c)) }}{% endmacro %}
                {% macro default__key(c) %}md5({{ c }}){% endmacro %}
            """,
            "macros/k.sql": "{% macro default__key(c) %}sha256({{ c }}){% endmacro %}",
            "models/a.sql": "select {{ tools.key('x') }} as k from (select 'a' as x)",
        },
    )
    assert "sha256(x)" in found.sql("a")
    assert "shop.default__key (macros/k.sql:1)" in found.item("dispatch tools.key", "macro").why


def test_a_redefined_ref_is_evaluated_in_its_place(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "macros/ref.sql": "{% macro ref(n) %}{% do return(builtins.ref(n).include(database=false)) %}{% endmacro %}",
            "models/a.sql": "select 1 as id",
            "models/b.sql": "select * from {{ ref('a') }}",
        },
    )
    assert found.sql("b").strip() == "select * from a"
    assert any("takes the place" in item.why for item in found.items("macro") if item.name == "shop.ref")


def test_seeds_keep_their_values_by_name_and_lose_no_zeros(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "seeds/codes.csv": "code,q,b,c\n007,1,1.5,x\n008,2,2.5,y\n",
            "seeds/s.yml": "seeds:\n  - name: codes\n    config:\n      column_types: {c: varchar(10), q: bigint}\n",
        },
    )
    sidecar = found.text("seeds/codes.toml")
    assert 'code = "VARCHAR"' in sidecar
    assert 'q = "bigint"' in sidecar
    assert 'b = "DOUBLE"' in sidecar
    assert 'c = "varchar"' in sidecar
    assert "`c`: DuckDB does not keep the length in `varchar(10)`" in found.item("codes", "seed").why
    assert found.text("seeds/codes.csv") == "code,q,b,c\n007,1,1.5,x\n008,2,2.5,y\n"
    assert "leading zeros" in found.item("codes", "seed").why


def test_a_hook_of_an_ephemeral_model_can_never_run(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": "{{ config(materialized='ephemeral', pre_hook='insert into audit values (1)') }} select 1 as id",
            "models/b.sql": "{{ config(materialized='table', post_hook='grant select on x to y') }} select 1 as id",
            "models/c.sql": "{{ config(materialized='table', pre_hook='delete from t') }} select 1 as id",
        },
    )
    assert found.item("a").code == "D810"
    assert "never runs" in found.item("a").why
    assert found.item("b").status == "converted"
    assert "post-hook was left out" in found.item("b").why
    assert found.item("c").code == "D810"


def test_an_unknown_key_is_reported_with_what_was_meant(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": "name: shop\nversion: '1'\nmodels:\n  shop:\n    +materialised: table\n    stagin: {+tags: x}\n",
            "models/staging/a.sql": "{{ config(unique_keys='id', tag='x') }} select 1 as id",
        },
    )
    assert "unique_key" in found.item("a.unique_keys", "config").remedy
    assert "tags" in found.item("a.tag", "config").remedy
    assert found.item("models.shop.+materialised", "config").line == 5
    assert "materialized" in found.item("models.shop.+materialised", "config").remedy
    assert "staging" in found.item("models.shop.stagin", "config").remedy
    assert {item.code for item in found.items("config") if item.status == "refused"} == {"D809"}


def test_a_test_of_a_downstream_model_is_asked_after_publication(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": "{{ config(materialized='table') }} select 1 as id",
            "models/b.sql": "{{ config(materialized='table') }} select * from {{ ref('a') }}",
            "models/s.yml": """
                models:
                  - name: a
                    columns:
                      - name: id
                        data_tests:
                          - relationships: {arguments: {to: ref('b'), field: id}}
            """,
        },
    )
    assert 'after = "publication"' in found.sidecar("a")
    assert "after publication" in found.item("relationships on a.id", "test").why


def test_a_project_that_is_switched_off_says_so_and_by_what(tmp_path: Path) -> None:
    models = {
        f"models/m{number}.sql": "{{ config(enabled = var('claims_enabled', var('all_enabled', false)) | as_bool) }} select 1 as id"
        for number in range(5)
    }
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": "name: shop\nversion: '1'\nmodels:\n  shop:\n    closed: {+enabled: \"{{ var('off_enabled', false) }}\"}\n",
            **models,
            "models/closed/n.sql": "select 1 as id",
            "models/on.sql": "select 1 as id",
        },
    )
    assert [item.status for item in found.items("model")].count("disabled") == 6
    assert "`claims_enabled`" in found.item("m0").why
    assert "`off_enabled`" in found.item("n").why
    assert found.done.findings[0].code == "D819"
    assert any("6 of 7 models are disabled" in said for said in found.done.said)


@pytest.mark.parametrize(
    "call",
    [
        "{% if is_incremental() %} where true {% endif %}",
        "{%- if  is_incremental ()  -%} where true {%- endif -%}",
        "{% if not is_incremental() %} where true {% endif %}",
        "{% if is_incremental() and var('x', true) %} where true {% endif %}",
        "{{ 'where true' if is_incremental() else '' }}",
        "{% set inc = is_incremental() %}{% if inc %} where true {% endif %}",
        "{% set ask = is_incremental %}{% if ask() %} where true {% endif %}",
        "{% if dbt.is_incremental() %} where true {% endif %}",
        "{% if context['is_incremental']() %} where true {% endif %}",
        "{% if var('x', false) %}{% if is_incremental() %} where true {% endif %}{% endif %}",
        "{{ only_new() }}",
        "{{ through() }}",
        "-- {{ is_incremental() }}",
        "{% if should_full_refresh() %} where true {% endif %}",
    ],
)
@pytest.mark.parametrize("config", ["materialized='incremental'", "materialized='incremental', unique_key='id'", "materialized='table'"])
def test_is_incremental_in_any_spelling_is_refused_and_nothing_written(tmp_path: Path, call: str, config: str) -> None:
    found = imported(
        tmp_path,
        {
            "macros/m.sql": "{% macro only_new() %}{% if is_incremental() %}where true{% endif %}{% endmacro %}{% macro through() %}{{ only_new() }}{% endmacro %}",
            "models/m.sql": "{{ config(" + config + ") }}\nselect * from (values (1, date '2024-01-01')) t(id, d)\n" + call,
        },
    )
    assert found.item("m").code == "D803"
    assert not list(found.out.glob("models/**/m.*"))


def test_is_incremental_in_text_that_is_no_template_is_text(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": "-- is_incremental()\nselect 'is_incremental()' as x {# is_incremental() #}{% raw %}-- {{ is_incremental() }}{% endraw %}"
        },
    )
    assert found.item("m").status == "converted"


def test_a_recognised_filter_is_proposed_and_written_only_when_accepted(tmp_path: Path) -> None:
    refused = imported(tmp_path / "a", {"models/m.sql": FILTERED, "models/below.sql": "select * from {{ ref('m') }}"})
    item = refused.item("m")
    assert (item.status, item.code, item.written) == ("proposed", "D803", "no")
    assert 'watermark = "event_time"' in item.proposal
    assert 'strategy = "merge"' in item.proposal
    assert not list(refused.out.glob("models/**/m.*"))
    assert refused.item("below").code == "D808"
    accepted = imported(tmp_path / "b", {"models/m.sql": FILTERED, "models/below.sql": "select * from {{ ref('m') }}"}, accept=True)
    assert accepted.item("m").written == "yes"
    assert "review" in accepted.sidecar("m")
    assert 'watermark = "event_time"' in accepted.sidecar("m")
    assert "is_incremental" not in accepted.sql("m")
    assert accepted.item("below").status == "converted"


@pytest.mark.parametrize(
    ("condition", "known"),
    [
        ("where ts > (select max(ts) from {{ this }})", True),
        ("where ts >= (select coalesce(max(ts), '1900-01-01') from {{ this }})", True),
        ("where ts >= coalesce((select max(ts) from {{ this }}), '1900-01-01')", True),
        ("where ts > coalesce ((select max(ts) - interval '3 days' from {{ this }}), cast('1900-01-01' as timestamp))", True),
        ("where ts >= coalesce((select max(ts) from {{ this }}))", False),
        ("where ts >= coalesce((select max(ts) from {{ this }}), '1900-01-01') or true", False),
        ("where ts >= coalesce((select max(ts) from {{ this }}), '1900-01-01') and id > 1", False),
        ("and t.ts > (select max(x.ts) from {{ this }} as x)", True),
        ("where ts > (select max(ts) - interval '3 days' from {{ this }})", True),
        ("where ts >= (select coalesce(max(ts), cast('1900-01-01' as timestamp)) as m from {{ this }})", True),
        ("where ts > (select max(ts) from {{ this }}) and id > 3", False),
        ("where ts > (select min(ts) from {{ this }})", False),
        ("where id not in (select id from {{ this }})", False),
        ("where ts > current_date - 3", False),
        ("where ts < (select max(ts) from {{ this }})", False),
        ("where ts > (select max(ts) from {{ this }} where id > 1)", False),
    ],
)
def test_only_one_filter_of_the_usual_form_is_proposed(tmp_path: Path, condition: str, known: bool) -> None:
    text = (
        "{{ config(materialized='incremental') }} select 1 as id, timestamp '2024-01-01' as ts {% if is_incremental() %} "
        + condition
        + " {% endif %}"
    )
    assert (imported(tmp_path, {"models/m.sql": text}).item("m").status == "proposed") == known


@pytest.mark.parametrize("accept", [False, True])
def test_what_dbt_s_incremental_models_do_without_a_block_is_kept_proposed_or_refused(tmp_path: Path, accept: bool) -> None:
    select = "select 1 as id, timestamp '2024-01-01' as ts, date '2024-01-01' as order_date"
    found = imported(
        tmp_path,
        {
            "models/append.sql": "{{ config(materialized='incremental') }}" + select,
            "models/merge.sql": "{{ config(materialized='incremental', unique_key='id', event_time='ts') }}" + select,
            "models/merge_without.sql": "{{ config(materialized='incremental', unique_key='id') }}" + select,
            "models/days.sql": "{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='order_date') }}"
            + select,
            "models/rows.sql": "{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='id') }}" + select,
            "models/other.sql": "{{ config(materialized='incremental', incremental_strategy='insert_overwrite') }}" + select,
            "models/columns.sql": "{{ config(materialized='incremental', unique_key='id', event_time='ts', merge_update_columns=['ts']) }}"
            + select,
            "models/src.sql": "{{ config(materialized='table', event_time='ts') }}" + select,
            "models/batches.sql": "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='ts', batch_size='day', begin='2020-01-01', lookback=2) }} select id, ts from {{ ref('src') }}",
            "models/windows.sql": "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='ts', batch_size='day', begin='2020-01-01') }} select id, ts, row_number() over (order by ts) as n from {{ ref('src') }}",
        },
        accept=accept,
    )
    codes = {item.name: item.code or item.status for item in found.items("model")}
    assert codes == {
        "append": "D811", "merge": "converted", "merge_without": "D811", "days": "D811", "rows": "D811", "other": "D811",
        "columns": "D810", "src": "converted", "batches": "D811", "windows": "D811",
    }  # fmt: skip
    proposed = {item.name for item in found.items("model") if item.status == "proposed"}
    assert proposed == {"days", "batches"}
    assert 'strategy = "merge"' in found.sidecar("merge")
    item = found.item("batches")
    assert "lookback counts from the watermark, dbt's from now" in item.why if accept else "differ" in item.why
    assert "where ts >= timestamp '2020-01-01'" in item.proposal
    assert "from src" in item.proposal or "from (select * from src" in item.proposal
    assert 'partition = "day"' in item.proposal
    assert (item.written, bool(list(found.out.glob("models/**/batches.*")))) == (("yes", True) if accept else ("no", False))
    if accept:
        batches = found.sidecar("batches")
        assert "review" in batches
        assert 'lookback = "2 days"' in batches
        assert "where ts >= timestamp '2020-01-01'" in found.sql("batches")


def test_a_proposal_does_not_hide_what_else_cannot_be_kept(tmp_path: Path) -> None:
    config = "{{ config(materialized='incremental', unique_key='id', pre_hook='delete from x') }}"
    found = imported(
        tmp_path,
        {
            "models/m.sql": FILTERED.replace("{{ config(materialized='incremental', unique_key='id') }}", config),
            "models/wrong.sql": FILTERED.replace("1 as id", "nothing as id"),
            "models/days.sql": "{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='day', pre_hook='delete from x') }} select date '2024-01-01' as day",
            "models/fine.sql": "{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='day') }} select date '2024-01-01' as day",
        },
        accept=True,
    )
    assert {item.name: (item.status, item.code) for item in found.items("model")} == {
        "m": ("refused", "D803"),
        "wrong": ("refused", "D817"),
        "days": ("refused", "D811"),
        "fine": ("proposed", "D811"),
    }
    assert found.item("fine").written == "yes"


def test_every_configuration_key_has_a_line(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": """
                name: shop
                version: '1'
                nodels: {}
                models:
                  shop:
                    +materialized: table
                    +grants: {select: [me]}
                    +post-hook: "grant select on {{ this }} to me"
            """,
            "models/m.sql": "{{ config(alias='n', meta={'a': 1}, merge_update_columns=['x']) }} select 1 as id",
        },
    )
    said = {item.name: (item.status, item.line) for item in (*found.items("config"), *found.items("hook"))}
    assert said == {
        "name": ("converted", 1),
        "version": ("documented", 2),
        "nodels": ("refused", 3),
        "models": ("converted", 4),
        "models.shop.+materialized": ("converted", 6),
        "models.shop.+grants": ("documented", 7),
        "models.shop.+post-hook": ("documented", 8),
        "m.alias": ("converted", 1),
        "m.meta": ("documented", 1),
        "m.merge_update_columns": ("refused", 1),
    }


@pytest.mark.parametrize(
    ("cells", "becomes"),
    [
        (["1.0", "2.0"], "INTEGER"),
        (["1e3", "2"], "INTEGER"),
        (["1_000", "2"], "INTEGER"),
        (["3000000000", "1"], "BIGINT"),
        (["99999999999999999999", "1"], "HUGEINT"),
        (["123456789012345678901234567890", "1"], "DOUBLE"),
        (["1e-999999999", "1"], "DOUBLE"),
        ([".5", "1"], "DOUBLE"),
        (["5.", "1"], "INTEGER"),
        (["nan", "1.5"], "DOUBLE"),
        (["2024-1-5", "2024-12-31"], "DATE"),
        (["2024-02-30", "2024-01-01"], "VARCHAR"),
        (["2024-01-05 10:00:00", "2024-1-5 1:2:3"], "TIMESTAMP"),
        (["2024-01-05T10:00", "2024-01-05T10:00:00.25"], "TIMESTAMP"),
        (["2024-01-05 10:00", "2024-01-05 10:01"], "VARCHAR"),
        (["2024-01-05 10:00:00.5", "2024-01-05 10:00:01"], "VARCHAR"),
        (["2024-01-05", "2024-01-05 10:00:00"], "VARCHAR"),
        (["2024-01-05T10:00:00", "2024-01-05 10:00:00"], "VARCHAR"),
    ],
)
def test_a_seeds_columns_have_the_types_that_dbt_finds(tmp_path: Path, cells: list[str], becomes: str) -> None:
    found = imported(tmp_path, {"seeds/s.csv": "k,v\n" + "".join(f"{index},{cell}\n" for index, cell in enumerate(cells))})
    assert f'v = "{becomes}"' in found.text("seeds/s.toml")
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
