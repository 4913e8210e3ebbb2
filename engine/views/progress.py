"""What goes on while it goes on: a live display on a terminal, plain lines elsewhere. Safe from any thread; never stops a run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

from interlock.engine.views.look import Ink, Look, counted, cut, duration, number, one_line, printable
from interlock.engine.views.redaction import Redactor

ENDED: Final = frozenset({"checkpointed", "refused"})
_WAITING: Final = frozenset({"planned", "verified"})
_SHOWN: Final = 8
_REFRESH_SECONDS: Final = 0.1


class Tally:
    """How far a run has come. Not safe by itself: whoever holds it holds a lock too."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._start = seconds()
        self.models = 0
        self.no_ops = 0
        self.done = 0
        self.refused = 0
        self.rows = 0
        self.running: dict[str, float] = {}

    def planned(self, models: int, no_ops: int) -> None:
        """A run starts."""
        self.models, self.no_ops = models, no_ops
        self._start = self._seconds()

    def moved(self, model: str, state: str, rows: int | None) -> int | None:
        """A model entered a state. Answers how many milliseconds it took, where it ended."""
        if state in ENDED:
            self.done += 1
            self.refused += state == "refused"
            self.rows += (rows or 0) if state == "checkpointed" else 0
            started = self.running.pop(model, None)
            return None if started is None else round((self._seconds() - started) * 1000)
        if state not in _WAITING:
            self.running.setdefault(model, self._seconds())
        return None

    def elapsed(self, since: float | None = None) -> int:
        """Milliseconds since the run, or something in it, began."""
        return round((self._seconds() - (self._start if since is None else since)) * 1000)


def ended_line(tally: Tally, model: str, state: str, *, rows: int | None, milliseconds: int | None, look: Look) -> str:
    """The line for a model that came to its end: `[ 3/12] raw_orders checkpointed, 100 rows, 12 ms`."""
    total = str(tally.models)
    ink: Ink = "green" if state == "checkpointed" else "red"
    parts = [f"{one_line(model)} {look.ink(state, ink)}"]
    if rows is not None and state == "checkpointed":
        parts.append(counted(rows, "row"))
    if milliseconds is not None:
        parts.append(duration(milliseconds))
    return f"[{str(tally.done).rjust(len(total))}/{total}] {', '.join(parts)}"


class _Writer:
    """A stream that can break without breaking a run: then it is silent."""

    def __init__(self, stream: TextIO, redact: Redactor) -> None:
        self._stream: TextIO | None = stream
        self._redact = redact

    def write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(self._redact(text))
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None


class Lines:
    """Progress as plain lines: one for each model that came to its end."""

    def __init__(self, stream: TextIO, look: Look, *, seconds: Callable[[], float], redact: Redactor) -> None:
        self._writer = _Writer(stream, redact)
        self._look = look
        self._lock = threading.Lock()
        self._tally = Tally(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing is left to close."""

    def planned(self, models: int, no_ops: int) -> None:
        """A run starts."""
        with self._lock:
            self._tally.planned(models, no_ops)
            self._writer.write(started_line(models, no_ops) + "\n")

    def moved(self, model: str, state: str, rows: int | None) -> None:
        """A model entered a state."""
        with self._lock:
            taken = self._tally.moved(model, state, rows)
            if state in ENDED:
                self._writer.write(ended_line(self._tally, model, state, rows=rows, milliseconds=taken, look=self._look) + "\n")

    def said(self, line: str) -> None:
        """A line for a person."""
        with self._lock:
            self._writer.write(printable(line) + "\n")


def started_line(models: int, no_ops: int) -> str:
    """How a run begins."""
    return f"running {counted(models, 'model')}" + (f", {counted(no_ops, 'no-op')}" if no_ops else "")


class Live:
    """Progress on a terminal: what runs, how much is done, rows and time, redrawn in place; ended models stay above it."""

    def __init__(self, stream: TextIO, look: Look, *, seconds: Callable[[], float], redact: Redactor) -> None:
        self._writer = _Writer(stream, redact)
        self._look = look
        self._lock = threading.Lock()
        self._tally = Tally(seconds)
        self._drawn = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Erase the display; what ended stays."""
        self._stop.set()
        if self._thread is not None:
            with contextlib.suppress(KeyboardInterrupt):
                self._thread.join()
        with self._lock:
            self._writer.write(self._erase())

    def planned(self, models: int, no_ops: int) -> None:
        """A run starts, and with it the redrawing."""
        with self._lock:
            self._tally.planned(models, no_ops)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_drawing, name="progress", daemon=True)
                self._thread.start()

    def moved(self, model: str, state: str, rows: int | None) -> None:
        """A model entered a state."""
        with self._lock:
            taken = self._tally.moved(model, state, rows)
            if state in ENDED:
                self._above(ended_line(self._tally, model, state, rows=rows, milliseconds=taken, look=self._look))
            else:
                self._writer.write(self._erase() + self._frame())

    def said(self, line: str) -> None:
        """A line for a person."""
        with self._lock:
            self._above(printable(line))

    def _above(self, line: str) -> None:
        self._writer.write(f"{self._erase()}{line}\n{self._frame()}")

    def _keep_drawing(self) -> None:
        while not self._stop.wait(_REFRESH_SECONDS):
            with self._lock:
                self._writer.write(self._erase() + self._frame())

    def _erase(self) -> str:
        drawn, self._drawn = self._drawn, 0
        return f"\x1b[{drawn}A\r\x1b[J" if drawn else ""

    def _frame(self) -> str:
        lines = frame(self._tally, self._look)
        self._drawn = len(lines)
        return "".join(line + "\n" for line in lines)


def frame(tally: Tally, look: Look) -> list[str]:
    """The live display's lines, each within the terminal's width."""
    if not tally.models:
        return []
    width = max(20, look.width - 1)
    parts = [f"{tally.done} of {tally.models} done", f"{len(tally.running)} running"]
    if tally.refused:
        parts.append(f"{tally.refused} refused")
    parts += [counted(tally.rows, "row"), duration(tally.elapsed())]
    bar_room = 20
    filled = bar_room * tally.done // tally.models
    head = cut(f"{'█' * filled}{'░' * (bar_room - filled)} {', '.join(parts)}", width)
    lines = [look.ink(head, "bold")]
    running = list(tally.running.items())
    lines += [look.ink(cut(f"  {one_line(model)}  {duration(tally.elapsed(since))}", width), "blue") for model, since in running[:_SHOWN]]
    if len(running) > _SHOWN:
        lines.append(f"  and {number(len(running) - _SHOWN)} more")
    return lines
