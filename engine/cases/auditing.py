"""`audit`: a ledger read again, from a project or from a file, and what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from interlock.engine.audit import bundle as bundles
from interlock.engine.audit.difference import Pair, RunDifference
from interlock.engine.audit.facts import Fact
from interlock.engine.audit.replay import Replay, Replayed, Stop, demand_reached, known_tip, stop_at
from interlock.engine.audit.report import Gathered, Report, report_of
from interlock.engine.audit.story import Plans, explain, explain_run
from interlock.engine.audit.tape import Flaw, Part, Read, Tape, Tip, parts_of
from interlock.engine.audit.timeline import Line, Wanted, lines_of, model_of
from interlock.engine.audit.verify import Mismatch, Verified, Word, verify
from interlock.engine.cases.reading import compile_offline
from interlock.engine.clock import moment, stamp
from interlock.engine.compiler.lineage_kept import KeptLineages
from interlock.engine.diagnostics import Diagnostic, Outcome, Refused, refused
from interlock.engine.diagrams.markdown import pages
from interlock.engine.ledger.durable import write_file
from interlock.engine.ledger.places import lock_path
from interlock.engine.ledger.reader import segment_numbers, unreadable
from interlock.engine.outcome import exit_of, is_untrusted
from interlock.engine.planner.plan import PlanBody
from interlock.engine.runner.authority import demand, look
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.planning import load
from interlock.engine.version import VERSION
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.lock import holder_of
from interlock.engine.warehouse.protocol import Reader, WarehouseError
from interlock.machines.evidence import AcceptEvidence, AuthorizeEvidence
from interlock.machines.refusals import CATALOGUE


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where a ledger is read from, and the plans beside it."""

    parts: tuple[Part, ...]
    plans: Plans
    start: bundles.Start | None = None
    behind: Tip | None = None
    """A record that is known from elsewhere, behind which to begin."""
    is_written: bool = False
    """Somebody holds the lock: a last line that is not whole yet is no fault."""

    def tape(self) -> Iterator[Read | Flaw]:
        """A new pass."""
        for each in Tape(self.parts, start=self.behind or bundles.tip_of(self.start)):
            if not (self.is_written and isinstance(each, Flaw) and each.kind == "torn"):
                yield each

    def replay(self) -> Replay:
        """A new replay, from where the ledger begins or the bundle's slice does."""
        return bundles.replay_from(self.start) if self.start is not None else Replay(behind=self.behind)


def shelf_of(place: Path | Ground) -> Shelf:
    """The ledger of a project's target, or the one that a path means (a bundle brings its plan).

    Raises:
        Refused: S101, nothing there is a ledger, or the target has none yet; K708, it does not answer.
    """
    if isinstance(place, Path):
        parts = parts_of(place)
        if parts[0].member is None:
            return Shelf(parts=parts, plans=_plans_in(_plans_beside(parts[0])))
        opened = bundles.open_bundle(place)
        return Shelf(parts=parts, plans=bundles.plans_of(opened), start=opened.start)
    if not _has_ledger(place):
        raise refused(
            "S101",
            f"target `{place.target.name}` has no ledger yet",
            remedy="`interlock run` begins it; or name a ledger's file or directory",
        )
    is_written = holder_of(lock_path(place.target)) is not None
    return Shelf(parts=parts_of(place.directory), plans=_plans_in(place.directory), is_written=is_written)


def _has_ledger(ground: Ground) -> bool:
    try:
        return bool(segment_numbers(ground.directory))
    except OSError as error:
        raise Refused(unreadable(error).finding) from error


def _plans_beside(part: Part) -> Path:
    parent = part.path.parent
    return parent.parent if parent.name == "ledger" else parent


def _plans_in(directory: Path) -> Plans:
    def plan(plan_id: str) -> PlanBody | str:
        try:
            found = load(directory, plan_id, {}).body
        except Refused as error:
            return f"the plan's SQL and bounds are not shown: {error.findings[0].summary}"
        return found if found is not None else f"plan {plan_id[:12]} holds nothing"

    return plan


# --- log ----------------------------------------------------------------------------------------------------------------


