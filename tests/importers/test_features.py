"""What a converted project is: its text is the author's, its checks ask what the tests asked, it compiles and runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb
import pytest
from tests.importers import shapes
from tests.importers.dbt_projects import imported, write

from interlock.engine import api
from interlock.engine.project.load import load

ONE = "{{ config(materialized='table') }} select 1 as id, 'a' as s"


def test_a_whole_project_is_converted_and_runs(tmp_path: Path) -> None:
    files = {path: text for path, text in shapes.restaurant().items() if path != "profiles.yml"}
    found = imported(tmp_path, {path: text for path, text in files.items() if not path.startswith("models/marts/from_source")})
    assert [item for item in found.done.items if item.status == "refused" and item.kind != "test"] == []
    assert [item.name for item in found.done.items if item.status == "refused"] == ["not_null on raw.visits.id", "unique on raw.visits.id"]
    run = api.run(api.open_context(found.out, environment={}))
    assert run.outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as warehouse:
        assert warehouse.execute("select count(*) from main_marts.facts").fetchone() == (32,)
        assert warehouse.execute("select count(*) from main_snaps.snap_check where dbt_valid_to is null").fetchone() == (48,)
        assert warehouse.execute("select name from main_kitchen.dishes").fetchone() == ("duck soup" + "hot3",)


def test_jinja_by_construct_compiles_with_every_materialization(tmp_path: Path) -> None:
    found = imported(tmp_path, shapes.by_construct())
    assert [item for item in found.done.items if item.status in {"refused", "proposed"}] == []
    assert len(found.items("model")) == len(shapes.FEATURES) * 4


def test_sql_is_as_its_author_wrote_it_but_where_a_template_stood(tmp_path: Path) -> None:
    text = "-- Kopf: ä\nselect   id ,\n\t'x'  AS s -- why\n  FROM {{ ref( 'one' ) }}  /* end */\n"
    found = imported(
        tmp_path,
        {
            "models/one.sql": ONE,
            "models/plain.sql": text,
            "models/windows.sql": text.replace("\n", "\r\n").encode(),
            "models/marked.sql": ("\ufeff" + text).encode(),
            "models/configured.sql": "{{\n  config(materialized='table')\n}}\n\n" + text,
            "models/below.sql": text + "{{ config(materialized='table') }}",
        },
    )
    wanted = text.replace("{{ ref( 'one' ) }}", "one")
    assert found.sql("plain") == wanted
    assert found.sql("windows") == wanted.replace("\n", "\r\n")
    assert found.sql("marked") == wanted
    assert found.sql("configured") == wanted
    assert found.sql("below") == wanted
    assert 'materialized = "table"' in found.sidecar("below")


def test_a_cte_does_not_capture_a_model_of_its_name(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/orders.sql": ONE,
            "models/usual.sql": "with orders as (select * from {{ ref('orders') }}) select * from orders",
            "models/captured.sql": "with orders as (select 2 as id), b as (select * from {{ ref('orders') }}) select * from b",
        },
    )
    assert found.sql("usual").strip() == "with orders as (select * from orders) select * from orders"
    assert "b as (select * from main.orders)" in found.sql("captured")


def test_names_that_are_none_here_are_changed_and_keep_their_relation(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/My-Model.sql": "{{ config(alias='mine') }} select 1 as id",
            "models/below.sql": "select * from {{ ref('My-Model') }}",
            "packages.yml": "packages: [{local: other}]",
            "other/dbt_project.yml": "name: other\nversion: '1'\n",
            "other/models/below.sql": "{{ config(alias='theirs') }} select 2 as id",
        },
    )
    assert found.sql("below").strip() == "select * from my_model"
    assert 'alias = "mine"' in found.sidecar("my_model")
    assert found.item("below").status == "converted" if len([i for i in found.items("model") if i.name == "below"]) == 1 else True
    assert (found.out / "models/packages/other/other__below.sql").is_file()


def test_levels_of_configuration_merge_as_dbt_merges_them(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": """
                name: shop
                version: '1'
                models:
                  +tags: all
                  shop:
                    +materialized: table
                    marts:
                      +schema: marts
                      +tags: [marts]
                      deep: {+materialized: view}
            """,
            "models/a.sql": "select 1 as id",
            "models/marts/b.sql": "{{ config(tags='own') }} select 1 as id",
            "models/marts/deep/c.sql": "select 1 as id",
            "models/marts/deep/d.sql": "{{ config(materialized='table') }} select 1 as id",
            "models/s.yml": "models: [{name: c, config: {materialized: ephemeral, tags: [yml]}}, {name: d, config: {materialized: ephemeral}}]",
        },
    )
    sides = {name: tomllib.loads(found.sidecar(name)) for name in "abcd"}
    assert sides["a"] == {"materialized": "table", "tags": ["all"]}
    assert sides["b"] == {"materialized": "table", "schema": "main_marts", "tags": ["all", "marts", "own"]}
    assert sides["c"] == {"materialized": "ephemeral", "tags": ["all", "marts", "yml"]}
    assert sides["d"]["materialized"] == "table"


def test_the_project_s_own_rule_for_schemas_is_evaluated(tmp_path: Path) -> None:
    macro = "{% macro generate_schema_name(custom_schema_name, node) %}{{ custom_schema_name | trim if custom_schema_name else target.schema }}{% endmacro %}"
    found = imported(
        tmp_path, {"macros/g.sql": macro, "models/a.sql": "{{ config(schema='gold') }} select 1 as id", "models/b.sql": "select 1 as id"}
    )
    assert 'schema = "gold"' in found.sidecar("a")
    assert "schema" not in found.sidecar("b")


def test_tests_of_every_spelling_become_checks(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": ONE,
            "models/e.sql": "{{ config(materialized='ephemeral') }} select 1 as id",
            "models/r.sql": "{{ config(materialized='table') }} select * from {{ ref('e') }}",
            "macros/t.sql": "{% test longer(model, column_name, than) %}select {{ column_name }} from {{ model }} where length({{ column_name }}) <= {{ than }}{% endtest %}",
            "tests/generic/g.sql": "{% test never(model) %}select * from {{ model }} where false{% endtest %}",
            "tests/single.sql": "select m.id from {{ ref('m') }} m join {{ ref('r') }} r using (id) where m.id < 0;",
            "models/s.yml": """
                models:
                  - name: m
                    tests:
                      - never
                      - dbt_utils.unique_combination_of_columns: {combination_of_columns: [id, s]}
                      - dbt_utils.expression_is_true: {arguments: {expression: "id > 0"}}
                      - nowhere.is_plausible
                    columns:
                      - name: id
                        tests:
                          - unique
                          - {not_null: {config: {severity: warn}}}
                          - not_null: {where: "s = 'a'", name: only_a}
                          - unique: {config: {error_if: ">10", warn_if: ">2"}}
                          - unique: {config: {enabled: false}}
                          - unique: {config: {fail_calc: "sum(n_records)", error_if: "> 5"}}
                          - unique: {config: {error_if: "a lot"}}
                      - name: s
                        data_tests:
                          - accepted_values: {arguments: {values: [a, "it's"]}}
                          - accepted_values: {values: ["upper('a')", "'a'"], quote: false}
                          - longer: {than: 0}
                          - name: by_name
                            test_name: longer
                            than: "{{ 0 }}"
                  - name: e
                    columns: [{name: id, tests: [unique]}]
            """,
        },
    )
    checks = load(found.out, environment={}).models["m"].checks
    assert [check.name for check in checks] == [
        "never",
        "unique_combination_of_columns",
        "expression_is_true",
        "unique_id",
        "not_null_id",
        "only_a",
        "unique_id_2",
        "unique_id_warn",
        "unique_id_3",
        "unique_id_warn_2",
        "accepted_values_s",
        "accepted_values_s_2",
        "longer_s",
        "by_name",
    ]
    assert [check.severity for check in checks].count("warn") == 3
    codes = [(item.name, item.code) for item in found.items("test") if item.code]
    assert codes == [("nowhere.is_plausible on m", "D815"), ("unique on m.id", "D815")]
    assert [item.status for item in found.items("test")].count("disabled") == 1
    project = load(found.out, environment={})
    assert [check.name for check in project.models["r"].checks] == ["unique_id", "single"]
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"


def test_thresholds_count_as_dbt_counts(tmp_path: Path) -> None:
    rows = "{{ config(materialized='table') }} select * from (values (1), (1), (2), (2), (3)) t(id)"
    tests = "models: [{name: m, columns: [{name: id, data_tests: [{unique: {config: {error_if: '%s', warn_if: '>1'}}}]}]}]"
    for number, (condition, outcome) in enumerate(
        [(">2", "succeeded"), (">1", "partial"), ("between 2 and 3", "partial"), ("= 5", "succeeded")]
    ):
        found = imported(tmp_path / str(number), {"models/m.sql": rows, "models/s.yml": tests % condition})
        assert api.run(api.open_context(found.out, environment={})).outcome == outcome, condition


def test_contracts_and_constraints(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": ONE,
            "models/s.yml": """
                models:
                  - name: m
                    config: {contract: {enforced: true}}
                    constraints: [{type: primary_key, columns: [id]}]
                    columns:
                      - {name: id, data_type: integer, constraints: [{type: not_null}, {type: check, expression: "id > 0"}]}
                      - {name: s, data_type: varchar, description: a letter}
            """,
        },
    )
    model = load(found.out, environment={}).models["m"]
    assert model.contract is not None
    assert model.contract.extra_columns == "refuse"
    assert not model.contract.columns["id"].nullable
    assert model.contract.columns["s"].description == "a letter"
    assert sorted(check.name for check in model.checks) == ["check_id", "unique_id"]


def test_sources_by_identifier_file_and_attached_database(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    write(root, {"data/a.csv": "id\n1\n2\n"})
    for name in ("shop", "other"):
        with duckdb.connect(str(root / f"{name}.duckdb")) as connection:
            connection.execute("create schema raw; create table raw.t_orders as select 7 as id, 'x' as s")
    found = imported(
        tmp_path,
        {
            "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, attach: [{path: other.duckdb, alias: far}]}}}",
            "models/s.yml": """
                sources:
                  - name: raw
                    tables: [{name: orders, identifier: t_orders, columns: [{name: id, tests: [unique]}]}]
                  - {name: elsewhere, database: far, schema: raw, tables: [{name: t_orders}]}
                  - name: lake
                    meta: {external_location: "data/{name}.csv"}
                    tables: [{name: a}]
            """,
            "models/m.sql": "{{ config(materialized='table') }} select o.id, f.s, a.id as n from {{ source('raw', 'orders') }} o, {{ source('elsewhere', 't_orders') }} f, {{ source('lake', 'a') }} a",
        },
    )
    assert found.item("m").status == "converted"
    assert "raw.orders o, elsewhere.t_orders f, lake.a a" in found.sql("m")
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as warehouse:
        assert warehouse.execute("select * from main.m order by n").fetchall() == [(7, "x", 1), (7, "x", 2)]


def test_anchors_aliases_and_jinja_in_yaml(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": ONE,
            "models/s.yml": """
                anchors:
                  - &key {name: id, description: "{{ doc('id') }}", tests: [unique, not_null]}
                models:
                  - name: m
                    description: "{{ 'From ' ~ target.name }}, with {braces}"
                    meta: {owner: "{{ var('owner', 'me') }}"}
                    columns: [*key]
            """,
            "models/d.md": "{% docs id %}\nThe **key** {{ of }} it\n{% enddocs %}",
        },
    )
    side = tomllib.loads(found.sidecar("m"))
    assert side["description"] == "From dev, with {braces}"
    assert len(side["checks"]) == 2
    documentation = found.text("DOCUMENTATION.md")
    assert "The **key** {{ of }} it" in documentation
    assert "'owner': 'me'" in documentation


def test_compare_names_the_first_rows_that_differ(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    write(root, {"profiles.yml": shapes.PROFILE, "models/a.sql": ONE, "models/b.sql": ONE})
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        connection.execute("create table a as select 1 as id, 'a' as s; create table b as select 2 as id, 'b' as s")
    result = api.import_dbt(root, tmp_path / "new", environment={}, compare=True)
    assert result.exit_code == 3
    assert [finding.code for finding in result.findings] == ["D827"]
    by_model = {each.model: each for each in result.compared}
    assert by_model["a"].outcome == "equal"
    assert by_model["b"].first_only_here == (("1", "a"),)
    assert by_model["b"].first_only_dbt == (("2", "b"),)


def test_compare_sees_views_over_dbt_s_own_database_and_over_files(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    write(
        root,
        {
            "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, attach: [{path: far.duckdb}], settings: {integer_division: true}}}}",
            "data/a.csv": "id\n1\n2\n",
            "models/s.yml": """
                sources:
                  - {name: raw, schema: raw, tables: [{name: t}]}
                  - {name: other, database: far, schema: main, tables: [{name: u}]}
                  - {name: lake, meta: {external_location: "data/{name}.csv"}, tables: [{name: a}]}
            """,
            "models/over_table.sql": "select id / 2 as half from {{ source('raw', 't') }}",
            "models/over_other.sql": "select * from {{ source('other', 'u') }}",
            "models/over_file.sql": "select * from {{ source('lake', 'a') }}",
            "models/over_view.sql": "select count(*) as n from {{ ref('over_table') }}",
        },
    )
    with duckdb.connect(str(root / "far.duckdb")) as far:
        far.execute("create table u as select 5 as id")
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        connection.execute("set integer_division = true; create schema raw; create table raw.t as select range::int as id from range(4)")
        connection.execute("create view over_table as select id / 2 as half from shop.raw.t; create table over_other as select 6 as id")
        connection.execute(f"set file_search_path = '{root}'; create view over_file as select * from 'data/*.csv'")
        connection.execute("create view over_view as select count(*) as n from shop.main.over_table")
    result = api.import_dbt(root, tmp_path / "new", environment={}, compare=True)
    assert {each.model: each.outcome for each in result.compared} == {
        "over_table": "equal", "over_other": "different", "over_file": "equal", "over_view": "equal",
    }  # fmt: skip
    assert {path.name for path in root.iterdir()} == {"profiles.yml", "dbt_project.yml", "data", "models", "far.duckdb", "shop.duckdb"}


def test_no_file_is_lost_without_a_word(tmp_path: Path) -> None:
    found = imported(
        tmp_path, {**shapes.restaurant(), "analyses/look.sql": "select 1", "models/odd.txt": "x", "tests/x.yml": "", "macros/m.md": "x"}
    )
    said = {item.path for item in found.done.items}
    lost = {
        path
        for path in found.root.rglob("*")
        if path.is_file()
        and (name := path.relative_to(found.root).as_posix()) not in said
        and not name.startswith(("profiles", "dbt_project"))
    }
    assert {path.name for path in lost} <= {"packages.yml", "dbt_project.yml"}


@pytest.mark.parametrize("twice", [1])
def test_an_import_gives_the_same_twice(tmp_path: Path, twice: int) -> None:
    one = imported(tmp_path / "one", shapes.restaurant())
    two = imported(tmp_path / "two", shapes.restaurant())
    assert one.done.items == two.done.items
    assert {path: one.text(path) for path in one.done.files} == {path: two.text(path) for path in two.done.files}


def test_a_test_s_macro_may_say_how_failures_are_counted(tmp_path: Path) -> None:
    macro = """
        {% test few(model) %}{{ config(fail_calc='sum(coalesce(n, 0))', severity='warn') }}
        select count(*) - 3 as n from {{ model }}{% endtest %}
    """
    found = imported(tmp_path, {"models/m.sql": ONE, "macros/t.sql": macro, "models/s.yml": "models: [{name: m, data_tests: [few]}]"})
    (check,) = load(found.out, environment={}).models["m"].checks
    assert check.severity == "warn"
    assert "sum(coalesce(n, 0)) as failures" in getattr(check.question, "sql", "")


def test_what_dbt_takes_from_its_machines_zone_is_said_unless_the_profile_names_one(tmp_path: Path) -> None:
    plain = imported(tmp_path / "plain", {"models/a.sql": "select 1 as id"})
    assert any("Interlock runs in UTC" in said for said in plain.done.said)
    profile = "shop:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: x.duckdb, settings: {TimeZone: Europe/Berlin}}\n"
    named = imported(tmp_path / "named", {"models/a.sql": "select 1 as id", "profiles.yml": profile})
    assert not any("Interlock runs in UTC" in said for said in named.done.said)


def test_accepted_values_mean_what_dbt_means_whatever_the_type_of_the_column(tmp_path: Path) -> None:
    """dbt writes quoted texts, and leaves it to the database to read them as the column's type."""
    found = imported(
        tmp_path,
        {
            "models/m.sql": "{{ config(materialized='table') }} select 1 as id, '01' as zip, true as paid, date '2024-01-31' as day, 1.5 as amount",
            "models/s.yml": """
                models:
                  - name: m
                    columns:
                      - name: id
                        tests:
                          - accepted_values: {values: ["1", "2"]}
                          - accepted_values: {values: ["01", "02"], name: odd}
                          - accepted_values: {values: [1, 2]}
                          - accepted_values: {values: [1, 2], quote: false}
                          - accepted_values: {values: ["a", "b"], name: none}
                          - not_null
                      - {name: zip, tests: [accepted_values: {values: ["01"]}, accepted_values: {values: [1], name: other, config: {severity: warn}}]}
                      - {name: paid, tests: [accepted_values: {values: ["yes", "no"]}, accepted_values: {values: [true, false]}]}
                      - {name: day, tests: [accepted_values: {values: [2024-01-31]}, accepted_values: {values: ["2024-01-31"]}]}
                      - {name: amount, tests: [accepted_values: {values: ["1.50"]}, accepted_values: {values: [1.5]}]}
            """,
        },
    )
    checks = {check.name: type(check.question).__name__ for check in load(found.out, environment={}).models["m"].checks}
    assert checks == {
        "accepted_values_id": "AcceptedValues",
        "odd": "CustomSql",
        "accepted_values_id_2": "CustomSql",
        "accepted_values_id_3": "CustomSql",
        "not_null_id": "NotNull",
        "accepted_values_zip": "AcceptedValues",
        "other": "CustomSql",
        "accepted_values_paid": "CustomSql",
        "accepted_values_paid_2": "CustomSql",
        "accepted_values_day": "CustomSql",
        "accepted_values_day_2": "AcceptedValues",
        "accepted_values_amount": "AcceptedValues",
        "accepted_values_amount_2": "CustomSql",
    }
    assert [(item.name, item.code) for item in found.items("test") if item.status == "refused"] == [("accepted_values on m.id", "D815")]
    (told,) = [item.why for item in found.items("test") if "no INTEGER" in item.why and "01" in item.why]
    assert told.startswith("asked in SQL, as dbt asks it: [L225] ")
    assert found.items("model")[0].status == "converted"


