"""From the working tree and one look at the warehouse to a sealed plan, through the plan's own machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import msgspec

from interlock.engine.clock import stamp
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.diagnostics import Diagnostic, Refused, did_you_mean, refused
from interlock.engine.ledger.durable import make_directory, write_file
from interlock.engine.ledger.places import plan_path, plans_directory
from interlock.engine.planner.draft import Identity, draft
from interlock.engine.planner.facts import Facts
from interlock.engine.planner.observe import Unreadable as ReceiptUnreadable
from interlock.engine.planner.observe import look as look_at_world
from interlock.engine.planner.observe import reads_all
from interlock.engine.planner.options import without_meaning
from interlock.engine.planner.plan import Options, PlanBody, PlanStep, Selection
from interlock.engine.runner.authority import Sight
from interlock.engine.runner.binding import bind, unreadable
from interlock.engine.runner.ground import Ground, stop_on_errors
from interlock.engine.runner.selection import Request
from interlock.engine.runner.texts import is_as_planned, texts_of
from interlock.engine.warehouse.duckdb.dependents import Place, bound_now
from interlock.engine.warehouse.duckdb.session import KNOWN_WRONG, refusal
from interlock.engine.warehouse.duckdb.session import VERSION as ENGINE
from interlock.engine.warehouse.protocol import Reader, RelationSeen, WarehouseError
from interlock.machines.evidence import CompileEvidence, Finding, ReceiptBody, SealEvidence, Transition
from interlock.machines.plan import Plan
from interlock.machines.records import Record, canonical, digest, digest_of


class Planned(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sealed plan, or words for why there is nothing to plan."""

    id: str
    body: PlanBody | None
    history: tuple[PlanStep, ...]
    findings: tuple[Diagnostic, ...]
    said: tuple[str, ...]
    texts: dict[str, str] = {}
    """Of a saved plan: what its files said, by path, as far as it does not hold them itself."""
    receipts: dict[str, ReceiptBody] = {}
    """Bodies of heads that were read and checked to make it, by receipt. Of a saved plan none: they were read some time ago."""


def make_plan(ground: Ground, request: Request, sight: Sight, reader: Reader | None, moment: datetime) -> Planned:
    """Compile, select, look, decide, seal. Writes nothing. Without a database, an empty one in memory is looked at.

    Raises:
        Refused: it does not compile, a selector matches nothing, an option names no model of the plan, or an observation
            could not be read.
    """
    if reader is None:
        with closing(ground.scratch(ground.macros(stamp(moment)))) as scratch:
            return _plan_with(ground, request, sight, scratch, moment)
    return _plan_with(ground, request, sight, reader, moment)


def _plan_with(ground: Ground, request: Request, sight: Sight, reader: Reader, moment: datetime) -> Planned:
    as_of = stamp(moment)
    _demand_sound_engine()
    try:
        catalog = reader.catalog()
        bound = bind(ground, request, sight, reader, catalog, as_of)
    except WarehouseError as error:
        raise refusal(error, subject=ground.target.name) from error
    except ReceiptUnreadable as error:
        raise unreadable(str(error), ground.target.name) from error
    fold = sight.fold
    compiled, selected, said, findings = bound.compiled, bound.selected, bound.said, bound.findings
    stop_on_errors(findings)
    if not selected:
        return Planned(id="", body=None, history=(), findings=findings, said=said)
    _check_options(request.options, selected, compiled)
    try:
        facts = look_at_world(
            reader,
            project=ground.project.id,
            root=ground.project.root,
            compiled=compiled,
            selected=selected,
            options=request.options,
            as_of=moment,
            now=stamp(ground.clock()),
            catalog=catalog,
            heads=sight.heads,
            expected=sight.expected(),
            ledger=sight.model_states(),
            open_anchors=sight.open_anchors(),
        )
    except WarehouseError as error:
        raise _unobserved(error) from error
    except ReceiptUnreadable as error:
        raise unreadable(str(error), ground.target.name) from error
    facts = _without_secrets(facts, ground.redact)
    stop_on_errors((*findings, *without_meaning(request.options, compiled.models, facts)))

    def costly(models: Sequence[str]) -> dict[str, tuple[str, ...]]:
        try:
            return reads_all(reader, compiled, models, facts.cursors, catalog)
        except WarehouseError as error:
            raise _unobserved(error) from error

    def binding(views: Sequence[RelationSeen]) -> frozenset[Place]:
        try:
            return bound_now(reader, views)
        except WarehouseError as error:
            raise _unobserved(error) from error

    body = draft(
        project=ground.project,
        target=ground.target,
        compiled=compiled,
        facts=facts,
        selection=Selection(select=request.select, exclude=request.exclude, models=tuple(sorted(selected))),
        options=request.options,
        as_of=as_of,
        moment=moment,
        identity=Identity(
            ledger=fold.ledger or None if sight.identity is not None else None,
            warehouse=sight.identity.warehouse if sight.identity is not None else None,
            serial=fold.serial,
            accepted=fold.accepted_sequence,
        ),
        bound=binding,
        reads_all=costly,
    )
    plan_id = digest_of("plan", body)
    history = _sealed(plan_id, len(selected), findings, SealEvidence(observations=facts.observations))
    receipts = {facts.heads[name].receipt or "": receipt for name, receipt in facts.receipts.items()}
    return Planned(id=plan_id, body=body, history=history, findings=findings, said=said, receipts=receipts)


