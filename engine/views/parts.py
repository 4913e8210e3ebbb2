"""What several views have in common: the first line, and the lines of a refusal and of a check."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from interlock.engine.results import Result
from interlock.engine.views.diagnostics import evidence
from interlock.engine.views.look import Look, counted, indented, listed, one_line
from interlock.machines.evidence import AuthorityFinding, CheckVerdict, Column, SourceVerdict, Watermark


def heading(result: Result) -> str:
    """Project, target and the target's path: the first line of every output about a project; empty where there is none."""
    parts = [f"project {one_line(result.project)}"] if result.project else []
    if result.target:
        parts.append(f"target {one_line(result.target)}")
    if result.location:
        parts.append(one_line(result.location))
    return ", ".join(parts)


def headed(result: Result, look: Look) -> list[str]:
    """The heading as lines, of which there may be none."""
    line = heading(result)
    return [look.ink(line, "bold")] if line else []


def refusal(look: Look, *, code: str, summary: str, because: str, remedy: str, detail: str = "", indent: str = "  ") -> list[str]:
    """A refusal within a result: like a finding, with its detail (position and excerpt) in between."""
    label = look.ink(f"refused[{code}]" if code else "refused", "red", "bold")
    lines = [f"{indent}{label}: {one_line(summary)}"]
    if detail:
        lines += indented(detail, indent + "  ")
    return lines + evidence(because=because, remedy=remedy, look=look, indent=indent + "  ")


def verdict_line(verdict: CheckVerdict) -> str:
    """A check's answer in one line."""
    match verdict.outcome:
        case "passed":
            said = "passed"
        case "failed":
            said = "failed" if verdict.failing is None else f"failed, {counted(verdict.failing, 'row')}"
        case "not_evaluated":
            said = "not evaluated"
    because = f": {one_line(verdict.because)}" if verdict.because and verdict.outcome != "passed" else ""
    return f"{verdict.check} ({verdict.severity}) {said}{because}"


def source_line(verdict: SourceVerdict, severity: str) -> str:
    """A source's answer in one line."""
    match verdict.question:
        case "freshness":
            about = f"freshness by {one_line(verdict.column)}"
        case "not_null":
            about = f"no nulls in {one_line(verdict.column)}"
        case "cells":
            about = "cells as declared"
    because = f": {one_line(verdict.because)}" if verdict.because and verdict.outcome != "passed" else ""
    return f"{about} ({severity}) {verdict.outcome.replace('_', ' ')}{because}"


def watermark(mark: Watermark | None) -> str:
    """The upper end of what was written; the type says how to read it."""
    return one_line(mark.high) if mark else ""


def column_list(columns: Iterable[Column]) -> str:
    """Columns and their types in one line."""
    return one_line(", ".join([f"{column.name} {column.type}" for column in columns]))


def by_reason(pairs: Iterable[tuple[str, str]], width: int = 0) -> list[str]:
    """(name, reason) pairs folded to a line for each reason, in the order in which the reasons come."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, reason in pairs:
        names[reason].append(name)
    lines = [listed(those) + (f": {one_line(reason)}" if reason else "") for reason, those in names.items()]
    return [part for line in lines for part in indented(line, " " * 4, first="  ", width=width)]


def authority_lines(finding: AuthorityFinding | None, look: Look) -> list[str]:
    """What was found about ledger and warehouse, where it is more than that they agree."""
    if finding is None or finding.decision == "proceed":
        return []
    said = {
        "fresh": "a fresh start: no ledger and no tables of this project are there",
        "finish_genesis": "a first run was cut short before it wrote anything; its start is completed",
        "settle": "a run that did not end is settled from its receipts first",
        "refuse": "ledger and warehouse cannot be relied on",
    }[finding.decision]
    if finding.decision == "refuse":
        return refusal(look, code=finding.code, summary=said, because=finding.because, remedy=finding.remedy, indent="")
    if finding.decision == "fresh":
        return [said]  # the row of the table says the same
    return [said + (f" ({one_line(finding.because)})" if finding.because else "")]
