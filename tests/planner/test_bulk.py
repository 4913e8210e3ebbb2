"""How often a plan asks the warehouse does not grow with the models that it leaves alone."""

from pathlib import Path

import duckdb
import pytest

from interlock.engine import api
from interlock.engine.planner import fingerprints
from interlock.engine.results import PlanResult
from interlock.engine.warehouse.duckdb.reader import DuckDBReader

CONFIG = '[project]\nid = "bulk"\nname = "bulk"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n'
SOURCES = '[sources."raw.rows"]\nfingerprint = "column"\nfingerprint_column = "id"\n[sources."raw.rows".columns]\nid = "BIGINT"\nhappened = "TIMESTAMP"\n'
SIDECAR = 'materialized = "incremental"\nstrategy = "append"\nwatermark = "happened"\nuntil = "none"\n'


def made(root: Path, models: int) -> None:
    (root / "models").mkdir(parents=True)
    (root / "interlock.toml").write_text(CONFIG, encoding="utf-8")
    (root / "sources.toml").write_text(SOURCES, encoding="utf-8")
    for number in range(models):
        (root / "models" / f"m{number}.sql").write_text(f"SELECT id + {number} AS id, happened FROM raw.rows", encoding="utf-8")
        (root / "models" / f"m{number}.toml").write_text(SIDECAR, encoding="utf-8")
    with duckdb.connect(str(root / "dev.duckdb")) as connection:
        connection.execute("CREATE SCHEMA raw; CREATE TABLE raw.rows AS SELECT 1::BIGINT AS id, TIMESTAMP '2024-01-01' AS happened")


def asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], PlanResult]:
    questions: list[str] = []
    real = DuckDBReader._read  # the one way to the warehouse

    def counted(self: DuckDBReader, *arguments: object, **named: object) -> object:
        questions.append("asked")
        return real(self, *arguments, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(DuckDBReader, "_read", counted)
        return questions, api.plan(api.open_context(root, target="dev", environment={}), save=False)


def test_a_plan_without_work_asks_as_often_for_twenty_models_as_for_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for models in (2, 20):
        root = tmp_path / str(models)
        made(root, models)
        api.run(api.open_context(root, target="dev", environment={}))
        questions, result = asked(root, monkeypatch)
        assert result.outcome == "nothing"
        counts.append(len(questions))
    assert counts[0] == counts[1] > 0


def test_what_is_extended_is_asked_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "x", 2)
    api.run(api.open_context(tmp_path / "x", target="dev", environment={}))
    with duckdb.connect(str(tmp_path / "x" / "dev.duckdb")) as connection:
        connection.execute("INSERT INTO raw.rows VALUES (2, TIMESTAMP '2024-01-02')")
    explained: list[str] = []
    real = DuckDBReader.explain
    monkeypatch.setattr(DuckDBReader, "explain", lambda self, text: [explained.append(text), real(self, text)][1])
    asked(tmp_path / "x", monkeypatch)
    assert len(explained) == 2


def test_sources_are_asked_in_lots_and_each_has_its_own_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "interlock.toml").write_text(CONFIG, encoding="utf-8")
    tables = [
        f'[sources."raw.s{number}"]\nfingerprint = "content"\n[sources."raw.s{number}".columns]\nid = "BIGINT"\n' for number in range(5)
    ]
    (tmp_path / "sources.toml").write_text("".join(tables), encoding="utf-8")
    for number in range(5):
        (tmp_path / "models" / f"m{number}.sql").write_text(f"SELECT id FROM raw.s{number}", encoding="utf-8")
        (tmp_path / "models" / f"m{number}.toml").write_text('materialized = "table"\n', encoding="utf-8")
    with duckdb.connect(str(tmp_path / "dev.duckdb")) as connection:
        connection.execute("CREATE SCHEMA raw")
        for number in range(5):
            connection.execute(f"CREATE TABLE raw.s{number} AS SELECT {number}::BIGINT AS id")
    api.run(api.open_context(tmp_path, target="dev", environment={}))
    with duckdb.connect(str(tmp_path / "dev.duckdb")) as connection:
        connection.execute("INSERT INTO raw.s3 VALUES (9)")
    monkeypatch.setattr(fingerprints, "ASKED_AT_ONCE", 2)
    result = asked(tmp_path, monkeypatch)[1]
    assert result.body is not None
    assert [item.model for item in result.body.items if item.action != "no_op"] == ["m3"]
