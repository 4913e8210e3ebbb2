"""May ledger and warehouse be trusted? One look, one row of the authority table; every command that writes passes here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.reader import LedgerAbsent, LedgerBroken, LedgerRead, LedgerUnreadable, LedgerWhole, read
from interlock.engine.ledger.since_seal import read_since_seal
from interlock.engine.planner.observe import UNSOUND, Unreadable, read_there
from interlock.engine.planner.recovery import HeadsState, IdentityState, LedgerState, ModelLedger, authority_row
from interlock.engine.runner.heads import heads_in_words, heads_state
from interlock.engine.warehouse.protocol import HeadRow, Identity, Reader, WarehouseError
from interlock.machines.evidence import AuthorityFinding, Head, ReceiptBody, SealRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What was seen of ledger and warehouse, and what follows."""

    finding: AuthorityFinding
    ledger: LedgerRead
    identity: Identity | None
    heads: tuple[HeadRow, ...]
    unexpected: Mapping[str, ReceiptBody]
    """Bodies of head receipts that the ledger does not expect, by model."""
    seal: SealRow | None
    unsound: Literal["yes", "no"] = "no"
    """Whether all that cannot be read is a receipt that a head names: what every head and the seal say is known."""

    @property
    def fold(self) -> Fold:
        """The ledger's facts; those of an empty one where there is none."""
        return self.ledger.fold if isinstance(self.ledger, LedgerWhole) else Fold()

    def expected(self) -> dict[str, Head]:
        """Heads as the ledger has them."""
        return {name: known.head for name, known in self.fold.models.items()}

    def model_states(self) -> dict[str, ModelLedger]:
        """The state of each model's last attempt, as the model table names it."""
        return {name: _model_state(self.fold, name) for name in self.fold.models}

    def open_anchors(self) -> frozenset[str]:
        """Anchors of attempts without an end."""
        return frozenset(anchor for anchor, attempt in self.fold.anchors.items() if not attempt.is_over)


def look(directory: Path, project: str, reader: Reader | None) -> Sight:
    """Look at both, and take the row that matches.

    Args:
        directory: of the ledger.
        project: its id.
        reader: of the warehouse; `None` where the database positively does not exist.
    """
    sight = _seen(read_since_seal(directory), project, reader)
    if not isinstance(sight.ledger, LedgerWhole) or not sight.ledger.begins or sight.finding.decision in ("proceed", "settle"):
        return sight
    # What was kept at a seal is believed where all agrees. Where anything is to be said against it, the whole ledger says it.
    return _seen(read(directory), project, reader)


def _seen(ledger: LedgerRead, project: str, reader: Reader | None) -> Sight:
    fold = ledger.fold if isinstance(ledger, LedgerWhole) else Fold()
    identity: Identity | None = None
    heads: tuple[HeadRow, ...] = ()
    unexpected: dict[str, ReceiptBody] = {}
    seal: SealRow | None = None
    trouble = helps = ""
    unsound: Literal["yes", "no"] = "no"
    if reader is not None:
        try:
            identity = reader.identity(project)
            heads = reader.heads(project)
            seal = reader.last_seal(project)
            strangers = [head for head in heads if head.receipt != fold.head(head.model).receipt]
            unexpected = read_there(reader, project, strangers)
        except WarehouseError as error:
            if error.kind in ("busy", "denied") or error.code == "G562":
                raise
            trouble, helps = error.message, error.remedy
        except Unreadable as error:
            trouble, helps, unsound = str(error), UNSOUND, "yes"
    ledger_state = _ledger_state(ledger)
    identity_state = _identity_state(project, reader, identity, fold, trouble)
    found: HeadsState = "none" if trouble else heads_state(fold, heads, unexpected, seal)
    row = authority_row(ledger_state, identity_state, found)
    # A ledger that cannot be read says nothing of any head, and not that there is none.
    says = not isinstance(ledger, LedgerBroken | LedgerUnreadable)
    in_words = heads_in_words(fold, heads, unexpected, seal, found) if says else ""
    because = "; ".join(part for part in (row.how, trouble, _why(ledger), in_words) if part)
    finding = AuthorityFinding(
        row=row.row,
        ledger=ledger_state,
        identity=identity_state,
        heads=found,
        decision=row.decision,
        code=row.code,
        because=because,
        remedy=helps if helps and row.code == "K706" else row.remedy,
    )
    return Sight(finding=finding, ledger=ledger, identity=identity, heads=heads, unexpected=unexpected, seal=seal, unsound=unsound)


def demand(sight: Sight, target: str) -> None:
    """Stop where authority is not known.

    Raises:
        Refused: with the code of the row; exit 4.
    """
    finding = sight.finding
    if finding.decision == "refuse":
        remedy = finding.remedy.replace("TARGET", target)
        summary = f"ledger and warehouse of target `{target}` cannot be trusted together"
        raise Refused(
            Diagnostic(
                code=finding.code,
                summary=summary,
                because=f"{finding.because} (row {finding.row})",
                remedy=remedy,
                subject=target,
                invariant="I2",
            )
        )


def _ledger_state(ledger: LedgerRead) -> LedgerState:
    match ledger:
        case LedgerAbsent():
            return "absent"
        case LedgerWhole(fold=fold):
            return "whole" if fold.wrote else "unwritten"
        case LedgerBroken():
            return "broken"
        case LedgerUnreadable():
            return "unreadable"
        case _ as unreachable:
            assert_never(unreachable)


def _why(ledger: LedgerRead) -> str:
    if isinstance(ledger, LedgerBroken | LedgerUnreadable):
        return ledger.because
    if isinstance(ledger, LedgerWhole) and ledger.fold.reset is not None:
        return "a reset was begun and not finished: run `interlock reset` again"
    return ""


def _identity_state(project: str, reader: Reader | None, identity: Identity | None, fold: Fold, trouble: str) -> IdentityState:
    if fold.genesis is not None and fold.project != project:
        return "other"
    if reader is None:
        return "gone"
    if trouble:
        return "unreadable"
    if identity is None:
        return "absent"
    return "ours" if (identity.ledger, identity.warehouse) == (fold.ledger, fold.warehouse) else "other"


def _model_state(fold: Fold, model: str) -> ModelLedger:
    known = fold.models[model]
    if any(contradiction.model.partition(":")[0] == model for contradiction in fold.contradictions):
        return "refused_receipt"
    attempt = known.attempt
    if attempt is None:
        return "refused_receipt" if known.decided == "yes" else "never"
    match attempt.state:
        case "planned" | "verified":
            return "open_before"
        case "bootstrapping":
            return "open_bootstrapping"
        case "committed":
            return "open_committed"
        case "refused":
            return "refused_nothing" if attempt.refusal is None or attempt.refusal.receipt is None else "refused_receipt"
        case _:
            return "checkpointed"