def _without_secrets(facts: Facts, redact: Callable[[str], str]) -> Facts:
    """What the warehouse said, as it may be kept: as a reason it goes into the plan, which is a file."""

    def kept(said: Mapping[str, str]) -> dict[str, str]:
        return {name: redact(text) for name, text in said.items()}

    return msgspec.structs.replace(
        facts,
        said={
            name: tuple(msgspec.structs.replace(verdict, because=redact(verdict.because)) for verdict in verdicts)
            for name, verdicts in facts.said.items()
        },
        unmarked=kept(facts.unmarked),
        unanswered=kept(facts.unanswered),
        unreadable=kept(facts.unreadable),
    )


def _unobserved(error: WarehouseError) -> Refused:
    return Refused(
        Diagnostic(
            code="P425" if error.code == "W608" else error.code,
            summary="what the plan rests on could not be read",
            because=error.message,
            remedy=error.remedy or "make it readable and plan again",
        )
    )


def _demand_sound_engine() -> None:
    if ENGINE in KNOWN_WRONG:
        raise refused(
            "P428",
            f"DuckDB {ENGINE} is known to give wrong rows",
            because=KNOWN_WRONG[ENGINE],
            remedy="install another version of duckdb, and plan again",
        )


def _check_options(options: Options, selected: frozenset[str], compiled: Compiled) -> None:
    named = {
        "--full-refresh": options.full_refresh,
        "--allow-shrink": options.allow_shrink,
        "--on-change": tuple(options.on_change),
        "--force": options.force,
    }
    findings = []
    for option, models in named.items():
        for model in models:
            if model in selected and compiled.models[model].kind != "ephemeral":
                continue
            because = (
                "it is an ephemeral model, which makes nothing"
                if model in selected
                else "it is not selected"
                if model in compiled.models
                else "there is no such model"
            )
            findings.append(
                Diagnostic(
                    code="P422",
                    summary=f"{option} names `{model}`",
                    because=because,
                    remedy="take the option out"
                    if model in selected
                    else "select it too, or take the option out"
                    if model in compiled.models
                    else did_you_mean(model, compiled.models, "see `interlock ls`, and name one of these or take the option out"),
                )
            )
    ranged = options.range_low is not None or options.range_high is not None
    incremental = [name for name in selected if compiled.models[name].kind == "incremental"]
    if ranged and all(name in options.full_refresh for name in incremental):
        findings.append(
            Diagnostic(
                code="P422",
                summary="--from and --to were given",
                because="a full refresh makes all rows anew, whatever the range" if incremental else "no selected model is incremental",
                remedy="select an incremental model, or take them out",
            )
        )
    if findings:
        raise Refused(*findings)


def _sealed(plan_id: str, models: int, findings: Sequence[Diagnostic], observations: SealEvidence) -> tuple[PlanStep, ...]:
    """The plan's own machine, from drafted to sealed.

    Raises:
        Refused: it did not come to `sealed`.
    """
    steps: list[PlanStep] = []

    def write(transition: Transition) -> str:
        evidence = digest("evidence", canonical(transition.evidence))
        steps.append(PlanStep(event=transition.event, source=transition.source, target=transition.target, evidence=evidence))
        return evidence

    machine = Plan(plan_id, write)
    told = tuple(
        Finding(code=finding.code, severity="error" if finding.severity == "error" else "warning", summary=finding.summary)
        for finding in findings
    )
    step = machine.step("compile", CompileEvidence(models=models, findings=told))
    if machine.state_name == "compiled":
        step = machine.step("seal", observations)
    if machine.state_name != "sealed":
        failing = [verdict for verdict in step.transition.verdicts if verdict.holds == "no"]
        raise Refused(
            *(
                Diagnostic(code=verdict.code, summary=verdict.because, remedy=verdict.remedy, invariant=verdict.invariant)
                for verdict in failing
            )
        )
    return tuple(steps)


