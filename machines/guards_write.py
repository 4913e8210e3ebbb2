"""Publication guards on the write itself: the head, the reads, the relation that stood there, and the receipt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from interlock.machines.actions import ADDS, KEEPS, MAKES
from interlock.machines.case import Publication, asked
from interlock.machines.evidence import (
    Absent,
    BootstrapEvidence,
    Fingerprint,
    Found,
    Head,
    HeadSeen,
    Missing,
    Present,
    Proposed,
    ReceiptBody,
    RolledBack,
)
from interlock.machines.guards import HOLDS, REPORT, Answer, Refuses, guard, refuses

_CARRIES_READS: Final = frozenset({"move", "drop"})
_AGAIN: Final = "plan again"
_BY_HAND: Final = "it was changed by hand: `interlock adopt MODEL` takes it as it is, `--full-refresh MODEL` makes it anew"


@guard("I3", "G521", reads="receipt and token of the model's head as the transaction saw it, and the receipt that it follows")
def head_is_as_expected(case: Publication) -> Answer:
    """The head was, inside the transaction, the one that was expected."""
    return asked(case, "G521", _head_against)


@guard("I1", "G522", reads="the models that the transaction read, each with the receipt that its head named")
def reads_are_as_pinned(case: Publication) -> Answer:
    """What was read is what was pinned: the same models at the same receipts."""
    return asked(case, "G522", _reads_against)


@guard("I2", "G523", reads="the roles of the statements that went through, the action, and the rows (and content) before it")
def target_was_as_planned(case: Publication) -> Answer:
    """Inside the transaction the relation was as planned; the statements that went through show it."""
    return asked(case, "G523", _target_against)


@guard("I3", "G531", reads="whether the receipt was read back after the commit, and the anchor that it carries")
def receipt_is_durable(case: Publication) -> Answer:
    """The receipt was read back after the commit, and it is ours."""
    receipt = case.evidence.receipt
    match receipt:
        case Found() if receipt.body.anchor == case.evidence.anchor:
            return HOLDS
        case Found():
            because = f"the head is of another attempt, {_short(receipt.body.anchor)}, and this one is {_short(case.evidence.anchor)}"
            return refuses("K731", because, remedy="see `interlock ledger accept-warehouse`")
        case Proposed() | RolledBack() | Absent():
            return refuses("G531", "nothing was written", remedy="run `interlock resume`; it makes a new attempt")
        case _ as unreachable:
            assert_never(unreachable)


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12] or "nothing"


# --- what the transaction read ----------------------------------------------------------------------------------------


def _head_against(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    expected = HeadSeen(receipt=pinned.head.receipt, token=pinned.head.token)
    remedy = "another run wrote this model: plan again"
    if body.previous != expected.receipt:
        yield Refuses("G521", f"the receipt follows {_short(body.previous)}, and {_short(expected.receipt)} was expected", remedy)
    if body.head.receipt != expected.receipt:
        yield Refuses("G521", f"the head was at receipt {_short(body.head.receipt)}, and {_short(expected.receipt)} was expected", remedy)
    if body.head.token != expected.token:
        yield Refuses("G521", f"the head had token {_short(body.head.token)}, and {_short(expected.token)} was expected", remedy)


def _reads_against(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    if pinned.action in _CARRIES_READS:
        # Nothing is read: the receipt says once more what the rows that are there were made from.
        return
    expected = {read.model: read for read in pinned.reads}
    seen = {read.model: read for read in body.reads}
    doubled = len(expected) != len(pinned.reads) or len(seen) != len(body.reads)
    if doubled:
        yield Refuses("G522", "a model is named twice among the reads", REPORT)
    for model in sorted(expected.keys() | seen.keys()):
        if model not in seen:
            yield Refuses("G522", f"`{model}` was to be read, and the transaction does not say that it was", _AGAIN)
        elif model not in expected:
            yield Refuses("G522", f"`{model}` was read, and is not among the reads that were pinned", _AGAIN)
        elif seen[model].receipt != expected[model].receipt:
            because = f"`{model}` was read at receipt {_short(seen[model].receipt)}, and {_short(expected[model].receipt)} was pinned"
            yield Refuses("G522", because, "it was written in the meantime: plan again")


# --- what stood there, and what was done to it ------------------------------------------------------------------------


def _target_against(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    roles = frozenset(each.role for each in body.applied)
    if body.action != pinned.action:
        yield Refuses("G523", f"planned: {pinned.action}; done: {body.action}", _AGAIN)
        return
    action = pinned.action
    stood = pinned.target
    if action in MAKES:
        yield from _made(action, stood, roles)
    elif action in KEEPS:
        yield from _kept(action, stood, pinned.head, body, roles)
    elif action == "drop":
        yield from _demanded(roles, "drop")
        yield from _forbidden(roles, "create")
    elif action == "move":
        yield from _demanded(roles, "rename")
        yield from _forbidden(roles, "create", "drop")
    elif action == "adopt":
        yield from _adopted(stood, body)
        yield from _forbidden(roles, "create", "drop")
    else:
        yield Refuses("G523", f"nothing may be written by the action `{action}`", REPORT)


def _made(action: str, stood: Missing | Present, roles: frozenset[str]) -> Iterator[Refuses]:
    yield from _demanded(roles, "create")
    if isinstance(stood, Missing):
        # CREATE without OR REPLACE raises if something is there, so that it went through says that nothing was.
        yield from _forbidden(roles, "drop")
    elif action == "create":
        yield Refuses("G523", f"a {stood.kind} stood where a relation was to be created", _AGAIN)
    else:
        # DROP raises if nothing is there, so that it went through says that something was.
        yield from _demanded(roles, "drop")


def _kept(action: str, stood: Missing | Present, head: Head, body: ReceiptBody, roles: frozenset[str]) -> Iterator[Refuses]:
    yield from _forbidden(roles, "create", "drop")
    if isinstance(stood, Missing):
        yield Refuses("G523", f"nothing stood there for `{action}`", _AGAIN)
    elif action in ADDS and stood.kind != "table":
        yield Refuses("G523", f"a {stood.kind} stood there, which `{action}` cannot extend", _AGAIN)
    if head.rows is not None and body.rows_before != head.rows:
        because = f"the relation had {body.rows_before} {'row' if body.rows_before == 1 else 'rows'}, and its last receipt says {head.rows}"
        yield Refuses("G523", because, _of(_BY_HAND, body))
    if head.fingerprint is not None:
        yield from _content(head.fingerprint, body)


def _of(remedy: str, body: ReceiptBody) -> str:
    """A remedy with the model's name in it, so that what it says can be typed."""
    return remedy.replace("MODEL", body.model)


