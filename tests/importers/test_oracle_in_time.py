"""dbt itself, run again and again over rows that change: what is converted stays equal, what is proposed or refused does not."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from tests.importers import shapes
from tests.importers.dbt_projects import write
from tests.importers.test_oracle import DBT, dbt

from interlock.engine import api
from interlock.engine.warehouse.duckdb.beside import Pair, compare

pytestmark = pytest.mark.skipif(not DBT, reason="INTERLOCK_DBT names no dbt executable; tests/importers/README.md says how to have one")

SOURCES = "sources: [{name: raw, schema: raw, tables: [{name: t}, {name: e, config: {event_time: ts}}]}]"
NOW = datetime.now(UTC).replace(tzinfo=None, minute=0, second=0, microsecond=0)


class Both:
    """A dbt project and its import, over one database of sources."""

    def __init__(self, tmp_path: Path, files: dict[str, str], *made: str) -> None:
        self.root, self.out = tmp_path / "dbt", tmp_path / "new"
        write(self.root, {"profiles.yml": shapes.PROFILE, "models/s.yml": SOURCES, **files})
        self.change("create schema raw", *made)
        self.found = api.import_dbt(self.root, self.out, environment={}, accept_proposals=True)
        self.project = api.open_context(self.out, environment={})

    def change(self, *statements: str) -> None:
        with duckdb.connect(str(self.root / "shop.duckdb")) as connection:
            for statement in statements:
                connection.execute(statement)

    def build(self) -> None:
        dbt(self.root, "build")
        done = api.run(self.project)
        assert [(model.model, model.code, model.because) for model in done.models if model.code] == []
        assert done.outcome == "succeeded"

    def differing(self, *names: str, without: tuple[str, ...] = ()) -> list[str]:
        pairs = [Pair(name, "main", name, without) for name in names]
        sides = compare(self.out / "shop.duckdb", self.root / "shop.duckdb", pairs)
        return [f"{name}: {side.because}" for name, side in zip(names, sides, strict=True) if side.because]


def event(number: int, back: timedelta) -> str:
    return f"insert into raw.e values ({number}, timestamp '{NOW - back}', 'new')"


def test_batches_of_rows_that_come_in_order_are_dbt_s_and_others_are_not(tmp_path: Path) -> None:
    begin = (NOW - timedelta(days=60)).date()
    batched = (
        "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='ts', batch_size='day', lookback=2, begin='"
        + str(begin)
        + "') }} select * from {{ source('raw', 'e') }}"
    )
    both = Both(tmp_path, {"models/b.sql": batched}, "create table raw.e (id int, ts timestamp, s varchar)", event(1, timedelta(days=40)))
    both.change(event(2, timedelta(days=1)))
    both.build()
    assert both.differing("b") == []
    both.change(event(3, timedelta(days=1)), event(4, timedelta()), "update raw.e set s = 'changed' where id = 2")
    both.build()
    assert both.differing("b") == []
    # Older than dbt's lookback from now, and newer than the newest less lookback: it is the reason why this is proposed only.
    old = Both(
        tmp_path / "old", {"models/b.sql": batched}, "create table raw.e (id int, ts timestamp, s varchar)", event(1, timedelta(days=40))
    )
    old.build()
    assert old.differing("b") == []
    old.change("update raw.e set s = 'changed'")
    old.build()
    assert len(old.differing("b")) == 1


def test_snapshots_of_rows_that_change_go_and_come_back_are_dbt_s(tmp_path: Path) -> None:
    config = "{% snapshot NAME %}{{ config(unique_key=KEY, REST) }} select * from {{ source('raw', 't') }}{% endsnapshot %}"
    timed, checked = "strategy='timestamp', updated_at='seen'", "strategy='check', check_cols=COLUMNS"
    # Rows of `e` change with their time; those of `t` do not.
    kinds = {
        "kept": timed,
        "closed": timed + ", hard_deletes='invalidate'",
        "closed_old": timed + ", invalidate_hard_deletes=true",
        "all": checked.replace("COLUMNS", "'all'"),
        "some": checked.replace("COLUMNS", "['s']") + ", hard_deletes='invalidate'",
        "two_keys": checked.replace("COLUMNS", "['s', 'n']"),
    }
    snapshots = {
        f"snapshots/{name}.sql": config.replace("NAME", f"snap_{name}")
        .replace("KEY", "['id', 'part']" if name == "two_keys" else "'id'")
        .replace("REST", rest)
        .replace("'t'", "'e'" if rest.startswith(timed) else "'t'")
        for name, rest in kinds.items()
    }
    # A time that does not move stands for an open end, and the columns have other names.
    renamed = (
        "snapshot_meta_column_names={'dbt_valid_to': 'til', 'dbt_valid_from': 'since', 'dbt_scd_id': 'row_id', 'dbt_updated_at': 'said'}"
    )
    ended = ", dbt_valid_to_current=\"timestamp '9999-12-31'\", " + renamed
    named = {"named": ("'e'", timed + ended), "named_all": ("'t'", checked.replace("COLUMNS", "'all'") + ended)}
    snapshots |= {
        f"snapshots/{name}.sql": config.replace("NAME", f"snap_{name}").replace("KEY", "'id'").replace("REST", rest).replace("'t'", source)
        for name, (source, rest) in named.items()
    }
    rows = "(id int, part varchar, s varchar, n int, seen timestamp)"
    first = "select range, 'p', 's' || range, range, timestamp '2024-01-01' from range(8)"
    both = Both(
        tmp_path,
        snapshots,
        f"create table raw.t {rows}",
        f"create table raw.e {rows}",
        f"insert into raw.t {first}",
        f"insert into raw.e {first}",
    )
    steps = [
        [
            "update raw.t set s = 'changed' where id = 1",
            "update raw.t set n = null where id = 2",
            "update raw.e set s = 'changed', seen = timestamp '2024-02-01' where id in (1, 2)",
        ],
        ["delete from raw.t where id in (3, 4)", "delete from raw.e where id in (3, 4)", "update raw.t set s = null where id = 5"],
        [
            "insert into raw.t values (3, 'p', 'back', 3, timestamp '2024-03-01'), (9, 'p', null, null, timestamp '2024-03-01')",
            "insert into raw.e values (3, 'p', 'back', 3, timestamp '2024-03-01'), (9, 'p', null, null, timestamp '2024-03-01')",
            "update raw.t set n = 7, s = 'again' where id in (1, 2)",
            "update raw.e set n = 7, s = 'again', seen = timestamp '2024-03-02' where id in (1, 2)",
        ],
    ]
    names = [f"snap_{name}" for name in kinds]
    stamps = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")
    both.build()
    for step in steps:
        both.change(*step)
        both.build()
        assert both.differing("snap_kept", "snap_named") == []
        assert both.differing("snap_named_all", without=("row_id", "said", "since", "til")) == []
        assert both.differing(*names, without=stamps) == []
        open_ = "select id, part, s, n, count(*) from {}.main.snap_{} where dbt_valid_to is null group by all"
        with duckdb.connect() as both_at_once:
            both_at_once.execute(f"attach '{both.root / 'shop.duckdb'}' as theirs (read_only)")
            both_at_once.execute(f"attach '{both.out / 'shop.duckdb'}' as ours (read_only)")
            for name in kinds:
                difference = both_at_once.execute(f"({open_.format('ours', name)}) except ({open_.format('theirs', name)})").fetchall()
                assert difference == [], name


def test_full_merges_reach_every_row_and_what_is_made_anew_is_a_table(tmp_path: Path) -> None:
    merge = "{{ config(materialized='incremental', unique_key='id', event_time='ts'REST) }} select * from {{ source('raw', 'e') }}"
    both = Both(
        tmp_path,
        {
            "models/full_merge.sql": merge.replace("REST", ""),
            "models/explicit.sql": merge.replace("REST", ", incremental_strategy='merge'"),
            "models/anew.sql": "{{ config(materialized='incremental', full_refresh=true) }} select * from {{ source('raw', 'e') }}",
        },
        "create table raw.e (id int, ts timestamp, s varchar)",
        "insert into raw.e values (1, '0001-01-01', 'first'), (2, '2024-01-01', 'b'), (3, '9999-12-31', 'never')",
    )
    both.build()
    assert both.differing("full_merge", "explicit", "anew") == []
    both.change("update raw.e set s = upper(s)", "insert into raw.e values (4, '1970-01-01', 'd')", "delete from raw.e where id = 2")
    both.build()
    assert both.differing("full_merge", "explicit", "anew") == []


def test_the_project_s_word_on_a_package_wins_over_the_package_s_own(tmp_path: Path) -> None:
    both = Both(
        tmp_path,
        {
            "dbt_project.yml": """
                name: shop
                version: '1.0'
                profile: shop
                models:
                  kitchen: {+materialized: table, +tags: [ours], shut: {+enabled: true}}
            """,
            "packages.yml": "packages: [{local: kitchen_package}]",
            "kitchen_package/dbt_project.yml": "name: kitchen\nversion: '1.0'\nmodels: {kitchen: {+materialized: ephemeral}}\n",
            "kitchen_package/models/d.sql": "{{ config(materialized='view') }} select '{{ config.get('materialized') }}' as m",
            "kitchen_package/models/shut/f.sql": "{{ config(enabled=false) }} select 1 as id",
        },
    )
    dbt(both.root, "deps")
    both.build()
    assert both.differing("d", "f") == []
    with duckdb.connect(str(both.out / "shop.duckdb"), read_only=True) as warehouse:
        assert warehouse.execute("select table_name from duckdb_tables() where schema_name = 'main' order by all").fetchall() == [
            ("d",),
            ("f",),
        ]


def test_a_naive_conversion_of_a_refused_merge_would_have_differed(tmp_path: Path) -> None:
    """Each, run twice by dbt over rows that changed, is not the plain merge that a conversion without it would be."""
    plain = "materialized='incremental', unique_key='id', event_time='ts'"
    refused = {
        "update_columns": "incremental_strategy='merge', merge_update_columns=['n']",
        "exclude_columns": "incremental_strategy='merge', merge_exclude_columns=['s']",
        "update_condition": "incremental_strategy='merge', merge_update_condition='false'",
        "insert_condition": "incremental_strategy='merge', merge_insert_condition='false'",
        "set_expressions": "incremental_strategy='merge', merge_update_set_expressions={'n': '0'}",
        "clauses": "incremental_strategy='merge', merge_clauses={'when_matched': [{'action': 'delete'}]}",
        "predicates": "incremental_predicates=['1 = 2']",
    }
    model = "{{{{ config({}) }}}} select * from {{{{ source('raw', 't') }}}}"
    both = Both(
        tmp_path,
        {
            "models/plain.sql": model.format(plain),
            **{f"models/{name}.sql": model.format(f"{plain}, {config}") for name, config in refused.items()},
        },
        "create table raw.t as select range as id, 's' as s, 1 as n, timestamp '2024-01-01' as ts from range(3)",
    )
    codes = {item.name: item.code for item in both.found.items if item.kind == "model"}
    assert codes == {"plain": "", **dict.fromkeys(refused, "D810")}
    both.build()
    both.change("update raw.t set s = 'changed', n = 2", "insert into raw.t values (9, 'new', 9, timestamp '2024-02-01')")
    both.build()
    assert both.differing("plain") == []
    with duckdb.connect(str(both.root / "shop.duckdb"), read_only=True) as theirs:
        same = [
            name
            for name in refused
            if theirs.execute(f"from {name} except all from plain").fetchall()
            == theirs.execute(f"from plain except all from {name}").fetchall()
        ]
    assert same == []


def test_a_naive_conversion_of_a_refused_snapshot_would_have_differed(tmp_path: Path) -> None:
    refused = {
        "timed": "updated_at='ts'",
        "recorded": "hard_deletes='new_record'",
    }
    block = "{{% snapshot {} %}}{{{{ config(unique_key='id', strategy='check', check_cols=['s']{}) }}}} select * from {{{{ source('raw', 't') }}}}{{% endsnapshot %}}"
    both = Both(
        tmp_path,
        {
            "snapshots/plain.sql": block.format("plain", ""),
            **{f"snapshots/{name}.sql": block.format(name, f", {config}") for name, config in refused.items()},
        },
        "create table raw.t as select range as id, 's' as s, timestamp '2024-01-01' as ts from range(3)",
    )
    codes = {item.name: item.code for item in both.found.items if item.kind == "snapshot"}
    assert codes == {"plain": "", **dict.fromkeys(refused, "D821")}
    both.build()
    both.change("delete from raw.t where id = 1")
    both.build()
    with duckdb.connect(str(both.root / "shop.duckdb"), read_only=True) as theirs:
        columns = {name: [row[0] for row in theirs.execute(f"describe {name}").fetchall()] for name in ("plain", *refused)}
        assert "dbt_is_deleted" in columns["recorded"]
        assert theirs.execute("select distinct dbt_valid_from::date::varchar from timed").fetchall() == [("2024-01-01",)]
        assert theirs.execute(
            "select count(*) from plain where dbt_valid_to is not null or dbt_valid_from::date = date '2024-01-01'"
        ).fetchone() == (0,)


def test_a_manifest_s_texts_stand_for_a_package_that_is_gone(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    write(
        root,
        {
            "profiles.yml": shapes.PROFILE,
            "packages.yml": "packages: [{local: tools}]",
            "tools/dbt_project.yml": "name: tools\nversion: '1.0'\n",
            "tools/macros/k.sql": "{% macro key(c) %}{{ return(adapter.dispatch('key', 'tools')(c)) }}{% endmacro %}"
            "{% macro default__key(c) %}md5({{ c }}{% if var('salted', true) %} || 'salt'{% endif %}){% endmacro %}"
            "{% macro looked(r) %}{% if execute %}{{ run_query('select 7').columns[0][0] }}{% else %}0{% endif %}{% endmacro %}",
            "models/one.sql": "select 'x' as id",
            "models/keyed.sql": "{{ config(materialized='table', alias='k') }} select {{ tools.key('id') }} as k from {{ ref('one') }}",
            "models/asked.sql": "select {{ tools.looked('id') }} as n from {{ ref('one') }}",
        },
    )
    dbt(root, "deps")
    dbt(root, "build")
    shutil.rmtree(root / "dbt_packages")
    shutil.rmtree(root / "tools")
    result = api.import_dbt(root, tmp_path / "new", environment={}, compare=True)
    assert {item.name: item.code for item in result.items if item.kind == "model"} == {"one": "", "keyed": "", "asked": "D806"}
    assert {each.model: each.outcome for each in result.compared} == {"one": "equal", "keyed": "equal"}
