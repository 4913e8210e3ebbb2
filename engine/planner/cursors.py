"""Bounds of incremental models: what the warehouse is asked, in one query for all of them, and what follows from its answers.

Values are compared by the warehouse only. Python sees them as text, and their order as a list that the warehouse sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, Literal

from interlock.engine.planner.facts import CursorFacts
from interlock.engine.project.durations import duration
from interlock.engine.project.project import ModelFile
from interlock.engine.warehouse.duckdb.limits import greatest, least
from interlock.engine.warehouse.duckdb.quoting import identifier, string
from interlock.engine.warehouse.duckdb.write import bucket
from interlock.engine.warehouse.protocol import Reader, WarehouseError
from interlock.machines.evidence import Span
from interlock.machines.records import Record

ASKED_AT_ONCE: Final = 25
"""Questions in one statement: the time that the engine takes to plan them grows with their square."""

SKEW_WITH_ZONE = timedelta(minutes=5)
SKEW_WITHOUT_ZONE = timedelta(days=1)

TypeFamily = Literal["date", "timestamp", "timestamptz", "number", "text"]


def family(type_: str) -> TypeFamily:
    """What kind of values a cursor's type has."""
    if type_ == "DATE":
        return "date"
    if type_ in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"):
        return "timestamptz"
    if type_.startswith("TIMESTAMP"):
        return "timestamp"
    if type_.startswith("VARCHAR"):
        return "text"
    return "number"


