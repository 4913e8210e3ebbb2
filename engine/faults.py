"""Named fault points: places at which a test may stop the program. Nearly free when nothing is armed.

A test device, and nothing else: no other part of the program behaves differently because of it. A test arms a point in
its own process (`armed`, `recorded`), or in a child process through the environment, which is read once, when this
module is imported:

    INTERLOCK_FAULT="ledger.write.before:3:kill"      # name, which visit (from 1), `kill` or `raise`

`kill` is SIGKILL to the own process, so that no handler and no `finally` runs; `raise` raises `FaultRaised`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

How: TypeAlias = Literal["kill", "raise"]

VARIABLE = "INTERLOCK_FAULT"


class FaultRaised(Exception):  # noqa: N818 - what happened, not what went wrong
    """A test stopped the program here."""


class _Device:
    """What is armed, and what was visited."""

    def __init__(self, name: str | None, nth: int, how: How, error: BaseException | None) -> None:
        self._name = name
        self._nth = nth
        self._how = how
        self._error = error
        self._count = 0
        self._lock = threading.Lock()
        self.visits: list[str] = []

    def visit(self, name: str) -> None:
        with self._lock:
            self.visits.append(name)
            if name != self._name:
                return
            self._count += 1
            if self._count != self._nth:
                return
        if self._how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise self._error if self._error is not None else FaultRaised(f"{name}, visit {self._nth}")


_device: _Device | None = None


def point(name: str) -> None:
    """A place at which a test may stop the program."""
    if _device is not None:
        _device.visit(name)


def arm(name: str, *, nth: int = 1, how: How = "raise", error: BaseException | None = None) -> None:
    """Stop at the `nth` visit of a point from now on: once.

    Args:
        name: of the point.
        nth: which visit, counted from 1.
        how: `kill` sends SIGKILL to this process; `raise` raises.
        error: what is raised, such as an `OSError`; a `FaultRaised` where it is not given.
    """
    global _device  # noqa: PLW0603 - the device is one for the process, like the process that it kills
    if nth < 1:
        message = f"visits are counted from 1, not {nth}"
        raise ValueError(message)
    _device = _Device(name, nth, how, error)


def disarm() -> None:
    """Nothing is armed or recorded any more."""
    global _device  # noqa: PLW0603
    _device = None


@contextmanager
def armed(name: str, *, nth: int = 1, how: How = "raise", error: BaseException | None = None) -> Iterator[list[str]]:
    """`arm` for the body of a `with`; gives the visits of all points, in order."""
    arm(name, nth=nth, how=how, error=error)
    device = _device
    try:
        yield device.visits if device is not None else []
    finally:
        disarm()


@contextmanager
def recorded() -> Iterator[list[str]]:
    """The names of all points that the body of the `with` visits, in order: what a sweep goes over."""
    global _device  # noqa: PLW0603
    device = _Device(None, 1, "raise", None)
    _device = device
    try:
        yield device.visits
    finally:
        disarm()


def parse(text: str) -> tuple[str, int, How]:
    """Read `name:nth:how`.

    Raises:
        ValueError: it is not of that form. A test that arms nothing by a typo would pass for nothing.
    """
    parts = text.rsplit(":", 2)  # a point may have a colon in its name, as the checks have
    if len(parts) == 3 and parts[0] and parts[1].isdecimal() and int(parts[1]) > 0:
        name, nth, how = parts
        if how == "kill":
            return name, int(nth), "kill"
        if how == "raise":
            return name, int(nth), "raise"
    message = f"{VARIABLE} is `name:nth:kill` or `name:nth:raise`, not {text!r}"
    raise ValueError(message)


def _arm_from_environment() -> None:
    text = os.environ.get(VARIABLE)
    if text:
        name, nth, how = parse(text)
        arm(name, nth=nth, how=how)


_arm_from_environment()
