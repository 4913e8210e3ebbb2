"""A scenario as a file says it: project files, then steps in order, each one act and what must be true after it.

Decoding is strict: a key that is not here is an error, so that a misspelt expectation cannot pass by not being asked.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

Cell = str | int | float | bool

DEFAULT_CONFIG = """\
[project]
id = "7f3a1c9e5b2d4f60"
name = "shop"

[targets.dev]
type = "duckdb"
path = "shop.duckdb"
create = true
on_change = "rebuild"
"""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One act (the first group of keys), and what must hold after it (the rest)."""

    say: str = ""
    """Why this step is here; shown when it fails."""

    run: str | None = None
    """Words of the command line. `{name}` stands for a plan id that an earlier step kept with `keep`."""
    sql: str | None = None
    """Statements run on the database by plain DuckDB, between commands."""
    query: str | None = None
    """A SELECT whose answer must be `gives`."""
    write: dict[str, str] | None = None
    edit: dict[str, tuple[str, str]] | None = None
    """File → (text that stands in it once, what replaces it)."""
    delete: tuple[str, ...] | None = None
    move: dict[str, str] | None = None
    copy: dict[str, str] | None = None
    """From → to, files or directories; what stood at `to` goes. A database is copied with its write-ahead log."""
    cut: dict[str, int] | None = None
    """File → bytes taken off its end."""

    database: str = "shop.duckdb"
    """Where `sql`, `tables`, `rows`, … look."""
    directory: str = "."
    """Where the command is given, below the scenario's directory."""
    clock: str | None = None
    """`$as_of` of the commands from here on (those that plan)."""
    env: dict[str, str] = {}
    fault: str | None = None
    """`point:nth:raise` in this process, `point:nth:kill` in one of its own."""
    interrupt: str | None = None
    """`point:nth`: Ctrl-C arrives there."""
    held_by: str | None = None
    """A database that another process has open while the command runs."""
    locked_by: str | None = None
    """A lock file that another process holds while the command runs."""
    text: bool = False
    """Output for people instead of `--json`."""
    keep: str | None = None
    """Name under which the plan's id of this command is kept."""

    exit: int = 0
    codes: tuple[str, ...] = ()
    """All codes of error severity among the findings, no more and no fewer."""
    also: tuple[str, ...] = ()
    """Codes of error severity that may or may not be among them: consequences of the others."""
    warnings: tuple[str, ...] = ()
    """Codes of warnings and notes that must be there."""
    actions: dict[str, str] | None = None
    """Model → action in the plan. Others are not asked."""
    only: tuple[str, ...] | None = None
    """The models of the plan whose action is not a no-op, all of them."""
    states: dict[str, str] | None = None
    """Model → state at the end."""
    outcome: str | None = None
    """Of the run."""
    says: tuple[str, ...] = ()
    """Texts that stand in the output, without regard to case and white space."""
    says_not: tuple[str, ...] = ()
    tables: dict[str, tuple[tuple[Cell, ...], ...]] = {}
    """Relation → all its rows in any order; NULL is the text `NULL`."""
    equal: dict[str, str] = {}
    """Relation → an independent SELECT with the same rows, counted."""
    columns: dict[str, tuple[str, ...]] = {}
    """Relation → its columns as `name TYPE`, in order."""
    rows: dict[str, int] = {}
    unchanged: tuple[str, ...] = ()
    """Relations whose rows are what they were before this step."""
    absent: tuple[str, ...] = ()
    """Relations that are not there."""
    gives: tuple[tuple[Cell, ...], ...] | None = None
    writes_nothing: bool = False
    """Neither database nor ledger changes by a byte, nor appears."""
    files: tuple[str, ...] = ()
    """Files that are there."""
    no_files: tuple[str, ...] = ()


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole scenario."""

    title: str
    why: str
    cases: tuple[str, ...] = ()
    """Kinds of failure that it holds against, by the names in which they are known."""
    files: dict[str, str]
    clock: str = "2024-06-01T00:00:00Z"
    steps: tuple[Step, ...]


ACTS = ("run", "sql", "query", "write", "edit", "delete", "move", "copy", "cut")


def read(path: Path) -> Scenario:
    """The scenario of a file.

    Raises:
        ValueError: a key is unknown, a value has the wrong type, or a step has no act or several.
    """
    try:
        scenario = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Scenario)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        message = f"{path.name}: {error}"
        raise ValueError(message) from error
    for number, step in enumerate(scenario.steps, 1):
        acts = [act for act in ACTS if getattr(step, act) is not None]
        files = {"write", "edit", "delete", "move"}
        if len(acts) > 1 and not set(acts) <= files:
            message = f"{path.name}: step {number} has several acts: {', '.join(acts)}"
            raise ValueError(message)
        if not acts and step.clock is None and not (step.tables or step.equal or step.rows or step.absent):
            message = f"{path.name}: step {number} does nothing and asks nothing"
            raise ValueError(message)
        if step.exit and not step.codes and not step.says:
            message = f"{path.name}: step {number} fails without saying how"
            raise ValueError(message)
    return scenario
