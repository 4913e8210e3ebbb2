"""From what the statements of a transaction answered to the body of its receipt. Pure: nothing here asks anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from interlock.engine.planner.checks import PREFIX, because_of
from interlock.engine.planner.facts import is_adopted, is_made_anew
from interlock.engine.planner.plan import Item
from interlock.engine.warehouse.duckdb import row_type
from interlock.engine.warehouse.duckdb.control import rows_touched
from interlock.engine.warehouse.duckdb.write import fingerprint_of
from interlock.engine.warehouse.protocol import Row
from interlock.machines.actions import ADDS, MAKES, WRITES_ROWS
from interlock.machines.evidence import (
    Applied,
    BootstrapEvidence,
    CheckVerdict,
    Column,
    ColumnAdded,
    Delta,
    Fingerprint,
    HeadSeen,
    NullCount,
    Read,
    ReceiptBody,
    Shrink,
    SourceSeen,
    Span,
    Watermark,
)
from interlock.machines.records import Record, digest_of

FORMAT = 1
_WRITES = frozenset({"drop", "create", "hold", "insert", "insert_ties", "merge", "delete", "close", "close_gone", "rename", "comment"})

Answers = Mapping[str, Sequence[Row]]


class Setting(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is the same for every receipt of a run."""

    project: str
    plan: str
    engine: str


def receipt_body(
    setting: Setting,
    item: Item,
    pinned: BootstrapEvidence,
    anchor: str,
    answers: Answers,
    shape: tuple[Column, ...],
    before: ReceiptBody | None,
    sources: tuple[SourceSeen, ...],
) -> ReceiptBody:
    """The body of the attempt's receipt.

    Args:
        setting: of the run.
        item: of the plan.
        pinned: what `bootstrap` pinned.
        anchor: of the attempt.
        answers: rows that each statement gave, by role; a check that raised is not among them.
        shape: columns of the relation as it now stands.
        before: body of the head's receipt, where there is one.
        sources: of the item, as they were read.
    """
    look = _struct(answers, "look")
    delta_look = _struct(answers, "look_delta")
    touched = {role: rows_touched(rows) for role, rows in answers.items() if role in _WRITES}
    written, deleted = _written(item, touched, look), _deleted(touched)
    held, beyond = _held(item, touched, delta_look)
    delta = _delta(item, look, delta_look, answers, beyond)
    rows_after = _int(look.get("rows")) if item.relation_kind == "table" else None
    watermark = _watermark(item, look, delta_look, pinned, before)
    counted = _struct(answers, "count_before")
    fresh = item.action in MAKES or item.action == "adopt"
    changed = fresh or written + deleted + touched.get("close", 0) > 0 or any(role.startswith("add_column") for role in answers)
    moves_rows = item.action in WRITES_ROWS or item.action == "adopt"
    carried = before if before is not None and item.action in ("recheck", "move", "adopt", "drop") else None
    return ReceiptBody(
        format=FORMAT,
        project=setting.project,
        model=item.head_model,
        relation=f"{item.schema}.{item.relation}",
        kind=item.relation_kind,
        materialized=before.materialized if before is not None and item.action in ("move", "drop") else item.kind,
        action=item.action,
        anchor=anchor,
        plan=setting.plan,
        previous=pinned.head.receipt,
        digests=item.digests,
        parts=item.parts,
        text=item.text,
        engine=before.engine if before is not None and item.action in ("move", "drop") else setting.engine,
        statements=digest_of("statements", [statement.digest for statement in item.statements]),
        reads=before.reads if before is not None and item.action in ("move", "drop") else _reads(item, answers),
        sources=before.sources if before is not None and item.action in ("move", "drop") else sources,
        head=_head(item, answers),
        applied=tuple(Applied(role=role, rows=touched[role] if answers[role] else None) for role in answers if role in touched),
        shape=shape,
        nulls=tuple(
            NullCount(column=promise.column, nulls=int(look[name]))
            for promise in pinned.contract
            if (name := f"null:{promise.column}") in look
        ),
        verdicts=_verdicts(pinned, look, answers, before, item),
        rows_before=_int(counted.get("rows")),
        fingerprint_before=fingerprint_of(counted, setting.engine) if "sum" in counted else None,
        rows_written=written,
        rows_deleted=deleted,
        rows_held=held if moves_rows else (before.rows_held if before is not None and carried is not None else 0),
        rows_late=_int((_struct(answers, "late") or _unmoved(delta_look)).get("late")),
        rows_stale=_int(_struct(answers, "late").get("stale")),
        rows_kept=_int(_struct(answers, "kept_keys").get("rows")),
        rows_gone=_int(delta_look.get("gone")),
        rows_after=rows_after
        if item.action not in ("move", "drop")
        else (before.rows_after if before is not None and item.action == "move" else None),
        delta=delta,
        shrink=_shrink(item, pinned, look, counted, rows_after, watermark, before),
        fingerprint=_fingerprint(setting, item, look, answers, before),
        token=item.token if item.sets_token != "keep" else pinned.head.token if item.action != "move" else item.token,
        generation=_generation(item, anchor, pinned, before, changed=changed and moves_rows),
        watermark=watermark,
        ranges=_ranges(item, look, before),
        protected=item.protected if item.action not in ("move", "drop") or before is None else before.protected,
        adopted="yes" if item.action == "adopt" or (item.action in ("move", "recheck") and is_adopted(before)) else "no",
        looked=_looked(item, before),
        added=_added(answers, shape, before) if before is not None and not fresh and item.action != "drop" else (),
    )


