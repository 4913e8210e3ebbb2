"""Compiling what changed: what was compiled before is taken as it was, where everything that it came from is the same.

Whole where nothing changed. Else the models that changed, what reads them, and those in whose texts the plan's time stands are
compiled again against the answers that are known of what they read, and the others stay. What has an error is never
kept, so an answer with errors is always made anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import structs

from interlock.engine.cache.store import Cache
from interlock.engine.cache.versions import versions
from interlock.engine.compiler.compiled import Compiled, CompiledModel, CompiledSource
from interlock.engine.compiler.kept import KNOWN, SOURCES, TRACES, Known, Models, Trace, kept_model, packed
from interlock.engine.compiler.semantics import SEMANTICS_VERSION
from interlock.engine.compiler.world import World
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.diagnostics import in_order as findings_in_order
from interlock.engine.project.clashes import relation_conflicts
from interlock.engine.project.kept import key_of
from interlock.engine.project.load import defaults_above
from interlock.engine.project.project import Project, Source
from interlock.engine.project.targets import FILE
from interlock.engine.warehouse.duckdb.installed import build, engine_version
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import Column
from interlock.machines.records import digest_of

if TYPE_CHECKING:
    from interlock.engine.compiler.compile import Compilation
    from interlock.engine.compiler.names import Names, Node
    from interlock.engine.compiler.variables import Values

_MOVING: Final = frozenset({"as_of", "until"})
_TEXTS: Final = ("sql", "checks", "restricted")
"""Fields of a model in which the plan's time may stand."""


def compile_known(project: Project, target: TargetConfig, *, as_of: str, world: World, cache: Cache | None) -> Compiled:
    """As `compile_project`, and the same answer; with a cache, what did not change is not compiled.

    Raises:
        Refused: the target has a setting that the warehouse does not take.
    """
    if cache is None or world.deployed:
        from interlock.engine.compiler.compile import compile_project  # noqa: PLC0415 - loads the engine

        return compile_project(project, target, as_of=as_of, world=world)
    # A source that is seen exactly as it is declared is compiled as if it had not been looked at: commands that look and commands
    # that do not keep one answer between them.
    seen = {name: columns for name, columns in world.sources.items() if _is_as_declared(project.sources.get(name), columns)}
    work = _Work(project, target, as_of, structs.replace(world, sources=_without(world.sources, seen)), cache)
    compiled = work.unchanged()
    if compiled is None:
        from interlock.engine.warehouse.duckdb import parser  # noqa: PLC0415 - loads the engine

        parser.begin()
        compiled = work.extended() or work.anew()
    if not seen.keys() & compiled.sources.keys():
        return compiled
    return structs.replace(
        compiled,
        sources={name: structs.replace(each, observed=seen.get(name, each.observed)) for name, each in compiled.sources.items()},
    )


def _is_as_declared(source: Source | None, observed: tuple[Column, ...]) -> bool:
    """By the letter: a type that is written in another way is compared by the compiler."""
    if source is None or source.columns is None:
        return False
    return [(name, column.type) for name, column in source.columns.items()] == [(column.name, column.type) for column in observed]


def _without(sources: Mapping[str, tuple[Column, ...]], names: Collection[str]) -> dict[str, tuple[Column, ...]]:
    return {name: columns for name, columns in sources.items() if name not in names}


def _typed(value: object) -> object:
    return [_typed(each) for each in value] if isinstance(value, tuple) else [type(value).__name__, str(value)]


