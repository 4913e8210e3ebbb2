"""A database in a directory of its own, and permits as a machine would give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.duckdb.reader import DuckDBReader
from interlock.engine.warehouse.duckdb.session import DuckDBSession, open_reader, open_session
from interlock.engine.warehouse.duckdb.transaction import DuckDBTransaction
from interlock.engine.warehouse.protocol import Statement
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines import permits

PROJECT = "p1"


class Shop:
    """A target, and ways to open it."""

    def __init__(self, root: Path, name: str = "shop.duckdb") -> None:
        self.root = root
        self.location = root / name
        self.target = TargetConfig(name="dev", type="duckdb", path=name, location=self.location, create=True)
        self._opened: list[DuckDBSession | DuckDBReader] = []

    def session(self, **options: Any) -> DuckDBSession:
        session = open_session(self.target, root=self.root, **{"create": True, **options})
        self._opened.append(session)
        return session

    def reader(self, **options: Any) -> DuckDBReader:
        reader = open_reader(self.target, root=self.root, **options)
        self._opened.append(reader)
        return reader

    def prepared(self, *models: str, **options: Any) -> DuckDBSession:
        session = self.session(**options)
        act(session, control.genesis(project=PROJECT, warehouse="w1", ledger="l1", since="2024-01-01T00:00:00.000000Z"))
        prepare(session, control.prepare(project=PROJECT, schemas=["main", "marts"], models=models))
        return session

    def sql(self, *texts: str) -> list[Any]:
        """As another program would, while we do not have it open."""
        with duckdb.connect(str(self.location)) as connection:
            for text in texts:
                answer = connection.execute(text)
            return answer.fetchall()

    def close(self) -> None:
        for opened in self._opened:
            opened.close()
        self._opened.clear()


def statement(text: str, role: str = "create") -> Statement:
    return Statement(role=role, text=text)


def act(session: DuckDBSession, bound: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
    allowed = frozenset(each.digest for each, _ in bound)
    session.act(permits.ActPermit(act="genesis", record="0" * 64, statements=allowed, key=permits._KEY), bound)


def prepare(session: DuckDBSession, bound: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
    allowed = frozenset(each.digest for each, _ in bound)
    session.prepare(permits.PreparePermit(run="r1", statements=allowed, key=permits._KEY), bound)


def write_permit(*statements: Statement, model: str = "m", anchor: str = "a1") -> permits.WritePermit:
    allowed = frozenset(each.digest for each in (*statements, control.INSERT_RECEIPT, control.FENCE, control.READ_HEADS))
    return permits.WritePermit(model=model, anchor=anchor, plan="plan", statements=allowed, key=permits._KEY)


def commit_permit(receipt: str = "rec1", anchor: str = "a1") -> permits.CommitPermit:
    return permits.CommitPermit(anchor=anchor, receipt=receipt, key=permits._KEY)


def with_receipt(transaction: DuckDBTransaction, receipt: str = "rec1", model: str = "m", expected: str | None = None) -> int:
    """Insert a receipt and move the head; the rows that the fence touched."""
    row = {"receipt": receipt, "project": PROJECT, "model": model, "run": "r1", "attempt": 1, "previous": expected, "body": "{}"}
    transaction.run(control.INSERT_RECEIPT, row)
    head = {"project": PROJECT, "model": model, "receipt": receipt, "token": "t", "generation": "g", "expected": expected}
    return control.rows_touched(transaction.run(control.FENCE, head))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path)
    yield opened
    opened.close()
