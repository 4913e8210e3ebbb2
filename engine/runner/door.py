"""The way into a target that will be written to: its lock, and its database, which opens on a thread of its own meanwhile.

Opening takes as long as loading what comes after it, and holds Python's lock for little of that. So this module loads neither the
ledger nor a state machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from interlock.engine.runner.ground import Ground

if TYPE_CHECKING:
    from interlock.engine.warehouse.duckdb.session import DuckDBSession


class Door:
    """A target that is locked, and whose database is being opened, where there is one."""

    def __init__(self, ground: Ground, command: str) -> None:
        """Lock it, and begin.

        Raises:
            Refused: busy, or it can be neither opened nor made.
        """
        from interlock.engine.warehouse.duckdb import session  # noqa: F401, PLC0415 - before the thread, which would hold up other imports

        if ground.database_state() == "missing" and not ground.directory.exists():
            # A mistyped path must not even get a lock file beside it.
            ground.demand_creatable()
        self._ground = ground
        self._opening: Future[DuckDBSession] | None = None
        self.lock = ground.lock(command)
        try:
            if ground.database_exists():
                pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="opening")
                # It does not wait for a busy one: see `session`.
                self._opening = pool.submit(replace(ground, wait_seconds=None).session, create=False)
                pool.shutdown(wait=False)  # the thread ends with this
        except BaseException:
            self.lock.release()
            raise

    def session(self) -> DuckDBSession | None:
        """The database, opened for writing; `None` where there is none yet. It has no macros: those of a plan are known with the plan.

        Raises:
            Refused: it cannot be opened.
        """
        if self._opening is None:
            return None
        if self._ground.wait_seconds and self._opening.exception() is not None:
            # Who waits for a busy one waits here, where Ctrl-C reaches.
            return self._ground.session(create=False)
        return self._opening.result()

    def close(self) -> None:
        """Give both back, also where they were given back before."""
        try:
            if self._opening is not None and self._opening.exception() is None:
                self._opening.result().close()
        finally:
            self.lock.release()


@contextmanager
def entered(ground: Ground, command: str) -> Iterator[Door]:
    """Lock a target and begin to open its database, while the caller goes on.

    Raises:
        Refused: busy, or it can be neither opened nor made.
    """
    door = Door(ground, command)
    try:
        yield door
    finally:
        door.close()
