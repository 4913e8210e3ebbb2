"""One record judged again: by its machine's table, with the verdicts asked anew of the evidence that it carries.

What the record says of its verdicts is compared and never believed. Beside its own guards, a record is held to what the
records before it say: heads, receipts, scopes, ends and seals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from interlock.engine.audit.tape import FlawKind
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.subjects import AttemptFold
from interlock.machines.case import Publication
from interlock.machines.evidence import (
    AuthorizeEvidence,
    BootstrapEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    Entry,
    Found,
    Proposed,
    Verdict,
    VerifyEvidence,
)
from interlock.machines.guards import all_hold
from interlock.machines.guards_model import Confirmation
from interlock.machines.guards_run import Closing
from interlock.machines.machine import Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.records import canonical, digest, digest_of
from interlock.machines.run import Run
from interlock.machines.table import Row, compile_table, requirement_of

MACHINES: Final[dict[str, type[Machine]]] = {machine.ledger_name: machine for machine in (ModelRun, Run)}
TABLES: Final = {name: compile_table(machine) for name, machine in MACHINES.items()}
ROWS: Final[dict[tuple[str, str, str], Row]] = {(name, row.source, row.event): row for name, table in TABLES.items() for row in table.rows}
"""By machine, state and event. A test holds it equal to the classes."""

UNKNOWN_GUARD: Final = "K744"


class Doubt(msgspec.Struct, frozen=True):
    """A reason against a record."""

    kind: FlawKind
    because: str


def context_of(fold: Fold, entry: Entry) -> AttemptFold | None:
    """The attempt that a record is about, as it stands before the record."""
    if entry.machine != "model_run":
        return None
    run = fold.runs.get(entry.run or "")
    return run.attempts.get(entry.subject.rpartition("#")[0]) if run is not None else None


def doubts(fold: Fold, entry: Entry, line: bytes, *, is_partial: bool = False) -> Iterator[Doubt]:
    """Every reason against a record, given the facts of the records before it. The fold is not changed.

    Args:
        fold: of the records before it.
        entry: the record.
        line: its bytes in the file.
        is_partial: nothing is known of the records before the first; then what they left is not asked for.
    """
    if entry.machine not in MACHINES:
        return
    yield from _by_its_machine(fold, entry)
    yield from _by_what_came_before(fold, entry, line, is_partial=is_partial)


def _by_its_machine(fold: Fold, entry: Entry) -> Iterator[Doubt]:
    row = ROWS.get((entry.machine, entry.source, entry.event))
    if row is None:
        return  # the fold says it: no such move
    if isinstance(entry.evidence, CommitEvidence) and isinstance(entry.evidence.receipt, Proposed):
        yield Doubt("illegal", "a receipt that is only proposed says nothing of what was written")
        return
    if row.requirement is None:
        expected: str | None = row.target
        verdicts: tuple[Verdict, ...] = ()
    else:
        verdicts = requirement_of(MACHINES[entry.machine], row.requirement).judge(_case(fold, entry))
        expected = row.target if all_hold(verdicts) else row.fallback
    unknown = [verdict.guard for verdict in verdicts if verdict.code == UNKNOWN_GUARD]
    if unknown:
        yield Doubt("unexplained", f"this release does not know the guards {', '.join(unknown)}: replay it with a newer one")
    elif expected != entry.target:
        against = "; ".join(f"{each.guard} [{each.code}] {each.because}" for each in verdicts if each.holds != "yes")
        why = f"its evidence refuses it: {against}" if against else "by its evidence every guard holds"
        where = f"leads to `{expected}`" if expected is not None else "is not possible"
        yield Doubt("contradicts", f"`{entry.event}` {where}, and the record says `{entry.target}`: {why}")
    if not unknown and _bare(verdicts) != _bare(entry.verdicts):
        yield Doubt("contradicts", f"its evidence says {_told(verdicts)}, and the record says {_told(entry.verdicts)}")


def _case(fold: Fold, entry: Entry) -> object:
    """What the guards of an event are asked about; the same as the machines' own `case`."""
    evidence = entry.evidence
    attempt = context_of(fold, entry)
    match evidence:
        case CommitEvidence():
            return Publication(pinned=attempt.bootstrap if attempt is not None else None, evidence=evidence)
        case CheckpointEvidence():
            return Confirmation(commit=attempt.commit if attempt is not None else None, evidence=evidence)
        case CloseEvidence():
            run = fold.runs.get(entry.subject)
            return Closing(run=entry.subject, authorized=run.authorize if run is not None else None, evidence=evidence)
        case _:
            return evidence


def _bare(verdicts: tuple[Verdict, ...]) -> list[tuple[str, str, str, str]]:
    """What never changes its meaning; the words of a reason may be better in a later release."""
    return [(each.guard, each.holds, each.invariant, each.code) for each in verdicts]


def _told(verdicts: tuple[Verdict, ...]) -> str:
    against = [f"{each.guard} refuses [{each.code}]" for each in verdicts if each.holds != "yes"]
    return ", ".join(against) or (f"{len(verdicts)} guards hold" if verdicts else "nothing of guards")


# --- beside what the records before it say ------------------------------------------------------------------------------


