from __future__ import annotations

import io
import re
import threading

from interlock.engine.views.look import PLAIN, Look
from interlock.engine.views.progress import Lines, Live, Tally, frame
from interlock.engine.views.redaction import nothing_secret


class Ticks:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def screen(text: str) -> list[str]:
    """What a terminal shows after this text: only the sequences that we write are understood."""
    lines: list[str] = [""]
    row = 0
    for part in re.split(r"(\x1b\[\d*[AJ]|\r|\n)", text):
        if part == "\n":
            row += 1
            while len(lines) <= row:
                lines.append("")
        elif part == "\r" or not part:
            continue
        elif part.endswith("A") and part.startswith("\x1b"):
            row -= int(part[2:-1])
            assert row >= 0
        elif part == "\x1b[J":
            del lines[row:]
            lines.append("")
        else:
            assert lines[row] == ""
            lines[row] = part
    return lines[:-1] if lines[-1] == "" else lines


def test_piped_progress_is_a_line_for_each_model_that_ended() -> None:
    stream, ticks = io.StringIO(), Ticks()
    with Lines(stream, PLAIN, seconds=ticks, redact=nothing_secret) as progress:
        progress.planned(10, 2)
        progress.moved("raw_orders", "verified", None)
        progress.moved("raw_orders", "bootstrapping", None)
        ticks.now = 1.5
        progress.moved("raw_orders", "committed", 100)
        progress.moved("raw_orders", "checkpointed", 100)
        progress.moved("fct", "refused", None)
        progress.said("waiting for \x1b[31mthe lock")
    assert stream.getvalue().splitlines() == [
        "running 10 models, 2 no-ops",
        "[ 1/10] raw_orders checkpointed, 100 rows, 1.5 s",
        "[ 2/10] fct refused",
        "waiting for \\x1b[31mthe lock",
    ]


def test_the_live_display_leaves_ended_models_and_nothing_else() -> None:
    stream, ticks = io.StringIO(), Ticks()
    with Live(stream, Look(width=60), seconds=ticks, redact=nothing_secret) as progress:
        progress.planned(2, 0)
        progress.moved("a", "bootstrapping", None)
        progress.moved("b", "bootstrapping", None)
        during = screen(stream.getvalue())
        progress.moved("a", "checkpointed", 7)
        progress.moved("b", "refused", None)
    assert during == ["░░░░░░░░░░░░░░░░░░░░ 0 of 2 done, 2 running, 0 rows, 0 ms", "  a  0 ms", "  b  0 ms"]
    assert screen(stream.getvalue()) == ["[1/2] a checkpointed, 7 rows, 0 ms", "[2/2] b refused, 0 ms"]


def test_the_display_fits_its_terminal() -> None:
    tally = Tally(Ticks())
    tally.planned(40, 0)
    for number in range(20):
        tally.moved(f"a_model_with_quite_a_long_name_{number}", "bootstrapping", None)
    lines = frame(tally, Look(width=24))
    assert all(len(line) < 24 for line in lines)
    assert len(lines) == 10
    assert lines[-1] == "  and 12 more"


def test_many_threads_may_tell_it_at_once() -> None:
    stream = io.StringIO()
    with Live(stream, Look(width=80), seconds=Ticks(), redact=nothing_secret) as progress:
        progress.planned(40, 0)

        def work(name: str) -> None:
            for state in ("verified", "bootstrapping", "committed", "checkpointed"):
                progress.moved(name, state, 1)

        workers = [threading.Thread(target=work, args=(f"m{number}",)) for number in range(40)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    shown = screen(stream.getvalue())
    assert len(shown) == 40
    assert all(re.fullmatch(r"\[ ?\d+/40\] m\d+ checkpointed, 1 row, 0 ms", line) for line in shown)


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(text)


def test_a_reader_that_went_away_does_not_stop_a_run() -> None:
    for kind in (Lines, Live):
        with kind(Broken(), PLAIN, seconds=Ticks(), redact=nothing_secret) as progress:
            progress.planned(1, 0)
            progress.moved("a", "checkpointed", 1)


def test_secrets_are_taken_out_of_progress() -> None:
    stream = io.StringIO()
    with Lines(stream, PLAIN, seconds=Ticks(), redact=lambda text: text.replace("hunter2", "***")) as progress:
        progress.said("opened with hunter2")
    assert stream.getvalue() == "opened with ***\n"
