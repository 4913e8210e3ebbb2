"""ModelRun: one model, from a plan to a checkpoint."""

from __future__ import annotations

from typing import ClassVar, Final

from interlock.machines.case import Publication
from interlock.machines.evidence import (
    BootstrapEvidence,
    CheckpointEvidence,
    CommitEvidence,
    Evidence,
    Found,
    Proposed,
    ReceiptBody,
    RefuseEvidence,
    Verdict,
    VerifyEvidence,
)
from interlock.machines.guards import all_hold, requires
from interlock.machines.guards_model import (
    Confirmation,
    authority_is_known,
    checkpoint_equals_receipt,
    contract_is_proved,
    plan_is_as_sealed,
    proof_says_nothing_was_written,
    target_is_as_planned,
    upstreams_are_checkpointed,
    write_is_permitted,
)
from interlock.machines.guards_source import judge_verify, source_cells_are_held, source_promises_hold, sources_are_fresh
from interlock.machines.guards_write import receipt_is_durable
from interlock.machines.machine import Contradiction, Machine, State, Step, Writer
from interlock.machines.permits import _KEY, CommitPermit, PermitDenied, WritePermit
from interlock.machines.publication import PUBLICATION, judge_checkpoint, judge_commit, verdicts_before_commit
from interlock.machines.records import Record, digest_of

_PINNED_IN: Final = frozenset({"bootstrapping", "committed"})


