"""What a materialization asks of its query."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import codes, compiled, errors, model, the

from interlock.engine.compiler.compiled import Compiled

APPEND = 'materialized = "incremental"\nstrategy = "append"\nwatermark = "{watermark}"\n'
MERGE = 'materialized = "incremental"\nstrategy = "merge"\nwatermark = "ordered_at"\nunique_key = ["{key}"]\n'
PARTITION = 'materialized = "incremental"\nstrategy = "partition"\nwatermark = "{watermark}"\npartition = "{unit}"\n'
SNAPSHOT = 'materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "updated_at"\nupdated_at = "{time}"\n'


def _orders(toml: str, tmp_path: Path, text: str = "select id, amount, status, ordered_at, day from raw.orders") -> Compiled:
    return model(tmp_path, text, toml)


@pytest.mark.parametrize(
    ("toml", "code", "key"),
    [
        (APPEND.format(watermark="nothing"), "L221", "watermark"),
        (MERGE.format(key="nothing"), "L222", "unique_key"),
        (PARTITION.format(watermark="id", unit="day"), "L222", "partition"),
        (PARTITION.format(watermark="ordered_at", unit="100"), "L222", "partition"),
        (PARTITION.format(watermark="day", unit="hour"), "L222", "partition"),
        (PARTITION.replace("watermark", "partition_column").format(partition_column="nothing", unit="day"), "L222", "partition_column"),
        (PARTITION.replace("watermark", "partition_column").format(partition_column="status", unit="day"), "L222", "partition"),
        (SNAPSHOT.format(time="nothing"), "L221", "updated_at"),
        (SNAPSHOT.format(time="status"), "L221", "updated_at"),
        ('materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "columns"\ncompare = ["nothing"]\n', "L222", "compare"),
        (MERGE.format(key="id").replace("ordered_at", "id") + 'lookback = "2 days"\n', "L221", "lookback"),
        (MERGE.format(key="id") + 'lookback = "100"\n', "L221", "lookback"),
    ],
)
def test_a_column_that_is_not_there_or_will_not_do_is_named(toml: str, code: str, key: str, tmp_path: Path) -> None:
    found = _orders(toml, tmp_path)
    assert codes(found) == [code], found.findings
    finding = the(found, code)
    assert finding.at is not None
    assert (finding.at.path, finding.at.key) == ("models/m.toml", key)


@pytest.mark.parametrize(
    "kind",
    [
        "TINYINT",
        "BIGINT",
        "HUGEINT",
        "UBIGINT",
        "DECIMAL(18,4)",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMP_S",
        "TIMESTAMP_MS",
        "TIMESTAMP_NS",
        "TIMESTAMPTZ",
        "VARCHAR",
    ],
)
def test_a_watermark_may_have_a_type_with_a_total_order(kind: str, tmp_path: Path) -> None:
    found = model(tmp_path, f"select cast(id as varchar)::{kind} as w from raw.orders", APPEND.format(watermark="w"))
    assert errors(found) == []


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "BOOLEAN", "BLOB", "TIME", "INTERVAL", "INTEGER[]", "UUID"])
def test_a_watermark_may_have_no_other_type(kind: str, tmp_path: Path) -> None:
    found = model(tmp_path, f"select cast(null as {kind}) as w", APPEND.format(watermark="w"))
    assert codes(found) == ["L221"]


def test_text_under_a_collation_is_no_watermark(tmp_path: Path) -> None:
    config = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n[targets.dev.settings]\ndefault_collation = "nocase"\n'
    files = {"interlock.toml": config, "models/m.sql": "select status as w from raw.orders", "models/m.toml": APPEND.format(watermark="w")}
    assert codes(compiled(tmp_path, files)) == ["L221"]


@pytest.mark.parametrize(
    "text",
    [
        "select id, ordered_at, random() as r from raw.orders",
        "select id, ordered_at from raw.orders where ordered_at < now()",
        "select id, ordered_at from raw.orders where day <= current_date",
    ],
)
@pytest.mark.parametrize("toml", [MERGE.format(key="id"), SNAPSHOT.format(time="ordered_at"), "deterministic = true\n"])
def test_what_moves_by_itself_is_refused_where_rows_must_be_repeatable(text: str, toml: str, tmp_path: Path) -> None:
    found = model(tmp_path, text, toml)
    assert codes(found) == ["L217"]
    assert ("hash(" if "random" in text else "$as_of") in the(found, "L217").remedy


def test_as_of_is_no_volatile_function_and_its_columns_are_known(tmp_path: Path) -> None:
    text = """with a as (select id, ordered_at, $as_of as seen, ordered_at + interval 1 day as later from raw.orders where ordered_at < $as_of)
