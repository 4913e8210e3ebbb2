"""Refusals that take an odd world to provoke: foreign plans, upgrades, half a rename."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from interlock.engine.cli import main
from interlock.engine.runner import apply
from interlock.engine.warehouse.duckdb.errors import classify
from interlock.machines import guards_run

Command = Callable[..., dict[str, Any]]


@pytest.fixture
def interlock(capsys: pytest.CaptureFixture[str]) -> Command:
    def command(*words: str | Path, exits: int = 0) -> dict[str, Any]:
        code = main([*(str(word) for word in words), "--json"])
        out, err = capsys.readouterr()
        assert code == exits, out[-3000:] + err[-3000:]
        answer: dict[str, Any] = json.loads(out)
        return answer

    return command


@pytest.fixture
def project(tmp_path: Path, interlock: Command) -> Path:
    interlock("init", tmp_path / "mine")
    return tmp_path / "mine"


def codes(answer: dict[str, Any]) -> set[str]:
    found = {finding["code"] for finding in answer["findings"] if finding["severity"] == "error"}
    return found | {model["code"] for model in (answer["result"] or {}).get("models", ()) if model["code"]}


def plan(interlock: Command, project: Path, *words: str, exits: int = 0) -> dict[str, Any]:
    result: dict[str, Any] = interlock("plan", "--project", project, *words, exits=exits)["result"]
    return result


def test_a_plan_that_was_made_for_another_project_is_refused(project: Path, tmp_path: Path, interlock: Command) -> None:
    interlock("run", "--project", project)
    made = plan(interlock, project, "--force", "daily_sales")["plan"]
    other = tmp_path / "other"
    shutil.copytree(project, other, ignore=shutil.ignore_patterns("*.duckdb", "*.interlock"))
    config = other / "interlock.toml"
    known = config.read_text(encoding="utf-8").split('"')[1]
    config.write_text(config.read_text(encoding="utf-8").replace(known, "feedfeedfeedfeedfeed"), encoding="utf-8")
    interlock("run", "--project", other)
    (theirs,) = (project / "mine.duckdb.interlock").glob("*/plans")
    (ours,) = (other / "mine.duckdb.interlock").glob("*/plans")
    shutil.copyfile(theirs / f"{made}.json", ours / f"{made}.json")

    assert "P404" in codes(interlock("apply", made, "--project", other, exits=3))


def test_a_plan_of_another_semantics_version_is_refused(project: Path, interlock: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(interlock, project)["plan"]
    monkeypatch.setattr(apply, "SEMANTICS_VERSION", 2)

    assert codes(interlock("apply", made, "--project", project, exits=3)) == {"P423"}
    assert not (project / "mine.duckdb").exists()


def test_a_rename_onto_something_that_stands_there_is_refused(project: Path, interlock: Command) -> None:
    interlock("run", "--project", project)
    with duckdb.connect(str(project / "mine.duckdb")) as connection:
        connection.execute("create table sales_by_day as select 42 as answer")
    models = project / "models"
    (models / "daily_sales.sql").rename(models / "sales_by_day.sql")
    sidecar = (models / "daily_sales.toml").read_text(encoding="utf-8")
    (models / "daily_sales.toml").unlink()
    (models / "sales_by_day.toml").write_text(f'renamed_from = "daily_sales"\n{sidecar}', encoding="utf-8")

    assert "P424" in codes(interlock("run", "--project", project, exits=3))

    with duckdb.connect(str(project / "mine.duckdb"), read_only=True) as connection:
        assert connection.execute("from sales_by_day").fetchall() == [(42,)]
        assert connection.execute("select count(*) from daily_sales").fetchall() == [(3,)]


def test_an_error_of_the_whole_database_is_told_from_one_of_a_statement() -> None:
    found = classify(duckdb.FatalException("FATAL Error: database has been invalidated"))
    assert (found.code, found.scope) == ("W611", "database")


def test_guards_whose_reasons_have_codes_of_their_own_have_one_too() -> None:
    named = {guards_run.plan_is_current: "G572", guards_run.no_finding_is_an_error: "G581", guards_run.every_observation_was_read: "G582"}
    assert {guard.name: guard.code for guard in named} == {guard.name: code for guard, code in named.items()}
