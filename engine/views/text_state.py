"""Where things stand: status, listing, checks."""

from __future__ import annotations

from interlock.engine.results import CheckResult, ListResult, ModelStatus, RunStatus, StatusResult
from interlock.engine.views.look import Ink, Look, counted, listed, number, one_line, printable, short, table
from interlock.engine.views.parts import headed, source_line, verdict_line, watermark


def status_text(result: StatusResult, look: Look) -> list[str]:
    """What the ledger knows; what the last run did is apart from what the table holds."""
    lines = [*headed(result, look), f"ledger: {one_line(result.ledger)}"]
    if result.busy:
        lines.append(f"in use: {one_line(result.busy)}")
    lines += [f"left over: {one_line(look.act(each))}" for each in result.leftovers]
    for run in result.runs:
        lines += ["", *_run(run, look)]
    if result.models:
        head = ("model", "kind", "project", "last run", "rows", "watermark", "checkpointed", "receipt")
        rows = [tuple(look.ink(cell, "dim") for cell in head), *(_model(model, look) for model in result.models)]
        lines += ["", *table(rows, right=frozenset({4}))]
    stopped = [model for model in result.models if model.last_code]
    if stopped:
        lines.append("")
        lines += [f"  {one_line(model.model)}: [{model.last_code}] {one_line(model.last_because)}".rstrip() for model in stopped]
    return lines


def _model(model: ModelStatus, look: Look) -> tuple[str, ...]:
    inks: dict[str, Ink] = {"checkpointed": "green", "refused": "red"}
    return (
        one_line(model.model),
        model.kind,
        model.changed,
        look.ink(model.last_state or "never run", inks.get(model.last_state, "yellow")),
        "" if model.rows is None else number(model.rows),
        watermark(model.watermark),
        moment_words(model.checkpointed_at),
        short(model.receipt),
    )


def moment_words(stamp: str) -> str:
    """A stored time, to the second."""
    return f"{stamp[:10]} {stamp[11:19]}Z" if len(stamp) > 19 and stamp.endswith("Z") else stamp


def _run(run: RunStatus, look: Look) -> list[str]:
    if run.why_refused:
        when = f"started {moment_words(run.started_at)}, plan {short(run.plan)}"
        return [f"run {run.run}: {look.ink('refused before it began', 'yellow')}, {when}", f"  {one_line(run.why_refused)}"]
    outcome = run.outcome or run.state
    ink: Ink = "green" if outcome == "succeeded" else "yellow"
    lines = [
        f"run {run.run}: {look.ink(outcome, ink)}, {counted(run.models, 'model')}, started {moment_words(run.started_at)}, plan {short(run.plan)}"
    ]
    if run.refused:
        lines.append(f"  refused: {listed(run.refused)}")
    if run.in_doubt:
        lines.append(f"  in doubt: {listed(run.in_doubt)}")
    if run.why_open:
        lines.append(f"  open: {one_line(look.act(run.why_open))}")
    return lines


def list_text(result: ListResult, look: Look) -> list[str]:
    """A line for each node."""
    lines = headed(result, look) + [printable(said) for said in result.said]
    rows = [
        (
            one_line(node.name),
            node.kind,
            one_line(node.relation),
            one_line(node.path),
            " ".join(f"tag:{tag}" for tag in node.tags),
            ("reads " + listed(node.parents, most=6)) if node.parents else "",
            one_line(node.description),
        )
        for node in result.nodes
    ]
    return lines + table(rows)


def check_text(result: CheckResult, look: Look) -> list[str]:
    """Verdicts by model. Where no check was evaluated it says so, and calls it no pass."""
    lines = headed(result, look)
    inks: dict[str, Ink] = {"passed": "green", "failed": "red", "not_evaluated": "yellow"}
    for model in result.models:
        lines += ["", look.ink(one_line(model.model), "bold") + (f" ({one_line(model.ranges)})" if model.ranges else "")]
        if not model.verdicts:
            lines.append("  no checks")
        for verdict in model.verdicts:
            ink: Ink = "yellow" if verdict.outcome == "failed" and verdict.severity == "warn" else inks[verdict.outcome]
            lines.append("  " + look.ink(verdict_line(verdict), ink))
    for source in result.sources:
        lines += ["", look.ink(f"source {one_line(source.source)}", "bold")]
        severities = {(check.question, check.column, check.limit_seconds): check.severity for check in source.checks}
        for said in source.verdicts:
            severity = severities[said.question, said.column, said.limit_seconds]
            shade: Ink = "green" if said.outcome == "passed" else "red" if severity == "error" else "yellow"
            lines.append("  " + look.ink(source_line(said, severity), shade))
    if result.evaluated + result.not_evaluated == 0:
        return [*lines, "", "no check was evaluated, which is not a pass"]
    passed = result.evaluated - result.failed - result.warned
    parts = [f"{passed} passed", f"{result.failed} failed"]
    if result.warned:
        parts.append(counted(result.warned, "warning"))
    if result.not_evaluated:
        parts.append(f"{result.not_evaluated} not evaluated")
    return [*lines, "", f"checks: {', '.join(parts)}"]
