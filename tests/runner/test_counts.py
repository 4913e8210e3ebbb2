"""What a model costs in steps that prove something, counted. No transaction that is shared saves one of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from interlock.engine import faults
from interlock.engine.cli import main
from interlock.engine.runner import carry
from interlock.machines.model_run import ModelRun
from interlock.machines.permits import CommitPermit

TOML = """[project]
id = "00000000000000000002"
name = "counted"
default_target = "dev"

[targets.dev]
type = "duckdb"
path = "counted.duckdb"
schema = "main"
create = true
threads = 1
"""
MODELS = 12
"""Eight that read nothing of ours, and four that read one of these each: two groups where eight may share."""
CHECKED = ("m0", "m3", "m9")
EVENTS = {"verify": 3, "bootstrap": 3, "commit": 8, "checkpoint": 1}
"""Each event of a model, once, and the verdicts that its record holds. Guards of sources are asked where a source promises something."""


class Counted:
    """A run, and everything in it that was counted."""

    def __init__(self, root: Path, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
        (root / "models").mkdir(parents=True)
        (root / "interlock.toml").write_text(TOML)
        for number in range(MODELS):
            source = f"m{number - 8}" if number >= 8 else f"range({number + 2}) t(id)"
            (root / "models" / f"m{number}.sql").write_text(f"select id from {source}\n")
            check = '\n[[checks]]\nunique = ["id"]\n' if f"m{number}" in CHECKED else ""
            (root / "models" / f"m{number}.toml").write_text(f'materialized = "{"view" if number % 3 == 1 else "table"}"\n{check}')
        self.permits: list[CommitPermit] = []
        asked = ModelRun.publication_is_permitted

        def counting(machine: ModelRun, body: Any) -> Any:
            answer = asked(machine, body)
            assert isinstance(answer, CommitPermit)
            self.permits.append(answer)
            return answer

        monkeypatch.setattr(carry, "TOGETHER_MAX", together)
        with monkeypatch.context() as patch, faults.recorded() as visits:
            patch.setattr(ModelRun, "publication_is_permitted", counting)
            assert main(["run", "--threads", "1", "--json", "--project", str(root)]) == 0
        self.visits, self.points = visits, Counter(visits)
        (path,) = root.glob("counted.duckdb.interlock/*/ledger/*.jsonl")
        self.records = [json.loads(line)["record"] for line in path.read_text().splitlines()]
        with duckdb.connect(str(root / "counted.duckdb"), read_only=True) as connection:
            self.receipts = dict(connection.execute("select model, receipt from interlock.receipts").fetchall())
            self.heads = dict(connection.execute("select model, receipt from interlock.heads").fetchall())
            self.bodies = [json.loads(body) for (body,) in connection.execute("select body from interlock.receipts").fetchall()]
            self.comments = connection.execute(
                "select count(*) from (select comment from duckdb_tables() union all select comment from duckdb_views()) "
                "where comment like '%[interlock:%'"
            ).fetchall()


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(tmp_path / "shared", 8, monkeypatch)


def test_every_model_has_every_step_where_transactions_are_shared(shared: Counted) -> None:
    of_models = [record for record in shared.records if record["machine"] == "model_run"]
    assert Counter(record["event"] for record in of_models) == dict.fromkeys(EVENTS, MODELS)
    assert {(record["event"], len(record["verdicts"])) for record in of_models} == set(EVENTS.items())
    assert all(set(verdict) == {"guard"} for record in of_models for verdict in record["verdicts"]), "each of them holds"
    assert len(shared.receipts) == MODELS
    assert shared.heads == shared.receipts, "a head, moved once, for each receipt"
    assert sorted(permit.receipt for permit in shared.permits) == sorted(shared.receipts.values()), "a permit for each, and no other"
    assert shared.comments == [(MODELS,)], "a token at each"
    assert sum(len(body["verdicts"]) for body in shared.bodies) == len(CHECKED)
    assert all(body["shape"] and (body["kind"] == "view") == (body["fingerprint"] is None) for body in shared.bodies), "each was looked at"


def test_what_is_shared_is_paid_once_for_each_transaction(shared: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Counted(tmp_path / "alone", 1, monkeypatch)
    assert [shared.points[f"warehouse.{role}.after"] for role in ("begin", "read_heads", "receipts", "fences", "commit")] == [2] * 5
    assert shared.points["warehouse.alive.before"] == 2
    assert [alone.points[f"warehouse.{role}.after"] for role in ("begin", "read_heads", "receipt", "fence", "commit")] == [MODELS] * 5
    for role in ("create", "look", "comment"):
        assert shared.points[f"warehouse.{role}.after"] == alone.points[f"warehouse.{role}.after"], "no statement about rows is saved"
    assert len(shared.records) == len(alone.records)
    assert alone.points["ledger.fsync.after"] - shared.points["ledger.fsync.after"] == MODELS - 2
    assert shared.points["ledger.fsync.after"] == FSYNCS + 2


FSYNCS = 2
"""Beside those before first writes: before the run's transactions begin, and when it closes."""


@pytest.mark.parametrize("together", [1, 8])
def test_all_bootstrap_records_of_a_transaction_are_on_disk_before_it_begins(
    together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(tmp_path / "p", together, monkeypatch)
    for at, point in enumerate(counted.visits):
        if point == "warehouse.begin.before":
            written = max(place for place in range(at) if counted.visits[place] == "ledger.write.after")
            synced = max(place for place in range(at) if counted.visits[place] == "ledger.fsync.after")
            assert synced > written
