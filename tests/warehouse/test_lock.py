"""One writer a database, and it dies with its process."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.engine.diagnostics import Refused
from interlock.engine.warehouse.lock import Holder, acquire, holder_of

ADA = Holder(pid=7, host="here", user="ada", since="2024-01-01T00:00:00.000000Z", command="interlock run")
BOB = Holder(pid=8, host="there", user="bob", since="2024-01-02T00:00:00.000000Z", command="interlock apply")


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self, then: Callable[[], None] | None = None) -> None:
        self.now = 0.0
        self.then = then

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.then is not None and self.now > 100:
            self.then()

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.duckdb.interlock" / "lock"


def test_it_says_who_has_it_and_only_while_they_have_it(path: Path) -> None:
    assert holder_of(path) is None
    with acquire(path, ADA) as lock:
        assert holder_of(path) == ADA
        lock.names_run("r1")
        found = holder_of(path)
        assert found is not None
        assert found.run == "r1"
        lock.names_run("r")
        assert holder_of(path) is not None
    assert holder_of(path) is None
    acquire(path, BOB).release()


def test_a_file_system_that_knows_no_locks_is_refused_and_nobody_holds_any(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unknown)
    with pytest.raises(Refused) as caught:
        acquire(path, ADA)
    (finding,) = caught.value.findings
    assert (finding.code, "No locks available" in finding.because) == ("W605", True)
    assert holder_of(path) is None


def test_a_lock_is_given_back_though_its_words_cannot_be_taken_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_descriptor: int, _length: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    lock = acquire(path, ADA)
    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", failing)
        lock.release()
    acquire(path, BOB).release()


def test_a_busy_lock_names_its_holder_and_exits_three(path: Path) -> None:
    clock = Clock()
    with acquire(path, ADA) as lock:
        lock.names_run("r9")
        with pytest.raises(Refused) as caught:
            acquire(path, BOB, sleep=clock.sleep, monotonic=clock.monotonic)
    assert caught.value.exit_code == 3
    finding = caught.value.findings[0]
    assert finding.code == "W603"
    for word in ("7", "ada", "here", "interlock run", "r9", ADA.since):
        assert word in finding.because
    assert clock.now < 1


def test_waiting_ends_when_the_lock_is_free_or_the_time_is_over(path: Path) -> None:
    lock = acquire(path, ADA)
    clock = Clock()
    with pytest.raises(Refused):
        acquire(path, BOB, 50, sleep=clock.sleep, monotonic=clock.monotonic)
    assert 50 <= clock.now < 51
    clock = Clock(then=lock.release)
    mine = acquire(path, BOB, math.inf, sleep=clock.sleep, monotonic=clock.monotonic)
    assert holder_of(path) == BOB
    mine.release()


def test_it_dies_with_its_process(path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from interlock.engine.warehouse.lock import Holder, acquire
acquire(Path(sys.argv[1]), Holder(pid=1, host="h", user="u", since="s", command="c"))
print("held", flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        clock = Clock()
        with pytest.raises(Refused):
            acquire(path, ADA, sleep=clock.sleep, monotonic=clock.monotonic)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert holder_of(path) is None
    acquire(path, ADA).release()


def test_where_it_cannot_be_made_it_says_why(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        acquire(tmp_path / "no" / "shop.duckdb.interlock" / "lock", ADA)
    assert caught.value.findings[0].code == "W602"
    (tmp_path / "shop.duckdb.interlock").write_text("a file")
    with pytest.raises(Refused) as caught:
        acquire(tmp_path / "shop.duckdb.interlock" / "lock", ADA)
    assert caught.value.findings[0].code == "W605"


def test_a_full_disk_takes_the_words_and_not_the_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("interlock.engine.warehouse.lock.os.pwrite", full)
    with acquire(path, ADA) as lock:
        lock.names_run("r1")
        clock = Clock()
        with pytest.raises(Refused):
            acquire(path, BOB, sleep=clock.sleep, monotonic=clock.monotonic)
