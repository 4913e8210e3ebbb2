"""Findings that concern a selection."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine import api
from interlock.engine.diagnostics import Refused

CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\ncreate = true\n'
SOURCES = """
[sources.here]
path = "here.csv"
format = "csv"
[sources.gone]
path = "gone/*.csv"
format = "csv"
"""


def test_a_vanished_source_of_another_model_is_no_finding_of_this_one(tmp_path: Path) -> None:
    files = {
        "interlock.toml": CONFIG,
        "sources.toml": SOURCES,
        "here.csv": "id\n1\n",
        "models/a.sql": "SELECT id FROM here",
        "models/b.sql": "SELECT id FROM gone",
        "models/c.sql": "SELECT b.id FROM b",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    ctx = api.open_context(tmp_path)
    assert api.show(ctx, "a").sql
    assert [each.model for each in api.compile_(ctx, select=["a"]).models] == ["a"]
    for name in ("b", "c"):
        with pytest.raises(Refused) as refusal:
            api.compile_(ctx, select=[name])
        assert [finding.code for finding in refusal.value.findings if finding.severity == "error"] == ["S119"]
    with pytest.raises(Refused):
        api.compile_(ctx)
