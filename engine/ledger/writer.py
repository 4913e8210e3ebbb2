"""Writing a ledger: each record with write(2) at once, fsync where it is waited for, one fsync for all who wait.

Who writes holds the lock of the database; it is not taken here. What a failed write or fsync left on disk is unknown
(a second fsync that succeeds says nothing about the first), so either ends this ledger for this process.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path
from typing import TypeAlias

from interlock.engine.clock import Clock, stamp
from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.faults import point
from interlock.engine.ledger.durable import make_directory, sync_directory, write_all, write_file
from interlock.engine.ledger.lines import Line, write_line
from interlock.engine.ledger.places import segment_number, segment_path, segments_directory
from interlock.engine.ledger.reader import Tip
from interlock.machines.evidence import (
    AcceptEvidence,
    ArchiveEvidence,
    AttachEvidence,
    CompactEvidence,
    Entry,
    GenesisEvidence,
    ResetEvidence,
    TornEvidence,
    Transition,
)

SEGMENT_BYTES = 64 * 1024 * 1024
"""A segment that a line would make longer than this is left, and the line begins the next one."""

OwnEvidence: TypeAlias = (
    GenesisEvidence | TornEvidence | AcceptEvidence | ResetEvidence | AttachEvidence | ArchiveEvidence | CompactEvidence
)

_CHUNK = 1024 * 1024


class LedgerError(Refused):
    """The ledger cannot be written. What was asked for did not happen; the machine that asked has not moved."""

    def __init__(self, because: str, *, remedy: str = "", code: str = "K741") -> None:
        remedy = remedy or "free disk space or make the directory writable; then run again: what is open is settled first"
        super().__init__(Diagnostic(code=code, summary="the ledger cannot be written", because=because, remedy=remedy))


def own(project: str, evidence: OwnEvidence) -> Transition:
    """A record of the ledger's own: no machine moves."""
    match evidence:
        case GenesisEvidence():
            event = "genesis"
        case TornEvidence():
            event = "torn"
        case AcceptEvidence():
            event = "accept_warehouse"
        case ResetEvidence():
            event = "reset"
        case AttachEvidence():
            event = "attach"
        case ArchiveEvidence():
            event = "archive"
        case CompactEvidence():
            event = "compact_receipts"
    return Transition(machine="ledger", subject=project, event=event, source="", target="", verdicts=(), evidence=evidence)


