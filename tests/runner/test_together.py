"""Small models that share a transaction: cheaper, and nothing else."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.engine import faults
from interlock.engine.cli import main
from interlock.engine.planner.plan import Item
from interlock.engine.runner import carry, schedule
from interlock.engine.warehouse.duckdb import parser

TOML = """[project]
id = "00000000000000000001"
name = "small"
default_target = "dev"

[targets.dev]
type = "duckdb"
path = "small.duckdb"
schema = "main"
create = true
threads = 1
"""
KINDS = ("table", "view", "check_fails", "raises", "warns")

parser.parse("select 1")
"""The parser raises Python's limit of recursion once; Hypothesis wants that to have been before it began."""

Records = dict[str, list[tuple[object, ...]]]


def make(root: Path, kinds: list[str]) -> None:
    """Every third model reads the one three before it, so that there are several steps of several models."""
    (root / "models").mkdir(parents=True)
    (root / "interlock.toml").write_text(TOML)
    for number, kind in enumerate(kinds):
        source = f"m{number - 3}" if number >= 3 and number % 3 == 0 else f"range({number + 2}) t(id)"
        value = "cast('no' || id as integer)" if kind == "raises" else "id"
        (root / "models" / f"m{number}.sql").write_text(f"select id, {value} as x from {source}\n")
        head = f'materialized = "{"view" if kind == "view" else "table"}"\n'
        check = {
            "check_fails": '\n[[checks]]\nexpression = "id < 0"\n',
            "warns": '\n[[checks]]\nexpression = "id < 0"\nseverity = "warn"\n',
        }
        (root / "models" / f"m{number}.toml").write_text(head + check.get(kind, ""))


