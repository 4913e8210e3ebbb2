"""What joins do to nulls: outer joins pad, conditions that are true reject, USING makes two columns one."""

from __future__ import annotations

from typing import Protocol

from interlock.engine.compiler.nullability_expressions import Expressions
from interlock.engine.compiler.relations import NO_FACTS, Column, Env, Facts, Pad, Rows, find
from interlock.engine.warehouse.duckdb.parser import Tree


class Statement(Protocol):
    """What is needed of the pass over a statement."""

    expressions: Expressions
    conditions: list[tuple[str, Tree, Env]]


def joined(table: Tree, left: Rows, right: Rows, outer: Env | None, statement: Statement) -> Rows:
    """What a join of two relations gives."""
    kind = table.get("join_type", "INNER")
    reference = table.get("ref_type", "REGULAR")
    names, sure = _merging(table, reference, left, right)
    both = Env(
        Rows((*left.bindings, *right.bindings), left.facts | right.facts, (*left.pads, *right.pads), None, {**left.merged, **right.merged}),
        left.facts | right.facts,
        outer,
    )
    matched: Facts = NO_FACTS
    condition = table.get("condition")
    if condition is not None:
        statement.conditions.append(("join", condition, both))
        matched = statement.expressions.if_true(condition, both)
    pairs: dict[str, tuple[Column | None, Column | None]] = {}
    for name in names:
        one, other = _column(name, left), _column(name, right)
        pairs[name.lower()] = (one, other)
        matched |= {column.number for column in (one, other) if column is not None}
        for column, rows in ((one, left), (other, right)):
            if column is not None:
                tree = {"type": "BOUND_COLUMN", "column": column}
                statement.conditions.append(("join", tree, Env(rows, rows.facts, outer)))
    if kind in {"SEMI", "ANTI"}:
        facts = left.facts | matched if kind == "SEMI" else left.facts
        return left._replace(facts=facts, opaque=left.opaque or not sure)
    if reference == "POSITIONAL":
        kind, matched = "OUTER", NO_FACTS
    facts, pads = _padded(kind, left, right, matched)
    merged, made = _merged(kind, pairs)
    if kind in {"OUTER", "FULL"}:
        facts |= _on_both_sides(made, pairs, left, right)
    return Rows(
        (*left.bindings, *right.bindings),
        facts,
        pads,
        _star(left, right, merged, sure=sure),
        {**left.merged, **right.merged, **merged},
        _alternatives(kind, left, right),
        opaque=left.opaque or right.opaque or not sure or any(column is None for pair in pairs.values() for column in pair),
    )


def _merging(table: Tree, reference: str, left: Rows, right: Rows) -> tuple[list[str], bool]:
    """Names of columns that become one, and whether that is all of them."""
    if reference == "NATURAL":
        if left.star is None or right.star is None or any(column.name is None for column in (*left.star, *right.star)):
            return [], False
        there = {(column.name or "").lower() for column in right.star}
        return [column.name for column in left.star if column.name is not None and column.name.lower() in there], True
    return list(table.get("using_columns", ())), True


def _column(name: str, rows: Rows) -> Column | None:
    found = find([name], Env(rows, rows.facts, None))
    return found if isinstance(found, Column) else None


def _padded(kind: str, left: Rows, right: Rows, matched: Facts) -> tuple[Facts, tuple[Pad, ...]]:
    pads = (*left.pads, *right.pads)
    left_pad = Pad(left.numbers(), left.facts | matched)
    right_pad = Pad(right.numbers(), right.facts | matched)
    match kind:
        case "INNER" | "CROSS":
            return left.facts | right.facts | matched, pads
        case "LEFT":
            return left.facts, (*pads, right_pad)
        case "RIGHT":
            return right.facts, (*pads, left_pad)
        case "OUTER" | "FULL":
            # a row of one side need not have matched
            return NO_FACTS, (*pads, left_pad._replace(facts=left.facts), right_pad._replace(facts=right.facts))
        case _:
            return NO_FACTS, ()


def _alternatives(kind: str, left: Rows, right: Rows) -> tuple[tuple[Facts, Facts], ...]:
    match kind:
        case "INNER" | "CROSS":
            return (*left.alternatives, *right.alternatives)
        case "LEFT":
            return left.alternatives
        case "RIGHT":
            return right.alternatives
        case "OUTER" | "FULL":
            return ((left.facts, right.facts),)
        case _:
            return ()


def _merged(kind: str, pairs: dict[str, tuple[Column | None, Column | None]]) -> tuple[dict[str, Column], dict[str, Column]]:
    """What each merged name means after the join, and those of them that are new columns."""
    merged: dict[str, Column] = {}
    made: dict[str, Column] = {}
    for name, (one, other) in pairs.items():
        if one is None or other is None:
            continue
        if kind in {"INNER", "CROSS", "LEFT"}:
            merged[name] = one
        elif kind == "RIGHT":
            merged[name] = other
        else:
            made[name] = merged[name] = Column(one.name, json=one.json or other.json, merged=(one, other))
    return merged, made


def _on_both_sides(
    made: dict[str, Column], pairs: dict[str, tuple[Column | None, Column | None]], left: Rows, right: Rows
) -> frozenset[int]:
    """Merged columns of a full join that are not null: of those of which neither side is."""
    return frozenset(
        column.number
        for name, column in made.items()
        if all(each is not None and each.number in rows.facts for each, rows in zip(pairs[name], (left, right), strict=True))
    )


def _star(left: Rows, right: Rows, merged: dict[str, Column], *, sure: bool) -> tuple[Column, ...] | None:
    if left.star is None or right.star is None or not sure:
        return None
    first = [merged.get((column.name or "").lower(), column) for column in left.star]
    rest = [column for column in right.star if (column.name or "").lower() not in merged]
    return (*first, *rest)
