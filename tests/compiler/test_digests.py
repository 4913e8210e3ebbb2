"""What counts as a change: each edit moves the part that it is, and no other."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.compiler.projects import AS_OF, CONFIG, SOURCES, compiled

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.warehouse.duckdb.parser import canonical_of
from interlock.machines.records import digest

FILES = {
    "interlock.toml": CONFIG + '[vars]\nregion = "eu"\nunused = 1\n',
    "macros/a.sql": "create macro twice(x) as x * 2; create macro other(x) as x;",
    "models/e.sql": "select id, amount from raw.orders where status = $region",
    "models/e.toml": 'materialized = "ephemeral"\n',
    "models/up.sql": "select id from raw.customers",
    "models/m.sql": "select e.id, twice(amount) as a, $as_of as t from e join up using (id) where id > 1",
    "models/m.toml": 'description = "one"\ntags = ["x"]\nmaterialized = "table"\n[contract.columns.id]\ntype = "BIGINT"\n[[checks]]\nunique = ["id"]\n',
}


def _m(root: Path, changed: dict[str, str] | None = None, *, as_of: str = AS_OF, drop: tuple[str, ...] = ()) -> CompiledModel:
    files = {path: text for path, text in {**FILES, **(changed or {})}.items() if path not in drop}
    found = compiled(root, files, as_of=as_of)
    assert not [finding for finding in found.findings if finding.severity == "error"], found.findings
    return found.models["m"]


def _moved(before: CompiledModel, after: CompiledModel) -> set[str]:
    names = ("definition", "promise", "note", "environment")
    return {name for name in names if getattr(before.digests, name) != getattr(after.digests, name)}


TEXT = FILES["models/m.sql"]
TOML = FILES["models/m.toml"]


@pytest.mark.parametrize(
    "changed",
    [
        {"models/m.sql": "-- new\nSELECT e.id,\n\n twice(amount) AS a, $as_of t /* x */ FROM e JOIN up USING (id) WHERE id > 1;"},
        {"macros/a.sql": "-- more\ncreate macro other(x) as x + 1;\nCREATE  MACRO twice(x)\n as x * 2"},
        {"interlock.toml": FILES["interlock.toml"].replace("unused = 1", "unused = 2")},
        {"models/up.sql": "select id, name from raw.customers"},
        {"models/up.toml": 'materialized = "table"\n'},
        {"models/m.toml": "lookback_is_policy = 1"} if False else {"models/other.sql": "select 1 as x"},
    ],
)
def test_nothing_moves(changed: dict[str, str], tmp_path: Path) -> None:
    assert _moved(_m(tmp_path / "a"), _m(tmp_path / "b", changed)) == set()


def test_moving_a_file_changes_nothing(tmp_path: Path) -> None:
    moved = {"models/deep/er/m.sql": TEXT, "models/deep/er/m.toml": TOML}
    assert _moved(_m(tmp_path / "a"), _m(tmp_path / "b", moved, drop=("models/m.sql", "models/m.toml"))) == set()


def test_the_plans_time_is_no_edit(tmp_path: Path) -> None:
    before, after = _m(tmp_path / "a"), _m(tmp_path / "b", as_of="2027-01-01T00:00:00Z")
    assert before.sql != after.sql
    assert _moved(before, after) == set()


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"models/m.sql": TEXT.replace("id > 1", "id >= 1")}, "query"),
        ({"models/m.sql": TEXT.replace("as a", "as b")}, "query"),
        ({"models/up.toml": 'schema = "marts"\n'}, "resolution"),
        ({"models/up.toml": 'alias = "upper"\n'}, "resolution"),
        ({"models/e.sql": FILES["models/e.sql"].replace("=", "<>")}, "ephemerals"),
        ({"interlock.toml": FILES["interlock.toml"].replace('"eu"', '"us"')}, "ephemerals"),
        ({"macros/a.sql": "create macro twice(x) as x + x"}, "macros"),
        ({"models/m.toml": TOML.replace("table", "view")}, "materialization"),
        ({"models/m.toml": TOML.replace('"table"', '"incremental"\nstrategy = "merge"\nunique_key = ["id"]\nwatermark = "t"')}, "keys"),
    ],
)
def test_an_edit_of_the_definition_says_which_part_moved(changed: dict[str, str], part: str, tmp_path: Path) -> None:
    before, after = _m(tmp_path / "a"), _m(tmp_path / "b", changed)
    assert _moved(before, after) == {"definition"}
    assert part in {name for name in after.definition_parts if after.definition_parts[name] != before.definition_parts[name]}


def test_the_value_of_a_variable_is_part_of_who_reads_it(tmp_path: Path) -> None:
    text = {"models/m.sql": TEXT + " and $region = 'eu'"}
    before = _m(tmp_path / "a", text)
    after = _m(tmp_path / "b", {**text, "interlock.toml": FILES["interlock.toml"].replace('"eu"', '"us"')})
    assert before.definition_parts["variables"] != after.definition_parts["variables"]


@pytest.mark.parametrize(
    ("toml", "digest"),
    [
        (TOML.replace("BIGINT", "int8"), None),
        (TOML.replace('type = "BIGINT"', 'nullable = false\nprove = "at run time"'), "promise"),
        (TOML.replace('type = "BIGINT"', 'type = "BIGINT"\nprove = "at run time"'), None),
        (TOML.replace('unique = ["id"]', 'not_null = ["id"]'), "promise"),
        (TOML.replace('unique = ["id"]', 'unique = ["id"]\nseverity = "warn"'), "promise"),
        (TOML.replace('"one"', '"two"'), "note"),
        (TOML.replace('"x"', '"y"'), "note"),
        (TOML.replace('type = "BIGINT"', 'type = "BIGINT"\ndescription = "key"'), "note"),
    ],
)
def test_promises_and_notes_move_by_themselves(toml: str, digest: str | None, tmp_path: Path) -> None:
    assert _moved(_m(tmp_path / "a"), _m(tmp_path / "b", {"models/m.toml": toml})) == ({digest} if digest else set())


def test_a_setting_that_changes_answers_is_the_environment(tmp_path: Path) -> None:
    zone = FILES["interlock.toml"].replace(
        'path = "dev.duckdb"\n', 'path = "dev.duckdb"\n[targets.dev.settings]\nTimeZone = "Europe/Berlin"\n'
    )
    cost = zone.replace('TimeZone = "Europe/Berlin"', 'memory_limit = "1GB"')
    assert _moved(_m(tmp_path / "a"), _m(tmp_path / "b", {"interlock.toml": zone})) == {"environment"}
    assert _moved(_m(tmp_path / "c"), _m(tmp_path / "d", {"interlock.toml": cost})) == set()


def test_how_a_source_is_read_is_part_of_its_readers_and_its_files_are_not(tmp_path: Path) -> None:
    def reader(root: Path, options: str, *files: str) -> CompiledModel:
        source = (
            f'[sources.landing]\npath = "landing/*.csv"\n[sources.landing.options]\n{options}\n[sources.landing.columns]\na = "INTEGER"\n'
        )
        landed = {f"landing/{name}.csv": "a\n1\n" for name in files}
        return compiled(root, {"sources.toml": SOURCES + source, "models/m.sql": "select a from landing", **landed}).models["m"]

    before = reader(tmp_path / "a", "header = true", "one")
    assert _moved(before, reader(tmp_path / "b", "header = true", "one", "two")) == set()
    assert _moved(before, reader(tmp_path / "c", 'header = true\nnullstr = "NA"', "one")) == {"definition"}


def test_an_old_text_can_be_made_canonical_by_the_parser_of_today(tmp_path: Path) -> None:
    found = _m(tmp_path)
    again = canonical_of(found.text)
    assert found.definition_parts["query"] == digest("definition-part", msgspec.json.encode(again))
    assert canonical_of("insert into t values (1)") == ""
    assert "query_location" not in again


def test_compiling_twice_gives_the_same(tmp_path: Path) -> None:
    assert compiled(tmp_path / "a", FILES) == compiled(tmp_path / "b", FILES)
