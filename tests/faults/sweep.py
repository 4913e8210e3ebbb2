"""The crash sweep: stop at every visit of every point, then recover, then compare with a run that nothing disturbed.

Everything: `PYTHONPATH=.src:. python -m tests.faults.sweep` (`--share 1/20` for a twentieth; `--from first|later`,
`--how kill|raise`, `--by run|resume`, `--again` for crashes during recovery drawn by a seed). A failure prints the case, which runs alone
with `--only CASE`. `--recovery` stops at every visit of every point that a *recovery* comes by, twice in a row, from each of a few
crashes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.faults import world

from interlock.engine import faults

BEGINNINGS = ("first", "later")
HOWS = ("kill", "raise")
WAYS = ("run", "resume")


class Case(msgspec.Struct, frozen=True):
    """Where a command is stopped, how, and by what it is recovered."""

    begin: str
    fault: str
    how: str
    by: str
    again: tuple[str, ...] = ()
    """Faults of the recoveries that are themselves stopped, in order."""

    def __str__(self) -> str:
        return "/".join([self.begin, self.fault, self.how, self.by, *self.again])


class Server:
    """The fork server, from outside."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([".src", *sys.path])}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def give(self, root: Path, *words: str, fault: str = "", shuffle: tuple[int, int] | None = None, file_bytes_max: int = 0) -> int:
        """A command in a child; its exit status, negative for a signal."""
        assert self.process.stdin is not None
        order = {
            "root": str(root),
            "words": words,
            "fault": fault,
            "shuffle": shuffle,
            "file_bytes_max": file_bytes_max,
            "clock": world.CLOCK,
            "log": str(root.parent / f"{root.name}.log"),
        }
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self._line())

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Sweep:
    """Templates, undisturbed ends, and the cases over them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.server = Server()
        self.templates = world.templates(root)
        self.visits: dict[str, list[str]] = {}
        self.expected: dict[str, dict[str, Any]] = {}
        for begin, template in self.templates.items():
            at = root / f"clean-{begin}"
            self.visits[begin] = world.visits(template, at, "run")
            self.expected[begin] = world.state(at)
            world.demand_sound(at)

    def shuffled(self, begin: str, seed: int, threads: int) -> None:
        """Several threads in an order that the seed decides, killed at a visit that it draws; then recovered and compared."""
        at = self.root / "case"
        shutil.rmtree(at, ignore_errors=True)
        shutil.copytree(self.templates[begin], at)
        draw = random.Random(seed)
        kill_at, by = draw.randrange(1, len(self.visits[begin]) + 1), draw.choice(WAYS)
        try:
            code = self.server.give(at, "run", "--threads", str(threads), "--json", shuffle=(seed, kill_at))
            assert code in {-9, 0}, f"it ended with {code}"
            self._recover(at, by)
            world.demand_sound(at)
            found = world.state(at)
            for what, expected in self.expected[begin].items():
                assert found[what] == expected, f"{what} differ: {different(found[what], expected)}"
        except AssertionError as error:
            message = f"{begin}, seed {seed}, {threads} threads, killed at {kill_at}, {by}: {error}"
            raise AssertionError(message) from error

    def cases(self) -> Iterator[Case]:
        """One crash, everywhere."""
        for begin in BEGINNINGS:
            for fault in self.visits[begin]:
                for how in HOWS:
                    for by in WAYS:
                        yield Case(begin, fault, how, by)

    def play(self, case: Case) -> None:
        """Stop, recover, compare; raises `AssertionError` with the case."""
        at = self.root / "case"
        shutil.rmtree(at, ignore_errors=True)
        (self.root / "case.log").unlink(missing_ok=True)
        shutil.copytree(self.templates[case.begin], at)
        try:
            self._stop(at, case.fault, case.how, "run")
            for fault in case.again:
                self._stop(at, fault, case.how, case.by, may_end=True)
            self._recover(at, case.by)
            world.demand_sound(at)
            found = world.state(at)
            for what, expected in self.expected[case.begin].items():
                assert found[what] == expected, f"{what} differ: {different(found[what], expected)}"
        except AssertionError as error:
            message = f"{case}: {error}"
            raise AssertionError(message) from error

    def _stop(self, at: Path, fault: str, how: str, command: str, *, may_end: bool = False) -> None:
        code = self.server.give(at, command, "--json", fault=f"{fault}:{how}")
        if how == "kill":
            assert code == -9 or may_end, f"{command} was not killed: {code}"
        else:
            assert code == 1 or may_end, f"{command} ended with {code}, not with the fault"

    def _recover(self, at: Path, by: str) -> None:
        if by == "resume":
            answer = world.command(at, "resume")
            assert answer.exit == 0 or answer.codes <= {"P430"}, f"resume: {answer.brief}"
            if answer.exit == 0:
                world.demand_sound(at)
        answer = world.command(at, "run")
        assert answer.exit == 0, f"run: {answer.brief}"

    def close(self) -> None:
        self.server.close()


CRASHES = (
    "warehouse.genesis.commit.after:1",
    "warehouse.prepare.commit.after:1",
    "warehouse.commit.before:3",
    "warehouse.commit.after:1",
    "warehouse.commit.after:5",
    "warehouse.seal.commit.after:1",
)
"""One of each kind: what recovery finds after it, and does, differs."""


def during_recovery(sweep: Sweep) -> Iterator[Case]:
    """Every visit of every point of each recovery, stopped there twice in a row."""
    for begin, crash, by in itertools.product(BEGINNINGS, CRASHES, WAYS):
        if crash not in sweep.visits[begin]:
            continue
        at = sweep.root / "crashed"
        shutil.rmtree(at, ignore_errors=True)
        shutil.copytree(sweep.templates[begin], at)
        assert sweep.server.give(at, "run", "--json", fault=f"{crash}:kill") == -9
        with faults.recorded() as seen:
            answer = world.command(at, by)
        assert answer.exit == 0 or answer.codes == {"P430"}, answer.brief
        for visit in world.counted(seen):
            yield Case(begin, crash, "kill", by, (visit, visit))


def different(found: Any, expected: Any) -> str:
    """The first of what is there and should not be, and of what should be and is not."""
    mine = [repr(each) for each in (found.items() if isinstance(found, dict) else found)]
    theirs = [repr(each) for each in (expected.items() if isinstance(expected, dict) else expected)]
    extra = [each for each in mine if each not in theirs]
    lacking = [each for each in theirs if each not in mine]
    first_extra, first_lacking = (extra or [""])[0], (lacking or [""])[0]
    start = next((at for at, pair in enumerate(zip(first_extra, first_lacking, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, start - 60)
    return f"{len(extra)} extra …{first_extra[begin : start + 200]}…; {len(lacking)} lacking …{first_lacking[begin : start + 200]}…"


def again(sweep: Sweep, seed: int, count: int) -> list[Case]:
    """Cases in which the recovery is stopped too, once or twice in a row, drawn by a seed."""
    draw = random.Random(seed)
    every = [case for case in sweep.cases() if case.how == "kill"]
    found = []
    for _ in range(count):
        case = draw.choice(every)
        faults = tuple(draw.choice(sweep.visits[case.begin]) for _ in range(draw.choice((1, 2))))
        found.append(msgspec.structs.replace(case, again=faults))
    return found


def say(text: str) -> None:
    """To whoever waits for it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _threads(sweep: Sweep, threads: int, seeds: range) -> int:
    failed = 0
    for number, (seed, begin) in enumerate(itertools.product(seeds, BEGINNINGS), 1):
        try:
            sweep.shuffled(begin, seed, threads)
        except AssertionError as error:
            failed += 1
            say(f"FAILED {str(error)[:3000]}")
        if number % 50 == 0:
            say(f"{number} played, {failed} failed")
    say(f"{2 * len(seeds) - failed} of {2 * len(seeds)} shuffled runs hold, {threads} threads, seeds {seeds.start} to {seeds.stop - 1}")
    return 1 if failed else 0


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", default="1/1", help="k/n: every n-th case, from the k-th on")
    parser.add_argument("--from", dest="begin", choices=BEGINNINGS)
    parser.add_argument("--how", choices=HOWS)
    parser.add_argument("--by", choices=WAYS)
    parser.add_argument("--again", type=int, default=0, metavar="N", help="N crashes during recovery instead, drawn by --seed")
    parser.add_argument("--recovery", action="store_true", help="stop at every visit of each recovery instead, twice in a row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="N threads, shuffled and killed, for --seeds seeds from --seed on"
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--only", metavar="CASE")
    asked = parser.parse_args()
    first, every = (int(part) for part in asked.share.split("/"))
    failures, begun = [], time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        sweep = Sweep(Path(directory))
        try:
            if asked.threads:
                return _threads(sweep, asked.threads, range(asked.seed, asked.seed + asked.seeds))
            if asked.only:
                begin, fault, how, by, *more = asked.only.split("/")
                cases = [Case(begin, fault, how, by, tuple(more))]
            elif asked.again:
                cases = again(sweep, asked.seed, asked.again)
            elif asked.recovery:
                cases = list(during_recovery(sweep))[first - 1 :: every]
            else:
                cases = list(sweep.cases())
                for name in ("begin", "how", "by"):
                    cases = [case for case in cases if getattr(asked, name) in (None, getattr(case, name))]
                cases = cases[first - 1 :: every]
            points = {fault.partition(":")[0] for visited in sweep.visits.values() for fault in visited}
            say(f"{len(points)} points, {sum(map(len, sweep.visits.values()))} visits, {len(cases)} cases")
            for number, case in enumerate(cases, 1):
                if number % 100 == 0:
                    say(f"{number} played, {len(failures)} failed")
                try:
                    sweep.play(case)
                except AssertionError as error:
                    failures.append(case)
                    say(f"FAILED {str(error)[:3000]}")
        finally:
            sweep.close()
    say(f"{len(cases) - len(failures)} of {len(cases)} cases hold, in {time.monotonic() - begun:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
