"""The transaction of one model, up to COMMIT, and what reading back says of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from interlock.engine.planner.checks import PREFIX
from interlock.engine.planner.observe import Unreadable, read_published
from interlock.engine.planner.plan import Item
from interlock.engine.runner.answers import left_behind, receipt_body, rows_are_of
from interlock.engine.runner.bench import Answer, Attempt, Bench, InDoubt, Refuse
from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.protocol import HeadMove, HeadRow, ReceiptRow, Row, Transaction, WarehouseError
from interlock.machines.evidence import Absent, Column, CommitEvidence, Found, HeadSeen, Read, ReceiptBody, RefuseEvidence, RolledBack
from interlock.machines.permits import CommitPermit
from interlock.machines.records import canonical, digest

INTERRUPTED: Final = "G562"
TRIES_MAX: Final = 3


def write(attempt: Attempt) -> Answer:
    """bootstrapping: the transaction, up to COMMIT; then what reading back says."""
    for alone in itertools.count(1):
        attempt.tries += 1
        answer = _write_once(attempt, alone)
        if answer is not None:
            return answer
        attempt.bench.pause(min(0.05 * 2**alone, 1.0))
    raise AssertionError


@dataclass(slots=True)
class _Said:
    """What the statements of a transaction answered so far, by role, and the shape of the relation as it then stood."""

    answers: dict[str, list[Row]] = field(default_factory=dict)
    shape: tuple[Column, ...] | None = None

    def role(self, item: Item) -> str:
        """Of the statement that has no answer yet."""
        return next((statement.role for statement in item.statements if statement.role not in self.answers), "")


def _write_once(attempt: Attempt, alone: int) -> Answer | None:
    """One try; `None` where a proven transient error came before anything was applied, and another try is allowed.

    Args:
        attempt: at work.
        alone: how many tries it has had in a transaction of its own, with this one.
    """
    bench, item, machine = attempt.bench, attempt.item, attempt.machine
    anchor = machine.anchor or ""
    said = _Said()
    try:
        transaction = bench.session.begin(machine.write_permit())
    except WarehouseError as error:
        if _may_retry(error, said.answers, alone):
            return None
        return _failed(attempt, error, "begin")
    try:
        outcome = _publish(attempt, transaction, _write_all(attempt, transaction, said))
    except WarehouseError as error:
        if error.kind == "outcome_unknown":
            return find(attempt, error)
        transaction.rollback()
        role = said.role(item)
        if role.startswith(PREFIX) and error.code == "W608":
            body = _body(attempt, anchor, said.answers, said.shape or ())
            because = bench.redact(error.message)
            return CommitEvidence(anchor=anchor, receipt=RolledBack(body=_with_reason(body, role, because)), tries=attempt.tries)
        if _may_retry(error, said.answers, alone):
            return None
        return _failed(attempt, error, role)
    except BaseException:
        abandon(transaction)
        raise
    if outcome is not None:
        return outcome
    return find(attempt)


def _write_all(attempt: Attempt, transaction: Transaction, said: _Said, heads: Sequence[Row] | None = None) -> ReceiptBody:
    """Every statement before the receipt, and the body that their answers make. `heads`: they were read in this transaction already."""
    item = attempt.item
    for statement in item.statements:
        role = statement.role
        if role == "receipt":
            break
        if role == control.READ_HEADS.role and heads is not None:
            wanted = heads_wanted(item)
            said.answers[role] = [row for row in heads if row[0] in wanted]
            continue
        if said.shape is None and role.startswith(PREFIX):
            # Asked before the checks: one that raises takes the transaction along, and its verdict needs the rest.
            said.shape = _shape(item, transaction, said.answers)
        said.answers[role] = transaction.run(statement, _parameters(attempt.bench, item, role))
    if said.shape is None:
        said.shape = _shape(item, transaction, said.answers)
    return _body(attempt, attempt.machine.anchor or "", said.answers, said.shape)


def abandon(transaction: Transaction) -> None:
    """On the way out of a bug or a fault: nothing of ours may stay open. Where COMMIT was sent, the next command settles it."""
    try:
        transaction.rollback()
    except (RuntimeError, WarehouseError):
        return


def fill(attempt: Attempt, transaction: Transaction, heads: Sequence[Row]) -> ReceiptBody:
    """All that one model writes into a transaction that it shares, but for its receipt and head; and the receipt's body.

    Args:
        attempt: whose turn it is.
        transaction: the shared one.
        heads: rows of all heads that any of its models reads, as this transaction saw them before it wrote anything.

    Raises:
        WarehouseError: whatever the warehouse said.
    """
    return _write_all(attempt, transaction, _Said(), heads)


def _publish(attempt: Attempt, transaction: Transaction, body: ReceiptBody) -> Answer | None:
    """Receipt, fence, permit, COMMIT. `None`: COMMIT returned, which proves nothing yet."""
    bench, item = attempt.bench, attempt.item
    if item.renamed_from is not None:
        old = bench.heads[item.renamed_from]
        behind = left_behind(body, item.renamed_from, HeadSeen(receipt=old.receipt, token=old.token))
        receipt = _insert(attempt, transaction, behind)
        body = msgspec.structs.replace(body, moved=Read(model=item.renamed_from, receipt=receipt))
    _insert(attempt, transaction, body)
    permit = attempt.machine.publication_is_permitted(body)
    if not isinstance(permit, CommitPermit):
        transaction.rollback()
        return CommitEvidence(anchor=body.anchor, receipt=RolledBack(body=body), tries=attempt.tries)
    transaction.commit(permit)
    return None


def move_of(attempt: Attempt, body: ReceiptBody) -> HeadMove:
    """The receipt that holds a body, and where it leaves the head."""
    stored = canonical(body)
    row = ReceiptRow(
        receipt=digest("receipt", stored),
        model=body.model,
        run=attempt.bench.run,
        attempt=attempt.machine.pinned.attempt if attempt.machine.pinned is not None else 1,
        previous=body.previous,
        body=stored,
    )
    return HeadMove(receipt=row, token=body.token, generation=body.generation)


def _insert(attempt: Attempt, transaction: Transaction, body: ReceiptBody) -> str:
    bench = attempt.bench
    row = move_of(attempt, body).receipt
    receipt = row.receipt
    transaction.run(control.INSERT_RECEIPT, control.receipt_parameters(row, project=bench.setting.project))
    moved = transaction.run(
        control.FENCE,
        {
            "project": bench.setting.project,
            "model": body.model,
            "receipt": receipt,
            "token": body.token,
            "generation": body.generation,
            "expected": body.previous,
        },
    )
    if control.rows_touched(moved) != 1:
        message = f"the head of `{body.model}` is not the one that was expected: another writer was here"
        raise WarehouseError(
            message, kind="permanent", scope="transaction", code="W610", remedy="run it again: it looks at what is there now"
        )
    return receipt


def _parameters(bench: Bench, item: Item, role: str) -> dict[str, object] | None:
    if role != control.READ_HEADS.role:
        return None
    return {"project": bench.setting.project, "models": sorted(heads_wanted(item))}


def heads_wanted(item: Item) -> frozenset[str]:
    """Models whose heads are read in the item's transaction: its own, and those that it reads."""
    return frozenset({item.head_model, *item.reads, *([item.renamed_from] if item.renamed_from else [])})


