"""Publication guards on the rows: the delta, the contract and the checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from interlock.machines.actions import ADDS
from interlock.machines.case import Publication, asked
from interlock.machines.evidence import BootstrapEvidence, Column, Delta, ReceiptBody, Shrink, Watermark
from interlock.machines.guards import REPORT, Answer, Refuses, guard

_AGAIN: Final = "plan again"


@guard("I3", "G524", reads="the counts over the staged delta, and what a full refresh would take away")
def delta_is_well_formed(case: Publication) -> Answer:
    """Nothing in the delta could be lost, doubled or put in the wrong place."""
    return asked(case, "G524", _delta_against)


@guard("I4", "G525", reads="real columns and types, nulls counted, against the columns as compiled and the contract")
def rows_meet_contract(case: Publication) -> Answer:
    """The relation as it now stands has the compiled columns and keeps the contract."""
    return asked(case, "G525", _contract_against)


@guard("I4", "G526", reads="the verdict of each check that was pinned")
def every_check_has_a_verdict(case: Publication) -> Answer:
    """Each check that was pinned was evaluated, once; one that could not be is never a pass."""
    return asked(case, "G526", _unanswered)


@guard("I4", "G527", reads="the verdicts of the checks whose pinned severity is error")
def no_error_check_failed(case: Publication) -> Answer:
    """No check of error severity found rows against it."""
    return asked(case, "G527", _failed)


# --- what was written -------------------------------------------------------------------------------------------------

_DELTA: Final[tuple[tuple[str, str, tuple[str, str], str], ...]] = (
    (
        "watermark_nulls",
        "G532",
        ("row has no value in the watermark", "rows have no value in the watermark"),
        "make the watermark column not null in the query, or leave those rows out",
    ),
    (
        "key_doubles",
        "G533",
        ("key stands twice in the delta", "keys stand twice in the delta"),
        "make the query give one row for each key, such as by QUALIFY row_number()",
    ),
    (
        "key_nulls",
        "G534",
        ("row has no value in the key", "rows have no value in the key"),
        "make the key not null in the query, or choose another `unique_key`",
    ),
    (
        "changed_at_watermark",
        "G535",
        ("row written at the watermark is no longer given by the query", "rows written at the watermark are no longer given by the query"),
        'use strategy = "merge" with a `unique_key`, or "partition"; or make the table anew with `--full-refresh MODEL`',
    ),
    (
        "lossy_casts",
        "G536",
        ("value does not survive the cast to the column's type", "values do not survive the cast to the column's type"),
        "cast in the query, or rebuild with the new type: `--full-refresh MODEL`",
    ),
    (
        "out_of_range",
        "G537",
        ("row lies outside the planned range", "rows lie outside the planned range"),
        'correct those rows at the source; with an upper end (no `until = "none"`) and `future = "hold"` they are held back',
    ),
    (
        "conflicting_keys",
        "G538",
        ("key is there already with other values", "keys are there already with other values"),
        'use strategy = "merge", or say `on_conflict = "keep"`',
    ),
)
"""Field, code, what it counts (of one, and of several), and what to do about it."""

_REMEDIES: Final[dict[tuple[str, str], str]] = {
    (
        "merge",
        "conflicting_keys",
    ): "they stand there more than once, as no merge by this key leaves them: set `unique_key` back, or make the "
    "table anew with `--full-refresh MODEL`",
    ("snapshot", "conflicting_keys"): 'give changed rows a new `updated_at` at the source, or follow them by `snapshot_by = "columns"`',
    (
        "replace_range",
        "conflicting_keys",
    ): "it moved from a partition that is not made again: widen `lookback`, or take both in with --from and --to",
    ("snapshot", "watermark_nulls"): "give each row an `updated_at`, or leave those rows out",
}
"""Where another act helps."""

_QUESTIONS: Final[dict[str, tuple[str, ...]]] = {
    "append": ("watermark_nulls",),
    "merge": ("key_nulls", "key_doubles"),
    "snapshot": ("key_nulls", "key_doubles"),
    "replace_range": ("watermark_nulls",),
}
"""Counts that an action cannot do without: a question that was not asked is not one that was answered with none."""


def _delta_against(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    delta = body.delta
    if delta is None:
        if pinned.action in ADDS:
            yield Refuses("G524", f"nothing is known of the delta that `{pinned.action}` wrote", REPORT)
    else:
        yield from _unasked(pinned, delta)
        for field, code, says, remedy in _DELTA:
            count = getattr(delta, field)
            if count:
                sample = f", such as {delta.sample}" if delta.sample else ""
                what = _REMEDIES.get((pinned.action, field), remedy).replace("MODEL", body.model)
                yield Refuses(code, f"{count} {says[count != 1]}{sample}", what)
    if body.shrink is not None:
        yield from _shrunk(pinned, body.model, body.shrink)


def _unasked(pinned: BootstrapEvidence, delta: Delta) -> Iterator[Refuses]:
    questions = _QUESTIONS.get(pinned.action, ())
    if pinned.action == "append" and pinned.head.watermark is not None:
        questions = (*questions, "changed_at_watermark")
    for field in questions:
        if getattr(delta, field) is None:
            yield Refuses("G524", f"`{field}` was not asked of the delta", REPORT)


_KNOWN_BY: Final = {
    "range": ("value of its watermark", "values of its watermark"),
    "keys": ("key", "keys"),
    "versions": ("version", "versions"),
    "ends": ("end of the old range", "ends of the old range"),
}
"""What is missing, of one and of several."""


def _shrunk(pinned: BootstrapEvidence, model: str, shrink: Shrink) -> Iterator[Refuses]:
    if shrink.permission == "allowed":
        return
    remedy = f"look at the source; if it is right, plan with `--allow-shrink {model}`"
    if shrink.rows_after == 0 and shrink.rows_before != 0:
        yield Refuses("G539", f"`{pinned.action}` would leave no rows where there were {shrink.rows_before}", remedy)
    elif shrink.rows_after < shrink.rows_before and (why := _counted(shrink)):
        because = f"`{pinned.action}` would leave {shrink.rows_after} rows where there were {shrink.rows_before}, {why}"
        yield Refuses("G539", because, remedy)
    if shrink.missing != 0:
        what = _KNOWN_BY.get(shrink.compared, _KNOWN_BY["range"])[shrink.missing != 1]
        sample = f", such as {shrink.sample}" if shrink.sample else ""
        because = f"{shrink.missing} {what} would be gone{sample}: it had {_range(shrink.before)}"
        if shrink.after is not None:
            because += f", and the new rows have {_range(shrink.after)}"
        yield Refuses("G539", because, remedy)


def _counted(shrink: Shrink) -> str:
    """Why fewer rows are a loss, though nothing tells which are missing; empty where something does, or an edit may have meant it."""
    match shrink.compared:
        case "rows":
            return "and it has no column any more that tells which"
        case "ends":
            return "and what stood there cannot be asked, so that nothing tells which"
        case "range":
            return "of the same definition: its source gives fewer" if shrink.definition == "same" and shrink.missing == 0 else ""
        case "keys" | "versions":
            return ""
    assert_never(shrink.compared)


def _range(watermark: Watermark | None) -> str:
    return "none" if watermark is None else f"{watermark.low} to {watermark.high}"


# --- what stands there now --------------------------------------------------------------------------------------------


def _contract_against(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    if pinned.action == "drop":
        if body.kind != "none" or body.shape:
            yield Refuses("G525", f"a {body.kind} stands where the relation was dropped", _AGAIN)
        return
    yield from _shape(pinned.columns, body.shape)
    yield from _promises(pinned, body)


def _by_name(columns: Iterable[Column]) -> dict[str, Column]:
    return {column.name.lower(): column for column in columns}


def _shape(planned: tuple[Column, ...], found: tuple[Column, ...]) -> Iterator[Refuses]:
    """Columns by name, for rows are inserted by name; an extended relation keeps the order that it had."""
    expected = _by_name(planned)
    there = _by_name(found)
    if not found:
        yield Refuses("G525", "nothing is known of the relation's columns", REPORT)
    if len(expected) != len(planned) or len(there) != len(found):
        yield Refuses("G525", "a column stands there twice", REPORT)
    for name, column in expected.items():
        if name not in there:
            yield Refuses("G525", f"column `{column.name}` was planned, and is not there", _AGAIN)
        elif there[name].type != column.type:
            yield Refuses("G525", f"column `{column.name}` was planned as {column.type}, and is {there[name].type}", _AGAIN)
    for name, column in there.items():
        if name not in expected:
            yield Refuses("G525", f"column `{column.name}` is there, and was not planned", _AGAIN)


def _promises(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    there = _by_name(body.shape)
    counted = {count.column.lower(): count.nulls for count in body.nulls}
    for promise in pinned.contract:
        name = promise.column.lower()
        if name not in there:
            yield Refuses("C301", f"the contract promises `{promise.column}`, which is not there", "add it to the model")
            continue
        if promise.type is not None and there[name].type != promise.type:
            because = f"the contract promises `{promise.column}` as {promise.type}, and it is {there[name].type}"
            yield Refuses("C303", because, f"cast it to {promise.type}, or change the contract")
        if promise.nulls != "allowed":
            yield from _nulls(promise.column, counted.get(name))
    if pinned.extra_columns != "allow":
        promised = {promise.column.lower() for promise in pinned.contract}
        for name, column in there.items():
            if name not in promised:
                yield Refuses(
                    "C302", f"column `{column.name}` is not in the contract", "add it to the contract, or take it out of the model"
                )


def _nulls(column: str, nulls: int | None) -> Iterator[Refuses]:
    if nulls is None:
        yield Refuses("G525", f"nulls in `{column}`, which promises none, were not counted", REPORT)
    elif nulls != 0:
        yield Refuses("G525", f"`{column}` promises no nulls, and has {nulls}", "leave those rows out, fill them, or change the contract")


def _unanswered(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    asked = Counter(pin.check for pin in pinned.checks)
    answered = Counter(verdict.check for verdict in body.verdicts)
    for check, times in asked.items():
        if times != 1 or answered[check] != 1:
            yield Refuses("G526", f"check `{check}` was asked {times} times and answered {answered[check]} times", REPORT)
    for check in answered:
        if check not in asked:
            yield Refuses("G526", f"check `{check}` was answered and never asked", REPORT)
    for verdict in body.verdicts:
        if verdict.outcome not in ("passed", "failed") or verdict.failing is None:
            because = f"check `{verdict.check}` was not evaluated"
            if verdict.because:
                because = f"{because}: {verdict.because}"
            yield Refuses("G526", because, "make the check answerable, or take it out of the model's sidecar")
        elif verdict.outcome == "passed" and verdict.failing != 0:
            yield Refuses("G526", f"check `{verdict.check}` passed, with {verdict.failing} against it", REPORT)


def _failed(pinned: BootstrapEvidence, body: ReceiptBody) -> Iterator[Refuses]:
    severities = {pin.check: pin.severity for pin in pinned.checks}
    for verdict in body.verdicts:
        # The severity is the pinned one: what the transaction says of itself cannot make a check milder.
        if verdict.outcome == "failed" and severities.get(verdict.check) != "warn":
            rows = "" if verdict.failing is None else f" for {verdict.failing} {'row' if verdict.failing == 1 else 'rows'}"
            because = f"check `{verdict.check}` failed{rows}" + (f": {verdict.because}" if verdict.because else "")
            yield Refuses("G527", because, 'correct the rows or the model; `severity = "warn"` records and lets pass')
