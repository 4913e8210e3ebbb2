"""A bundle: one file with the part of a ledger that a run is about, its plan and the versions, for a colleague to replay elsewhere.

It holds no rows and no secrets. Words that quote values (a check's samples, a warehouse's own message, a seed's rows) are
withheld; the digest of such a record stands beside it, so that the chain still goes through it.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from interlock.engine.audit.replay import Replay
from interlock.engine.audit.story import Plans
from interlock.engine.audit.tape import BUNDLED_LEDGER, Read, Tip, withheld_line
from interlock.engine.diagnostics import refused
from interlock.engine.ledger.subjects import Last, ModelFold
from interlock.engine.planner.plan import Item, PlanBody
from interlock.machines.evidence import (
    AuthorizeEvidence,
    CheckVerdict,
    CommitEvidence,
    Digests,
    Entry,
    Evidence,
    Found,
    GenesisEvidence,
    Head,
    ReceiptBody,
    RefuseEvidence,
    RolledBack,
    SealRow,
    SourceVerdict,
    Verdict,
    VerifyEvidence,
)
from interlock.machines.records import Record

FORMAT: Final = 1
WITHHELD: Final = "withheld"
_MANIFEST: Final = "bundle.json"
_START: Final = "start.json"
_PLAN: Final = "plan.json"
_OF_SOURCES: Final = frozenset({"G504", "G505", "G506", "G507", "P425"})
"""Codes of what sources say, or of a question that the warehouse did not answer."""
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
"""Of every member: the same bundle has the same bytes."""


class HeadAt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A head where the slice begins."""

    model: str
    head: Head
    digests: Digests | None


