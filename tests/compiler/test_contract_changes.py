"""`diff --contracts`: promises that got weaker are breaking, with the columns that they reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine import api
from interlock.engine.diagnostics import Refused

CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\ncreate = true\n'
CONTRACT = """\
materialized = "table"
[contract]
extra_columns = "refuse"
[contract.columns.id]
type = "BIGINT"
nullable = false
[contract.columns.size]
type = "BIGINT"
"""


def changed(root: Path, contract: str, *, runs: int = 1) -> dict[str, tuple[str, str, str]]:
    (root / "models").mkdir(parents=True)
    (root / "interlock.toml").write_text(CONFIG)
    (root / "models" / "a.sql").write_text("select 1::bigint as id, 2::bigint as size")
    (root / "models" / "a.toml").write_text(CONTRACT)
    (root / "models" / "b.sql").write_text("select size + 1 as more from a")
    for _ in range(runs):
        api.run(api.open_context(root, environment={}))
    (root / "models" / "a.toml").write_text(contract)
    found = api.diff_contracts(api.open_context(root, environment={}))
    assert found.exit_code == (3 if any(each.code for each in found.differences) else 0)
    return {each.subject: (each.planned, each.found, each.remedy) for each in found.differences}


@pytest.mark.parametrize(
    ("before", "after", "subject", "said", "kind"),
    [
        ("nullable = false\n", "", "a.id", "BIGINT", "breaking"),
        ('type = "BIGINT"\nnullable = false', "nullable = false", "a.id", "any type without nulls", "breaking"),
        ('[contract.columns.size]\ntype = "BIGINT"\n', '[contract.columns.size]\ntype = "BIGINT"\nnullable = false\n', "a.size", "BIGINT without nulls", "compatible"),
        ('extra_columns = "refuse"\n', "", "a.extra_columns", "allow", "breaking"),
    ],
)  # fmt: skip
def test_a_weaker_promise_is_breaking(before: str, after: str, subject: str, said: str, kind: str, tmp_path: Path) -> None:
    found = changed(tmp_path / "shop", CONTRACT.replace(before, after))
    assert list(found) == [subject]
    assert found[subject][1] == f"{said} ({kind})"


def test_a_column_that_is_no_longer_promised_says_what_it_reaches(tmp_path: Path) -> None:
    contract = CONTRACT.replace('[contract.columns.size]\ntype = "BIGINT"\n', "").replace('extra_columns = "refuse"\n', "")
    found = changed(tmp_path / "shop", contract)
    assert found["a.size"][1] == "no longer promised (breaking)"
    assert "b.more" in found["a.size"][2]


def test_nothing_changed(tmp_path: Path) -> None:
    assert changed(tmp_path / "shop", CONTRACT) == {}


def test_a_plan_that_did_nothing_for_a_model_promised_nothing_else(tmp_path: Path) -> None:
    assert changed(tmp_path / "same", CONTRACT, runs=3) == {}
    found = changed(tmp_path / "gone", 'materialized = "table"\n', runs=3)
    assert {subject: said for subject, (_, said, _) in found.items()} == {
        "a.id": "no longer promised (breaking)",
        "a.size": "no longer promised (breaking)",
        "a.extra_columns": "allow (breaking)",
    }


def test_without_a_plan_that_was_applied_there_is_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text(CONFIG)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.sql").write_text("select 1 as id")
    with pytest.raises(Refused) as refusal:
        api.diff_contracts(api.open_context(tmp_path, environment={}))
    assert refusal.value.findings[0].code == "P401"