def log_of(place: Path | Ground, wanted: Wanted, limit: int | None) -> dict[str, Any]:
    """Fields of a `LogResult`: a page of lines, and where the next begins.

    Raises:
        Refused: S114, a model or run that is named is nowhere known.
    """
    shelf = shelf_of(place)
    lines: list[Line] = []
    flaws: list[Flaw] = []
    next_after: int | None = None
    for each in lines_of(shelf.tape(), wanted):
        if isinstance(each, Flaw):
            flaws.append(each)
        elif limit is not None and len(lines) == limit:
            next_after = lines[-1].sequence
            break
        else:
            lines.append(each)
    if not lines and not flaws:
        _refuse_unknown(place, shelf, wanted)
    return {"lines": tuple(lines), "next_after": next_after, **_ended(flaws)}


def log_stream(place: Path | Ground, wanted: Wanted) -> tuple[dict[str, Any], Iterator[Line]]:
    """How a timeline ends, and its lines one by one. Two passes: whether the chain holds is said before the first line.

    Raises:
        Refused: S114, a model or run that is named is nowhere known.
    """
    shelf = shelf_of(place)
    flaws = list(islice((each for each in shelf.tape() if isinstance(each, Flaw)), 1))
    lines = (each for each in lines_of(shelf.tape(), wanted) if isinstance(each, Line))
    first = next(lines, None)
    if first is None and not flaws:
        _refuse_unknown(place, shelf, wanted)
    return _ended(flaws), lines if first is None else chain((first,), lines)


def _refuse_unknown(place: Path | Ground, shelf: Shelf, wanted: Wanted) -> None:
    """Nothing fits. That is an answer about a model or run that is known; a name that nobody knows is a mistake.

    A bundle holds a slice: what it does not know may well be in its ledger.
    """
    if shelf.start is not None:
        return
    models = {*place.project.models, *place.project.seeds} if isinstance(place, Ground) else set()
    is_run = wanted.run is None
    for each in shelf.tape():
        if isinstance(each, Read):
            entry = each.numbered.entry
            is_run = is_run or (entry.run or "").startswith(wanted.run or "")
            if entry.machine == "model_run":
                models.add(model_of(entry))
            elif isinstance(entry.evidence, AuthorizeEvidence):
                models.update(item.model for item in entry.evidence.scope)
            elif isinstance(entry.evidence, AcceptEvidence):
                models.update(taken.model for taken in entry.evidence.heads)
    remedy = "`interlock audit log` lists what there is; `interlock status` says how each model stands"
    if wanted.model is not None and wanted.model not in models:
        raise refused("S114", f"the ledger knows no model `{wanted.model}`", because="no run of it ever had work for one", remedy=remedy)
    if not is_run:
        raise refused("S114", f"the ledger has no run `{wanted.run}`", because="no run's id is that, or begins like that", remedy=remedy)


def since_of(text: str | None) -> str | None:
    """What `--since` says, as a stored time.

    Raises:
        Refused: S104, it is no time.
    """
    if text is None:
        return None
    try:
        return stamp(moment(text))
    except ValueError as error:
        raise refused("S104", f"`{text}` is no time", because=str(error), remedy="write one such as 2026-03-02T10:00:00Z") from error


# --- explain ------------------------------------------------------------------------------------------------------------


def story_of(place: Path | Ground, question: str, run: str | None, *, is_run: bool = False) -> dict[str, Any]:
    """Fields of a `StoryResult`; with `is_run`, the question is a run's id, or how it begins.

    Raises:
        Refused: S114, the ledger knows nothing of it.
    """
    shelf = shelf_of(place)
    flaws: list[Flaw] = []

    def tapes() -> Iterable[Read | Flaw]:
        flaws.clear()
        for each in shelf.tape():
            if isinstance(each, Flaw):
                flaws.append(each)
            yield each

    story = explain_run(question, tapes, shelf.plans) if is_run else explain(question, tapes, shelf.plans, run=run)
    if story is None and run is not None and explain(question, tapes, shelf.plans) is not None:
        raise refused(
            "S114",
            f"`{question}` is in no run `{run}`",
            because=f"the ledger knows `{question}`, and none of its runs is called so or begins like that",
            remedy=f"`interlock audit log --model {question}` lists its runs",
        )
    if story is None:
        code = question.upper()
        if code in CATALOGUE:
            because = f"{code} is `{CATALOGUE[code]}`, and no record of this ledger refuses with it"
            raise refused(
                "S114", f"nothing was refused with {code}", because=because, remedy=f"`interlock explain {code}` says what it means"
            )
        raise refused(
            "S114",
            f"the ledger knows nothing of `{question}`",
            because="it is no model that a run ever had, no run's id, no record and no code of a refusal",
            remedy="`interlock audit log` lists what there is; `interlock status` says how each model stands",
        )
    return {"question": question, "story": story, **_ended(flaws)}


