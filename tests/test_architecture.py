"""What a reader may rely on: who imports whom, how long a file is, and that documents and code name the same things."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.engine.version import VERSION
from interlock.machines.refusals import CATALOGUE

ROOT = Path(__file__).parent.parent
MODULES = sorted([*ROOT.glob("engine/**/*.py"), *ROOT.glob("machines/**/*.py")])
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.compile(r"^[SLCPGWKDX]\d{3}$")
LINES_MAX = 600


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in MODULES:
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_rooms_are_entered_only_as_the_contracts_allow() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, env={"PYTHONPATH": ".src", "PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_MAX


@pytest.mark.parametrize(
    "path", [path for path in MODULES if ">>>" in path.read_text(encoding="utf-8")], ids=lambda path: str(path.relative_to(ROOT))
)
def test_what_an_example_in_a_docstring_says_is_so(path: Path) -> None:
    module = importlib.import_module(".".join(("interlock", *path.relative_to(ROOT).with_suffix("").parts)))
    ran = doctest.testmod(module)
    assert ran.attempted
    assert not ran.failed


def test_every_code_in_the_code_is_in_the_catalogue() -> None:
    used = {
        (path.name, node.value)
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.match(node.value)
    }
    assert {(name, code) for name, code in used if code not in CATALOGUE} == set()


def test_every_code_of_the_catalogue_is_used() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in [*MODULES, ROOT / "specs" / "recovery.toml"] if path.name != "refusals.py"
    )
    assert [code for code in CATALOGUE if code not in text] == []


def test_every_code_is_named_by_a_test_or_a_scenario() -> None:
    texts = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("specs/scenarios/*.toml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in texts)
    assert [code for code in CATALOGUE if code not in text] == []


def test_nothing_catches_every_exception_and_goes_on() -> None:
    broad = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ExceptHandler):
                continue
            named = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type is not None else {"BaseException"}
            goes_on = not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            if named & {"Exception", "BaseException"} and goes_on:
                broad.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    allowed = {
        "engine/cli/invocation.py",  # a bug becomes X901, with its traceback
        "engine/runner/schedule.py",  # a worker's error is carried to the main thread, which raises it
        "machines/guards.py",  # a guard that raises is a guard that does not hold
    }
    assert [place for place in broad if place.split(":")[0] not in allowed] == []


def test_the_release_is_the_packages() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == VERSION


@pytest.mark.parametrize("heading", ["Run it", "Test it"])
def test_a_command_of_the_readme_is_one_line(heading: str) -> None:
    section = re.split(r"^## ", README, flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(f"{heading}\n")]
    (block,) = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) == 1
    assert ".venv" in block


def test_the_readme_names_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "interlock.engine", "--help"],
        cwd=ROOT,
        env={"PYTHONPATH": ".src", "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    )
    listed = done.stdout.split("Commands:")[1].split("\n\n")[0]
    commands = re.findall(r"^  ([a-z]+)  ", listed, flags=re.MULTILINE)
    assert len(commands) > 10
    assert [command for command in commands if f"interlock {command}" not in README and f"`{command}`" not in README] == []
