"""What the compiler makes of a project: for each model the text that runs, what it reads, its columns and its digests' parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from interlock.engine.diagnostics import Diagnostic
from interlock.engine.project.project import Check, ModelFile, SeedFile, Source
from interlock.machines.evidence import Column, ContractFinding, Digests, PromisedColumn
from interlock.machines.records import Record

NodeKind: TypeAlias = Literal["view", "table", "incremental", "ephemeral", "snapshot", "seed"]


class CompiledCheck(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check whose names are resolved.

    `failing`: for expression a boolean SQL expression that holds for good rows; for custom SQL the SELECT of failing rows,
    qualified, in which the model itself reads as its final relation; for accepted values the list of them, as SQL of the column's
    type. Empty for the others, which are made from `check`.
    `to_relation`: of relationships, the quoted three-part name or reader call of what is referred to.
    """

    check: Check
    failing: str = ""
    to_relation: str = ""
    reads: tuple[str, ...] = ()
    """Models and seeds that it reads besides its own."""
    sources: tuple[str, ...] = ()
    """Sources that it names."""
    moving: tuple[str, ...] = ()
    """What makes its answer another one though nothing that it reads moved, in words."""


class RestrictedSpan(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a relation stands in `sql` at which the author asks for a predicate. Offsets are in characters."""

    pair: str
    """As the sidecar has it, `relation.column`."""
    column: str
    type: str
    start: int
    end: int


class Reliance(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Columns of a source whose promise of no nulls a proof rests on, and the model that reads the source: it, or one above it."""

    reader: str
    source: str
    columns: tuple[str, ...]


class CompiledModel(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, a seed or an ephemeral, compiled."""

    name: str
    kind: NodeKind
    file: ModelFile | SeedFile
    schema: str
    relation: str
    """Name of its relation in `schema`; of an ephemeral too, though nothing is made."""
    text: str
    """The author's text as it stands in the file; empty for a seed."""
    sql: str
    """What runs: qualified, variables put in, without a trailing `;` or comment. For a seed, empty: rows come from the file."""
    columns: tuple[Column, ...]
    references: tuple[str, ...]
    """Models and seeds that the text names (directly, ephemerals too), sorted."""
    sources: tuple[str, ...]
    """Sources that the text names directly or through ephemerals, sorted."""
    tables_read: tuple[str, ...]
    """Tables, incrementals, snapshots and seeds reached directly or through views and ephemerals, sorted."""
    views_read: tuple[str, ...]
    """Views reached directly or through views and ephemerals, sorted."""
    sources_read: tuple[str, ...]
    """Sources reached directly or through views and ephemerals, sorted."""
    variables: tuple[str, ...]
    """Variables that the text reads (through ephemerals and macros too), built-in ones included, sorted."""
    macros: tuple[str, ...]
    volatile: tuple[str, ...]
    """Volatile functions it calls (through ephemerals and macros too), sorted."""
    unsettled: tuple[str, ...] = ()
    """What it takes rows with in an order that is not fixed, or picks some of them: LIMIT, `list` …; of views that it reads, their
    volatile functions too. Sorted."""
    notes: tuple[str, ...] = ()
    """Aggregate, DISTINCT, window, QUALIFY, LIMIT: constructs that an append plan notes."""
    layer: int
    """1 for what reads no model; for people."""
    contract: tuple[PromisedColumn, ...]
    extra_columns: Literal["allow", "refuse"] = "allow"
    contract_findings: tuple[ContractFinding, ...]
    checks: tuple[CompiledCheck, ...]
    digests: Digests
    description: str = ""
    tags: tuple[str, ...] = ()
    path: str
    as_of_columns: tuple[str, ...] = ()
    """Output columns whose expression reads `$as_of` (left out of the append comparison)."""
    restricted: tuple[RestrictedSpan, ...] = ()
    """Spans at which `restrict` asks for a predicate (see `restrict.py`)."""
    relies_on: tuple[Reliance, ...] = ()
    """Promises of sources that the proof of its contract rests on, and who reads those sources for it."""
    blocked: bool = False
    """It, or something that it reads, has an error: nothing above can be relied on."""
    definition_parts: dict[str, str] = {}
    """Digest of each part of the definition (query, resolution, variables, macros, ephemerals, materialization, …), by name,
    so that a plan can say which part moved."""


class CompiledSource(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source as it will be read. `sql` is what stands at its span in a FROM clause (a name or a reader call)."""

    source: Source
    sql: str
    files: tuple[str, ...] = ()
    """Files matched, relative to the project where they lie in it, sorted."""
    columns: tuple[Column, ...]
    origin: Literal["declared", "discovered"]
    observed: tuple[Column, ...] | None = None
    """The columns as they really are, where the warehouse was looked at."""


class Compiled(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole project, compiled. Models are in an order in which each follows what it reads."""

    models: Mapping[str, CompiledModel]
    sources: dict[str, CompiledSource]
    layers: tuple[tuple[str, ...], ...]
    macros: tuple[str, ...]
    """CREATE TEMP MACRO statements, in order, for every session."""
    children: dict[str, tuple[str, ...]]
    """For each model, those that read it directly (checks' edges included), sorted."""
    findings: tuple[Diagnostic, ...]
    semantics_version: int
    engine: str
    """Version of the warehouse engine that bound it."""
    variables: tuple[str, ...] = ()
    """Variables that anything compiled reads, checks and macros included, sorted."""