def _shape(item: Item, transaction: Transaction, answers: Mapping[str, Sequence[Row]]) -> tuple[Column, ...]:
    """The columns of the relation as it stands: those of the plan where the type of its rows says so, else as the warehouse says."""
    if item.relation_kind == "none":
        return ()
    return item.columns if rows_are_of(item.columns, answers) else transaction.columns(item.schema, item.relation)


def _body(attempt: Attempt, anchor: str, answers: Mapping[str, Sequence[Row]], shape: tuple[Column, ...]) -> ReceiptBody:
    pinned = attempt.machine.pinned
    assert pinned is not None
    before = attempt.bench.bodies.get(attempt.item.renamed_from or attempt.item.head_model)
    return receipt_body(
        attempt.bench.setting, attempt.item, pinned, anchor, answers, shape, before, attempt.bench.as_read(attempt.item.sources)
    )


def _with_reason(body: ReceiptBody, role: str, said: str) -> ReceiptBody:
    name = role.removeprefix(PREFIX)
    verdicts = tuple(
        msgspec.structs.replace(verdict, because=f"it could not be evaluated: {said}") if verdict.check == name else verdict
        for verdict in body.verdicts
    )
    return msgspec.structs.replace(body, verdicts=verdicts)


_APPLIES = frozenset({"drop", "create", "insert", "insert_ties", "merge", "delete", "close", "close_gone", "rename", "hold"})


