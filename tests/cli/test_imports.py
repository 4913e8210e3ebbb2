"""What a command imports beside Python's own: what it does not use would be waited for by everybody."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.engine.cli.invocation import invoke

PROGRAM = """
import contextlib, io, json, sys
before = set(sys.modules)
from interlock.engine.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main(sys.argv[1:])
print(json.dumps(sorted(set(sys.modules) - before)))
"""
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(Path(__file__).parents[2] / ".src")}
COMMAND_LINE = {
    "annotated_doc",
    "annotated_types",
    "pydantic",
    "pydantic_core",
    "shellingham",
    "typer",
    "typing_extensions",
    "typing_inspection",
}
WORK = {"_duckdb", "msgspec", "statemachine"}


def imported(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> set[str]:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**ENVIRONMENT, **(environment or {})},
    )
    return set(json.loads(found.stdout))


def foreign(modules: set[str]) -> set[str]:
    tops = {name.partition(".")[0] for name in modules}
    return {top for top in tops - sys.stdlib_module_names if not top.startswith("_") or top == "_duckdb"} - {"interlock"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports") / "shop"
    command = [sys.executable, "-m", "interlock.engine", "init", str(folder), "--sample", "shop"]
    subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    return folder


def test_the_version_imports_nothing(tmp_path: Path) -> None:
    assert {name for name in imported(tmp_path, "--version") if "." in name or name == "typing"} <= {
        "interlock.engine",
        "interlock.engine.cli",
        "interlock.engine.cli.entry",
        "interlock.engine.version",
    }


def test_help_imports_nothing(tmp_path: Path) -> None:
    for words in ([], ["--help"], ["run", "--help"], ["audit", "log", "-h"]):
        assert {name for name in imported(tmp_path, *words) if "." in name or name == "typing"} <= {
            "interlock.engine",
            "interlock.engine.cli",
            "interlock.engine.cli.entry",
            "interlock.engine.cli.help_pages",
            "interlock.engine.version",
        }


def test_help_that_is_laid_out_anew_imports_no_warehouse(tmp_path: Path) -> None:
    for words in (["--help"], ["run", "--help"]):
        modules = imported(tmp_path, *words, environment={"COLUMNS": "60"})
        assert foreign(modules) <= {"annotated_doc", "msgspec", "shellingham", "typer", "typing_extensions"}
        assert "interlock.engine.results" not in modules


def test_plain_values_are_read_without_pydantic(shop: Path) -> None:
    for words in (
        ["ls", "--select", "fct_orders", "--target", "dev", "--project", "."],
        ["run", "--threads", "2", "--wait", "0.5", "--target", "nowhere"],
        ["compile", "--format", "github"],
        ["audit", "log"],
        ["report", "--out", "page.html"],
    ):
        assert "pydantic" not in foreign(imported(shop, *words)), words


@pytest.mark.parametrize("words", [["--threads", "0"], ["--threads", "1.5"], ["--threads", "x"], ["--wait", "-1"]], ids=" ".join)
def test_a_number_that_is_not_right_is_still_refused(words: list[str], shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", *words, "--project", str(shop)]) == 2
    assert f"Invalid value for '{words[0]}'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["compile"], ["ls"], ["status"]], ids=" ".join)
def test_where_nothing_changed_no_engine_is_loaded(words: list[str], shop: Path) -> None:
    imported(shop, *words)
    tries = (imported(shop, *words) for _ in range(3))  # our own code may be written while this runs: then it is another version
    modules = next((found for found in tries if "_duckdb" not in foreign(found)), {"_duckdb"})
    assert foreign(modules) & {"_duckdb", "duckdb", "statemachine"} == set()
    assert {name for name in modules if name.startswith(("interlock.engine.audit", "interlock.engine.importers"))} == set()
    assert ("interlock.engine.ledger.reader" in modules) == (words == ["status"])


@pytest.mark.parametrize("words", [["status"], ["plan", "--no-save"], ["run"]], ids=" ".join)
def test_a_command_imports_what_it_uses(words: list[str], shop: Path) -> None:
    modules = imported(shop, *words)
    assert foreign(modules) <= COMMAND_LINE | WORK
    rooms = {name for name in modules if name.startswith(("interlock.engine.importers.", "interlock.engine.diagrams."))}
    assert {name for name in rooms if "dbt" not in name} == set()
