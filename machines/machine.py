"""The strict base of every machine; with `flat`, the only importer of the state machine library.

The library's defaults swallow what a guard or an action raises, and ignore events that lead nowhere; here both are errors. A
machine is pure: it gets the ledger's writer as a plain callable, and moves only after the writer has answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

from statemachine import State, StateChart
from statemachine.exceptions import TransitionNotAllowed

from interlock.machines.evidence import Evidence, RefuseEvidence, Transition, Verdict
from interlock.machines.flat import FlatEngine, is_flat
from interlock.machines.guards import Dossier
from interlock.machines.records import Record

__all__ = ["RESERVED", "Contradiction", "Machine", "State", "Step", "Writer"]

Writer: TypeAlias = Callable[[Transition], str]
"""Appends to the ledger and returns the record's digest. If it raises, the machine has not moved."""

RESERVED: Final = frozenset({"model", "source", "target", "state", "event", "machine", "transition", "event_data"})
"""Keywords that the library puts in itself: one that we passed would be silently replaced."""


class Contradiction(Exception):  # noqa: N818 - the field's word: what was sent cannot be true of this machine
    """An event that this machine cannot take: unknown, impossible in its state, or a guarded `refuse` that does not hold.

    The machine has not moved, and nothing was written.
    """

    def __init__(self, message: str, verdicts: tuple[Verdict, ...] = ()) -> None:
        reasons = "".join(f"\n  [{verdict.code}] {verdict.because}" for verdict in verdicts if verdict.holds != "yes")
        super().__init__(message + reasons)
        self.verdicts = verdicts


class Step(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened: the transition, and the digest of its record."""

    transition: Transition
    record: str


class _Standing:
    """Where a machine stands; the library reads and writes `state` here, so that restoring runs no entry actions."""

    __slots__ = ("state",)

    def __init__(self, state: str | None) -> None:
        self.state = state


_RESOLVED: Final[dict[type[StateChart[Any]], Any]] = {}
"""Each class's guards and actions, as the library resolved them."""
_FLAT: Final[dict[type[StateChart[Any]], bool]] = {}
"""Whether each class can do without the parts of the library that are for charts with depth."""


class Machine(StateChart[Any]):
    """A table of states, events and composite guards, with one door: `step`."""

    allow_event_without_transition = False
    catch_errors_as_events = False
    atomic_configuration_update = True

    ledger_name: ClassVar[str] = ""
    """The machine's name in ledgers; permanent."""
    evidence_types: ClassVar[dict[str, type[Record]]] = {}
    """Each event and the one kind of evidence that it takes."""
    meaning: ClassVar[dict[str, str]] = {}
    """What is true in the world in each state, for people."""

    def __init__(self, subject: str, write: Writer, *, state: str | None = None) -> None:
        """Begin at the initial state, or restore.

        Args:
            subject: what the machine is about, as ledgers name it: `model#attempt`, a run's id, a plan's id.
            write: appends a record and returns its digest.
            state: where to restore, checked against the class.
        """
        if state is not None and state not in self.states_map:
            msg = f"{type(self).__name__} has no state `{state}`"
            raise ValueError(msg)
        self.subject = subject
        self._write = write
        if state is None and self.initial_state is not None:
            # Put there instead of entered: entering would run actions, and there are none.
            state = str(self.initial_state.value)
        super().__init__(model=_Standing(state))

    def _register_callbacks(self, listeners: list[object]) -> None:
        """What the library looks up for each instance anew, found once a class: ours hang on the class, and nothing listens besides."""
        if listeners:
            self.add_listener(*listeners)
        resolved = _RESOLVED.get(type(self))
        if resolved is None:
            # On an instance of its own, so that no run's writer lives on in what all share.
            bare = type(self).__new__(type(self))
            vars(bare).update(model=_Standing(None), state_field=self.state_field, _callbacks=self._callbacks, _listeners={})
            super(Machine, bare)._register_callbacks([])
            resolved = _RESOLVED[type(self)] = self._callbacks
        self._callbacks = resolved

    def _get_engine(self) -> Any:
        """The library's engine; for a chart without depth the one that takes the same steps without looking for it."""
        flat = _FLAT.get(type(self))
        if flat is None:
            flat = _FLAT[type(self)] = is_flat(self, self._callbacks)
        return FlatEngine(self, self._callbacks) if flat else super()._get_engine()  # type: ignore[no-untyped-call]

    def add_listener(self, *listeners: object) -> NoReturn:
        """Refused: what is resolved is shared by all instances of a class, so it would listen to all of them.

        Raises:
            TypeError: always.
        """
        msg = f"{type(self).__name__} takes no listeners, but got {len(listeners)}: its guards and its record are all that hangs on it"
        raise TypeError(msg)

    @property
    def state_name(self) -> str:
        """The name of the state that it is in."""
        return str(self.model.state)

    @property
    def is_final(self) -> bool:
        """Whether it has ended. Asked of the state's name: a restored machine is not told that it has."""
        return bool(self.states_map[self.state_name].final)

    def step(self, event: str, evidence: Evidence) -> Step:
        """Take one event with its evidence: write the record, then move.

        Raises:
            Contradiction: the machine cannot take this event; nothing was written.
            Exception: whatever the writer raised; the machine has not moved.
        """
        name = self.ledger_name
        given: object = evidence
        if event not in self.evidence_types:
            msg = f"{name} has no event `{event}`"
            raise Contradiction(msg)
        if not isinstance(given, Record):
            msg = f"`{event}` of {name} was sent without evidence"
            raise Contradiction(msg)
        self.admit(event, evidence)
        dossier = Dossier()
        case = self.case(event, evidence)
        try:
            step = self.send(event, evidence=evidence, case=case, dossier=dossier)
        except TransitionNotAllowed as refusal:
            what = "does not hold" if dossier.verdicts else "is not possible"
            msg = f"`{event}` {what} for {name} {self.subject} in `{self.state_name}`"
            raise Contradiction(msg, dossier.verdicts) from refusal
        if not isinstance(step, Step):
            msg = f"`{event}` of {name} answered with {type(step).__name__}"
            raise TypeError(msg)
        self.remember(step)
        return step

    def admit(self, event: str, evidence: Evidence) -> None:
        """Turn away what no record may hold; raises `Contradiction`."""
        if event == "refuse" and not isinstance(evidence, RefuseEvidence):
            msg = f"a refusal of {self.ledger_name} {self.subject} needs its cause, and got {type(evidence).__name__}"
            raise Contradiction(msg)

    def case(self, event: str, evidence: Evidence) -> object:  # noqa: ARG002 - machines that remember read the event
        """What the event's guards are asked about: the evidence, with what the machine remembers."""
        return evidence

    def remember(self, step: Step) -> None:
        """Keep of a step what later guards are asked about. Total: it runs after the machine has moved."""

    @staticmethod
    def on_transition(machine: Machine, event: str, source: State, target: State, evidence: Evidence, dossier: Dossier) -> Step:
        """Write the record, before the state changes. The library says which machine it is: no callback belongs to an instance."""
        transition = Transition(
            machine=machine.ledger_name,
            subject=machine.subject,
            event=str(event),
            source=source.id,
            target=target.id,
            verdicts=dossier.verdicts,
            evidence=evidence,
        )
        return Step(transition=transition, record=machine._write(transition))
