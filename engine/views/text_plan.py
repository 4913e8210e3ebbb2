"""A plan for its reviewer: by layers, each model's action, why, which rows, what to see; refusals with what helps; the next command."""

from __future__ import annotations

from collections import Counter
from typing import Final

from interlock.engine.planner.plan import Action, Bounds, Item, PlanBody
from interlock.engine.results import DiffResult, PlanResult
from interlock.engine.views.commands import apply_of, run_of, show_of
from interlock.engine.views.diagnostics import diff_lines
from interlock.engine.views.look import Ink, Look, counted, indented, listed, number, one_line, pad, printable, short, width_of
from interlock.engine.views.parts import authority_lines, by_reason, headed, refusal
from interlock.machines.evidence import Span

_INKS: Final[dict[Action, Ink]] = {
    "create": "green",
    "replace": "yellow",
    "convert": "yellow",
    "append": "green",
    "merge": "green",
    "replace_range": "yellow",
    "snapshot": "green",
    "recheck": "blue",
    "move": "yellow",
    "drop": "red",
    "adopt": "yellow",
    "no_op": "dim",
    "refuse": "red",
}
_RANGES_SHOWN: Final = 6


def action_word(action: str) -> str:
    """An action as people read it."""
    return "no-op" if action == "no_op" else action.replace("_", " ")


def plan_text(result: PlanResult, look: Look) -> list[str]:
    """The whole plan as lines."""
    lines = headed(result, look)
    lines += authority_lines(result.authority, look)
    lines += [
        look.act(f"run {one_line(run)} did not end: `interlock resume` does the rest of its plan; the next `apply` or `run` ends it first")
        for run in result.open_runs
    ]
    lines += [printable(said) for said in result.said]
    body = result.body
    if body is None:
        return [*lines, "no plan was made"]
    lines += _layers(body, look)
    lines += _untouched(body, look)
    lines += _refused(body, look)
    lines += ["", _counts(body)]
    if result.plan is not None:
        lines += ["", *_what_next(result, body, result.plan, look)]
    return lines


def _layers(body: PlanBody, look: Look) -> list[str]:
    doing = [item for item in body.items if item.action not in {"no_op", "refuse"}]
    lines: list[str] = []
    widths = (
        max((width_of(action_word(item.action)) for item in doing), default=0),
        max((width_of(item.model) for item in doing), default=0),
        max((width_of(_kind(item)) for item in doing), default=0),
    )
    for layer in sorted({item.layer for item in doing}):
        lines += ["", look.ink(f"layer {layer}", "bold")]
        for item in doing:
            if item.layer == layer:
                lines += _item(item, widths, look)
    return lines


def _kind(item: Item) -> str:
    return f"{item.kind} {item.strategy}" if item.strategy else item.kind


def _item(item: Item, widths: tuple[int, int, int], look: Look) -> list[str]:
    word = look.ink(pad(action_word(item.action), widths[0]), _INKS[item.action])
    name = pad(one_line(item.model), widths[1])
    relation = f"{one_line(item.schema)}.{one_line(item.relation)}"
    lines = [f"  {word}  {name}  {pad(_kind(item), widths[2])}  {relation}".rstrip()]
    below = " " * (widths[0] + 4)
    for reason in item.reasons:
        lines += indented(reason, below + "  ", first=below, width=look.width)
    if item.full_refresh == "asked":
        lines.append(f"{below}{look.ink('full refresh: every row is made again', 'yellow')}")
    if item.shrink == "allowed":
        lines.append(f"{below}{look.ink('the result may be smaller than what stands there (--allow-shrink)', 'yellow')}")
    if item.renamed_from:
        lines.append(f"{below}renamed from {one_line(item.renamed_from)}")
    if item.bounds is not None:
        lines += [below + line for line in bounds_lines(item.bounds)]
    if item.checks:
        warnings = sum(check.severity == "warn" for check in item.checks)
        lines.append(f"{below}{counted(len(item.checks), 'check')}" + (f", {warnings} of them only warn" if warnings else ""))
    on_rows = [one_line(finding.column) for finding in item.contract_findings if finding.proof == "at_run_time"]
    if on_rows:
        lines += indented(f"proved on the rows, not before: no nulls in {', '.join(on_rows)}", below + "  ", first=below, width=look.width)
    for check in item.source_checks:
        match check.question:
            case "freshness":
                asked = f"how fresh {one_line(check.column)} is"
            case "not_null":
                asked = f"no nulls in {one_line(check.column)}"
            case "cells":
                asked = "whether its declared types hold its cells"
        lines.append(f"{below}asks {one_line(check.source)}: {asked}" + (", which only warns" if check.severity == "warn" else ""))
    for note in item.notes:
        lines += indented(note, below + "      ", first=f"{below}{look.ink('note:', 'blue')} ", width=look.width)
    return lines


def bounds_lines(bounds: Bounds) -> list[str]:
    """Which of the query's rows are taken, in words."""
    column = one_line(bounds.column)
    lines: list[str] = []
    if bounds.ranges:
        lines.append(f"replaces {counted(len(bounds.ranges), 'range')} of {column} ({bounds.type}):")
        lines += ["  " + _span(column, span) for span in bounds.ranges[:_RANGES_SHOWN]]
        if len(bounds.ranges) > _RANGES_SHOWN:
            lines.append(f"  … {len(bounds.ranges) - _RANGES_SHOWN} more, to {one_line(bounds.ranges[-1].high)}")
    else:
        lower = f"{one_line(bounds.low)} <= " if bounds.low is not None else ""
        upper = f" < {one_line(bounds.until)}" if bounds.until is not None else ""
        what = f"rows with {lower}{column}{upper}" if lower or upper else f"all rows by {column}"
        lines.append(f"{what} ({bounds.type})")
    if bounds.lookback:
        lines.append(f"looks back {one_line(bounds.lookback)} from the watermark")
    if bounds.open_ended:
        lines.append(f"no upper end: {one_line(bounds.open_ended)}")
    return lines


