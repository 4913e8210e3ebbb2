"""The plan as a value: one body whose digest is its id. Applying it reads nothing else; nothing in it is late-bound."""

from __future__ import annotations

from typing import Literal, TypeAlias

from interlock.engine.warehouse.protocol import Statement
from interlock.machines.evidence import (
    CheckPin,
    Column,
    ContractFinding,
    Digests,
    Head,
    Missing,
    Present,
    PromisedColumn,
    SourceCheck,
    SourceSeen,
    SourceVerdict,
    Span,
)
from interlock.machines.records import Record

Action: TypeAlias = Literal[
    "create",
    "replace",
    "convert",
    "append",
    "merge",
    "replace_range",
    "snapshot",
    "recheck",
    "move",
    "drop",
    "adopt",
    "no_op",
    "refuse",
]


class Refusal(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the plan refuses a model."""

    code: str
    because: str
    remedy: str


class Bounds(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of the query's output is taken: half-open, as text of `type`. `None` is open; `until_none` says so by wish."""

    column: str
    type: str
    low: str | None = None
    """The watermark, or the lower end after lookback."""
    until: str | None = None
    ranges: tuple[Span, ...] = ()
    """Ranges that are replaced as a whole (partition)."""
    covered: tuple[Span, ...] = ()
    """Covered ranges as they will stand afterwards, merged."""
    asked: Literal["yes", "no"] = "no"
    """Whether the range is one that a person asked for: what lies outside is not looked at."""
    passes_over: Literal["yes", "no"] = "no"
    """Whether such a range begins above rows that no run has looked at: then the watermark stays."""
    lookback: str | None = None
    open_ended: str = ""
    """In words, where there is no upper end."""
    beyond: Literal["hold", "refuse"] = "hold"
    """What happens to rows beyond the upper end."""


class Item(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model of the plan, and all that applying it needs."""

    model: str
    kind: Literal["view", "table", "incremental", "snapshot", "seed", "orphan"]
    action: Action
    reasons: tuple[str, ...]
    """Why this action; for a no-op, why nothing is to be done."""
    notes: tuple[str, ...] = ()
    """What a reviewer should see: late rows are not looked at, reads all of a source, rows held, …"""
    strategy: str | None = None
    schema: str
    relation: str
    path: str = ""
    layer: int
    digests: Digests
    parts: dict[str, str] = {}
    text: str = ""
    canonical: str = ""
    """Of plans that were saved while it was kept (see the receipt's)."""
    columns: tuple[Column, ...] = ()
    relation_kind: Literal["table", "view", "none"]
    upstreams: tuple[str, ...] = ()
    """Models of this plan that must be checkpointed before it starts (checks' edges included)."""
    reads: tuple[str, ...] = ()
    """Models whose heads are pinned: direct references and all tables reached through views."""
    reads_planned: dict[str, str | None] = {}
    """Of those, the receipts of the ones that this plan does not touch."""
    sources: tuple[SourceSeen, ...] = ()
    source_checks: tuple[SourceCheck, ...] = ()
    """What its sources must have answered in the run before it reads them."""
    head: Head = Head()
    target: Missing | Present = Missing()
    token: str | None = None
    """The token that the relation will carry."""
    sets_token: Literal["set", "keep", "clear"] = "set"
    contract: tuple[PromisedColumn, ...] = ()
    extra_columns: Literal["allow", "refuse"] = "allow"
    protected: tuple[str, ...] = ()
    """Columns that the contract protects."""
    assignable: dict[str, str] | None = None
    """Columns of which the contract takes every type that fits, with the type that it names: `contract` has the one that is there.
    Nothing in plans that were saved before this was kept."""
    contract_findings: tuple[ContractFinding, ...] = ()
    checks: tuple[CheckPin, ...] = ()
    bounds: Bounds | None = None
    unique_key: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    """In the order of the protocol; roles are unique within an item."""
    seed_rows: str = ""
    """Digest of a seed's content."""
    renamed_from: str | None = None
    refusal: Refusal | None = None
    full_refresh: Literal["asked", "not_asked"] = "not_asked"
    shrink: Literal["allowed", "not_allowed"] = "not_allowed"
    follows: str | None = None
    """For a recheck after publication: the item of the same model that it comes after, if this plan has one."""

    @property
    def head_model(self) -> str:
        """The model whose head it moves; a recheck after publication has a key of its own."""
        return self.model.partition(":")[0]


class Selection(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked for and what it came to."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person said on the command line that changes the work. All of it is in the plan."""

    full_refresh: tuple[str, ...] = ()
    allow_shrink: tuple[str, ...] = ()
    on_change: dict[str, str] = {}
    force: tuple[str, ...] = ()
    drop_orphans: Literal["yes", "no"] = "no"
    adopt: str | None = None
    range_low: str | None = None
    range_high: str | None = None
    verify_content: Literal["yes", "no"] = "no"
    variables: dict[str, str] = {}
    """`--vars`, as text: applying takes them from here."""


class UpstreamPin(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An unselected upstream: what it must still be."""

    model: str
    definition: str
    columns: tuple[Column, ...]
    token: str | None
    receipt: str | None
    relation: str = ""
    """Where it stands, as `schema.name`, if it stands as it was left; else what reads it was refused."""


class SourceQuestion(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is asked of a source before anything reads it, in one query: an expression over its rows for each check."""

    checks: tuple[SourceCheck, ...]
    fields: tuple[str, ...]
    relation: str

    def text(self, fields: tuple[str, ...]) -> str:
        """The query; it answers a STRUCT of the number of rows and what each expression gives."""
        named = ", ".join(f"'q{number}': {field}" for number, field in enumerate(fields))
        # What is asked of cells reads the files by itself; where there is nothing else, they are not read twice.
        of_rows = any(check.question != "cells" for check in self.checks)
        return f"SELECT {{'rows': count(*), {named}}} FROM {self.relation if of_rows else '(SELECT 1)'} AS interlock_t"


class SourcePin(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source's shape as planned, what will be asked of it, and what it said when the plan was made."""

    source: str
    columns: tuple[Column, ...]
    files: tuple[str, ...] = ()
    question: SourceQuestion | None = None
    said: tuple[SourceVerdict, ...] = ()


class OrphanSeen(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relation that no model makes any more."""

    model: str
    """That it was made for: the project no longer has it, or it stands elsewhere now."""
    relation: str


class PlanBody(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that the plan says. Holds no path, no user and no time but `as_of`."""

    format: int
    semantics_version: int
    project: str
    ledger: str | None
    warehouse: str | None
    """`None`: fresh or ours, and then every head must be none."""
    serial: int
    """Of the last closed run."""
    accepted: int = 0
    """Sequence of the record by which the warehouse's word was last taken: a plan of before it is another plan."""
    target: str
    target_schema: str
    as_of: str
    engine: str
    selection: Selection
    options: Options
    layers: tuple[tuple[str, ...], ...]
    closure: dict[str, str]
    """Digests of what the selected models' closure reads: files by path, variables, settings, macros."""
    variables: dict[str, str]
    sources: tuple[SourcePin, ...]
    upstreams: tuple[UpstreamPin, ...]
    items: tuple[Item, ...]
    orphans: tuple[OrphanSeen, ...] = ()
    macros: tuple[str, ...] = ()


class PlanStep(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transition of the plan's own machine."""

    event: str
    source: str
    target: str
    evidence: str
    """Digest of the evidence."""
