"""Projects of every size and with everything ugly: no crash, nothing lost without a word, a reason for every refusal."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest
from tests.importers import ugly
from tests.importers.dbt_projects import imported

from interlock.engine import api

SIZES = [5, 60, *(int(size) for size in os.environ.get("INTERLOCK_DBT_MODELS", "").split())]
"""INTERLOCK_DBT_MODELS="300 2300" asks for more."""


@pytest.mark.parametrize("models", SIZES)
def test_a_project_of_any_size_is_imported_whole_with_a_reason_for_each_refusal(tmp_path: Path, models: int) -> None:
    files, refused = ugly.project(models)
    found = imported(tmp_path, files)
    assert {item.name: item.code for item in found.items("model") if item.status != "converted"} == refused
    assert len(found.items("model")) == sum(
        path.startswith(("models/", "dbt_packages/tools/models/")) and path.endswith(".sql") for path in files
    )
    assert all(item.why and item.remedy and item.path for item in found.done.items if item.status in {"refused", "proposed"})
    assert set(files) - {"profiles.yml"} <= {item.path for item in found.done.items}
    assert found.item("models/two.yml", "file").code == "D802"
    assert {finding.code for finding in found.done.findings if finding.severity == "error"} == set()
    with duckdb.connect(str(found.root / "shop.duckdb")) as connection:
        connection.execute(ugly.EVENTS)
    assert api.compile_(api.open_context(found.out, environment={})).exit_code == 0
    if models <= 60:
        done = api.run(api.open_context(found.out, environment={}))
        assert [(each.model, each.code, each.because) for each in done.models if each.code] == []
        assert done.outcome == "succeeded"
