"""Evidence: the records that guards read. One closed union per event; an unknown is a variant, never a default.

Evidence from before a write may say `Unreadable`. Evidence after a write has no such variant: while the outcome is
unknown no event is sent. No field is a bool: a guard decides, evidence only says what was seen.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from interlock.machines.acts import AcceptEvidence as AcceptEvidence
from interlock.machines.acts import ArchiveEvidence as ArchiveEvidence
from interlock.machines.acts import AttachEvidence as AttachEvidence
from interlock.machines.acts import CompactEvidence as CompactEvidence
from interlock.machines.acts import GenesisEvidence as GenesisEvidence
from interlock.machines.acts import HeadTaken as HeadTaken
from interlock.machines.acts import ResetEvidence as ResetEvidence
from interlock.machines.acts import TornEvidence as TornEvidence
from interlock.machines.receipts import Applied as Applied
from interlock.machines.receipts import CheckVerdict as CheckVerdict
from interlock.machines.receipts import ColumnAdded as ColumnAdded
from interlock.machines.receipts import Delta as Delta
from interlock.machines.receipts import NullCount as NullCount
from interlock.machines.receipts import ReceiptBody as ReceiptBody
from interlock.machines.receipts import Shrink as Shrink
from interlock.machines.receipts import SourceSeen as SourceSeen
from interlock.machines.records import Record
from interlock.machines.values import AuthorityFinding as AuthorityFinding
from interlock.machines.values import Column as Column
from interlock.machines.values import Digests as Digests
from interlock.machines.values import Fingerprint as Fingerprint
from interlock.machines.values import Head as Head
from interlock.machines.values import HeadSeen as HeadSeen
from interlock.machines.values import Read as Read
from interlock.machines.values import Span as Span
from interlock.machines.values import Watermark as Watermark

# --- shared values ----------------------------------------------------------------------------------------------------


class Unreadable(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="unreadable"):
    """The question was asked and got no answer."""

    because: str


class Missing(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="missing"):
    """The relation positively is not there."""


class Present(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="present"):
    """A relation stands there. `token` is what its comment carries, `None` for none."""

    kind: Literal["table", "view"]
    token: str | None
    columns: tuple[Column, ...]


Target: TypeAlias = Missing | Present
TargetSeen: TypeAlias = Missing | Present | Unreadable


# --- model run: verify, bootstrap -------------------------------------------------------------------------------------


class PromisedColumn(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a contract. `type` is canonical; `nulls` says whether the column may hold any."""

    column: str
    type: str | None
    nulls: Literal["allowed", "forbidden"]


