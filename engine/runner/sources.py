"""The sources of a run: each is asked once, by whoever is about to read it first; every other reader gets the same answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import msgspec

from interlock.engine.planner.plan import SourcePin, SourceQuestion
from interlock.engine.planner.sources import INTERRUPTED, ask
from interlock.engine.warehouse.protocol import Session, WarehouseError
from interlock.machines.evidence import SourceVerdict


class Sources:
    """What the sources of a run say. Safe for several threads: one asks, the others wait for its answer."""

    def __init__(self, pins: Iterable[SourcePin], session: Session, now: str, redact: Callable[[str], str]) -> None:
        """Nothing is asked yet."""
        self._questions = {pin.source: pin.question for pin in pins if pin.question is not None}
        self._locks = {name: threading.Lock() for name in self._questions}
        self._said: dict[str, tuple[SourceVerdict, ...]] = {}
        self._session = session
        self._now = now
        self._redact = redact

    def said(self, source: str) -> tuple[SourceVerdict, ...]:
        """What a source says in this run; nothing where the plan has no question for it.

        Raises:
            WarehouseError: the question was interrupted.
        """
        question = self._questions.get(source)
        if question is None:
            return ()
        with self._locks[source]:
            if source not in self._said:
                self._said[source] = self._ask(question)
            return self._said[source]

    def _ask(self, question: SourceQuestion) -> tuple[SourceVerdict, ...]:
        try:
            reader = self._session.reader()
        except WarehouseError as error:
            if error.code == INTERRUPTED:
                raise
            return tuple(self._unasked(question, error.message))
        try:
            verdicts = ask(reader, question, self._now)
        finally:
            reader.close()
        return tuple(msgspec.structs.replace(verdict, because=self._redact(verdict.because)) for verdict in verdicts)

    def _unasked(self, question: SourceQuestion, message: str) -> Iterable[SourceVerdict]:
        for check in question.checks:
            yield SourceVerdict(
                source=check.source,
                question=check.question,
                column=check.column,
                limit_seconds=check.limit_seconds,
                outcome="not_evaluated",
                failing=None,
                because=self._redact(message),
            )