def _content(expected: Fingerprint, body: ReceiptBody) -> Iterator[Refuses]:
    found = body.fingerprint_before
    if found is None:
        yield Refuses("G523", "the model is guarded by its content, and the content was not looked at", REPORT)
    elif found.engine != expected.engine:
        because = f"its content was fingerprinted by {expected.engine}, and {found.engine} cannot tell whether it is the same"
        yield Refuses("G523", because, _of("look at the rows, then plan with `--full-refresh MODEL`; it is fingerprinted again", body))
    elif found != expected:
        yield Refuses("G523", "its content is not what its last receipt says", _of(_BY_HAND, body))


def _adopted(stood: Missing | Present, body: ReceiptBody) -> Iterator[Refuses]:
    found = "none" if isinstance(stood, Missing) else stood.kind
    if found == "none" or found != body.kind:
        yield Refuses("G523", f"planned to adopt: {found}; adopted: {body.kind}", _AGAIN)


def _demanded(roles: frozenset[str], role: str) -> Iterator[Refuses]:
    if role not in roles:
        yield Refuses("G523", f"no `{role}` went through, which would show that the relation was as planned", _AGAIN)


def _forbidden(roles: frozenset[str], *names: str) -> Iterator[Refuses]:
    for name in names:
        if name in roles:
            yield Refuses("G523", f"a `{name}` went through, which was not planned", _AGAIN)
