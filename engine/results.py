"""What the use cases answer: the values that `--json` prints and that the text views show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from interlock.engine.diagnostics import Diagnostic, Outcome
from interlock.engine.planner.plan import PlanBody
from interlock.machines.evidence import AuthorityFinding, CheckVerdict, Column, Difference, SourceCheck, SourceVerdict, Watermark
from interlock.machines.records import Record


class Result(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every answer has: how it ended, its exit code by the one table, and findings in order."""

    command: str
    outcome: Outcome
    exit_code: int
    findings: tuple[Diagnostic, ...] = ()
    project: str = ""
    target: str = ""
    location: str = ""
    """The target's path as it was given."""


class InitResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files made, relative to the directory, and the commands to go on with."""

    directory: str
    files: tuple[str, ...]
    next_commands: tuple[str, ...]


class CompiledView(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A compiled model, for people and programs."""

    model: str
    kind: str
    relation: str
    path: str
    columns: tuple[Column, ...]
    reads: tuple[str, ...]
    sources: tuple[str, ...]
    layer: int
    sql: str


class CompileResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every selected model as compiled."""

    models: tuple[CompiledView, ...]


class PlanResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan, saved or not. `plan` is `None` where none could be made (then `findings` say why)."""

    plan: str | None
    saved: Literal["yes", "no"]
    body: PlanBody | None
    authority: AuthorityFinding | None
    open_runs: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    """In words, such as that a state selection is empty."""


class ModelResult(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model of a run: its way through its states, and where it ended."""

    model: str
    action: str
    layer: int
    state: str
    """Of the machine; `no_op` where nothing was to be done."""
    path: tuple[str, ...]
    """States in order, from `planned`."""
    reason: str = ""
    rows_written: int | None = None
    rows_deleted: int | None = None
    rows_held: int | None = None
    rows_before: int | None = None
    """Of what was there before another materialization took its place."""
    rows_late: int | None = None
    """Where the model counts them: rows that came late and were not loaded."""
    rows_stale: int | None = None
    """Likewise: rows that stay although the query no longer gives them."""
    rows_after: int | None = None
    milliseconds: int | None = None
    receipt: str | None = None
    code: str = ""
    cause: str = ""
    because: str = ""
    remedy: str = ""
    detail: str = ""
    verdicts: tuple[CheckVerdict, ...] = ()
    sources: tuple[SourceVerdict, ...] = ()
    """What the sources said that it reads, in this run and before it read them."""


class RunResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run did. `settled` names runs of before that this command closed first."""

    run: str | None
    plan: str | None
    models: tuple[ModelResult, ...]
    settled: tuple[str, ...] = ()
    milliseconds: int = 0
    body: PlanBody | None = None
    authority: AuthorityFinding | None = None
    said: tuple[str, ...] = ()


class ModelStatus(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the ledger says of a model. What a run did is apart from what the table holds."""

    model: str
    kind: str
    """`deleted` for one that the project no longer has."""
    last_state: str
    """`never run` where the ledger knows of no attempt, `not known` where it cannot be read."""
    last_run: str | None
    last_code: str = ""
    last_because: str = ""
    changed: str = ""
    """Against its head: `new`, `modified`, `unchanged`, or empty where the project does not compile or the ledger cannot be read."""
    receipt: str | None = None
    rows: int | None = None
    watermark: Watermark | None = None
    checkpointed_at: str = ""


class RunStatus(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run as the ledger has it. `open` runs are closed by the next `apply` or `run`."""

    run: str
    plan: str
    state: str
    outcome: str
    started_at: str
    models: int
    refused: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    why_open: str = ""
    why_refused: str = ""
    """Of one that was refused before it began: it did nothing to any model."""


class StatusResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of a target, from the ledger alone."""

    ledger: str
    """`absent`, `whole`, `broken` or `unreadable`, with its reason."""
    models: tuple[ModelStatus, ...]
    runs: tuple[RunStatus, ...]
    """Open runs, then the last one that began and ended, then one that was refused since before it began."""
    busy: str = ""
    """Who holds the lock, if anybody does."""
    leftovers: tuple[str, ...] = ()


class Listed(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A node of the project."""

    name: str
    kind: str
    path: str
    relation: str
    tags: tuple[str, ...]
    parents: tuple[str, ...]
    description: str = ""


class ListResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Selected nodes, by layer and name."""

    nodes: tuple[Listed, ...]
    said: tuple[str, ...] = ()


class ShowResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The SQL of a model as it runs, and its first rows if they were asked for (cells as text)."""

    model: str
    sql: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...] | None = None


class ModelChecks(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Verdicts over the rows that are there now."""

    model: str
    verdicts: tuple[CheckVerdict, ...]
    ranges: str = ""
    """What was looked at, in words."""


class SourceChecks(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a source was asked, and what it says now. A promise that no contract rests on only warns."""

    source: str
    checks: tuple[SourceCheck, ...]
    verdicts: tuple[SourceVerdict, ...]


class CheckResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Checks evaluated without building. No check at all is not a pass."""

    models: tuple[ModelChecks, ...]
    sources: tuple[SourceChecks, ...] = ()
    """Of the sources that the selected models read: how fresh they are, and whether they keep what they promise."""
    evaluated: int
    failed: int
    warned: int
    not_evaluated: int


class DiffResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan against the working tree and the warehouse as they are now; or the contracts of the last one against those of today."""

    plan: str
    differences: tuple[Difference, ...]
    about: Literal["plan", "contracts"] = "plan"


class ActResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An act of a person: what it would do, and whether it was done."""

    act: str
    shown: tuple[str, ...]
    """Lines that say what it does, shown before it is asked."""
    done: Literal["yes", "no"]
    run: str | None = None


class CompareResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An incremental model beside a full build of the same text, row for row as multisets."""

    model: str
    rows_there: int
    rows_rebuilt: int
    only_there: int
    only_rebuilt: int
    columns: tuple[str, ...]
    first_only_there: tuple[tuple[str | None, ...], ...] = ()
    first_only_rebuilt: tuple[tuple[str | None, ...], ...] = ()


class Diagnosis(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question of `doctor`, and its answer. A question that could not be asked is not a pass."""

    check: str
    answer: Literal["pass", "fail", "not_evaluated"]
    said: str
    code: str = ""
    remedy: str = ""


class DoctorResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a run rests on, looked at."""

    checks: tuple[Diagnosis, ...]


class ExplainResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of a code."""

    code: str
    title: str
    page: str


Confirm = Callable[[tuple[str, ...]], bool]
"""Shown what an act is about to do; answers whether it is to be done."""


class Progress(Protocol):
    """Told what goes on while it goes on, from several threads. It never decides anything."""

    def planned(self, models: int, no_ops: int) -> None:
        """A run starts with so many models to do."""
        ...

    def moved(self, model: str, state: str, rows: int | None) -> None:
        """A model entered a state."""
        ...

    def said(self, line: str) -> None:
        """Something that a person should know now."""
        ...


class Silent:
    """A progress that tells nobody."""

    def planned(self, models: int, no_ops: int) -> None:
        """Nothing."""

    def moved(self, model: str, state: str, rows: int | None) -> None:
        """Nothing."""

    def said(self, line: str) -> None:
        """Nothing."""
