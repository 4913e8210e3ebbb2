"""What the warehouse's heads and last seal say beside the ledger: one word for the authority table, and the reasons. Pure.

A head is a pointer, and what it says beside its receipt follows from that receipt: a checkpoint is only made where both
say the same. So a row that names the ledger's receipt and has another token or generation was changed by somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.kept import heads_digest_at_seal
from interlock.engine.planner.recovery import HeadsState
from interlock.engine.warehouse.protocol import Catalog, HeadRow, digest_of_heads
from interlock.machines.evidence import ReceiptBody, SealRow

SHOWN_MAX = 5


def heads_state(fold: Fold, heads: Sequence[HeadRow], unexpected: Mapping[str, ReceiptBody], seal: SealRow | None) -> HeadsState:
    """Where the warehouse stands beside the ledger.

    Args:
        fold: the ledger's facts.
        heads: of the project.
        unexpected: bodies of head receipts that the ledger does not expect, by model.
        seal: the warehouse's last one.
    """
    if fold.contradictions:
        return "contradicted"
    found: set[HeadsState] = set()
    rows = {head.model: head for head in heads}
    for model in rows.keys() | fold.models.keys():
        row, known = rows.get(model), fold.head(model)
        if row is not None and (row.receipt, row.token, row.generation) == (known.receipt, known.token, known.generation):
            continue  # nearly all of them
        if (row.receipt if row is not None else None) != known.receipt:
            found.add(_one_head(fold, model, row, unexpected.get(model)))
        if row is not None and any(_against(fold, row, unexpected.get(model))):
            found.add("contradicted")
    found.add(_seal_state(fold, seal))
    if seal is not None and _seal_against(fold, heads, seal):
        found.add("contradicted")
    for state in ("newer", "older", "contradicted", "ahead"):
        if state in found:
            return state
    return "equal" if any(head.receipt for head in heads) else "none"


def _one_head(fold: Fold, model: str, row: HeadRow | None, body: ReceiptBody | None) -> HeadsState:
    if row is None or row.receipt is None:
        return "older"
    known = fold.models.get(model)
    if body is not None and (attempt := fold.anchors.get(body.anchor)) is not None and not attempt.is_over:
        return "ahead"
    if known is not None and row.receipt in known.receipts:
        return "older"
    return "newer"


def _against(fold: Fold, row: HeadRow, body: ReceiptBody | None) -> Iterator[str]:
    """What a row says that its receipt does not. Of a receipt that the ledger expects, the ledger holds what it says."""
    known = fold.head(row.model)
    if row.receipt == known.receipt:
        said, whose = (known.token, known.generation), "the ledger"
    elif body is not None:
        said, whose = (body.token, body.generation), "its receipt"
    elif row.receipt is None:
        said, whose = (None, None), "a head without receipt"
    else:
        return  # its receipt is not there, and nothing says what it left
    for name, there, expected in zip(("token", "generation"), (row.token, row.generation), said, strict=True):
        if there != expected:
            yield f"`{row.model}`: its head has the {name} {_short(there)}, {whose} {_short(expected)}"


def _seal_state(fold: Fold, seal: SealRow | None) -> HeadsState:
    """The warehouse's last seal beside the ledger's last close: a cut tail shows here even where no model wrote."""
    if seal is None:
        return "older" if fold.serial > 0 else "equal"
    if seal.serial > fold.serial:
        return "ahead" if seal.tip in fold.since_close and seal.run in fold.open else "newer"
    if seal.serial < fold.serial:
        return "older"
    return "equal" if fold.seal is None or fold.seal.run == seal.run else "newer"


def _seal_against(fold: Fold, heads: Sequence[HeadRow], seal: SealRow) -> str:
    """What the last seal says that is not so; empty where it holds, or is of another run than the ledger's last."""
    if fold.seal is not None and fold.seal.run == seal.run:
        if fold.seal != seal:
            return f"the last seal, of run {seal.run}, is not the one in the ledger"
        # With every attempt since taken back, the ledger's heads are those of the moment when the run was sealed.
        if heads_digest_at_seal(fold) != seal.heads:
            return f"the last seal, of run {seal.run}, is of other heads than those that the ledger left"
    # A run writes nothing after its seal, so one that has no `close` yet is of the heads that stand there.
    elif seal.run in fold.open and digest_of_heads(heads) != seal.heads:
        return f"the seal of run {seal.run} is of other heads than those that are there"
    return ""


def heads_in_words(
    fold: Fold, heads: Sequence[HeadRow], unexpected: Mapping[str, ReceiptBody], seal: SealRow | None, state: HeadsState
) -> str:
    """What does not agree, for a person; empty where all does."""
    if state in ("none", "equal"):
        return ""
    rows = {head.model: head for head in heads}
    words = []
    for model in sorted(rows.keys() | fold.models.keys()):
        row = rows.get(model)
        there, expected = (row.receipt if row is not None else None), fold.head(model).receipt
        if there != expected:
            words.append(f"`{model}`: the warehouse has {_short(there)}, the ledger {_short(expected)}")
        if row is not None:
            words += _against(fold, row, unexpected.get(model))
    if seal is not None and (against := _seal_against(fold, heads, seal)):
        words.append(against)
    shown = words[:SHOWN_MAX]
    return ", ".join(shown) + (f" and {len(words) - len(shown)} more" if len(words) > len(shown) else "")


def taken(row: HeadRow, body: ReceiptBody | None, catalog: Catalog) -> HeadRow:
    """A head as a person takes it, who takes the warehouse's word: it names its receipt, and says what that one left.

    Only a token that stands in the relation itself is taken as it is: it names what stands there. A generation is never
    taken from the row: it would justify that a reader has nothing to do.

    Args:
        row: the head.
        body: of its receipt, if that is there.
        catalog: what stands in the warehouse.
    """
    if row.receipt is None:
        return HeadRow(model=row.model, receipt=None, token=None, generation=None)
    if body is None:
        return row
    schema, _, name = body.relation.rpartition(".")
    seen = catalog.find(schema, name)
    stands = body.token is not None and row.token is not None and seen is not None and seen.token == row.token
    return HeadRow(model=row.model, receipt=row.receipt, token=row.token if stands else body.token, generation=body.generation)


def _short(value: str | None) -> str:
    return (value or "none")[:12]
