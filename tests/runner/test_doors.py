"""The two doors that no guard of a plan can stand in for: the fence in the warehouse, and the sealed file beside what runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec import structs

from interlock.engine import api
from interlock.engine.results import RunResult
from interlock.engine.runner import apply
from interlock.engine.runner.planning import Planned
from interlock.engine.warehouse.duckdb.transaction import DuckDBTransaction
from interlock.engine.warehouse.protocol import Row, Statement


def codes(found: RunResult) -> set[str]:
    return {model.code for model in found.models}


def relations(root: Path) -> list[str]:
    (database,) = root.glob("*.duckdb")
    with duckdb.connect(str(database), read_only=True) as connection:
        rows = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_schema <> 'interlock'").fetchall()
    return [str(row[0]) for row in rows]


def test_a_head_that_another_writer_moved_meanwhile_stops_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.init(tmp_path / "p")
    run = DuckDBTransaction.run

    def moved(self: DuckDBTransaction, statement: Statement, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        if statement.role == "fence" and parameters is not None:
            parameters = {**parameters, "expected": "a receipt of somebody else"}
        return run(self, statement, parameters)

    monkeypatch.setattr(DuckDBTransaction, "run", moved)
    found = api.run(api.open_context(tmp_path / "p"))
    assert found.exit_code != 0
    assert codes(found) == {"W610", "G561"}
    assert relations(tmp_path / "p") == []


def test_an_item_that_is_not_as_the_sealed_file_has_it_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.init(tmp_path / "p")
    make, save, sealed = apply.make_plan, apply.save, []

    def tampered(*given: Any) -> Planned:
        planned = make(*given)
        sealed.append(planned)
        assert planned.body is not None
        first, *others = planned.body.items
        *statements, last = first.statements
        changed = structs.replace(first, statements=(*statements, structs.replace(last, text=last.text + " ")))
        return structs.replace(planned, body=structs.replace(planned.body, items=(changed, *others)))

    monkeypatch.setattr(apply, "make_plan", tampered)
    monkeypatch.setattr(apply, "save", lambda directory, _: save(directory, sealed[0]))
    found = api.run(api.open_context(tmp_path / "p"))
    assert found.exit_code != 0
    assert codes(found) == {"G501", "G561"}
    assert relations(tmp_path / "p") == []
