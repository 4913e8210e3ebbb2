"""Replay: every record of a ledger through the machines, in bounded memory, on a machine that has neither project nor warehouse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

from interlock.engine.audit.judge import doubts
from interlock.engine.audit.tape import CHAIN_FLAWS, Flaw, Read, Tape, Tip, parts_of
from interlock.engine.clock import moment, stamp
from interlock.engine.diagnostics import refused
from interlock.engine.ledger.fold import Fold, Illegal
from interlock.engine.ledger.lines import Numbered
from interlock.machines.evidence import Watermark
from interlock.machines.records import Record

FLAWS_KEPT_MAX = 1000
"""Flaws that are kept one by one; those beyond are counted."""


_FRACTION: Final = re.compile(r":\d\d[.,]\d")
"""A time that is written finer than to its second."""


class ModelAt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model at a moment of the ledger: the state of its last attempt, and what its head then was."""

    model: str
    state: str
    run: str | None
    receipt: str | None
    rows: int | None
    watermark: Watermark | None
    since: str
    code: str = ""


class Replayed(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a replay came to. `trust`: whether the chain holds; `law`: whether every record is one that its machine can have written."""

    records: int
    tip: str
    sequence: int
    first_time: str
    last_time: str
    runs: int
    open_runs: tuple[str, ...]
    models: tuple[ModelAt, ...]
    trust: Literal["whole", "broken"]
    law: Literal["kept", "broken"]
    flaws: tuple[Flaw, ...]
    flaws_count: int
    stopped_at: str = ""
    """The last record that was looked at, where only a part was asked for; `before the first record` where there is none."""


class Stop(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to stop: after a sequence, or before the first record later than a time.

    A time without a fraction takes in the whole second: so the timeline shows times, and whoever names a line's time means it too.
    """

    sequence: int | None = None
    time: str | None = None

    def is_past(self, read: Numbered) -> bool:
        """Whether a record is no longer meant."""
        if self.sequence is not None:
            return read.entry.sequence > self.sequence
        return self.time is not None and read.entry.time > self.time


def stop_at(text: str | None) -> Stop | None:
    """What `--at` says: a sequence or a time.

    Raises:
        Refused: S104, it is neither.
    """
    if text is None:
        return None
    if text.isascii() and text.isdecimal():
        return Stop(sequence=int(text))
    try:
        said = moment(text)
    except ValueError as error:
        remedy = "write the number of a record, or a time such as 2026-03-02T10:00:00Z"
        raise refused("S104", f"`{text}` is neither a record nor a time", because=str(error), remedy=remedy) from error
    return Stop(time=stamp(said if _FRACTION.search(text) else said.replace(microsecond=999_999)))


def known_tip(text: str | None) -> Tip | None:
    """What `--tip` says: a record's number and its digest, as `replay` prints them.

    Raises:
        Refused: S104, it is something else.
    """
    if text is None:
        return None
    sequence, _, digest = text.partition(":")
    if not (sequence.isascii() and sequence.isdecimal()) or len(digest) != 64 or digest.strip("0123456789abcdef"):
        raise refused("S104", f"`{text}` is no tip", remedy="write it as SEQUENCE:SHA256, as `interlock audit replay` prints it")
    return Tip(sequence=int(sequence), digest=digest)


def demand_reached(stop: Stop, found: Replayed) -> None:
    """Stop where a record was asked for that the ledger does not have: the newest state would be shown as one that nobody knows.

    Raises:
        Refused: S114.
    """
    if stop.sequence is not None and stop.sequence > found.sequence and not found.flaws:
        newest = f"its newest is record {found.sequence}, of {found.last_time}" if found.records else "it holds none"
        raise refused(
            "S114", f"the ledger has no record {stop.sequence}", because=newest, remedy="name that one or an older one, or leave `--at` out"
        )


class Replay:
    """The state of a replay. Feed it what a tape gives; it keeps facts of runs that are open, and one line for each that has ended."""

    def __init__(self, *, behind: Tip | None = None) -> None:
        """Begin with the ledger; or behind a record that is known from elsewhere, of whose heads nothing is known."""
        self.fold = Fold()
        self.is_partial = behind is not None
        if behind is not None:
            self.fold.sequence, self.fold.tip = behind.sequence, behind.digest
            self.fold.since_close[behind.digest] = behind.sequence
        self.records = 0
        self.flaws: list[Flaw] = []
        self.flaws_count = 0
        self.runs = 0
        self.first_time = ""
        self._broken = False
        self._unlawful = False
        self._whole = True
        """No record was lost so far: a record that does not fit is then the record's fault."""

    def flaw(self, flaw: Flaw) -> None:
        """Keep a flaw."""
        self.flaws_count += 1
        if flaw.kind in CHAIN_FLAWS:
            self._broken = True
            self._whole = self._whole and flaw.kind == "torn"
        else:
            self._unlawful = True
        if len(self.flaws) < FLAWS_KEPT_MAX:
            self.flaws.append(flaw)

    def record(self, read: Read) -> bool:
        """Judge a record, then take it as a fact; `False` where it cannot be one."""
        digest, entry = read.numbered
        self.records += 1
        self.first_time = self.first_time or entry.time
        fold = self.fold
        if not self._whole:
            # What was lost is reported; the records that are there are judged by what is known.
            fold.sequence, fold.tip = entry.sequence - 1, entry.parent
        found = list(doubts(fold, entry, read.line, is_partial=self.is_partial))
        try:
            fold.feed(digest, entry)
        except Illegal as error:
            kind: Literal["illegal", "unexplained"] = "illegal" if self._whole else "unexplained"
            after = "" if self._whole else " (records before it are lost)"
            self.flaw(
                Flaw(
                    sequence=entry.sequence, kind=kind, because=f"it cannot follow the records before it: {error}{after}", place=read.place
                )
            )
            fold.sequence, fold.tip = entry.sequence, digest
            return False
        for doubt in found:
            self.flaw(Flaw(sequence=entry.sequence, kind=doubt.kind, because=doubt.because, place=read.place))
        if entry.machine == "run" and entry.event == "authorize":
            self.runs += 1
        self._forget(entry.subject if entry.machine == "run" else "")
        return True

    def _forget(self, run: str) -> None:
        """Drop what no later record is judged by: the attempts of a run that has ended, and old receipts."""
        known = self.fold.runs.get(run)
        if known is None or known.is_open:
            return
        for attempt in known.attempts.values():
            if attempt.anchor is not None:
                self.fold.anchors.pop(attempt.anchor, None)
        known.attempts = {}
        known.authorize = known.close = None
        for model in self.fold.models.values():
            model.receipts.clear()

    def stopped(self, *, newest: bool = False) -> Replayed:
        """What it came to before the first record that is not meant; or where all were meant, and none is newer."""
        at = f"record {self.fold.sequence}, {self.fold.time}{', the newest' if newest else ''}"
        return self.result(stopped_at=at if self.records else "before the first record")

    def result(self, *, stopped_at: str = "") -> Replayed:
        """What it came to."""
        fold = self.fold
        models = []
        for name, known in sorted(fold.models.items()):
            attempt, last = known.attempt, known.last
            models.append(
                ModelAt(
                    model=name,
                    state=attempt.state if attempt is not None else "accepted",
                    run=attempt.run if attempt is not None else last.run if last is not None else None,
                    receipt=known.head.receipt,
                    rows=known.head.rows,
                    watermark=known.head.watermark,
                    since=attempt.time if attempt is not None else last.time if last is not None else "",
                    code=attempt.refusal.code if attempt is not None and attempt.refusal is not None else "",
                )
            )
        return Replayed(
            records=self.records,
            tip=fold.tip,
            sequence=fold.sequence,
            first_time=self.first_time,
            last_time=fold.time,
            runs=self.runs,
            open_runs=tuple(fold.open),
            models=tuple(models),
            trust="broken" if self._broken else "whole",
            law="broken" if self._unlawful else "kept",
            flaws=tuple(self.flaws),
            flaws_count=self.flaws_count,
            stopped_at=stopped_at,
        )


def replay(parts: Iterable[Read | Flaw], *, stop: Stop | None = None, seen: Callable[[Read, Replay], None] | None = None) -> Replayed:
    """Replay what a tape gives.

    Args:
        parts: records and flaws, in order.
        stop: where to stop, if not at the end.
        seen: told of each record after it was taken, for whoever wants more of the same pass.
    """
    state = Replay()
    for each in parts:
        if isinstance(each, Flaw):
            state.flaw(each)
            continue
        if stop is not None and stop.is_past(each.numbered):
            return state.stopped()
        state.record(each)
        if seen is not None:
            seen(each, state)
    return state.result()


def replay_at(place: Path, *, stop: Stop | None = None) -> Replayed:
    """Replay the ledger that a path means.

    Raises:
        Refused: S101, nothing there is a ledger.
    """
    return replay(Tape(parts_of(place)), stop=stop)
