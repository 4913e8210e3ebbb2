"""The engine for charts without depth does what the library's own does, and is taken only where it can."""

from __future__ import annotations

from typing import Any

import pytest
from statemachine import HistoryState, State, StateChart
from statemachine.engines.sync import SyncEngine
from tests.machines import cases
from tests.machines.stand import Book, stand

from interlock.machines import machine as machine_module
from interlock.machines.evidence import Evidence
from interlock.machines.flat import FlatEngine, is_flat
from interlock.machines.machine import Contradiction, Machine

MACHINES = tuple(cases.STATES)


def told(machine: type[Machine], state: str, event: str, evidence: Evidence, *, full: bool = False) -> tuple[object, ...]:
    """All that can be seen of one step: where it stands, what was written, what was answered or raised."""
    book = Book()
    book.full = full
    one = stand(machine, state, book)
    answer: object
    try:
        answer = one.step(event, evidence)
    except (Contradiction, OSError) as error:
        answer = (type(error).__name__, str(error), getattr(error, "verdicts", None))
    return type(one._engine), one.state_name, one.is_final, tuple(book.lines), answer, one._engine.running


def everything(machine: type[Machine]) -> list[tuple[object, ...]]:
    found = []
    for state in cases.STATES[machine]:
        for event in cases.EVENTS[machine]:
            evidences = [cases.HOLDS[machine, event]()]
            evidences += [each.evidence for each in cases.BREAKS if (each.machine, each.event) == (machine, event)]
            for evidence in evidences:
                found.append(told(machine, state, event, evidence)[1:])
                found.append(told(machine, state, event, evidence, full=True)[1:])
    return found


@pytest.mark.parametrize("machine", MACHINES)
def test_every_step_is_the_librarys_step(machine: type[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    state, event = cases.STATES[machine][0], cases.EVENTS[machine][0]
    evidence = cases.HOLDS[machine, event]()
    assert told(machine, state, event, evidence)[0] is FlatEngine
    ours = everything(machine)
    monkeypatch.setitem(machine_module._FLAT, machine, False)
    assert told(machine, state, event, evidence)[0] is SyncEngine
    assert ours == everything(machine)
    assert len(ours) > 20


@pytest.mark.parametrize("machine", MACHINES)
def test_after_a_writer_that_raised_the_same_event_is_taken(machine: type[Machine]) -> None:
    book = Book()
    state, event = cases.STATES[machine][0], cases.EVENTS[machine][0]
    one = stand(machine, state, book)
    book.full = True
    with pytest.raises(OSError, match="no space"):
        one.step(event, cases.HOLDS[machine, event]())
    assert one.state_name == state
    book.full = False
    step = one.step(event, cases.HOLDS[machine, event]())
    assert book.lines == [step.transition]


class Strict(StateChart[Any]):
    """Two states, and nothing besides."""

    allow_event_without_transition = False
    catch_errors_as_events = False
    atomic_configuration_update = True


class Plain(Strict):
    a = State(initial=True)
    b = State(final=True)
    go = a.to(b, cond="may")

    def may(self, allowed: bool) -> bool:
        return allowed

    def on_transition(self) -> str:
        return "moved"


class OnEntry(Plain):
    def on_enter_b(self) -> None: ...


class OnExit(Plain):
    def on_exit_a(self) -> None: ...


class OnAnyEntry(Plain):
    def on_enter_state(self) -> None: ...


class Before(Plain):
    def before_go(self) -> None: ...


class After(Plain):
    def after_transition(self) -> None: ...


class Validated(Strict):
    a = State(initial=True)
    b = State(final=True)
    go = a.to(b, validators="sound")

    def sound(self) -> None: ...


class Prepared(Plain):
    def prepare_event(self) -> dict[str, object]:
        return {}


class Eventless(Strict):
    a = State(initial=True)
    b = State(final=True)
    a.to(b, cond="never")

    def never(self) -> bool:
        return False


class Inner(Strict):
    a = State(initial=True)
    b = State(final=True)
    go = a.to.itself(internal=True) | a.to(b, cond="may")

    def may(self) -> bool:
        return False


class Nested(Strict):
    class a(State.Compound):  # noqa: N801 - the library's way to write a state
        c = State(initial=True)
        d = State(final=True)
        on = c.to(d)

    b = State(final=True)
    go = a.to(b)


class Remembering(Strict):
    class a(State.Compound):  # noqa: N801
        c = State(initial=True)
        d = State()
        h = HistoryState()
        on = c.to(d) | d.to(c)

    b = State()
    go = a.to(b)
    back = b.to(a.h)


class Async(Plain):
    async def on_enter_b(self) -> None: ...


class Lax(Plain):
    allow_event_without_transition = True


class Swallowing(Plain):
    catch_errors_as_events = True


class Piecemeal(Plain):
    atomic_configuration_update = False


def test_a_chart_of_states_guards_and_a_record_is_flat() -> None:
    one = Plain()
    assert is_flat(one, one._callbacks)


@pytest.mark.parametrize(
    "chart",
    [
        OnEntry,
        OnExit,
        OnAnyEntry,
        Before,
        After,
        Validated,
        Prepared,
        Eventless,
        Inner,
        Nested,
        Remembering,
        Async,
        Lax,
        Swallowing,
        Piecemeal,
    ],
)
def test_what_the_engine_leaves_out_is_not_flat(chart: type[StateChart[Any]]) -> None:
    one = chart()
    assert not is_flat(one, one._callbacks)


def test_with_a_release_that_lacks_what_is_used_the_librarys_own_engine_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Plain()
    monkeypatch.delattr("statemachine.engines.base.BaseEngine._get_args_kwargs")
    assert not is_flat(one, one._callbacks)


def test_an_event_that_a_record_sends_is_taken_after_the_step() -> None:
    class Chained(Strict):
        a = State(initial=True)
        b = State()
        c = State(final=True)
        first = a.to(b)
        second = b.to(c)

        def on_transition(self, event: str, source: State) -> str:
            seen.append((str(event), source.id, str(self.current_state_value)))
            if event == "first":
                assert self.send("second") is None
            return str(event)

        def _get_engine(self) -> Any:
            return FlatEngine(self, self._callbacks) if flat else super()._get_engine()

    for flat in (True, False):
        seen: list[tuple[str, str, str]] = []
        one = Chained()
        assert is_flat(one, one._callbacks)
        assert isinstance(one._engine, FlatEngine) is flat
        assert one.send("first") == "first"
        assert seen == [("first", "a", "a"), ("second", "b", "b")]
        assert one.current_state_value == "c"
