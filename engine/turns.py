"""How long one thread keeps Python's lock while others wait for it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Final

_TURN: Final = 0.00005
"""Seconds."""


@contextlib.contextmanager
def short_turns() -> Iterator[None]:
    """For threads that hand work to the engine.

    It works without the lock and comes back for it after each statement, which takes a tenth of the five milliseconds that Python
    lets another thread go on for.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