class Start(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known before the first record of a slice."""

    sequence: int
    tip: str
    time: str
    genesis: GenesisEvidence
    ledger: str
    warehouse: str
    heads: tuple[HeadAt, ...]
    seal: SealRow | None
    serial_accepted: int
    spent_by: dict[str, tuple[str, ...]] = {}
    """By plan of the slice: runs of before that had begun it."""


class Manifest(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bundle is of."""

    format: int
    interlock: str
    run: str
    plan: str | None
    project: str
    records: int
    first: int
    last: int
    tip: str
    withheld: tuple[int, ...]
    """Records of which words are withheld."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A bundle as it was read."""

    manifest: Manifest
    start: Start | None
    plan: PlanBody | None


class Cutter:
    """Finds, in one pass, the records that a run is about: from where nothing was open before it, to its end.

    Of several runs whose ids begin like the one that is asked for, it is the newest.
    """

    def __init__(self, run: str) -> None:
        self._asked = run
        self._rolling: list[Read] = []
        self._rolling_start: Start | None = None
        self._done = True
        self.run = ""
        self.plan: str | None = None
        self.project = ""
        self.records: list[Read] = []
        """The slice."""
        self.start: Start | None = None
        """What is known before it; `None` where it begins with the ledger."""

    def hear(self, read: Read, replay: Replay) -> None:
        """Take a record, after the replay has taken it."""
        fold, entry = replay.fold, read.numbered.entry
        self._rolling.append(read)
        if not self._done:
            self.records.append(read)
        if entry.machine == "run" and entry.event == "authorize" and entry.subject.startswith(self._asked):
            known = fold.runs.get(entry.subject)
            self.run, self.project = entry.subject, fold.project
            self.plan = known.plan if known is not None else None
            self.records, self.start, self._done = list(self._rolling), self._rolling_start, False
        self._done = self._done or self.run not in fold.open
        if not fold.open:
            self._rolling.clear()
            self._rolling_start = start_of(replay)

    def end(self, replay: Replay) -> None:
        """Say of each plan in the slice which runs had begun it before, once the whole ledger went by."""
        start = self.start
        if start is None:
            return
        plans = {read.numbered.entry.evidence.plan for read in self.records if isinstance(read.numbered.entry.evidence, AuthorizeEvidence)}
        before = {
            plan: tuple(run for run in replay.fold.spent_by(plan) if replay.fold.runs[run].opened_sequence <= start.sequence)
            for plan in sorted(plans)
        }
        self.start = msgspec.structs.replace(start, spent_by={plan: runs for plan, runs in before.items() if runs})


def start_of(replay: Replay) -> Start | None:
    """What is known where a replay stands."""
    fold = replay.fold
    if fold.genesis is None:
        return None
    heads = [
        HeadAt(model=name, head=known.last.head, digests=known.last.digests)
        for name, known in sorted(fold.models.items())
        if known.last is not None
    ]
    return Start(
        sequence=fold.sequence,
        tip=fold.tip,
        time=fold.time,
        genesis=fold.genesis,
        ledger=fold.ledger,
        warehouse=fold.warehouse,
        heads=tuple(heads),
        seal=fold.seal,
        serial_accepted=fold.serial_accepted,
    )


def replay_from(start: Start) -> Replay:
    """A replay that begins behind a known record."""
    replay = Replay()
    fold = replay.fold
    fold.genesis, fold.project = start.genesis, start.genesis.project
    fold.ledger, fold.warehouse = start.ledger, start.warehouse
    fold.sequence, fold.tip, fold.time = start.sequence, start.tip, start.time
    fold.seal, fold.serial_accepted = start.seal, start.serial_accepted
    fold.since_close = {start.tip: start.sequence}
    fold.plans.update({plan: list(runs) for plan, runs in start.spent_by.items()})
    for each in start.heads:
        last = Last(head=each.head, digests=each.digests, how="checkpoint", time=start.time, sequence=start.sequence, run=None)
        fold.models[each.model] = ModelFold(model=each.model, last=last)
    return replay


def bundled(cut: Cutter, plan: PlanBody | None, *, version: str, pages: Iterable[tuple[str, str]] = ()) -> bytes:
    """The bytes of a bundle.

    Args:
        cut: the slice.
        plan: of the run, if it can be had.
        version: of Interlock.
        pages: further members, by name: diagrams.
    """
    lines, withheld = [], []
    for read in cut.records:
        entry = without_values(read.numbered.entry)
        if entry == read.numbered.entry:
            lines.append(read.line)
        else:
            withheld.append(entry.sequence)
            lines.append(withheld_line(read.numbered.digest, entry))
    records = cut.records
    manifest = Manifest(
        format=FORMAT,
        interlock=version,
        run=cut.run,
        plan=cut.plan,
        project=cut.project,
        records=len(records),
        first=records[0].numbered.entry.sequence,
        last=records[-1].numbered.entry.sequence,
        tip=records[-1].numbered.digest,
        withheld=tuple(withheld),
    )
    members: list[tuple[str, bytes]] = [(_MANIFEST, _pretty(manifest)), (BUNDLED_LEDGER, b"".join(lines))]
    if cut.start is not None:
        members.append((_START, _pretty(cut.start)))
    if plan is not None:
        members.append((_PLAN, _pretty(_plan_without_values(plan))))
    members += [(name, text.encode()) for name, text in pages]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in members:
            bundle.writestr(zipfile.ZipInfo(name, _MOMENT), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def open_bundle(path: Path) -> Opened:
    """Read a bundle's own members.

    Raises:
        Refused: S101, it is none, or of a release that this one cannot read.
    """
    try:
        with zipfile.ZipFile(path) as bundle:
            names = set(bundle.namelist())
            manifest = msgspec.json.decode(bundle.read(_MANIFEST), type=Manifest)
            start = msgspec.json.decode(bundle.read(_START), type=Start) if _START in names else None
            plan = msgspec.json.decode(bundle.read(_PLAN), type=PlanBody) if _PLAN in names else None
    except (OSError, KeyError, zipfile.BadZipFile, msgspec.MsgspecError) as error:
        remedy = "make it again with `interlock audit bundle RUN`, or use the release that made it"
        raise refused("S101", f"`{path}` is no bundle that this release can read", because=str(error), remedy=remedy) from error
    return Opened(manifest=manifest, start=start, plan=plan)


def tip_of(start: Start | None) -> Tip | None:
    """Where reading begins."""
    return Tip(sequence=start.sequence, digest=start.tip) if start is not None else None


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


# --- nothing of the rows --------------------------------------------------------------------------------------------------


def without_values(entry: Entry) -> Entry:
    """A record without the words that quote values of rows, or speak for the warehouse."""
    verdicts = tuple(_verdict(each) for each in entry.verdicts)
    evidence = _evidence(entry.evidence)
    if verdicts == entry.verdicts and evidence == entry.evidence:
        return entry
    return msgspec.structs.replace(entry, verdicts=verdicts, evidence=evidence)


def _verdict(verdict: Verdict) -> Verdict:
    return msgspec.structs.replace(verdict, because=WITHHELD) if _quotes(verdict.code) and verdict.because else verdict


def _quotes(code: str) -> bool:
    """Whether the reason of a refusal with this code may quote rows, or the warehouse's own words."""
    return code in _OF_SOURCES or ("G524" <= code < "G6")


def _evidence(evidence: Evidence) -> Evidence:
    match evidence:
        case CommitEvidence(receipt=(Found() | RolledBack()) as receipt) if receipt.body is not None:
            body = _body(receipt.body)
            return (
                evidence if body == receipt.body else msgspec.structs.replace(evidence, receipt=msgspec.structs.replace(receipt, body=body))
            )
        case RefuseEvidence():
            proof = evidence.proof
            if isinstance(proof, RolledBack) and proof.body is not None:
                proof = msgspec.structs.replace(proof, body=_body(proof.body))
            said = evidence.cause == "warehouse" or evidence.code in _OF_SOURCES
            because = WITHHELD if said and evidence.because else evidence.because
            detail = WITHHELD if said and evidence.detail else evidence.detail
            return msgspec.structs.replace(evidence, because=because, detail=detail, proof=proof)
        case VerifyEvidence(said=said) if any(verdict.because for verdict in said):
            return msgspec.structs.replace(evidence, said=_said(said))
        case _:
            return evidence


def _said(said: tuple[SourceVerdict, ...]) -> tuple[SourceVerdict, ...]:
    """What sources answered, as outcomes and counts: their words quote cells, times and the warehouse."""
    return tuple(msgspec.structs.replace(verdict, because=WITHHELD) if verdict.because else verdict for verdict in said)


def _body(body: ReceiptBody) -> ReceiptBody:
    delta = body.delta
    if delta is not None and delta.sample:
        delta = msgspec.structs.replace(delta, sample=WITHHELD)
    is_seed = body.materialized == "seed"
    return msgspec.structs.replace(
        body,
        delta=delta,
        verdicts=tuple(_check(verdict) for verdict in body.verdicts),
        text=WITHHELD if is_seed and body.text else body.text,
        canonical=WITHHELD if is_seed and body.canonical else body.canonical,
    )


def _check(verdict: CheckVerdict) -> CheckVerdict:
    return msgspec.structs.replace(verdict, because=WITHHELD) if verdict.because else verdict


def _plan_without_values(plan: PlanBody) -> PlanBody:
    words = {verdict.because for pin in plan.sources for verdict in pin.said if verdict.because}
    items = (_without_words(_without_rows(item), words) for item in plan.items)
    sources = (msgspec.structs.replace(pin, said=_said(pin.said)) for pin in plan.sources)
    return msgspec.structs.replace(plan, items=tuple(items), sources=tuple(sources))


def _without_words(item: Item, words: Collection[str]) -> Item:
    """An item without what sources said. Why it is refused stands in its reasons once more."""
    notes = tuple(WITHHELD if any(each in note for each in words) else note for note in item.notes)
    if item.refusal is None or not _quotes(item.refusal.code):
        return msgspec.structs.replace(item, notes=notes) if notes != item.notes else item
    refusal = msgspec.structs.replace(item.refusal, because=WITHHELD)
    return msgspec.structs.replace(item, notes=notes, reasons=(WITHHELD,), refusal=refusal)


def _without_rows(item: Item) -> Item:
    if item.kind != "seed":
        return item
    return msgspec.structs.replace(
        item,
        text=WITHHELD if item.text else "",
        statements=tuple(
            msgspec.structs.replace(statement, text=WITHHELD) if "VALUES" in statement.text else statement for statement in item.statements
        ),
    )


def plans_of(opened: Opened) -> Plans:
    """The one plan that a bundle has."""

    def plan(plan_id: str) -> PlanBody | str:
        if opened.plan is not None and plan_id == opened.manifest.plan:
            return opened.plan
        return f"plan {plan_id[:12]} is not in the bundle"

    return plan