def _by_what_came_before(fold: Fold, entry: Entry, line: bytes, *, is_partial: bool) -> Iterator[Doubt]:
    match entry.evidence:
        case AuthorizeEvidence() as evidence if not is_partial and set(evidence.spent_by) != set(fold.spent_by(evidence.plan)):
            known = ", ".join(fold.spent_by(evidence.plan)) or "none"
            yield Doubt(
                "contradicts", f"it says that the plan was begun by {', '.join(evidence.spent_by) or 'none'}; by this ledger: {known}"
            )
        case VerifyEvidence() as evidence:
            yield from _of_its_run(fold, entry, evidence.plan)
        case BootstrapEvidence() as evidence if entry.target == "bootstrapping":
            yield from _of_its_run(fold, entry, evidence.plan)
            yield from _pinned(fold, entry, evidence, is_partial=is_partial)
        case CommitEvidence(receipt=Found() as found):
            if line and digest_of("receipt", found.body) != found.id and _digest_as_written(line) != found.id:
                yield Doubt("contradicts", f"the receipt's body does not have the digest {found.id[:12]} that is its id")
        case CloseEvidence() as evidence if entry.target == "closed":
            yield from _closing(fold, entry, evidence, is_partial=is_partial)
        case _:
            pass


def _of_its_run(fold: Fold, entry: Entry, plan: str) -> Iterator[Doubt]:
    run = fold.runs.get(entry.run or "")
    if run is None or run.authorize is None:
        return
    if plan != run.plan:
        yield Doubt("contradicts", f"it is of plan {plan[:12]}, and its run of {(run.plan or 'none')[:12]}")
    model = entry.subject.rpartition("#")[0]
    if model not in {item.model for item in run.authorize.scope}:
        yield Doubt("unexplained", f"`{model}` is not in the scope of its run")


def _pinned(fold: Fold, entry: Entry, evidence: BootstrapEvidence, *, is_partial: bool) -> Iterator[Doubt]:
    model, _, number = entry.subject.rpartition("#")
    head_model = model.partition(":")[0]
    run = fold.runs.get(entry.run or "")
    if number != str(evidence.attempt):
        yield Doubt("contradicts", f"its evidence is of attempt {evidence.attempt}")
    if run is not None and run.authorize is not None:
        planned = {item.action for item in run.authorize.scope if item.model == model}
        if planned and evidence.action not in planned:
            yield Doubt("contradicts", f"its action is {evidence.action}, and {', '.join(sorted(planned))} was authorized")
    if is_partial and head_model not in _known_heads(fold):
        return
    head = fold.head(head_model)
    if evidence.head.receipt != head.receipt:
        because = f"it expects the head at receipt {_short(evidence.head.receipt)}; this ledger left it at {_short(head.receipt)}"
        yield Doubt("unexplained", because)
    elif evidence.head.token != head.token and evidence.action != "adopt":
        # What is adopted is taken as it stands. Earlier releases let a person do so where somebody had changed the head's token.
        because = f"it expects the head with token {_short(evidence.head.token)}; this ledger left it with {_short(head.token)}"
        yield Doubt("unexplained", because)
    for read in evidence.reads:
        known = fold.head(read.model).receipt
        if read.receipt != known and not (is_partial and read.model not in _known_heads(fold)):
            yield Doubt("unexplained", f"it reads `{read.model}` at receipt {_short(read.receipt)}; this ledger left it at {_short(known)}")


def _closing(fold: Fold, entry: Entry, evidence: CloseEvidence, *, is_partial: bool) -> Iterator[Doubt]:
    run = fold.runs.get(entry.subject)
    if run is not None:
        for end in evidence.executed:
            attempt = run.attempts.get(end.model)
            state = attempt.state if attempt is not None else "without a record"
            if end.state != state and not (attempt is None and end.state == "no_op"):
                yield Doubt("contradicts", f"it says `{end.model}` ended `{end.state}`, and it is {state}")
    seal = evidence.seal_expected
    if seal.tip not in fold.since_close:
        yield Doubt("unexplained", f"its seal names the tip {_short(seal.tip)}, which is no record since the last run was closed")
    if is_partial and fold.seal is None:
        return
    if seal.serial != fold.serial + 1:
        yield Doubt("contradicts", f"its seal has the serial {seal.serial}, and {fold.serial + 1} is next")
    heads = sorted([name, known.head.receipt, known.head.token] for name, known in fold.models.items() if known.head.receipt is not None)
    if not is_partial and seal.heads != digest_of("heads", heads):
        yield Doubt("unexplained", "its seal is of other heads than those that this ledger left")


def _digest_as_written(line: bytes) -> str:
    """The id of a receipt's body with the fields that it had when it was written: a later release may know more of them."""
    body = msgspec.json.decode(line)["record"]["evidence"]["receipt"]["body"]
    return digest("receipt", canonical(body))


def _known_heads(fold: Fold) -> set[str]:
    """Models of which the records at hand said what their head is."""
    return {name for name, known in fold.models.items() if known.last is not None}


def _short(receipt: str | None) -> str:
    return receipt[:12] if receipt else "none"
