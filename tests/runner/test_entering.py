"""The way into a target: what was taken is given back, whatever comes between, and the database is waited for by who was told to."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from interlock.engine import api
from interlock.engine.cases import running
from interlock.engine.cli import main
from interlock.engine.context import ground_of
from interlock.engine.diagnostics import Refused
from interlock.engine.ledger.places import lock_path
from interlock.engine.runner.door import Door, entered
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.site import site
from interlock.engine.warehouse.lock import holder_of


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    api.init(tmp_path / "p")
    ground = ground_of(api.open_context(tmp_path / "p"), writes=True)
    duckdb.connect(str(ground.target.location)).close()
    return ground


def is_held(ground: Ground) -> bool:
    return holder_of(lock_path(ground.target)) is not None


def can_be_opened(ground: Ground) -> bool:
    try:
        duckdb.connect(str(ground.target.location)).close()
    except duckdb.Error:
        return False
    return True


def test_a_door_holds_the_lock_and_the_database(ground: Ground) -> None:
    with entered(ground, "run") as door:
        assert is_held(ground)
        assert door.session() is door.session() is not None
    assert not is_held(ground)
    assert can_be_opened(ground)


def test_who_never_goes_in_leaves_nothing_behind(ground: Ground) -> None:
    with pytest.raises(KeyboardInterrupt), entered(ground, "run"):
        raise KeyboardInterrupt
    assert not is_held(ground)
    assert can_be_opened(ground)


def test_a_site_goes_in_by_the_door_that_it_is_given(ground: Ground) -> None:
    with entered(ground, "run") as door, site(ground, "run", door) as place:
        assert place.lock is door.lock
        assert place.session is door.session()
    assert not is_held(ground)
    assert can_be_opened(ground)


def test_a_bug_before_the_run_begins_leaves_nothing_behind(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(running, "run_command", broken)
    with pytest.raises(AssertionError):
        api.run(api.open_context(ground.project.root))
    assert not is_held(ground)
    assert can_be_opened(ground)


def test_a_database_that_cannot_be_opened_is_told_by_who_goes_in(ground: Ground) -> None:
    ground.target.location.write_bytes(b"no database, for certain" * 1000)
    door = Door(ground, "run")
    with pytest.raises(Refused) as refused:
        door.session()
    assert [each.code for each in refused.value.findings] == ["W607"]
    door.close()
    assert not is_held(ground)


def test_an_interrupt_while_it_opens_keeps_the_lock_until_it_is_closed(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, session, opened = threading.Event(), Ground.session, []

    def slow(self: Ground, *, create: bool, macros: tuple[str, ...] = ()) -> object:
        begun.set()
        time.sleep(0.1)
        opened.append((is_held(ground), session(self, create=create, macros=macros)))
        return opened[0][1]

    def interrupted(_: Door) -> None:
        begun.wait()
        raise KeyboardInterrupt

    before = threading.active_count()
    monkeypatch.setattr(Ground, "session", slow)
    monkeypatch.setattr(Door, "session", interrupted)
    with pytest.raises(KeyboardInterrupt), site(ground, "run"):
        raise AssertionError
    assert [held for held, _ in opened] == [True]
    assert not is_held(ground)
    assert can_be_opened(ground)
    assert threading.active_count() == before


def test_a_busy_database_is_waited_for_by_who_was_told_to(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Busy for the first try, which is the other thread's; whoever waits does it on the thread that Ctrl-C reaches."""
    opened, session = [], Ground.session

    def busy_at_first(self: Ground, *, create: bool, macros: tuple[str, ...] = ()) -> object:
        opened.append((threading.current_thread() is threading.main_thread(), self.wait_seconds))
        if len(opened) == 1:
            time.sleep(0.05)
            raise Refused
        return session(self, create=create, macros=macros)

    monkeypatch.setattr(Ground, "session", busy_at_first)
    patient = replace(ground, wait_seconds=5.0)
    with site(patient, "run") as place:
        assert place.session is not None
    assert opened == [(False, None), (True, 5.0)]
    assert not is_held(ground)
    assert can_be_opened(ground)
    opened.clear()
    with pytest.raises(Refused), site(ground, "run"):
        raise AssertionError
    assert opened == [(False, None)]
    assert not is_held(ground)


@pytest.mark.parametrize(
    "words",
    [("plan",), ("run",), ("audit", "verify"), ("ledger", "accept-warehouse", "--yes"), ("reset", "--yes"), ("check",), ("doctor",)],
    ids=lambda words: words[0],
)
def test_a_path_that_does_not_answer_is_refused_in_every_command(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link onto itself does for root what a directory that may not be entered does for others."""
    root = tmp_path / "p"
    api.init(root)
    assert api.run(api.open_context(root)).exit_code == 0
    database = root / "p.duckdb"
    database.unlink()
    database.symlink_to(database)
    capsys.readouterr()
    code = main([*words, "--project", str(root), "--target", "dev", "--json"])
    out = capsys.readouterr().out
    assert (code, "W605" in out, "X901" in out) == (3, True, False), out