class ModelRun(Machine):
    """One model, from a plan to a checkpoint; `refused` is the only other way out."""

    ledger_name = "model_run"

    planned = State(initial=True)
    verified = State()
    bootstrapping = State()
    committed = State()
    checkpointed = State(final=True)
    refused = State(final=True)

    verify = planned.to(verified, cond="may_verify") | planned.to(refused)
    bootstrap = verified.to(bootstrapping, cond="may_bootstrap") | verified.to(refused)
    commit = bootstrapping.to(committed, cond="may_commit") | bootstrapping.to(refused)
    checkpoint = committed.to(checkpointed, cond="may_checkpoint") | committed.to(refused)
    refuse = planned.to(refused) | verified.to(refused) | bootstrapping.to(refused, cond="nothing_was_written")

    may_verify = requires(
        VerifyEvidence,
        plan_is_as_sealed,
        contract_is_proved,
        authority_is_known,
        sources_are_fresh,
        source_promises_hold,
        source_cells_are_held,
        judge=judge_verify,
    )
    may_bootstrap = requires(BootstrapEvidence, upstreams_are_checkpointed, target_is_as_planned, write_is_permitted)
    may_commit = requires(Publication, *PUBLICATION, receipt_is_durable, judge=judge_commit)
    may_checkpoint = requires(Confirmation, checkpoint_equals_receipt, judge=judge_checkpoint)
    nothing_was_written = requires(RefuseEvidence, proof_says_nothing_was_written)

    evidence_types: ClassVar[dict[str, type[Record]]] = {
        "verify": VerifyEvidence,
        "bootstrap": BootstrapEvidence,
        "commit": CommitEvidence,
        "checkpoint": CheckpointEvidence,
        "refuse": RefuseEvidence,
    }

    meaning: ClassVar[dict[str, str]] = {
        "planned": "nothing has happened (no record: it stands in the run's scope)",
        "verified": "it may ask for the target",
        "bootstrapping": "a write may exist",
        "committed": "a write exists and was seen",
        "checkpointed": "ledger and warehouse agree",
        "refused": "it stopped, for a reason on record; the record says what was written: nothing, or which receipt",
    }

    def __init__(
        self,
        subject: str,
        write: Writer,
        *,
        state: str | None = None,
        bootstrap: BootstrapEvidence | None = None,
        anchor: str | None = None,
        commit: CommitEvidence | None = None,
    ) -> None:
        """Begin at `planned`, or restore in the middle with what the ledger says.

        Args:
            subject: `model#attempt`.
            write: appends a record and returns its digest.
            state: where to restore.
            bootstrap: what the attempt pinned; needed from `bootstrapping` on.
            anchor: digest of its `bootstrap` record; needed from `bootstrapping` on.
            commit: the evidence of its commit; needed in `committed`.
        """
        if state in _PINNED_IN and (bootstrap is None or not anchor):
            msg = f"{subject} cannot be restored in `{state}` without what it pinned and its anchor"
            raise ValueError(msg)
        if state == "committed" and (commit is None or not isinstance(commit.receipt, Found)):
            msg = f"{subject} cannot be restored in `committed` without the receipt that was found"
            raise ValueError(msg)
        self.pinned = bootstrap
        self.anchor = anchor
        self.committed_as = commit
        super().__init__(subject, write, state=state)

    @property
    def model_name(self) -> str:
        """The model, without the attempt's number."""
        return self.subject.partition("#")[0]

    def admit(self, event: str, evidence: Evidence) -> None:
        """From a write on, evidence of another kind, or of another attempt, must not even end in `refused`."""
        super().admit(event, evidence)
        if event in ("commit", "checkpoint") and not isinstance(evidence, self.evidence_types[event]):
            msg = f"`{event}` of {self.subject} got {type(evidence).__name__}, which says nothing of what was written"
            raise Contradiction(msg)
        if event == "commit" and isinstance(evidence, CommitEvidence):
            if isinstance(evidence.receipt, Proposed):
                msg = f"the receipt of {self.subject} is only proposed: it says nothing of what was written"
                raise Contradiction(msg)
            if self.anchor is not None and evidence.anchor != self.anchor:
                msg = f"evidence of the attempt {evidence.anchor} was sent to {self.subject}, whose anchor is {self.anchor}"
                raise Contradiction(msg)

    def case(self, event: str, evidence: Evidence) -> object:
        """The evidence; for `commit` and `checkpoint`, beside what the attempt pinned and what was found."""
        del event  # the kind of the evidence says as much
        if isinstance(evidence, CommitEvidence):
            return Publication(pinned=self.pinned, evidence=evidence)
        if isinstance(evidence, CheckpointEvidence):
            return Confirmation(commit=self.committed_as, evidence=evidence)
        return evidence

    def remember(self, step: Step) -> None:
        """Keep what was pinned, with the anchor, and what was found."""
        evidence = step.transition.evidence
        if step.transition.target == "bootstrapping" and isinstance(evidence, BootstrapEvidence):
            self.pinned = evidence
            self.anchor = step.record
        elif step.transition.target == "committed" and isinstance(evidence, CommitEvidence):
            self.committed_as = evidence

    def write_permit(self) -> WritePermit:
        """The permit to write, good for as long as the attempt is in `bootstrapping`.

        Raises:
            PermitDenied: in every other state.
        """
        pinned, anchor = self._in_bootstrapping()
        return WritePermit(
            model=self.model_name,
            anchor=anchor,
            plan=pinned.plan,
            statements=frozenset(pinned.statements),
            key=_KEY,
        )

    def publication_is_permitted(self, body: ReceiptBody) -> CommitPermit | tuple[Verdict, ...]:
        """The permit to commit, or every verdict, of which at least one refuses. Asked in the open transaction.

        Raises:
            PermitDenied: outside of `bootstrapping`.
        """
        pinned, anchor = self._in_bootstrapping()
        evidence = CommitEvidence(anchor=anchor, receipt=Proposed(body=body))
        verdicts = verdicts_before_commit(Publication(pinned=pinned, evidence=evidence))
        if body.anchor != anchor:
            because = f"the receipt names the attempt {body.anchor[:12]}, and this one is {anchor[:12]}"
            verdicts = (*verdicts, _durable_never(because))
        if not all_hold(verdicts):
            return verdicts
        return CommitPermit(anchor=anchor, receipt=digest_of("receipt", body), key=_KEY)

    def _in_bootstrapping(self) -> tuple[BootstrapEvidence, str]:
        if self.state_name != "bootstrapping" or self.pinned is None or self.anchor is None:
            msg = f"{self.subject} is `{self.state_name}`: nothing may be written"
            raise PermitDenied(msg)
        return self.pinned, self.anchor


def _durable_never(because: str) -> Verdict:
    return Verdict(
        guard=receipt_is_durable.name,
        holds="no",
        invariant=receipt_is_durable.invariant,
        code="K731",
        because=because,
        remedy="run `interlock resume`; it makes a new attempt",
    )
