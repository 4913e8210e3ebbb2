"""Machines put into any state, with a ledger that is a list."""

from __future__ import annotations

from tests.machines import sample

from interlock.machines.evidence import BootstrapEvidence, Transition
from interlock.machines.machine import Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.plan import Plan
from interlock.machines.run import Run


class Book:
    """A writer that keeps what it was given, and can be told to fail."""

    def __init__(self) -> None:
        self.lines: list[Transition] = []
        self.full = False

    def __call__(self, transition: Transition) -> str:
        if self.full:
            raise OSError("no space left on device")
        self.lines.append(transition)
        return sample.ANCHOR


def model_run(state: str, book: Book, bootstrap: BootstrapEvidence | None = None) -> ModelRun:
    pinned = bootstrap or sample.bootstrap()
    return ModelRun("orders#1", book, state=state, bootstrap=pinned, anchor=sample.ANCHOR, commit=sample.found())


def stand(machine: type[Machine], state: str, book: Book) -> Machine:
    if machine is ModelRun:
        return model_run(state, book)
    if machine is Run:
        return Run("run-1", book, state=state, authorized=sample.authorize())
    assert machine is Plan
    return Plan("plan-1", book, state=state)
