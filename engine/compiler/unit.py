"""One model or seed on its way through the compiler."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from interlock.engine.compiler.analysis import Analysis, Context
from interlock.engine.compiler.branches import misplaced
from interlock.engine.compiler.checks import Draft, draft
from interlock.engine.compiler.columns import look_at_columns
from interlock.engine.compiler.compiled import CompiledCheck, CompiledModel, CompiledSource, RestrictedSpan
from interlock.engine.compiler.contracts import Promises, compared, promises_of
from interlock.engine.compiler.demands import columns_named, repeatability
from interlock.engine.compiler.digests import (
    kind_of,
)
from interlock.engine.compiler.keys import chances_in, query_shape, unsettled_in
from interlock.engine.compiler.names import Node
from interlock.engine.compiler.order import PICKS
from interlock.engine.compiler.order_shapes import Shape
from interlock.engine.compiler.outputs import Output, OutputNames
from interlock.engine.compiler.proofs import GIVEN, NOTHING, PROMISED, TABLES, Premise, columns_in, query_never_null
from interlock.engine.compiler.reading import Reading
from interlock.engine.compiler.reliance import reaches_a_promise, rests_on_sources
from interlock.engine.compiler.restrict import spans_of
from interlock.engine.compiler.text import Spliced, Text
from interlock.engine.compiler.types import Length, canonical_type
from interlock.engine.compiler.unbound import explained
from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.project.project import ModelFile, Relationships, SeedFile
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound
from interlock.engine.warehouse.duckdb.parser import Tree
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import Column, ContractFinding

VALIDITY = ("valid_from", "valid_to")
"""Columns that a snapshot's relation has after those of its query."""


class Surroundings(NamedTuple):
    """What a unit is compiled in: the binder, and everything before it in the order."""

    binder: Binder
    target: TargetConfig
    context: Context
    units: Mapping[str, Unit]
    sources: Mapping[str, CompiledSource]
    run: Callable[[Node], str]
    bound: Callable[[Node], str]
    columns_of: Callable[[Node], tuple[Column, ...] | None]
    environment: str
    collation: str
    aggregates: frozenset[str]
    deployed: Callable[[str], frozenset[str] | None]
    """Of a model that is read as it is deployed: columns that are proved never null there."""
    settings: Mapping[str, str]
    """That change answers, resolved."""


