"""A share of the crash sweep. All of it: `PYTHONPATH=.src:. python -m tests.faults.sweep`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.faults.sweep import Case, Sweep, again, during_recovery

SHARE = 131
"""Every so many cases are played here. It shares no factor with the four variants of a visit, so that all of them come up."""
DURING_RECOVERY = 5
RECOVERIES = 997
SEEDS = 3


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sweep]:
    made = Sweep(tmp_path_factory.mktemp("sweep"))
    try:
        yield made
    finally:
        made.close()


def test_a_crash_anywhere_loses_and_repeats_nothing(sweep: Sweep) -> None:
    played = list(sweep.cases())[SHARE // 2 :: SHARE]
    assert {(case.how, case.by) for case in played} == {("kill", "run"), ("kill", "resume"), ("raise", "run"), ("raise", "resume")}
    for case in played:
        sweep.play(case)


def test_a_crash_during_recovery_loses_and_repeats_nothing(sweep: Sweep) -> None:
    for case in again(sweep, seed=13, count=DURING_RECOVERY):
        sweep.play(case)


def test_a_crash_of_every_recovery_twice_in_a_row_is_swept(sweep: Sweep) -> None:
    cases = list(during_recovery(sweep))
    assert {(case.begin, case.by) for case in cases} == {("first", "run"), ("first", "resume"), ("later", "run"), ("later", "resume")}
    for case in cases[RECOVERIES // 2 :: RECOVERIES]:
        sweep.play(case)


@pytest.mark.parametrize("begin", ["first", "later"])
def test_several_threads_in_any_order_lose_and_repeat_nothing(sweep: Sweep, begin: str) -> None:
    for seed in range(SEEDS):
        sweep.shuffled(begin, seed, threads=4)


def test_every_strategy_and_every_step_of_a_run_is_swept(sweep: Sweep) -> None:
    points = {visit.partition(":")[0] for visits in sweep.visits.values() for visit in visits}
    for step in ("genesis", "prepare", "seal"):
        assert f"warehouse.{step}.commit.after" in points
    roles = {point.split(".")[1] for point in points if point.startswith("warehouse.")}
    assert {"create", "insert", "insert_ties", "merge", "delete", "close", "drop", "commit", "attach"} <= roles
    assert {"receipt", "fence", "receipts", "fences"} <= roles, "of models that are alone, and of models that share a transaction"
    assert {"ledger.write.after", "ledger.fsync.before", "file.rename.after"} <= points


@pytest.mark.parametrize("fault", ["warehouse.commit.after:1", "warehouse.commit.before:3"])
def test_what_a_crash_leaves_is_settled_once(sweep: Sweep, fault: str) -> None:
    sweep.play(Case("later", fault, "kill", "resume", (fault, "ledger.write.after:2")))
