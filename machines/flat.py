"""The library's engine for a chart without depth: what its steps come to where states hold no states and nothing but guards and records hangs on them.

The library works out each step for charts with nested and parallel states, histories, events that callbacks raise and
actions on entry and exit. Our machines have none of these, and two thirds of a step's time went there. Which transition is
taken is still asked of the library's transitions and guards, and the record is still its callback.
"""

from __future__ import annotations

from typing import Any, Final

from statemachine import StateChart
from statemachine.engines.sync import SyncEngine
from statemachine.exceptions import TransitionNotAllowed

__all__ = ["FlatEngine", "is_flat"]

_EMPTY: Final = ("enter", "exit", "invoke")
_BARE: Final = ("validators", "before", "after")
_USED: Final = ("_processing", "_cache", "_get_args_kwargs", "external_queue", "running", "clear")
"""What is used of the library's engine; a release that lacks one of them keeps its own steps."""


class FlatEngine(SyncEngine):
    """Takes the events that wait, one after the other; of a machine that `is_flat` alone."""

    def __init__(self, machine: StateChart[Any], callbacks: Any) -> None:
        """For this machine, whose guards and record the library resolved to these callbacks."""
        super().__init__(machine)
        self._hanging = callbacks

    def processing_loop(self) -> Any:
        """Take each event that waits; the first one's answer is the answer.

        Raises:
            TransitionNotAllowed: no transition of the state takes the event, or its guard does not hold. What waits is dropped.
            Exception: whatever a guard or the record raised; the machine has not moved, and what waits is dropped.
        """
        if not self._processing.acquire(blocking=False):
            return None  # sent by a callback of a step: it is taken when that step has ended
        answers = []
        try:
            while self.running and not self.external_queue.is_empty():  # type: ignore[no-untyped-call]
                answers.append(self._take(self.external_queue.pop()))  # type: ignore[no-untyped-call]
        except BaseException:
            self.clear()  # type: ignore[no-untyped-call]
            raise
        finally:
            self._cache.clear()
            self._processing.release()
        return answers[0] if answers else None

    def _take(self, trigger: Any) -> Any:
        machine = self.sm
        self._cache.clear()
        (state,) = machine.configuration
        for transition in state.transitions:
            if not transition.match(trigger.event):
                continue
            positional, named = self._get_args_kwargs(transition, trigger)
            if self._hanging.all(transition.cond.key, *positional, **named):
                break
        else:
            raise TransitionNotAllowed(trigger.event, machine.configuration)
        said = self._hanging.call(transition.on.key, *positional, **named)
        target = transition.target
        machine.current_state_value = target.value
        self.running = not target.final
        return said[0] if len(said) == 1 else said or None


def is_flat(machine: StateChart[Any], callbacks: Any) -> bool:
    """Whether nothing that this engine leaves out could ever happen to the machine, with the callbacks that the library resolved."""
    if machine.catch_errors_as_events or machine.allow_event_without_transition or not machine.atomic_configuration_update:
        return False
    if callbacks.has_async_callbacks or list(callbacks[machine.prepare.key]):
        return False
    if not all(hasattr(SyncEngine(machine), name) for name in _USED):
        return False
    states = machine.states_map.values()
    if any(state.states or state.history or state.parent is not None or state.parallel or not state.is_atomic for state in states):
        return False
    if any(list(callbacks[getattr(state, group).key]) for state in states for group in _EMPTY):
        return False
    return all(
        len(transition.targets) == 1
        and not (transition.is_eventless or transition.internal or transition.initial)
        and not any(list(callbacks[getattr(transition, group).key]) for group in _BARE)
        for state in states
        for transition in state.transitions
    )
