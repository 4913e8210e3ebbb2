"""What a run rests on is taken away under its hands. It stops with a code; put back, the next run finds what committed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.faults import world
from tests.faults.test_histories import FILES, NEWS, demand, ended_well

from interlock.engine import faults

POINTS = (
    "warehouse.prepare.before:1",
    "warehouse.insert.after:1",
    "warehouse.commit.after:1",
    "warehouse.commit.after:2",
    "warehouse.seal.commit.before:1",
)
TAKEN = {"ledger": ("world.duckdb.interlock", 4, "K741"), "database": ("world.duckdb", 3, "W613")}


class Taking:
    """A fault device that moves something away at a visit."""

    def __init__(self, place: str, origin: Path, to: Path) -> None:
        name, _, nth = place.rpartition(":")
        self._name = name
        self._left = int(nth)
        self._origin = origin
        self._to = to

    def visit(self, name: str) -> None:
        self._left -= name == self._name
        if self._left == 0 and self._origin.exists() and not self._to.exists():
            self._origin.rename(self._to)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("taken") / "shop"
    world.lay(root, FILES)
    demand(world.command(root, "run"), 0)
    world.lay(root, {"landing/b.csv": NEWS})
    return root


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("what", TAKEN)
def test_a_run_stops_with_a_code_and_the_next_one_finds_what_committed(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, point: str
) -> None:
    root = tmp_path / "shop"
    shutil.copytree(built, root)
    if point.startswith("warehouse.prepare"):
        # A new model makes a run prepare.
        world.lay(root, {"models/c.sql": "SELECT 1 AS one"})
    name, code, refusal = TAKEN[what]
    with monkeypatch.context() as patch:
        patch.setattr(faults, "_device", Taking(point, root / name, tmp_path / "taken"))
        answer = world.command(root, "run")
    assert (tmp_path / "taken").exists(), "it was not come to"
    assert answer.exit == code, answer.brief
    assert f'"code":"{refusal}"' in answer.out
    demand(world.command(root, "run"), 4)
    if what == "ledger":
        # The lock's file is made anew wherever it is missing.
        shutil.rmtree(root / name, ignore_errors=True)
    (tmp_path / "taken").rename(root / name)
    demand(world.command(root, "run"), 0)
    ended_well(root)
