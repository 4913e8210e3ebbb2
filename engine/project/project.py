"""The project as a value: what its files say, resolved (defaults applied, names checked), before any SQL is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Literal, TypeAlias

from interlock.engine.diagnostics import Diagnostic
from interlock.engine.warehouse.target import OnChange, TargetConfig
from interlock.machines.records import Record

Materialization: TypeAlias = Literal["view", "table", "incremental", "ephemeral", "snapshot"]
Strategy: TypeAlias = Literal["append", "merge", "partition"]
Severity: TypeAlias = Literal["error", "warn"]
Scalar: TypeAlias = str | int | Decimal | bool | date | datetime
Variable: TypeAlias = Scalar | tuple[Scalar, ...]


class ContractColumn(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is promised of one column. `type` is as the author wrote it."""

    type: str | None = None
    nullable: bool = True
    protected: bool = False
    description: str = ""
    prove: Literal["compiled", "at run time"] = "compiled"
    """Whether nulls must be excluded by what is compiled, or may be by the rows."""
    assignable: bool = False
    """Whether a type fits whose every value is one of the promised type."""


class Contract(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model promises of its columns."""

    columns: dict[str, ContractColumn]
    extra_columns: Literal["allow", "refuse"] = "allow"
    prove: Literal["compiled", "at run time"] = "compiled"
    """For all of its columns."""


class Unique(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="unique"):
    """No two rows have the same values in these columns (rows with a null among them are not compared)."""

    columns: tuple[str, ...]


class NotNull(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="not_null"):
    """None of these columns holds a null."""

    columns: tuple[str, ...]


class AcceptedValues(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="accepted_values"):
    """Each value that is not null is one of these."""

    column: str
    values: tuple[Scalar, ...]


class Relationships(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="relationships"):
    """Each value that is not null stands in `to_column` of the model, seed or source `to`."""

    column: str
    to: str
    to_column: str


class ExpressionHolds(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="expression"):
    """One boolean expression over the row; a row for which it is false or null fails."""

    expression: str


class RowCount(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="row_count"):
    """Rows of the relation, bounds included."""

    rows_min: int | None
    rows_max: int | None


class Freshness(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="freshness"):
    """The greatest value of a time column is at most this old at `$as_of`, and not in the future.

    `zone`: of a column without one, such as `UTC`; required for those.
    """

    column: str
    max_age_seconds: int
    zone: str | None = None


class CustomSql(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="sql"):
    """A SELECT that returns the failing rows. The model itself is read by its own name."""

    sql: str


Question: TypeAlias = Unique | NotNull | AcceptedValues | Relationships | ExpressionHolds | RowCount | Freshness | CustomSql


class Check(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question put to the rows before they become visible. `name` is unique in its model, and stable."""

    name: str
    question: Question
    severity: Severity = "error"
    after: Literal["rows", "publication"] = "rows"
    description: str = ""
    origin: str = ""
    """File and key path, for messages."""


class ModelFile(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model as its files say, with the defaults of its folders applied."""

    name: str
    path: str
    """Of the SQL file, relative to the project, forward slashes."""
    sidecar: str | None
    text: str
    description: str = ""
    materialized: Materialization = "view"
    strategy: Strategy | None = None
    watermark: str | None = None
    unique_key: tuple[str, ...] = ()
    lookback: str | None = None
    """As written, such as `2 days`, or a whole number for an integer column."""
    partition: str | None = None
    """`hour`, `day`, `week`, `month`, `year`, or a whole number: the width of integer ranges."""
    partition_column: str | None = None
    """The partitioned output column; the watermark where it is not given."""
    until: str | None = None
    """`none`, or a skew such as `5 minutes` that is added to `$as_of`; not given: the default of the type."""
    future: Literal["hold", "refuse"] = "hold"
    late: Literal["ignore", "count"] = "ignore"
    on_conflict: Literal["refuse", "keep"] = "refuse"
    on_change: OnChange | None = None
    on_schema_change: Literal["refuse", "append_columns"] = "refuse"
    full_refresh: bool = True
    """False: `--full-refresh` is refused for it."""
    restrict: tuple[str, ...] = ()
    """`source.column` pairs at whose span the author asks for the predicate."""
    guard: Literal["count", "content"] = "count"
    deterministic: bool = False
    snapshot_by: Literal["updated_at", "columns"] | None = None
    updated_at: str | None = None
    compare: tuple[str, ...] = ()
    """Columns whose change makes a new version (snapshot by columns); all but the key where empty."""
    hard_deletes: Literal["keep", "close"] = "keep"
    schema: str | None = None
    alias: str | None = None
    tags: tuple[str, ...] = ()
    renamed_from: str | None = None
    contract: Contract | None = None
    checks: tuple[Check, ...] = ()

    @property
    def relation_name(self) -> str:
        """The relation's name in the warehouse."""
        return self.alias or self.name


class SeedFile(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A CSV made into a table. `content_digest` is over bytes and dialect; `columns` have their types resolved."""

    name: str
    path: str
    sidecar: str | None
    content_digest: str
    description: str = ""
    columns: tuple[SeedColumn, ...]
    rows: tuple[tuple[str | None, ...], ...]
    """Cells as text; `None` for an unquoted empty one."""
    delimiter: str = ","
    schema: str | None = None
    alias: str | None = None
    tags: tuple[str, ...] = ()
    renamed_from: str | None = None
    contract: Contract | None = None
    checks: tuple[Check, ...] = ()

    @property
    def relation_name(self) -> str:
        """The relation's name in the warehouse."""
        return self.alias or self.name


class SeedColumn(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A seed's column and its type, declared or found."""

    name: str
    type: str


class SourceColumn(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A declared column of a source."""

    type: str
    nullable: bool = True
    may_hold_nulls: bool = False
    """`nullable = true` was written: then nulls are to be reckoned with, not only unheard of."""
    description: str = ""


class SourceFreshness(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How old the newest row of a source may be whenever it is to be read."""

    question: Freshness
    severity: Severity = "error"
    no_rows: Literal["refuse", "warn"] = "refuse"
    """What a source without any row does: it is never fresh."""


class Source(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relation or file read but not made here.

    Exactly one of three: a relation of the target's database (`schema`, `identifier`), one of another DuckDB file
    (`database` too), or files (`path`).
    """

    name: str
    """As it is written in a FROM clause: bare, or `schema.name`."""
    schema: str | None = None
    identifier: str | None = None
    database: str | None = None
    """Path of another DuckDB file, relative to the project."""
    path: str | None = None
    """A file name or pattern, relative to the project."""
    format: Literal["parquet", "csv", "json"] | None = None
    options: dict[str, str | int | bool] = {}
    """Reader options that are allowed (delimiter, header, nullstr, …), part of the definition of its readers."""
    columns: dict[str, SourceColumn] | None = None
    description: str = ""
    freshness: tuple[SourceFreshness, ...] = ()
    """At most one of each severity."""
    fingerprint: Literal["content", "column", "receipt", "none"] | None = None
    fingerprint_column: str | None = None
    tags: tuple[str, ...] = ()
    origin: str = "sources.toml"


class Project(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole project. Findings that do not stop reading are in `findings`; with an error among them nothing is planned."""

    id: str
    name: str
    root: Path
    targets: dict[str, TargetConfig]
    default_target: str | None
    variables: dict[str, Variable]
    models: Mapping[str, ModelFile]
    seeds: Mapping[str, SeedFile]
    sources: dict[str, Source]
    pinned: dict[str, dict[str, str]] = {}
    """Columns and types of sources as they were found last, by the source's name: `sources.lock.toml`."""
    macros: tuple[MacroFile, ...]
    digests: dict[str, str]
    """Digest of the bytes of every file that was read, by path relative to the project."""
    environment: tuple[str, ...] = ()
    """Names of the environment variables that interlock.toml reads; their values never reach output."""
    unusable: dict[str, tuple[Diagnostic, ...]] = {}
    """Targets that need an environment variable which is not set here, and which: refused when one of them is chosen."""
    unread: dict[str, str] = {}
    """Models, seeds and sources.toml that are there and could not be read, and the file to correct first."""
    findings: tuple[Diagnostic, ...]


class MacroFile(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of CREATE MACRO statements."""

    path: str
    text: str
