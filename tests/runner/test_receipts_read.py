"""Whatever command carries a plan out has read the receipt of every head that stands in it, and each once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from interlock.engine import api
from interlock.engine.diagnostics import Refused
from interlock.engine.warehouse.duckdb.reader import DuckDBReader
from interlock.engine.warehouse.protocol import ReceiptRow


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project that was run, of which one leaf changed since."""
    root = tmp_path / "p"
    api.init(root)
    assert api.run(api.open_context(root)).exit_code == 0
    leaf = root / "models" / "daily_sales.sql"
    leaf.write_text(leaf.read_text(encoding="utf-8").rstrip().rstrip(";") + "\nLIMIT 1000000\n", encoding="utf-8")
    (root / "models" / "apart.sql").write_text("SELECT 1 AS one", encoding="utf-8")
    (root / "models" / "apart.toml").write_text('materialized = "table"\n', encoding="utf-8")
    assert api.run(api.open_context(root), select=["apart"]).exit_code == 0
    return root


def altered(root: Path, model: str) -> None:
    """Another byte in the body of a model's receipts."""
    (database,) = root.glob("*.duckdb")
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "UPDATE interlock.receipts SET body = replace(body, '\"rows_held\":0', '\"rows_held\":7') WHERE model = ?", [model]
        )


@pytest.mark.parametrize("model", ["apart", "raw_orders", "daily_sales"])
def test_a_receipt_that_was_altered_after_the_plan_stops_its_apply(model: str, shop: Path) -> None:
    planned = api.plan(api.open_context(shop))
    assert planned.plan
    altered(shop, model)
    with pytest.raises(Refused) as refused:
        api.apply(api.open_context(shop), planned.plan)
    assert [finding.code for finding in refused.value.findings] == ["K706"]


def test_a_run_reads_no_receipt_twice_before_it_writes(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = DuckDBReader.receipts

    def receipts(self: DuckDBReader, project: str, ids: Sequence[str]) -> dict[str, ReceiptRow]:
        asked.extend(ids)
        return real(self, project, ids)

    monkeypatch.setattr(DuckDBReader, "receipts", receipts)
    assert api.run(api.open_context(shop)).exit_code == 0
    assert asked
    assert len(asked) == len(set(asked))
