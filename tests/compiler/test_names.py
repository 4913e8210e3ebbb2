"""What a name means: CTE, model or seed, source, and never a physical table that nobody declared."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.projects import codes, columns, compiled, errors, the


def test_a_model_is_read_by_its_name_whatever_its_relation_is_called(tmp_path: Path) -> None:
    files = {
        "models/fct_orders.sql": "select id from raw.orders",
        "models/fct_orders.toml": 'alias = "orders"\nschema = "marts"\n',
        "models/m.sql": "select fct_orders.id from fct_orders",
        "models/n.sql": "select orders.id from marts.orders",
        "models/o.sql": "select id from marts.fct_orders",
    }
    found = compiled(tmp_path, files)
    assert errors(found) == []
    assert found.models["m"].sql == 'select fct_orders.id from "warehouse"."marts"."orders" AS "fct_orders"'
    assert found.models["n"].sql == 'select orders.id from "warehouse"."marts"."orders" AS "orders"'
    assert all(found.models[name].references == ("fct_orders",) for name in "mno")


def test_a_name_that_can_mean_two_relations_is_refused(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select 1 as x",
        "models/a.toml": 'alias = "b"\n',
        "models/b.sql": "select 2 as x",
        "models/b.toml": 'alias = "c"\n',
        "models/m.sql": "select * from main.b",
    }
    finding = the(compiled(tmp_path, files), "L205")
    assert finding.subject == "m"
    assert "`a`" in finding.because
    assert "`b`" in finding.because


def test_a_source_that_is_a_models_relation_is_refused(tmp_path: Path) -> None:
    sources = '[sources."main.totals".columns]\nx = "INTEGER"\n[sources.raw_totals]\nschema = "main"\nidentifier = "totals"\n[sources.raw_totals.columns]\nx = "INTEGER"\n'
    files = {"sources.toml": sources, "models/totals.sql": "select 1 as x", "models/m.sql": "select * from raw_totals"}
    assert [(finding.code, finding.subject) for finding in errors(compiled(tmp_path / "a", files))] == [("L205", "m")]
    own = {"sources.toml": sources, "models/totals.sql": "select * from raw_totals"}
    assert codes(compiled(tmp_path / "b", own)) == ["L207"]


def test_a_cte_hides_a_model_where_it_is_in_scope_only(tmp_path: Path) -> None:
    files = {
        "models/src.sql": "select 1 as id",
        "models/a.sql": "with src as (select * from src) select * from src",
        "models/b.sql": "with src as (select 2 as id) select * from src",
        "models/c.sql": "select a.x, b.id from (with src as (select 1 x) select * from src) a join src b on true",
        "models/d.sql": "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10) select i from n",
    }
    found = compiled(tmp_path, files)
    assert errors(found) == []
    assert {name: found.models[name].references for name in "abcd"} == {"a": ("src",), "b": (), "c": ("src",), "d": ()}
    assert found.models["c"].sql.count('"warehouse"') == 1
    assert columns(found, "d") == {"i": "INTEGER"}


def test_a_model_that_reads_its_own_target_is_told_what_to_do(tmp_path: Path) -> None:
    files = {"models/new.sql": "select 1 as id", "models/hist.sql": "select n.id from new n left join hist h using (id)"}
    finding = the(compiled(tmp_path, files), "L207")
    assert "snapshot" in finding.remedy
    assert finding.at is not None
    assert (finding.at.line, finding.at.column) == (1, 34)


def test_layers_pass_through_ephemerals(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select id from raw.orders",
        "models/e.sql": "select * from a",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/t.sql": "select * from e",
        "models/t.toml": 'materialized = "table"\n',
        "models/v.sql": "select t.id from t join a using (id)",
        "models/w.sql": "select * from v",
    }
    found = compiled(tmp_path, files)
    assert found.layers == (("a",), ("t",), ("v",), ("w",))
    assert found.children == {"a": ("e", "v"), "e": ("t",), "t": ("v",), "v": ("w",), "w": ()}
    w = found.models["w"]
    assert (w.references, w.views_read, w.tables_read, w.sources_read) == (("v",), ("a", "v"), ("t",), ("raw.orders",))
    assert (w.sources, found.models["t"].sources) == ((), ())
    assert list(found.models) == ["a", "e", "t", "v", "w"]


def test_an_ephemeral_is_put_in_whole_and_keeps_its_comments_to_itself(tmp_path: Path) -> None:
    files = {
        "models/e.sql": "-- what it is\nwith orders as (select id from raw.orders) select * from orders; -- end",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/m.sql": "with orders as (select 1 as k) select e.id, k from e, orders",
    }
    found = compiled(tmp_path, files)
    assert errors(found) == []
    assert found.models["m"].sql == (
        "with orders as (select 1 as k) select e.id, k from (\n"
        '-- what it is\nwith orders as (select id from "warehouse"."raw"."orders" AS "orders") select * from orders\n) AS "e", orders'
    )
    assert found.models["m"].sources == ("raw.orders",)


def test_an_error_in_an_ephemeral_stands_in_its_own_file(tmp_path: Path) -> None:
    files = {
        "models/e.sql": "select nothing from raw.orders",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/m.sql": "select * from e",
    }
    assert [(finding.code, finding.subject) for finding in compiled(tmp_path, files).findings] == [("L201", "e"), ("L220", "m")]


def test_an_error_after_an_ephemeral_stands_where_the_author_wrote_it(tmp_path: Path) -> None:
    files = {
        "models/e.sql": "select id,\n\n\n day from raw.orders",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/m.sql": "select e.id,\n  nothing\nfrom e",
    }
    finding = the(compiled(tmp_path, files), "L201")
    assert finding.at is not None
    assert (finding.at.line, finding.at.column, finding.at.excerpt) == (2, 3, "  nothing")
