"""`status`: from the ledger and the project alone. It needs no warehouse and never waits."""

from __future__ import annotations

from typing import Any, Literal

from interlock.engine.cases.reading import compile_offline
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.places import lock_path
from interlock.engine.ledger.reader import LedgerAbsent, LedgerBroken, LedgerUnreadable, LedgerWhole
from interlock.engine.ledger.since_seal import read_since_seal
from interlock.engine.ledger.subjects import RunFold
from interlock.engine.outcome import exit_of
from interlock.engine.results import ModelStatus, RunStatus
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.selection import heads_of, modified_of
from interlock.engine.warehouse.lock import holder_of


def status_of(ground: Ground) -> dict[str, Any]:
    """Fields of a `StatusResult`, without where it is."""
    ledger = read_since_seal(ground.directory)
    fold = ledger.fold if isinstance(ledger, LedgerWhole) else Fold()
    findings: list[Diagnostic] = []
    compiled: Compiled | None = None
    try:
        compiled = compile_offline(ground)
        broken = [finding for finding in (*ground.project.findings, *compiled.findings) if finding.severity == "error"]
    except Refused as error:
        broken = list(error.findings)
    if broken:
        first = broken[0]
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        findings.append(
            Diagnostic(
                code=first.code,
                severity="warning",
                summary=f"the working tree does not compile: {first.summary}{more}",
                remedy="see `interlock compile`; what stands here speaks of the last runs",
                at=first.at,
            )
        )
    match ledger:
        case LedgerAbsent():
            state = "absent"
            if ground.database_exists():
                state += f" (whether `{ground.target.path}` holds what a lost one knew of, `interlock doctor` says)"
        case LedgerWhole(torn=torn):
            state = f"whole ({torn} bytes of an unfinished record)" if torn else "whole"
        case LedgerBroken() | LedgerUnreadable():
            state = f"{'broken' if isinstance(ledger, LedgerBroken) else 'unreadable'}: {ledger.because}"
            findings.append(ledger.finding)
    holder = holder_of(lock_path(ground.target))
    busy = (
        f"`{holder.command}`{f', run {holder.run},' if holder.run else ''} of {holder.user} (process {holder.pid}) since {holder.since}"
        if holder
        else ""
    )
    untrusted = isinstance(ledger, LedgerBroken | LedgerUnreadable)
    return {
        "outcome": "refused" if untrusted else "done",
        "exit_code": exit_of("refused" if untrusted else "done", untrusted=untrusted),
        "findings": tuple(findings),
        "ledger": state,
        "models": _models(fold, compiled, known="no" if untrusted else "yes"),
        "runs": _runs(fold, busy=bool(holder)),
        "busy": busy,
        "leftovers": _leftovers(fold, compiled),
    }


def _models(fold: Fold, compiled: Compiled | None, *, known: Literal["yes", "no"]) -> tuple[ModelStatus, ...]:
    """Every model beside what the ledger says of it; of one that cannot be read, nothing is said: neither that it ran nor that it never did."""
    unrun = "never run" if known == "yes" else "not known"
    heads = heads_of(fold)
    modified = modified_of(compiled, heads) if compiled is not None else frozenset()
    names = set(fold.models) | set(compiled.models if compiled is not None else ())
    found = []
    for name in sorted(names):
        told = fold.models.get(name)
        model = compiled.models.get(name) if compiled is not None else None
        if model is not None and model.kind == "ephemeral":
            continue
        if model is None and compiled is not None and (told is None or told.head.token is None):
            continue
        attempt = told.attempt if told is not None else None
        last = told.last if told is not None else None
        refusal = attempt.refusal if attempt is not None else None
        changed = "" if model is None or known == "no" else "new" if name not in heads else "modified" if name in modified else "unchanged"
        found.append(
            ModelStatus(
                model=name,
                kind=model.kind if model is not None else "deleted" if compiled is not None else "",
                last_state=attempt.state if attempt is not None else "accepted" if last is not None else unrun,
                last_run=attempt.run if attempt is not None else None,
                last_code=refusal.code if refusal is not None else "",
                last_because=refusal.because if refusal is not None else "",
                changed=changed,
                receipt=last.head.receipt if last is not None else None,
                rows=last.head.rows if last is not None else None,
                watermark=last.head.watermark if last is not None else None,
                checkpointed_at=last.time if last is not None else "",
            )
        )
    return tuple(found)


def _runs(fold: Fold, *, busy: bool) -> tuple[RunStatus, ...]:
    shown = sorted(fold.open.values(), key=lambda run: run.opened_sequence)
    ended = sorted((run for run in fold.runs.values() if not run.is_open), key=lambda run: run.opened_sequence)
    begun = [run for run in ended if run.running_since is not None]
    if begun:
        shown.append(begun[-1])
    if ended and ended[-1].running_since is None:
        shown.append(ended[-1])
    return tuple(_run(run, busy=busy) for run in shown)


def _run(run: RunFold, *, busy: bool) -> RunStatus:
    outcome: str
    if run.close is not None and run.state == "closed":
        outcome = run.close.outcome
    elif run.settled is not None:
        outcome = "settled"
    else:
        outcome = "" if run.is_open else "refused"
    why = ""
    # While its process is at work, what it writes is no more in doubt than anything else that is not done yet.
    writing = () if busy else (attempt.model for attempt in run.open_attempts if attempt.state in ("bootstrapping", "committed"))
    if run.is_open:
        why = (
            "it is running"
            if busy
            else "its process is gone, and nothing goes on with it by itself: `interlock resume` ends it and does the rest of its plan, "
            "if all is still as it was planned; `interlock run` ends it and plans anew"
        )
    refusal = run.refusal if run.running_since is None else None
    return RunStatus(
        run=run.run,
        plan=run.plan or "",
        state=run.state,
        outcome=outcome,
        started_at=run.opened,
        models=len(run.authorize.scope) if run.authorize is not None else 0,
        refused=tuple(sorted(name for name, attempt in run.attempts.items() if attempt.state == "refused")),
        in_doubt=tuple(sorted(writing)),
        why_open=why,
        why_refused=f"[{refusal.code}] {refusal.because}" if refusal is not None else "",
    )


def _leftovers(fold: Fold, compiled: Compiled | None) -> tuple[str, ...]:
    if compiled is None:
        return ()
    return tuple(
        f"`{name}`: its model is gone, its relation is still there; `interlock plan --drop-orphans` drops it"
        for name, known in sorted(fold.models.items())
        if known.head.token is not None and (name not in compiled.models or compiled.models[name].kind == "ephemeral")
    )
