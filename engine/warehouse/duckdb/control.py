"""What we keep in the warehouse: `interlock.*`, and every statement on it. All are fixed texts with named parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from interlock.engine.warehouse.duckdb.quoting import control, relation, schema_name
from interlock.engine.warehouse.protocol import CONTROL_SCHEMA, HeadMove, HeadRow, ReceiptRow, Row, Statement
from interlock.machines.evidence import SealRow

FORMAT = 1
"""Of the control tables. A warehouse of a greater one was written by a newer release."""

TABLES = ("heads", "identity", "receipts", "seals")

IDENTITY = control("identity")
HEADS = control("heads")
RECEIPTS = control("receipts")
SEALS = control("seals")
HISTORY = control("history")

Bound: TypeAlias = tuple[Statement, Mapping[str, Any]]
"""A statement and the values of its parameters."""

_SCHEMA = Statement(role="control_schema", text=f"CREATE SCHEMA IF NOT EXISTS {schema_name(CONTROL_SCHEMA)}")

_IDENTITY = Statement(
    role="control_identity",
    text=f"""CREATE TABLE IF NOT EXISTS {IDENTITY} (
    project VARCHAR PRIMARY KEY, warehouse VARCHAR NOT NULL, ledger VARCHAR NOT NULL, format INTEGER NOT NULL, since VARCHAR NOT NULL
)""",
)

_HEADS = Statement(
    role="control_heads",
    text=f"""CREATE TABLE IF NOT EXISTS {HEADS} (
    project VARCHAR, model VARCHAR, receipt VARCHAR, token VARCHAR, generation VARCHAR, PRIMARY KEY (project, model)
)""",
)

# The one index beside those of the heads: without it every read-back scans, and a receipt could stand there twice.
_RECEIPTS = Statement(
    role="control_receipts",
    text=f"""CREATE TABLE IF NOT EXISTS {RECEIPTS} (
    receipt VARCHAR PRIMARY KEY, project VARCHAR NOT NULL, model VARCHAR NOT NULL, run VARCHAR NOT NULL, attempt INTEGER NOT NULL,
    previous VARCHAR, body VARCHAR NOT NULL
)""",
)

_SEALS = Statement(
    role="control_seals",
    text=f"""CREATE TABLE IF NOT EXISTS {SEALS} (
    project VARCHAR NOT NULL, run VARCHAR NOT NULL, serial BIGINT NOT NULL, tip VARCHAR NOT NULL, outcome VARCHAR NOT NULL,
    heads VARCHAR NOT NULL, PRIMARY KEY (project, run)
)""",
)

_HISTORY = Statement(
    role="control_history",
    text=f"""CREATE VIEW IF NOT EXISTS {HISTORY} AS SELECT
    project, model, attempt, run, receipt, previous,
    body ->> '$.action' AS action,
    body ->> '$.relation' AS relation,
    body ->> '$.kind' AS kind,
    CAST(body ->> '$.rows_before' AS BIGINT) AS rows_before,
    CAST(body ->> '$.rows_written' AS BIGINT) AS rows_written,
    CAST(body ->> '$.rows_deleted' AS BIGINT) AS rows_deleted,
    CAST(body ->> '$.rows_held' AS BIGINT) AS rows_held,
    CAST(body ->> '$.rows_late' AS BIGINT) AS rows_late,
    CAST(body ->> '$.rows_stale' AS BIGINT) AS rows_stale,
    CAST(body ->> '$.rows_kept' AS BIGINT) AS rows_kept,
    CAST(body ->> '$.rows_gone' AS BIGINT) AS rows_gone,
    CAST(body ->> '$.rows_after' AS BIGINT) AS rows_after,
    body ->> '$.watermark.type' AS watermark_type,
    body ->> '$.watermark.low' AS watermark_low,
    body ->> '$.watermark.high' AS watermark_high,
    len(list_filter(json_extract_string(body, '$.verdicts[*].outcome'), lambda outcome: outcome <> 'passed')) AS checks_not_passed,
    body ->> '$.plan' AS plan,
    body ->> '$.anchor' AS anchor,
    body ->> '$.token' AS token,
    body ->> '$.generation' AS generation,
    body ->> '$.engine' AS engine,
    body ->> '$.text' AS text
