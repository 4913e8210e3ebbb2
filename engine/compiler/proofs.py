"""Which columns of the project's relations can never be null, and where each proof comes from. Worked out when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, assert_never

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
    from interlock.engine.compiler.analysis import Analysis
    from interlock.engine.compiler.reading import Reading
    from interlock.engine.compiler.unit import Surroundings, Unit


class Premise(NamedTuple):
    """What is believed of that which a proof rests on, but does not prove."""

    believed: Literal["promised", "given", "tables", "nothing"]
    """`promised`: what sources promise. `given`: that they hold no nulls where they do not say that they may: what is proved then is
    kept by the SQL itself, and only what comes in can break it. `tables`: no promise of a source that is read at this place, though
    that of tables above it. `nothing`: no promise of any source, and so nothing that a table above took from one."""
    kept: frozenset[tuple[str, str]] = frozenset()
    """Beside `nothing`: columns of sources and tables that are believed all the same, in small letters."""


PROMISED: Final = Premise("promised")
GIVEN: Final = Premise("given")
TABLES: Final = Premise("tables")
NOTHING: Final = Premise("nothing")


def query_never_null(unit: Unit, around: Surroundings, premise: Premise) -> frozenset[str]:
    """Columns of a model's query that are proved under a premise, in small letters. Of a seed the file itself is the proof."""
    if isinstance(unit.file, SeedFile):
        rows = unit.file.rows
        return frozenset(
            column.name.lower() for index, column in enumerate(unit.file.columns) if all(row[index] is not None for row in rows)
        )
    looked = statement_of(unit, around, premise)
    columns = None if looked is None else _root(looked)
    if columns is None or len(columns) != len(unit.columns):
        return frozenset()
    for found, bound in zip(columns, unit.columns, strict=True):
        if found.name is not None and found.name.lower() != bound.name.lower():
            return frozenset()  # it saw other columns than the binder: nothing that it says is relied on
    return frozenset(bound.name.lower() for found, bound in zip(columns, unit.columns, strict=True) if found.never_null)


def statement_of(unit: Unit, around: Surroundings, premise: Premise = PROMISED) -> Nullability | None:
    """The pass over a model's statement; nothing for a seed, or where it could not be read."""
    analysis = unit.analysis
    reading = analysis.expanded if analysis is not None else None
    if analysis is None or reading is None or not unit.bound:
        return None
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
        proved = relation_never_null(node, around, premise)
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


def columns_in(reading: Reading, analysis: Analysis, around: Surroundings) -> Callable[[Tree], Columns]:
    """The names of the columns of a statement's queries, as the pass that follows rows finds them. Nothing is proved of them."""
    by_reference = {place.reference: place.node for place in analysis.places}

    def known(table: Tree) -> Columns:
        reference = reading.reference_of(table)
        node = by_reference.get(reference) if reference is not None else None
        columns = around.columns_of(node) if node is not None else None
        return None if columns is None else tuple(Column(column.name, type=column.type) for column in columns)

    macros = {name: macro.statement for name, macro in around.context.macros.by_name.items()}
    looked = Nullability(reading, known, aggregates=around.aggregates, macros=macros, may_hold_json=False)
    return lambda node: looked.query(node, None)


def relation_never_null(node: Node, around: Surroundings, premise: Premise = PROMISED) -> frozenset[str]:
    """Columns of a relation that readers may rely on, in small letters.

    Rows of a table are looked at before they are committed, so its promises are proofs. A view's rows may be others when it is
    read. An incremental's or snapshot's older rows were written by other texts: of these only what is asked of all rows counts.
    """
    if node.kind == "source":
        return _of_source(node, around, premise)
    unit = around.units[node.name]
    held = around.deployed(node.name)
    if held is not None and unit.kind not in {"view", "ephemeral"}:
        # Its rows were written some time ago, from other rows than stand above it now: its text proves nothing about them,
        # but a seed's file does, which is what was deployed.
        held |= unit.never_null(around) if unit.kind == "seed" else {"valid_from"} if unit.kind == "snapshot" else frozenset()
        if premise != GIVEN:
            return held
        kept = unit.never_null(around, GIVEN) if unit.known_whole else frozenset(column.name.lower() for column in unit.columns)
        return held | kept
    asked = asked_of(unit)
    match unit.kind:
        case "view" | "ephemeral":
            return unit.never_null(around, premise)
        case "table" | "seed":
            believed = {column for name, column in premise.kept if name == node.name.lower()}
            return unit.never_null(around, _above(premise)) | asked | believed
        case "incremental":
            return unit.never_null(around, GIVEN) | asked if premise == GIVEN else asked
        case "snapshot":
            return (unit.never_null(around, GIVEN) if premise == GIVEN else frozenset()) | asked | {"valid_from"}
        case _ as unreachable:
            assert_never(unreachable)


def _above(premise: Premise) -> Premise:
    """What is believed at the tables above a place, where it is not said of them by name."""
    match premise.believed:
        case "promised" | "tables":
            return PROMISED
        case "given":
            return GIVEN
        case "nothing":
            return NOTHING
        case _ as unreachable:
            assert_never(unreachable)


def _of_source(node: Node, around: Surroundings, premise: Premise) -> frozenset[str]:
    match premise.believed:
        case "promised":
            return promised_by(node.name, around)
        case "given":
            declared = around.sources[node.name].source.columns if node.name in around.sources else None
            said = {name.lower() for name, column in (declared or {}).items() if column.may_hold_nulls}
            return frozenset(column.name.lower() for column in around.columns_of(node) or ()) - said
        case "tables":
            return frozenset()
        case "nothing":
            return frozenset(column for name, column in premise.kept if name == node.name.lower())
        case _ as unreachable:
            assert_never(unreachable)


def promised_by(source: str, around: Surroundings) -> frozenset[str]:
    """Columns of which a source promises that they hold no nulls, in small letters."""
    declared = around.sources[source].source.columns if source in around.sources else None
    return frozenset(name.lower() for name, column in (declared or {}).items() if not column.nullable)


def asked_of(unit: Unit) -> frozenset[str]:
    """Columns whose nulls are counted in every row of a unit's relation before it is committed."""
    promised = {promise.column.lower() for promise in unit.promises.columns if promise.nulls == "forbidden"}
    checks = (check for check in unit.file.checks if check.severity == "error" and check.after == "rows")
    return frozenset(promised.union(*(_asked(check) for check in checks)))


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