def _span(column: str, span: Span) -> str:
    return f"{one_line(span.low)} <= {column} < {one_line(span.high)}"


def _untouched(body: PlanBody, look: Look) -> list[str]:
    idle = [(item.model, "; ".join(item.reasons)) for item in body.items if item.action == "no_op"]
    lines: list[str] = []
    if idle:
        lines += ["", f"nothing to do for {counted(len(idle), 'model')}", *by_reason(idle, look.width)]
    for item in body.items:
        if item.action == "no_op" and item.notes:
            lines += [f"  note on {one_line(item.model)}: {one_line(note)}" for note in item.notes]
    planned = {f"{item.schema}.{item.relation}" for item in body.items if item.action == "drop"}
    orphans = [orphan for orphan in body.orphans if orphan.relation not in planned]
    if orphans:
        acts = "`--drop-orphans` plans to drop them; a renamed model says `renamed_from`"
        lines += ["", f"{counted(len(orphans), 'relation')} that no model makes any more ({acts})"]
        lines += [f"  {one_line(orphan.relation)}, made for {one_line(orphan.model)}" for orphan in orphans]
    return lines


def _refused(body: PlanBody, look: Look) -> list[str]:
    items = [item for item in body.items if item.action == "refuse"]
    if not items:
        return []
    lines = ["", look.ink(f"refused: {counted(len(items), 'model')}", "red", "bold")]
    for item in items:
        code, because, remedy = (item.refusal.code, item.refusal.because, item.refusal.remedy) if item.refusal else ("", "", "")
        summary = f"{item.model} ({item.path})" if item.path else item.model
        lines += refusal(look, code=code, summary=summary, because=because or "; ".join(item.reasons), remedy=remedy)
    return lines


def _counts(body: PlanBody) -> str:
    had = Counter(item.action for item in body.items)
    known = {action: had[action] for action in _INKS if action in had}
    said = [counted(count, "no-op") if action == "no_op" else f"{number(count)} {action_word(action)}" for action, count in known.items()]
    return "plan: " + (", ".join(said) if said else "no model is selected")


def _what_next(result: PlanResult, body: PlanBody, plan: str, look: Look) -> list[str]:
    lines = [f"as of {body.as_of}", f"plan id {plan}" if result.saved == "yes" else f"plan id {plan} (not saved)"]
    doing = [item.model for item in body.items if item.action not in {"no_op", "refuse"}]
    if not doing:
        return [*lines, "there is nothing to apply"]
    if result.saved == "yes":
        rest = " does the rest, and ends partial" if any(item.action == "refuse" for item in body.items) else ""
        lines.append(f"next: {look.ink(apply_of(body, plan, look.given), 'bold')}{rest}")
    else:
        same = "saves it, to be applied" if look.given.protected == "yes" else "is the same work"
        lines.append(f"next: {look.ink(run_of(body, look.given), 'bold')} {same}")
    shown = next((item.model for item in body.items if item.model in doing and item.statements), doing[0])
    return [*lines, f"      {show_of(body, shown, look.given)} prints the SQL"]


def _contracts(result: DiffResult, look: Look) -> list[str]:
    """What models promise now, beside what they promised when they were last applied."""
    if not result.differences:
        return ["every model promises what it promised when it was last applied"]
    lines: list[str] = []
    for difference in result.differences:
        lines += ["", look.ink(one_line(difference.subject), "red" if difference.code else "green", "bold")]
        lines += indented(difference.planned, " " * 9, first="  before:  ", width=look.width)
        lines += indented(difference.found, " " * 9, first="  now:     ", width=look.width)
        lines += indented(difference.remedy, " " * 9, first="  reach:   ", width=look.width)
    breaking = sum(bool(difference.code) for difference in result.differences)
    return [*lines, "", f"{counted(len(result.differences), 'change')} of contracts, {breaking} breaking"]


def diff_text(result: DiffResult, look: Look) -> list[str]:
    """A plan beside the working tree and the warehouse as they are now."""
    lines = [*headed(result, look), f"plan {short(result.plan)}"]
    if result.about == "contracts":
        return [*lines, *_contracts(result, look)]
    if not result.differences:
        return [*lines, "everything that the plan rests on is as it was: it can be applied"]
    for difference in result.differences:
        lines += ["", f"{look.ink(f'changed[{difference.code}]', 'yellow', 'bold')}: {one_line(difference.subject)}"]
        lines += indented(difference.planned, " " * 11, first="  planned: ", width=look.width)
        lines += indented(difference.found, " " * 11, first="  found:   ", width=look.width)
        lines += diff_lines(difference.diff, look)
        if difference.remedy:
            lines += indented(look.act(difference.remedy), " " * 11, first=f"  {look.ink('remedy:', 'green')}  ", width=look.width)
    names = listed(dict.fromkeys(difference.subject for difference in result.differences))
    return [*lines, "", f"{counted(len(result.differences), 'difference')} ({one_line(names)}): this plan would be refused; make a new one"]