class Ledger:
    """The one writer of a ledger. Its methods may be called from any thread."""

    def __init__(self, directory: Path, *, clock: Clock, actor: str, version: str, at: Tip, segment_bytes: int) -> None:
        self._directory = directory
        self._clock = clock
        self._actor = actor
        self._version = version
        self._segment_bytes = segment_bytes
        self._sequence = self._durable = at.sequence
        self._tip = at.digest
        self._segment = at.segment
        self._offset = at.offset
        self._changed = threading.Condition()
        self._syncing = False
        self._poison: str | None = None
        self._descriptor = os.open(segment_path(directory, at.segment), os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        self._torn = 0

    @classmethod
    def create(
        cls,
        directory: Path,
        *,
        clock: Clock,
        actor: str,
        version: str,
        genesis: GenesisEvidence,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> Ledger:
        """Begin a ledger. When this returns, its first record is durable, and so are the directories.

        The first line appears with its file or not at all, so a kill leaves no half ledger.

        Raises:
            LedgerError: there is a ledger already, or it cannot be written.
        """
        first = segment_path(directory, 1)
        transition = own(genesis.project, genesis)
        line = write_line(_entry(transition, sequence=1, parent="", time=stamp(clock()), run=None, by=None, actor=actor, version=version))
        try:
            make_directory(segments_directory(directory))
            _move_remains(first)
            write_file(first, line.data)
            at = Tip(sequence=1, digest=line.digest, segment=1, offset=len(line.data))
            return cls(directory, clock=clock, actor=actor, version=version, at=at, segment_bytes=segment_bytes)
        except OSError as error:
            raise LedgerError(str(error)) from error

    @classmethod
    def open(cls, directory: Path, *, clock: Clock, actor: str, version: str, at: Tip, segment_bytes: int = SEGMENT_BYTES) -> Ledger:
        """Go on after a verified read that ended at `at`. The lock is held since before that read.

        A torn tail does not hinder this, but it must be cut (`cut_torn`) before the first `append`.

        Raises:
            LedgerError: the file is not as it was read, or it cannot be written.
        """
        try:
            ledger = cls(directory, clock=clock, actor=actor, version=version, at=at, segment_bytes=segment_bytes)
        except OSError as error:
            raise LedgerError(str(error)) from error
        try:
            ledger._look(at)
        except OSError as error:
            ledger.close()
            raise LedgerError(str(error)) from error
        except LedgerError:
            ledger.close()
            raise
        return ledger

    @property
    def tip(self) -> str:
        """Digest of the newest record."""
        with self._changed:
            return self._tip

    @property
    def sequence(self) -> int:
        """Sequence of the newest record."""
        with self._changed:
            return self._sequence

    def append(self, transition: Transition, *, run: str | None, by: str | None = None) -> str:
        """Write a record, so that a kill of this process no longer loses it; gives its digest.

        Args:
            transition: what happened.
            run: the run that it belongs to.
            by: the run that writes it, where recovery does for another.

        Raises:
            LedgerError: it was not written; nothing more can be written by this process.
        """
        with self._changed:
            line = self._next_line(transition, run=run, by=by)
            while self._offset and self._offset + len(line.data) > self._segment_bytes:
                if self._syncing:
                    self._changed.wait()
                    # Others may have written meanwhile: what stands before this record is another one then.
                    line = self._next_line(transition, run=run, by=by)
                else:
                    self._roll_over()
            self._write(line.data)
            self._sequence, self._tip = self._sequence + 1, line.digest
            return line.digest

    def sync(self) -> None:
        """Wait until all that was appended before this call survives a power failure.

        Raises:
            LedgerError: that can not be said; nothing more can be written by this process.
        """
        with self._changed:
            wanted = self._sequence
            while True:
                self._require_sound()
                if self._durable >= wanted:
                    return
                if not self._syncing:
                    break
                self._changed.wait()
            # This thread syncs for all who wait. Those who append meanwhile are served by the next one.
            self._syncing = True
            reached = self._sequence
            descriptor, segment = self._descriptor, self._segment
        try:
            self._fsync(descriptor, segment)
        finally:
            with self._changed:
                self._syncing = False
                if self._poison is None:
                    self._durable = max(self._durable, reached)
                self._changed.notify_all()

    def cut_torn(self, project: str) -> TornEvidence | None:
        """Copy an unfinished last line aside, cut it off, and record that; `None` if there is none.

        A copy that a kill left without its record gets its record now.

        Raises:
            LedgerError: it cannot be done.
        """
        with self._changed:
            self._require_sound()
            kept = segments_directory(self._directory) / f"torn-{self._sequence + 1:06d}"
            try:
                if self._torn:
                    write_file(kept, os.pread(self._descriptor, self._torn, self._offset))
                    point("ledger.truncate.before")
                    os.ftruncate(self._descriptor, self._offset)
                    point("ledger.truncate.after")
                    self._torn = 0
                elif not kept.exists():
                    return None
                evidence = _torn(kept)
            except OSError as error:
                raise LedgerError(str(error)) from error
            self.append(own(project, evidence), run=None)
        self.sync()
        return evidence

    def archive(self, project: str, reason: str) -> ArchiveEvidence:
        """Close the segment, and go on in the next one with a record that says where the closed one ends.

        Raises:
            LedgerError: it cannot be done.
        """
        with self._changed:
            while self._syncing:
                self._changed.wait()
            self._require_sound()
            if self._offset:
                self._roll_over()
            # An empty segment is one that a kill left in the middle of this: its record is still to come.
            evidence = ArchiveEvidence(project=project, segment=self._segment - 1, sequence=self._sequence, tip=self._tip, reason=reason)
            self.append(own(project, evidence), run=None)
        self.sync()
        return evidence

    def close(self) -> None:
        """Let go of the file. What was appended is written; it is durable only as far as `sync` says."""
        with self._changed:
            while self._syncing:
                self._changed.wait()
            if self._poison is None:
                self._poison = "it was closed"
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    # --- with the lock held -------------------------------------------------------------------------------------------

    def _next_line(self, transition: Transition, *, run: str | None, by: str | None) -> Line:
        self._require_sound()
        if self._torn:
            message = f"{self._torn} bytes of an unfinished line were not cut"
            raise LedgerError(message)
        entry = _entry(
            transition,
            sequence=self._sequence + 1,
            parent=self._tip,
            time=stamp(self._clock()),
            run=run,
            by=by,
            actor=self._actor,
            version=self._version,
        )
        try:
            return write_line(entry)
        except ValueError as error:
            raise LedgerError(str(error), remedy="make the plan smaller: select fewer models") from error

    def _look(self, at: Tip) -> None:
        size = os.fstat(self._descriptor).st_size
        if size < at.offset or segment_path(self._directory, at.segment + 1).exists():
            message = "the ledger is not as it was read a moment ago; is another process writing it?"
            raise LedgerError(message)
        position = at.offset
        while position < size:
            chunk = os.pread(self._descriptor, min(_CHUNK, size - position), position)
            if not chunk or b"\n" in chunk:
                message = "the ledger has grown since it was read a moment ago; is another process writing it?"
                raise LedgerError(message)
            position += len(chunk)
        self._torn = size - at.offset

    def _require_sound(self) -> None:
        if self._poison is not None:
            raise LedgerError(self._poison)

    def _write(self, data: bytes) -> None:
        try:
            point("ledger.write.before")
            write_all(self._descriptor, data)
            point("ledger.write.after")
        except OSError as error:
            self._poison = f"an earlier write failed: {error}"
            self._undo()
            raise LedgerError(str(error)) from error
        except BaseException:
            # Whether the line is there is not known here; whoever reads the ledger next sees it or not.
            self._poison = "an earlier write was broken off"
            raise
        self._offset += len(data)

    def _undo(self) -> None:
        """Take back what a failed write left of a line. If that fails too, it is a torn tail, which readers know."""
        try:
            os.ftruncate(self._descriptor, self._offset)
        except OSError as error:
            self._poison = f"{self._poison}; and what it left could not be cut: {error}"

    def _roll_over(self) -> None:
        """Begin the next segment. The one that is left is durable then, so that `sync` has one file to care for."""
        self._fsync(self._descriptor, self._segment)
        self._durable = self._sequence
        try:
            point("ledger.segment.before")
            following = segment_path(self._directory, self._segment + 1)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(following, flags, 0o644)
            os.close(self._descriptor)
            self._descriptor, self._segment, self._offset = descriptor, self._segment + 1, 0
            point("ledger.segment.after")
            sync_directory(following.parent)
        except OSError as error:
            self._poison = f"a new segment could not be made: {error}"
            raise LedgerError(str(error)) from error
        except BaseException:
            self._poison = "making a new segment was broken off"
            raise

    def _fsync(self, descriptor: int, segment: int) -> None:
        try:
            point("ledger.fsync.before")
            os.fsync(descriptor)
            point("ledger.fsync.after")
            # What is durable must also be found: a file that was removed takes bytes and fsyncs as if it were there.
            there, held = segment_path(self._directory, segment).stat(), os.fstat(descriptor)
            if (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino):
                raise OSError(errno.ESTALE, "another file stands in its place")  # noqa: TRY301
        except OSError as error:
            self._poison = f"an earlier fsync failed: {error}"
            raise LedgerError(str(error)) from error
        except BaseException:
            self._poison = "an earlier fsync was broken off"
            raise


def _entry(
    transition: Transition, *, sequence: int, parent: str, time: str, run: str | None, by: str | None, actor: str, version: str
) -> Entry:
    return Entry(
        sequence=sequence,
        parent=parent,
        time=time,
        run=run,
        by=by,
        machine=transition.machine,
        subject=transition.subject,
        event=transition.event,
        source=transition.source,
        target=transition.target,
        verdicts=transition.verdicts,
        evidence=transition.evidence,
        actor=actor,
        version=version,
    )


def _torn(kept: Path) -> TornEvidence:
    data = kept.read_bytes()
    return TornEvidence(bytes=len(data), kept_as=kept.name, sha256=hashlib.sha256(data).hexdigest())


def _move_remains(first: Path) -> None:
    """Keep what stands where a ledger shall begin and holds no whole line; a whole line is a ledger that is there."""
    others = [item.name for item in first.parent.iterdir() if segment_number(item.name) is not None and item.name != first.name]
    data = first.read_bytes() if first.exists() else b""
    if b"\n" in data or others:
        message = f"there is a ledger in {first.parent.parent} already"
        raise LedgerError(message, remedy="`interlock status` shows what it says")
    if data:
        kept, number = first.with_name("torn-000001"), 2
        while kept.exists():
            kept, number = first.with_name(f"torn-000001-{number}"), number + 1
        write_file(kept, data)