# --- replay -------------------------------------------------------------------------------------------------------------


def replay_of(place: Path | Ground, *, at: str | None, runs: tuple[str, str] | None, tip: str | None = None) -> dict[str, Any]:
    """Fields of a `ReplayResult`: every record judged again.

    Raises:
        Refused: nothing there is a ledger, `--at` is neither record nor time or names a record that is not there yet, or a run of
            `--diff` is not in it.
    """
    stop, behind = stop_at(at), known_tip(tip)
    shelf = replace(shelf_of(place), behind=behind) if behind is not None else shelf_of(place)
    pair = Pair(*runs) if runs is not None else None
    replay, withheld = shelf.replay(), 0
    found, withheld = _replayed(shelf, replay, stop, pair)
    difference = _difference(pair, runs) if pair is not None and runs is not None else None
    return {
        "ledger": str(place) if isinstance(place, Path) else str(place.directory.name),
        "replayed": found,
        "withheld": withheld,
        "at": "yes" if stop is not None else "no",
        "difference": difference,
        **_judged(found),
    }


def _replayed(shelf: Shelf, replay: Replay, stop: Stop | None, pair: Pair | None) -> tuple[Replayed, int]:
    withheld = 0
    for each in shelf.tape():
        if isinstance(each, Flaw):
            replay.flaw(each)
            continue
        if stop is not None and stop.is_past(each.numbered):
            return replay.stopped(), withheld
        withheld += not each.line
        replay.record(each)
        if pair is not None:
            pair.hear(each.numbered.entry)
    if stop is None:
        return replay.result(), withheld
    found = replay.stopped(newest=True)
    demand_reached(stop, found)
    return found, withheld


def _difference(pair: Pair, runs: tuple[str, str]) -> RunDifference:
    found = pair.found()
    chosen = []
    for asked in runs:
        fits = found[asked]
        if len(fits) != 1:
            because = f"{len(fits)} runs begin like that" if fits else "no run begins like that"
            raise refused("S114", f"`{asked}` is not one run of this ledger", because=because, remedy="`interlock audit log` lists them")
        chosen.append(fits[0])
    return pair.difference(chosen[0], chosen[1])


# --- verify -------------------------------------------------------------------------------------------------------------


def verify_of(ground: Ground) -> dict[str, Any]:
    """Fields of a `VerifyResult`: the ledger judged again, then held against the warehouse.

    Raises:
        Refused: there is no ledger (K701 where the warehouse names one), it does not answer, or the warehouse cannot be read.
    """
    # While it is open, nobody can write. A ledger that was read before it, by who waits for it, would be older than the warehouse.
    reader = ground.reader()
    with closing(reader) if reader is not None else nullcontext():
        if not _has_ledger(ground):
            _demand_none(ground, reader)
        shelf = shelf_of(ground)
        word, replay = Word(), Replay()
        for each in shelf.tape():
            if isinstance(each, Flaw):
                replay.flaw(each)
            elif replay.record(each):
                word.hear(each, replay)
        found = replay.result()
        if reader is None:
            because = f"there is no database {ground.target.path}"
            gone = Mismatch(topic="identity", subject=ground.target.name, code="K705", because=because)
            return {"replayed": found, "verified": Verified(looked=(), mismatches=(gone,)), **_ended([], broken=True)}
        try:
            verified = verify(word, replay, found.flaws, reader, ground.project.id)
        except WarehouseError as error:
            raise refusal(error, subject=ground.target.name) from error
    errors = [each for each in verified.mismatches if each.severity == "error"]
    outcome: Outcome = "refused" if errors else "done"
    untrusted = any(is_untrusted(each.code) for each in errors)
    return {"replayed": found, "verified": verified, "outcome": outcome, "exit_code": exit_of(outcome, untrusted=untrusted)}


def _demand_none(ground: Ground, reader: Reader | None) -> None:
    """Stop where the warehouse says that there should be a ledger."""
    try:
        demand(look(ground.directory, ground.project.id, reader), ground.target.name)
    except WarehouseError as error:
        raise refusal(error, subject=ground.target.name) from error


# --- bundle -------------------------------------------------------------------------------------------------------------


