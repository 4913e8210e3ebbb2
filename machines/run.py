"""Run: one carrying out of one plan, by one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import ClassVar, Final

from interlock.machines.evidence import (
    AuthorizeEvidence,
    CloseEvidence,
    Evidence,
    RefuseEvidence,
    ScopeEnd,
    StartEvidence,
)
from interlock.machines.guards import requires
from interlock.machines.guards_run import (
    TERMINAL,
    Closing,
    authority_permits,
    plan_is_current,
    plan_is_unspent,
    scope_is_as_planned,
    seal_is_durable,
    tables_and_heads_exist,
)
from interlock.machines.machine import Machine, State, Step, Writer
from interlock.machines.permits import _KEY, PermitDenied, PreparePermit, SealPermit
from interlock.machines.records import Record

_AUTHORIZED_IN: Final = frozenset({"authorized", "running"})


class Run(Machine):
    """One carrying out of one plan, by one process, from authority to seal."""

    ledger_name = "run"

    opened = State(initial=True)
    authorized = State()
    running = State()
    closed = State(final=True)
    refused = State(final=True)

    authorize = opened.to(authorized, cond="may_authorize") | opened.to(refused)
    start = authorized.to(running, cond="may_start") | authorized.to(refused)
    close = running.to(closed, cond="may_close") | running.to(refused)
    refuse = opened.to(refused) | authorized.to(refused)

    may_authorize = requires(AuthorizeEvidence, authority_permits, plan_is_current, plan_is_unspent)
    may_start = requires(StartEvidence, tables_and_heads_exist)
    may_close = requires(Closing, scope_is_as_planned, seal_is_durable)

    evidence_types: ClassVar[dict[str, type[Record]]] = {
        "authorize": AuthorizeEvidence,
        "start": StartEvidence,
        "close": CloseEvidence,
        "refuse": RefuseEvidence,
    }

    meaning: ClassVar[dict[str, str]] = {
        "opened": "nothing has happened (no record)",
        "authorized": "its scope is fixed; it may make control tables, schemas and head rows",
        "running": "its plan is spent; its models may start, and a write may exist",
        "closed": "every planned model has ended, and the warehouse has a row that says so",
        "refused": "it stopped, for a reason on record",
    }

    def __init__(self, subject: str, write: Writer, *, state: str | None = None, authorized: AuthorizeEvidence | None = None) -> None:
        """Begin at `opened`, or restore with what the ledger says.

        Args:
            subject: the run's id.
            write: appends a record and returns its digest.
            state: where to restore.
            authorized: the evidence of its `authorize`, which holds the scope; needed in `authorized` and `running`.
        """
        if state in _AUTHORIZED_IN and authorized is None:
            msg = f"run {subject} cannot be restored in `{state}` without its scope"
            raise ValueError(msg)
        self.authorized_as = authorized
        super().__init__(subject, write, state=state)

    def case(self, event: str, evidence: Evidence) -> object:
        """The evidence; for `close`, beside the scope that was authorized."""
        del event  # the kind of the evidence says as much
        if isinstance(evidence, CloseEvidence):
            return Closing(run=self.subject, authorized=self.authorized_as, evidence=evidence)
        return evidence

    def remember(self, step: Step) -> None:
        """Keep the scope."""
        evidence = step.transition.evidence
        if step.transition.target == "authorized" and isinstance(evidence, AuthorizeEvidence):
            self.authorized_as = evidence

    def prepare_permit(self, statements: Collection[str]) -> PreparePermit:
        """The permit of the transaction that makes control tables, schemas and head rows.

        Args:
            statements: digests of what it may run.

        Raises:
            PermitDenied: in every state but `authorized`.
        """
        if self.state_name != "authorized":
            msg = f"run {self.subject} is `{self.state_name}`: nothing may be prepared"
            raise PermitDenied(msg)
        return PreparePermit(run=self.subject, statements=frozenset(statements), key=_KEY)

    def seal_permit(self, statements: Collection[str], ends: tuple[ScopeEnd, ...]) -> SealPermit:
        """The permit to write the seal row.

        Args:
            statements: digests of what it may run.
            ends: every model of the authorized scope, with the state in which it ended.

        Raises:
            PermitDenied: in every state but `running`, and while a model of the scope has not ended.
        """
        if self.state_name != "running" or self.authorized_as is None:
            msg = f"run {self.subject} is `{self.state_name}`: it has nothing to seal"
            raise PermitDenied(msg)
        open_models = sorted(end.model for end in ends if end.state not in TERMINAL)
        if open_models:
            msg = f"run {self.subject} cannot be sealed: not ended: {', '.join(open_models)}"
            raise PermitDenied(msg)
        scope = Counter(item.model for item in self.authorized_as.scope)
        ended = Counter(end.model for end in ends)
        if scope != ended:
            different = sorted((scope - ended) | (ended - scope))
            msg = f"run {self.subject} cannot be sealed: its scope and its ends differ in {', '.join(different)}"
            raise PermitDenied(msg)
        return SealPermit(run=self.subject, statements=frozenset(statements), key=_KEY)
