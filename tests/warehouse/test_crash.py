"""A process that dies leaves all of a model or nothing of it, and the next one can tell which."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interlock.engine import faults
from interlock.engine.warehouse.duckdb.quoting import relation

from .conftest import PROJECT, Shop, commit_permit, statement, with_receipt, write_permit

CHILD = """
import sys
from pathlib import Path
from tests.warehouse.conftest import Shop
from tests.warehouse.test_crash import write_one
write_one(Shop(Path(sys.argv[1])))
"""


def write_one(shop: Shop) -> None:
    session = shop.prepared("m")
    create = statement(f"CREATE TABLE {relation('marts', 'm')} AS SELECT * FROM range(1000) t(i)")
    transaction = session.begin(write_permit(create))
    transaction.run(create)
    with_receipt(transaction)
    transaction.commit(commit_permit())
    shop.close()


def points(root: Path) -> list[str]:
    with faults.recorded() as visits:
        write_one(Shop(root))
    return [f"{name}:{visits[: place + 1].count(name)}" for place, name in enumerate(visits)]


def test_a_kill_anywhere_leaves_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "clean").mkdir()
    swept = points(tmp_path / "clean")
    assert "warehouse.commit.before:1" in swept
    for number, point in enumerate(swept):
        shop = Shop(tmp_path / str(number))
        shop.root.mkdir()
        environment = {**os.environ, faults.VARIABLE: f"{point}:kill", "PYTHONPATH": os.pathsep.join(sys.path)}
        ended = subprocess.run([sys.executable, "-c", CHILD, str(shop.root)], env=environment, capture_output=True, check=False)
        assert ended.returncode == -signal.SIGKILL, (point, ended.stderr)
        if point == "warehouse.attach.before:1":
            assert not shop.location.exists()
            continue
        reader = shop.reader()
        heads, catalog = reader.heads(PROJECT), reader.catalog()
        written = bool(heads) and heads[0].receipt == "rec1"
        assert written == reader.receipt_exists(PROJECT), point
        assert written == (catalog.find("marts", "m") is not None), point
        assert written == (point == "warehouse.commit.after:1"), point
        shop.close()


@pytest.mark.parametrize("threads", [4])
def test_workers_side_by_side_lose_nothing(shop: Shop, threads: int) -> None:
    names = [f"m{number}" for number in range(40)]
    session = shop.prepared(*names)

    def build(name: str) -> list[tuple[int]]:
        create = statement(f"CREATE TABLE {relation('marts', name)} AS SELECT * FROM range(100) t(i)")
        transaction = session.begin(write_permit(create, model=name, anchor=name))
        transaction.run(create)
        assert with_receipt(transaction, f"rec-{name}", name) == 1
        transaction.commit(commit_permit(f"rec-{name}", name))
        reader = session.reader()
        try:
            assert f"rec-{name}" in reader.receipts(PROJECT, [f"rec-{name}"])
            return reader.query(f"SELECT count(*) FROM {relation('marts', name)}")
        finally:
            reader.close()

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(build, names)) == [[(100,)]] * len(names)
    assert {head.receipt for head in session.reader().heads(PROJECT)} == {f"rec-{name}" for name in names}