# --- plan files -------------------------------------------------------------------------------------------------------


class _Stored(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    history: tuple[PlanStep, ...]
    body: msgspec.Raw
    texts: dict[str, str] = {}


def save(directory: Path, planned: Planned, *, root: Path | None = None) -> Path:
    """Write the plan's file, durably, beside the ledger.

    Args:
        directory: of this target's ledger and plans.
        planned: a sealed plan.
        root: of the project, where the plan will be applied later: what its files say now is kept with it.

    Raises:
        Refused: K741, it cannot be written.
    """
    path = plan_path(directory, planned.id)
    texts = texts_of(planned.body, root) if root is not None and planned.body is not None else {}
    stored = _Stored(id=planned.id, history=planned.history, body=msgspec.Raw(canonical(planned.body)), texts=texts)
    try:
        make_directory(plans_directory(directory))
        write_file(path, msgspec.json.encode(stored) + b"\n")
    except OSError as error:
        raise refused(
            "K741",
            "the plan cannot be saved",
            because=str(error),
            remedy="free disk space or make its directory writable; `interlock plan --no-save` shows the plan without",
        ) from error
    return path


def load(directory: Path, plan_id: str, elsewhere: Mapping[str, Path]) -> Planned:
    """A saved plan, checked against its id.

    Args:
        directory: of this target's ledger and plans.
        plan_id: whole, or a beginning that fits one plan.
        elsewhere: such directories of the project's other targets, by name.

    Raises:
        Refused: P401, P402, P405.
    """
    path = _plan_file(directory, plan_id, elsewhere)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise refused("P402", f"plan {plan_id} cannot be read", because=str(error), remedy="make a new plan") from error
    try:
        stored = msgspec.json.decode(data, type=_Stored)
        body = msgspec.json.decode(bytes(stored.body), type=PlanBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refused(
            "P402", f"plan {plan_id} is not as it was sealed", because=f"it does not decode: {error}", remedy="make a new plan"
        ) from error
    if digest("plan", bytes(stored.body)) != stored.id or stored.id != path.stem:
        raise refused(
            "P402", f"plan {plan_id} is not as it was sealed", because="its bytes are not those that its id names", remedy="make a new plan"
        )
    if not all(is_as_planned(body, *text) for text in stored.texts.items()):
        raise refused(
            "P402",
            f"plan {plan_id} is not as it was sealed",
            because="its files' texts are not those that it names",
            remedy="make a new plan",
        )
    return Planned(id=stored.id, body=body, history=stored.history, findings=(), said=(), texts=stored.texts)


def newest_plans(directory: Path) -> list[Path]:
    """Files of saved plans, the newest first."""
    found: list[tuple[float, Path]] = []
    for path in plans_directory(directory).glob("*.json"):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


def _plan_file(directory: Path, plan_id: str, elsewhere: Mapping[str, Path]) -> Path:
    if not plan_id or plan_id.strip("0123456789abcdef"):
        raise refused(
            "P401", f"`{plan_id}` is no plan", because="a plan's id is written in 0-9 and a-f", remedy="`interlock plan` prints it"
        )
    found = sorted(plans_directory(directory).glob(f"{plan_id}*.json"))
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise refused("P401", f"`{plan_id}` is not one plan", because=f"{len(found)} plans begin like that", remedy="write more of its id")
    for name, other in elsewhere.items():
        if next(plans_directory(other).glob(f"{plan_id}*.json"), None) is not None:
            raise refused("P405", f"plan {plan_id[:12]} was made against target `{name}`", remedy=f"apply it with `--target {name}`")
    raise refused(
        "P401",
        f"there is no plan {plan_id}",
        because=f"none is saved in `{plans_directory(directory)}`, where this target keeps them",
        remedy="make one with `interlock plan`; where the target's `path` was another when it was made, give it that `path`",
    )
