"""A plan is not made with an engine that is known to give wrong rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine import api
from interlock.engine.diagnostics import Refused
from interlock.engine.warehouse.duckdb import session


def test_an_engine_that_is_known_to_be_wrong_makes_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.init(tmp_path / "p")
    monkeypatch.setitem(session.KNOWN_WRONG, session.VERSION, "it loses rows")
    with pytest.raises(Refused) as caught:
        api.plan(api.open_context(tmp_path / "p"))
    assert [finding.code for finding in caught.value.findings] == ["P428"]
