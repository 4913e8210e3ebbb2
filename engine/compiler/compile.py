"""From a project to what runs: every text looked at, ordered, bound layer by layer against empty shadows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from msgspec import structs

from interlock.engine.compiler import collector
from interlock.engine.compiler.analysis import Context
from interlock.engine.compiler.check_parts import meaning_of, moving_in, sources_named
from interlock.engine.compiler.checks import CheckBinder, Draft, Stands, texts_of
from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.compiler.digests import environment_of, promise_of
from interlock.engine.compiler.earlier import NONE, Earlier, Units
from interlock.engine.compiler.finish import finished
from interlock.engine.compiler.graph import children_of, in_order, in_steps, layers_of, stored_layers
from interlock.engine.compiler.macros import macros_of
from interlock.engine.compiler.names import Names, Node
from interlock.engine.compiler.semantics import SEMANTICS_VERSION
from interlock.engine.compiler.shadows import is_storable, repeats, shadow_of
from interlock.engine.compiler.sources import SourceCompiler, bound_name
from interlock.engine.compiler.stopped import circle, waits, without_relation
from interlock.engine.compiler.text import wrapped
from interlock.engine.compiler.trees import Trees
from interlock.engine.compiler.unit import Surroundings, Unit
from interlock.engine.compiler.variables import Values
from interlock.engine.compiler.world import World
from interlock.engine.diagnostics import Diagnostic, Position, Refused
from interlock.engine.diagnostics import in_order as findings_in_order
from interlock.engine.project.project import ModelFile, Project, SeedFile
from interlock.engine.turns import short_turns
from interlock.engine.warehouse.duckdb import parser, settings
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound, Round, Shadow, UnknownSetting
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import Column


def compile_project(
    project: Project, target: TargetConfig, *, as_of: str, world: World | None = None, only: frozenset[str] | None = None
) -> Compiled:
    """Compile a project for a target. Nothing is read but file names, and nothing of the author's is run.

    Args:
        project: as its files say.
        target: decides schemas and settings.
        as_of: the plan's time, ISO 8601 with a zone.
        world: what is known of the outside; without it, sources need declared columns.
        only: models and seeds that are asked for. They and all that they read are compiled, and findings are about these.

    Raises:
        Refused: the target has a setting that the warehouse does not take.
    """
    return compilation_of(project, target, as_of=as_of, world=world, only=only)[1]


def compilation_of(
    project: Project, target: TargetConfig, *, as_of: str, world: World | None, only: frozenset[str] | None, earlier: Earlier = NONE
) -> tuple[Compilation, Compiled]:
    """As `compile_project`; and what it came from, for those who keep it.

    Of `earlier` nothing is compiled again, whatever reads it; layers are counted without it.
    """
    try:
        binder = Binder(settings.statements(target))
    except (UnknownSetting, ValueError) as error:
        finding = Diagnostic(
            code="S104",
            summary="the warehouse does not take a setting of the target",
            because=str(error),
            remedy="correct it, or take it out",
            at=Position(path="interlock.toml", key=f"targets.{target.name}.settings"),
            subject=target.name,
        )
        raise Refused(finding) from error
    with binder, collector.paused(), short_turns():
        compilation = Compilation(project, target, as_of=as_of, world=world, only=only, binder=binder, earlier=earlier)
        return compilation, compilation.run()


class Compilation:
    """One compiling: what is known of each model on the way."""

    def __init__(
        self,
        project: Project,
        target: TargetConfig,
        *,
        as_of: str,
        world: World | None,
        only: frozenset[str] | None,
        binder: Binder,
        earlier: Earlier = NONE,
    ) -> None:
        self.project = project
        self.target = target
        self.world = world
        self.only = only
        self.binder = binder
        self.values = Values.of(project.variables, as_of, target.name)
        self.names = Names(project, target)
        self.macros = macros_of(project.macros, self.values, binder)
        self.context = Context(self.names, self.values, self.macros, [])
        self._trees = Trees()
        self._read: set[str] = set()
        """What any text or check reads, and models with checks: these are read by them."""
        self.sources = SourceCompiler(project, target, world, binder)
        self.earlier = earlier
        self.units: dict[str, Unit] = {}
        """Those that are compiled now."""
        self._all = Units(self.units, earlier, project, self.names, self.context, binder)
        self.taken: set[tuple[str, str]] = set()
        self.findings: list[Diagnostic] = list(self.macros.findings)

    def run(self) -> Compiled:
        """Compile everything that is wanted."""
        wanted = set(self.names.nodes) if self.only is None else set(self.only) & set(self.names.nodes)
        with parser.looking_ahead(text for name in sorted(wanted) for text in _texts(self._file(name))):
            self._look(wanted)
        for name in sorted({node.name for unit in self.units.values() for node in unit.all_nodes() if node.kind == "source"}):
            self.sources.compile(name)
        edges = {name: {read for read in unit.reads() if read in self.units} for name, unit in self.units.items()}
        order, cycles = in_order(edges)
        if any(self._is_deployed(name) for cycle in cycles for name in cycle):
            # What is read as it is deployed waits for nothing, so no circle goes through it.
            edges = {name: set() if self._is_deployed(name) else reads for name, reads in edges.items()}
            order, cycles = in_order(edges)
        for cycle in cycles:
            self._cycle(cycle)
        ephemeral = frozenset(name for name, unit in self.units.items() if unit.is_ephemeral)
        layers = layers_of(order, edges, ephemeral)
        around = self._surroundings()
        self._read = {node.name for unit in self.units.values() for node in unit.all_nodes()}
        self._read.update(name for name, unit in self.units.items() if unit.drafts)
        models = self._in_steps(in_steps(order, edges), edges, layers, around)
        for name in sorted(set(self.units) - set(order)):
            self.units[name].blocked = True
            models[name] = finished(self.units[name], around, 1)
        self._checks(models)
        return Compiled(
            models=models,
            sources=dict(sorted(self.sources.done.items())),
            layers=stored_layers(order, layers, ephemeral),
            macros=tuple(macro.statement for macro in self.macros.ordered),
            children=children_of(self.units, edges),
            findings=findings_in_order([*self.findings, *self.found_in_sources(), *self._found_in_units()]),
            semantics_version=SEMANTICS_VERSION,
            engine=parser.ENGINE,
            variables=self._variables(),
        )

    def _found_in_units(self) -> list[Diagnostic]:
        return [found for name, unit in self.units.items() if not self._is_deployed(name) for found in unit.all_findings()]

    def found_in_sources(self) -> list[Diagnostic]:
        """Findings of the sources that are read; what only a deployed table was made from is nobody's concern now."""
        read: set[str] = set()
        for name, unit in self.units.items():
            if not self._is_deployed(name):
                read |= {node.name for node in unit.all_nodes() if node.kind == "source"}
                read.update(unit.model.sources_read if unit.model is not None else ())
        return [finding for finding in self.sources.findings if finding.subject in read]

    def _file(self, name: str) -> ModelFile | SeedFile:
        return self.project.models.get(name) or self.project.seeds[name]

    def _look(self, wanted: Iterable[str]) -> None:
        waiting = deque(sorted(wanted))
        seen = set(waiting)
        known = self._all.relations()
        while waiting:
            name = waiting.popleft()
            self.units[name] = unit = Unit(self.names.nodes[name], self._file(name), self.context)
            self._looked(unit)
            above = sorted({node.name for node in self._above(unit) if node.kind != "source"} - seen - known)
            seen.update(above)
            waiting.extend(above)

    def _above(self, unit: Unit) -> list[Node]:
        """What has to be known beside a unit: nothing above a deployed table, and of a deployed view what its text shows."""
        if not self._is_deployed(unit.name):
            return unit.all_nodes()
        return unit.texts_read() if unit.kind == "view" else []

    def _surroundings(self) -> Surroundings:
        resolved = settings.settings(self.target)
        return Surroundings(
            binder=self.binder,
            target=self.target,
            context=self.context,
            units=self._all,
            sources={**self.earlier.sources, **self.sources.done},
            run=self._run,
            bound=self._bound,
            columns_of=self._columns,
            environment=environment_of(resolved),
            collation=resolved["default_collation"],
            aggregates=parser.functions().aggregates,
            deployed=self._proved,
            settings=resolved,
        )

    def _run(self, node: Node) -> str:
        """What stands for a relation in the text that runs."""
        if node.kind == "source":
            return self.sources.done[node.name].sql
        unit = self._all[node.name]
        return wrapped(unit.sql) if unit.is_ephemeral else relation(node.schema, node.relation)

    def _bound(self, node: Node) -> str:
        """What stands for it in the text that is bound."""
        if node.kind == "source":
            if node.name not in self.sources.done and node.name in self.earlier.sources:
                self.sources.compile(node.name)  # a text that was compiled before is bound once more
            return bound_name(node.name)
        unit = self._all[node.name]
        if not unit.is_ephemeral:
            self._all.stand([node.name])
            return relation(node.schema, node.relation)
        if node.name not in self.units and unit.analysis is not None:
            return wrapped(unit.analysis.rendered(self._bound).text)
        return wrapped(unit.bound_sql)

    def _columns(self, node: Node) -> tuple[Column, ...] | None:
        if node.kind == "source":
            source = self.sources.done.get(node.name) or self.earlier.sources.get(node.name)
            return None if source is None else source.columns
        deployed = self._deployed(node.name)
        if deployed is not None:
            return deployed
        unit = self._all.get(node.name)
        return unit.relation_columns() if unit is not None else None

    def _deployed(self, name: str) -> tuple[Column, ...] | None:
        """Columns as they stand in the warehouse, of a model that is not asked for."""
        if self.world is None or (self.only is not None and name in self.only):
            return None
        return self.world.deployed.get(name)

    def _is_deployed(self, name: str) -> bool:
        return self._deployed(name) is not None and not self.units[name].is_ephemeral

    def _proved(self, name: str) -> frozenset[str] | None:
        if self.world is None or not self._is_deployed(name):
            return None
        return self.world.never_null.get(name, frozenset())

    def _in_steps(
        self, steps: list[list[str]], edges: Mapping[str, set[str]], layers: Mapping[str, int], around: Surroundings
    ) -> dict[str, CompiledModel]:
        """Bind each step against shadows of those before it; while the binder is at the next one, see what follows for this one."""
        models: dict[str, CompiledModel] = {}
        self._all.stand(sorted(self._read))
        binding = self._begin([], steps[0] if steps else [], edges, around)
        for index, step in enumerate(steps):
            units = [self.units[name] for name in step]
            found = binding.found()
            for unit in units:
                self._bind(unit, edges[unit.name], found, around)
            made, shadows = self._shadows(units)
            binding = self._begin(shadows, steps[index + 1] if index + 1 < len(steps) else [], edges, around)
            for unit in units:  # none of a step reads another one of it
                unit.promise(around)
                if not unit.blocked and not self._is_deployed(unit.name):
                    unit.examine(around)
                models[unit.name] = finished(unit, around, layers[unit.name])
                self._looked(unit)
            for place, failed in binding.stood().items():
                without_relation(made[place], failed)
                models[made[place].name] = finished(made[place], around, layers[made[place].name])
        return models

    def _looked(self, unit: Unit) -> None:
        """A unit was looked at now, and with it what it asked for above it."""
        self._trees.used([*self.context.reopened, *([unit.analysis] if unit.analysis is not None else [])])
        self.context.reopened.clear()

    def _begin(self, shadows: list[Shadow], step: Iterable[str], edges: Mapping[str, set[str]], around: Surroundings) -> Round:
        """The members of a step do not read each other, so all of their texts are bound at once."""
        texts = [
            self.units[name].to_bind(around)
            for name in step
            if not self._is_deployed(name) and not self.units[name].waits() and not self._stopped(self.units[name], edges[name])
        ]
        return self.binder.begin(shadows, (text for text in texts if text is not None))

    def _stopped(self, unit: Unit, reads: Iterable[str]) -> list[str]:
        """What a unit reads that could not be bound."""
        stopped = sorted(name for name in reads if self._stops(self.units[name]))
        return stopped + sorted({node.name for node in unit.all_nodes() if node.kind == "source" and node.name not in self.sources.done})

    def _bind(self, unit: Unit, reads: Iterable[str], found: Mapping[str, tuple[Column, ...] | NotBound], around: Surroundings) -> None:
        stopped = self._stopped(unit, reads)
        deployed = self._deployed(unit.name)
        if deployed is not None and self._is_deployed(unit.name):
            unit.stands(deployed)
            is_cut = any(node.kind != "source" and node.name not in self.units for node in unit.texts_read())
            unit.known_whole = not stopped and not is_cut and (unit.analysis is None or not unit.analysis.broken)
            return
        if not (stopped or unit.waits()) or (unit.analysis is not None and unit.analysis.broken):
            unit.bind(found.get(unit.bound_sql), around)
            return
        unit.blocked = True
        unit.findings.append(waits(unit, stopped, unit.waits()))

    def _stops(self, unit: Unit) -> bool:
        """Whether nothing can be bound against a unit."""
        if self._is_deployed(unit.name):
            return False
        return unit.blocked or not unit.bound

    def _shadows(self, units: Iterable[Unit]) -> tuple[list[Unit], list[Shadow]]:
        """What will stand for units, where something can."""
        shadows: list[Shadow] = []
        made: list[Unit] = []
        for unit in units:
            deployed = self._deployed(unit.name)
            place = (unit.node.schema.lower(), unit.node.relation.lower())
            if place in self.taken:
                unit.bound = False  # two that write one relation: that finding is the project's
                continue
            if deployed is None and repeats(unit.relation_columns()):
                unit.bound = False  # the finding stands already; no relation can have such columns
            shadow = shadow_of(unit, unit.relation_columns() if deployed is None else deployed)
            if (
                unit.is_ephemeral
                or self._stops(unit)
                or (unit.name not in self._read and all(is_storable(each) for each in shadow.columns))
            ):
                continue  # nothing is bound against it
            self.taken.add(place)
            shadows.append(shadow)
            made.append(unit)
        return made, shadows

    def _checks(self, models: dict[str, CompiledModel]) -> None:
        """Bind the checks: every relation has its shadow now, also those that a check after publication reads."""
        stands = Stands(self._run, self._bound)
        ephemerals = {name: models[name] for name, unit in self.units.items() if unit.is_ephemeral and name in models}
        for name, model in models.items():
            unit, digests = self.units[name], model.digests
            if unit.bound and not unit.blocked and not unit.is_ephemeral and self._deployed(name) is None:
                binder = CheckBinder(
                    unit.node,
                    unit.relation_columns(),
                    unit.path,
                    binder=self.binder,
                    stands=stands,
                    columns_of=lambda node: self._columns(node) or (),
                )
                ready = [each for each in unit.drafts if self._is_ready(each)]
                unit.checks = tuple(
                    structs.replace(binder.compile(each), sources=sources_named(each), moving=moving_in(each, ephemerals)) for each in ready
                )
                unit.findings += binder.findings
                meanings = {each.check.name: meaning_of(each, ephemerals, self.values, self.macros) for each in ready}
                if any(meanings.values()):
                    promise = promise_of(unit.file.contract, unit.promises, unit.file.checks, meanings)
                    digests = structs.replace(digests, promise=promise)
            upstream = any(models[read].blocked for read in model.references if read in models and self._deployed(read) is None)
            blocked = unit.blocked or not unit.bound or unit.errors() or upstream
            models[name] = structs.replace(model, checks=unit.checks, digests=digests, blocked=blocked)

    def _is_ready(self, drafted: Draft) -> bool:
        """Whether everything that a check reads and calls is there. What is not has its own finding."""
        return not (drafted.analysis is not None and drafted.analysis.waits) and all(
            node.name in self.sources.done if node.kind == "source" else not self._stops(self._all[node.name]) for node in drafted.reads()
        )

    def _cycle(self, cycle: list[str]) -> None:
        edges = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        places = [self._reference(name, reads) for name, reads in edges]
        at, *also = (place or Position(path=self.units[name].path) for place, (name, _) in zip(places, edges, strict=True))
        self.findings.append(circle(cycle, at, tuple(also), through_check=None in places))

    def _reference(self, name: str, reads: str) -> Position | None:
        """Where a model's text names another; nothing where only a check of it does."""
        analysis = self.units[name].analysis
        place = next((each for each in analysis.places if each.node.name == reads), None) if analysis is not None else None
        return None if analysis is None or place is None else analysis.text.at(place.start, place.end - place.start)

    def _variables(self) -> tuple[str, ...]:
        found = {name for unit in self.units.values() for name in unit.variables()}
        for macro in self.macros.ordered:
            found.update(macro.variables)
        return tuple(sorted(found))


def _texts(file: ModelFile | SeedFile) -> list[str]:
    """Every text of a file that will be parsed."""
    own = [file.text] if isinstance(file, ModelFile) else []
    return [*own, *(text for check in file.checks for text in texts_of(check, file.name))]
