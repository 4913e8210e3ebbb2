"""What was appended survives a kill, what was synced survives a power failure, and a writer that failed writes no more."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.ledger.chains import GENESIS, Story, Ticks, authorize, begin, go_on, move, twenty_records

from interlock.engine.faults import FaultRaised, armed, recorded
from interlock.engine.ledger import lines, writer
from interlock.engine.ledger.places import segment_path
from interlock.engine.ledger.reader import LedgerAbsent, LedgerWhole, entries, read
from interlock.engine.ledger.writer import Ledger, LedgerError
from interlock.machines.evidence import TornEvidence

RUN = "r1"


def note(ledger: Ledger, run: str = RUN) -> str:
    """A run that is authorized: the shortest record that may be repeated, by run."""
    return ledger.append(move("run", run, "authorize", "opened", "authorized", authorize("plan1", "a")), run=run)


def whole(directory: Path) -> LedgerWhole:
    found = read(directory)
    assert isinstance(found, LedgerWhole), found
    return found


@contextmanager
def refusing(words: str) -> Iterator[None]:
    with pytest.raises(LedgerError) as refused:
        yield
    (finding,) = refused.value.findings
    assert finding.code == "K741"
    assert words in finding.because, finding
    assert finding.remedy


def test_a_new_ledger_is_durable_with_its_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()) if sys.platform == "linux" else "")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    directory = tmp_path / "shop.duckdb.interlock" / "p1"
    ledger = begin(directory)
    if sys.platform == "linux":
        assert [Path(name).name for name in synced] == [tmp_path.name, "shop.duckdb.interlock", "p1", ".000001.jsonl.new", "ledger"]
    assert (ledger.sequence, ledger.tip) == (1, whole(directory).tip.digest)
    assert whole(directory).genesis == GENESIS
    ledger.close()


def test_a_second_genesis_is_refused(tmp_path: Path) -> None:
    begin(tmp_path).close()
    before = segment_path(tmp_path, 1).read_bytes()
    with refusing("already"):
        begin(tmp_path)
    segment_path(tmp_path, 1).rename(segment_path(tmp_path, 2))
    with refusing("already"):
        begin(tmp_path)
    assert segment_path(tmp_path, 2).read_bytes() == before


def test_what_a_kill_left_of_a_first_line_is_kept_and_begun_again(tmp_path: Path) -> None:
    segment_path(tmp_path, 1).parent.mkdir()
    segment_path(tmp_path, 1).write_bytes(b'{"sha')
    assert read(tmp_path) == LedgerAbsent(torn=5)
    begin(tmp_path).close()
    assert whole(tmp_path).tip.sequence == 1
    assert (tmp_path / "ledger" / "torn-000001").read_bytes() == b'{"sha'


def test_each_record_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    ledger = begin(tmp_path)
    for number in range(2, 6):
        digest = note(ledger, f"r{number}")
        found = whole(tmp_path)
        assert (found.tip.sequence, found.tip.digest) == (number, digest) == (ledger.sequence, ledger.tip)
    ledger.close()


def test_records_say_who_when_and_for_which_run(tmp_path: Path) -> None:
    ledger = begin(tmp_path)
    ledger.append(move("run", "r1", "authorize", "opened", "authorized", authorize("plan1", "a")), run="r1", by="r2")
    ledger.close()
    first, second = (entry for _, entry in entries(tmp_path))
    assert (first.run, first.by, first.machine, first.event, first.subject, first.parent) == (None, None, "ledger", "genesis", "p1", "")
    assert (second.run, second.by, second.actor, second.version) == ("r1", "r2", "ann", "0.1.0")
    assert first.time == "2024-01-01T00:00:01.000000Z" < second.time


def test_a_ledger_goes_on_where_it_ended(tmp_path: Path) -> None:
    begin(tmp_path).close()
    for number in range(2, 6):
        ledger = go_on(tmp_path)
        note(ledger, f"r{number}")
        ledger.sync()
        ledger.close()
        assert whole(tmp_path).tip.sequence == number


def test_segments_roll_over_and_the_chain_goes_on(tmp_path: Path) -> None:
    ledger = begin(tmp_path, segment_bytes=3000)
    for number in range(30):
        note(ledger, f"r{number}")
        if number % 7 == 0:
            ledger.sync()
    ledger.close()
    files = sorted((tmp_path / "ledger").glob("*.jsonl"))
    assert len(files) > 4
    assert all(file.stat().st_size <= 3000 for file in files)
    assert whole(tmp_path).tip.sequence == 31
    ledger = go_on(tmp_path, segment_bytes=3000)
    for number in range(30, 40):
        note(ledger, f"r{number}")
    ledger.close()
    assert whole(tmp_path).tip.sequence == 41


def test_a_record_longer_than_a_segment_has_its_own(tmp_path: Path) -> None:
    ledger = begin(tmp_path, segment_bytes=10)
    note(ledger)
    ledger.close()
    assert [file.name for file in sorted((tmp_path / "ledger").iterdir())] == ["000001.jsonl", "000002.jsonl"]
    assert whole(tmp_path).tip.segment == 2


def test_a_record_longer_than_a_line_is_refused_and_the_ledger_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begin(tmp_path)
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 2000)
    huge = authorize("plan1", *(f"m{number}" for number in range(100)))
    with refusing("longer than a line"):
        ledger.append(move("run", RUN, "authorize", "opened", "authorized", huge), run=RUN)
    note(ledger)
    ledger.close()
    assert whole(tmp_path).tip.sequence == 2


def test_many_threads_append_one_chain(tmp_path: Path) -> None:
    ledger = begin(tmp_path, segment_bytes=20_000)
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(40):
                note(ledger, f"r{thread}-{number}")
                if number % 5 == 0:
                    ledger.sync()
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    ledger.close()
    found = whole(tmp_path)
    assert found.tip.sequence == 161
    assert len(found.fold.runs) == 160


def test_one_fsync_serves_all_who_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begin(tmp_path)
    count, first_is_in, go = [0], threading.Event(), threading.Event()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        count[0] += 1
        first_is_in.set()
        assert go.wait(30)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    note(ledger, "first")
    done: list[int] = []
    appended = threading.Barrier(9)

    def first() -> None:
        ledger.sync()
        done.append(0)

    def other(number: int) -> None:
        note(ledger, f"r{number}")
        appended.wait(30)
        ledger.sync()
        done.append(number)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert first_is_in.wait(30)
    threads += [threading.Thread(target=other, args=(number,)) for number in range(1, 9)]
    for thread in threads[1:]:
        thread.start()
    appended.wait(30)
    go.set()
    for thread in threads:
        thread.join(30)
    assert sorted(done) == list(range(9))
    assert count[0] == 2, "one for the first, and one for the eight that came while it ran"
    ledger.sync()
    assert count[0] == 2, "nothing new, nothing to wait for"
    ledger.close()


def fail_with(error: OSError, *, after: int = 0) -> Callable[..., int]:
    real, calls = os.write, [0]

    def write(descriptor: int, data: bytes | memoryview) -> int:
        calls[0] += 1
        if calls[0] > after:
            raise error
        return real(descriptor, data[: len(data) // 2])

    return write


def test_a_failed_fsync_ends_the_ledger_for_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begin(tmp_path)
    note(ledger)

    def fsync(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(LedgerError) as failed:
        ledger.sync()
    assert failed.value.findings[0].code == "K741"
    monkeypatch.undo()
    for act in (lambda: note(ledger, "r2"), ledger.sync, lambda: ledger.cut_torn("p1")):
        with pytest.raises(LedgerError, match="K741"):
            act()
    ledger.close()
    assert whole(tmp_path).tip.sequence == 2


def test_a_full_disk_leaves_whole_lines_only_and_ends_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for after in range(4):
        directory = tmp_path / str(after)
        ledger = begin(directory)
        note(ledger)
        before = segment_path(directory, 1).read_bytes()
        monkeypatch.setattr(os, "write", fail_with(OSError(errno.ENOSPC, "No space left on device"), after=after))
        with refusing("No space left"):
            note(ledger, "r2")
        monkeypatch.undo()
        assert segment_path(directory, 1).read_bytes() == before
        with refusing("an earlier write failed"):
            note(ledger, "r3")
        ledger.close()
        assert whole(directory).torn == 0


def test_a_short_write_is_written_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begin(tmp_path)
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    note(ledger)
    monkeypatch.undo()
    ledger.close()
    assert whole(tmp_path).tip.sequence == 2


def test_what_can_not_be_taken_back_is_a_torn_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begin(tmp_path)
    monkeypatch.setattr(os, "write", fail_with(OSError(errno.ENOSPC, "No space left on device"), after=1))

    def ftruncate(descriptor: int, length: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", ftruncate)
    with pytest.raises(LedgerError):
        note(ledger)
    monkeypatch.undo()
    ledger.close()
    found = whole(tmp_path)
    assert (found.tip.sequence, found.torn > 0) == (1, True)


def test_a_torn_tail_is_kept_cut_and_recorded_before_anything_is_appended(tmp_path: Path) -> None:
    file = twenty_records(tmp_path)
    before, tail = file.read_bytes(), b'{"sha256":"00\x00'
    file.write_bytes(before + tail)
    sequence = whole(tmp_path).tip.sequence
    ledger = go_on(tmp_path)
    with refusing("not cut"):
        note(ledger)
    evidence = ledger.cut_torn("p1")
    assert evidence == TornEvidence(bytes=len(tail), kept_as=f"torn-{sequence + 1:06d}", sha256=hashlib.sha256(tail).hexdigest())
    assert (tmp_path / "ledger" / evidence.kept_as).read_bytes() == tail
    assert ledger.cut_torn("p1") is None
    note(ledger, "r3")
    ledger.close()
    found = whole(tmp_path)
    assert (found.torn, found.tip.sequence, found.fold.torn) == (0, sequence + 2, [evidence])
    assert file.read_bytes().startswith(before)


def test_a_torn_copy_without_its_record_gets_it_later(tmp_path: Path) -> None:
    file = twenty_records(tmp_path)
    file.write_bytes(file.read_bytes() + b"torn")
    ledger = go_on(tmp_path)
    with armed("ledger.write.before"), pytest.raises(FaultRaised):
        ledger.cut_torn("p1")
    ledger.close()
    assert (whole(tmp_path).torn, whole(tmp_path).fold.torn) == (0, [])
    ledger = go_on(tmp_path)
    assert ledger.cut_torn("p1") is not None
    assert ledger.cut_torn("p1") is None
    ledger.close()
    assert [evidence.bytes for evidence in whole(tmp_path).fold.torn] == [4]


def test_open_finds_that_another_process_wrote_since_the_read(tmp_path: Path) -> None:
    begin(tmp_path).close()
    at = whole(tmp_path).tip
    other = go_on(tmp_path)
    note(other)
    other.close()
    for change in (lambda: None, lambda: segment_path(tmp_path, 1).write_bytes(b""), lambda: segment_path(tmp_path, 1).unlink()):
        change()
        with pytest.raises(LedgerError):
            Ledger.open(tmp_path, clock=Ticks(), actor="ann", version="0.1.0", at=at)


def test_open_finds_a_segment_that_came_since_the_read(tmp_path: Path) -> None:
    begin(tmp_path).close()
    at = whole(tmp_path).tip
    other = go_on(tmp_path, segment_bytes=10)
    note(other)
    other.close()
    with refusing("another process"):
        Ledger.open(tmp_path, clock=Ticks(), actor="ann", version="0.1.0", at=at)


def test_a_directory_that_can_not_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="K741"):
        begin(tmp_path / "file" / "p1")


def test_a_closed_ledger_writes_no_more(tmp_path: Path) -> None:
    ledger = begin(tmp_path)
    ledger.close()
    ledger.close()
    with refusing("closed"):
        note(ledger)


def act(directory: Path) -> None:
    """Genesis, records over two segments, a sync, and a torn tail that is cut: every point of the room."""
    ledger = begin(directory, segment_bytes=1500)
    Story(ledger).open("r1", "plan1", "a")
    Story(ledger).start("r1")
    ledger.sync()
    Story(ledger).verified("r1", "plan1", "a")
    ledger.close()
    last = max((directory / "ledger").glob("*.jsonl"))
    with last.open("ab") as file:
        file.write(b"torn")
    ledger = go_on(directory)
    ledger.cut_torn("p1")
    ledger.close()


def every_point(directory: Path) -> list[tuple[str, int]]:
    with recorded() as visits:
        act(directory)
    return [(name, visits[: index + 1].count(name)) for index, name in enumerate(visits)]


def test_stopped_anywhere_by_an_exception_the_ledger_is_a_prefix_and_goes_on(tmp_path: Path) -> None:
    points = every_point(tmp_path / "all")
    assert {name for name, _ in points} >= {
        "ledger.write.before", "ledger.write.after", "ledger.fsync.before", "ledger.fsync.after", "ledger.segment.before",
        "ledger.segment.after", "ledger.truncate.before", "ledger.truncate.after", "directory.fsync.after", "file.rename.before",
    }  # fmt: skip
    complete = [entry.event for _, entry in entries(tmp_path / "all")]
    for number, (name, nth) in enumerate(points):
        directory = tmp_path / str(number)
        with armed(name, nth=nth), pytest.raises(FaultRaised):
            act(directory)
        found = read(directory)
        if isinstance(found, LedgerAbsent):
            begin(directory).close()
            continue
        assert isinstance(found, LedgerWhole), (name, nth, found)
        seen = [entry.event for _, entry in entries(directory)]
        assert seen == complete[: len(seen)], (name, nth)
        ledger = go_on(directory)
        ledger.cut_torn("p1")
        note(ledger, "later")
        ledger.close()
        assert whole(directory).torn == 0


def test_a_writer_that_was_broken_off_writes_no_more(tmp_path: Path) -> None:
    for name in ("ledger.write.before", "ledger.write.after", "ledger.segment.before", "ledger.segment.after", "ledger.fsync.before"):
        ledger = begin(tmp_path / name, segment_bytes=10)
        with armed(name), pytest.raises(FaultRaised):
            note(ledger)
        with refusing("broken off"):
            note(ledger)
        ledger.close()
        assert isinstance(read(tmp_path / name), LedgerWhole)


def test_killed_after_append_the_record_is_there(tmp_path: Path) -> None:
    """A real process, SIGKILL: `append` had returned twice, and the third write had not begun, or was done."""
    script = (
        "import sys; from pathlib import Path\n"
        "from tests.ledger.chains import Story, begin\n"
        "story = Story(begin(Path(sys.argv[1])))\n"
        "story.open('r1', 'plan1', 'a'); story.start('r1'); story.verified('r1', 'plan1', 'a'); print('alive')\n"
    )
    for name, expected in (("ledger.write.before", 3), ("ledger.write.after", 4)):
        directory = tmp_path / name
        env = {**os.environ, "INTERLOCK_FAULT": f"{name}:3:kill", "PYTHONPATH": os.pathsep.join([".src", *sys.path])}
        done = subprocess.run([sys.executable, "-c", script, str(directory)], env=env, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (-9, b""), done.stderr
        assert whole(directory).tip.sequence == expected


def test_a_reader_sees_whole_records_while_a_writer_writes(tmp_path: Path) -> None:
    ledger = begin(tmp_path, segment_bytes=5000)
    stop = threading.Event()
    seen: list[int] = []
    odd: list[object] = []

    def look() -> None:
        while not stop.is_set():
            found = read(tmp_path)
            if isinstance(found, LedgerWhole):
                seen.append(found.tip.sequence)
            else:
                odd.append(found)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for number in range(300):
            note(ledger, f"r{number}")
    finally:
        stop.set()
        thread.join()
    ledger.close()
    assert not odd
    assert seen == sorted(seen)


def test_own_records_are_named_after_their_evidence() -> None:
    assert writer.own("p1", GENESIS).event == "genesis"
    assert writer.own("p1", TornEvidence(bytes=1, kept_as="torn-1", sha256="")).event == "torn"