FROM {RECEIPTS}""",
)

CONTROL: tuple[Statement, ...] = (_SCHEMA, _IDENTITY, _HEADS, _RECEIPTS, _SEALS, _HISTORY)
"""The schema, the four tables and the view, each only if it is not there."""

INSERT_IDENTITY = Statement(
    role="identity",
    text=f"INSERT INTO {IDENTITY} (project, warehouse, ledger, format, since) "
    "VALUES ($project, $warehouse, $ledger, $format, $since) ON CONFLICT DO NOTHING",
)
"""Keeps the row that is there: a genesis that a kill cut short is finished, and the identity is read back."""

ACCEPT_IDENTITY = Statement(
    role="identity",
    text=f"INSERT INTO {IDENTITY} (project, warehouse, ledger, format, since) "
    "VALUES ($project, $warehouse, $ledger, $format, $since) "
    "ON CONFLICT (project) DO UPDATE SET warehouse = excluded.warehouse, ledger = excluded.ledger, since = excluded.since",
)

ENSURE_HEADS = Statement(
    role="ensure_heads",
    text=f"INSERT INTO {HEADS} (project, model) SELECT $project, unnest(CAST($models AS VARCHAR[])) ON CONFLICT DO NOTHING",
)

READ_HEADS = Statement(
    role="read_heads",
    text=f"SELECT model, receipt, token, generation FROM {HEADS} "
    "WHERE project = $project AND model IN (SELECT unnest(CAST($models AS VARCHAR[])))",
)
"""The heads of the given models, in one query, in no order: (model, receipt, token, generation)."""

INSERT_RECEIPT = Statement(
    role="receipt",
    text=f"INSERT INTO {RECEIPTS} (receipt, project, model, run, attempt, previous, body) "
    "VALUES ($receipt, $project, $model, $run, $attempt, $previous, $body)",
)
"""`$body`: the canonical JSON as text."""

FENCE = Statement(
    role="fence",
    text=f"UPDATE {HEADS} SET receipt = $receipt, token = $token, generation = $generation "
    "WHERE project = $project AND model = $model AND receipt IS NOT DISTINCT FROM CAST($expected AS VARCHAR)",
)
"""Moves a head from the receipt that is expected. `rows_touched` must be exactly one, else another writer was here."""

INSERT_RECEIPTS = Statement(
    role="receipts",
    text=f"INSERT INTO {RECEIPTS} (receipt, project, model, run, attempt, previous, body) "
    "SELECT unnest(CAST($receipts AS VARCHAR[])), $project, unnest(CAST($models AS VARCHAR[])), $run, "
    "unnest(CAST($attempts AS INTEGER[])), unnest(CAST($previous AS VARCHAR[])), unnest(CAST($bodies AS VARCHAR[]))",
)
"""`INSERT_RECEIPT` for all models of a shared transaction: a row each, and each row needs the permit of its own model."""

FENCES = Statement(
    role="fences",
    text=f"UPDATE {HEADS} AS head SET receipt = next.receipt, token = next.token, generation = next.generation "
    "FROM (SELECT unnest(CAST($models AS VARCHAR[])) AS model, unnest(CAST($receipts AS VARCHAR[])) AS receipt, "
    "unnest(CAST($tokens AS VARCHAR[])) AS token, unnest(CAST($generations AS VARCHAR[])) AS generation, "
    "unnest(CAST($expected AS VARCHAR[])) AS expected) AS next "
    "WHERE head.project = $project AND head.model = next.model AND head.receipt IS NOT DISTINCT FROM next.expected",
)
"""`FENCE` for all of them. `rows_touched` must be exactly as many as there are models."""

MEND_HEADS = Statement(
    role="mend_heads",
    text=f"UPDATE {HEADS} AS head SET receipt = said.receipt, token = said.token, generation = said.generation "
    "FROM (SELECT unnest(CAST($models AS VARCHAR[])) AS model, unnest(CAST($receipts AS VARCHAR[])) AS receipt, "
    "unnest(CAST($tokens AS VARCHAR[])) AS token, "
    "unnest(CAST($generations AS VARCHAR[])) AS generation) AS said "
    "WHERE head.project = $project AND head.model = said.model",
)
"""What heads say beside their receipts; and those let go of one that is not what they name. Only a person's act does this."""

INSERT_SEAL = Statement(
    role="seal",
    text=f"INSERT INTO {SEALS} (project, run, serial, tip, outcome, heads) VALUES ($project, $run, $serial, $tip, $outcome, $heads)",
)

COMPACT = Statement(
    role="compact_receipts",
    text=f"DELETE FROM {RECEIPTS} WHERE project = $project AND receipt IN (SELECT unnest(CAST($receipts AS VARCHAR[])))",
)
"""Receipts whose bodies the ledger holds: only a person's act does this."""