class ContractFinding(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of one promise before anything runs."""

    column: str
    proof: Literal["compiled", "at_run_time", "false", "unproved"]
    because: str


class SourceCheck(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question that will be put to a source before the model reads it.

    `freshness`; `not_null` of a column; `cells`: whether what its files hold is held by the types that they are read with.
    """

    source: str
    question: Literal["freshness", "not_null", "cells"]
    column: str
    """Empty where the question is of all columns."""
    severity: Literal["error", "warn"]
    limit_seconds: int | None = None
    """Of freshness: how old the newest time may be."""
    no_rows: Literal["refuse", "warn"] = "refuse"
    """Of freshness: what a source without any row does. It never passes."""


class SourceVerdict(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a source said, asked once in a run. `failing`: nulls, cells, or 1 for what is not fresh; `None` where there is no such number."""

    source: str
    question: Literal["freshness", "not_null", "cells"]
    column: str
    limit_seconds: int | None = None
    outcome: Literal["passed", "failed", "no_rows", "not_evaluated"]
    failing: int | None
    because: str


class VerifyEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="verify"):
    """planned → verified."""

    plan: str
    item_sealed: str
    """Digest of this model's item in the sealed plan."""
    item_found: str
    """Digest of the item that is about to be carried out."""
    contract: tuple[ContractFinding, ...]
    authority: str | Unreadable
    """Letter of the row of the authority table that was taken."""
    decision: Literal["fresh", "finish_genesis", "proceed", "settle", "refuse"]
    sources: tuple[SourceCheck, ...] = ()
    """Questions to the sources that it reads, as the plan sealed them."""
    said: tuple[SourceVerdict, ...] = ()
    """What the sources said in this run, before anything read them."""


class Upstream(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that is read, and its state in this run (`outside`: not in this run's scope)."""

    model: str
    state: str
    receipt: str | None


class CheckPin(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check that will be asked."""

    check: str
    severity: Literal["error", "warn"]


class BootstrapEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="bootstrap"):
    """verified → bootstrapping: pins all that will be expected, so that recovery and replay need no plan file."""

    plan: str
    item: str
    action: str
    attempt: int
    head: Head
    head_seen: HeadSeen | Unreadable
    target: Target
    target_seen: TargetSeen
    upstreams: tuple[Upstream, ...]
    reads: tuple[Read, ...]
    contract: tuple[PromisedColumn, ...]
    extra_columns: Literal["allow", "refuse"]
    columns: tuple[Column, ...]
    """The columns that the relation will have, as compiled."""
    checks: tuple[CheckPin, ...]
    statements: tuple[str, ...]
    """Digests of the statements that the permit will allow."""
    guards: tuple[str, ...]
    """Names of the publication guards that this attempt is held to."""
    permission: Literal["open", "reviewed", "unreviewed", "refused"]
    """`open`: the target is not protected; else whether a plan was seen."""


# --- model run: commit ------------------------------------------------------------------------------------------------


class Proposed(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="proposed"):
    """The body as the open transaction has it. Never in a ledger record."""

    body: ReceiptBody


class Found(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="found"):
    """The head names this receipt, and this is its body, read on a fresh snapshot."""

    id: str
    body: ReceiptBody


class RolledBack(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="rolled_back"):
    """The transaction was rolled back, with the body it had come to, if it came that far."""

    body: ReceiptBody | None


class Absent(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="absent"):
    """The writer's connection is closed, and no receipt of this attempt is there."""


class CommitEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="commit"):
    """bootstrapping → committed: one type for a live run, recovery and replay."""

    anchor: str
    receipt: Proposed | Found | RolledBack | Absent
    tries: int = 1


class CheckpointEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="checkpoint"):
    """committed → checkpointed: the head as read, and what the ledger will say of this model from now on."""

    receipt: str
    token: str | None
    generation: str | None
    rows: int | None
    watermark: Watermark | None
    digests: Digests
    moved: Read | None = None
    """The head that a rename left behind."""


class RefuseEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="refuse"):
    """An explicit refusal, with its cause and proof of what was written."""

    cause: Literal["plan", "upstream", "interrupt", "crash", "fail_fast", "warehouse", "run"]
    code: str
    because: str
    remedy: str
    proof: RolledBack | Absent | None
    """`None` where the attempt had not asked for the target; from `bootstrapping` it must be given."""
    detail: str = ""
    """Position and excerpt where the cause has one."""


# --- run --------------------------------------------------------------------------------------------------------------


class ScopeItem(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of the run and its action. No-ops stand in the plan."""

    model: str
    action: str


class Difference(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is not as planned."""

    code: str
    subject: str
    planned: str
    found: str
    remedy: str
    diff: str = ""
    """Of a text: a unified diff from what was planned to what was found."""


class AuthorizeEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="authorize"):
    """opened → authorized."""

    plan: str
    target: str
    authority: AuthorityFinding
    differences: tuple[Difference, ...]
    spent_by: tuple[str, ...]
    """Runs of this plan that have entered `running`."""
    continues: str | None
    review: Literal["reviewed", "unreviewed", "open"]
    scope: tuple[ScopeItem, ...]
    history: tuple[str, ...]
    """The plan's own transitions up to `sealed`."""
    reason: str = ""
    """Of an act of a person that is carried out as a run (`adopt`): why, in that person's words."""


class StartEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="start"):
    """authorized → running: what must stand before a model may start, and what was read after preparing."""

    relations_needed: tuple[str, ...]
    relations_found: tuple[str, ...]
    heads_needed: tuple[str, ...]
    heads_found: tuple[str, ...]


class ScopeEnd(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A planned model and the state in which it ended."""

    model: str
    state: str


class SealRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="seal"):
    """The warehouse's row that a run closed."""

    project: str
    run: str
    serial: int
    tip: str
    outcome: Literal["succeeded", "partial"]
    heads: str


class CloseEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="close"):
    """running → closed."""

    planned: tuple[ScopeItem, ...]
    executed: tuple[ScopeEnd, ...]
    outcome: Literal["succeeded", "partial"]
    seal_expected: SealRow
    seal: SealRow | Absent


# --- plan -------------------------------------------------------------------------------------------------------------


class Finding(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A diagnostic, as far as a guard needs it."""

    code: str
    severity: Literal["error", "warning"]
    summary: str


class CompileEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="compile"):
    """drafted → compiled."""

    models: int
    findings: tuple[Finding, ...]


class Observation(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question that planning asked of the world, and what came back."""

    question: str
    answer: Literal["read", "absent"] | Unreadable


class SealEvidence(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="seal_plan"):
    """compiled → sealed."""

    observations: tuple[Observation, ...]


ModelEvidence: TypeAlias = VerifyEvidence | BootstrapEvidence | CommitEvidence | CheckpointEvidence | RefuseEvidence
RunEvidence: TypeAlias = AuthorizeEvidence | StartEvidence | CloseEvidence | RefuseEvidence
PlanEvidence: TypeAlias = CompileEvidence | SealEvidence | RefuseEvidence
LedgerEvidence: TypeAlias = (
    GenesisEvidence | TornEvidence | AcceptEvidence | ResetEvidence | AttachEvidence | ArchiveEvidence | CompactEvidence
)
Evidence: TypeAlias = ModelEvidence | RunEvidence | PlanEvidence | LedgerEvidence


class Verdict(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A guard's answer. One that holds is recorded by its name alone."""

    guard: str
    holds: Literal["yes", "no"] = "yes"
    invariant: str = ""
    code: str = ""
    because: str = ""
    remedy: str = ""


class Transition(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a machine hands to the ledger before it moves, and what `step` answers with."""

    machine: str
    subject: str
    event: str
    source: str
    target: str
    verdicts: tuple[Verdict, ...]
    evidence: Evidence


class Entry(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record of the ledger: sequence and parent first, then the transition with its surroundings."""

    sequence: int
    parent: str
    time: str
    run: str | None
    by: str | None
    machine: str
    subject: str
    event: str
    source: str
    target: str
    verdicts: tuple[Verdict, ...]
    evidence: Evidence
    actor: str
    version: str
