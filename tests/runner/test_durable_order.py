"""What must be on disk before what: seen in the order in which the fault points are passed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.engine import api, faults
from interlock.engine.results import ActResult

BEFORE_THE_FIRST_WRITE = "warehouse.read_heads.before"
"""The first statement of a model's transaction: whatever it writes comes after it."""


def visits_of_a_run(root: Path, *, fail_fast: bool) -> list[str]:
    api.init(root)
    for name in ("one", "two", "three"):
        (root / "models" / f"{name}.sql").write_text("SELECT 1 AS one", encoding="utf-8")
    with faults.recorded() as visits:
        found = api.run(api.open_context(root), threads=1, fail_fast=fail_fast)
    assert found.exit_code == 0
    return list(visits)


def unsynced(visits: list[str], upto: int) -> int:
    """Records written and not yet known to be on disk, just before a visit."""
    synced = max((place for place, name in enumerate(visits[:upto]) if name == "ledger.fsync.after"), default=-1)
    return sum(name == "ledger.write.after" for name in visits[synced + 1 : upto])


@pytest.mark.parametrize("fail_fast", [False, True], ids=["several models in a transaction", "each alone"])
def test_the_record_of_an_attempt_is_on_disk_before_its_first_write(tmp_path: Path, fail_fast: bool) -> None:
    visits = visits_of_a_run(tmp_path / "p", fail_fast=fail_fast)
    writing = [place for place, name in enumerate(visits) if name == BEFORE_THE_FIRST_WRITE]
    assert writing
    # Without --fail-fast some of them share a transaction, and with it none does.
    assert (len(writing) == visits.count("warehouse.commit.after") < visits.count("warehouse.create.after")) == (not fail_fast)
    assert [unsynced(visits, place) for place in writing] == [0] * len(writing)


def test_a_run_is_sealed_after_its_records_are_on_disk_and_ends_with_its_close_on_disk(tmp_path: Path) -> None:
    visits = visits_of_a_run(tmp_path / "p", fail_fast=False)
    assert unsynced(visits, visits.index("warehouse.seal.before")) == 0
    assert visits.index("warehouse.seal.before") < len(visits) - 1
    assert unsynced(visits, len(visits)) == 0


def lose_the_ledger(root: Path) -> None:
    (beside,) = root.glob("*.duckdb.interlock")
    shutil.rmtree(beside)


def as_it_is(root: Path) -> None:
    """Ledger and warehouse agree."""


ACTS: dict[str, tuple[Callable[[Path], None], Callable[[api.Context], ActResult]]] = {
    "reset": (as_it_is, lambda ctx: api.reset(ctx, confirm=lambda _: True, reason="")),
    "accept_warehouse": (lose_the_ledger, lambda ctx: api.accept_warehouse(ctx, confirm=lambda _: True, reason="")),
    "compact_receipts": (as_it_is, lambda ctx: api.compact_receipts(ctx, confirm=lambda _: True, reason="")),
}


@pytest.mark.parametrize("act", ACTS)
def test_the_record_of_an_act_is_on_disk_before_it_writes(tmp_path: Path, act: str) -> None:
    before, do = ACTS[act]
    root = tmp_path / "p"
    visits_of_a_run(root, fail_fast=False)
    (root / "models" / "one.sql").write_text("SELECT 2 AS one", encoding="utf-8")
    assert api.run(api.open_context(root)).exit_code == 0
    before(root)
    with faults.recorded() as visits:
        found = do(api.open_context(root, target="dev"))
    assert found.done == "yes"
    assert unsynced(visits, visits.index(f"warehouse.{act}.before")) == 0
    assert visits[: visits.index(f"warehouse.{act}.before")].count("ledger.write.after") > 0