_FORGET: tuple[Statement, ...] = tuple(
    Statement(role=f"forget_{name}", text=f"DELETE FROM {control(name)} WHERE project = $project") for name in TABLES
)


def rows_touched(answer: Sequence[Row]) -> int:
    """What an INSERT, UPDATE or DELETE answers: its count."""
    return int(answer[0][0]) if answer else 0


def create_schema(schema: str) -> Statement:
    """A schema of the target, if it is not there."""
    return Statement(role=f"schema:{schema}", text=f"CREATE SCHEMA IF NOT EXISTS {schema_name(schema)}")


def drop_relation(kind: str, schema: str, name: str) -> Statement:
    """Drop a relation of ours. It raises if there is none of that kind: a drop is its own probe."""
    what = {"table": "TABLE", "view": "VIEW"}[kind]
    return Statement(role=f"drop:{schema}.{name}", text=f"DROP {what} {relation(schema, name)}")


def genesis(*, project: str, warehouse: str, ledger: str, since: str) -> tuple[Bound, ...]:
    """The act `genesis`: control tables and this project's identity. May be repeated."""
    row = {"project": project, "warehouse": warehouse, "ledger": ledger, "format": FORMAT, "since": since}
    return (*((statement, {}) for statement in CONTROL), (INSERT_IDENTITY, row))


def accept(*, project: str, warehouse: str, ledger: str, since: str, heads: Sequence[HeadRow] = ()) -> tuple[Bound, ...]:
    """The act `accept_warehouse`: the identity names this ledger from now on. `heads`: those that say something else than is taken."""
    row = {"project": project, "warehouse": warehouse, "ledger": ledger, "format": FORMAT, "since": since}
    bound: tuple[Bound, ...] = (*((statement, {}) for statement in CONTROL), (ACCEPT_IDENTITY, row))
    if not heads:
        return bound
    mended = {
        "project": project,
        "models": [head.model for head in heads],
        "receipts": [head.receipt for head in heads],
        "tokens": [head.token for head in heads],
        "generations": [head.generation for head in heads],
    }
    return (*bound, (MEND_HEADS, mended))


def prepare(*, project: str, schemas: Sequence[str], models: Sequence[str]) -> tuple[Bound, ...]:
    """The preparing transaction of a run: all that a model finds ready, so that no two models race to make it."""
    wanted = sorted({schema.lower(): schema for schema in schemas}.items())
    return (
        *((statement, {}) for statement in CONTROL),
        *((create_schema(schema), {}) for _, schema in wanted),
        (ENSURE_HEADS, {"project": project, "models": sorted(set(models))}),
    )


def compact(*, project: str, receipts: Sequence[str]) -> tuple[Bound, ...]:
    """The act `compact_receipts`: these go."""
    return ((COMPACT, {"project": project, "receipts": list(receipts)}),)


def forget(*, project: str) -> tuple[Bound, ...]:
    """The act `reset`: every row of ours goes, of this project only. Its relations are dropped by statements of their own."""
    return tuple((statement, {"project": project}) for statement in _FORGET)


def receipt_parameters(row: ReceiptRow, *, project: str) -> dict[str, Any]:
    """The values of `INSERT_RECEIPT`."""
    return {
        "receipt": row.receipt,
        "project": project,
        "model": row.model,
        "run": row.run,
        "attempt": row.attempt,
        "previous": row.previous,
        "body": row.body.decode(),
    }


def published(moves: Sequence[HeadMove], *, project: str) -> tuple[Bound, Bound]:
    """`INSERT_RECEIPTS` and `FENCES` with their values. All moves are of one run."""
    rows = [move.receipt for move in moves]
    models, receipts, previous = [row.model for row in rows], [row.receipt for row in rows], [row.previous for row in rows]
    inserted = {
        "project": project,
        "run": rows[0].run,
        "models": models,
        "receipts": receipts,
        "previous": previous,
        "attempts": [row.attempt for row in rows],
        "bodies": [row.body.decode() for row in rows],
    }
    moved = {
        "project": project,
        "models": models,
        "receipts": receipts,
        "expected": previous,
        "tokens": [move.token for move in moves],
        "generations": [move.generation for move in moves],
    }
    return (INSERT_RECEIPTS, inserted), (FENCES, moved)


def seal(row: SealRow) -> Bound:
    """The statement that inserts a seal row, with its values."""
    values = {"project": row.project, "run": row.run, "serial": row.serial, "tip": row.tip, "outcome": row.outcome, "heads": row.heads}
    return INSERT_SEAL, values
