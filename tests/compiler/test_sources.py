"""Sources: how they are read, what is known of their columns, and models that are not asked for."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.compiler.projects import AS_OF, CONFIG, SOURCES, codes, column, columns, compiled, errors, the
from tests.project.files import write

from interlock.engine.compiler.compile import compile_project
from interlock.engine.compiler.source_texts import database_alias, match_files
from interlock.engine.compiler.world import World
from interlock.engine.diagnostics import Refused
from interlock.engine.project.load import load
from interlock.engine.warehouse.duckdb.quoting import file_name
from interlock.machines.evidence import Column

FILES = """
[sources.landing]
path = "landing/*.csv"
[sources.landing.options]
header = true
nullstr = "NA"
[sources.landing.columns]
id = "BIGINT"
"a b" = "DECIMAL(10,2)"

[sources.plain]
path = "landing/*.csv"

[sources.events]
path = "events/**/*.json"
[sources.events.columns]
at = "TIMESTAMPTZ"

["sources"."other.people"]
database = "data/other.duckdb"
[sources."other.people".columns]
name = "VARCHAR"
""".replace('["sources"."other', '[sources."other')
LANDED = {
    "landing/b.csv": "id,x,a b\n2,u,NA\n",
    "landing/a.csv": "id,x,a b\n1,t,1.50\n",
    "events/2024/01/e.json": '{"at": "2024-01-01T00:00:00Z"}\n',
}


def test_files_are_put_in_as_a_reader_over_what_was_matched(tmp_path: Path) -> None:
    text = "select landing.*, events.at from landing join events on true"
    found = compiled(tmp_path, {**LANDED, "sources.toml": FILES, "models/m.sql": text})
    assert errors(found) == []
    assert found.sources["landing"].files == ("landing/a.csv", "landing/b.csv")
    a, b, e = (file_name(name) for name in ("landing/a.csv", "landing/b.csv", "events/2024/01/e.json"))
    assert found.models["m"].sql == (
        f'select landing.*, events.at from (SELECT "id", "a b" FROM read_csv([{a}, {b}], header = TRUE, nullstr = \'NA\', '
        f"types = {{'id': 'BIGINT', 'a b': 'DECIMAL(10,2)'}})) AS \"landing\" join (SELECT \"at\" FROM read_json([{e}], "
        "columns = {'at': 'TIMESTAMPTZ'})) AS \"events\" on true"
    )
    connection = duckdb.connect()
    connection.execute("set TimeZone = 'UTC'")
    connection.execute(f"set file_search_path = '{tmp_path}'")
    rows = connection.sql(found.models["m"].sql)
    assert (rows.columns, [str(kind) for kind in rows.types]) == (list(columns(found)), list(columns(found).values()))
    assert sorted(str(row[:2]) for row in rows.fetchall()) == ["(1, Decimal('1.50'))", "(2, None)"]


def test_another_database_file_is_read_under_an_alias_of_its_path(tmp_path: Path) -> None:
    found = compiled(tmp_path, {"sources.toml": FILES, "models/m.sql": "select people.name from other.people"})
    alias = database_alias("data/other.duckdb")
    assert found.models["m"].sql == f'select people.name from "{alias}"."other"."people" AS "people"'
    assert alias.startswith("src_")
    assert len(alias) == 20


def test_a_pattern_that_matches_nothing_is_an_error_for_those_that_read_it(tmp_path: Path) -> None:
    files = {"sources.toml": FILES, "models/m.sql": "select id from landing", "models/n.sql": "select 1 as a"}
    finding = the(compiled(tmp_path, files), "S119")
    assert finding.at is not None
    assert (finding.at.path, finding.at.key) == ("sources.toml", "sources.landing.path")
    assert errors(compiled(tmp_path, {"models/m.sql": "select 2 as b", "sources.toml": FILES})) == []


def test_files_are_sorted_and_relative_with_forward_slashes(tmp_path: Path) -> None:
    compiled(tmp_path, {**LANDED, "sources.toml": FILES, "models/m.sql": "select 1 as a"})
    matched = match_files(load(tmp_path, environment={}))
    assert matched == {
        "landing": ("landing/a.csv", "landing/b.csv"),
        "plain": ("landing/a.csv", "landing/b.csv"),
        "events": ("events/2024/01/e.json",),
    }


def test_without_declared_columns_the_warehouse_must_be_looked_at(tmp_path: Path) -> None:
    files = {**LANDED, "sources.toml": FILES, "models/m.sql": "select x from plain"}
    assert codes(compiled(tmp_path, files)) == ["L220", "S105"]
    world = World(sources={"plain": (column("id", "BIGINT"), column("x", "VARCHAR"))}, files={"plain": ("landing/a.csv",)})
    found = compiled(tmp_path, files, world=world)
    assert errors(found) == []
    assert columns(found) == {"x": "VARCHAR"}
    assert found.models["m"].sql == f'select x from read_csv([{file_name("landing/a.csv")}]) AS "plain"'
    assert found.sources["plain"].origin == "discovered"


def test_a_source_that_is_not_as_declared_is_refused_with_the_difference(tmp_path: Path) -> None:
    there = (column("ID", "INTEGER"), column("amount", "DECIMAL(10,2)"), column("more", "VARCHAR"))
    found = compiled(tmp_path, {"models/m.sql": "select * from raw.orders"}, world=World(sources={"raw.orders": there}))
    assert {(finding.code, finding.at.key if finding.at else "") for finding in errors(found)} == {
        ("P407", f"sources.raw.orders.columns.{name}") for name in ("id", "customer", "status", "ordered_at", "day")
    }


def test_columns_that_nobody_declared_are_seen_by_a_star(tmp_path: Path) -> None:
    declared = SOURCES.replace('id = "BIGINT"\ncustomer = "INTEGER"', 'id = "BIGINT"\ncustomer = "INTEGER"')
    there = (
        *(
            column(name, kind)
            for name, kind in [("id", "BIGINT"), ("customer", "INTEGER"), ("amount", "DECIMAL(10,2)"), ("status", "VARCHAR")]
        ),
    )
    there = (*there, column("ordered_at", "TIMESTAMP WITH TIME ZONE"), column("day", "DATE"), column("extra", "BLOB"))
    found = compiled(
        tmp_path, {"sources.toml": declared, "models/m.sql": "select * from raw.orders"}, world=World(sources={"raw.orders": there})
    )
    assert errors(found) == []
    assert columns(found)["extra"] == "BLOB"


def test_a_source_that_gave_no_answer_is_not_taken_as_declared(tmp_path: Path) -> None:
    found = compiled(tmp_path, {"models/m.sql": "select * from raw.orders"}, world=World(unreadable={"raw.orders": "permission denied"}))
    finding = the(found, "P425")
    assert finding.because == "permission denied"


def test_a_declared_type_must_be_one(tmp_path: Path) -> None:
    found = compiled(tmp_path, {"sources.toml": '[sources.s.columns]\na = "BIGNT"\n', "models/m.sql": "select a from s"})
    assert codes(found) == ["C304", "L220"]


def test_only_what_is_asked_for_and_what_it_reads_is_looked_at(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select id from raw.orders",
        "models/b.sql": "select id from a",
        "models/broken.sql": "select +",
        "models/c.sql": "select id from b",
    }
    found = compiled(tmp_path, files, only=frozenset({"b"}))
    assert list(found.models) == ["a", "b"]
    assert found.findings == ()


def test_what_is_not_asked_for_is_read_as_it_stands_in_the_warehouse(tmp_path: Path) -> None:
    files = {"models/a.sql": "select id, status as new_name from raw.orders", "models/b.sql": "select id, new_name from a"}
    deployed = World(deployed={"a": (column("id", "INTEGER"), column("old_name", "VARCHAR"))})
    found = compiled(tmp_path, files, only=frozenset({"b"}), world=World(sources=_raw(), deployed=deployed.deployed))
    assert codes(found) == ["L201"]
    both = compiled(tmp_path, files, only=frozenset({"a", "b"}), world=World(sources=_raw(), deployed=deployed.deployed))
    assert errors(both) == []
    assert columns(both, "b") == {"id": "BIGINT", "new_name": "VARCHAR"}


def test_an_upstream_that_does_not_compile_is_read_as_it_stands(tmp_path: Path) -> None:
    files = {"models/a.sql": "select nope from raw.orders", "models/b.sql": "select id from a"}
    world = World(sources=_raw(), deployed={"a": (column("id", "INTEGER"),)})
    found = compiled(tmp_path, files, only=frozenset({"b"}), world=world)
    assert found.findings == ()
    assert columns(found, "b") == {"id": "INTEGER"}
    assert not found.models["b"].blocked


def test_nothing_goes_in_a_circle_through_what_is_read_as_it_stands(tmp_path: Path) -> None:
    files = {"models/a.sql": "select id from c", "models/b.sql": "select id from a", "models/c.sql": "select id from b"}
    world = World(sources=_raw(), deployed={"a": (column("id", "INTEGER"),), "c": (column("id", "INTEGER"),)})
    found = compiled(tmp_path, files, only=frozenset({"b"}), world=world)
    assert found.findings == ()
    assert columns(found, "b") == {"id": "INTEGER"}


def test_a_source_that_only_a_deployed_table_was_made_from_is_nobodys_concern(tmp_path: Path) -> None:
    files = {
        "models/t.sql": "select id from raw.orders",
        "models/t.toml": 'materialized = "table"',
        "models/v.sql": "select id from raw.customers",
        "models/m.sql": "select t.id from t join v on v.id = t.id",
    }
    deployed = {"t": (column("id", "BIGINT"),), "v": (column("id", "INTEGER"),)}
    gone = {"raw.orders": "it is gone", "raw.customers": "it is gone"}
    found = compiled(tmp_path, files, only=frozenset({"m"}), world=World(unreadable=gone, deployed=deployed))
    assert [(finding.code, finding.subject) for finding in found.findings] == [("P425", "raw.customers")], "a view still reads it"


def test_of_a_deployed_table_only_its_receipt_proves_that_there_are_no_nulls(tmp_path: Path) -> None:
    promised = '[contract.columns.id]\ntype = "INTEGER"\nnullable = false\n'
    files = {
        "models/a.sql": "select coalesce(id, 0)::INTEGER as id from raw.orders",
        "models/a.toml": 'materialized = "table"\n' + promised,
        "models/b.sql": "select id from a",
        "models/b.toml": promised,
    }

    def proof(never_null: frozenset[str]) -> str:
        world = World(sources=_raw(), deployed={"a": (column("id", "INTEGER"),)}, never_null={"a": never_null})
        found = compiled(tmp_path, files, only=frozenset({"b"}), world=world)
        assert errors(found) == []
        return found.models["b"].contract_findings[0].proof

    assert proof(frozenset({"id"})) == "compiled"
    assert proof(frozenset()) == "at_run_time"


def _raw() -> dict[str, tuple[Column, ...]]:
    kinds = {
        "id": "BIGINT",
        "customer": "INTEGER",
        "amount": "DECIMAL(10,2)",
        "status": "VARCHAR",
        "ordered_at": "TIMESTAMP WITH TIME ZONE",
        "day": "DATE",
    }
    return {"raw.orders": tuple(column(name, kind) for name, kind in kinds.items())}


def test_a_setting_that_the_warehouse_does_not_take_is_refused(tmp_path: Path) -> None:
    config = CONFIG + '[targets.dev.settings]\nTimeZone = "Nowhere/Land"\n'
    with pytest.raises(Refused) as refused:
        compiled(tmp_path, {"interlock.toml": config, "models/m.sql": "select 1 as a"})
    assert refused.value.findings[0].code == "S104"


def test_a_setting_changes_what_is_bound(tmp_path: Path) -> None:
    config = CONFIG + "[targets.dev.settings]\ninteger_division = true\n"
    assert columns(compiled(tmp_path / "a", {"models/m.sql": "select 3 / 2 as q"})) == {"q": "DOUBLE"}
    assert columns(compiled(tmp_path / "b", {"interlock.toml": config, "models/m.sql": "select 3 / 2 as q"})) == {"q": "INTEGER"}


@pytest.mark.parametrize(
    ("files", "because"),
    [
        ({"models/a.sql": "select 1 as x", "models/a.toml": "foo ="}, "`models/a.toml` could not be read"),
        ({"models/a.sql": "select 1 as x", "sources.toml": "foo ="}, "`sources.toml` could not be read"),
    ],
)
def test_what_could_not_be_read_is_not_called_undeclared_without_a_word(tmp_path: Path, files: dict[str, str], because: str) -> None:
    reader = "select * from a" if "models/a.toml" in files else "select * from raw.orders"
    write(tmp_path, {"interlock.toml": CONFIG, "models/m.sql": reader, **files})
    project = load(tmp_path, environment={})
    found = compile_project(project, project.targets["dev"], as_of=AS_OF)
    finding = the(found, "L220" if "models/a.toml" in files else "L204")
    assert (finding.because, finding.remedy) == (because, "correct that file first")


@pytest.mark.parametrize(("written", "remedy"), [("o.amont", "did you mean `amount`?"), ("orders.zzz", "name one of these")])
def test_a_column_that_a_relation_does_not_have_is_told_by_what_it_has(tmp_path: Path, written: str, remedy: str) -> None:
    alias, _, name = written.partition(".")
    found = the(compiled(tmp_path, {"models/m.sql": f"select {written} as x from raw.orders as {alias}"}), "L201")
    assert (found.summary, found.remedy) == (f"`{alias}` has no column `{name}`", remedy)
    assert "`ordered_at`" in found.because


@pytest.mark.parametrize("cells", ["", "a,b\n1\n", 'a\n"1\n', "a\n1.5\n"], ids=["empty", "short row", "unclosed", "rounded"])
def test_what_reads_a_seed_that_cannot_be_read_waits_for_it(cells: str, tmp_path: Path) -> None:
    """Another place to declare it in would be a wrong way out."""
    (tmp_path / "seeds").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "interlock.toml").write_text(CONFIG)
    (tmp_path / "seeds" / "s.csv").write_text(cells)
    (tmp_path / "seeds" / "s.toml").write_text('[columns]\na = "INTEGER"\n' if cells else "")
    (tmp_path / "models" / "m.sql").write_text("select * from s")
    project = load(tmp_path, environment={})
    assert [finding.code for finding in project.findings] == ["S117"]
    found = compile_project(project, project.targets["dev"], as_of=AS_OF)
    assert [(finding.code, finding.subject) for finding in found.findings] == [("L220", "m")]
    assert "seeds/s.csv" in found.findings[0].because
