"""Which syntax trees are kept as they are: most of a large project would be trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from interlock.engine.compiler.analysis import Analysis

TREES_MAX: Final = 1000
"""Syntax trees that are kept as they are; one takes about 45 KB. The others are packed."""


class Trees:
    """Those that were used last, since readers ask mostly for these. The others are let go of, and read again where somebody asks."""

    def __init__(self) -> None:
        """None yet."""
        self._open: dict[int, Analysis] = {}
        """By identity; the one that was used last is at the end."""

    def used(self, analyses: Iterable[Analysis]) -> None:
        """These were asked for now."""
        for each in analyses:
            self._open.pop(id(each), None)
            self._open[id(each)] = each
        while len(self._open) > TREES_MAX:
            self._open.pop(next(iter(self._open))).let_go()
