"""The project's TOML files as Structs: the one list of all keys. `specs/schemas/` is generated from these."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from interlock.engine.project.project import Materialization, Severity, Strategy
from interlock.engine.warehouse.target import OnChange

_SCALAR_TYPES: list[str] = ["string", "integer", "number", "boolean"]

Anything: TypeAlias = Annotated[Any, Meta(extra_json_schema={"type": _SCALAR_TYPES})]
"""A text, whole number, decimal, boolean, date or timestamp; looked at in code, since TOML's types are richer than JSON's."""
Value: TypeAlias = Annotated[Any, Meta(extra_json_schema={"type": [*_SCALAR_TYPES, "array"]})]
OneOrMore: TypeAlias = str | tuple[str, ...]
Setting: TypeAlias = str | int | bool

# --- interlock.toml ---------------------------------------------------------------------------------------------------


class ProjectTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the project is."""

    id: Annotated[str, Meta(description="Random, made by `interlock init`, never changed: all that is kept in a warehouse is keyed by it.")]
    name: Annotated[str, Meta(description="The project's name, for people. Changing it changes nothing.")]
    default_target: Annotated[str | UnsetType, Meta(description="The target that is used without `--target`. Never a protected one.")] = (
        UNSET
    )


class TargetTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A warehouse that the project can be run against."""

    type: Annotated[Literal["duckdb"], Meta(description="Kind of warehouse.")]
    path: Annotated[str, Meta(description="The database file, relative to the project. `${NAME}` reads an environment variable.")]
    schema: Annotated[str, Meta(description="Schema of models that name none.")] = "main"
    threads: Annotated[int, Meta(ge=1, le=256, description="How many models run at the same time.")] = 4
    create: Annotated[bool, Meta(description="Whether the database may be created where there is none.")] = False
    protected: Annotated[
        bool, Meta(description="Never the default, never reset; `run` is refused without `--unreviewed`: use `plan` and `apply`.")
    ] = False
    accept_warehouse: Annotated[
        bool, Meta(description="Take a database that comes without its ledger (CI machines). Not together with `protected`.")
    ] = False
    on_change: Annotated[
        OnChange, Meta(description="What to do when the definition of an incremental model or snapshot changed, unless the model says so.")
    ] = "refuse"
    settings: Annotated[dict[str, Setting], Meta(description="Settings of the warehouse, such as TimeZone.")] = {}


class LedgerTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the ledgers of this project's targets are kept."""

    path: Annotated[str, Meta(description="A directory, relative to the project; each target has its own in it. Else beside the database.")]