class _Work:
    def __init__(self, project: Project, target: TargetConfig, as_of: str, world: World, cache: Cache) -> None:
        self.project = project
        self.target = target
        self.as_of = as_of
        self.world = world
        self.cache = cache
        self.slot = f"compiled-{target.name}-{'seen' if world.sources else 'declared'}.cache"
        variables = {name: _typed(value) for name, value in sorted(project.variables.items())}
        self.base = digest_of(
            "cache-base",
            {
                "versions": versions(),
                "semantics": SEMANTICS_VERSION,
                "engine": [engine_version(), build()],
                "target": [target.name, target.type, target.schema, target.location.stem],
                "settings": {name: _typed(value) for name, value in sorted(target.settings.items())},
                "macros": [[macro.path, macro.text] for macro in project.macros],
                "variables": variables if project.macros else {},
            },
        )
        digests = {path: seen for path, seen in project.digests.items() if path != FILE}
        self.key = digest_of("cache-key", [self.base, sorted(digests.items()), sorted(project.unread.items()), variables, world])
        self.known = self._read()

    def _read(self) -> Known | None:
        body = self.cache.read(self.slot)
        try:
            known = None if body is None else KNOWN.decode(body)
        except (msgspec.DecodeError, RecursionError, ValueError):
            return None
        return known if known is not None and known.base == self.base else None

    # --- nothing changed --------------------------------------------------------------------------------------------------

    def unchanged(self) -> Compiled | None:
        """All of it as it was, where everything is the same."""
        known = self.known
        if known is None or known.key != self.key or (known.moving and known.as_of != self.as_of):
            return None
        return Compiled(
            models=Models(known.models, self.project),
            sources=SOURCES.decode(known.sources),
            layers=known.layers,
            macros=known.macros,
            children=known.children,
            findings=known.findings,
            semantics_version=known.semantics_version,
            engine=known.engine,
            variables=known.variables,
        )

    # --- something changed ------------------------------------------------------------------------------------------------

    def extended(self) -> Compiled | None:
        """What changed, compiled; the rest as it was. Nothing where that is not known to be the same, or is little."""
        from interlock.engine.compiler.compile import compilation_of  # noqa: PLC0415 - loads the engine
        from interlock.engine.compiler.earlier import Earlier  # noqa: PLC0415
        from interlock.engine.compiler.names import Names  # noqa: PLC0415
        from interlock.engine.compiler.variables import Values  # noqa: PLC0415

        known = self.known
        if known is None or relation_conflicts(self.project, self.target):
            return None  # of two that write one relation, which one is bound depends on the order of all
        names = Names(self.project, self.target)
        traces: dict[str, Trace] = TRACES.decode(known.traces)
        values = Values.of(self.project.variables, self.as_of, self.target.name)
        moved = {name for name, origin in self._origins().items() if known.origins.get(name) != origin}
        changed = self._with_readers(self._changed(moved, traces, names, values), traces)
        asked = set(changed)
        if known.as_of != self.as_of:
            asked |= {name for name, trace in traces.items() if trace.moving and name in names.nodes}
        if 2 * len(asked) > len(names.nodes):
            return None
        compilation: Compilation | None = None
        made: Mapping[str, CompiledModel] = {}
        macros = known.macros
        if asked or (known.moving_macros and known.as_of != self.as_of):
            still = {name: each for name, each in traces.items() if name in names.nodes and name not in asked}
            sources = {name: each for name, each in SOURCES.decode(known.sources).items() if name in names.sources and name not in moved}
            earlier = Earlier(Models(known.models, self.project), still, sources)
            compilation, partial = compilation_of(
                self.project, self.target, as_of=self.as_of, world=self.world, only=frozenset(asked), earlier=earlier
            )
            made, macros = partial.models, partial.macros
        if not asked <= made.keys():
            return None
        return _Merge(self, known, traces, names, values, compilation, made, macros, asked, changed).compiled()

    def _changed(self, moved: Collection[str], traces: Mapping[str, Trace], names: Names, values: Values) -> set[str]:
        changed = set()
        for name, node in names.nodes.items():
            trace = traces.get(name)
            if (
                trace is None
                or trace.own != self.own(name, node.kind)
                or any(values.literal(each) != text for each, text in trace.variables.items() if each not in _MOVING)
                or any(not self._is_same(names, path, meant, moved) for path, meant in trace.names)
            ):
                changed.add(name)
        return changed

    @staticmethod
    def _is_same(names: Names, path: tuple[str, ...], meant: Node, moved: Collection[str]) -> bool:
        if names.resolve(path) != meant:
            return False
        return meant.kind != "source" or (meant.name not in moved and names.maker(meant) is None)

    def own(self, name: str, kind: str) -> str:
        """The digest of a model's or seed's own files."""
        file = self.project.models[name] if kind == "model" else self.project.seeds[name]
        paths = [file.path, *([file.sidecar] if file.sidecar else []), *defaults_above(file.path)]
        return key_of({path: self.project.digests[path] for path in paths if path in self.project.digests})

    def _origins(self) -> dict[str, str]:
        world, pinned = self.world, self.project.pinned
        return {
            name: digest_of(
                "cache-source", [source, world.files.get(name), world.sources.get(name), pinned.get(name), world.unreadable.get(name)]
            )
            for name, source in self.project.sources.items()
        }

    @staticmethod
    def _with_readers(changed: set[str], traces: Mapping[str, Trace]) -> set[str]:
        readers: dict[str, list[str]] = {}
        for name, trace in traces.items():
            for node in {node for _, node in trace.names if node.kind != "source"}:
                readers.setdefault(node.name, []).append(name)
        found, waiting = set(changed), list(changed)
        while waiting:
            for reader in readers.get(waiting.pop(), ()):
                if reader not in found:
                    found.add(reader)
                    waiting.append(reader)
        return found

    # --- all of it ----------------------------------------------------------------------------------------------------------

    def anew(self) -> Compiled:
        """Everything compiled, and kept where it has no error."""
        from interlock.engine.compiler.compile import compilation_of  # noqa: PLC0415 - loads the engine

        compilation, compiled = compilation_of(self.project, self.target, as_of=self.as_of, world=self.world, only=None)
        if self.cache.writes and not self._errors(compiled.findings):
            traces = traces_of(self, compilation, compilation.units, {})
            kept = {name: memoryview(kept_model(model)) for name, model in compiled.models.items()}
            self.keep(compiled, kept, traces, compilation)
        return compiled

    def _errors(self, findings: Iterable[Diagnostic]) -> bool:
        found = [*findings, *relation_conflicts(self.project, self.target)]
        return any(finding.severity == "error" for finding in found)

    def keep(
        self, compiled: Compiled, models: dict[str, memoryview], traces: Mapping[str, Trace], compilation: Compilation | Known
    ) -> None:
        """Write what came of it, where it has no error."""
        if not self.cache.writes or self._errors(compiled.findings):
            return
        if isinstance(compilation, Known):
            loose, macro_variables = compilation.loose, compilation.macro_variables
        elif compilation.sources.findings:
            return
        else:
            loose = tuple(compilation.findings)
            macro_variables = tuple(sorted({name for macro in compilation.macros.ordered for name in macro.variables}))
        moving_macros = bool(_MOVING & set(macro_variables))
        known = Known(
            base=self.base,
            key=self.key,
            as_of=self.as_of,
            moving=moving_macros or any(trace.moving for trace in traces.values()),
            models=models,
            traces=memoryview(packed(traces)),
            sources=memoryview(packed(compiled.sources)),
            origins={name: origin for name, origin in self._origins().items() if name in compiled.sources},
            layers=compiled.layers,
            macros=compiled.macros,
            moving_macros=moving_macros,
            macro_variables=macro_variables,
            children=compiled.children,
            findings=compiled.findings,
            loose=loose,
            variables=compiled.variables,
            semantics_version=compiled.semantics_version,
            engine=compiled.engine,
        )
        self.cache.write(self.slot, packed(known))


