"""What the rows of a deployed table prove to those that read it: what they were asked, not what its file asks by now."""

from __future__ import annotations

from pathlib import Path

import duckdb

from interlock.engine import api

CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\ncreate = true\n'
ASKED = 'materialized = "table"\n[[checks]]\nname = "{name}"\nnot_null = ["{column}"]\n'
PROMISES = 'materialized = "table"\n[contract.columns.{column}]\ntype = "INTEGER"\nnullable = false\n'


def proof(root: Path, model: str) -> str:
    """How the contract of a model is proved in a plan of it alone."""
    plan = api.plan(api.open_context(root, target="dev"), select=[model], force=[model], save=False).body
    assert plan is not None
    (item,) = (item for item in plan.items if item.model == model)
    (found,) = item.contract_findings
    return found.proof


def test_a_check_proves_only_if_the_rows_that_stand_were_asked_it(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "dev.duckdb") as database:
        database.execute("CREATE SCHEMA raw; CREATE TABLE raw.events AS SELECT NULL::INTEGER AS x, 3 AS y")
    sidecar = tmp_path / "models" / "a.toml"
    sidecar.parent.mkdir()
    for path, text in {
        "interlock.toml": CONFIG,
        "sources.toml": '[sources."raw.events"]\n',
        "models/a.sql": "SELECT x, y FROM raw.events",
        "models/a.toml": ASKED.format(name="filled", column="y"),
        "models/b.sql": "SELECT x FROM a",
        "models/c.sql": "SELECT y FROM a",
        "models/c.toml": PROMISES.format(column="y"),
    }.items():
        (tmp_path / path).write_text(text)
    assert api.run(api.open_context(tmp_path, target="dev")).outcome == "succeeded"
    assert proof(tmp_path, "c") == "compiled"
    (tmp_path / "models" / "b.toml").write_text(PROMISES.format(column="x"))
    assert proof(tmp_path, "b") == "at_run_time"
    sidecar.write_text(ASKED.format(name="x_is_filled", column="x"))
    assert proof(tmp_path, "b") == "at_run_time", "its file asks by now what the rows were never asked"
    sidecar.write_text(ASKED.format(name="filled", column="x"))
    assert proof(tmp_path, "b") == "at_run_time", "a check of that name passed, and asked another column"
