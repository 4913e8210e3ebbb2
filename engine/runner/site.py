"""An opened target: its lock, its session and its ledger, each given back whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from interlock.engine.ledger.reader import LedgerWhole
from interlock.engine.ledger.since_seal import keep
from interlock.engine.ledger.writer import Ledger
from interlock.engine.runner import genesis
from interlock.engine.runner.authority import Sight, look
from interlock.engine.runner.door import Door
from interlock.engine.runner.ground import Ground
from interlock.engine.version import VERSION
from interlock.engine.warehouse.duckdb.session import DuckDBSession, refusal
from interlock.engine.warehouse.lock import Lock
from interlock.engine.warehouse.protocol import WarehouseError


@dataclass(slots=True)
class Site:
    """An opened target: locked, with its session and its ledger. Closed in reverse, whatever happens."""

    ground: Ground
    lock: Lock
    session: DuckDBSession | None = None
    ledger: Ledger | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def sight(self) -> Sight:
        """Ledger and warehouse as they are now."""
        reader = self.session.reader() if self.session is not None else None
        try:
            return look(self.ground.directory, self.ground.project.id, reader)
        except WarehouseError as error:
            raise refusal(error, subject=self.ground.target.name) from error
        finally:
            if reader is not None:
                reader.close()

    def open_ledger(self, sight: Sight) -> Ledger:
        """Go on after a whole ledger; a torn tail is copied aside, cut and recorded."""
        assert isinstance(sight.ledger, LedgerWhole)
        ground = self.ground
        self.ledger = Ledger.open(ground.directory, clock=ground.clock, actor=ground.actor, version=VERSION, at=sight.ledger.tip)
        self.ledger.cut_torn(ground.project.id)
        return self.ledger

    def begin_ledger(self, warehouse: str | None = None) -> Ledger:
        """A new ledger of this project and target, with its first record on disk; `warehouse`: the id that it is for, if that is known."""
        ground = self.ground
        self.ledger = genesis.begin(
            ground.directory,
            project=ground.project.id,
            target=ground.target.name,
            warehouse=warehouse,
            clock=ground.clock,
            actor=ground.actor,
            version=VERSION,
        )
        return self.ledger

    def use_macros(self, macros: Callable[[], tuple[str, ...]]) -> None:
        """Give the opened database these macros; where there is none yet, nobody has to know them.

        Raises:
            Refused: one of them cannot be made.
        """
        if self.session is None:
            return
        try:
            self.session.use_macros(macros())
        except WarehouseError as error:
            raise refusal(error, subject=self.ground.target.name) from error

    def remember(self) -> None:
        """Keep what the ledger comes to, while nobody else writes it: later commands go on from there."""
        if self.ledger is not None:
            keep(self.ground.directory, self.ledger.sequence)

    def close(self) -> None:
        """Give everything back."""
        with ExitStack() as last_first:
            last_first.callback(self.lock.release)
            if self.session is not None:
                last_first.callback(self.session.close)
            if self.ledger is not None:
                last_first.callback(self.ledger.close)


@contextmanager
def site(ground: Ground, command: str, door: Door | None = None) -> Iterator[Site]:
    """Lock the target, and open its database if it is there; or go in by a door that was opened for this command.

    Raises:
        Refused: busy, or it cannot be opened.
    """
    door = door or Door(ground, command)
    try:
        session = door.session()
    except BaseException:
        door.close()  # what is still being opened, too: nobody else may have the lock before that
        raise
    place = Site(ground=ground, lock=door.lock, session=session)
    try:
        yield place
        place.remember()
    finally:
        place.close()
