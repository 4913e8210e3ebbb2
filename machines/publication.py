"""What a receipt must say for its rows to be published: the guards of `commit`, and how they are asked.

The permit to commit, a live run, recovery and replay ask the same guards of the same kind of evidence, by the names that the
attempt's `bootstrap` record holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from interlock.machines.case import Publication
from interlock.machines.evidence import Found, Verdict
from interlock.machines.guards import Guard, all_hold, ask_all
from interlock.machines.guards_model import Confirmation, checkpoint_equals_receipt
from interlock.machines.guards_rows import delta_is_well_formed, every_check_has_a_verdict, no_error_check_failed, rows_meet_contract
from interlock.machines.guards_write import head_is_as_expected, reads_are_as_pinned, receipt_is_durable, target_was_as_planned

PUBLICATION: Final[tuple[Guard[Publication], ...]] = (
    head_is_as_expected,
    reads_are_as_pinned,
    target_was_as_planned,
    delta_is_well_formed,
    rows_meet_contract,
    every_check_has_a_verdict,
    no_error_check_failed,
)
"""What a new attempt is held to."""

PUBLICATION_NAMES: Final[tuple[str, ...]] = tuple(each.name for each in PUBLICATION)

REGISTRY: Final[dict[str, Guard[Publication]]] = {each.name: each for each in PUBLICATION}
"""Every publication guard that ever was, by name; none is ever taken out, for ledgers name them."""


def asked_by_name(names: Iterable[str], case: Publication) -> tuple[Verdict, ...]:
    """Every verdict of the guards of these names; a name that this version does not know refuses."""
    verdicts: list[Verdict] = []
    for name in names:
        each = REGISTRY.get(name)
        if each is None:
            verdicts.append(
                Verdict(
                    guard=name,
                    holds="no",
                    invariant="I3",
                    code="K744",
                    because=f"this version does not know the guard `{name}`",
                    remedy="use the version of Interlock that wrote the record, or a newer one",
                )
            )
        else:
            verdicts.extend(each(case))
    return tuple(verdicts)


def verdicts_before_commit(case: Publication) -> tuple[Verdict, ...]:
    """The answer to a body that the open transaction proposes.

    The attempt's own names are asked, and those of today that it lacks: a record that names fewer permits nothing more.
    """
    return asked_by_name(dict.fromkeys((*_pinned_names(case), *PUBLICATION_NAMES)), case)


def judge_commit(case: Publication) -> tuple[Verdict, ...]:
    """Verdicts of `commit`: the pinned publication guards, then whether the receipt is durable."""
    verdicts = asked_by_name(_pinned_names(case), case) + receipt_is_durable(case)
    receipt = case.evidence.receipt
    return _with_contradiction(verdicts, receipt.id) if isinstance(receipt, Found) else verdicts


def judge_checkpoint(case: Confirmation) -> tuple[Verdict, ...]:
    """Verdicts of `checkpoint`."""
    return _with_contradiction(ask_all((checkpoint_equals_receipt,), case), case.evidence.receipt)


def _pinned_names(case: Publication) -> tuple[str, ...]:
    # An attempt of which nothing is pinned is held to all guards, each of which then refuses.
    return PUBLICATION_NAMES if case.pinned is None else case.pinned.guards


def _with_contradiction(verdicts: tuple[Verdict, ...], receipt: str) -> tuple[Verdict, ...]:
    """Say first, where a receipt stands in the warehouse and a guard refuses, that ledger and warehouse contradict each other."""
    if all_hold(verdicts):
        return verdicts
    failed = [verdict for verdict in verdicts if verdict.holds != "yes"]
    against = ", ".join(dict.fromkeys(verdict.guard for verdict in failed))
    said = Verdict(
        guard="receipt_and_guards_agree",
        holds="no",
        invariant="I3",
        code="K731" if any(verdict.code == "K731" for verdict in failed) else "K732",
        because=f"receipt {receipt[:12]} is in the warehouse, and these guards do not hold: {against}",
        remedy="look at the relation, then see `interlock ledger accept-warehouse`",
    )
    return (said, *verdicts)