class InterlockToml(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """interlock.toml: the project and its targets."""

    project: ProjectTable
    targets: Annotated[dict[str, TargetTable], Meta(description="The warehouses, by name.")] = {}
    vars: Annotated[
        dict[str, Value], Meta(description="Variables, written `$name` in SQL; `--vars name=value` replaces them for one command.")
    ] = {}
    ledger: LedgerTable | UnsetType = UNSET


# --- checks and contracts ---------------------------------------------------------------------------------------------


class AcceptedValuesTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Each value that is not null is one of these."""

    column: Annotated[str, Meta(description="The column.")]
    values: Annotated[tuple[Anything, ...], Meta(min_length=1, description="The values, all of one type.")]


class RelationshipsTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Each value that is not null stands in a column of another model, seed or source."""

    column: Annotated[str, Meta(description="The column of this model.")]
    to: Annotated[str, Meta(description="The model, seed or source that is referred to.")]
    to_column: Annotated[str, Meta(description="Its column.")]


class RowCountTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of the number of rows, both included."""

    min: Annotated[int, Meta(ge=0, description="At least so many rows.")] | UnsetType = UNSET
    max: Annotated[int, Meta(ge=0, description="At most so many rows.")] | UnsetType = UNSET


class FreshnessTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The greatest value of a time column is at most this old, and not in the future."""

    column: Annotated[str, Meta(description="A date or timestamp column.")]
    max_age: Annotated[str, Meta(description="Such as `2 hours`.")]
    zone: Annotated[str | UnsetType, Meta(description="Zone of a column that has none, such as `UTC`; required for those.")] = UNSET


class CheckTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question put to the rows before they become visible. Exactly one of the question's keys is given."""

    unique: Annotated[OneOrMore | UnsetType, Meta(description="Columns that are together unique.")] = UNSET
    not_null: Annotated[OneOrMore | UnsetType, Meta(description="Columns without nulls.")] = UNSET
    primary_key: Annotated[OneOrMore | UnsetType, Meta(description="Columns that are together unique, and hold no nulls: two checks.")] = (
        UNSET
    )
    accepted_values: AcceptedValuesTable | UnsetType = UNSET
    relationships: RelationshipsTable | UnsetType = UNSET
    expression: Annotated[str | UnsetType, Meta(description="A boolean expression that holds for every row.")] = UNSET
    row_count: RowCountTable | UnsetType = UNSET
    freshness: FreshnessTable | UnsetType = UNSET
    sql: Annotated[str | UnsetType, Meta(description="A SELECT of the failing rows; the model is read by its own name.")] = UNSET
    severity: Annotated[Severity, Meta(description="error: no row becomes visible; warn: it is recorded.")] = "error"
    name: Annotated[str | UnsetType, Meta(description="Else made from the question.")] = UNSET
    after: Annotated[
        Literal["rows", "publication"],
        Meta(description="publication: asked once the models that it reads are built; it cannot roll this one back."),
    ] = "rows"
    description: Annotated[str, Meta(description="For people.")] = ""


Proof = Literal["compiled", "at run time"]


class ContractColumnTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is promised of one column."""

    type: Annotated[str | UnsetType, Meta(description="The warehouse's type, complete: DECIMAL(18, 2), not DECIMAL.")] = UNSET
    nullable: Annotated[bool, Meta(description="false: the column holds no nulls.")] = True
    protected: Annotated[bool, Meta(description="The column may never disappear.")] = False
    prove: Annotated[Proof, Meta(description="at run time: that it holds no nulls may be seen on the rows, before they are visible.")] = (
        "compiled"
    )
    assignable: Annotated[bool, Meta(description="true: a narrower type fits too, INTEGER for BIGINT, say; nothing is lost.")] = False
    description: Annotated[str, Meta(description="For people.")] = ""


class ContractTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model promises of its columns."""

    columns: Annotated[dict[str, str | ContractColumnTable], Meta(description="By name: a type, or a table.")]
    extra_columns: Annotated[Literal["allow", "refuse"], Meta(description="Whether the model may have other columns.")] = "allow"
    prove: Annotated[Proof, Meta(description="As for one column, for all of them.")] = "compiled"


# --- models, seeds, defaults, sources ---------------------------------------------------------------------------------


class DefaultsToml(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """_defaults.toml: defaults of a folder and those in it. The nearest wins, key by key; lists replace."""

    materialized: Annotated[Materialization | UnsetType, Meta(description="How the models become relations.")] = UNSET
    schema: Annotated[str | UnsetType, Meta(description="Their schema.")] = UNSET
    tags: Annotated[tuple[str, ...] | UnsetType, Meta(description="Words to select them by.")] = UNSET
    on_change: Annotated[OnChange | UnsetType, Meta(description="When a definition changed (incremental, snapshot).")] = UNSET
    on_schema_change: Annotated[
        Literal["refuse", "append_columns"] | UnsetType,
        Meta(description="When output columns moved though the text did not (incremental)."),
    ] = UNSET
    full_refresh: Annotated[bool | UnsetType, Meta(description="false: `--full-refresh` is refused.")] = UNSET
    until: Annotated[str | UnsetType, Meta(description="`none`, or what is added to `$as_of`, such as `5 minutes`.")] = UNSET
    future: Annotated[Literal["hold", "refuse"] | UnsetType, Meta(description="What happens to rows beyond the upper end.")] = UNSET
    late: Annotated[Literal["ignore", "count"] | UnsetType, Meta(description="count: count late rows, at the price of a full read.")] = (
        UNSET
    )
    guard: Annotated[
        Literal["count", "content"] | UnsetType, Meta(description="content: verify the rows' fingerprint before each write.")
    ] = UNSET
    deterministic: Annotated[bool | UnsetType, Meta(description="true: functions whose answer changes are refused.")] = UNSET
    checks: Annotated[tuple[CheckTable, ...] | UnsetType, Meta(description="Checks of every model here that has none of its own.")] = UNSET


class ModelToml(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sidecar of a model: how it is made, and what it promises."""

    description: Annotated[str, Meta(description="For people; written as the relation's comment.")] = ""
    materialized: Annotated[Materialization | UnsetType, Meta(description="How the model becomes a relation; view if not said.")] = UNSET
    strategy: Annotated[Strategy | UnsetType, Meta(description="How an incremental model is extended.")] = UNSET
    watermark: Annotated[str | UnsetType, Meta(description="An output column; rows above its greatest value are new.")] = UNSET
    unique_key: Annotated[
        OneOrMore | UnsetType, Meta(description="Output columns that identify a row; required by merge and snapshots.")
    ] = UNSET
    lookback: Annotated[
        str | int | UnsetType,
        Meta(description="How far below the watermark is read again, such as `2 days`; needs unique_key or partition."),
    ] = UNSET
    partition: Annotated[str | int | UnsetType, Meta(description="hour, day, week, month, year, or the width of integer ranges.")] = UNSET
    partition_column: Annotated[str | UnsetType, Meta(description="Another word for the watermark of a partition model.")] = UNSET
    until: Annotated[str | UnsetType, Meta(description="`none`, or what is added to `$as_of`, such as `5 minutes`.")] = UNSET
    future: Annotated[Literal["hold", "refuse"] | UnsetType, Meta(description="What happens to rows beyond the upper end.")] = UNSET
    late: Annotated[Literal["ignore", "count"] | UnsetType, Meta(description="count: count late rows, at the price of a full read.")] = (
        UNSET
    )
    on_conflict: Annotated[
        Literal["refuse", "keep"] | UnsetType, Meta(description="append with unique_key: a key that is there with other values.")
    ] = UNSET
    on_change: Annotated[OnChange | UnsetType, Meta(description="When the definition changed (incremental, snapshot).")] = UNSET
    on_schema_change: Annotated[
        Literal["refuse", "append_columns"] | UnsetType, Meta(description="When output columns moved though the text did not.")
    ] = UNSET
    full_refresh: Annotated[bool | UnsetType, Meta(description="false: `--full-refresh` is refused.")] = UNSET
    restrict: Annotated[
        tuple[str, ...] | UnsetType,
        Meta(description="`source.column` pairs at which the watermark's predicate is put in; changes meaning."),
    ] = UNSET
    guard: Annotated[
        Literal["count", "content"] | UnsetType, Meta(description="content: verify the rows' fingerprint before each write.")
    ] = UNSET
    deterministic: Annotated[bool | UnsetType, Meta(description="true: functions whose answer changes are refused.")] = UNSET
    snapshot_by: Annotated[Literal["updated_at", "columns"] | UnsetType, Meta(description="How a snapshot sees that a row changed.")] = (
        UNSET
    )
    updated_at: Annotated[str | UnsetType, Meta(description="Snapshot: the row's own time of change.")] = UNSET
    compare: Annotated[
        tuple[str, ...] | UnsetType, Meta(description="Snapshot by columns: those that are compared; else all but the key.")
    ] = UNSET
    hard_deletes: Annotated[
        Literal["keep", "close"] | UnsetType, Meta(description="Snapshot: what happens to rows that are gone at the source.")
    ] = UNSET
    schema: Annotated[str | UnsetType, Meta(description="Else the folder's default, else the target's.")] = UNSET
    alias: Annotated[str | UnsetType, Meta(description="The relation's name, if not the model's.")] = UNSET
    tags: Annotated[tuple[str, ...] | UnsetType, Meta(description="Words to select it by; replaces the folder's.")] = UNSET
    renamed_from: Annotated[str | UnsetType, Meta(description="The model's former name: its relation and history are moved.")] = UNSET
    contract: ContractTable | UnsetType = UNSET
    checks: Annotated[tuple[CheckTable, ...] | UnsetType, Meta(description="Replaces the folder's.")] = UNSET


class SeedToml(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sidecar of a seed."""

    description: Annotated[str, Meta(description="For people; written as the relation's comment.")] = ""
    columns: Annotated[dict[str, str], Meta(description="Types by column; those not named are found from the values.")] = {}
    delimiter: Annotated[str, Meta(min_length=1, max_length=1, description="Between cells; a comma if not said.")] = ","
    schema: Annotated[str | UnsetType, Meta(description="Else the target's.")] = UNSET
    alias: Annotated[str | UnsetType, Meta(description="The relation's name, if not the seed's.")] = UNSET
    tags: Annotated[tuple[str, ...], Meta(description="Words to select it by.")] = ()
    renamed_from: Annotated[str | UnsetType, Meta(description="The seed's former name: its relation and history are moved.")] = UNSET
    contract: ContractTable | UnsetType = UNSET
    checks: Annotated[tuple[CheckTable, ...], Meta(description="Questions put to the rows.")] = ()


class SourceColumnTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A declared column of a source."""

    type: Annotated[str, Meta(description="The warehouse's type.")]
    nullable: Annotated[
        bool | UnsetType,
        Meta(description="false: a promise, asked of the source in each run where a contract rests on it; true: it may hold nulls."),
    ] = UNSET
    description: Annotated[str, Meta(description="For people.")] = ""


class SourceFreshnessTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The greatest value of a time column is at most this old, and not in the future, whenever the source is to be read."""

    column: Annotated[str, Meta(description="A date or timestamp column.")]
    max_age: Annotated[str, Meta(description="Such as `2 hours`, told from the plan's time.")]
    zone: Annotated[str | UnsetType, Meta(description="Zone of a column that has none, such as `UTC`; required for those.")] = UNSET
    severity: Annotated[Severity, Meta(description="error: what reads the source is refused; warn: it is recorded.")] = "error"
    no_rows: Annotated[
        Literal["refuse", "warn"] | UnsetType,
        Meta(description="What a source without any row does: it never passes. Else as the severity."),
    ] = UNSET


class SourceTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relation or file read but not made here. With `path`: files; with `database`: of another DuckDB file; else of the target."""

    schema: Annotated[str | UnsetType, Meta(description="The relation's schema; else the one in the source's name.")] = UNSET
    identifier: Annotated[str | UnsetType, Meta(description="The relation's name, if not the source's.")] = UNSET
    database: Annotated[str | UnsetType, Meta(description="Another DuckDB file, relative to the project; read-only.")] = UNSET
    path: Annotated[str | UnsetType, Meta(description="A file or pattern, relative to the project.")] = UNSET
    format: Annotated[Literal["parquet", "csv", "json"] | UnsetType, Meta(description="Else by the file's extension.")] = UNSET
    options: Annotated[dict[str, Setting], Meta(description="Options of the reader, such as delim or header.")] = {}
    columns: Annotated[dict[str, str | SourceColumnTable] | UnsetType, Meta(description="By name: a type, or a table.")] = UNSET
    description: Annotated[str, Meta(description="For people.")] = ""
    fingerprint: Annotated[
        Literal["content", "column", "receipt", "none"] | UnsetType,
        Meta(
            description="How news is seen. content: by every byte or row; column: by the number of rows and the greatest value of"
            " fingerprint_column; receipt: by what another Interlock project, which makes the relation, says of it; none: what reads"
            " the source is built each time."
        ),
    ] = UNSET
    fingerprint_column: Annotated[str | UnsetType, Meta(description="For fingerprint = column: one that grows with every change.")] = UNSET
    freshness: Annotated[
        SourceFreshnessTable | tuple[SourceFreshnessTable, ...] | UnsetType,
        Meta(description="How old its newest row may be; or two of it, one that warns and one that refuses."),
    ] = UNSET
    tags: Annotated[tuple[str, ...], Meta(description="Words, for people.")] = ()


class SourcesLockToml(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """sources.lock.toml: columns of sources as `interlock sources pin` found them."""

    sources: Annotated[dict[str, dict[str, str]], Meta(description="By name of the source: column = type, in order.")] = {}


class SourcesToml(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """sources.toml: what is read but not made here, as [sources.name] or [sources."schema.name"]."""

    sources: Annotated[dict[str, SourceTable], Meta(description="By name as it stands in FROM.")] = {}
