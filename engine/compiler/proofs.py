"""Which columns of the project's relations can never be null, and where each proof comes from. Worked out when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from interlock.engine.compiler.names import Node
from interlock.engine.compiler.nullability import Nullability
from interlock.engine.compiler.relations import Column, Columns
from interlock.engine.project.project import (
    AcceptedValues,
    Check,
    CustomSql,
    ExpressionHolds,
    Freshness,
    NotNull,
    Relationships,
    RowCount,
    SeedFile,
    Unique,
)
from interlock.engine.warehouse.duckdb.parser import Tree

if TYPE_CHECKING:
    from interlock.engine.compiler.unit import Surroundings, Unit


def query_never_null(unit: Unit, around: Surroundings, *, given: bool = False) -> frozenset[str]:
    """Columns of a model's query that are proved, in small letters. Of a seed the file itself is the proof.

    Args:
        unit: the model or seed.
        around: what it is compiled among.
        given: as if the sources held no nulls where they do not say that they may: what is proved then is kept by the SQL
            itself, and only what comes in can break it.
    """
    if isinstance(unit.file, SeedFile):
        rows = unit.file.rows
        return frozenset(
            column.name.lower() for index, column in enumerate(unit.file.columns) if all(row[index] is not None for row in rows)
        )
    looked = statement_of(unit, around, given=given)
    columns = None if looked is None else _root(looked)
    if columns is None or len(columns) != len(unit.columns):
        return frozenset()
    for found, bound in zip(columns, unit.columns, strict=True):
        if found.name is not None and found.name.lower() != bound.name.lower():
            return frozenset()  # it saw other columns than the binder: nothing that it says is relied on
    return frozenset(bound.name.lower() for found, bound in zip(columns, unit.columns, strict=True) if found.never_null)


def statement_of(unit: Unit, around: Surroundings, *, given: bool = False) -> Nullability | None:
    """The pass over a model's statement; nothing for a seed, or where it could not be read."""
    analysis = unit.analysis
    if analysis is None or analysis.reading is None or not unit.bound:
        return None
    reading = analysis.reading
    by_reference = {place.reference: place.node for place in analysis.places}
    text = analysis.text.text.lower()
    holds_json = "json" in text or "variant" in text or "->" in text or bool(analysis.macros)
    if not holds_json:
        columns = (column for node in analysis.nodes() for column in around.columns_of(node) or ())
        holds_json = any("JSON" in column.type or "VARIANT" in column.type for column in columns)

    def known(table: Tree) -> Columns:
        reference = reading.reference_of(table)
        node = by_reference.get(reference) if reference is not None else None
        columns = around.columns_of(node) if node is not None else None
        if node is None or columns is None:
            return None
        proved = relation_never_null(node, around, given=given)
        return tuple(
            Column(
                column.name,
                never_null=column.name.lower() in proved,
                json="JSON" in column.type or "VARIANT" in column.type,
                table=node.name,
                type=column.type,
            )
            for column in columns
        )

    return Nullability(
        reading,
        known,
        aggregates=around.aggregates,
        macros={name: macro.statement for name, macro in around.context.macros.by_name.items()},
        settings=around.settings,
        may_hold_json=holds_json,
    )


def relation_never_null(node: Node, around: Surroundings, *, given: bool = False) -> frozenset[str]:
    """Columns of a relation that readers may rely on, in small letters.

    Rows of a table are looked at before they are committed, so its promises are proofs. A view's rows may be others when it is
    read. An incremental's or snapshot's older rows were written by other texts: of these only what is asked of all rows counts.
    """
    if node.kind == "source":
        declared = around.sources[node.name].source.columns if node.name in around.sources else None
        if given:
            said = {name.lower() for name, column in (declared or {}).items() if column.may_hold_nulls}
            return frozenset(column.name.lower() for column in around.columns_of(node) or ()) - said
        return frozenset(name.lower() for name, column in (declared or {}).items() if not column.nullable)
    unit = around.units[node.name]
    held = around.deployed(node.name)
    if held is not None and unit.kind not in {"view", "ephemeral"}:
        # Its rows were written some time ago, from other rows than stand above it now: its text proves nothing about them,
        # but a seed's file does, which is what was deployed.
        held |= unit.never_null(around) if unit.kind == "seed" else {"valid_from"} if unit.kind == "snapshot" else frozenset()
        if not given:
            return held
        kept = unit.never_null(around, given=True) if unit.known_whole else frozenset(column.name.lower() for column in unit.columns)
        return held | kept
    promised = {promise.column.lower() for promise in unit.promises.columns if promise.nulls == "forbidden"}
    asked = promised.union(*(_asked(check) for check in unit.file.checks if check.severity == "error" and check.after == "rows"))
    match unit.kind:
        case "view" | "ephemeral":
            return unit.never_null(around, given=given)
        case "table" | "seed":
            return unit.never_null(around, given=given) | asked
        case "incremental":
            return unit.never_null(around, given=True) | asked if given else frozenset(asked)
        case "snapshot":
            return frozenset((unit.never_null(around, given=True) if given else frozenset()) | asked | {"valid_from"})
        case _ as unreachable:
            assert_never(unreachable)


def _asked(check: Check) -> set[str]:
    question = check.question
    match question:
        case NotNull(columns=columns):
            return {column.lower() for column in columns}
        case Unique() | AcceptedValues() | Relationships() | ExpressionHolds() | RowCount() | Freshness() | CustomSql():
            return set()
        case _ as unreachable:
            assert_never(unreachable)


def _root(looked: Nullability) -> Columns:
    try:
        return looked.root()
    except KeyError:  # a node without a part that it should have: what is not understood proves nothing
        return None
