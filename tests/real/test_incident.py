"""The walk-through of an incident is true: each command of `specs/incident.md` is run, and each line that it shows is said."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.engine.cli import main

PAGE = Path(__file__).parents[2] / "specs" / "incident.md"


def steps() -> list[tuple[list[str], list[str], int]]:
    """Each command of the page, the lines that it is to say, and its exit code."""
    found: list[tuple[list[str], list[str], int]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            exits = [int(line.removeprefix("# exit ")) for line in lines if line.startswith("# exit ")]
            found.append(
                (shlex.split(command), [line for line in lines if line and not line.startswith("# exit ")], exits[0] if exits else 0)
            )
    return found


def words(line: str) -> str:
    """A line as a pattern: `…` is anything, and any number of blanks is one."""
    return (
        r"\s*"
        + r"\s+".join(".*".join(re.escape(part) for part in word.split("…")) for word in line.split())
        + (r"\s*" if "…" not in line[-2:] else "")
    )


def test_every_command_of_the_page_says_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for command, lines, exits in steps():
        capfd.readouterr()
        match command:
            case ["cd", directory]:
                monkeypatch.chdir(Path.cwd() / directory)
                continue
            case ["cp", one, other]:
                shutil.copyfile(one, other)
                continue
            case ["python", script]:
                ran = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True, env=dict(os.environ))
                code, said = ran.returncode, ran.stdout + ran.stderr
            case ["interlock", *arguments]:
                code = main(arguments)
                out, err = capfd.readouterr()
                said = out + err
            case _:
                raise AssertionError(command)
        assert code == exits, (command, said)
        for line in lines:
            assert any(re.fullmatch(words(line), each) for each in said.split("\n")), (command, line, said)


def test_the_page_walks_through_all_of_audit() -> None:
    asked = {arguments[2] for arguments, _, _ in steps() if arguments[:2] == ["interlock", "audit"]}
    assert asked == {"verify", "log", "compare", "replay", "bundle", "explain"}
