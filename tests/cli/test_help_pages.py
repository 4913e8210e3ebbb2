"""Pages of help that are kept are what the command line would lay out. `python -m interlock.engine.cli.help_pages` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine.cli import help_pages, main


def laid_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with monkeypatch.context() as without:
        without.setattr(help_pages, "FOLDER", "/nowhere")
        assert main(words) == 0
    return capsys.readouterr().out


def test_every_command_has_its_page_as_it_is_laid_out_now() -> None:
    kept = {path.stem: path.read_text(encoding="utf-8") for path in Path(help_pages.FOLDER).glob("*.txt")}
    assert kept == help_pages.made()


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["run", "--help"], ["audit", "log", "-h"], ["ledger", "--help"]], ids=" ".join)
@pytest.mark.parametrize("columns", ["80", "81", "200", "", "many"])
def test_a_page_is_what_would_be_laid_out(
    words: list[str], columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert help_pages.page_of(words) is not None
    assert main(words) == 0
    assert capsys.readouterr().out == laid_out(monkeypatch, capsys, *words)


def test_a_narrow_terminal_has_it_laid_out_for_itself(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["run", "--help"]) == 0
    said = capsys.readouterr().out
    assert said != help_pages.page_of(["run", "--help"])
    assert max(map(len, said.splitlines())) < 80


@pytest.mark.parametrize("words", [["runs", "--help"], ["_", "--help"], ["../help/run", "--help"], ["run", "--json", "--help"], ["run"]])
def test_what_is_no_command_with_help_has_no_page(words: list[str]) -> None:
    assert help_pages.page_of(words) is None
