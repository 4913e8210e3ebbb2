"""Which views are bound in the transaction of what they read: as few as prove that none breaks."""

from pathlib import Path

import pytest

from interlock.engine import api

CONFIG = '[project]\nid = "views"\nname = "views"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\ncreate = true\n'
TEXTS = {"a": "SELECT 1 AS id, 2 AS amount", "near": "SELECT * FROM a", "mid": "SELECT * FROM near", "far": "SELECT id FROM mid"}


def made(root: Path) -> None:
    (root / "models").mkdir()
    (root / "interlock.toml").write_text(CONFIG, encoding="utf-8")
    for name, text in TEXTS.items():
        (root / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
    (root / "models" / "a.toml").write_text('materialized = "table"\n', encoding="utf-8")
    assert api.run(api.open_context(root, target="dev", environment={})).outcome == "succeeded"


def bound_with_a(root: Path) -> list[str]:
    """The views that the plan's transaction of `a` binds, if `a` alone is planned."""
    context = api.open_context(root, target="dev", environment={})
    body = api.plan(context, select=("a",)).body
    assert body is not None
    (item,) = body.items
    return sorted(each.role.removeprefix("bind:") for each in item.statements if each.role.startswith("bind:"))


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("SELECT 3 AS id, 4 AS amount", ["main.near"], id="columns-stay"),
        pytest.param("SELECT 3 AS id, 4 AS amount, 5 AS more", ["main.far", "main.mid", "main.near"], id="columns-change"),
        pytest.param("SELECT 3 AS id, 4::BIGINT AS amount", ["main.far", "main.mid", "main.near"], id="a-type-changes"),
    ],
)
def test_what_reads_it_through_others_is_bound_where_its_columns_change(tmp_path: Path, text: str, bound: list[str]) -> None:
    made(tmp_path)
    (tmp_path / "models" / "a.sql").write_text(text, encoding="utf-8")
    assert bound_with_a(tmp_path) == bound