def _looked(item: Item, before: ReceiptBody | None) -> Literal["at_all", "at_a_range"]:
    if item.action in ("move", "recheck"):
        return before.looked if before is not None else "at_all"
    return "at_a_range" if item.bounds is not None and item.bounds.asked == "yes" else "at_all"


def _added(answers: Answers, shape: tuple[Column, ...], before: ReceiptBody) -> tuple[ColumnAdded, ...]:
    """Columns that the relation gained since it was made, and how far the rows went that were there then."""
    if before.watermark is None or not any(role.startswith("add_column") for role in answers):
        return before.added
    there = {column.name.lower() for column in before.shape}
    at = before.watermark.high
    return (*before.added, *(ColumnAdded(name=column.name, at=at) for column in shape if column.name.lower() not in there))


def left_behind(body: ReceiptBody, old_model: str, old: HeadSeen) -> ReceiptBody:
    """The receipt that a rename leaves on the old head: a move, and no relation."""
    return msgspec.structs.replace(
        body,
        model=old_model,
        kind="none",
        previous=old.receipt,
        head=old,
        shape=(),
        rows_after=None,
        token=None,
        fingerprint=None,
        watermark=None,
        ranges=(),
        moved=None,
    )


def _ranges(item: Item, look: Mapping[str, Any], before: ReceiptBody | None) -> tuple[Span, ...]:
    """Covered ranges. A table made whole covers from the partition of its first row on: what lies before was never there."""
    if item.action == "drop":
        return ()
    if item.bounds is None or item.action not in WRITES_ROWS:
        return before.ranges if before is not None and item.action not in MAKES else ()
    if "low_bucket" not in look:
        return item.bounds.covered
    first = look["low_bucket"]
    return tuple(Span(low=span.low or str(first), high=span.high) for span in item.bounds.covered) if first is not None else ()


def rows_are_of(columns: Sequence[Column], answers: Answers) -> bool:
    """Whether the look at what was written says that its rows have just these columns; `False` where it does not tell."""
    return row_type.is_of(_struct(answers, "look").get("row_type"), columns)


def _struct(answers: Answers, role: str) -> Mapping[str, Any]:
    rows = answers.get(role)
    if not rows:
        return {}
    value = rows[0][0]
    return value if isinstance(value, dict) else {}


