"""Which files dbt reads, by which profile, and what of its own ways a project may have replaced."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb
import pytest
from tests.importers.dbt_projects import imported, write

from interlock.engine import api

ONE = "select 1 as id"


def test_files_are_those_that_dbt_reads_wherever_they_lie(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", {"linked.sql": ONE})
    write(tmp_path / "dbt", {})
    (tmp_path / "dbt" / "models").mkdir()
    (tmp_path / "dbt" / "models" / "link").symlink_to(tmp_path / "elsewhere")
    read = (
        "models/logs/logged.sql",
        "models/target/aimed.sql",
        "models/.drafts/draft.sql",
        "models/dbt_packages/packed.sql",
        "models/kept_tmp.sql",
    )
    passed_over = ("models/#saved.sql", "models/~lock.sql", "models/.x.sql", "models/old/deep/gone.sql", "models/a_tmp.sql")
    rules = {".dbtignore": "# nothing\nmodels/old/\n*_tmp.sql\n!kept_tmp.sql\n", "target/compiled/models/built.sql": ONE}
    found = imported(tmp_path, {**dict.fromkeys((*read, *passed_over), ONE), **rules})
    assert {item.path for item in found.items("model") if item.status == "converted"} == set(read)
    assert {item.path for item in found.items("file") if "dbt passes over" in item.why} == set(passed_over)
    assert found.item("models/link", "file").why == "a link to a folder: dbt does not follow it"
    run = api.run(api.open_context(found.out, environment={}))
    assert (run.outcome, len(run.models)) == ("succeeded", len(read))


def test_a_word_of_sql_may_name_a_model(tmp_path: Path) -> None:
    files = {f"models/{name}.sql": ONE for name in ("order", "group", "user", "left", "values", "table")}
    files["models/reads.sql"] = """
        with "order" as (select id from {{ ref('order') }})
        select o.id from "order" o join {{ ref('order') }} p using (id) join {{ ref('group') }} g using (id) join {{ ref('left') }} l using (id)
        join {{ ref('table') }} t using (id) join {{ ref('values') }} v using (id) join {{ ref('user') }} u using (id)
    """
    files["models/s.yml"] = """
        models:
          - name: order
            columns: [{name: id, data_tests: [unique, {relationships: {arguments: {to: ref('group'), field: id}}}, {not_null: {config: {where: id > 0}}}]}]
    """
    found = imported(tmp_path, files)
    assert [item.why for item in found.done.items if item.status == "refused"] == []
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"


PROFILES = """
    shop:
      target: "{{ env_var('AIM', 'dev') }}"
      outputs:
        dev: {type: duckdb, path: shop.duckdb, schema: of_dev}
        prod: {type: duckdb, path: shop.duckdb, schema: "{{ env_var('PLACE', 'of_prod') }}"}