def _may_retry(error: WarehouseError, answers: Mapping[str, object], tries: int) -> bool:
    """Only a proven transient error, and only before anything was applied."""
    return error.kind == "transient" and tries < TRIES_MAX and not _APPLIES & answers.keys()


def _failed(attempt: Attempt, error: WarehouseError, role: str) -> Refuse:
    code = "P420" if role.startswith("bind:") and error.code == "W608" else error.code
    message = _asking(attempt.item, role) + attempt.bench.redact(error.message)
    because = message if code != "P420" else f"the view {role.removeprefix('bind:')} would break: {message}"
    remedy = error.remedy or (
        "select that view too, or change it first" if code == "P420" else "mend what the message names, and run it again"
    )
    cause: Literal["interrupt", "warehouse"] = "interrupt" if code == INTERRUPTED else "warehouse"
    detail = f"{attempt.item.path}: in the statement `{role}`" if attempt.item.path else f"in the statement `{role}`"
    return Refuse(
        evidence=RefuseEvidence(cause=cause, code=code, because=because, remedy=remedy, proof=RolledBack(body=None), detail=detail)
    )


def _asking(item: Item, role: str) -> str:
    """Which checks a statement asks, as the beginning of what it said; empty where it asks none."""
    if role.startswith(PREFIX):
        names = [role.removeprefix(PREFIX)]
    elif role == "look":
        own = {statement.role for statement in item.statements}
        names = [check.check for check in item.checks if PREFIX + check.check not in own]
    else:
        names = []
    if not names:
        return ""
    listed = ", ".join(f"`{name}`" for name in names)
    return f"asking check {listed}: " if len(names) == 1 else f"asking checks {listed}: "


def find(attempt: Attempt, error: WarehouseError | None = None) -> Answer:
    """What the warehouse says of this attempt, on a fresh snapshot: its receipt, positively nothing, or no answer.

    Args:
        attempt: whose receipt is looked for.
        error: what COMMIT said, where it raised.
    """
    bench, model = attempt.bench, attempt.item.head_model
    try:
        reader = bench.session.reader()
        try:
            row, body = read_published(reader, bench.setting.project, [model])[model]
        finally:
            reader.close()
    except (WarehouseError, Unreadable) as unread:
        return InDoubt(because=f"the outcome of COMMIT is not known, and the receipt cannot be read: {unread}")
    return found_as(attempt, row, body, error)


def found_as(attempt: Attempt, row: HeadRow, body: ReceiptBody | None, error: WarehouseError | None = None) -> Answer:
    """What a head and its receipt, as read after COMMIT, say of an attempt."""
    anchor = attempt.machine.anchor or ""
    if body is not None and body.anchor == anchor and row.receipt is not None:
        attempt.row, attempt.body = row, body
        return CommitEvidence(anchor=anchor, receipt=Found(id=row.receipt, body=body), tries=max(attempt.tries, 1))
    because = "COMMIT was sent, and its receipt is positively not there: nothing was written"
    code, remedy = "W608", "give the same command again"
    if error is not None:
        because = f"{because}; {attempt.bench.redact(error.message)}"
        if error.code == "W606":
            code, remedy = error.code, error.remedy
    return Refuse(
        evidence=RefuseEvidence(cause="warehouse", code=code, because=because, remedy=remedy, proof=Absent(), detail=attempt.item.path)
    )
