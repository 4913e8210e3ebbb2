"""What follows from a ledger: its records, fed in order, as facts. Pure; the same records give the same facts.

The fold does not judge evidence. It does hold each record against the order that the machines allow, so that a ledger
which no machine can have written is not read as one that says something.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from interlock.engine.ledger.subjects import AttemptFold, Behind, Contradiction, Last, ModelFold, Refusal, RunFold, SettledBy
from interlock.machines.evidence import (
    AcceptEvidence,
    ArchiveEvidence,
    AttachEvidence,
    AuthorizeEvidence,
    BootstrapEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    CompactEvidence,
    Entry,
    Evidence,
    Found,
    GenesisEvidence,
    Head,
    Read,
    RefuseEvidence,
    ResetEvidence,
    SealRow,
    StartEvidence,
    TornEvidence,
    VerifyEvidence,
)

T = TypeVar("T")

MOVES: dict[str, dict[str, tuple[type, frozenset[tuple[str, str]]]]] = {
    "model_run": {
        "verify": (VerifyEvidence, frozenset({("planned", "verified"), ("planned", "refused")})),
        "bootstrap": (BootstrapEvidence, frozenset({("verified", "bootstrapping"), ("verified", "refused")})),
        "commit": (CommitEvidence, frozenset({("bootstrapping", "committed"), ("bootstrapping", "refused")})),
        "checkpoint": (CheckpointEvidence, frozenset({("committed", "checkpointed"), ("committed", "refused")})),
        "refuse": (RefuseEvidence, frozenset({("planned", "refused"), ("verified", "refused"), ("bootstrapping", "refused")})),
    },
    "run": {
        "authorize": (AuthorizeEvidence, frozenset({("opened", "authorized"), ("opened", "refused")})),
        "start": (StartEvidence, frozenset({("authorized", "running"), ("authorized", "refused")})),
        "close": (CloseEvidence, frozenset({("running", "closed"), ("running", "refused")})),
        "refuse": (RefuseEvidence, frozenset({("opened", "refused"), ("authorized", "refused")})),
    },
    "ledger": {
        "genesis": (GenesisEvidence, frozenset({("", "")})),
        "torn": (TornEvidence, frozenset({("", "")})),
        "accept_warehouse": (AcceptEvidence, frozenset({("", "")})),
        "reset": (ResetEvidence, frozenset({("", "")})),
        "attach": (AttachEvidence, frozenset({("", "")})),
        "archive": (ArchiveEvidence, frozenset({("", "")})),
        "compact_receipts": (CompactEvidence, frozenset({("", "")})),
    },
}
"""By machine and event: the evidence, and the moves (from, to). A test holds it to the machines' classes."""


class Illegal(Exception):  # noqa: N818 - a finding about records
    """A record that cannot follow those before it. The fold is as it was before."""


