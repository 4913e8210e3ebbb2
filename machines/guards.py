"""Guards: named, pure, total questions put to evidence. They answer with reasons, and `requires` keeps all of them.

A guard never changes its meaning: a stricter one is a new guard with a new name, for ledgers name the guards that held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from interlock.machines.evidence import Verdict

Invariant: TypeAlias = Literal["I1", "I2", "I3", "I4"]

INVARIANTS: Final[dict[Invariant, tuple[str, str]]] = {
    "I1": (
        "plan matches apply",
        "the previewed scope, the saved plan and the executed work name the same models, layers, SQL and bounds",
    ),
    "I2": (
        "uncertainty never authorizes mutation",
        'a failed probe is not "absent"; a missing or unreadable authority stops before the first write',
    ),
    "I3": (
        "state follows durable writes",
        "a checkpoint advances for committed work only, never for failed work, and no durable delta is ever repeated",
    ),
    "I4": (
        "unsafe contracts fail early",
        "if semantics cannot be kept or a schema promise is false, compilation stops before the warehouse is touched",
    ),
}

REPORT: Final = "this is a bug of Interlock: please report it with the ledger's record"


class Holds:
    """The positive answer. There is one, `HOLDS`, and a guard has to say it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Its name."""
        return "HOLDS"


class Refuses:
    """The negative answer: a code, what was seen, and an act that helps."""

    __slots__ = ("because", "code", "remedy")

    def __init__(self, code: str, because: str, remedy: str) -> None:
        self.code = code
        self.because = because
        self.remedy = remedy


HOLDS: Final = Holds()

Answer: TypeAlias = Holds | tuple[Refuses, ...]


def refuses(code: str, because: str, *, remedy: str) -> tuple[Refuses, ...]:
    """One reason against."""
    return (Refuses(code, because, remedy),)


def unless(reasons: Iterable[Refuses]) -> Answer:
    """Hold, unless there are reasons against; all of them are kept."""
    against = tuple(reasons)
    return against or HOLDS


C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)


class Guard(Generic[C_contra]):
    """A named question: `ask` answers it, `reads` says for people what it looks at."""

    __slots__ = ("ask", "code", "invariant", "name", "reads", "says")

    def __init__(self, ask: Callable[[C_contra], Answer], *, invariant: Invariant, code: str, reads: str) -> None:
        self.ask = ask
        self.name: str = ask.__name__
        self.says: str = (ask.__doc__ or "").strip().splitlines()[0]
        self.invariant = invariant
        self.code = code
        self.reads = reads

    def __repr__(self) -> str:
        """Its name, as it stands in ledgers."""
        return f"<guard {self.name}>"

    def __call__(self, case: C_contra) -> tuple[Verdict, ...]:
        """Answer in verdicts, whatever happens: a guard that raises, or does not answer, refuses."""
        try:
            answer = self.ask(case)
        except Exception as error:  # noqa: BLE001 - nothing goes on: the error becomes a refusal
            answer = refuses("X901", f"the guard itself failed: {type(error).__name__}: {error}", remedy=REPORT)
        if answer is HOLDS:
            return (Verdict(guard=self.name),)
        if not isinstance(answer, tuple) or not answer:
            answer = refuses("X901", "the guard gave no answer", remedy=REPORT)
        return tuple(self._against(reason) for reason in answer)

    def _against(self, reason: Refuses) -> Verdict:
        return Verdict(
            guard=self.name,
            holds="no",
            invariant=self.invariant,
            code=reason.code,
            because=reason.because,
            remedy=reason.remedy,
        )


def guard(invariant: Invariant, code: str, *, reads: str) -> Callable[[Callable[[C], Answer]], Guard[C]]:
    """Make a guard of a function; its name and the first line of its docstring become the guard's."""

    def wrap(ask: Callable[[C], Answer]) -> Guard[C]:
        return Guard(ask, invariant=invariant, code=code, reads=reads)

    return wrap


class Dossier:
    """Where the composite guard of an event leaves its verdicts; one an event."""

    __slots__ = ("verdicts",)

    def __init__(self) -> None:
        self.verdicts: tuple[Verdict, ...] = ()


class Requirement(Protocol):
    """The composite guard of an event, as a method of its machine."""

    guards: tuple[Guard[Any], ...]
    judge: Callable[[object], tuple[Verdict, ...]]

    def __call__(self, machine: Any, case: object, dossier: Dossier) -> bool:
        """Ask every guard, keep every verdict, and hold only if all hold."""
        ...


Judge: TypeAlias = Callable[[Any], tuple[Verdict, ...]]


def all_hold(verdicts: Collection[Verdict]) -> bool:
    """Whether there are verdicts and each of them holds: no verdict is no evidence."""
    return bool(verdicts) and all(verdict.holds == "yes" for verdict in verdicts)


def ask_all(guards: Iterable[Guard[Any]], case: object) -> tuple[Verdict, ...]:
    """Every verdict of every guard, in order; none is left out because another refused."""
    return tuple(verdict for each in guards for verdict in each(case))


def requires(case_type: type[Any], *guards: Guard[Any], judge: Judge | None = None) -> Requirement:
    """The composite guard of an event.

    Args:
        case_type: what the guards read; anything else (evidence that is missing or of another kind) refuses.
        guards: all of them, for tables and diagrams.
        judge: how they are asked, where that takes more than asking each.
    """

    def judged(case: object) -> tuple[Verdict, ...]:
        if not isinstance(case, case_type):
            because = f"evidence is missing: {type(case).__name__} is not {case_type.__name__}"
            return tuple(_unasked(each, because) for each in guards)
        return judge(case) if judge is not None else ask_all(guards, case)

    def requirement(machine: object, case: object, dossier: Dossier) -> bool:  # noqa: ARG001 - a method of the machine
        dossier.verdicts = judged(case)
        return all_hold(dossier.verdicts)

    requirement.guards = guards  # type: ignore[attr-defined]
    requirement.judge = judged  # type: ignore[attr-defined]
    return requirement  # type: ignore[return-value]


def _unasked(each: Guard[Any], because: str) -> Verdict:
    return Verdict(guard=each.name, holds="no", invariant=each.invariant, code="X901", because=because, remedy=REPORT)
