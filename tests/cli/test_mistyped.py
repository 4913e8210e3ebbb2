"""What people mistype is told with what they meant: the remedy can be typed as it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

MISTYPED = {
    "run -select x": "did you mean `--select`?",
    "run -target dev": "did you mean `--target`?",
    "audit log -limit=3": "did you mean `--limit`?",
    "--target dev run": "options stand behind the command: `interlock run --target …`",
    "--json status": "options stand behind the command: `interlock status --json …`",
    "run --select": "`interlock run --help` shows what it takes",
    "run --bogus": "`interlock run --help` shows what it takes",
    "--bogus": "`interlock --help` shows what it takes",
}


@pytest.mark.parametrize("line", MISTYPED)
def test_an_option_that_is_written_otherwise_is_told_as_it_is_written_here(line: str, interlock_: Run) -> None:
    said = interlock_(*line.split())
    assert said.exit == 2
    assert MISTYPED[line] in said.out + said.err


FILES = {
    "interlock.toml": '[project]\nid = "7f3a1c9e5b2d4f60"\nname = "shop"\ndefault_target = "dev"\n'
    '[targets.dev]\ntype = "duckdb"\npath = "shop.duckdb"\ncreate = true\n',
    "models/marts/fct_orders.sql": "SELECT 1 AS id",
    "models/marts/fct_orders.toml": 'materialized = "table"\n',
}
NEAR = {
    "run --force fct_order": ("P422", "did you mean `fct_orders`?"),
    "run --force zzz": ("P422", "see `interlock ls`"),
    "ls --select path:marts": ("S114", "did you mean `path:models/marts`?"),
    "ls --select path:marts/fct_orders.sql": ("S114", "did you mean `path:models/marts/fct_orders.sql`?"),
}


@pytest.mark.parametrize("line", NEAR)
def test_a_name_that_is_not_there_is_told_with_the_nearest(
    line: str, interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = interlock_(*line.split())
    code, remedy = NEAR[line]
    assert said.exit == 3
    assert f"[{code}]" in said.err
    assert remedy in said.err


def test_a_target_with_a_mistake_is_not_called_unknown(interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text.replace('"duckdb"', '"duck"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = interlock_("compile")
    assert said.exit == 3
    assert "did you mean `duckdb`?" in said.err
    assert "S110" not in said.err


def test_a_rule_of_a_key_is_told_at_its_line_for_people_and_for_programs(
    interlock_: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise = 'materialized = "table"\n\n[contract.columns.id]\ntype = "DATE"\n'
    for name, text in (FILES | {"models/marts/fct_orders.toml": promise}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert " --> models/marts/fct_orders.toml:4:1  (contract.columns.id.type)\n" in interlock_("compile").err
    (finding,) = json.loads(interlock_("compile", "--json").out)["findings"]
    assert (finding["at"]["line"], finding["at"]["excerpt"]) == (4, 'type = "DATE"')
    assert "file=models/marts/fct_orders.toml,line=4,col=1" in interlock_("compile", "--format", "github").out
