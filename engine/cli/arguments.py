"""Arguments before and after typer reads them: lists of values behind one option, `NAME=VALUE` pairs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

LISTS: Final = frozenset({"--select", "-s", "--exclude"})
WITHOUT_POSITIONALS: Final = frozenset({"plan", "run", "compile", "check", "ls"})
"""Commands behind whose lists every further word can only be another value."""
PLACES: Final = frozenset({"--project", "--out", "--ledger"})
"""Options that name a place on disk."""
PLACED: Final = frozenset({"init", "import dbt", "ledger attach", "audit replay"})
"""Commands whose words name one."""
SWITCHES: Final = frozenset({"--json", "--yes", "--strict", "--accept-proposals", "--compare", "--"})
"""Options of those that take no value: what stands behind them is a word of the command."""
ON_CHANGE: Final = ("refuse", "rebuild", "continue")
COMMANDS: Final = frozenset(
    {
        *("adopt", "apply", "check", "compile", "diagram", "diff", "doctor", "explain", "init", "lineage", "ls", "plan", "report", "reset"),
        *("resume", "run", "show", "status", "import dbt", "ledger accept-warehouse", "ledger archive", "ledger attach"),
        *("audit bundle", "audit compare", "audit explain", "audit log", "audit replay", "audit verify", "receipts compact"),
        *("sources diff", "sources pin"),
    }
)
"""What an answer may call itself: each is a command, and none of them is a word that somebody mistyped."""


class NotUnderstoodError(Exception):
    """The command line cannot be read as it stands; the text says why, for a person."""


def spread(arguments: Sequence[str]) -> list[str]:
    """`--select a b` as `--select a --select b`, as dbt users write it."""
    if not arguments or arguments[0] not in WITHOUT_POSITIONALS:
        return list(arguments)
    spread_out: list[str] = []
    current: str | None = None
    taken = 0
    for position, word in enumerate(arguments):
        if word == "--":
            return [*spread_out, *arguments[position:]]
        if word in LISTS:
            current, taken = word, 0
            spread_out.append(word)
        elif word.startswith("-"):
            current = None
            spread_out.append(word)
        elif current is not None:
            spread_out += [current, word] if taken else [word]
            taken += 1
        else:
            spread_out.append(word)
    return spread_out


def command_of(arguments: Sequence[str]) -> str:
    """The command's name, for an answer about arguments that could not be read too; empty where what is written names none."""
    words = [word for word in arguments[:2] if not word.startswith("-")]
    return next((name for name in (" ".join(words[:count]) for count in (1, 2)) if name in COMMANDS), "")


def nowhere(arguments: Sequence[str]) -> str | None:
    """What is given an empty text for a place, such as `--project ""` of a variable that is not set: it would come to mean "here"."""
    words = command_of(arguments) in PLACED
    for before, word in pairwise(["--", *arguments]):
        if word == "" and before in PLACES:
            return before
        if word == "" and words and (before in SWITCHES or not before.startswith("-")):
            return "a directory or file"
        if word.endswith("=") and word[:-1] in PLACES:
            return word[:-1]
    return None


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` was asked for, even if the rest of the line cannot be read."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in before


def terms(values: Iterable[str] | None) -> tuple[str, ...]:
    """Selector terms: each value may hold several, with blanks between. An empty one is kept: it must not come to mean everything."""
    return tuple(term for value in values or () for term in (value.split() or [""]))


def pairs(values: Iterable[str] | None, *, option: str) -> dict[str, str]:
    """`NAME=VALUE` values as a mapping.

    Raises:
        NotUnderstoodError: one has no `=` or no name, or a name is given twice.
    """
    found: dict[str, str] = {}
    for value in values or ():
        name, equals, rest = value.partition("=")
        if not equals or not name.strip():
            raise NotUnderstoodError(f"{option} takes NAME=VALUE, once for each, and not `{value}`")
        if name.strip() in found:
            raise NotUnderstoodError(f"{option} names `{name.strip()}` twice")
        found[name.strip()] = rest
    return found


def on_change(values: Iterable[str] | None) -> dict[str, str]:
    """`MODEL=refuse|rebuild|continue` values as a mapping.

    Raises:
        NotUnderstoodError: one is something else.
    """
    found = pairs(values, option="--on-change")
    for model, wish in found.items():
        if wish not in ON_CHANGE:
            raise NotUnderstoodError(f"--on-change {model}= takes {', '.join(ON_CHANGE[:-1])} or {ON_CHANGE[-1]}, and not `{wish}`")
    return found
