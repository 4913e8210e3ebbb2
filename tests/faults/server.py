"""A fork server: imports everything, opens nothing, and forks a child for each command that is to be killed.

A line in: `{"root": …, "words": […], "fault": "name:nth:how"}`. A line out: the child's exit status, negative for a signal.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys

import interlock.engine
from interlock.engine import faults
from interlock.engine.cli import main
from interlock.engine.clock import moment


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
        if order["fault"]:
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