"""
TARGET = {"models/t.sql": "select '{{ target.name }} {{ target.schema }}' as t"}


@pytest.mark.parametrize(
    ("environment", "said"),
    [({}, "dev of_dev"), ({"AIM": "prod"}, "prod of_prod"), ({"AIM": "prod", "PLACE": "p"}, "prod p"), ({"AIM": "gone"}, "dev of_dev")],
)
def test_a_profile_is_evaluated_before_its_target_is_chosen(tmp_path: Path, environment: dict[str, str], said: str) -> None:
    found = imported(tmp_path, {"profiles.yml": PROFILES, **TARGET}, environment=environment)
    assert f"'{said}'" in found.sql("t")
    assert f'schema = "{said.split()[1]}"' in found.text("interlock.toml")
    assert [item.name for item in found.items("config") if item.status == "refused"] == (
        ["profile.target"] if "gone" in environment.values() else []
    )


def test_the_folder_of_profiles_that_the_environment_names_is_asked_first(tmp_path: Path) -> None:
    write(tmp_path / "home", {"profiles.yml": PROFILES.replace("of_dev", "of_home")})
    found = imported(tmp_path, {"profiles.yml": PROFILES, **TARGET}, environment={"DBT_PROFILES_DIR": str(tmp_path / "home")})
    assert "'dev of_home'" in found.sql("t")


def test_a_schema_that_has_no_name_here_is_said(tmp_path: Path) -> None:
    found = imported(tmp_path, {"profiles.yml": PROFILES.replace("of_dev", "of-dev"), **TARGET})
    assert (found.item("profile.schema", "config").status, found.item("profile.schema", "config").code) == ("refused", "D810")


def test_a_file_of_a_test_is_as_yaml_says(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": ONE,
            "tests/soft.sql": "select * from {{ ref('a') }}",
            "tests/quiet.sql": "select * from {{ ref('a') }}",
            "tests/own.sql": "{{ config(severity='error', limit=3) }}select * from {{ ref('a') }} where id > 1",
            "tests/t.yml": """
                data_tests:
                  - {name: soft, description: only said, config: {severity: warn}}
                  - {name: quiet, config: {enabled: "{{ false }}"}}
                  - {name: own, config: {severity: warn}}
                  - {name: gone, config: {severity: warn}}
            """,
        },
    )
    assert [found.item(name, "test").status for name in ("soft", "quiet", "own")] == ["converted", "disabled", "converted"]
    assert found.item("tests.gone", "config").code == "D809"
    assert found.sidecar("a").count('severity = "warn"') == 1
    assert 'description = "only said"' in found.sidecar("a")
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"


def test_selectors_are_said_and_a_default_one_is_not_followed_in_silence(tmp_path: Path) -> None:
    text = "selectors:\n  - {name: nightly, definition: 'tag:n'}\n  - {name: usual, default: true, definition: 'tag:u'}\n"
    found = imported(tmp_path, {"models/a.sql": ONE, "selectors.yml": text})
    assert found.item("selector nightly", "config").status == "documented"
    assert (found.item("selector usual", "config").status, found.item("selector usual", "config").line) == ("refused", 3)


@pytest.mark.parametrize(
    ("hook", "kept"),
    [
        ("analyze {{ this }}; delete from {{ this }}", False),
        ("grant select on {{ this }} to {{ run_query('delete from x') }}", False),
        ("grant select on {{ this }} to a; grant select on {{ this }} to b;", True),
    ],
)
def test_a_hook_is_harmless_as_a_whole_or_not_at_all(tmp_path: Path, hook: str, kept: bool) -> None:
    found = imported(tmp_path, {"models/a.sql": f'{{{{ config(materialized="table", post_hook="{hook}") }}}}{ONE}'})
    assert (found.item("a").status, found.item("a.post-hook", "hook").status) == (
        ("converted", "documented") if kept else ("refused", "refused")
    )


@pytest.mark.parametrize(
    ("macro", "refused"),
    [
        ("{% materialization view, default %}{% endmaterialization %}", {"view"}),
        ("{% materialization view, adapter='duckdb' %}{% endmaterialization %}", {"view"}),
        ("{% materialization view, adapter='snowflake' %}{% endmaterialization %}", set()),
        ("{% materialization table, default %}{% endmaterialization %}", set()),  # dbt's own for DuckDB comes before it
        ("{% materialization table, adapter='duckdb' %}{% endmaterialization %}", {"table"}),
        ("{% macro create_table_as(temporary, relation, sql) %}{% endmacro %}", {"table", "merged", "snap"}),
        ("{% macro duckdb__get_merge_sql() %}{% endmacro %}", {"merged"}),
        ("{% macro snapshot_hash_arguments(args) %}{% endmacro %}", {"snap"}),
        ("{% macro default__load_csv_rows(model, agate_table) %}{% endmacro %}", {"seed"}),
    ],
)
def test_what_the_projects_own_macros_would_build_is_not_built_by_ours(tmp_path: Path, macro: str, refused: set[str]) -> None:
    found = imported(
        tmp_path,
        {
            "macros/own.sql": macro,
            "models/view.sql": ONE,
            "models/table.sql": "{{ config(materialized='table') }}" + ONE,
            "models/merged.sql": "{{ config(materialized='incremental', unique_key='id', event_time='at') }}select 1 as id, timestamp '2024-01-01' as at",
            "seeds/seed.csv": "id\n1\n",
            "snapshots/s.sql": "{% snapshot snap %}{{ config(unique_key='id', strategy='check', check_cols='all') }}"
            + ONE
            + "{% endsnapshot %}",
        },
    )
    items = [item for item in found.done.items if item.kind in {"model", "seed", "snapshot"}]
    assert {item.name for item in items if item.status == "refused"} == refused
    assert {item.code for item in items if item.status == "refused"} <= {"D810"}


def test_rows_of_a_test_are_chosen_by_the_projects_own_macro(tmp_path: Path) -> None:
    own = """
        {% macro get_where_subquery(relation) -%}
            (select * from {{ relation }} where id > {{ 1 if config.get('where') == '__later__' else 0 }})
        {%- endmacro %}
    """
    rule = "models: [{name: a, columns: [{name: id, data_tests: [%s]}]}]"
    twice = "select unnest([1, 1, 2]) as id"
    for name, test in {"later": "{unique: {config: {where: __later__}}}", "all": "unique"}.items():
        found = imported(tmp_path / name, {"macros/w.sql": own, "models/a.sql": twice, "models/s.yml": rule % test})
        assert [item.why for item in found.done.items if item.status == "refused"] == []
        assert api.run(api.open_context(found.out, environment={})).outcome == ("succeeded" if name == "later" else "partial")


def test_a_test_whose_sql_the_project_makes_itself_is_refused(tmp_path: Path) -> None:
    own = "{% macro get_test_sql(main_sql, fail_calc, warn_if, error_if, limit) %}select 0{% endmacro %}"
    found = imported(
        tmp_path,
        {"macros/w.sql": own, "models/a.sql": ONE, "models/s.yml": "models: [{name: a, columns: [{name: id, data_tests: [unique]}]}]"},
    )
    assert [(item.status, item.code) for item in found.items("test")] == [("refused", "D815")]


@pytest.mark.parametrize("text", ["{{ [1, 2] | random }}", "'{{ lipsum() }}'"])
def test_what_is_drawn_by_chance_is_not_frozen(tmp_path: Path, text: str) -> None:
    assert imported(tmp_path, {"models/a.sql": f"select {text} as x"}).item("a").code == "D829"


def test_a_macro_of_dbts_is_the_projects_where_dbt_dispatches_it(tmp_path: Path) -> None:
    macros = "{% macro default__hash(field) %}sha256({{ field }}){% endmacro %}{% macro duckdb__length(e) %}strlen({{ e }}){% endmacro %}"
    found = imported(tmp_path, {"macros/m.sql": macros, "models/a.sql": "select {{ dbt.hash(\"'x'\") }} as h, {{ length(\"'ü'\") }} as l"})
    assert found.sql("a").strip() == "select sha256('x') as h, strlen('ü') as l"
    assert "before dbt's own" in found.item("dispatch dbt.hash", "macro").why


def test_nothing_to_compare_is_no_refusal_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path / "dbt",
        {
            "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}",
            "models/a.sql": "select {{ gone() }} as id",
        },
    )
    duckdb.connect(str(tmp_path / "dbt" / "shop.duckdb")).close()
    result = api.import_dbt(tmp_path / "dbt", tmp_path / "new", environment={}, compare=True)
    assert (result.outcome, result.compared, [item.code for item in result.items if item.kind == "model"]) == ("done", (), ["D806"])


PROJECT_VARIABLES = """
    name: shop
    version: '1'
    profile: "{{ var('which', 'shop') }}"
    vars: {flag: false, place: mine, which: none, strict: error}
    models: {shop: {a: {+enabled: "{{ var('flag', true) }}", +schema: "{{ var('place', 'theirs') }}", b: {+enabled: "{{ var('on', false) }}"}}}}
    seeds: {shop: {+enabled: "{{ var('flag', true) | as_bool }}"}}
    sources: {shop: {+enabled: "{{ var('flag', true) }}"}}
    data_tests: {shop: {+severity: "{{ var('strict', 'warn') }}"}}