class Unit:
    """A model or seed: what its text says, then what the binder says."""

    def __init__(self, node: Node, file: ModelFile | SeedFile, context: Context, *, before: CompiledModel | None = None) -> None:
        """Look at its texts without binding them.

        Args:
            node: what it is.
            file: what it says.
            context: to look at its texts with.
            before: what it was compiled to, where that still holds. Its text is read only where somebody asks, and its checks are not.
        """
        self.node = node
        self.name = node.name
        self.file = file
        self.kind = kind_of(file)
        self.path = file.sidecar or file.path
        """Where its promises stand."""
        self._context = context
        self.drafts: list[Draft] = []
        if before is None:
            self.analysis  # noqa: B018 - it is read now
            self.drafts = [draft(check, file.name, self.path, context) for check in file.checks]
        self.findings: list[Diagnostic] = [finding for each in self.drafts for finding in each.findings]
        self.columns: tuple[Column, ...] = () if before is None else before.columns
        self.promises = Promises((), ())
        self.contract_findings: tuple[ContractFinding, ...] = ()
        self._never_null: dict[Premise, frozenset[str]] = {}
        self.reaches_a_promise: bool | None = None
        """Whether a promise of a source could be in what it reads; worked out where somebody asks."""
        self._shape: Shape | None = None
        self.unsettled: tuple[str, ...] = () if before is None else before.unsettled
        """What picks rows, or takes them in an order, that is not fixed: through ephemerals and views too."""
        self.sql = ""
        self.bound_sql = ""
        self._bound: Spliced | None = None
        self._refused: NotBound | None = None
        self.checks: tuple[CompiledCheck, ...] = ()
        self.blocked = False
        self.bound = before is not None
        self.known_whole = True
        """Whether all that it reads is known; of a model that is read as it is deployed, it may not be."""
        self.outputs: tuple[Output, ...] | None = None
        self.restricted: tuple[RestrictedSpan, ...] = ()
        self.model: CompiledModel | None = before

    @functools.cached_property
    def analysis(self) -> Analysis | None:
        """What its text says; nothing for a seed."""
        if isinstance(self.file, SeedFile):
            return None
        found = Analysis(Text(self.file.text, self.file.path), self._context, subject=self.name, own=self.name)
        self._context.reopened.append(found)
        return found

    @property
    def is_ephemeral(self) -> bool:
        """Whether it is put into its consumers instead of being made."""
        return self.kind == "ephemeral"

    def texts_read(self) -> list[Node]:
        """Models, seeds and sources that its own text names."""
        return self.analysis.nodes() if self.analysis is not None else []

    def waits(self) -> tuple[str, ...]:
        """Macros that its own text calls and that are wrong."""
        return self.analysis.waits if self.analysis is not None else ()

    def reads(self) -> set[str]:
        """Models and seeds whose relations must be there before it is made: those of its text and of its checks on rows."""
        nodes = self.texts_read()
        for each in self.drafts:
            if each.check.after == "rows":
                nodes = [*nodes, *each.reads()]
        return {node.name for node in nodes if node.kind != "source"} - {self.name}

    def relation_columns(self) -> tuple[Column, ...]:
        """Columns of its relation: those of its query, and of a snapshot its validity."""
        if self.kind != "snapshot" or not self.columns:
            return self.columns
        assert isinstance(self.file, ModelFile)
        kind = "TIMESTAMP WITH TIME ZONE"
        if self.file.snapshot_by == "updated_at":
            wanted = (self.file.updated_at or "").lower()
            kind = next((column.type for column in self.columns if column.name.lower() == wanted), kind)
        return (*self.columns, *(Column(name=name, type=kind) for name in VALIDITY))

    def all_nodes(self) -> list[Node]:
        """Everything that it or one of its checks names."""
        return [*self.texts_read(), *(node for each in self.drafts for node in each.reads())]

    def names_written(self) -> list[tuple[tuple[str, ...], Node]]:
        """Every path that its texts write, and what it means."""
        looked = [self.analysis, *(each.analysis for each in self.drafts)]
        found = [(place.reference.path, place.node) for each in looked if each is not None for place in each.places]
        found += [
            (tuple(each.check.question.to.split(".")), each.to)
            for each in self.drafts
            if each.to is not None and isinstance(each.check.question, Relationships)
        ]
        return found

    def variables(self) -> set[str]:
        """Variables that its texts read."""
        found = set(self.analysis.variables if self.analysis is not None else ())
        return found.union(*(each.variables() for each in self.drafts))

    def errors(self) -> bool:
        """Whether something is wrong with it."""
        found = [*self.findings, *(self.analysis.findings if self.analysis is not None else [])]
        return any(finding.severity == "error" for finding in found)

    def all_findings(self) -> list[Diagnostic]:
        """Everything found."""
        return [*(self.analysis.findings if self.analysis is not None else []), *self.findings]

    def never_null(self, around: Surroundings, premise: Premise = PROMISED) -> frozenset[str]:
        """Columns of its query that are proved never null, in small letters; worked out once, where somebody asks."""
        if premise in {TABLES, NOTHING} and not reaches_a_promise(self, around):
            premise = PROMISED  # there is none to leave out
        if premise not in self._never_null:
            self._never_null[premise] = query_never_null(self, around, premise)
        return self._never_null[premise]

    def know_never_null(self, premise: Premise, columns: frozenset[str]) -> None:
        """What was proved before still holds."""
        self._never_null[premise] = columns

    def known_never_null(self, premise: Premise) -> frozenset[str] | None:
        """What is proved under a premise, where somebody has asked."""
        return self._never_null.get(premise)

    def promised_and_proved(self, around: Surroundings) -> frozenset[str]:
        """Columns of which its contract promises no nulls, and which its query proves, in small letters."""
        promised = frozenset(promise.column.lower() for promise in self.promises.columns if promise.nulls == "forbidden")
        return promised & self.never_null(around) if promised else promised

    def shape(self, around: Surroundings) -> Shape:
        """Columns and keys of its query; worked out once, where somebody asks."""
        if self._shape is None:
            self._shape = query_shape(self, around)
        return self._shape

    # --- binding ------------------------------------------------------------------------------------------------------

    def promise(self, around: Surroundings) -> None:
        """What it promises, in the warehouse's words: known also of what cannot be bound."""
        self.promises = promises_of(self.file.contract, self.name, self.path, around.binder)
        self.findings += self.promises.findings

    def stands(self, columns: tuple[Column, ...]) -> None:
        """It is not compiled: readers find it in the warehouse with these columns."""
        own = {name.lower() for name in self.own_columns()}
        self.columns = tuple(column for column in columns if column.name.lower() not in own)
        self.bound = True

    def to_bind(self, around: Surroundings) -> str | None:
        """The text that is bound, where there is one. What it reads has been bound before."""
        if self.analysis is None or self.analysis.broken:
            return None
        self._bound = self.analysis.rendered(around.bound)
        self.bound_sql = self._bound.text
        return self.bound_sql

    def bind(self, found: tuple[Column, ...] | NotBound | None, around: Surroundings) -> None:
        """Names and types of its columns.

        Args:
            found: what the binder says of its text; nothing where it has none.
            around: what it is compiled in.
        """
        if isinstance(self.file, SeedFile):
            self._seed(self.file, around)
        elif isinstance(found, NotBound):
            self._refused = found
        elif found is not None:
            self.columns = found
            self.bound = True

    def examine(self, around: Surroundings) -> None:
        """Everything that follows from its columns. What it reads is finished, and its promise is known."""
        if isinstance(self.file, SeedFile):
            if self.bound:
                self._compare(around)
        elif self.analysis is not None and self._bound is not None:
            self._query(self.file, self.analysis, self._bound, around)

    def _seed(self, seed: SeedFile, around: Surroundings) -> None:
        columns: list[Column] = []
        for column in seed.columns:
            found = canonical_type(column.type, around.binder)
            if isinstance(found, NotBound):
                at = Position(path=self.path, key=f"columns.{column.name}")
                summary = f"`{column.type}` is no type"
                remedy = "write one complete type, such as `DECIMAL(18,2)`"
                if isinstance(found, Length):
                    summary, remedy = f"`{column.type}` declares a length", found.remedy(column.name)
                elif found.candidates:
                    remedy = f"did you mean `{found.candidates[0]}`?"
                self.findings.append(
                    Diagnostic(code="C304", summary=summary, because=found.message, remedy=remedy, at=at, subject=self.name)
                )
            else:
                columns.append(Column(name=column.name, type=found))
        if len(columns) == len(seed.columns):
            self.columns = tuple(columns)
            self.bound = True

    def _query(self, model: ModelFile, analysis: Analysis, bound: Spliced, around: Surroundings) -> None:
        # Relations of the warehouse have one name in both texts.
        same = all(around.run(node) == around.bound(node) for node in set(analysis.nodes()))
        run = bound if same else analysis.rendered(around.run)
        self.sql = run.text
        self.outputs = self._outputs(analysis, around)
        if self._refused is not None:
            self._not_bound(analysis, around, bound, self._refused)
            return
        look_at_columns(self.relation_columns(), analysis, around.columns_of)
        self._volatile(model, analysis, around)
        self.findings += columns_named(model, self.columns, around.collation)
        self.restricted, wrong = spans_of(model, analysis, run, around.run, around.columns_of)
        self.findings += wrong
        self._compare(around)

    def _compare(self, around: Surroundings) -> None:
        asked = any(promise.nulls == "forbidden" for promise in self.promises.columns)
        proved = self.never_null(around) if asked else frozenset()
        if asked and self.kind == "snapshot":
            proved |= {"valid_from"}
        borrowed = rests_on_sources(self, around)
        if self.kind == "view":
            # What a source is asked in a run is a proof for rows that are written then; a view shows later ones too.
            borrowed = loose = frozenset() if not borrowed else borrowed - self.never_null(around, TABLES)
            proved -= loose
        open_promises = {promise.column.lower() for promise in self.promises.columns if promise.nulls == "forbidden"} - proved
        found, self.contract_findings = compared(
            self.file.contract,
            self.promises,
            self.relation_columns(),
            self.name,
            self.path,
            own=self.own_columns(),
            never_null=proved,
            kept=self.never_null(around, GIVEN) if open_promises else frozenset(),
            borrowed=borrowed,
        )
        if not self.promises.findings:
            self.findings += found

    def moving(self) -> tuple[str, ...]:
        """What makes its rows others when they are asked for again, for readers of a view."""
        return (*self.unsettled, *(self.model.volatile if self.model is not None else ()))

    def own_columns(self) -> tuple[str, ...]:
        """Columns that we add to its relation."""
        return VALIDITY if self.kind == "snapshot" else ()

    def _volatile(self, model: ModelFile, analysis: Analysis, around: Surroundings) -> None:
        inherited: set[str] = set()
        views: dict[str, Unit] = {}
        counts: dict[str, int] = {}
        ephemerals: list[Unit] = []
        for place in analysis.places:
            unit = around.units.get(place.node.name) if place.node.kind == "model" else None
            if unit is not None and unit.kind == "view" and unit.model is not None:
                views[unit.name] = unit
            if unit is None or not unit.is_ephemeral or unit.model is None:
                continue
            ephemerals.append(unit)
            inherited |= set(unit.model.volatile)
            counts[unit.name] = counts.get(unit.name, 0) + 1
            if unit.model.volatile and counts[unit.name] == 2:
                analysis.finding(
                    "L223",
                    f"ephemeral `{unit.name}` is read twice and is volatile",
                    f"each place would see other values of {', '.join(f'`{name}`' for name in unit.model.volatile)}",
                    f"materialize `{unit.name}` as a table, or use `$as_of`",
                    place.start,
                    length=place.end - place.start,
                )
        found = unsettled_in(self, around)
        behind = [*ephemerals, *views.values()]
        chances = {each.name: chances_in(each, around) for each in behind} if model.deterministic else {}
        repeatability(model, analysis, inherited, found, behind, chances)
        below = (name for unit in (*ephemerals, *views.values()) for name in (unit.unsettled if unit.is_ephemeral else unit.moving()))
        self.unsettled = tuple(sorted({*(each.what for each in found if each.how == "no order" or each.what in PICKS), *below}))
        if model.materialized == "view":
            self._elsewhere(analysis, ephemerals)

    def _elsewhere(self, analysis: Analysis, ephemerals: list[Unit]) -> None:
        """What keeps other programs from reading a view."""
        macros = [*analysis.macros, *(name for unit in ephemerals for name in (unit.model.macros if unit.model is not None else ()))]
        if macros:
            calls = analysis.reading.calls if analysis.reading is not None else []
            analysis.finding(
                "L228",
                f"view calls macro `{macros[0]}`",
                "the macro is there in sessions of this project only; other programs cannot read the view",
                "materialize it as a table, or write the expression out",
                next((call.offset for call in calls if call.name in analysis.context.macros.by_name), None),
                severity="warning",
            )
        for each in (analysis, *(unit.analysis for unit in ephemerals)):
            pivoted = each.reading.pivoted() if each is not None and each.reading is not None else []
            if pivoted:
                name = ".".join(pivoted[0].path)
                analysis.finding(
                    "L231",
                    f"view pivots `{name}`",
                    "DuckDB keeps the name that the database has in a session of this project inside of a stored PIVOT or UNPIVOT; "
                    "other programs cannot read the view",
                    f"put the relation into a CTE, `WITH it AS (SELECT * FROM {name})`, and pivot `it`; or materialize the view as a table",
                    pivoted[0].offset if each is analysis else None,
                    severity="warning",
                )
                return

    def _outputs(self, analysis: Analysis, around: Surroundings) -> tuple[Output, ...] | None:
        """Names of outputs as the tree says them; set operations by position are looked at on the way."""
        reading = analysis.reading
        if reading is None or not (reading.set_operations or "as_of" in analysis.variables or self._reads_as_of(analysis, around)):
            return None
        if reading.set_operations:
            whole = analysis.expanded or reading
            for problem in misplaced(whole, self._named(whole, analysis, around), columns_in(whole, analysis, around)):
                analysis.finding(problem.code, problem.summary, problem.because, problem.remedy, problem.offset)
        return self._named(reading, analysis, around).root()

    def _named(self, reading: Reading, analysis: Analysis, around: Surroundings) -> OutputNames:
        by_reference = {place.reference: place.node for place in analysis.places}

        def known(table: Tree) -> tuple[Output, ...] | None:
            reference = reading.reference_of(table)
            node = by_reference.get(reference) if reference is not None else None
            columns = around.columns_of(node) if node is not None else None
            if node is None or columns is None:
                return None
            unit = around.units.get(node.name) if node.kind == "model" else None
            moving = (
                set(unit.model.as_of_columns)
                if unit is not None and unit.model is not None and unit.kind in {"ephemeral", "view"}
                else set()
            )
            return tuple(Output(column.name, column.name in moving) for column in columns)

        return OutputNames(reading, known)

    def _reads_as_of(self, analysis: Analysis, around: Surroundings) -> bool:
        units = [around.units.get(node.name) for node in analysis.nodes() if node.kind == "model"]
        return any(unit is not None and unit.model is not None and unit.model.as_of_columns for unit in units)

    def _not_bound(self, analysis: Analysis, around: Surroundings, bound: Spliced, found: NotBound) -> None:
        offset = None if found.offset is None else bound.origin(found.offset)
        for names, place, length in analysis.reading.column_references() if analysis.reading is not None else []:
            reference = next(
                (each.reference for each in analysis.places if len(each.reference.path) > 1 and _same(names[:2], each.reference.path[-2:])),
                None,
            )
            if len(names) > 2 and reference is not None and place is not None and (offset is None or place == offset):
                analysis.finding(
                    "L216",
                    f"`{'.'.join(names)}` refers to a column by schema, table and name",
                    "the relation may stand in another schema, so only its alias is known in the text",
                    f"write `{'.'.join(names[1:])}`",
                    place,
                    length=length,
                )
                return
        relations: dict[str, Sequence[str]] = {}
        for each in analysis.places:
            named = each.reference.alias or each.reference.path[-1]
            relations[named] = tuple(column.name for column in around.columns_of(each.node) or ())
        reading = analysis.reading
        alone = reading is not None and len(reading.scopes) == 1 and len(reading.bound_to) == len(analysis.places) == len(relations)
        words = explained(found, relations if alone else {}, alone=len(relations) == 1)
        compiled = "" if found.offset is None else _line(bound.text, found.offset)
        plain = analysis.only_names_put_in(offset)
        analysis.finding(
            "L201",
            words.summary,
            words.because,
            words.remedy,
            offset,
            length=words.length or found.length,
            compiled="" if plain else compiled,
        )


def _same(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    return [part.lower() for part in left] == [part.lower() for part in right]


def _line(text: str, offset: int) -> str:
    data = text.encode()
    start = data.rfind(b"\n", 0, offset) + 1
    end = data.find(b"\n", offset)
    return data[start : end if end >= 0 else len(data)].decode()
