"""Evidence that holds, for an append in full dress: every field that a guard reads has something in it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlock.machines.evidence import (
    Applied,
    AuthorityFinding,
    AuthorizeEvidence,
    BootstrapEvidence,
    CheckPin,
    CheckpointEvidence,
    CheckVerdict,
    CloseEvidence,
    Column,
    CommitEvidence,
    CompileEvidence,
    ContractFinding,
    Delta,
    Digests,
    Finding,
    Found,
    Head,
    HeadSeen,
    Missing,
    NullCount,
    Observation,
    Present,
    PromisedColumn,
    Read,
    ReceiptBody,
    RefuseEvidence,
    RolledBack,
    ScopeEnd,
    ScopeItem,
    SealEvidence,
    SealRow,
    Shrink,
    SourceCheck,
    SourceVerdict,
    StartEvidence,
    Upstream,
    VerifyEvidence,
    Watermark,
)
from interlock.machines.publication import PUBLICATION_NAMES


def hexes(letter: str) -> str:
    return letter * 64


ANCHOR, OTHER, RECEIPT = hexes("a"), hexes("0"), hexes("e")
COLUMNS = (Column(name="id", type="BIGINT"), Column(name="at", type="TIMESTAMP"))
WATERMARK = Watermark(type="TIMESTAMP", low="2024-01-01 00:00:00", high="2024-01-05 00:00:00")
AFTER = Watermark(type="TIMESTAMP", low="2024-01-01 00:00:00", high="2024-01-06 00:00:00")
HEAD = Head(receipt=hexes("1"), token=hexes("2"), generation=hexes("3"), rows=10, watermark=WATERMARK)
NEVER = Head()
TABLE = Present(kind="table", token=hexes("2"), columns=COLUMNS)
VIEW = Present(kind="view", token=hexes("2"), columns=COLUMNS)
DIGESTS = Digests(definition="d", promise="p", note="n", environment="e")
CLEAN = Delta(
    rows=3, watermark_nulls=0, key_nulls=0, key_doubles=0, lossy_casts=0, changed_at_watermark=0, conflicting_keys=0, out_of_range=0
)
SHRINK = Shrink(rows_before=10, rows_after=12, before=WATERMARK, after=AFTER, missing=0, permission="not_allowed")


SOURCES = (
    SourceCheck(source="raw.o", question="freshness", column="at", severity="error"),
    SourceCheck(source="raw.o", question="not_null", column="id", severity="error"),
    SourceCheck(source="files", question="cells", column="", severity="error"),
)
SAID = tuple(
    SourceVerdict(source=each.source, question=each.question, column=each.column, outcome="passed", failing=0, because="")
    for each in SOURCES
)


def applied(*roles: str) -> tuple[Applied, ...]:
    return tuple(Applied(role=role, rows=None) for role in roles)


def verify(**change: Any) -> VerifyEvidence:
    return replace(
        VerifyEvidence(
            plan="plan",
            item_sealed="item",
            item_found="item",
            contract=(
                ContractFinding(column="id", proof="compiled", because=""),
                ContractFinding(column="at", proof="at_run_time", because="counted before commit"),
            ),
            authority="E",
            decision="proceed",
            sources=SOURCES,
            said=SAID,
        ),
        **change,
    )


def bootstrap(**change: Any) -> BootstrapEvidence:
    return replace(
        BootstrapEvidence(
            plan="plan",
            item="item",
            action="append",
            attempt=1,
            head=HEAD,
            head_seen=HeadSeen(receipt=HEAD.receipt, token=HEAD.token),
            target=TABLE,
            target_seen=TABLE,
            upstreams=(
                Upstream(model="stg", state="checkpointed", receipt=hexes("5")),
                Upstream(model="dim", state="outside", receipt=hexes("6")),
                Upstream(model="ref", state="no_op", receipt=hexes("7")),
            ),
            reads=(Read(model="stg", receipt=hexes("5")), Read(model="dim", receipt=hexes("6")), Read(model="ref", receipt=hexes("7"))),
            contract=(
                PromisedColumn(column="id", type="BIGINT", nulls="forbidden"),
                PromisedColumn(column="at", type="TIMESTAMP", nulls="allowed"),
            ),
            extra_columns="refuse",
            columns=COLUMNS,
            checks=(CheckPin(check="unique_id", severity="error"), CheckPin(check="fresh", severity="warn")),
            statements=(hexes("8"), hexes("9")),
            guards=PUBLICATION_NAMES,
            permission="open",
        ),
        **change,
    )


def body(**change: Any) -> ReceiptBody:
    return replace(
        ReceiptBody(
            format=1,
            project="shop",
            model="orders",
            relation='"warehouse"."main"."orders"',
            kind="table",
            materialized="incremental",
            action="append",
            anchor=ANCHOR,
            plan="plan",
            previous=HEAD.receipt,
            digests=DIGESTS,
            parts={},
            text="select 1",
            engine="2.0.1",
            statements=hexes("4"),
            reads=(Read(model="dim", receipt=hexes("6")), Read(model="ref", receipt=hexes("7")), Read(model="stg", receipt=hexes("5"))),
            sources=(),
            head=HeadSeen(receipt=HEAD.receipt, token=HEAD.token),
            applied=applied("count_before", "stage", "insert"),
            shape=COLUMNS,
            nulls=(NullCount(column="id", nulls=0),),
            verdicts=(
                CheckVerdict(check="unique_id", severity="error", outcome="passed", failing=0, because=""),
                CheckVerdict(check="fresh", severity="warn", outcome="failed", failing=2, because="two days old"),
            ),
            rows_before=10,
            rows_written=3,
            rows_deleted=0,
            rows_held=0,
            rows_late=None,
            rows_after=13,
            delta=CLEAN,
            shrink=None,
            fingerprint=None,
            token=HEAD.token,
            generation=ANCHOR,
            watermark=AFTER,
            ranges=(),
        ),
        **change,
    )


def found(**change: Any) -> CommitEvidence:
    return CommitEvidence(anchor=ANCHOR, receipt=Found(id=RECEIPT, body=body(**change)))


def checkpoint(**change: Any) -> CheckpointEvidence:
    return replace(
        CheckpointEvidence(receipt=RECEIPT, token=HEAD.token, generation=ANCHOR, rows=13, watermark=AFTER, digests=DIGESTS),
        **change,
    )


def refuse(**change: Any) -> RefuseEvidence:
    return replace(
        RefuseEvidence(cause="interrupt", code="G562", because="Ctrl-C", remedy="run again", proof=RolledBack(body=None)),
        **change,
    )


def authorize(**change: Any) -> AuthorizeEvidence:
    return replace(
        AuthorizeEvidence(
            plan="plan",
            target="dev",
            authority=AuthorityFinding(
                row="E", ledger="whole", identity="ours", heads="equal", decision="proceed", code="", because="", remedy=""
            ),
            differences=(),
            spent_by=(),
            continues=None,
            review="open",
            scope=(ScopeItem(model="orders", action="append"), ScopeItem(model="stg", action="create")),
            history=(),
        ),
        **change,
    )


def start(**change: Any) -> StartEvidence:
    return replace(
        StartEvidence(
            relations_needed=("heads", "main"), relations_found=("main", "heads", "more"), heads_needed=("orders",), heads_found=("orders",)
        ),
        **change,
    )


SEAL = SealRow(project="shop", run="run-1", serial=4, tip=hexes("b"), outcome="partial", heads=hexes("c"))


def close(**change: Any) -> CloseEvidence:
    return replace(
        CloseEvidence(
            planned=(ScopeItem(model="stg", action="create"), ScopeItem(model="orders", action="append")),
            executed=(ScopeEnd(model="orders", state="refused"), ScopeEnd(model="stg", state="checkpointed")),
            outcome="partial",
            seal_expected=SEAL,
            seal=SEAL,
        ),
        **change,
    )


def compiled(**change: Any) -> CompileEvidence:
    return replace(CompileEvidence(models=2, findings=(Finding(code="L218", severity="warning", summary="now() differs"),)), **change)


def sealed(**change: Any) -> SealEvidence:
    return replace(
        SealEvidence(observations=(Observation(question="heads", answer="read"), Observation(question="ledger", answer="absent"))),
        **change,
    )


MISSING = Missing()
