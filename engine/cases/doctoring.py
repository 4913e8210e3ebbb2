"""`doctor`: one look at everything that a run rests on. It changes nothing, and says of each question whether it was answered."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any, Literal

from interlock.engine.cases.attending import unattached
from interlock.engine.cases.reading import compile_offline
from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.ledger.places import lock_path
from interlock.engine.ledger.reader import LedgerAbsent, LedgerBroken, LedgerUnreadable, LedgerWhole, read
from interlock.engine.outcome import exit_of, is_untrusted
from interlock.engine.planner.observe import UNSOUND, read_sound
from interlock.engine.results import Diagnosis, DoctorResult
from interlock.engine.runner.authority import Sight, look
from interlock.engine.runner.ground import Ground
from interlock.engine.version import VERSION
from interlock.engine.warehouse.duckdb.session import KNOWN_WRONG
from interlock.engine.warehouse.duckdb.session import VERSION as ENGINE
from interlock.engine.warehouse.lock import holder_of
from interlock.engine.warehouse.protocol import Reader, WarehouseError


def doctor_of(ground: Ground, where: Mapping[str, Any]) -> DoctorResult:
    """Every question, in the order in which one rests on the other."""
    found = [_project(ground), _versions(), _locks(ground), _ledger(ground)]
    reader: Reader | None = None
    refusal: Refused | None = None
    try:
        reader = ground.reader()
    except Refused as error:
        refusal = error
    try:
        found += _warehouse(ground, reader, refusal)
    finally:
        if reader is not None:
            reader.close()
    found.append(_open_runs(ground))
    failed = [each for each in found if each.answer == "fail"]
    unknown = [each for each in found if each.answer == "not_evaluated"]
    outcome: Literal["refused", "done"] = "refused" if failed or unknown else "done"
    left = unattached(ground)
    return DoctorResult(
        command="doctor",
        outcome=outcome,
        exit_code=exit_of(outcome, untrusted=any(is_untrusted(each.code) for each in failed)),
        findings=(left,) if left is not None else (),
        checks=tuple(found),
        **where,
    )


def _passed(check: str, said: str) -> Diagnosis:
    return Diagnosis(check=check, answer="pass", said=said)


def _failed(check: str, finding: Diagnostic, *, more: int = 0) -> Diagnosis:
    said = "; ".join(part for part in (finding.summary, finding.because) if part)
    if more:
        said += f"; and {more} more"
    return Diagnosis(check=check, answer="fail", said=said, code=finding.code, remedy=finding.remedy)


def _unknown(check: str, said: str, remedy: str = "") -> Diagnosis:
    return Diagnosis(check=check, answer="not_evaluated", said=said, remedy=remedy)


def _project(ground: Ground) -> Diagnosis:
    try:
        compiled = compile_offline(ground)
    except Refused as error:
        return _failed("project", error.findings[0], more=len(error.findings) - 1)
    errors = [finding for finding in (*ground.project.findings, *compiled.findings) if finding.severity == "error"]
    if errors:
        return _failed("project", errors[0], more=len(errors) - 1)
    return _passed("project", f"{len(compiled.models)} models and seeds compile")


def _versions() -> Diagnosis:
    said = f"Interlock {VERSION}, DuckDB {ENGINE}, Python {platform.python_version()}"
    if ENGINE in KNOWN_WRONG:
        because = f"DuckDB {ENGINE}: {KNOWN_WRONG[ENGINE]}"
        return Diagnosis(check="versions", answer="fail", said=because, code="P428", remedy="install another version of DuckDB")
    return _passed("versions", said)


def _locks(ground: Ground) -> Diagnosis:
    holder = holder_of(lock_path(ground.target))
    if holder is None:
        return _passed("lock", "nobody holds it")
    run = f", run {holder.run}," if holder.run else ""
    return _passed(
        "lock", f"`{holder.command}`{run} of {holder.user} (process {holder.pid} on {holder.host}) holds it since {holder.since}"
    )


def _ledger(ground: Ground) -> Diagnosis:
    found = read(ground.directory)
    match found:
        case LedgerAbsent():
            return _passed("ledger", "there is none yet")
        case LedgerWhole(fold=fold, tip=tip, torn=torn):
            said = f"{tip.sequence} records, each as it was written, up to {fold.time}"
            return _passed("ledger", f"{said}; {torn} bytes of an unfinished record are ignored" if torn else said)
        case LedgerBroken() | LedgerUnreadable():
            return _failed("ledger", found.finding)


def _warehouse(ground: Ground, reader: Reader | None, refusal: Refused | None) -> list[Diagnosis]:
    if refusal is not None:
        first = refusal.findings[0]
        busy = first.code in ("W603", "W604")
        one = _unknown("warehouse", f"{first.summary}", first.remedy) if busy else _failed("warehouse", first)
        rest = "the database could not be opened"
        return [one, _unknown("authority", rest, one.remedy), _unknown("receipts", rest, one.remedy)]
    sight = look(ground.directory, ground.project.id, reader)
    finding = sight.finding
    said = f"{finding.because} (row {finding.row})"
    remedy = finding.remedy.replace("TARGET", ground.target.name)
    if reader is not None:
        there = _passed("warehouse", f"`{ground.target.path}` can be opened")
    elif finding.decision == "refuse":
        there = Diagnosis(check="warehouse", answer="fail", said=f"`{ground.target.path}` is not there", code=finding.code, remedy=remedy)
    else:
        there = _passed("warehouse", f"`{ground.target.path}` does not exist yet")
    if finding.decision == "refuse":
        trusted = Diagnosis(check="authority", answer="fail", said=said, code=finding.code, remedy=remedy)
    else:
        trusted = _passed("authority", said)
    return [there, trusted, _receipts(ground, sight, reader)]


def _receipts(ground: Ground, sight: Sight, reader: Reader | None) -> Diagnosis:
    if reader is None:
        if sight.finding.decision == "refuse":
            return _unknown("receipts", "there is no database", sight.finding.remedy.replace("TARGET", ground.target.name))
        return _passed("receipts", "there are none yet")
    if sight.finding.identity == "unreadable":
        return _unknown("receipts", "the control tables cannot be read", "restore the database from a backup")
    heads = [head for head in sight.heads if head.receipt is not None]
    try:
        _, unsound = read_sound(reader, ground.project.id, heads)
    except WarehouseError as error:
        return Diagnosis(check="receipts", answer="fail", said=f"receipts cannot be read: {error}", code="K706", remedy=error.remedy)
    if unsound:
        first = list(unsound.values())[:5]
        said = "; ".join((*first, *([f"and {len(unsound) - len(first)} more"] if len(unsound) > len(first) else ())))
        return Diagnosis(check="receipts", answer="fail", said=said, code="K706", remedy=UNSOUND.replace("TARGET", ground.target.name))
    return _passed("receipts", f"{len(heads)} heads, each with its receipt as it was written")


def _open_runs(ground: Ground) -> Diagnosis:
    found = read(ground.directory)
    if not isinstance(found, LedgerWhole):
        if isinstance(found, LedgerAbsent):
            return _passed("open runs", "there are none")
        return _unknown("open runs", "the ledger cannot be read", found.finding.remedy)
    if not found.fold.open:
        return _passed("open runs", "there are none")
    names = ", ".join(found.fold.open)
    if holder_of(lock_path(ground.target)) is not None:
        return _passed("open runs", f"{names}: a process is at work")
    return Diagnosis(
        check="open runs",
        answer="fail",
        said=f"{names}: its process is gone",
        code="G563",
        remedy="`interlock resume` ends it and does the rest of its plan, if all is still as it was planned; `interlock run` plans anew",
    )