"""


def test_the_configuration_of_dbt_project_yml_does_not_see_the_variables_that_it_declares(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": PROJECT_VARIABLES,
            "models/a/x.sql": "select {{ var('flag') }} as flag",
            "models/a/b/off.sql": "select 1 as id",
            "models/of_seed.sql": "select * from {{ ref('s') }}",
            "models/of_source.sql": "select * from {{ source('raw', 't') }}",
            "models/p.yml": """
                models: [{name: of_seed, config: {tags: ["{{ var('place', 'theirs') }}"]}, columns: [{name: id, data_tests: [unique]}]}]
                sources: [{name: raw, tables: [{name: t}]}]
            """,
            "tests/single.sql": "select * from {{ ref('of_seed') }} where false",
            "seeds/s.csv": "id\n1\n",
        },
    )
    assert {name: found.item(name).status for name in ("x", "off", "of_seed", "of_source")} == {
        "x": "converted", "off": "disabled", "of_seed": "converted", "of_source": "converted",
    }  # fmt: skip
    assert tomllib.loads(found.sidecar("x"))["schema"] == "main_theirs"
    assert "False as flag" in found.sql("x")  # what is no part of that file does see them
    side = tomllib.loads(found.sidecar("of_seed"))
    assert side["tags"] == ["mine"]
    assert {check["name"]: check["severity"] for check in side["checks"]} == {"unique_id": "warn", "single": "warn"}
    assert "default" in found.item("off").why
    assert "default" in found.item("off").remedy
    assert "before it knows `vars`" in found.item("flag in dbt_project.yml", "var").why


def test_a_variable_of_dbt_project_yml_without_a_default_is_refused_as_dbt_refuses_it(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": """
                name: shop
                version: '1'
                vars: {flag: true, strict: warn}
                models: {shop: {+enabled: "{{ var('flag') }}"}}
                data_tests: {shop: {+severity: "{{ var('strict') }}"}}
            """,
            "models/x.sql": "select 1 as id",
            "seeds/s.csv": "id\n1\n",
            "seeds/s.yml": "seeds: [{name: s, columns: [{name: id, data_tests: [unique]}]}]",
        },
    )
    assert (found.item("x").code, found.item("x").line) == ("D820", 4)
    assert "before its `vars`" in found.item("x").why
    assert found.item("unique on s.id", "test").code == "D820"


def test_each_kind_of_package_that_is_not_there_is_called_by_its_name(tmp_path: Path) -> None:
    listed = "[{package: dbt-labs/dbt_utils}, {git: 'https://x.y/some-kit.git'}, {private: us/ours}, {tarball: 'https://x.y/t.tar.gz', name: packed}]"
    found = imported(tmp_path, {"packages.yml": f"packages: {listed}", "models/m.sql": "select 1 as id"})
    assert {item.name: item.code for item in found.items("package")} == dict.fromkeys(("dbt_utils", "some_kit", "ours", "packed"), "D806")
