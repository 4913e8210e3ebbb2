"""A plan is not made with an engine that is known to give wrong rows, and says what another one's word is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine import api
from interlock.engine.diagnostics import Refused
from interlock.engine.warehouse.duckdb import parser, session


def test_an_engine_that_is_known_to_be_wrong_makes_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.init(tmp_path / "p")
    monkeypatch.setitem(session.KNOWN_WRONG, session.VERSION, "it loses rows")
    with pytest.raises(Refused) as caught:
        api.plan(api.open_context(tmp_path / "p"))
    assert [finding.code for finding in caught.value.findings] == ["P428"]


def test_content_that_another_engine_fingerprinted_is_said_not_to_be_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing said would be read as a pass: `--verify-content` was asked."""
    api.init(tmp_path / "p")
    (tmp_path / "p/models/kept.sql").write_text("SELECT order_id, customer FROM orders")
    (tmp_path / "p/models/kept.toml").write_text('materialized = "incremental"\nstrategy = "append"\nwatermark = "order_id"\n')
    assert api.run(api.open_context(tmp_path / "p", keep=False)).outcome == "succeeded"
    assert notes_of(tmp_path / "p", "kept") == []
    monkeypatch.setattr(parser, "ENGINE", "99.0.0")
    (note,) = notes_of(tmp_path / "p", "kept")
    assert note.startswith("its content was not verified: it was fingerprinted by ")
    assert "99.0.0 cannot tell" in note

    (tmp_path / "p/models/kept.toml").write_text((tmp_path / "p/models/kept.toml").read_text() + 'guard = "content"\n')
    assert notes_of(tmp_path / "p", "kept", asked=False) == [note]


def notes_of(project: Path, model: str, *, asked: bool = True) -> list[str]:
    body = api.plan(api.open_context(project, keep=False), verify_content=asked, save=False).body
    assert body is not None
    return [note for item in body.items if item.model == model for note in item.notes if "content" in note]
