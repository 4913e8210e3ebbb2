"""A run as one value, for a page: every model with its way, its guards, its work and when it was at work. Pure over records and plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from interlock.engine.audit.facts import Fact, body_in, receipt_facts
from interlock.engine.audit.story import needed_for, remedy_of
from interlock.engine.audit.timeline import reason_of
from interlock.engine.audit.told import Told, Work, told, work_of
from interlock.engine.clock import moment
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.planner.plan import Item, PlanBody
from interlock.machines.evidence import AuthorizeEvidence, BootstrapEvidence, CloseEvidence, CommitEvidence, Entry
from interlock.machines.records import Record


class ReportModel(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of the run. Times are milliseconds since the run was opened; `None` where it was not begun."""

    name: str
    action: str
    kind: str
    state: str
    code: str = ""
    because: str = ""
    remedy: str = ""
    needed: tuple[str, ...] = ()
    withheld: str = "no"
    """Whether it was refused only because something that it reads was."""
    reads: tuple[str, ...] = ()
    rows: str = ""
    begun: int | None = None
    ended: int | None = None
    checks: tuple[str, ...] = ()
    columns: tuple[Fact, ...] = ()
    """Where each column's values come from, if the working tree still is what ran."""
    steps: tuple[Told, ...] = ()
    work: Work | None = None


class Report(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run."""

    run: str
    plan: str
    outcome: str
    project: str
    target: str
    actor: str
    version: str
    started: str
    ended: str
    milliseconds: int
    models: tuple[ReportModel, ...]
    steps: tuple[Told, ...]
    said: tuple[str, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    """What is wrong with the ledger that it was read from; the page rests on the records that hold."""


@dataclass(slots=True)
class Gathered:
    """The records of one run, while a ledger goes by: the newest of those whose ids begin like the one that is asked for."""

    asked: str
    run: str = ""
    own: list[Entry] = field(default_factory=list)
    models: dict[str, list[Entry]] = field(default_factory=dict)

    def hear(self, entry: Entry) -> None:
        """Take a record."""
        if (
            entry.machine == "run"
            and entry.event == "authorize"
            and entry.subject.startswith(self.asked)
            and (not self.asked or not self.run)
        ):
            self.run = entry.subject
            self.own, self.models = [], {}
        if entry.run != self.run or not self.run:
            return
        if entry.machine == "run":
            self.own.append(entry)
        elif entry.machine == "model_run":
            self.models.setdefault(entry.subject.rpartition("#")[0], []).append(entry)


def report_of(gathered: Gathered, plan: PlanBody | str, *, project: str) -> Report:
    """The run that was gathered, with its plan or in words why there is none."""
    own = gathered.own
    first, last = own[0], own[-1]
    authorized = next((entry.evidence for entry in own if isinstance(entry.evidence, AuthorizeEvidence)), None)
    items: Mapping[str, Item] = {item.model: item for item in plan.items} if isinstance(plan, PlanBody) else {}
    actions = {item.model: item.action for item in authorized.scope} if authorized is not None else {}
    names = dict.fromkeys((*items, *actions, *gathered.models))
    newest = max((entry.time for entries in (own, *gathered.models.values()) for entry in entries), default=last.time)
    outcome = last.evidence.outcome if isinstance(last.evidence, CloseEvidence) and last.target == "closed" else last.target
    return Report(
        run=gathered.run,
        plan=authorized.plan if authorized is not None else "",
        outcome=outcome,
        project=project or (plan.project if isinstance(plan, PlanBody) else ""),
        target=authorized.target if authorized is not None else "",
        actor=first.actor,
        version=first.version,
        started=first.time,
        ended=newest,
        milliseconds=_between(first.time, newest),
        models=tuple(_model(name, items.get(name), actions.get(name, ""), gathered.models.get(name, []), first.time) for name in names),
        steps=tuple(told(entry) for entry in own),
        said=(plan,) if isinstance(plan, str) else (),
    )


def _model(name: str, item: Item | None, action: str, entries: Sequence[Entry], opened: str) -> ReportModel:
    last = entries[-1] if entries else None
    state = last.target if last is not None else "planned"
    code, because = reason_of(last) if last is not None else ("", "")
    remedy = remedy_of(last) if last is not None else ""
    if last is None and item is not None:
        state = "no_op" if item.action == "no_op" else "refused" if item.refusal is not None else "planned"
        because = "; ".join(item.reasons) if item.action == "no_op" else ""
        if item.refusal is not None:
            code, because, remedy = item.refusal.code, item.refusal.because, item.refusal.remedy
    reads = item.reads if item is not None else _pinned(entries)
    return ReportModel(
        name=name,
        action=item.action if item is not None else action,
        kind=item.kind if item is not None else "",
        state=state,
        code=code,
        because=because,
        remedy=remedy,
        needed=needed_for(last) if last is not None else (),
        withheld="yes" if code == "G561" else "no",
        reads=reads,
        rows=_rows(entries),
        begun=_between(opened, entries[0].time) if entries else None,
        ended=_between(opened, entries[-1].time) if entries else None,
        checks=_checks(entries),
        steps=tuple(told(entry) for entry in entries),
        work=work_of(item) if item is not None else None,
    )


def _pinned(entries: Iterable[Entry]) -> tuple[str, ...]:
    return next((tuple(read.model for read in each.evidence.reads) for each in entries if isinstance(each.evidence, BootstrapEvidence)), ())


def _rows(entries: Iterable[Entry]) -> str:
    body = next(
        (body_in(each.evidence) for each in entries if isinstance(each.evidence, CommitEvidence) and each.target == "committed"), None
    )
    return dict(receipt_facts(body)).get("rows", "") if body is not None else ""


def _checks(entries: Iterable[Entry]) -> tuple[str, ...]:
    body = next((body_in(each.evidence) for each in entries if isinstance(each.evidence, CommitEvidence)), None)
    if body is None:
        return ()
    return tuple(
        f"{verdict.check} ({verdict.severity}): {verdict.outcome.replace('_', ' ')}{': ' + verdict.because if verdict.because else ''}"
        for verdict in body.verdicts
    )


def _between(start: str, end: str) -> int:
    try:
        return max(0, round((moment(end) - moment(start)).total_seconds() * 1000))
    except ValueError:
        return 0
