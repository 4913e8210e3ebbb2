"""Each sentence of the recovery tables is shown by `interlock explain`."""

from __future__ import annotations

import pytest

from interlock.engine import api
from interlock.engine.planner.recovery import AuthorityRow, ModelRow, tables

ROWS = (*tables().authority, *tables().model)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.row)
def test_explain_shows_a_row_with_its_sentence_and_its_remedy(row: AuthorityRow | ModelRow) -> None:
    page = api.explain(row.row.lower())
    assert page.code == row.row
    assert row.how in page.page
    assert row.remedy in page.page
    assert row.code in page.page
    assert row.decision in page.page
