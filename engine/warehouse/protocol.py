"""What the engine asks of a warehouse. An adapter implements it; only `warehouse/` imports drivers.

A connection that writes exists only between `begin(permit)` and `commit(permit)` or `rollback()`, and it runs only statements
whose digests the permit holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from interlock.machines.evidence import Column, SealRow
from interlock.machines.permits import ActPermit, CommitPermit, PreparePermit, SealPermit, WritePermit
from interlock.machines.records import Record, digest, digest_of

ALIAS = "warehouse"
"""The fixed name under which the target's database is attached, so that its own name is in no statement."""

CONTROL_SCHEMA = "interlock"
DELTA = "temp.main.interlock_delta"

ErrorKind: TypeAlias = Literal["absent", "denied", "busy", "transient", "permanent", "outcome_unknown"]
ErrorScope: TypeAlias = Literal["statement", "transaction", "connection", "database", "target"]


class Statement(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement of the write protocol: its role, and its text with named parameters (`$name`)."""

    role: str
    text: str

    @property
    def digest(self) -> str:
        """Identity of the text; what a permit allows."""
        return digest("statement", self.text.encode())


class RelationSeen(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relation as the bulk probe saw it. `token` is what its comment carries at its end, if anything."""

    schema: str
    name: str
    kind: Literal["table", "view"]
    comment: str | None
    token: str | None
    columns: tuple[Column, ...]
    text: str | None = None
    """Stored text of a view."""
    about_rows: int | None = None
    """Of a table: an estimate, good for deciding what is cheap and for nothing else."""


class Identity(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The row of `interlock.identity` of this project."""

    warehouse: str
    ledger: str
    format: int


class HeadRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `interlock.heads`."""

    model: str
    receipt: str | None
    token: str | None
    generation: str | None


def digest_of_heads(heads: Sequence[HeadRow]) -> str:
    """Of the sorted (model, receipt, token); rows without a receipt are left out."""
    return digest_of("heads", sorted([head.model, head.receipt, head.token] for head in heads if head.receipt is not None))


class ReceiptRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `interlock.receipts`, body as stored."""

    receipt: str
    model: str
    run: str
    attempt: int
    previous: str | None
    body: bytes


class HeadMove(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model writes of itself: its receipt, and its head as that receipt leaves it. The head expected is the receipt's `previous`."""

    receipt: ReceiptRow
    token: str | None
    generation: str | None


class Catalog(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bulk probe: what stands in the database, keyed by (schema, name) folded as the warehouse folds names."""

    relations: dict[tuple[str, str], RelationSeen]
    schemas: frozenset[str]

    def find(self, schema: str, name: str) -> RelationSeen | None:
        """The relation of that name by the warehouse's own rule (DuckDB: without regard to case)."""
        return self.relations.get((schema.lower(), name.lower()))


class WarehouseError(Exception):
    """An error of the warehouse, classified by class and code and never by its text.

    `code` is the W6xx code that a person sees. `offset` is the byte offset in the statement where the warehouse gave one.
    """

    def __init__(self, message: str, *, kind: ErrorKind, scope: ErrorScope, code: str, remedy: str = "", offset: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind: ErrorKind = kind
        self.scope: ErrorScope = scope
        self.code = code
        self.remedy = remedy
        self.offset = offset


Row: TypeAlias = tuple[Any, ...]


class Reader(Protocol):
    """Reads on a connection of its own. Every method raises `WarehouseError`."""

    def query(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """All rows of one SELECT."""
        ...

    def columns_of(self, text: str) -> tuple[Column, ...]:
        """Names and types that a SELECT gives, bound and not run."""
        ...

    def explain(self, text: str) -> str:
        """The physical plan of one SELECT, as the engine's own JSON; nothing is run."""
        ...

    def catalog(self) -> Catalog:
        """One bulk probe of every relation, its comment and columns."""
        ...

    def identity(self, project: str) -> Identity | None:
        """This project's identity row; `None` where it, its table or its schema is positively absent."""
        ...

    def heads(self, project: str) -> tuple[HeadRow, ...]:
        """All heads of the project; empty where the table is positively absent."""
        ...

    def published(self, project: str, models: Sequence[str]) -> tuple[tuple[HeadRow, ReceiptRow | None], ...]:
        """The head rows of some models, each with its receipt, in one snapshot: what a COMMIT came to. Not to be interrupted.

        A model without a head row is not in the answer; a head whose receipt positively is not there has `None`.
        """
        ...

    def receipts(self, project: str, ids: Sequence[str]) -> dict[str, ReceiptRow]:
        """Receipts by id, in one query; an id that is not there is not in the answer."""
        ...

    def receipts_that_left(self, project: str, tokens: Sequence[str]) -> tuple[ReceiptRow, ...]:
        """The last receipts that left relations with these tokens, but for tokens that are any project's heads' now.

        The one question that looks through receipts: for relations at places where their models no longer stand.
        """
        ...

    def receipt_page(self, project: str, *, after: str, limit: int) -> tuple[ReceiptRow, ...]:
        """So many receipts in the order of their ids, from behind one."""
        ...

    def receipt_ids(self, project: str) -> frozenset[str]:
        """The ids of all receipts."""
        ...

    def altered_receipt(self, project: str, before: str) -> tuple[str, str] | None:
        """A receipt whose id is not that of its body, and its model. `before`: what a receipt's bytes are preceded by in its digest."""
        ...

    def receipt_exists(self, project: str) -> bool:
        """Whether any receipt of the project stands in the warehouse."""
        ...

    def seals(self, project: str) -> tuple[SealRow, ...]:
        """All of them, by serial."""
        ...

    def last_seal(self, project: str) -> SealRow | None:
        """The seal of the greatest serial."""
        ...

    def seal_of(self, project: str, run: str) -> SealRow | None:
        """The seal of one run."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class Transaction(Protocol):
    """An open transaction that may write what its permits allow. Not for use by two threads at once."""

    def turn(self, permit: WritePermit) -> None:
        """Where several models share it: whose statements come now. The first one's turn is from the beginning."""
        ...

    def run(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Run one allowed statement and fetch all that it answers.

        Raises:
            WarehouseError: code W612 where its digest is not in the permit; else whatever the warehouse said.
        """
        ...

    def publish(self, project: str, moves: Sequence[tuple[WritePermit, HeadMove]]) -> None:
        """Receipts and heads of all models that share the transaction, in two statements: a row each, by the permit of its model.

        Raises:
            WarehouseError: code W612 where a row has no permit, W610 where a head is not the one that was expected.
        """
        ...

    def columns(self, schema: str, name: str) -> tuple[Column, ...]:
        """Columns of a relation as this transaction sees it."""
        ...

    def commit(self, *permits: CommitPermit) -> None:
        """`SELECT 1`, then COMMIT, with a permit for each model that it writes. Proves nothing: read the receipts back.

        Raises:
            WarehouseError: kind `outcome_unknown` where the COMMIT itself raised.
        """
        ...

    def rollback(self) -> None:
        """Roll back and prove it; raises `WarehouseError` of kind `outcome_unknown` never, for nothing was committed."""
        ...


class Session(Protocol):
    """An opened warehouse that may be written to. One instance a process; closing it ends its cursors."""

    version: str

    def reader(self) -> Reader:
        """A connection for reading, on its own snapshots."""
        ...

    def begin(self, *permits: WritePermit) -> Transaction:
        """Begin the transaction of one model, or one that several small models share."""
        ...

    def prepare(self, permit: PreparePermit, statements: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
        """The serial transaction before the models: control tables, schemas, head rows."""
        ...

    def act(self, permit: ActPermit, statements: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
        """The serial transaction of an act of the ledger: genesis, accept-warehouse, reset."""
        ...

    def seal(self, permit: SealPermit, statements: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
        """Insert the seal row."""
        ...

    def interrupt(self) -> None:
        """Interrupt running statements, except on a connection that has entered COMMIT."""
        ...

    def reopen(self) -> None:
        """Close every connection and open the same warehouse again: where it gives no answers any more, as after a full disk.

        What was not committed is rolled back.
        """
        ...

    def close(self) -> None:
        """Close every connection."""
        ...
