"""Configuration that decides how rows are made: kept exactly, or refused with the key that cannot be."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb
import pytest
from tests.importers.dbt_projects import imported

from interlock.engine import api

ONE = "select 1 as id, 's' as s, timestamp '2024-01-01' as ts"
SNAPSHOT = "{% snapshot s %}{{ config(unique_key='id', REST) }} select 1 as id, 's' as s, timestamp '2024-01-01' as ts{% endsnapshot %}"


@pytest.mark.parametrize(
    "key",
    [
        "merge_update_columns=['s']",
        "merge_exclude_columns=['s']",
        "merge_update_condition='false'",
        "merge_insert_condition='false'",
        "merge_on_using_columns=['id']",
        "merge_update_set_expressions={'s': 'x'}",
        "merge_clauses={'when_matched': [{'action': 'delete'}]}",
        "incremental_predicates=['1 = 2']",
        "predicates=['1 = 2']",
        "matched_condition='false'",
        "sql_header='set x = 1'",
    ],
)
def test_a_key_that_changes_how_a_merge_goes_refuses_the_merge_and_nothing_else(tmp_path: Path, key: str) -> None:
    found = imported(
        tmp_path,
        {
            "models/m.sql": "{{ config(materialized='incremental', unique_key='id', event_time='ts', " + key + ") }}" + ONE,
            "models/t.sql": "{{ config(materialized='table', " + key + ") }}" + ONE,
        },
    )
    name = key.split("=", maxsplit=1)[0]
    assert found.item("m").code == "D810"
    assert f"`{name}`" in found.item("m").why
    assert found.item("t").status == ("refused" if name == "sql_header" else "converted")
    assert found.item(f"m.{name}", "config").status == "refused"


def test_a_full_merge_reaches_the_first_year_from_the_last(tmp_path: Path) -> None:
    found = imported(tmp_path, {"models/m.sql": "{{ config(materialized='incremental', unique_key='id', event_time='ts') }}" + ONE})
    side = tomllib.loads(found.sidecar("m"))
    assert int(side["lookback"].split()[0]) > 366 * 9999
    assert "a key with two rows stop the run" in found.item("m").why


@pytest.mark.parametrize(("value", "materialized"), [("true", "table"), ("false", "incremental"), ("none", "incremental")])
def test_what_dbt_makes_anew_in_each_run_is_a_table(tmp_path: Path, value: str, materialized: str) -> None:
    config = "{{ config(materialized='incremental', unique_key='id', event_time='ts', full_refresh=" + value + ") }}"
    side = tomllib.loads(imported(tmp_path, {"models/m.sql": config + ONE}).sidecar("m"))
    assert side["materialized"] == materialized
    assert side.get("full_refresh") == (False if value == "false" else None)


@pytest.mark.parametrize(
    ("said", "becomes"),
    [("append_new_columns", "append_columns"), ("fail", None), ("ignore", None), ("sync_all_columns", None)],
)
def test_columns_that_move_are_added_as_dbt_adds_them_or_stop_the_run(tmp_path: Path, said: str, becomes: str | None) -> None:
    config = "{{ config(materialized='incremental', unique_key='id', event_time='ts', on_schema_change='" + said + "') }}"
    found = imported(tmp_path, {"models/m.sql": config + ONE})
    assert tomllib.loads(found.sidecar("m")).get("on_schema_change") == becomes
    assert ("became refuse" in found.item("m").why) == (said in {"ignore", "sync_all_columns"})


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("strategy='check', check_cols='all', hard_deletes='new_record'", "hard_deletes: new_record"),
        ("strategy='timestamp', updated_at='ts', hard_deletes='new_record'", "hard_deletes: new_record"),
        ("strategy='check', check_cols='all', snapshot_meta_column_names={'dbt_valid_too': 'til'}", "`dbt_valid_too`"),
        ("strategy='check', check_cols='all', snapshot_meta_column_names={'dbt_valid_to': 'til, 1 as x'}", "no column's name"),
        ("strategy='check', check_cols='all', dbt_valid_to_current=\"now()\"", "another value whenever it is asked"),
        ("strategy='check', check_cols='all', dbt_valid_to_current=9999", "another value whenever it is asked"),
        ("strategy='check', check_cols='all', updated_at='ts'", "begins at its updated_at"),
        ("strategy='check'", "strategy: check"),
        ("strategy='mine', check_cols='all'", "strategy: mine"),
        ("strategy='timestamp', updated_at='ts::date'", "no column"),
    ],
)
def test_a_snapshot_that_dbt_keeps_otherwise_is_refused(tmp_path: Path, rest: str, said: str) -> None:
    found = imported(tmp_path, {"snapshots/s.sql": SNAPSHOT.replace("REST", rest)})
    assert found.item("s", "snapshot").code == "D821"
    assert said in found.item("s", "snapshot").why
    assert not list(found.out.glob("models/**/s*"))


@pytest.mark.parametrize("strategy", ["strategy='timestamp', updated_at='ts'", "strategy='check', check_cols='all'"])
def test_a_snapshot_s_own_columns_are_called_as_dbt_calls_them_and_an_open_end_has_dbt_s_value(tmp_path: Path, strategy: str) -> None:
    rest = (
        strategy
        + """, dbt_valid_to_current="timestamp '9999-12-31'",
        snapshot_meta_column_names={'dbt_valid_from': 'since', 'dbt_valid_to': 'til', 'dbt_scd_id': 'row_id', 'dbt_is_deleted': 'gone'}"""
    )
    found = imported(
        tmp_path,
        {
            "snapshots/s.sql": SNAPSHOT.replace("REST", rest),
            "models/open.sql": "select * from {{ ref('s') }} where til = timestamp '9999-12-31'",
        },
    )
    assert [item.code for item in (found.item("s", "snapshot"), found.item("open"))] == ["", ""]
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as connection:
        described = [row[0] for row in connection.execute("describe s").fetchall()][-4:]
        (open_rows,) = connection.execute("select count(*) from open").fetchone() or (0,)
    assert described == ["row_id", "dbt_updated_at", "since", "til"]
    assert open_rows > 0


@pytest.mark.parametrize(
    ("rest", "close"),
    [
        ("hard_deletes='invalidate'", "close"),
        ("invalidate_hard_deletes=true", "close"),
        ("hard_deletes='ignore'", None),
        ("invalidate_hard_deletes=false", None),
    ],
)
def test_rows_that_are_gone_are_closed_where_dbt_closes_them(tmp_path: Path, rest: str, close: str | None) -> None:
    found = imported(tmp_path, {"snapshots/s.sql": SNAPSHOT.replace("REST", f"strategy='check', check_cols=['s'], {rest}")})
    side = tomllib.loads(found.sidecar("s__history"))
    assert (side.get("hard_deletes"), side["compare"]) == (close, ["s"])
    assert "comes back" not in found.item("s", "snapshot").why
    by_time = imported(tmp_path / "t", {"snapshots/s.sql": SNAPSHOT.replace("REST", f"strategy='timestamp', updated_at='ts', {rest}")})
    assert ("a row that comes back begins when it had been closed" in by_time.item("s", "snapshot").why) == (close == "close")


def test_a_package_is_configured_by_itself_and_above_that_by_the_project(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "dbt_project.yml": """
                name: shop
                version: '1'
                vars: {how: ephemeral}
                models: {+tags: [all], tools: {+materialized: "{{ var('how', 'table') }}", shut: {+enabled: true}}}
                data_tests: {tools: {+severity: warn}, shop: {strict: {+severity: error}, +severity: warn}}
            """,
            "dbt_packages/tools/dbt_project.yml": "name: tools\nversion: '1'\nvars: {how: nothing}\nmodels: {tools: {+materialized: view, +tags: [own]}}\n",
            "dbt_packages/tools/models/a.sql": "{{ config(materialized='ephemeral') }} select '{{ config.get('materialized') }}' as m",
            "dbt_packages/tools/models/shut/b.sql": "{{ config(enabled=false) }} select 1 as id",
            "dbt_packages/tools/models/s.yml": "models: [{name: b, columns: [{name: id, tests: [{unique: {config: {severity: error}}}]}]}]",
            "models/c.sql": "select 1 as id",
            "models/c.yml": "models: [{name: c, columns: [{name: id, tests: [unique]}]}]",
            "models/strict/d.sql": "select 1 as id",
            "models/strict/d.yml": "models: [{name: d, columns: [{name: id, tests: [unique]}]}]",
        },
    )
    sides = {name: tomllib.loads(found.sidecar(name)) for name in "abcd"}
    assert sides["a"]["materialized"] == sides["b"]["materialized"] == "table"
    assert sides["a"]["tags"] == ["own", "all"]
    assert "'table' as m" in found.sql("a")
    assert {name: sides[name]["checks"][0].get("severity", "error") for name in "bcd"} == {"b": "warn", "c": "warn", "d": "error"}


def test_a_seed_s_types_are_for_columns_of_exactly_that_name(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {"seeds/s.csv": "ID,b\n1,2\n", "seeds/s.yml": "seeds: [{name: s, config: {column_types: {id: varchar, b: bigint}}}]"},
    )
    assert tomllib.loads(found.text("seeds/s.toml"))["columns"] == {"ID": "INTEGER", "b": "bigint"}
    assert "`id`" in found.item("s", "seed").why


def test_a_proposal_that_was_not_accepted_shows_names_and_nothing_of_ours(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/one.sql": ONE,
            "models/s.yml": "sources: [{name: raw, tables: [{name: t}]}]",
            "models/m.sql": """
                {{ config(materialized='incremental', unique_key='id') }}
                select o.* from {{ ref('one') }} as o join {{ source('raw', 't') }} using (id)
                {% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}
            """,
            "models/lost.sql": """
                {{ config(materialized='incremental', unique_key='id') }}
                select * from {{ ref('gone') }} {% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}
            """,
        },
    )
    assert "from one as o join raw.t using (id)" in found.item("m").proposal
    assert "where ts" not in found.item("m").proposal
    assert (found.item("m").status, found.item("lost").status) == ("proposed", "refused")
    assert "from one as o join raw.t using (id)" in found.text("IMPORT.md")


@pytest.mark.parametrize(("fast", "kept"), [("true", "null"), ("false", None)])
@pytest.mark.parametrize("kind", ["varchar", "varchar(10)", "text"])
def test_the_word_null_is_a_text_where_dbt_keeps_it_one(tmp_path: Path, fast: str, kept: str | None, kind: str) -> None:
    found = imported(
        tmp_path,
        {
            "seeds/s.csv": 'a,b\nx,1\nnull,2\n"",\n',
            "seeds/s.yml": f"seeds: [{{name: s, config: {{fast: {fast}, column_types: {{a: {kind}}}}}}}]",
        },
    )
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as warehouse:
        assert warehouse.execute("from main.s").fetchall() == [("x", 1), (kept, 2), (None, None)]


@pytest.mark.parametrize(("materialized", "first"), [("table", "id"), ("view", "name")])
def test_a_contract_orders_the_columns_of_a_table_as_in_dbt(tmp_path: Path, materialized: str, first: str) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": f"{{{{ config(materialized='{materialized}') }}}}select 'x' as name, 1 as id -- the end;",
            "models/all.sql": "select * from {{ ref('a') }}",
            "models/s.yml": """
                models:
                  - name: a
                    config: {contract: {enforced: true}}
                    columns: [{name: id, data_type: integer}, {name: name, data_type: varchar}]
            """,
        },
    )
    context = api.open_context(found.out, environment={})
    assert api.run(context).outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as connection:
        assert connection.execute('select * from "all"').description[0][0] == first
    assert ("order of its contract" in found.item("a").why) == (materialized == "table")


@pytest.mark.parametrize(("materialized", "status"), [("table", "refused"), ("view", "documented")])
def test_a_foreign_key_is_held_by_nothing_here_and_that_is_said(tmp_path: Path, materialized: str, status: str) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": f"{{{{ config(materialized='{materialized}') }}}}select 1 as id",
            "models/s.yml": """
                models:
                  - name: a
                    config: {contract: {enforced: true}}
                    columns: [{name: id, data_type: integer, constraints: [{type: foreign_key, expression: "main.b (id)"}]}]
            """,
        },
    )
    assert found.item("a.constraints.foreign_key", "config").status == status


def test_tests_of_a_column_that_is_quoted_ask_it_by_its_quoted_name(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/a.sql": 'select 1 as "Order Id", 2 as "order"',
            "models/s.yml": """
                models:
                  - name: a
                    columns:
                      - {name: Order Id, quote: true, data_tests: [unique, not_null]}
                      - {name: order, quote: true, data_tests: [{accepted_values: {arguments: {values: [2], quote: false}}}]}
            """,
        },
    )
    assert [item.why for item in found.items("test") if item.status != "converted"] == []
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
