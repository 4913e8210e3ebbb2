"""Ledgers of any length, whose every record holds; and lies, told with a chain that holds all the same."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from msgspec.structs import replace
from tests.machines import sample

from interlock.engine.audit.judge import MACHINES, ROWS, _case
from interlock.engine.audit.replay import Replay, Replayed, replay
from interlock.engine.audit.tape import Part, Read, Tape
from interlock.engine.ledger.lines import Line, read_line, write_line
from interlock.engine.ledger.places import segment_path
from interlock.machines.evidence import (
    Absent,
    AuthorizeEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    Entry,
    Evidence,
    Found,
    GenesisEvidence,
    Head,
    HeadSeen,
    Missing,
    ReceiptBody,
    RefuseEvidence,
    ScopeEnd,
    ScopeItem,
    SealRow,
    Watermark,
)
from interlock.machines.guards import all_hold
from interlock.machines.records import digest_of
from interlock.machines.table import requirement_of

GENESIS = GenesisEvidence(project="shop", target="dev", ledger="l1", warehouse="w1")
Change = Callable[[Entry], Entry]


@dataclass(frozen=True, slots=True)
class Bytes(Part):
    """A part that is nowhere but here."""

    data: bytes = b""

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)


def part(data: bytes) -> Bytes:
    return Bytes(name="000001.jsonl", path=Path("nowhere"), data=data)


def replayed(data: bytes) -> Replayed:
    return replay(Tape((part(data),)))


@dataclass
class Forge:
    """Appends records; verdicts and targets follow from the evidence, unless a lie is told."""

    state: Replay = field(default_factory=Replay)
    lines: list[bytes] = field(default_factory=list)
    lie: Change = lambda entry: entry
    keep: bool = True
    written: int = 0
    sink: Callable[[bytes], object] | None = None
    _sequence: int = 0
    _tip: str = ""
    serial: int = 0

    def add(self, machine: str, subject: str, event: str, source: str, evidence: Evidence, *, run: str | None, target: str = "") -> str:
        verdicts: tuple[Any, ...] = ()
        row = ROWS.get((machine, source, event))
        self._sequence += 1
        entry = Entry(
            sequence=self._sequence, parent=self._tip, time=f"2026-03-02T00:00:00.{self._sequence % 1000000:06d}Z", run=run, by=None,
            machine=machine, subject=subject, event=event, source=source, target=target, verdicts=(), evidence=evidence, actor="ann", version="0.1.0",
        )  # fmt: skip
        if row is not None:
            held = True
            if row.requirement is not None:
                verdicts = requirement_of(MACHINES[machine], row.requirement).judge(_case(self.state.fold, entry))
                held = all_hold(verdicts)
            entry = replace(entry, verdicts=verdicts, target=row.target if held else row.fallback or "")
        entry = self.lie(entry)
        line: Line = write_line(entry)
        self._tip = line.digest
        self.state.record(Read(read_line(line.data), "", line.data))
        if self.keep:
            self.lines.append(line.data)
        if self.sink is not None:
            self.sink(line.data)
        return line.digest

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    def genesis(self) -> None:
        self.add("ledger", "shop", "genesis", "", GENESIS, run=None)

    def run(self, number: int, models: int, *, refused: frozenset[int] = frozenset()) -> str:
        """A whole run of so many models."""
        run, plan = f"2026030{number % 10}T000000-{number:020d}", f"{number:064x}"
        names = [f"m{each}" for each in range(models)]
        heads = {name: self.state.fold.head(name) for name in names}
        scope = tuple(ScopeItem(model=name, action="append" if heads[name].receipt else "create") for name in names)
        authorize: AuthorizeEvidence = sample.authorize(plan=plan, scope=scope)
        self.add("run", run, "authorize", "opened", authorize, run=run)
        start = sample.start(relations_needed=(), relations_found=(), heads_needed=(), heads_found=())
        self.add("run", run, "start", "authorized", start, run=run)
        for each, item in enumerate(scope):
            self.model(run, plan, item, fails=each in refused)
        self.close(run, scope, {f"m{each}" for each in refused})
        return run

    def model(self, run: str, plan: str, item: ScopeItem, *, fails: bool = False) -> None:
        name, subject, head = item.model, f"{item.model}#1", self.state.fold.head(item.model)
        self.add("model_run", subject, "verify", "planned", sample.verify(plan=plan), run=run)
        fresh = head.receipt is None
        seen = HeadSeen(receipt=head.receipt, token=head.token)
        target = Missing() if fresh else replace(sample.TABLE, token=head.token)
        pinned = sample.bootstrap(
            plan=plan, action=item.action, head=head, head_seen=seen, target=target, target_seen=target, upstreams=(), reads=()
        )
        anchor = self.add("model_run", subject, "bootstrap", "verified", pinned, run=run)
        if fails:
            refuse = RefuseEvidence(cause="warehouse", code="W608", because="no", remedy="look", proof=Absent())
            self.add("model_run", subject, "refuse", "bootstrapping", refuse, run=run)
            return
        rows = head.rows or 0
        mark = Watermark(type="TIMESTAMP", low="2024-01-01 00:00:00", high=f"2024-01-05 00:00:{self._sequence:010d}")
        body: ReceiptBody = sample.body(
            model=name, relation=f"main.{name}", action=item.action, anchor=anchor, plan=plan, previous=head.receipt, head=seen, reads=(),
            applied=sample.applied("create", "look") if fresh else sample.applied("count_before", "stage", "insert"),
            rows_before=None if fresh else rows, rows_written=3, rows_after=rows + 3, watermark=mark,
            token=head.token or sample.hexes("2"), generation=anchor,
        )  # fmt: skip
        receipt = digest_of("receipt", body)
        self.add(
            "model_run", subject, "commit", "bootstrapping", CommitEvidence(anchor=anchor, receipt=Found(id=receipt, body=body)), run=run
        )
        evidence = CheckpointEvidence(
            receipt=receipt, token=body.token, generation=anchor, rows=body.rows_after, watermark=mark, digests=body.digests
        )
        self.add("model_run", subject, "checkpoint", "committed", evidence, run=run)

    def close(self, run: str, scope: tuple[ScopeItem, ...], refused: set[str]) -> None:
        fold = self.state.fold
        self.serial = fold.serial + 1
        heads = sorted(
            [name, known.head.receipt, known.head.token] for name, known in fold.models.items() if known.head.receipt is not None
        )
        outcome: Any = "partial" if refused else "succeeded"
        seal = SealRow(project="shop", run=run, serial=self.serial, tip=self._tip, outcome=outcome, heads=digest_of("heads", heads))
        ends = tuple(ScopeEnd(model=item.model, state="refused" if item.model in refused else "checkpointed") for item in scope)
        evidence = CloseEvidence(planned=scope, executed=ends, outcome=outcome, seal_expected=seal, seal=seal)
        self.add("run", run, "close", "running", evidence, run=run)


def history(records: int, *, models: int = 10, **options: Any) -> Forge:
    """A ledger of about so many records; every one of them holds."""
    forge = Forge(**options)
    forge.genesis()
    number = 0
    while forge.state.records < records:
        number += 1
        forge.run(number, models, refused=frozenset({3}) if number % 4 == 3 else frozenset())
    return forge


def write(directory: Path, data: bytes) -> Path:
    """As a ledger directory."""
    path = segment_path(directory, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return directory


def heads_of(forge: Forge) -> Iterator[tuple[str, Head]]:
    yield from ((name, known.head) for name, known in forge.state.fold.models.items())
