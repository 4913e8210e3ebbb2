"""A small project that was run three times, with a refusal in the last; and the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.engine.cli import main
from interlock.engine.ledger.places import segments_directory

FILES = {
    "interlock.toml": '[project]\nname = "books"\nid = "b00c5b00c5b00c50"\n\n[targets.dev]\ntype = "duckdb"\npath = "books.duckdb"\ncreate = true\n',
    "sources.toml": (
        '[sources."raw.sales"]\npath = "sales.csv"\nformat = "csv"\n'
        "options = { delim = ',', quote = '\"', escape = '\"', header = true }\n"
        '[sources."raw.sales".columns]\nid = { type = "BIGINT" }\nday = { type = "DATE" }\namount = { type = "BIGINT" }\n'
    ),
    "models/stg_sales.sql": "select id, day, amount from raw.sales\n",
    "models/stg_sales.toml": 'materialized = "view"\n',
    "models/sales.sql": "select id, cast(day as date) as day, amount from stg_sales\n",
    "models/sales.toml": (
        'materialized = "incremental"\nstrategy = "append"\nwatermark = "id"\n\n'
        '[[checks]]\nname = "amounts_are_positive"\nexpression = "amount > 0"\n'
    ),
    "models/by_day.toml": 'materialized = "table"\n',
    "models/by_day.sql": "select day, sum(amount) as amount from sales group by day\n",
    "sales.csv": "id,day,amount\n1,2026-03-02,10\n2,2026-03-02,20\n",
}
MORE = ("3,2026-03-03,30\n", "4,2026-03-04,-40\n")

Command = Callable[..., dict[str, Any]]


def run(*words: str, exits: int | None = None) -> int:
    code = main([*words, "--json"])
    assert exits is None or code == exits, (words, code)
    return code


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("books")
    for path, content in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    at = ["--project", str(root), "--as-of"]
    run("run", *at, "2026-03-02T12:00:00Z", exits=0)
    for day, more in enumerate(MORE, start=3):
        with (root / "sales.csv").open("a") as file:
            file.write(more)
        run("run", *at, f"2026-03-0{day}T12:00:00Z", exits=0 if day == 3 else 3)
    return root


@pytest.fixture
def books(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    shutil.copytree(made, tmp_path / "books")
    return tmp_path / "books"


@pytest.fixture
def interlock(capsys: pytest.CaptureFixture[str]) -> Command:
    def command(*words: str, exits: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        code = main([*words, "--json"])
        out, err = capsys.readouterr()
        assert code == exits, (code, out[-3000:] + err[-3000:])
        answer: dict[str, Any] = json.loads(out)
        return answer

    return command


def segment_of(books: Path) -> Path:
    (found,) = segments_directory(books / "books.duckdb.interlock" / "b00c5b00c5b00c50").glob("*.jsonl")
    return found
