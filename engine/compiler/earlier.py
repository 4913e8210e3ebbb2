"""What was compiled before and is as it was, for what is compiled now: known by its answers, its text read where somebody asks.

An ephemeral model is a part of the text of what reads it: where that is compiled now, so is the ephemeral.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from interlock.engine.compiler.analysis import Context
from interlock.engine.compiler.compiled import CompiledModel, CompiledSource
from interlock.engine.compiler.contracts import promises_of
from interlock.engine.compiler.kept import Trace
from interlock.engine.compiler.names import Names
from interlock.engine.compiler.proofs import PROMISED
from interlock.engine.compiler.shadows import shadow_of
from interlock.engine.compiler.unit import Unit
from interlock.engine.project.project import Project
from interlock.engine.warehouse.duckdb.binder import Binder


class Earlier(NamedTuple):
    """Models and seeds that are as they were, and sources."""

    models: Mapping[str, CompiledModel]
    traces: Mapping[str, Trace]
    """These say which models there are."""
    sources: Mapping[str, CompiledSource]


NONE = Earlier({}, {}, {})


class Units(Mapping[str, Unit]):
    """Units by name: those that are compiled now, and those that were before, of which each is made when somebody asks."""

    def __init__(self, made: dict[str, Unit], earlier: Earlier, project: Project, names: Names, context: Context, binder: Binder) -> None:
        """Hold them.

        Args:
            made: what is compiled now; others come to it later.
            earlier: what was compiled before.
            project: with the files of both.
            names: of the project.
            context: to read a text with.
            binder: says what a contract's types are.
        """
        self._made = made
        self._earlier = earlier
        self._project = project
        self._names = names
        self._context = context
        self._binder = binder
        self._known: dict[str, Unit] = {}
        self._stood: set[str] = set()

    def __getitem__(self, name: str) -> Unit:
        unit = self._made.get(name) or self._known.get(name)
        if unit is None:
            trace = self._earlier.traces[name]
            file = self._project.models.get(name) or self._project.seeds[name]
            unit = Unit(self._names.nodes[name], file, self._context, before=self._earlier.models[name])
            unit.promises = promises_of(file.contract, name, unit.path, self._binder)
            unit.reaches_a_promise = trace.reaches_a_promise
            if trace.never_null is not None:
                unit.know_never_null(PROMISED, frozenset(trace.never_null))
            self._known[name] = unit
        return unit

    def stand(self, names: Iterable[str]) -> None:
        """Stand-ins for those of before, as they were: what is bound now reads them. They had one then, so none can fail."""
        missing = [name for name in names if name in self._earlier.traces and name not in self._made and name not in self._stood]
        if missing:
            self._stood.update(missing)
            units = [self[name] for name in missing]
            failed = self._binder.stand_in([shadow_of(unit, unit.relation_columns()) for unit in units])
            assert not failed, f"{[units[place].name for place in failed]} cannot stand as they stood"

    def relations(self) -> frozenset[str]:
        """Those of before of which a relation is made: what reads them needs no more of them than their answers."""
        return frozenset(name for name, trace in self._earlier.traces.items() if trace.kind != "ephemeral")

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._earlier.traces

    def __iter__(self) -> Iterator[str]:
        yield from self._made
        yield from (name for name in self._earlier.traces if name not in self._made)

    def __len__(self) -> int:
        return len(self._made.keys() | self._earlier.traces.keys())