class _Merge:
    """What was compiled now, in the place of what was compiled before."""

    def __init__(
        self,
        work: _Work,
        known: Known,
        traces: Mapping[str, Trace],
        names: Names,
        values: Values,
        compilation: Compilation | None,
        made: Mapping[str, CompiledModel],
        macros: tuple[str, ...],
        asked: Collection[str],
        changed: Collection[str],
    ) -> None:
        self.work = work
        self.known = known
        self.before = traces
        self.names = names
        self.values = values
        self.compilation = compilation
        self.made = made
        self.macros = macros
        self.asked = asked
        self.changed = changed

    def compiled(self) -> Compiled | None:
        """The whole; nothing where what was compiled now shows that more has changed."""
        from interlock.engine.compiler.graph import children_of, in_order, in_steps, layers_of, stored_layers  # noqa: PLC0415

        units = {} if self.compilation is None else {name: self.compilation.units[name] for name in self.asked}
        edges = {
            name: units[name].reads() & self.names.nodes.keys() if name in units else set(self.before[name].reads)
            for name in self.names.nodes
        }
        order, cycles = in_order(edges)
        if cycles:
            return None
        ephemeral = frozenset(name for name in order if (units[name].kind if name in units else self.before[name].kind) == "ephemeral")
        layers = layers_of(order, edges, ephemeral)
        made = {name: structs.replace(self.made[name], layer=layers[name]) for name in units}
        restored = Models(self.known.models, self.work.project)
        if any(name not in self.changed and _without_texts(made[name]) != _without_texts(restored[name]) for name in made):
            return None  # the plan's time reached more than a text
        ordered = [name for step in in_steps(order, edges) for name in step]
        models: dict[str, CompiledModel | memoryview] = {name: made[name] if name in units else self.known.models[name] for name in ordered}
        compiled = Compiled(
            models=Models(models, self.work.project),
            sources=self._sources(),
            layers=stored_layers(order, layers, ephemeral),
            macros=self.macros,
            children=children_of(self.names.nodes, edges),
            findings=self._findings(),
            semantics_version=self.known.semantics_version,
            engine=self.known.engine,
            variables=self._variables(),
        )
        if self.changed or self.known.key != self.work.key:
            traces = {name: trace for name, trace in self.before.items() if name in self.names.nodes and name not in units}
            if self.compilation is not None:
                traces.update(traces_of(self.work, self.compilation, units, traces))
            kept = {name: memoryview(kept_model(made[name])) if name in units else self.known.models[name] for name in ordered}
            self.work.keep(compiled, kept, traces, self.compilation or self.known)
        return compiled

    def _sources(self) -> dict[str, CompiledSource]:
        read = {node.name for name in self.names.nodes for node in self._nodes(name) if node.kind == "source"}
        found: dict[str, CompiledSource] = {**SOURCES.decode(self.known.sources)}
        if self.compilation is not None:
            found.update(self.compilation.sources.done)
        return {name: found[name] for name in sorted(read) if name in found}

    def _nodes(self, name: str) -> Iterable[Any]:
        if name in self.asked and self.compilation is not None:
            return self.compilation.units[name].all_nodes()
        return (node for _, node in self.before[name].names)

    def _findings(self) -> tuple[Diagnostic, ...]:
        found = [*(self.known.loose if self.compilation is None else self.compilation.findings)]
        if self.compilation is not None:
            found += self.compilation.found_in_sources()
        for name in self.names.nodes:
            if name in self.asked and self.compilation is not None:
                found += self.compilation.units[name].all_findings()
            else:
                found += self.before[name].findings
        return findings_in_order(found)

    def _variables(self) -> tuple[str, ...]:
        found = set(self.known.macro_variables)
        for name in self.names.nodes:
            if name in self.asked and self.compilation is not None:
                found |= self.compilation.units[name].variables()
            else:
                found.update(self.before[name].variables)
        return tuple(sorted(found))