select a.*, seen as again, id as plain from a"""
    found = model(tmp_path, text, MERGE.format(key="id"))
    assert errors(found) == []
    assert found.models["m"].as_of_columns == ("again", "seen")
    assert found.models["m"].variables == ("as_of",)


def test_as_of_columns_come_through_ephemerals(tmp_path: Path) -> None:
    files = {
        "models/e.sql": "select id, ordered_at, $as_of as seen from raw.orders",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/m.sql": "select * from e union all select id, ordered_at, ordered_at from raw.orders",
        "models/m.toml": MERGE.format(key="id"),
    }
    assert compiled(tmp_path, files).models["m"].as_of_columns == ("seen",)


def test_a_volatile_ephemeral_read_twice_is_refused(tmp_path: Path) -> None:
    files = {
        "models/e.sql": "select id, random() as r from raw.orders",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/m.sql": "select a.id from e as a join e as b on a.r = b.r",
    }
    found = compiled(tmp_path, files)
    assert "L223" in codes(found)
    assert found.models["m"].volatile == ("random",)
    assert [finding.subject for finding in found.findings if finding.code == "L218"] == ["m"]


def test_a_snapshot_has_its_validity_for_those_that_read_it(tmp_path: Path) -> None:
    files = {
        "models/s.sql": "select id, name, naive from raw.customers",
        "models/s.toml": 'materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "updated_at"\nupdated_at = "naive"\n[[checks]]\nnot_null = ["valid_from"]\n',
        "models/m.sql": "select id, valid_from, valid_to from s where s.valid_to is null",
    }
    found = compiled(tmp_path, files)
    assert errors(found) == []
    assert [column.type for column in found.models["m"].columns] == ["INTEGER", "TIMESTAMP", "TIMESTAMP"]
    assert [column.name for column in found.models["s"].columns] == ["id", "name", "naive"]


def test_a_snapshot_may_not_bring_a_column_of_that_name(tmp_path: Path) -> None:
    toml = 'materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "columns"\n'
    assert codes(model(tmp_path, "select id, day as valid_to from raw.orders", toml)) == ["L210"]


def test_constructs_that_an_append_plan_tells_are_noted(tmp_path: Path) -> None:
    text = "select distinct day, count(*) over () as c, sum(id) as s from raw.orders join raw.customers using (id) group by all qualify c > 1 limit 3"
    assert set(model(tmp_path, text).models["m"].notes) >= {"DISTINCT", "GROUP BY", "JOIN", "LIMIT", "QUALIFY", "aggregate", "window"}


@pytest.mark.parametrize(
    ("call", "remedy"), [("now()", "$as_of"), ("random()", "hash("), ("gen_random_uuid()", "hash("), ("version()", "$target")]
)
@pytest.mark.parametrize(("sidecar", "code"), [('materialized = "table"', "L218"), ("deterministic = true", "L217")])
def test_what_to_write_instead_of_a_volatile_function_suits_it(tmp_path: Path, call: str, remedy: str, sidecar: str, code: str) -> None:
    found = the(model(tmp_path, f"select {call} as x", sidecar), code)
    assert remedy in found.remedy
    assert ("$as_of" in found.remedy) == (call == "now()")


@pytest.mark.parametrize(
    ("operation", "noted"),
    [
        ("union all", False),
        ("union all by name", False),
        ("union", True),
        ("union by name", True),
        ("except", True),
        ("except all", True),
        ("intersect all", True),
    ],
)
def test_a_set_operation_that_keeps_every_row_is_not_distinct(operation: str, noted: bool, tmp_path: Path) -> None:
    found = model(tmp_path, f"select id from raw.orders {operation} select id from raw.orders").models["m"]
    assert ("DISTINCT" in found.notes) == noted
