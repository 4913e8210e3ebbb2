"""A command that a plan proposes does what the plan shows: it is put to the command line again, as a shell would."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.engine.cli.arguments import COMMANDS
from interlock.engine.views.given import Given

Run = Callable[..., Any]

FILES = {
    "interlock.toml": '[project]\nid = "7f3a1c9e5b2d4f60"\nname = "shop"\ndefault_target = "dev"\n[vars]\nregion = "EU"\nnote = ""\n'
    '[targets.dev]\ntype = "duckdb"\npath = "shop.duckdb"\ncreate = true\n[targets.other]\ntype = "duckdb"\npath = "other.duckdb"\ncreate = true\n',
    "seeds/days.csv": "id,day\n1,2025-01-01\n2,2025-01-02\n",
    "models/one.sql": "SELECT id, $region AS region, $note AS note FROM days",
    "models/one.toml": 'materialized = "table"\ntags = ["daily"]\n',
    "models/two.sql": "SELECT id FROM one",
    "models/three.sql": "SELECT id, day FROM days",
    "models/three.toml": 'materialized = "incremental"\nstrategy = "partition"\npartition = "day"\nwatermark = "day"\n',
    "models/four.sql": "SELECT id FROM days",
}
WISHES = {
    "no wish": [],
    "a selection": ["--select", "days", "tag:daily+", "--exclude", "two"],
    "variables that a shell would take apart": ["--vars", "region=a b; echo $HOME", "--vars", "note=it's"],
    "another target": ["--target", "other"],
    "what is made anew": ["--full-refresh", "three", "--allow-shrink", "three", "--force", "four", "--on-change", "three=continue"],
    "a range": ["--from", "2025-01-01", "--to", "2025-01-02"],
    "the whole of it": ["--verify-content", "--drop-orphans"],
}


def proposed(text: str, begins: str) -> list[str]:
    found = re.search(rf"(interlock {begins} .+?) (?:is the same work|prints the SQL)$", text, re.MULTILINE)
    assert found is not None, text
    return shlex.split(found[1])[1:]


@pytest.mark.parametrize("wish", WISHES)
def test_the_run_that_a_plan_proposes_is_the_same_work(wish: str, interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if WISHES[wish]:
        assert interlock_("run").exit == 0
        (tmp_path / "seeds/days.csv").write_text("id,day\n1,2025-01-01\n2,2025-01-02\n3,2025-01-03\n", encoding="utf-8")
    shown = interlock_("plan", "--no-save", *WISHES[wish])
    assert shown.exit == 0, shown.err
    planned = re.search(r"^plan id ([0-9a-f]{64}) \(not saved\)$", shown.out, re.MULTILINE)
    assert planned is not None
    sql = interlock_(*proposed(shown.out, "show"))
    assert sql.exit == 0
    ran = json.loads(interlock_(*proposed(shown.out, "run"), "--json").out)
    assert (ran["result"]["plan"], ran["exit"]) == (planned[1], 0)


def test_the_sql_that_a_plan_points_to_has_its_values(interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert interlock_("run").exit == 0
    shown = interlock_("plan", "--select", "one", "--vars", "region=a b")
    assert "'a b' AS region" in interlock_(*proposed(shown.out, "show")).out


def laid(root: Path, **more: str) -> Path:
    for name, text in (FILES | more).items():
        (root / name).parent.mkdir(exist_ok=True, parents=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def typed(remedy: str) -> list[str]:
    """The first command of a remedy, as a shell reads it."""
    found = re.search(r"`interlock ([^`]+)`", remedy)
    assert found is not None, remedy
    return shlex.split(found[1])


def test_what_a_plan_proposes_can_be_typed_where_the_plan_was_asked_for(
    interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid(tmp_path / "my shop")
    monkeypatch.chdir(tmp_path)
    shown = interlock_("plan", "--project", "my shop", "--target", "other", "--select", "+two")
    assert interlock_(*proposed(shown.out, "show")).exit == 0
    following = re.search(r"^next: interlock (.+)$", shown.out, re.MULTILINE)
    assert following is not None
    assert interlock_(*shlex.split(following[1])).exit == 0
    assert (tmp_path / "my shop/other.duckdb").exists()
    assert interlock_(*proposed(interlock_("plan", "--project", "my shop", "--no-save").out, "run")).exit == 0


def test_a_remedy_names_the_project_and_target_that_were_named(interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid(tmp_path / "my shop")
    monkeypatch.chdir(tmp_path)
    where = ("--project", "my shop", "--target", "other")
    said = interlock_("ls", "--select", "zzz", *where)
    assert "see `interlock ls --project 'my shop' --target other`" in said.err
    told = json.loads(interlock_("apply", "abc", *where, "--json").out)["findings"][0]
    assert interlock_(*typed(told["remedy"])).exit == 0, told
    refused = json.loads(interlock_("resume", *where, "--json").out)["findings"][0]
    assert interlock_(*typed(refused["remedy"])).exit == 0, refused
    assert "--project" not in interlock_("explain", "P430").out


def test_on_a_protected_target_a_plan_is_proposed_where_a_run_would_be_refused(
    interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid(
        tmp_path, **{"interlock.toml": FILES["interlock.toml"].replace('path = "other.duckdb"', 'path = "other.duckdb"\nprotected = true')}
    )
    monkeypatch.chdir(tmp_path)
    shown = interlock_("plan", "--no-save", "--target", "other")
    following = re.search(r"^next: interlock (plan .+) saves it, to be applied$", shown.out, re.MULTILINE)
    assert following is not None, shown.out
    planned = re.search(r"^plan id ([0-9a-f]{64})", shown.out, re.MULTILINE)
    again = interlock_(*shlex.split(following[1]))
    assert planned is not None
    assert f"plan id {planned[1]}\n" in again.out
    unbuilt = json.loads(interlock_("show", "one", "--limit", "1", "--target", "other", "--json").out)["findings"][0]
    assert typed(unbuilt["remedy"]) == ["plan", "--select", "days", "--target", "other"]


def test_every_command_that_takes_a_project_is_told_which(interlock_: Run) -> None:
    for command in sorted(COMMANDS):
        takes = "--project" in interlock_(*command.split(), "--help").out
        assert ("--project" in Given(project="p").act(f"`interlock {command} x`")) == takes, command
    assert (
        Given(project="p").act("`interlock run --help`, `interlock`, interlock run") == "`interlock run --help`, `interlock`, interlock run"
    )