class Fold:
    """The facts of a ledger. Feed it every record from the first on, each with its digest."""

    def __init__(self) -> None:
        self.genesis: GenesisEvidence | None = None
        self.project = ""
        self.ledger = ""
        self.warehouse = ""
        """Id of the warehouse that the ledger belongs to; `accept_warehouse` may have moved it."""
        self.sequence = 0
        self.tip = ""
        self.time = ""
        self.runs: dict[str, RunFold] = {}
        """Those that are open, and the newest. Whoever asks for another one asks `every_run` or `runs_of`."""
        self.models: dict[str, ModelFold] = {}
        self.plans: dict[str, list[str]] = {}
        """By plan: the runs that entered `running`, in order. A plan in here is spent; so may others be (`is_spent`)."""
        self.open: dict[str, RunFold] = {}
        """Runs that were authorized and have no end."""
        self.anchors: dict[str, AttemptFold] = {}
        """Attempts by anchor, since the warehouse's word was last taken."""
        self.contradictions: list[Contradiction] = []
        """Refusals that name a receipt, since the warehouse's word was last taken."""
        self.accepted: AcceptEvidence | None = None
        """The newest `accept_warehouse` that was read."""
        self.reset: ResetEvidence | None = None
        """A person began to start over, and this ledger was to be set aside after it."""
        self.torn: list[TornEvidence] = []
        self.seal: SealRow | None = None
        """Of the newest closed run."""
        self.accepted_sequence = 0
        """Of the newest `accept_warehouse`; 0 for none."""
        self.serial_accepted = 0
        """Serial of the warehouse's last seal when its word was taken."""
        self.closed = 0
        """How many runs were closed."""
        self.wrote = False
        """There is a `bootstrap` record. As long as there is none, no write of ours can exist."""
        self.since_close: dict[str, int] = {}
        """Digest and sequence of the records since the last `close`: where the tip of an unfinished seal must be."""
        self.before_close: dict[str, Head] = {}
        """Of models whose head moved since the last `close`: the head that they had there."""
        self.behind: Behind | None = None
        """What was left behind, where reading went on from a kept state."""
        self._shared: dict[object, object] = {}

    @property
    def serial(self) -> int:
        """Serial of the last closed run; 0 where none was closed."""
        return self.seal.serial if self.seal is not None else self.serial_accepted

    def head(self, model: str) -> Head:
        """The head that the ledger expects of a model: all `None` where it expects none."""
        known = self.models.get(model)
        return known.head if known is not None else Head()

    def spent_by(self, plan: str) -> tuple[str, ...]:
        """The runs of a plan that entered `running`, in order."""
        self._demand(plan)
        return tuple(self.plans.get(plan, ()))

    def is_spent(self, plan: str) -> bool:
        """Whether a run of a plan entered `running`; reads nothing again."""
        return plan in self.plans or (self.behind is not None and self.behind.has_spent(plan))

    def runs_of(self, plan: str) -> list[RunFold]:
        """Every run that was authorized with a plan."""
        self._demand(plan)
        return [run for run in self.runs.values() if run.plan == plan]

    def every_run(self) -> dict[str, RunFold]:
        """Every run that there ever was, by id."""
        if self.behind is not None:
            self._recall(self.behind)
        return self.runs

    def checkpointed_by(self, plan: str) -> dict[str, str | None]:
        """The models that any run of a plan has checkpointed, and the receipts."""
        return {
            attempt.model: attempt.receipt
            for run in self.spent_by(plan)
            for attempt in self.runs[run].attempts.values()
            if attempt.state == "checkpointed"
        }

    def attempt_number(self, plan: str, model: str) -> int:
        """The number that the next attempt at a model by a run of this plan has, counted from 1."""
        return 1 + sum(model in self.runs[run].attempts for run in self.spent_by(plan))

    def _demand(self, plan: str) -> None:
        if self.behind is not None and self.behind.has(plan):
            self._recall(self.behind)

    def _recall(self, behind: Behind) -> None:
        """What was left behind is asked for: the facts are those of the whole ledger from here on."""
        whole = behind.recall()
        assert (whole.sequence, whole.tip) == (self.sequence, self.tip)
        vars(self).update(vars(whole))

    def feed(self, digest: str, entry: Entry) -> None:
        """Take the next record.

        Raises:
            Illegal: it cannot follow those before it; nothing has changed.
        """
        _require(entry.sequence == self.sequence + 1, f"its sequence is {entry.sequence}, and {self.sequence + 1} is next")
        _require(entry.parent == self.tip, "its parent is not the record before it")
        self._require_move(entry)
        if entry.machine == "ledger":
            self._ledger(entry, entry.evidence)
        elif entry.machine == "run":
            self._run(entry, entry.evidence)
        else:
            self._model(digest, entry, entry.evidence)
        self.sequence = entry.sequence
        self.tip = digest
        self.time = entry.time
        if entry.machine == "run" and entry.target == "closed":
            self.since_close.clear()
            self.before_close.clear()
        self.since_close[digest] = entry.sequence

    def _require_move(self, entry: Entry) -> None:
        is_genesis = entry.machine == "ledger" and entry.event == "genesis"
        _require(is_genesis == (entry.sequence == 1), "genesis is the first record and only that")
        events = MOVES.get(entry.machine)
        if events is None or entry.event not in events:
            message = f"`{entry.machine}` has no event `{entry.event}`"
            raise Illegal(message)
        evidence, moves = events[entry.event]
        _require((entry.source, entry.target) in moves, f"`{entry.event}` does not lead from `{entry.source}` to `{entry.target}`")
        _require(type(entry.evidence) is evidence, f"its evidence is not that of `{entry.event}`")

    # --- the ledger's own records -------------------------------------------------------------------------------------

    def _ledger(self, entry: Entry, evidence: Evidence) -> None:
        match evidence:
            case GenesisEvidence():
                self.genesis = evidence
                self.project, self.ledger, self.warehouse = evidence.project, evidence.ledger, evidence.warehouse
            case TornEvidence():
                self.torn.append(evidence)
            case AcceptEvidence():
                self._accept(entry, evidence)
            case ResetEvidence():
                self.reset = evidence
            case AttachEvidence():
                _require((evidence.sequence, evidence.tip) == (self.sequence, self.tip), "it was attached at another record than this")
            case ArchiveEvidence():
                _require((evidence.sequence, evidence.tip) == (self.sequence, self.tip), "the segment that it closes ends elsewhere")
            case CompactEvidence():
                _require(not self.open, "receipts were let go while a run was open")
            case _:
                raise Illegal(_WRONG_EVIDENCE)

    def _accept(self, entry: Entry, evidence: AcceptEvidence) -> None:
        for run in evidence.settled:
            _require(run in self.open, f"it settles the run {run}, which is not open")
        for run in evidence.settled:
            settled = self.open.pop(run)
            settled.settled = SettledBy(sequence=entry.sequence, time=entry.time)
            settled.ended = entry.time
            for attempt in settled.attempts.values():
                attempt.bootstrap = attempt.commit = None
        contradicted = {contradiction.model.partition(":")[0] for contradiction in self.contradictions}
        for known in self.models.values():
            known.decided = "yes" if known.model in contradicted or (known.decided == "yes" and known.attempt is None) else "no"
            known.attempt = known.last = None
        for taken in evidence.heads:
            known = self._known(taken.model)
            known.last = Last(
                head=taken.head, digests=taken.digests, how="accepted", time=entry.time, sequence=entry.sequence, run=entry.run
            )
            if taken.head.receipt is not None:
                known.receipts.add(taken.head.receipt)
        self.anchors = {attempt.anchor: attempt for run in self.open.values() for attempt in run.open_attempts if attempt.anchor}
        self.contradictions.clear()
        self.ledger, self.warehouse = evidence.ledger, evidence.warehouse
        self.accepted = evidence
        self.seal = None
        self.serial_accepted = evidence.serial
        self.accepted_sequence = entry.sequence

    # --- runs ---------------------------------------------------------------------------------------------------------

    def _run(self, entry: Entry, evidence: Evidence) -> None:
        _require(entry.run == entry.subject, "it is a run's record, and names another run")
        run = self.runs.get(entry.subject)
        _require((run.state if run is not None else "opened") == entry.source, f"the run was not `{entry.source}`")
        _require(run is None or run.settled is None, "the run was settled before")
        if run is None:
            run = RunFold(
                run=entry.subject,
                state="opened",
                opened=entry.time,
                opened_sequence=entry.sequence,
                by=entry.by,
                actor=entry.actor,
                version=entry.version,
                plan=evidence.plan if isinstance(evidence, AuthorizeEvidence) else None,
            )
            self.runs[entry.subject] = run
        run.state = entry.target
        match evidence:
            case AuthorizeEvidence():
                run.authorize = msgspec.structs.replace(evidence, scope=tuple(self._share(item) for item in evidence.scope))
            case StartEvidence():
                if run.plan is not None and entry.target == "running":
                    run.running_since = entry.time
                    self.plans.setdefault(run.plan, []).append(run.run)
            case CloseEvidence() if entry.target == "closed":
                planned = tuple(self._share(item) for item in evidence.planned)
                executed = tuple(self._share(end) for end in evidence.executed)
                run.close = msgspec.structs.replace(evidence, planned=planned, executed=executed)
                self.seal = evidence.seal_expected
                self.closed += 1
            case _:
                pass
        if entry.target == "refused":
            run.refusal = _refusal(entry, evidence, receipt=None)
        if run.is_open:
            self.open[run.run] = run
        else:
            run.ended = entry.time
            self.open.pop(run.run, None)

    # --- attempts -----------------------------------------------------------------------------------------------------

    def _model(self, digest: str, entry: Entry, evidence: Evidence) -> None:
        model, hash_, number = entry.subject.rpartition("#")
        _require(bool(model and hash_) and number.isascii() and number.isdecimal(), "its subject is not `model#attempt`")
        run = self.runs.get(entry.run or "")
        if run is None or run.state != "running" or run.settled is not None:
            message = "its run is not running"
            raise Illegal(message)
        attempt = run.attempts.get(model)
        _require(attempt is None or attempt.subject == entry.subject, "its run has made another attempt at this model")
        _require((attempt.state if attempt is not None else "planned") == entry.source, f"the attempt was not `{entry.source}`")
        if isinstance(evidence, CommitEvidence):
            _require(attempt is not None and attempt.anchor == evidence.anchor, "its evidence names the anchor of another attempt")
        # A recheck after publication has a key of its own (`model:after`), and moves the same head.
        known = self._known(model.partition(":")[0])
        if attempt is None:
            attempt = AttemptFold(run=run.run, model=self._share(model), subject=entry.subject, state="planned", started=entry.time)
            run.attempts[attempt.model] = attempt
            known.attempt = attempt
        attempt.state = self._share(entry.target)
        attempt.by, attempt.time, attempt.sequence = entry.by, entry.time, entry.sequence
        receipt: str | None = None
        match evidence:
            case BootstrapEvidence():
                self.wrote = True
                attempt.action = self._share(evidence.action)
                if entry.target == "bootstrapping":
                    attempt.bootstrap = evidence
                    attempt.anchor = digest
                    self.anchors[digest] = attempt
            case CommitEvidence():
                attempt.commit = evidence
                if isinstance(evidence.receipt, Found):
                    receipt = evidence.receipt.id
                    attempt.rows_written = evidence.receipt.body.rows_written
            case CheckpointEvidence():
                receipt = evidence.receipt
                if entry.target == "checkpointed":
                    self._moves(known, _checkpoint(entry, evidence, self._share(_place_of(attempt.commit))))
                    if evidence.moved is not None:
                        self._leave_behind(entry, evidence, evidence.moved)
            case _:
                pass
        if receipt is not None:
            attempt.receipt = receipt
            known.receipts.add(receipt)
        if entry.target == "refused":
            attempt.refusal = _refusal(entry, evidence, receipt=receipt)
            if receipt is not None:
                self.contradictions.append(
                    Contradiction(sequence=entry.sequence, run=run.run, model=model, receipt=receipt, refusal=attempt.refusal)
                )
        if attempt.is_over:
            attempt.bootstrap = attempt.commit = None

    def _leave_behind(self, entry: Entry, evidence: CheckpointEvidence, moved: Read) -> None:
        """A rename left a receipt and no token on the old name's head; the attempt that changed its rows is that of the new one's."""
        left = self._known(moved.model)
        head = Head(receipt=moved.receipt, generation=evidence.generation)
        self._moves(left, Last(head=head, digests=None, how="checkpoint", time=entry.time, sequence=entry.sequence, run=entry.run))
        if moved.receipt is not None:
            left.receipts.add(moved.receipt)

    def _moves(self, known: ModelFold, last: Last) -> None:
        """A model's head is another one from this record on."""
        self.before_close.setdefault(known.model, known.head)
        known.last = last

    def _known(self, model: str) -> ModelFold:
        known = self.models.get(model)
        if known is None:
            known = self.models[model] = ModelFold(model=model)
        return known

    def _share(self, value: T) -> T:
        """One object for equal values: scopes repeat in every run of a long ledger."""
        return self._shared.setdefault(value, value)  # type: ignore[return-value] # equal, and of one type


