"""`--help` of every command is complete, has an example, and is unchanged. `INTERLOCK_WRITE_GOLDEN=1` writes it anew."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from interlock.engine.cli.app import app
from interlock.engine.cli.arguments import COMMANDS
from interlock.engine.version import VERSION
from interlock.engine.views.schema import RESULTS

GOLDEN = Path(__file__).parent / "golden" / "help.txt"
ROOT = Path(__file__).parents[2]
BUILT_IN = {"--help", "--install-completion", "--show-completion"}


def commands() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        found |= {name: command} if inner is None else {f"{name} {each}": part for each, part in inner.items()}
    return found


def test_every_command_has_a_result_and_every_result_a_command() -> None:
    assert set(commands()) == set(RESULTS) == COMMANDS


@pytest.mark.parametrize("name", RESULTS)
def test_every_command_and_option_is_documented_with_an_example(name: str) -> None:
    command = commands()[name]
    assert command.help
    assert command.epilog.startswith(f"Example: interlock {name}")
    for parameter in command.params:
        if not BUILT_IN & set(parameter.opts):
            assert parameter.help, (name, parameter.name)
        if parameter.param_type_name == "option" and not parameter.is_flag:
            assert f"e.g. {parameter.opts[0]} " in parameter.help, (name, parameter.name)


def test_every_command_answers_programs_too() -> None:
    assert all("--json" in {option for parameter in command.params for option in parameter.opts} for command in commands().values())


def described(name: str, command: Any) -> list[str]:
    """What we say of a command, however typer lays it out."""
    lines = [f"=== {name}", *command.help.splitlines()]
    for parameter in command.params:
        if not BUILT_IN & set(parameter.opts):
            lines.append(f"  {' '.join(parameter.opts)} {parameter.metavar or ''}".rstrip())
            lines.append(f"      {parameter.help}")
    return [*lines, command.epilog, ""]


def test_help_is_unchanged() -> None:
    text = "\n".join(line for name, command in sorted(commands().items()) for line in described(name, command))
    if os.environ.get("INTERLOCK_WRITE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*RESULTS, "ledger", "audit"])
def test_help_is_shown(name: str, interlock_: Callable[..., Any]) -> None:
    ran = interlock_(*name.split(), "--help")
    assert (ran.exit, ran.err) == (0, "")
    assert f"interlock {name}" in ran.out


def test_without_arguments_help_is_shown(interlock_: Callable[..., Any]) -> None:
    assert interlock_().out == interlock_("--help").out


def test_the_version_is_the_package_s() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == VERSION
