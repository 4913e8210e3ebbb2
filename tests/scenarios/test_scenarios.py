"""Every file of `specs/scenarios` is played. The runner is `stage.py`, the format `scenario.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.scenarios import expect, scenario
from tests.scenarios.stage import Stage

from interlock.engine.audit.replay import replay_at
from interlock.engine.cli import main

SPOILS_ITS_LEDGER = frozenset({"broken_ledger"})
"""Scenarios that end with a ledger that somebody changed; every other ledger is judged again, record by record."""

ENDS_IN_AGREEMENT = frozenset(
    {"day_rename_a_model", "day_restore_a_backup", "renamed_view_and_seed", "orphans", "materialization_changes", "killed_after_commit"}
)
"""Scenarios with everything that moves heads and receipts, after which `audit verify` must find nothing."""

SCENARIOS = sorted((Path(__file__).parents[2] / "specs" / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_scenario(path: Path, tmp_path: Path) -> None:
    told = scenario.read(path)
    stage = Stage(told, tmp_path)
    for number, step in enumerate(told.steps, 1):
        expect.play(stage, step, f"{path.stem}, step {number}: {step.say or step.run or ''}")
    for ledger in sorted(tmp_path.rglob("ledger")):
        if path.stem not in SPOILS_ITS_LEDGER and ledger.is_dir() and any(ledger.glob("0*.jsonl*")):
            assert replay_at(ledger).flaws == (), f"{path.stem}: what the product wrote does not replay"

    if path.stem in ENDS_IN_AGREEMENT:
        assert main(["audit", "verify", "--project", str(tmp_path), "--json"]) == 0, "ledger and warehouse do not agree"


def test_there_are_enough_of_them_and_each_says_why() -> None:
    told = [scenario.read(path) for path in SCENARIOS]
    assert len(told) >= 80
    assert all(one.why for one in told)
    titles = [one.title for one in told]
    assert len(set(titles)) == len(titles)


def test_a_misspelt_expectation_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "typo.toml"
    path.write_text('title = "t"\nwhy = "w"\n[files]\n[[steps]]\nrun = "status"\nexti = 3\n')
    with pytest.raises(ValueError, match="exti"):
        scenario.read(path)


def test_a_step_with_two_acts_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text('title = "t"\nwhy = "w"\n[files]\n[[steps]]\nrun = "status"\nsql = "SELECT 1"\n')
    with pytest.raises(ValueError, match="several acts"):
        scenario.read(path)


def test_a_refusal_must_be_named(tmp_path: Path) -> None:
    path = tmp_path / "unnamed.toml"
    path.write_text('title = "t"\nwhy = "w"\n[files]\n[[steps]]\nrun = "status"\nexit = 3\n')
    with pytest.raises(ValueError, match="without saying how"):
        scenario.read(path)
