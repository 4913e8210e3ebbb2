"""What a row of the recovery tables says, as a page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from interlock.engine.planner.recovery import AuthorityRow, ModelRow, tables
from interlock.machines.guards import INVARIANTS

DECISIONS: dict[str, str] = {
    "fresh": "a first run: ledger and identity are made",
    "finish_genesis": "the first run is finished",
    "proceed": "the command goes on",
    "settle": "open attempts get their end from their receipts, then the command goes on",
    "create": "the relation is made",
    "dropped": "the relation is made again, or the model is refused, by its kind",
    "reshaped": "the relation is made again, or the model is refused, by its kind",
    "attempt_absent": "the attempt gets its refusal, which says that nothing was written",
    "refuse": "nothing is written",
}


class Page(NamedTuple):
    """A page for `interlock explain`."""

    title: str
    text: str


def row_page(name: str) -> Page | None:
    """The page of a row such as `A13` or `M7`, or of an invariant; `None` for what is neither."""
    if name in INVARIANTS:
        return _invariant_page(name)
    found = tables()
    for authority in found.authority:
        if authority.row == name:
            asked = "may ledger and warehouse be trusted together?"
            facts = (
                ("ledger", authority.ledger),
                ("identity of the project in the warehouse", authority.identity),
                ("heads", authority.heads),
            )
            return _page(authority, asked, facts)
    for model in found.model:
        if model.row == name:
            asked = "what may be done to a model's relation?"
            return _page(
                model, asked, (("last attempt in the ledger", model.ledger), ("head receipt", model.head), ("relation", model.target))
            )
    return None


def _invariant_page(name: str) -> Page:
    """The page of `I1` to `I4`."""
    title, told = next(words for invariant, words in INVARIANTS.items() if invariant == name)
    lines = [f"# {name}: {title}", "", f"{told[0].upper()}{told[1:]}.", ""]
    lines += ["It is one of the four promises that every guard keeps one of; a refusal names the one that it keeps.", ""]
    lines += ["`interlock diagram --format md` lists the guards that keep it.", ""]
    return Page(title, "\n".join(lines))


def _page(row: AuthorityRow | ModelRow, asked: str, facts: Sequence[tuple[str, Collection[str]]]) -> Page:
    lines = [f"# {row.row}: {row.how}", "", f"The question: {asked}", "", "This row is taken when"]
    lines += [f"- {what} is {' or '.join(f'`{value}`' for value in sorted(values))}" for what, values in facts]
    lines += ["", f"Decision: `{row.decision}`: {DECISIONS[row.decision]}." + (f" Code {row.code}." if row.code else "")]
    if row.remedy:
        lines += ["", "## Remedy", "", f"{row.remedy}."]
    return Page(row.how, "\n".join(lines) + "\n")
