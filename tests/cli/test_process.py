"""As a process: what is imported, encodings, broken pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("duckdb", "sqlglot", "statemachine", "rich", "click", "pygments")


def interlock(
    *arguments: str, before: str = "", environment: dict[str, str] | None = None, **more: object
) -> subprocess.CompletedProcess[str]:
    code = f"import sys\n{before}\nfrom interlock.engine.cli import main\nsys.exit(main({list(arguments)!a}))"
    return python(code, environment=environment, **more)


def python(code: str, *, environment: dict[str, str] | None = None, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output="stdout" not in more,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".src"), **(environment or {})},
        encoding="utf-8",
        **more,
    )


def loaded(*arguments: str) -> set[str]:
    code = (
        "import sys, contextlib, io\nfrom interlock.engine.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n    main({list(arguments)!r})\n"
        "print('\\n'.join(sys.modules))"
    )
    return set(python(code).stdout.split())


def test_version_reads_nothing_but_the_version() -> None:
    modules = loaded("--version")
    assert {name for name in modules if name.startswith("interlock.")} == {
        "interlock.engine",
        "interlock.engine.cli",
        "interlock.engine.cli.entry",
        "interlock.engine.version",
    }
    assert not modules & {*HEAVY, "typer", "msgspec"}


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["ledger", "--help"]])
def test_help_loads_no_engine(arguments: list[str]) -> None:
    modules = loaded(*arguments)
    assert "interlock.engine.cli.help_pages" in modules
    assert not modules & {*HEAVY, "typer"}, "it is read from pages that are kept"
    assert not {
        name for name in modules if name.startswith(("interlock.engine.compiler", "interlock.engine.runner", "interlock.engine.ledger"))
    }


def test_text_is_utf_8_whatever_the_locale_says() -> None:
    ran = interlock("show", "é→日", "--json", environment={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, before=REFUSES)
    assert "é→日" in ran.stdout


REFUSES = """
import types, interlock.engine
from interlock.engine.diagnostics import Diagnostic, Refused
def refuse(*arguments, **named):
    raise Refused(Diagnostic(code="S100", summary="\\u00e9\\u2192\\u65e5"))
api = types.ModuleType("interlock.engine.api")
api.open_context = refuse
sys.modules["interlock.engine.api"] = interlock.engine.api = api
"""


def test_a_closed_pipe_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = interlock("show", "a", "--json", before=REFUSES, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (ran.returncode, ran.stderr) == (3, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_said() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ran = interlock("show", "a", "--json", before=REFUSES, stdout=full, stderr=subprocess.PIPE)
    assert ran.returncode == 3
    assert "could not be written" in ran.stderr


def test_closed_streams_do_not_matter() -> None:
    ran = interlock("show", "a", before="sys.stdout = sys.stderr = None" + REFUSES)
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", "")


def test_it_can_be_started_as_a_module() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "interlock.engine", "--version"],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".src")},
        encoding="utf-8",
    )
    assert (ran.returncode, ran.stdout) == (0, "interlock 0.1.0\n")


def test_shell_completion_knows_the_commands() -> None:
    environment = {"_INTERLOCK_COMPLETE": "complete_bash", "COMP_WORDS": "interlock st", "COMP_CWORD": "1"}
    assert interlock("--", environment=environment).stdout.split() == ["status"]
