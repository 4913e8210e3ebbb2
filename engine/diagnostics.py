"""Diagnostics: one record for everything that a person is told; findings are collected, sorted and reported once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from interlock.machines.records import Record

Outcome: TypeAlias = Literal["succeeded", "partial", "refused", "in_doubt", "interrupted", "nothing", "planned", "done", "failed"]
"""What a command came to."""


class Position(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place in a project file. `line` and `column` count from 1, in characters; `length` in characters, 0 if unknown.

    `excerpt` is that line of the file, so that a finding can be shown without reading the file again.
    """

    path: str
    """Relative to the project, with forward slashes."""
    line: int | None = None
    column: int | None = None
    length: int = 0
    excerpt: str = ""
    key: str = ""
    """Key path in a TOML file, such as `contract.columns.order_id.type`."""


class Diagnostic(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding: its code, what is wrong, the evidence, and an act that helps."""

    code: str
    severity: Literal["error", "warning", "note"] = "error"
    summary: str
    because: str = ""
    remedy: str = ""
    at: Position | None = None
    also: tuple[Position, ...] = ()
    """Other places that belong to it, such as the other references of a cycle."""
    invariant: str = ""
    subject: str = ""
    """Model, run, plan or target that it is about."""
    compiled: str = ""
    """Excerpt of the SQL that ran, where it is not the author's line."""
    diff: str = ""
    """A unified diff, where a text is another than it was."""


class Refused(Exception):  # noqa: N818 - the field's word: an answer, not a crash
    """A request was refused: carries every finding. The command line turns it into an exit code."""

    def __init__(self, *findings: Diagnostic, exit_code: int | None = None) -> None:
        super().__init__("; ".join(f"[{finding.code}] {finding.summary}" for finding in findings))
        self.findings = findings
        self.exit_code = exit_code


def refused(code: str, summary: str, *, because: str = "", remedy: str = "", at: Position | None = None, subject: str = "") -> Refused:
    """A refusal with one finding, ready to be raised."""
    return Refused(Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=at, subject=subject))


_WAITS = "L220"


def in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings by path, line, column and code, each once; what only waits for another one's remedy comes last."""

    def place(finding: Diagnostic) -> tuple[bool, str, int, int, str, str]:
        at, waits = finding.at, finding.code == _WAITS
        if at is None:
            return (waits, "", 0, 0, finding.code, finding.summary)
        return (waits, at.path, at.line or 0, at.column or 0, finding.code, finding.summary)

    return tuple(sorted(dict.fromkeys(findings), key=place))


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one name that a person most likely meant, or nothing."""
    import difflib  # noqa: PLC0415 - only on the way to an error

    candidates = list(names)
    folded = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def rows_in_words(count: int) -> str:
    """`1 row`, `2 rows`."""
    return f"{count} {'row' if count == 1 else 'rows'}"


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    """A remedy that names the nearest name, or `otherwise`."""
    near = nearest(name, names)
    return f"did you mean `{near}`?" if near else otherwise
