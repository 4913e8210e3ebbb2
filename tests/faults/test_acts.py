"""A kill in the middle of an act of a person: the act can be given again, and then everything is as after an undisturbed one.

`INTERLOCK_EXAMPLES=1000` stops at every visit of every point; a usual run at a few of each act.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults import world
from tests.faults.sweep import Server
from tests.faults.test_histories import FILES, NEWS, rows

EXAMPLES = int(os.environ.get("INTERLOCK_EXAMPLES", "3"))
BESIDE = "world.duckdb.interlock"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("acts") / "shop"
    world.lay(root, FILES)
    assert world.command(root, "run").exit == 0
    world.lay(root, {"landing/b.csv": NEWS})
    return root


def as_it_is(root: Path) -> None:
    """Ledger and warehouse agree."""


def with_earlier_receipts(root: Path) -> None:
    assert world.command(root, "run").exit == 0
    assert rows(root, "SELECT count(*) > count(DISTINCT model) FROM interlock.receipts") == [(True,)]


def without_ledger(root: Path) -> None:
    shutil.rmtree(root / BESIDE)


def with_a_broken_ledger(root: Path) -> None:
    (segment,) = (root / BESIDE / world.PROJECT / "ledger").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"run"', b'"ran"', 1))


def with_a_changed_head(root: Path) -> None:
    rows(root, "UPDATE interlock.heads SET token = repeat('0', 64), generation = NULL")


def with_the_ledger_elsewhere(root: Path) -> None:
    (root / BESIDE).rename(root / "old")


ACTS: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "archive": (as_it_is, ("ledger", "archive", "--yes")),
    "attach": (with_the_ledger_elsewhere, ("ledger", "attach", "old", "--yes")),
    "accept": (without_ledger, ("ledger", "accept-warehouse", "--yes")),
    "accept a changed head": (with_a_changed_head, ("ledger", "accept-warehouse", "--yes")),
    "accept what is broken": (with_a_broken_ledger, ("ledger", "accept-warehouse", "--yes")),
    "compact": (with_earlier_receipts, ("receipts", "compact", "--yes")),
    "reset": (as_it_is, ("reset", "--target", "dev", "--yes")),
}


@pytest.mark.parametrize("name", ACTS)
def test_an_act_that_is_killed_can_be_given_again(name: str, built: Path, tmp_path: Path, server: Server) -> None:
    before, words = ACTS[name]
    template = tmp_path / "template"
    shutil.copytree(built, template)
    before(template)
    visits = world.visits(template, tmp_path / "clean", *words)
    assert visits
    step = max(1, len(visits) // EXAMPLES)
    for visit in visits[step // 2 :: step]:
        root = tmp_path / "case"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        assert server.give(root, *words, fault=f"{visit}:kill") == -9, visit
        again = world.command(root, *words)
        assert again.exit == 0 or "not older" in again.out, (visit, again.brief)
        answer = world.command(root, "run")
        assert answer.exit == 0, (visit, answer.brief)
        world.demand_sound(root)
        assert rows(root, "SELECT count(*), count(DISTINCT id) FROM main.a") == [(4, 4)], visit
        assert rows(root, "SELECT n FROM main.b") == [(4,)], visit
