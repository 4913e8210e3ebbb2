"""A finding as a person sees it: code, what is wrong, the line with carets, the evidence, the act that helps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from interlock.engine.diagnostics import Diagnostic, Position, in_order
from interlock.engine.views.look import Ink, Look, counted, indented, one_line, printable, width_of

_INKS: Final[dict[str, Ink]] = {"error": "red", "warning": "yellow", "note": "blue"}
_TAB: Final = "    "
_ROOM: Final = 140
"""Longest line of an excerpt; of a longer one the part around the carets is shown."""


def diagnostic(finding: Diagnostic, look: Look) -> list[str]:
    """The lines of one finding."""
    ink = _INKS[finding.severity]
    label = f"{finding.severity}[{finding.code}]: "
    first, *more = indented(finding.summary, "  ", first=label, width=look.width)
    lines = [look.ink(label[:-2], ink, "bold") + look.ink(first[len(label) - 2 :], "bold"), *more]
    if finding.at is not None:
        lines += _place(finding.at, look, ink)
    for place in finding.also:
        lines += _place(place, look, ink)
    if finding.compiled:
        lines += ["  as it ran:", *indented(finding.compiled, "  | ")]
    lines += diff_lines(finding.diff, look)
    return lines + evidence(because=finding.because, remedy=finding.remedy, invariant=finding.invariant, look=look)


def diff_lines(diff: str, look: Look, indent: str = "  ") -> list[str]:
    """A unified diff, for a person."""
    inks: dict[str, Ink] = {"+": "green", "-": "red", "@": "blue"}
    lines = [printable(line) for line in diff.splitlines()]
    return [f"{indent}| {look.ink(line, inks[line[0]]) if line[:1] in inks else line}".rstrip() for line in lines]


def evidence(*, because: str, remedy: str, look: Look, invariant: str = "", indent: str = "  ") -> list[str]:
    """The lines below a finding that say why, which invariant, and what helps."""
    lines: list[str] = []
    if because:
        lines += indented(because, indent + " " * 9, first=f"{indent}because: ", width=look.width)
    if invariant:
        from interlock.machines.guards import INVARIANTS  # noqa: PLC0415 - with the first finding that has one

        name = next((words[0] for known, words in INVARIANTS.items() if known == invariant), "")
        lines.append(f"{indent}keeps:   {invariant}" + (f" ({name})" if name else ""))
    if remedy:
        lines += indented(look.act(remedy), indent + " " * 9, first=f"{indent}{look.ink('remedy:', 'green')}  ", width=look.width)
    return lines


def diagnostics(findings: Iterable[Diagnostic], look: Look) -> list[str]:
    """All findings in order, with an empty line between two, and a count where there are several."""
    ordered = in_order(findings)
    lines: list[str] = []
    for finding in ordered:
        if lines:
            lines.append("")
        lines += diagnostic(finding, look)
    if len(ordered) > 1:
        lines += ["", counts(ordered)]
    return lines


def counts(findings: Iterable[Diagnostic]) -> str:
    """How many of each severity: `2 errors, 1 warning`."""
    severities = [finding.severity for finding in findings]
    return ", ".join(counted(severities.count(each), each) for each in ("error", "warning", "note") if each in severities)


def _place(at: Position, look: Look, ink: Ink) -> list[str]:
    where = printable(at.path)
    if at.line is not None:
        where += f":{at.line}" + (f":{at.column}" if at.column is not None else "")
    key = f"  ({one_line(at.key)})" if at.key else ""
    if at.line is None or not at.excerpt:
        return [f"{look.ink(' -->', 'blue')} {where}{key}"]
    gutter = len(str(at.line))
    bar = look.ink(" " * gutter + " |", "blue")
    text, carets = marked(at)
    lines = [
        f"{' ' * (gutter - 1)}{look.ink(' -->', 'blue')} {where}{key}",
        bar,
        f"{look.ink(f'{at.line} |', 'blue')} {text}",
    ]
    if carets:
        lines.append(f"{bar} {look.ink(carets, ink)}")
    return lines


def marked(at: Position) -> tuple[str, str]:
    """The excerpt as shown, and the carets that stand below it (none without a column)."""
    line = at.excerpt.rstrip("\r\n")
    if at.column is None:
        shown = _shown(line)
        return (shown if len(shown) <= _ROOM else shown[: _ROOM - 1] + "…"), ""
    start = min(max(at.column - 1, 0), len(line))
    end = min(start + max(at.length, 1), max(len(line), start + 1))
    before, there, after = line[:start], line[start:end], line[end:]
    head = tail = ""
    if len(_shown(line)) > _ROOM:
        there = there[: _ROOM // 2]
        room = max(20, (_ROOM - len(there)) // 2)
        if len(before) > room:
            before, head = before[-room:], "…"
        if len(after) > room:
            after, tail = after[:room], "…"
    carets = " " * width_of(head + _shown(before)) + "^" * max(1, width_of(_shown(there)))
    return f"{head}{_shown(before)}{_shown(there)}{_shown(after)}{tail}", carets


def _shown(text: str) -> str:
    return printable(text.replace("\t", _TAB))