def test_a_length_in_a_data_type_is_held_by_a_check_or_said_to_be_left_out(tmp_path: Path) -> None:
    """DuckDB reads over it, in dbt as here: a contract that promised it would not be held."""
    found = imported(
        tmp_path,
        {
            "models/m.sql": "{{ config(materialized='table') }} select 'abc' as code, 'x' as \"order\", ['a'] as tags, 1::decimal(4,2) as amount from {{ source('raw', 't') }}",
            "models/s.yml": """
                sources: [{name: raw, tables: [{name: t, columns: [{name: id, data_type: bigint}, {name: s, data_type: varchar(5)}]}]}]
                models:
                  - name: m
                    config: {contract: {enforced: true}}
                    columns:
                      - {name: code, data_type: varchar(3)}
                      - {name: order, data_type: "character varying(2)"}
                      - {name: tags, data_type: "varchar(3)[]"}
                      - {name: amount, data_type: "decimal(4,2)"}
            """,
        },
    )
    model = load(found.out, environment={}).models["m"]
    assert model.contract is not None
    assert {name: column.type for name, column in model.contract.columns.items()} == {
        "code": "varchar",
        "order": "character varying",
        "tags": "varchar[]",
        "amount": "decimal(4,2)",
    }
    assert [(check.name, getattr(check.question, "expression", "")) for check in model.checks] == [
        ("length_code", "coalesce(length(code), 0) <= 3"),
        ("length_order", 'coalesce(length("order"), 0) <= 2'),
    ]
    item = found.item("m")
    assert item.status == "converted"
    assert "`code`: DuckDB does not keep the length in `varchar(3)`; a check holds it" in item.why
    assert "`tags`: DuckDB does not keep the length in `varchar(3)[]`; nothing holds it" in item.why
    assert 's = "varchar"' in found.text("sources.toml")
    assert "DuckDB does not keep the length in `varchar(5)` of `s`" in "".join(each.why for each in found.items("source"))