def records(root: Path) -> Records:
    """What the ledger says of each attempt, but for times, digests and how often a write was tried."""
    found: Records = {}
    for path in sorted(root.glob("small.duckdb.interlock/*/ledger/*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)["record"]
            if record["machine"] == "model_run":
                verdicts = tuple((each["guard"], each.get("holds", "yes"), each.get("code", "")) for each in record["verdicts"])
                found.setdefault(record["subject"], []).append((record["event"], record["source"], record["target"], verdicts))
    return found


def rows(root: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every relation and what is in it, and the models of all receipts."""
    with duckdb.connect(str(root / "small.duckdb"), read_only=True) as connection:
        names = connection.execute("select table_name from information_schema.tables where table_schema = 'main' order by 1").fetchall()
        found = {name: connection.execute(f'select * from main."{name}" order by all').fetchall() for (name,) in names}
        found["receipts"] = connection.execute("select model, attempt from interlock.receipts order by all").fetchall()
    return found


def run(root: Path, together: int, monkeypatch: pytest.MonkeyPatch, threads: int = 1) -> int:
    monkeypatch.setattr(carry, "TOGETHER_MAX", together)
    return main(["run", "--threads", str(threads), "--json", "--project", str(root)])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=4, max_size=9), threads=st.sampled_from([1, 2]))
def test_sharing_a_transaction_changes_neither_ledger_nor_tables(kinds: list[str], threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for together in (1, 8):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), kinds)
            exit_code = run(Path(folder), together, monkeypatch, threads)
            seen.append((exit_code, records(Path(folder)), rows(Path(folder))))
    assert seen[0] == seen[1]


def test_models_that_are_ready_together_are_committed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, ["table", "view", "warns", "table", "table"])
    with faults.recorded() as visits:
        assert run(tmp_path, 8, monkeypatch) == 0
    assert visits.count("warehouse.commit.after") == 2  # m3 reads m0
    assert [model for model, _ in rows(tmp_path)["receipts"]] == ["m0", "m1", "m2", "m3", "m4"]


def test_one_that_fails_takes_no_other_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, ["table", "raises", "check_fails", "table"])
    assert run(tmp_path, 8, monkeypatch) == 3
    assert [model for model, _ in rows(tmp_path)["receipts"]] == ["m0", "m3"]
    ends = {subject: steps[-1][2] for subject, steps in records(tmp_path).items()}
    assert ends == {"m0#1": "checkpointed", "m1#1": "refused", "m2#1": "refused", "m3#1": "checkpointed"}


def test_an_unknown_commit_is_settled_receipt_by_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, ["table", "view", "table"])
    with faults.armed("warehouse.commit.after", error=duckdb.FatalException("the answer was lost")):
        assert run(tmp_path, 8, monkeypatch) == 0
    assert {steps[-1][2] for steps in records(tmp_path).values()} == {"checkpointed"}


@pytest.mark.parametrize(
    "point",
    [
        "warehouse.commit.before",
        "warehouse.commit.after",
        "warehouse.receipts.before",
        "warehouse.receipts.after",
        "warehouse.fences.before",
        "warehouse.fences.after",
        "warehouse.receipt.after",
        "warehouse.fence.before",
    ],
)
def test_a_stop_in_the_middle_loses_and_repeats_nothing(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, ["table", "view", "table", "table"])
    with faults.armed(point):
        assert run(tmp_path, 8, monkeypatch) == 1
    assert run(tmp_path, 8, monkeypatch) == 0
    after = rows(tmp_path)
    assert len({model for model, _ in after["receipts"]}) == len(after["receipts"]) == 4
    assert [after[f"m{number}"] == [(id_, id_) for id_ in range(number + 2)] for number in range(3)] == [True] * 3
    assert after["m3"] == after["m0"]


INCREMENTAL = 'materialized = "incremental"\nwatermark = "ts"\n'
STRATEGIES = {
    "append": INCREMENTAL + 'strategy = "append"\n',
    "merge": INCREMENTAL + 'strategy = "merge"\nunique_key = ["id"]\nlookback = "30 days"\n',
    "partition": INCREMENTAL + 'strategy = "partition"\npartition = "day"\nlookback = "1 day"\n',
    "snapshot": 'materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "updated_at"\nupdated_at = "ts"\n',
    "fails_later": INCREMENTAL + 'strategy = "append"\n\n[[checks]]\nexpression = "id < 6"\n',
}
SOURCE = '[sources."raw.events"]\nschema = "raw"\nidentifier = "events"\n'


def fill(root: Path, first: int, last: int) -> None:
    with duckdb.connect(str(root / "small.duckdb")) as connection:
        connection.execute("create schema if not exists raw")
        connection.execute("create table if not exists raw.events (id bigint, ts timestamp)")
        connection.execute(f"insert into raw.events select i, timestamp '2024-01-01' + to_hours(7 * i) from range({first}, {last}) t(i)")


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(sorted(STRATEGIES)), min_size=3, max_size=6), threads=st.sampled_from([1, 2]))
def test_extending_in_a_shared_transaction_changes_neither_ledger_nor_tables(
    kinds: list[str], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, commits = [], []
    for together in (1, 8):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "models").mkdir()
            (root / "interlock.toml").write_text(TOML)
            (root / "sources.toml").write_text(SOURCE)
            for number, kind in enumerate(kinds):
                (root / "models" / f"m{number}.sql").write_text("select id, ts from raw.events\n")
                (root / "models" / f"m{number}.toml").write_text(STRATEGIES[kind])
            fill(root, 0, 5)
            assert run(root, together, monkeypatch, threads) == 0
            fill(root, 5, 9)
            with faults.recorded() as visits:
                exit_code = run(root, together, monkeypatch, threads)
            seen.append((exit_code, records(root), rows(root)))
            commits.append(visits.count("warehouse.commit.after"))
    assert seen[0] == seen[1]
    assert commits[1] < commits[0] or "fails_later" in kinds or threads > 1


@pytest.mark.parametrize("cores", [1, 2])
def test_no_more_workers_than_cores_are_at_small_models_and_large_ones_go_on_beside(
    cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, ["table"] * 6)
    for number in range(1, 6, 2):  # of a file nobody knows how many rows it has
        (tmp_path / "rows.csv").write_text("id\n1\n")
        (tmp_path / "sources.toml").write_text('[sources.rows]\npath = "rows.csv"\n[sources.rows.columns]\nid = "BIGINT"\n')
        (tmp_path / "models" / f"m{number}.sql").write_text("select id, id as x from rows\n")
    monkeypatch.setattr(schedule, "CORES", cores)
    carried = schedule._carry
    seen: list[tuple[int, bool]] = []

    def watched(work: schedule.Work, items: Sequence[Item]) -> None:
        with work.condition:
            seen.append((work.small, all(schedule.is_small(item, work.bench) for item in items)))
        carried(work, items)

    monkeypatch.setattr(schedule, "_carry", watched)
    assert run(tmp_path, 1, monkeypatch, threads=4) == 0
    assert sorted(small for _, small in seen) == [False] * 3 + [True] * 3
    assert max(count for count, _ in seen) <= cores
    assert [model for model, _ in rows(tmp_path)["receipts"]] == [f"m{number}" for number in range(6)]
