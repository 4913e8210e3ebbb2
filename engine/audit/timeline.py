"""The timeline: one line for each transition that a person asks for, in one pass over a ledger of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interlock.engine.audit.facts import body_in
from interlock.engine.audit.tape import Flaw, Read
from interlock.engine.diagnostics import rows_in_words
from interlock.machines.evidence import AuthorizeEvidence, BootstrapEvidence, CloseEvidence, Entry, RefuseEvidence
from interlock.machines.records import Record


class Line(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transition in one line."""

    sequence: int
    time: str
    run: str | None
    machine: str
    subject: str
    event: str
    source: str
    target: str
    actor: str
    said: str = ""
    """What a person wants to know of it: rows, action, outcome."""
    code: str = ""
    because: str = ""
    by: str | None = None
    """The run that wrote it, where it is not its own."""


class Wanted(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which transitions are meant: all that fit every field that is given."""

    model: str | None = None
    run: str | None = None
    """Or how it begins."""
    since: str | None = None
    refused: bool = False
    after: int = 0
    """Only records behind this one: where the page before ended."""

    def means(self, entry: Entry) -> bool:
        """Whether a record is asked for."""
        if entry.sequence <= self.after or (self.since is not None and entry.time < self.since):
            return False
        if self.refused and entry.target != "refused":
            return False
        if self.run is not None and not (entry.run or "").startswith(self.run):
            return False
        return self.model is None or (entry.machine == "model_run" and model_of(entry) == self.model)


def model_of(entry: Entry) -> str:
    """The model that a record of a ModelRun is about; a recheck after publication is about the same one."""
    return entry.subject.rpartition("#")[0].partition(":")[0]


def lines_of(tape: Iterable[Read | Flaw], wanted: Wanted) -> Iterator[Line | Flaw]:
    """The lines, in order, and flaws where they stand."""
    for each in tape:
        if isinstance(each, Flaw):
            yield each
        elif wanted.means(each.numbered.entry):
            yield line_of(each.numbered.entry)


def line_of(entry: Entry) -> Line:
    """One record as a line."""
    code, because = reason_of(entry)
    return Line(
        sequence=entry.sequence,
        time=entry.time,
        run=entry.run,
        machine=entry.machine,
        subject=entry.subject,
        event=entry.event,
        source=entry.source,
        target=entry.target,
        actor=entry.actor,
        said=_said(entry),
        code=code,
        because=because,
        by=entry.by if entry.by != entry.run else None,
    )


def reason_of(entry: Entry) -> tuple[str, str]:
    """Code and reason of a refusal, its first; both empty for anything else."""
    if isinstance(entry.evidence, RefuseEvidence):
        return entry.evidence.code, entry.evidence.because
    for verdict in entry.verdicts:
        if verdict.holds != "yes":
            return verdict.code, verdict.because
    return "", ""


def _said(entry: Entry) -> str:
    match entry.evidence:
        case BootstrapEvidence() as pinned:
            return pinned.action
        case AuthorizeEvidence() as authorized:
            return f"{len(authorized.scope)} models in scope"
        case CloseEvidence() as closing:
            return closing.outcome
        case evidence:
            body = body_in(evidence)
    if body is None or entry.target != "committed":
        return ""
    rows = f"{rows_in_words(body.rows_written)} written"
    return rows if body.rows_after is None else f"{rows}, {body.rows_after} now"
