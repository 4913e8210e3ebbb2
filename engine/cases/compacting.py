"""`interlock receipts compact`: receipts that no head names go from the warehouse, where the ledger holds their bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from interlock.engine.cases.acts import Where, acted, demand_ended, perform
from interlock.engine.diagnostics import Refused, refused
from interlock.engine.ledger.reader import LedgerWhole, Unsound, entries
from interlock.engine.planner.observe import left_behind
from interlock.engine.results import ActResult, Confirm
from interlock.engine.runner.authority import demand
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.site import Site, site
from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.machines.evidence import CommitEvidence, CompactEvidence, Found
from interlock.machines.records import before

COMPACT: Final = ("receipts compact", "compact_receipts")


@dataclass(frozen=True, slots=True)
class _There:
    """What stands in the warehouse: ids of all receipts, those that heads name, and the last of relations without a head."""

    receipts: frozenset[str]
    heads: frozenset[str]
    standing: frozenset[str]


def compact(ground: Ground, *, confirm: Confirm, reason: str, where: Where) -> ActResult:
    """Let receipts go that nothing in the warehouse rests on. The record is on disk before they go.

    Raises:
        Refused: ledger and warehouse cannot be trusted, a run is open (K745), or a receipt was altered (K706).
    """
    with site(ground, "receipts compact") as place:
        sight = place.sight()
        demand(sight, ground.target.name)
        if not isinstance(sight.ledger, LedgerWhole) or place.session is None:
            return acted(*COMPACT, ("there is no receipt yet",), "nothing", where)
        demand_ended(sight, ground.target.name, "compact")
        there = _there(place)
        if not there.receipts:
            return acted(*COMPACT, ("there is no receipt yet",), "nothing", where)
        gone = sorted((there.receipts - there.heads - there.standing) & _on_record(ground))
        kept = len(there.receipts) - len(gone)
        shown = _in_words(there, len(gone), kept)
        if not gone:
            return acted(*COMPACT, shown, "nothing", where)
        if not confirm(shown):
            return acted(*COMPACT, shown, "refused", where)
        evidence = CompactEvidence(
            project=ground.project.id, removed=len(gone), kept=kept, standing=tuple(sorted(there.standing - there.heads)), reason=reason
        )
        place.open_ledger(sight)
        perform(place, evidence, control.compact(project=ground.project.id, receipts=gone))
        return acted(*COMPACT, shown, "done", where)


def _there(place: Site) -> _There:
    assert place.session is not None
    project, reader = place.ground.project.id, place.session.reader()
    try:
        altered = reader.altered_receipt(project, before("receipt"))
        if altered is not None:
            receipt, model = altered
            raise _unsound(place, f"the bytes of receipt {receipt[:12]} of `{model}` are not those of its id")
        heads = reader.heads(project)
        receipts = reader.receipt_ids(project)
        for head in heads:
            if head.receipt is not None and head.receipt not in receipts:
                raise _unsound(place, f"the head of `{head.model}` names receipt {head.receipt[:12]}, which is not there")
        return _There(
            receipts=receipts,
            heads=frozenset(head.receipt for head in heads if head.receipt is not None),
            standing=frozenset(row.receipt for row in left_behind(reader, project, reader.catalog(), heads)),
        )
    except WarehouseError as error:
        raise refusal(error, subject=place.ground.target.name) from error
    finally:
        reader.close()


def _unsound(place: Site, because: str) -> Refused:
    return refused(
        "K706",
        "the receipts are not as they were written, and what was altered does not go unseen",
        because=because,
        remedy="see what else differs with `interlock audit verify`, and restore the database from a backup, or let it go with `interlock ledger accept-warehouse`",
        subject=place.ground.target.name,
    )


def _on_record(ground: Ground) -> set[str]:
    """Receipts whose whole bodies stand in the ledger."""
    try:
        return {
            numbered.entry.evidence.receipt.id
            for numbered in entries(ground.directory)
            if numbered.entry.target == "committed"
            and isinstance(numbered.entry.evidence, CommitEvidence)
            and isinstance(numbered.entry.evidence.receipt, Found)
        }
    except Unsound as error:
        raise refused("K707", "the ledger cannot be read to its end", because=str(error), remedy="run `interlock audit verify`") from error


def _in_words(there: _There, gone: int, kept: int) -> tuple[str, ...]:
    if not gone:
        return (f"nothing can go: of {len(there.receipts):,} receipts each is a head's, or stands nowhere else",)
    named = len(there.receipts & there.heads)
    standing = len(there.standing - there.heads)
    others = kept - named - standing
    lines = [
        f"lets {gone:,} of {len(there.receipts):,} receipts go from the warehouse; the ledger holds the body of each, and `audit log` goes on showing them",
        f"keeps {named:,} that heads name: all that the next runs rest on. `interlock.history` shows what is kept",
    ]
    if standing:
        lines.append(f"keeps {standing:,} of relations that still stand without a model")
    if others:
        lines.append(f"keeps {others:,} whose bodies this ledger does not hold")
    return tuple(lines)