def _unmoved(delta_look: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a snapshot's delta: rows that changed though their own time did not move, or went back."""
    return delta_look.get("unmoved") or {}


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


def _head(item: Item, answers: Answers) -> HeadSeen:
    for model, receipt, token, *_ in answers.get("read_heads", ()):
        if model == item.head_model:
            return HeadSeen(receipt=receipt, token=token)
    return HeadSeen(receipt=None, token=None)


def _reads(item: Item, answers: Answers) -> tuple[Read, ...]:
    rows = {row[0]: row for row in answers.get("read_heads", ())}
    return tuple(
        Read(model=name, receipt=rows[name][1] if name in rows else None, generation=rows[name][3] if name in rows else None)
        for name in item.reads
    )


def _written(item: Item, touched: Mapping[str, int], look: Mapping[str, Any]) -> int:
    if item.action in MAKES:
        return int(look.get("rows") or 0) if item.relation_kind == "table" else 0
    return sum(touched.get(role, 0) for role in ("insert", "insert_ties", "merge"))


def _deleted(touched: Mapping[str, int]) -> int:
    return touched.get("delete", 0) + touched.get("close_gone", 0)


def _held(item: Item, touched: Mapping[str, int], delta_look: Mapping[str, Any]) -> tuple[int, int | None]:
    """Rows held back; and rows beyond the end where none may be."""
    if item.bounds is None:
        return 0, None
    beyond = touched["hold"] if "hold" in touched else _int(delta_look.get("beyond"))
    if beyond is None:
        return 0, None
    may_be_held = item.bounds.until is not None and item.bounds.beyond == "hold"
    return (beyond, 0) if may_be_held else (0, beyond)


def _delta(item: Item, look: Mapping[str, Any], delta_look: Mapping[str, Any], answers: Answers, beyond: int | None) -> Delta | None:
    if item.action in ADDS:
        seen, rows = delta_look, int(delta_look.get("rows") or 0)
    elif (item.action in MAKES or item.action == "adopt") and item.kind in ("incremental", "snapshot"):
        seen, rows = look, int(look.get("rows") or 0)
    else:
        return None
    changed, conflicting = _struct(answers, "changed_at_watermark"), _struct(answers, "conflicting_keys")
    unmoved, doubles = _unmoved(seen), seen.get("doubles") or {}
    stuck = _int(unmoved.get("stuck"))
    samples = [
        f"{words}: {text}"
        for words, text in (
            ("null", seen.get("null_sample") if seen.get("watermark_nulls") else None),
            ("twice", doubles.get("sample") if doubles.get("keys") else None),
            ("beyond", seen.get("beyond_sample") if beyond else None),
            ("changed", changed.get("sample") if changed.get("rows") else None),
            ("conflicting", conflicting.get("sample") if conflicting.get("rows") else None),
            ("changed without a new time", unmoved.get("stuck_sample") if stuck else None),
        )
        if text
    ]
    return Delta(
        rows=rows,
        watermark_nulls=_int(seen.get("watermark_nulls")),
        key_nulls=_int(seen.get("key_nulls")),
        key_doubles=_int(doubles.get("keys")),
        lossy_casts=_int(seen.get("lossy")),
        changed_at_watermark=_int(changed.get("rows")),
        conflicting_keys=_int(conflicting.get("rows")) if "conflicting_keys" in answers else stuck,
        out_of_range=beyond,
        sample="; ".join(samples),
    )


def _watermark(
    item: Item, look: Mapping[str, Any], delta_look: Mapping[str, Any], pinned: BootstrapEvidence, before: ReceiptBody | None
) -> Watermark | None:
    if item.action == "drop":
        return None
    carried = before.watermark if before is not None else pinned.head.watermark
    if item.action in ("recheck", "move"):
        return carried
    seen = look if look.get("high") is not None else delta_look
    if item.kind not in ("incremental", "snapshot"):
        return None
    if seen.get("high") is None or seen.get("low") is None:
        return carried if item.action in ADDS else None
    # The watermark of a snapshot is that of its versions.
    bounds = item.bounds if item.kind == "incremental" else None
    type_ = bounds.type if bounds is not None else item.columns[-1].type
    column = bounds.column if bounds is not None else ""
    return Watermark(type=type_, low=str(seen["low"]), high=str(seen["high"]), column=column)


def _verdicts(
    pinned: BootstrapEvidence, look: Mapping[str, Any], answers: Answers, before: ReceiptBody | None, item: Item
) -> tuple[CheckVerdict, ...]:
    found = []
    for pin in pinned.checks:
        name = PREFIX + pin.check
        answer = look.get(name) if name in look else _struct(answers, name)
        failing = _int(answer.get("failing")) if answer else None
        sample = answer.get("sample") if answer else "it raised an error, or was not reached"
        outcome = "not_evaluated" if failing is None else "passed" if failing == 0 else "failed"
        found.append(
            CheckVerdict(check=pin.check, severity=pin.severity, outcome=outcome, failing=failing, because=because_of(failing, sample))  # type: ignore[arg-type] # one of the three
        )
    if before is not None and item.follows is None and ":" in item.model:
        asked = {verdict.check for verdict in found}
        found += [verdict for verdict in before.verdicts if verdict.check not in asked]
    return tuple(found)


def _shrink(
    item: Item,
    pinned: BootstrapEvidence,
    look: Mapping[str, Any],
    counted: Mapping[str, Any],
    rows_after: int | None,
    watermark: Watermark | None,
    before: ReceiptBody | None,
) -> Shrink | None:
    anew = is_made_anew(item.action, before)
    if item.full_refresh != "asked" or before is None or not anew or item.relation_kind == "none":
        return None
    rows_before = _int(counted.get("rows"))
    compared, missing, sample = _missing(look, before)
    return Shrink(
        rows_before=rows_before if rows_before is not None else pinned.head.rows or 0,
        rows_after=(rows_after if item.relation_kind == "table" else _int(look.get("rows"))) or 0,
        before=before.watermark,
        after=watermark if _is_of_the_same(watermark, before.watermark) else None,
        missing=missing,
        permission=item.shrink,
        compared=compared,
        sample=sample,
        definition="same" if item.digests.definition == before.digests.definition else "other",
    )


def _missing(look: Mapping[str, Any], before: ReceiptBody) -> tuple[Literal["range", "keys", "versions", "ends", "rows"], int, str]:
    """By what the new rows were held against the old ones, how much they lack, and the first of it."""
    by: Literal["range", "keys", "versions"]
    for by in ("range", "keys", "versions"):
        found = look.get(f"gone_{by}")
        if found is not None:
            return by, int(found["rows"]), str(found["sample"] or "")
    if "ends_missed" in look:
        return "ends", int(look["ends_missed"]), ""
    return "rows" if before.watermark is not None else "range", 0, ""


def _is_of_the_same(after: Watermark | None, before: Watermark | None) -> bool:
    """Whether two watermarks are of one column, so that one range can be held beside the other."""
    if after is None or before is None:
        return True
    return after.type == before.type and before.column.lower() in ("", after.column.lower())


def _fingerprint(setting: Setting, item: Item, look: Mapping[str, Any], answers: Answers, before: ReceiptBody | None) -> Fingerprint | None:
    if "sum" in look:
        return fingerprint_of(look, setting.engine)
    old = before.fingerprint if before is not None else None
    if item.action in ("recheck", "move"):
        return old
    gone, come = _struct(answers, "print_before"), _struct(answers, "print_after")
    if old is None or old.engine != setting.engine or not gone or not come or any(role.startswith("add_column") for role in answers):
        return None
    less, more = fingerprint_of(gone, old.engine), fingerprint_of(come, old.engine)
    return Fingerprint(
        rows=old.rows - less.rows + more.rows,
        sum=str(int(old.sum) - int(less.sum) + int(more.sum)),
        xor=str(int(old.xor) ^ int(less.xor) ^ int(more.xor)),
        engine=setting.engine,
    )


def _generation(item: Item, anchor: str, pinned: BootstrapEvidence, before: ReceiptBody | None, *, changed: bool) -> str | None:
    if changed:
        return anchor
    if item.action == "drop":
        return None
    if item.action == "move":
        return before.generation if before is not None else None
    return pinned.head.generation
