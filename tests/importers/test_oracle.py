"""dbt itself builds the same project: every table that was converted is dbt's, row for row, after a first run and after a second.

Needs dbt in an environment of its own, since its versions of libraries are others: see README.md here.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from tests.importers import naming, shapes, ugly
from tests.importers.dbt_projects import write

from interlock.engine import api
from interlock.engine.warehouse.duckdb.beside import Pair, compare

DBT = os.environ.get("INTERLOCK_DBT", "")
pytestmark = pytest.mark.skipif(not DBT, reason="INTERLOCK_DBT names no dbt executable; tests/importers/README.md says how to have one")


def dbt(root: Path, *words: str) -> None:
    done = subprocess.run(
        [DBT, "--no-use-colors", *words, "--profiles-dir", "."],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(root)},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def relations(database: Path) -> Iterator[tuple[str, str]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        yield from connection.execute(
            "select schema_name, table_name from duckdb_tables() union select schema_name, view_name from duckdb_views() where not internal"
        ).fetchall()


def test_each_jinja_feature_with_each_materialization_gives_dbt_s_rows(tmp_path: Path) -> None:
    root, out = tmp_path / "dbt", tmp_path / "new"
    write(root, shapes.by_construct())
    dbt(root, "build")
    result = api.import_dbt(root, out, environment={}, compare=True, strict=True)
    assert [finding for finding in result.findings if finding.severity == "error"] == []
    assert [each for each in result.compared if each.outcome != "equal"] == []
    assert len(result.compared) > 60


def test_a_whole_project_has_dbt_s_rows_after_a_first_and_a_second_run(tmp_path: Path) -> None:
    root, out = tmp_path / "dbt", tmp_path / "new"
    write(root, shapes.restaurant())
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        connection.execute("create schema landing; create table landing.visits as select range as id, 'x' as t from range(5)")
    dbt(root, "deps")
    dbt(root, "build")
    result = api.import_dbt(root, out, environment={}, compare=True, strict=True)
    assert [each for each in result.compared if each.outcome != "equal"] == []
    seed = root / "seeds" / "raw_orders.csv"
    changed = seed.read_text().replace("\n12,5,placed,15.0,2024-01-13 10:00:00", "\n12,5,returned,15.0,2024-02-13 10:00:00")
    seed.write_text(changed + "60,1,placed,3.25,2024-02-01 10:00:00\n61,1,shipped,3.5,2024-02-02 10:00:00\n")
    (out / "seeds" / "raw_orders.csv").write_bytes(seed.read_bytes())
    dbt(root, "build")
    assert api.run(api.open_context(out, environment={})).outcome == "succeeded"
    # dbt counts a microbatch model's lookback from now, and these rows are old: it does not see the news.
    skipped = {"batched", "visits"}
    built = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")
    pairs = [
        Pair(name, schema, name, built if name == "snap_check" else ())
        for schema, name in relations(root / "shop.duckdb")
        if name not in skipped
    ]
    assert [side for side in compare(out / "shop.duckdb", root / "shop.duckdb", pairs) if side.because] == []
    assert len(pairs) > 14


def test_a_project_with_everything_ugly_has_dbt_s_rows(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    write(root, ugly.project(60, odd=False)[0])
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        connection.execute(ugly.EVENTS)
    dbt(root, "build")
    result = api.import_dbt(root, tmp_path / "new", environment={}, compare=True, strict=True)
    assert [each for each in result.compared if each.outcome != "equal"] == []
    assert len(result.compared) > 40


def test_a_naive_conversion_of_what_is_refused_would_have_differed(tmp_path: Path) -> None:
    """Each refused incremental model, run twice by dbt, is not what its full query gives."""
    root = tmp_path / "dbt"
    rows = "select * from (values (1, date '2024-01-01', 5), (1, date '2024-01-02', 7)) t(id, d, n)"
    write(
        root,
        {
            "profiles.yml": shapes.PROFILE,
            "models/appended.sql": "{{ config(materialized='incremental') }}\n" + rows,
            "models/filtered.sql": "{{ config(materialized='incremental') }}\n"
            + rows
            + "\n{% if is_incremental() %} where d >= (select max(d) from {{ this }}) {% endif %}",
        },
    )
    dbt(root, "build")
    dbt(root, "build")
    result = api.import_dbt(root, tmp_path / "new", environment={})
    assert {item.name: item.code for item in result.items if item.kind == "model"} == {"appended": "D811", "filtered": "D803"}
    with duckdb.connect(str(root / "shop.duckdb"), read_only=True) as connection:
        assert connection.execute("select (select count(*) from main.appended), (select count(*) from main.filtered)").fetchone() == (4, 3)


def test_dispatch_and_branches_of_variables_are_decided_as_dbt_decides_them(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    macro = "{% macro key(c) %}{{ return(adapter.dispatch('key', 'tools')(c)) }}{% endmacro %}"
    write(
        root,
        {
            "profiles.yml": shapes.PROFILE,
            "dbt_project.yml": """
                name: shop
                version: '1.0'
                profile: shop
                vars: {wide: true}
                dispatch: [{macro_namespace: tools, search_order: [shop, tools]}]
            """,
            "packages.yml": "packages: [{local: tools}]",
            "tools/dbt_project.yml": "name: tools\nversion: '1.0'\n",
            "tools/macros/k.sql": macro + "{% macro default__key(c) %}md5({{ c }}){% endmacro %}",
            "macros/k.sql": "{% macro default__key(c) %}sha256({{ c }}){% endmacro %}",
            "models/keyed.sql": "select {{ tools.key('x') }} as k from (select 'a' as x)",
            "models/branched.sql": "select * from {% if var('wide', false) %}{{ ref('keyed') }}{% else %}{{ ref('gone') }}{% endif %}",
        },
    )
    dbt(root, "deps")
    dbt(root, "build")
    result = api.import_dbt(root, tmp_path / "new", environment={}, compare=True, strict=True)
    assert {each.model: each.outcome for each in result.compared} == {"keyed": "equal", "branched": "equal"}


def test_names_made_by_macros_and_read_by_templates_are_dbts(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    write(root, naming.FILES)
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        for statement in naming.MADE:
            connection.execute(statement)
    dbt(root, "deps")
    dbt(root, "build")
    result = api.import_dbt(root, tmp_path / "new", environment={}, compare=True, strict=True)
    assert [each for each in result.compared if each.outcome != "equal"] == []
    assert len(result.compared) > len(naming.ROWS)
    with duckdb.connect(str(root / "shop.duckdb"), read_only=True) as connection:
        there = {name: connection.execute(f"select columns(*)::varchar from {name}").fetchall() for name in naming.ROWS}
    assert {name: sorted(rows) for name, rows in there.items()} == naming.ROWS


def test_what_a_template_sees_is_what_it_sees_in_dbt(tmp_path: Path) -> None:
    """Variables of dbt_project.yml, bare names in a package's macros, `execute`, days between two days, and the latest version."""
    root = tmp_path / "dbt"
    write(
        root,
        {
            "profiles.yml": shapes.PROFILE,
            "dbt_project.yml": """
                name: shop
                version: '1.0'
                profile: shop
                vars: {flag: false, place: mine}
                models: {shop: {sub: {+enabled: "{{ var('flag', true) }}", +schema: "{{ var('place', 'theirs') }}"}}}
            """,
            "packages.yml": "packages: [{local: tools}]",
            "tools/dbt_project.yml": "name: tools\nversion: '1.0'\n",
            "tools/macros/m.sql": "{% macro key() %}of_tools{% endmacro %}{% macro keyed() %}{{ key() }} {{ tools.key() }}{% endmacro %}",
            "tools/models/theirs.sql": "select '{{ keyed() }}' as k",
            "macros/m.sql": "{% macro key() %}of_shop{% endmacro %}",
            "models/ours.sql": "select '{{ tools.keyed() }}' as k",
            "models/sub/seen.sql": "select '{{ var('flag') }}' as flag, '{{ this.schema }}' as place",
            "models/phase.sql": "{{ config(materialized='table' if execute else 'view', tags=['x']) }}"
            "{% if execute %}{{ config(tags=['y']) }}{% endif %}"
            "select '{{ execute }}' as e, '{{ config.get('materialized') }}' as m, '{{ config.get('tags') | join }}' as t",
            "models/days.sql": "{{ dbt.date_spine('day', \"cast('2024-01-01' as date)\", \"cast('2024-02-01' as date)\") }}",
            "models/n_valpha.sql": "select 'alpha' as v",
            "models/n_vbeta.sql": "select 'beta' as v",
            "models/n.yml": "models: [{name: n, versions: [{v: alpha}, {v: beta}]}]",
            "models/latest.sql": "select * from {{ ref('n') }}",
        },
    )
    dbt(root, "deps")
    dbt(root, "build")
    result = api.import_dbt(root, tmp_path / "new", environment={}, compare=True, strict=True)
    assert {each.model: each.outcome for each in result.compared} == dict.fromkeys(
        ("ours", "theirs", "seen", "phase", "days", "n_valpha", "n_vbeta", "latest"), "equal"
    )
