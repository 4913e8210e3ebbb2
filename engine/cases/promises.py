"""What each model promised when it was last written, from the ledger and the plans that are saved; no warehouse is asked."""

from __future__ import annotations

from typing import NamedTuple

from interlock.engine.compiler.compiled import Compiled
from interlock.engine.diagnostics import Refused
from interlock.engine.ledger.since_seal import fold_since_seal
from interlock.engine.planner.plan import Item, PlanBody
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.planning import load, newest_plans
from interlock.engine.runner.selection import heads_of
from interlock.machines.evidence import Digests

_SAYS_NOTHING = frozenset({"no_op", "refuse", "move", "drop"})
"""Actions whose items hold no promises."""


class Promised(NamedTuple):
    """A model as the plan has it by which its head was written."""

    item: Item
    later: Item | None
    """The item of its checks after publication."""
    as_of: str


class LastPromised(NamedTuple):
    """The newest plan that was applied, and of each model whose promise is another one now what it last promised."""

    plan: str
    models: dict[str, Promised | None]
    """Nothing where no saved plan says it."""


def last_promised(ground: Ground, compiled: Compiled) -> LastPromised:
    """What was promised of the rows that are there.

    The ledger says with which promise each model's head was checkpointed. A model whose promise still has that digest needs no
    look. Of every other, the newest plan that holds a promise with that digest is the one: an attempt that was refused left the
    head, and the promise, as they were, and a plan for a selection says nothing of other models.

    Raises:
        Refused: what the ledger says cannot be known.
    """
    fold = fold_since_seal(ground.directory)
    heads = heads_of(fold)
    search = _Search({name: last.digests for name, last in heads.items() if _is_another(compiled, name, last.digests)})
    newest = ""
    for path in newest_plans(ground.directory):
        if newest and not search.wanted:  # however long ago it was: one that is not looked for far enough would count as none
            break
        if not fold.is_spent(path.stem):
            continue
        try:
            body = load(ground.directory, path.stem, {}).body
        except Refused:
            continue
        if body is not None:
            newest = newest or path.stem
            search.look(body, compiled)
    return LastPromised(newest, {**search.found, **dict.fromkeys(search.wanted)})


def _is_another(compiled: Compiled, name: str, digests: Digests | None) -> bool:
    model = compiled.models.get(name)
    return model is None or digests is None or digests.promise != model.digests.promise


class _Search:
    def __init__(self, wanted: dict[str, Digests | None]) -> None:
        self.wanted = wanted
        """By model: the digests of its head; nothing where a person took the warehouse's word for it."""
        self.found: dict[str, Promised] = {}
        self._before: dict[str, str] = {}
        """Models that were renamed, by the name that they had."""

    def look(self, body: PlanBody, compiled: Compiled) -> None:
        """Into one more plan, older than those before."""
        there = {item.head_model for item in body.items}
        if not (body.selection.select or body.selection.exclude):
            # It was gone when the whole project was last planned: whoever applied that has been told.
            self.wanted = {name: digests for name, digests in self.wanted.items() if name in compiled.models or name in there}
        for item in body.items:
            name = self._before.get(item.head_model, item.head_model)
            if name not in self.wanted or item.model != item.head_model:
                continue
            if item.action == "move" and item.renamed_from is not None:
                self._before[item.renamed_from] = name
            digests = self.wanted[name]
            if item.action in _SAYS_NOTHING or (digests is not None and digests.promise != item.digests.promise):
                continue
            later = next((each for each in body.items if each.head_model == item.model and each.model != item.model), None)
            self.found[name] = Promised(item, later, body.as_of)
            del self.wanted[name]
