"""A fork server: imports everything, opens nothing, and forks a child for each command that is to be killed.

A line in: `{"root": …, "words": […], "fault": "name:nth:how"}`; with `file_bytes_max` no file of the child may grow beyond that,
which needs no rights and is what a full disk looks like to it. A line out: the child's exit status, negative for a signal.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import random
import resource
import signal
import sys
import threading

import interlock.engine
from interlock.engine import faults
from interlock.engine.cli import main
from interlock.engine.clock import moment


class Shuffler:
    """Several threads in an order that a seed decides: whoever comes to a point waits there, and one of the waiting is let go.

    A thread that is held up elsewhere (by a lock of the ledger, in the database) keeps nobody waiting for longer than a
    moment. At the visit of this number, of all points together, the process is killed.
    """

    def __init__(self, seed: int, kill_at: int) -> None:
        self._draw = random.Random(seed)
        self._kill_at = kill_at
        self._count = 0
        self._changed = threading.Condition()
        self._waiting: list[int] = []

    def visit(self, name: str) -> None:
        del name
        me = threading.get_ident()
        with self._changed:
            self._count += 1
            if self._count == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self._waiting.append(me)
            if len(self._waiting) > self._draw.choice((0, 1, 2)):
                self._let_go()
            self._changed.wait_for(lambda: me not in self._waiting, timeout=0.004)
            if me in self._waiting:
                self._waiting.remove(me)

    def _let_go(self) -> None:
        self._waiting.remove(self._draw.choice(self._waiting))
        self._changed.notify_all()


def child(order: dict[str, object], clock: str) -> None:
    """In the child: never returns."""
    code = 99
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        log = os.open(str(order["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(quiet, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(str(order["root"]))
        if order.get("file_bytes_max"):
            limit = int(str(order["file_bytes_max"]))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if order.get("shuffle"):
            seed, kill_at = order["shuffle"]  # type: ignore[misc]
            faults._device = Shuffler(seed, kill_at)  # type: ignore[assignment]
        elif order["fault"]:
            name, nth, how = faults.parse(str(order["fault"]))
            faults.arm(name, nth=nth, how=how)
        code = main([str(word) for word in order["words"]], clock=lambda: moment(clock))  # type: ignore[attr-defined]
        sys.stdout.flush()
    finally:
        os._exit(code)


def serve() -> None:
    for found in pkgutil.walk_packages(interlock.engine.__path__, "interlock.engine."):
        if "__main__" not in found.name:
            importlib.import_module(found.name)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        order = json.loads(line)
        number = os.fork()
        if number == 0:
            child(order, order["clock"])
        _, status = os.waitpid(number, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
