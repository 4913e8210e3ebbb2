"""Ledgers for tests: a small history of runs, written by the real writer, with a fixed clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from interlock.engine.ledger.places import segment_path
from interlock.engine.ledger.reader import LedgerWhole, read
from interlock.engine.ledger.writer import Ledger
from interlock.machines.evidence import (
    Absent,
    AuthorityFinding,
    AuthorizeEvidence,
    BootstrapEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    Digests,
    Evidence,
    Found,
    GenesisEvidence,
    Head,
    HeadSeen,
    Missing,
    ReceiptBody,
    RefuseEvidence,
    ScopeItem,
    SealRow,
    StartEvidence,
    Transition,
    Verdict,
    VerifyEvidence,
)
from interlock.machines.records import digest_of

GENESIS = GenesisEvidence(project="p1", target="dev", ledger="l1", warehouse="w1")
DIGESTS = Digests(definition="d", promise="p", note="n", environment="e")
KNOWN = AuthorityFinding(row="d", ledger="whole", identity="ours", heads="equal", decision="proceed", code="", because="", remedy="")


class Ticks:
    """A clock that goes on by a second at each look."""

    def __init__(self) -> None:
        self._seconds = 0

    def __call__(self) -> datetime:
        self._seconds += 1
        return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=self._seconds)


def move(
    machine: str, subject: str, event: str, source: str, target: str, evidence: Evidence, *, failing: tuple[Verdict, ...] = ()
) -> Transition:
    return Transition(machine=machine, subject=subject, event=event, source=source, target=target, verdicts=failing, evidence=evidence)


def begin(directory: Path, **options: int) -> Ledger:
    return Ledger.create(directory, clock=Ticks(), actor="ann", version="0.1.0", genesis=GENESIS, **options)


def go_on(directory: Path, **options: int) -> Ledger:
    found = read(directory)
    assert isinstance(found, LedgerWhole), found
    return Ledger.open(directory, clock=Ticks(), actor="ann", version="0.1.0", at=found.tip, **options)


def authorize(plan: str, *models: str, continues: str | None = None) -> AuthorizeEvidence:
    return AuthorizeEvidence(
        plan=plan,
        target="dev",
        authority=KNOWN,
        differences=(),
        spent_by=(),
        continues=continues,
        review="open",
        scope=tuple(ScopeItem(model=model, action="create") for model in models),
        history=("compiled", "sealed"),
    )


def bootstrap(plan: str, attempt: int = 1, head: Head | None = None) -> BootstrapEvidence:
    head = head or Head()
    return BootstrapEvidence(
        plan=plan,
        item="item",
        action="create",
        attempt=attempt,
        head=head,
        head_seen=HeadSeen(receipt=head.receipt, token=head.token),
        target=Missing(),
        target_seen=Missing(),
        upstreams=(),
        reads=(),
        contract=(),
        extra_columns="allow",
        columns=(),
        checks=(),
        statements=("s1",),
        guards=(),
        permission="open",
    )


def body(model: str, anchor: str, plan: str, previous: str | None = None) -> ReceiptBody:
    return ReceiptBody(
        format=1,
        project="p1",
        model=model,
        relation=f"main.{model}",
        kind="table",
        action="create",
        materialized="table",
        parts={},
        anchor=anchor,
        plan=plan,
        previous=previous,
        digests=DIGESTS,
        text="select 1 as é",
        engine="duckdb 2.0",
        statements="s",
        reads=(),
        sources=(),
        head=HeadSeen(receipt=previous, token=None),
        applied=(),
        shape=(),
        nulls=(),
        verdicts=(),
        rows_before=None,
        rows_written=3,
        rows_deleted=0,
        rows_held=0,
        rows_late=None,
        rows_after=3,
        delta=None,
        shrink=None,
        fingerprint=None,
        token="t",
        generation=anchor,
        watermark=None,
        ranges=(),
    )


def verify(plan: str) -> VerifyEvidence:
    return VerifyEvidence(plan=plan, item_sealed="item", item_found="item", contract=(), authority="d", decision="proceed")


def seal(run: str, serial: int, tip: str) -> CloseEvidence:
    row = SealRow(project="p1", run=run, serial=serial, tip=tip, outcome="succeeded", heads="h")
    return CloseEvidence(planned=(), executed=(), outcome="succeeded", seal_expected=row, seal=row)


class Story:
    """Writes runs as the runner does, step by step."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def open(self, run: str, plan: str, *models: str, continues: str | None = None) -> None:
        evidence = authorize(plan, *models, continues=continues)
        self.ledger.append(move("run", run, "authorize", "opened", "authorized", evidence), run=run)

    def start(self, run: str) -> None:
        evidence = StartEvidence(relations_needed=(), relations_found=(), heads_needed=(), heads_found=())
        self.ledger.append(move("run", run, "start", "authorized", "running", evidence), run=run)

    def verified(self, run: str, plan: str, model: str, number: int = 1) -> None:
        self.ledger.append(move("model_run", f"{model}#{number}", "verify", "planned", "verified", verify(plan)), run=run)

    def bootstrapped(self, run: str, plan: str, model: str, number: int = 1) -> str:
        self.verified(run, plan, model, number)
        evidence = bootstrap(plan, number)
        return self.ledger.append(move("model_run", f"{model}#{number}", "bootstrap", "verified", "bootstrapping", evidence), run=run)

    def committed(self, run: str, plan: str, model: str, number: int = 1) -> str:
        anchor = self.bootstrapped(run, plan, model, number)
        return self.found(run, plan, model, anchor, number=number)

    def found(self, run: str, plan: str, model: str, anchor: str, *, number: int = 1, by: str | None = None) -> str:
        told = body(model, anchor, plan)
        receipt = digest_of("receipt", told)
        evidence = CommitEvidence(anchor=anchor, receipt=Found(id=receipt, body=told))
        self.ledger.append(move("model_run", f"{model}#{number}", "commit", "bootstrapping", "committed", evidence), run=run, by=by)
        return receipt

    def checkpointed(self, run: str, plan: str, model: str, number: int = 1) -> str:
        receipt = self.committed(run, plan, model, number)
        self.checkpoint(run, model, receipt, number)
        return receipt

    def checkpoint(self, run: str, model: str, receipt: str, number: int = 1, by: str | None = None) -> None:
        evidence = CheckpointEvidence(receipt=receipt, token="t", generation="g", rows=3, watermark=None, digests=DIGESTS)
        self.ledger.append(move("model_run", f"{model}#{number}", "checkpoint", "committed", "checkpointed", evidence), run=run, by=by)

    def refused(self, run: str, model: str, source: str, number: int = 1, by: str | None = None) -> None:
        proof = Absent() if source == "bootstrapping" else None
        evidence = RefuseEvidence(cause="crash", code="G563", because="it died", remedy="run again", proof=proof)
        self.ledger.append(move("model_run", f"{model}#{number}", "refuse", source, "refused", evidence), run=run, by=by)

    def closed(self, run: str, serial: int, *, by: str | None = None) -> None:
        evidence = seal(run, serial, self.ledger.tip)
        self.ledger.append(move("run", run, "close", "running", "closed", evidence), run=run, by=by)


def twenty_records(directory: Path) -> Path:
    """Two runs over two models, of which one is left open: about twenty records. Gives the file."""
    ledger = begin(directory)
    story = Story(ledger)
    story.open("r1", "plan1", "orders", "customers")
    story.start("r1")
    story.checkpointed("r1", "plan1", "orders")
    story.checkpointed("r1", "plan1", "customers")
    story.closed("r1", 1)
    story.open("r2", "plan2", "orders", "customers")
    story.start("r2")
    story.checkpointed("r2", "plan2", "orders")
    story.bootstrapped("r2", "plan2", "customers")
    ledger.sync()
    ledger.close()
    return segment_path(directory, 1)


def lines_of(file: Path) -> Iterator[bytes]:
    yield from file.read_bytes().splitlines(keepends=True)