def _without_texts(model: CompiledModel) -> CompiledModel:
    return msgspec.structs.replace(model, **dict.fromkeys(_TEXTS, ()))


def traces_of(work: _Work, compilation: Compilation, units: Iterable[str], before: Mapping[str, Trace]) -> dict[str, Trace]:
    """What each unit came from."""
    from interlock.engine.compiler.proofs import PROMISED  # noqa: PLC0415 - what compiles has loaded it

    moving: dict[str, bool] = {name: trace.moving for name, trace in before.items()}

    def moves(name: str) -> bool:
        if name not in moving:
            moving[name] = False  # a circle has an error, and is not kept
            unit = compilation.units[name]
            below = (node.name for node in unit.all_nodes() if compilation.names.is_ephemeral(node))
            moving[name] = bool(unit.variables() & _MOVING) or any(moves(each) for each in below)
        return moving[name]

    found = {}
    for name in units:
        unit = compilation.units[name]
        proved = unit.known_never_null(PROMISED)
        found[name] = Trace(
            own=work.own(name, unit.node.kind),
            kind=unit.kind,
            names=tuple(dict.fromkeys(unit.names_written())),
            variables={each: compilation.values.literal(each) or "" for each in sorted(unit.variables())},
            moving=moves(name),
            reads=tuple(sorted(unit.reads())),
            findings=tuple(unit.all_findings()),
            reaches_a_promise=unit.reaches_a_promise,
            never_null=None if proved is None else tuple(sorted(proved)),
        )
    return found
