"""What `audit` says, for people: timeline, story, replay, ledger against warehouse, bundle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from interlock.engine.audit.difference import RunDifference, Side
from interlock.engine.audit.replay import ModelAt
from interlock.engine.audit.tape import FlawKind
from interlock.engine.audit.timeline import Line
from interlock.engine.audit.told import End, Story, Told, Work
from interlock.engine.results_audit import BundleResult, DrawnResult, LogResult, ReplayResult, ReportResult, StoryResult, VerifyResult
from interlock.engine.views.look import Ink, Look, counted, indented, listed, number, one_line, printable, short, table
from interlock.engine.views.parts import headed, watermark
from interlock.engine.views.text_run import ARROW
from interlock.engine.views.text_state import moment_words

PAGE_LINES: Final = 200
_STATES: Final[dict[str, Ink]] = {"checkpointed": "green", "closed": "green", "refused": "red"}
_WRITES: Final = re.compile(r"\s*(?:CREATE|INSERT|DELETE|UPDATE|MERGE|DROP|ALTER)\b(?!.{0,40}\"interlock\"\.)", re.DOTALL)
"""Statements that change the relation; the others ask, or write our own tables."""
_KINDS: Final[dict[FlawKind, str]] = {
    "altered": "was altered",
    "missing": "is missing",
    "out_of_order": "is out of order",
    "torn": "is torn",
    "unreadable": "cannot be read",
    "illegal": "is illegal for its machine",
    "contradicts": "contradicts its evidence",
    "unexplained": "is unexplained",
}


def log_text(result: LogResult, look: Look) -> list[str]:
    """A line for each transition."""
    lines = headed(result, look)
    rows = [_line(line, look) for line in result.lines]
    lines += table(rows, indent="", right=frozenset({0}))
    if not result.lines:
        lines.append("nothing in this ledger fits")
    if result.next_after is not None:
        lines += ["", f"more: the same with --after {result.next_after}"]
    return lines


def log_pages(result: LogResult, lines: Iterable[Line], look: Look) -> Iterator[str]:
    """The same for any number of lines, a page at a time: columns are aligned within a page."""
    yield "".join(f"{line}\n" for line in headed(result, look))
    waiting = iter(lines)
    while page := list(islice(waiting, PAGE_LINES)):
        yield "".join(f"{line}\n" for line in table([_line(line, look) for line in page], indent="", right=frozenset({0})))


def _line(line: Line, look: Look) -> tuple[str, ...]:
    subject = f"{line.machine} {line.subject}" if line.machine != "model_run" else line.subject
    way = (
        f"{line.source}{ARROW}{look.ink(line.target, _STATES[line.target])}"
        if line.target in _STATES
        else f"{line.source}{ARROW}{line.target}"
    )
    reason = f"[{line.code}] {line.because}" if line.code else line.said
    by = f" (written by {line.by})" if line.by else ""
    return (
        str(line.sequence),
        moment_words(line.time),
        one_line(subject),
        line.event,
        way if line.source else line.event,
        one_line(reason + by),
    )


def story_text(result: StoryResult, look: Look) -> list[str]:
    """The answer first; then the transitions with their guards; then what the plan said."""
    story = result.story
    lines = headed(result, look)
    lines.append(f"{look.ink(one_line(story.subject), 'bold')}: {one_line(story.answer)}")
    if story.run and story.kind != "run":
        lines.append(f"  run {story.run}" + (f", plan {short(story.plan)}" if story.plan else ""))
    elif story.plan:
        lines.append(f"  plan {short(story.plan)}")
    if story.code:
        lines.append(f"  {look.ink(f'refused[{story.code}]', 'red', 'bold')}: {one_line(story.because)}")
    if story.needed:
        lines.append("  what would have had to be true:")
        lines += [f"    {one_line(need)}" for need in story.needed]
    if story.remedy:
        lines.append(f"  {look.ink('remedy:', 'green')} {one_line(look.act(story.remedy))}")
    lines += [f"  {one_line(said)}" for said in story.said]
    lines += _ends(story, look)
    for step in story.steps:
        lines += ["", *_told(step, look)]
    if story.work is not None:
        lines += ["", *_work(story.work, look)]
    return lines


def _ends(story: Story, look: Look) -> list[str]:
    if not story.ends:
        return []
    lines = ["", look.ink("its models" if story.kind == "run" else "because of", "bold")]
    rows = [_end(end, look) for end in story.ends]
    return lines + table(rows)


def _end(end: End, look: Look) -> tuple[str, ...]:
    state = look.ink(end.state, _STATES[end.state]) if end.state in _STATES else end.state
    reason = f"[{end.code}] {end.because}" if end.code else end.because
    return (one_line(end.model), end.action, state, one_line(reason))


def _told(step: Told, look: Look) -> list[str]:
    target = look.ink(step.target, _STATES[step.target]) if step.target in _STATES else look.ink(step.target, "bold")
    by = f", written by {step.by}" if step.by else ""
    way = f"{step.event}: {step.source}{ARROW}{target}" if step.target else step.event
    lines = [f"{way}  (record {step.sequence}, {moment_words(step.time)}{by})"]
    for fact in step.facts:
        lines += indented(fact.value, " " * 8, f"    {fact.name}: ")
    for guard in step.guards:
        if guard.holds == "yes":
            lines.append(f"    {look.ink('holds', 'green')}    {guard.guard} ({guard.invariant})")
            continue
        lines.append(f"    {look.ink('refuses', 'red')}  {guard.guard} ({guard.invariant}) [{guard.code}] {one_line(guard.because)}")
        if guard.reads:
            lines.append(f"             looked at: {one_line(guard.reads)}")
        lines.append(f"             remedy: {one_line(guard.remedy)}")
    return lines


def _work(work: Work, look: Look) -> list[str]:
    lines = [f"{look.ink('the plan said', 'bold')}: {work.action}"]
    lines += [f"    because: {one_line(reason)}" for reason in work.reasons]
    lines += [f"    note: {one_line(note)}" for note in work.notes]
    lines += [f"    bounds: {one_line(bound)}" for bound in work.bounds]
    asking = []
    for statement in work.statements:
        if not _WRITES.match(statement.text):
            asking.append(statement.role)
            continue
        lines.append(f"    {look.ink(statement.role, 'blue')}")
        lines += indented(statement.text, " " * 6)
    if asking:
        lines.append(f"    and it asked (--json has their text): {one_line(', '.join(asking))}")
    return lines


# --- replay -------------------------------------------------------------------------------------------------------------


def replay_text(result: ReplayResult, look: Look) -> list[str]:
    """What holds, what does not, and at which record."""
    found = result.replayed
    lines = headed(result, look)
    lines.append(f"ledger: {one_line(result.ledger)}")
    until = (
        ("" if found.records == 0 else "up to ") + one_line(found.stopped_at)
        if found.stopped_at
        else f"{moment_words(found.first_time)} to {moment_words(found.last_time)}"
    )
    lines.append(f"{counted(found.records, 'record')}, {counted(found.runs, 'run')}, {until}")
    if found.tip:
        lines.append(f"tip: record {found.sequence}, {found.tip}")
    if result.withheld:
        lines.append(f"{counted(result.withheld, 'record')} of this bundle with words withheld: their digests are taken from the chain")
    lines += [f"open: run {run}" for run in found.open_runs]
    if found.flaws:
        lines += ["", look.ink(f"what does not hold: {number(found.flaws_count)}", "red", "bold")]
        for flaw in found.flaws:
            place = f"  ({one_line(flaw.place)})" if flaw.place else ""
            lines.append(f"  record {flaw.sequence} {_KINDS[flaw.kind]}: {one_line(flaw.because)}{place}")
        if found.flaws_count > len(found.flaws):
            lines.append(f"  and {number(found.flaws_count - len(found.flaws))} more")
    if result.at == "yes":
        lines += ["", *_models(found.models, look)]
    if result.difference is not None:
        lines += ["", *difference_text(result.difference, look)]
    if found.records == 0 and found.trust == "whole" and found.law == "kept":
        return [*lines, "", "no record was judged"]
    chain = look.ink("the chain holds", "green") if found.trust == "whole" else look.ink("the chain cannot be trusted", "red")
    law = "every record follows from its evidence" if found.law == "kept" else look.ink("records do not follow from their evidence", "red")
    return [*lines, "", f"{chain}; {law}"]


def _models(models: Sequence[ModelAt], look: Look) -> list[str]:
    head = ("model", "state", "rows", "watermark", "since", "receipt", "run")
    rows: list[tuple[str, ...]] = [tuple(look.ink(cell, "dim") for cell in head)]
    for model in models:
        state = look.ink(model.state, _STATES[model.state]) if model.state in _STATES else model.state
        code = f" [{model.code}]" if model.code else ""
        rows.append(
            (
                one_line(model.model),
                state + code,
                "" if model.rows is None else number(model.rows),
                watermark(model.watermark),
                moment_words(model.since),
                short(model.receipt),
                model.run or "",
            )
        )
    return table(rows, right=frozenset({2})) if models else ["no model had been begun"]


def difference_text(difference: RunDifference, look: Look) -> list[str]:
    """Two runs beside each other: only what differs."""
    lines = [look.ink(f"run {difference.one} beside run {difference.other}", "bold"), *_sides(difference.sides, "  ")]
    for model in difference.models:
        lines += [f"  {look.ink(one_line(model.model), 'bold')}", *_sides(model.sides, "    ")]
    if difference.same:
        lines.append(f"  the same: {listed(map(one_line, difference.same))}")
    return lines


def _sides(sides: Sequence[Side], indent: str) -> list[str]:
    return table([(side.what, one_line(side.one or "–"), one_line(side.other or "–")) for side in sides], indent=indent)


# --- verify, bundle -----------------------------------------------------------------------------------------------------


def verify_text(result: VerifyResult, look: Look) -> list[str]:
    """What was looked at, and what does not agree."""
    lines = headed(result, look)
    lines.append(f"looked at: {', '.join(f'{number(each.count)} {each.topic}' for each in result.verified.looked)}")
    against = [each for each in result.verified.mismatches if each.severity == "error"]
    for each in result.verified.mismatches:
        ink: Ink = "red" if each.severity == "error" else "yellow"
        label = look.ink(f"{each.severity}[{each.code}]", ink, "bold")
        lines.append(f"  {label} {each.topic}, {one_line(each.subject)}: {one_line(each.because)}")
    if against:
        return [*lines, "", look.ink(f"ledger and warehouse do not agree: {counted(len(against), 'fault')}", "red", "bold")]
    return [*lines, "", look.ink("ledger and warehouse agree, and every relation is as its receipt left it", "green")]


def drawn_text(result: DrawnResult) -> list[str]:
    """The drawing, and nothing else: it is piped on."""
    return [printable(line) for line in result.text.rstrip("\n").split("\n")]


def report_text(result: ReportResult, look: Look) -> list[str]:
    """Where the page is."""
    return [
        *headed(result, look),
        f"report of run {result.run}: {counted(result.models, 'model')}, {number(result.bytes)} bytes",
        f"  {look.ink(one_line(result.file), 'bold')}",
    ]


def bundle_text(result: BundleResult, look: Look) -> list[str]:
    """Where it is, and what to do with it."""
    withheld = f", {result.withheld} of them with words withheld" if result.withheld else ""
    return [
        *headed(result, look),
        f"bundle of run {result.run}: {counted(result.records, 'record')}{withheld}, {number(result.bytes)} bytes",
        f"  {one_line(result.file)}",
        "",
        f"next: {look.ink(f'interlock audit replay {one_line(result.file)}', 'bold')}",
    ]
