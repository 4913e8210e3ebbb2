"""A view whose PIVOT reads a relation by its name can be read in sessions of this project only. It says so; a CTE between them helps."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.compiler.projects import compiled

from interlock.engine import api

PIVOT = "pivot (max(x) for y in (1, 2))"
VIEWS = {
    f"select * from a {PIVOT}": True,
    "select * from (pivot a on y in (1, 2) using max(x))": True,
    "select n, v from a unpivot (v for n in (x, y))": True,
    f"select * from (select * from (select * from a)) {PIVOT}": True,
    f"select * from (with s as (select * from a) select * from s) {PIVOT}": True,
    f"select p.* from a join (select * from a {PIVOT}) as p on true": True,
    f"with p as (select * from a {PIVOT}) select * from p": True,
    f"select * from e {PIVOT}": True,
    "select * from pivots": True,
    f"with s as (select * from a) select * from s {PIVOT}": False,
    f"with s as (select * from a), t as (select * from s) select * from t {PIVOT}": False,
    "with s as (select * from a) select n, v from s unpivot (v for n in (x, y))": False,
    f"select * from (values (1, 2)) as t(y, x) {PIVOT}": False,
    "select * from a": False,
}
BESIDE = {
    "models/a.sql": "select 1 as y, 2 as x",
    "models/a.toml": 'materialized = "table"',
    "models/e.sql": "select * from a",
    "models/e.toml": 'materialized = "ephemeral"',
    "models/pivots.sql": f"select * from a {PIVOT}",
    "models/pivots.toml": 'materialized = "ephemeral"',
}


@pytest.mark.parametrize(("text", "warns"), VIEWS.items())
def test_a_view_that_only_we_can_read_says_so_and_no_other(text: str, warns: bool, tmp_path: Path) -> None:
    root = tmp_path / "p"
    api.init(root)
    for path in [*root.glob("models/**/*"), *root.glob("checks/**/*"), *root.glob("seeds/**/*")]:
        if path.is_file():
            path.unlink()
    (root / "sources.toml").unlink(missing_ok=True)
    for name, content in {**BESIDE, "models/v.sql": text, "models/v.toml": 'materialized = "view"'}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content)
    found = api.run(api.open_context(root))
    assert found.exit_code == 0, found.findings
    assert [finding.code for finding in found.findings if finding.subject == "v"] == (["L231"] if warns else [])
    (database,) = root.glob("*.duckdb")
    with duckdb.connect(str(database)) as other:
        try:
            assert other.execute("SELECT * FROM main.v").fetchall()
            is_read = True
        except duckdb.Error:
            is_read = False
    assert is_read is not warns


def test_a_table_may_pivot_what_it_likes(tmp_path: Path) -> None:
    files = {**BESIDE, "models/t.sql": f"select * from a {PIVOT}", "models/t.toml": 'materialized = "table"'}
    assert [finding.code for finding in compiled(tmp_path, files).findings] == []