def test_what_a_test_is_about_is_a_relation_to_its_macro(tmp_path: Path) -> None:
    told = """
        {% test told(model, column_name) %}
        {% if not (model is mapping and model.get('metadata', {}).get('type', '').endswith('Relation')) %}
          {{ exceptions.raise_compiler_error('no relation') }}
        {% endif %}
        {% if flags.EMPTY is defined and flags.EMPTY %}{{ return('select 1') }}{% endif %}
        select '{{ model.schema }}.{{ model.identifier }}' as place from {{ model }} where {{ column_name }} < 0
        {% endtest %}
    """
    found = imported(
        tmp_path,
        {
            "tests/generic/told.sql": told,
            "models/m.sql": "{{ config(alias='called', schema='there') }} select 1 as id",
            "models/r.sql": "select * from {{ source('raw', 't') }}",
            "models/s.yml": """
                models: [{name: m, columns: [{name: id, data_tests: [told]}]}]
                sources: [{name: raw, schema: landing, tables: [{name: t, identifier: t_1, columns: [{name: id, data_tests: [told]}]}]}]
            """,
        },
    )
    assert "select 'main_there.called' as place from m where id < 0" in found.sidecar("m")
    assert "select 'landing.t_1' as place from raw.t where id < 0" in found.sidecar("r")