def bundle_of(place: Path | Ground, run: str, out: Path | None) -> dict[str, Any]:
    """Fields of a `BundleResult`, after its file was written.

    Raises:
        Refused: S114, there is no such run; W605, the file cannot be written.
    """
    shelf = shelf_of(place)
    cutter, replay = bundles.Cutter(run), shelf.replay()
    for each in shelf.tape():
        if isinstance(each, Flaw):
            replay.flaw(each)
        else:
            replay.record(each)
            cutter.hear(each, replay)
    cutter.end(replay)
    if not cutter.records:
        raise refused("S114", f"`{run}` is no run of this ledger", remedy="`interlock audit log` lists them")
    body = shelf.plans(cutter.plan) if cutter.plan is not None else None
    data = bundles.bundled(cutter, body if isinstance(body, PlanBody) else None, version=VERSION, pages=sorted(pages().items()))
    path = out or Path(f"{cutter.run}.interlock.zip")
    try:
        write_file(path.absolute(), data)
    except OSError as error:
        because = error.strerror or type(error).__name__
        raise refused("W605", f"`{path}` cannot be written", because=because, remedy="name another file with --out") from error
    opened = bundles.open_bundle(path)
    return {
        "run": cutter.run,
        "file": str(path),
        "records": opened.manifest.records,
        "withheld": len(opened.manifest.withheld),
        "bytes": len(data),
        **_ended(islice(replay.flaws, 20)),
    }


# --- report -------------------------------------------------------------------------------------------------------------


def report_on(place: Path | Ground, run: str) -> Report:
    """A run as a value, with its plan, and what is wrong with the ledger that it was read from; `""` as the run means the newest.

    Raises:
        Refused: there is no such run.
    """
    shelf = shelf_of(place)
    gathered = Gathered(run)
    flaws: list[Flaw] = []
    for each in shelf.tape():
        if isinstance(each, Read):
            gathered.hear(each.numbered.entry)
        else:
            flaws.append(each)
    if not gathered.own:
        what = f"`{run}` is no run of this ledger" if run else "this ledger has no run yet"
        raise refused("S114", what, remedy="`interlock audit log` lists them")
    authorized = next((entry.evidence for entry in gathered.own if isinstance(entry.evidence, AuthorizeEvidence)), None)
    plan = shelf.plans(authorized.plan) if authorized is not None else "it was refused before a plan was authorized"
    found = report_of(gathered, plan, project=place.project.name if not isinstance(place, Path) else "")
    found = msgspec.structs.replace(found, findings=_findings(flaws))
    return found if isinstance(place, Path) or not isinstance(plan, PlanBody) else _with_columns(found, plan, place)


def _with_columns(report: Report, plan: PlanBody, ground: Ground) -> Report:
    """The report with column lineage, of the models whose text in the working tree still is the one that ran."""
    try:
        compiled = compile_offline(ground)
    except Refused:
        return report
    ran = {item.model: item.digests.definition for item in plan.items}
    lineages = KeptLineages(ground.project, ground.target, compiled, ground.cache)
    models = []
    for model in report.models:
        now = compiled.models.get(model.name)
        if now is None or now.blocked or now.digests.definition != ran.get(model.name):
            models.append(model)
            continue
        facts = [
            Fact(name=each.column.column, value=", ".join(f"{value.relation}.{value.column}" for value in each.values))
            for each in lineages.of(model.name).columns
        ]
        models.append(msgspec.structs.replace(model, columns=tuple(fact for fact in facts if fact.value)))
    lineages.keep()
    return msgspec.structs.replace(report, models=tuple(models))


# --- shared -------------------------------------------------------------------------------------------------------------


def _ended(flaws: Iterable[Flaw], *, broken: bool = False) -> dict[str, Any]:
    """How an answer ends that was read from a ledger with these flaws: the first of them is said."""
    known = list(flaws)
    if not known and not broken:
        return {"outcome": "done", "exit_code": exit_of("done")}
    return {"outcome": "refused", "exit_code": exit_of("refused", untrusted=True), "findings": _findings(known)}


def _findings(flaws: Iterable[Flaw]) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(
            code="K707",
            summary=f"the ledger is broken at record {flaw.sequence}: {flaw.kind.replace('_', ' ')}",
            because=f"{flaw.place}: {flaw.because}" if flaw.place else flaw.because,
            remedy="`interlock audit replay` lists every fault; what is said here rests on the records that hold",
        )
        for flaw in islice(flaws, 1)
    )


def _judged(found: Replayed) -> dict[str, Any]:
    outcome: Outcome = "done" if (found.trust, found.law) == ("whole", "kept") else "refused"
    return {"outcome": outcome, "exit_code": exit_of(outcome, untrusted=found.trust == "broken")}