_WRONG_EVIDENCE = "its evidence is not that of a record of the ledger's own"


def _require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not condition:
        raise Illegal(otherwise)


def _place_of(commit: CommitEvidence | None) -> str:
    return commit.receipt.body.relation if commit is not None and isinstance(commit.receipt, Found) else ""


def _checkpoint(entry: Entry, evidence: CheckpointEvidence, relation: str) -> Last:
    head = Head(
        receipt=evidence.receipt,
        token=evidence.token,
        generation=evidence.generation,
        rows=evidence.rows,
        watermark=evidence.watermark,
    )
    return Last(
        head=head,
        digests=evidence.digests,
        how="checkpoint",
        time=entry.time,
        sequence=entry.sequence,
        run=entry.run,
        relation=relation,
    )


def _refusal(entry: Entry, evidence: Evidence, *, receipt: str | None) -> Refusal:
    failing = tuple(verdict for verdict in entry.verdicts if verdict.holds == "no")
    if isinstance(evidence, RefuseEvidence):
        return Refusal(
            event=entry.event,
            cause=evidence.cause,
            code=evidence.code,
            because=evidence.because,
            remedy=evidence.remedy,
            detail=evidence.detail,
            verdicts=failing,
        )
    first = failing[0] if failing else None
    return Refusal(
        event=entry.event,
        cause="guard",
        code=first.code if first is not None else "",
        because=first.because if first is not None else "",
        remedy=first.remedy if first is not None else "",
        receipt=receipt,
        verdicts=failing,
    )