class Wish(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked for one incremental model."""

    model: str
    column: str
    type: str
    high: str | None
    """The watermark, where there is one."""
    lookback: str | None
    width: str | None
    """Of a partition."""
    until: str | None
    upper_query: str | None
    """The model's SQL, where the upper end is the greatest value that is there (ranges that are no times)."""
    range_low: str | None
    range_high: str | None
    covered: tuple[Span, ...]
    text_query: str | None = None
    """The model's SQL, where the cursor is text: whether it is compared byte by byte is asked, for no type says it."""


def until_of(file: ModelFile, type_: str, as_of: datetime) -> str | None:
    """The upper end by the clock of the plan, exclusive; `None` where there is none.

    Raises:
        ValueError: the model's `until` is no length of time.
    """
    kind = family(type_)
    if file.until == "none" or kind in ("number", "text"):
        return None
    skew = SKEW_WITH_ZONE if kind == "timestamptz" else SKEW_WITHOUT_ZONE
    if file.until is not None:
        given = duration(file.until)
        skew = given if isinstance(given, timedelta) else timedelta(seconds=given)
    end = (as_of + skew).replace(microsecond=0)
    if kind == "date":
        midnight = end.replace(hour=0, minute=0, second=0)
        return (midnight if midnight == end else midnight + timedelta(days=1)).strftime("%Y-%m-%d")
    text = end.strftime("%Y-%m-%d %H:%M:%S")
    return f"{text}+00" if kind == "timestamptz" else text


def open_ended(file: ModelFile, type_: str) -> str:
    """Why there is no upper end, in words; empty where there is one."""
    if file.until == "none":
        return 'open: the model says `until = "none"`'
    if family(type_) in ("number", "text"):
        return "open: the cursor is not a time"
    return ""


def held_for_want_of_an_end(column: str, type_: str, until: str | None) -> str:
    """Why rows at the last value of a type are held, in words, and what helps; empty where the end is another one."""
    if until is None or until != greatest(type_):
        return ""
    return f"rows with {column} {until} are held: no end can be named after the last value of {type_}; CAST it to a wider type to load them"


def observe(reader: Reader, wishes: Sequence[Wish]) -> tuple[dict[str, CursorFacts], dict[str, str]]:
    """Ask for many of them in one query. Where that fails, each by itself: one model's bad rows are no other model's.

    Models that stand at the same watermark mostly ask the same, which is asked once.

    Returns:
        what was answered, and for the rest why not, by model.

    Raises:
        WarehouseError: the warehouse itself could not be asked.
    """
    asked: dict[str, list[Wish]] = {}
    for wish in wishes:
        asked.setdefault(_question(wish), []).append(wish)
    questions = list(asked)
    found: dict[str, CursorFacts] = {}
    why: dict[str, str] = {}
    for start in range(0, len(questions), ASKED_AT_ONCE):
        at_once = questions[start : start + ASKED_AT_ONCE]
        for question, answer in zip(at_once, _answers(reader, at_once), strict=True):
            for wish in asked[question]:
                if isinstance(answer, str):
                    why[wish.model] = answer
                else:
                    found[wish.model] = _facts(wish, answer)
    return found, why


def _answers(reader: Reader, questions: Sequence[str]) -> list[dict[str, Any] | str]:
    """The answer to each question, or why there is none."""
    fields = ", ".join(f"'m{number}': {question}" for number, question in enumerate(questions))
    try:
        answer: dict[str, dict[str, Any]] = reader.query(f"SELECT {{{fields}}}")[0][0]
    except WarehouseError as error:
        if error.code != "W608":
            raise
        if len(questions) == 1:
            return [error.message]
        return [alone for question in questions for alone in _answers(reader, [question])]
    return [answer[f"m{number}"] for number in range(len(questions))]


def _cast(text: str, type_: str) -> str:
    return f"CAST({string(text)} AS {type_})"


def _text(expression: str) -> str:
    return f"CAST({expression} AS VARCHAR)"


def _less_lookback(wish: Wish) -> str | None:
    if wish.high is None:
        return None
    value = _cast(wish.high, wish.type)
    if wish.lookback is None:
        return value
    back = duration(wish.lookback)
    if isinstance(back, int):
        # Before the first value of its type there is nothing to look back at.
        whole = f"CAST({value} - {back} AS {wish.type})"
        first = least(wish.type)
        return whole if first is None else f"coalesce(TRY({whole}), {_cast(first, wish.type)})"
    seconds = back.days * 86400 + back.seconds
    whole_days = f"to_days({back.days})" if back.seconds == 0 else f"to_seconds({seconds})"
    return f"CAST({value} - {whole_days} AS {wish.type})"


def _upper(wish: Wish) -> str | None:
    if wish.until is not None:
        return _cast(wish.until, wish.type)
    if wish.upper_query is None:
        return None
    name = identifier(wish.column)
    # After the greatest value of its type there is no end to name: rows there are held, and the others go on.
    greatest = f"SELECT max({name}) AS greatest FROM (\n{wish.upper_query}\n)"
    end = f"(SELECT coalesce(TRY(m.greatest + 1), m.greatest) FROM ({greatest}) AS m)"
    if wish.high is None:
        return end
    # The stretch of the watermark is made again even where the source has less by now. Where the watermark is the last value
    # of its type, nothing can lie beyond it, so the end is open.
    after = f"TRY({_cast(wish.high, wish.type)} + 1)"
    return f"CASE WHEN {after} IS NOT NULL THEN greatest({end}, {after}) END"


def _collated(wish: Wish) -> str:
    """How many of one probe row are compared otherwise than byte by byte: a column keeps its collation through a union."""
    if wish.text_query is None:
        return "0"
    name = identifier(wish.column)
    probe = f"(SELECT {name} AS w FROM (\n{wish.text_query}\n) LIMIT 0) UNION ALL SELECT 'a'"
    return f"(SELECT count(*) FROM ({probe}) WHERE NOT (w > 'B') OR w = '\u00e1')"


def _given(text: str | None, type_: str) -> str | None:
    return None if text is None else f"TRY_CAST({string(text)} AS {type_})"


def _question(wish: Wish) -> str:
    less = _less_lookback(wish)
    low = bucket(less, wish.width, wish.type) if less is not None else None
    upper = _upper(wish)
    given_low = _given(wish.range_low, wish.type)
    given_high = _given(wish.range_high, wish.type)
    ends = [end for span in wish.covered for end in (span.low, span.high) if end]
    named = {"low": low, "upper": upper, "from": given_low, "to": given_high}
    fields = [f"'{name}': {_text(expression) if expression else 'NULL::VARCHAR'}" for name, expression in named.items()]
    points = [expression for expression in named.values() if expression] + [_cast(end, wish.type) for end in ends]
    listed = ", ".join(f"CAST({point} AS {wish.type})" for point in points)
    order = f"list_transform(list_sort(list_distinct([{listed}])), lambda x: CAST(x AS VARCHAR))" if points else "[]::VARCHAR[]"
    texts = "[" + ", ".join(_text(_cast(end, wish.type)) for end in ends) + "]::VARCHAR[]"
    fields += [f"'order': {order}", f"'ends': {texts}", f"'collated': {_collated(wish)}"]
    return "{" + ", ".join(fields) + "}"


def _facts(wish: Wish, answer: Mapping[str, Any]) -> CursorFacts:
    low, upper, given_low, given_high = (answer[name] for name in ("low", "upper", "from", "to"))
    bad = ""
    if wish.range_low is not None and given_low is None:
        bad = wish.range_low or " "
    elif wish.range_high is not None and given_high is None:
        bad = wish.range_high or " "
    ends = iter(answer["ends"])
    covered = tuple(Span(low=next(ends) if span.low else "", high=next(ends) if span.high else "") for span in wish.covered)
    order = {text: place for place, text in enumerate(answer["order"])}
    last = Span(low=low or "", high=upper or "")
    holes = gaps(covered, order, upper)
    if upper is not None and (given_high is None or order[given_high] > order[upper]):
        # What lies beyond the upper end is held, whoever asks.
        given_high = upper if wish.range_low is not None or wish.range_high is not None else None
    is_empty = given_low is not None and given_high is not None and order[given_low] >= order[given_high]
    backfill = Span(low=given_low or "", high=given_high or "")
    # Where there is no watermark yet, an ordinary extension begins with the first row.
    passes_over = given_low is not None and (low is None or order[given_low] > order[low])
    return CursorFacts(
        low=low,
        until=upper,
        range_low=given_low,
        range_high=given_high,
        bad_range=bad,
        empty_range=f"{given_low} to {given_high}" if is_empty else "",
        covered=merged((*covered, *holes, last), order),
        covered_backfill=merged((*covered, backfill), order),
        passes_over="yes" if passes_over else "no",
        ranges=merged((*holes, last), order),
        collated="yes" if answer["collated"] else "no",
    )


_LEAST = -1
_GREATEST = 1 << 60


def _low(span: Span, order: Mapping[str, int]) -> int:
    return order[span.low] if span.low else _LEAST


def _high(span: Span, order: Mapping[str, int]) -> int:
    return order[span.high] if span.high else _GREATEST


def merged(spans: Sequence[Span], order: Mapping[str, int]) -> tuple[Span, ...]:
    """Overlapping and touching ranges as one, in order. Empty ranges vanish; an empty end is open.

    Args:
        spans: ranges whose ends stand in `order`.
        order: place of each end as the warehouse sorts them.
    """
    result: list[Span] = []
    for span in sorted(spans, key=lambda each: (_low(each, order), _high(each, order))):
        if _low(span, order) >= _high(span, order):
            continue
        if result and _low(span, order) <= _high(result[-1], order):
            before = result[-1]
            high = span.high if _high(span, order) > _high(before, order) else before.high
            result[-1] = Span(low=before.low, high=high)
        else:
            result.append(span)
    return tuple(result)


def gaps(covered: Sequence[Span], order: Mapping[str, int], upper: str | None) -> tuple[Span, ...]:
    """Missing ranges: what lies between two covered ones, below the upper end."""
    limit = order[upper] if upper is not None else _GREATEST
    found = []
    inside = merged(covered, order)
    for before, after in pairwise(inside):
        if order[before.high] < limit:
            found.append(Span(low=before.high, high=after.low if order[after.low] <= limit else upper or ""))
    return tuple(found)
