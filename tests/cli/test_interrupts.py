"""Ctrl-C and a polite kill, at any moment, are an interrupt: exit 130, with words and without a traceback."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.engine import api
from interlock.engine.cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_statement_that_was_told_to_stop_is_no_bug(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*_: object, **__: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        message = "Query interrupted"
        raise RuntimeError(message)  # what DuckDB makes of it

    monkeypatch.setattr(api, "open_context", told)
    # Where tests are begun in the background, the shell has it ignored; a command then ignores it too.
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}[number]
    before = signal.signal(number, usual)
    try:
        assert main(["status"]) == 130
        assert signal.getsignal(number) == usual
    finally:
        signal.signal(number, before)
    said = capsys.readouterr().err
    assert "G562" in said
    assert "Traceback" not in said


def test_a_bug_is_a_bug_where_nobody_said_stop(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> None:
        message = "Query interrupted"
        raise RuntimeError(message)

    monkeypatch.setattr(api, "open_context", broken)
    assert main(["status"]) == 1
    assert "X901" in capsys.readouterr().err


def test_ctrl_c_while_modules_are_read_says_so() -> None:
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'interlock.engine.cli.invocation':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from interlock.engine.cli import main\n"
        "sys.exit(main(['status']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, encoding="utf-8", env={"PYTHONPATH": str(ROOT / ".src")}
    )
    assert done.returncode == 130
    assert done.stderr == "interrupted\n"
