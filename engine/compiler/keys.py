"""What is unique in the project's relations, for orders that must be total. Worked out when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from interlock.engine.compiler.functions import ORDERED, PICKED
from interlock.engine.compiler.names import Node
from interlock.engine.compiler.order import Orders, Unsettled
from interlock.engine.compiler.order_shapes import Shape
from interlock.engine.compiler.proofs import NOTHING, relation_never_null
from interlock.engine.project.project import SeedFile, Unique
from interlock.engine.warehouse.duckdb.parser import Tree

if TYPE_CHECKING:
    from interlock.engine.compiler.unit import Surroundings, Unit

_POSITIONS = frozenset({"row_number", "ntile", "first_value", "last_value", "nth_value", "lag", "lead"})


def unsettled_in(unit: Unit, around: Surroundings) -> tuple[Unsettled, ...]:
    """What a model's text leaves to chance, besides volatile functions."""
    reading = unit.analysis.expanded if unit.analysis is not None else None
    if reading is None:
        return ()
    suspects = ORDERED | PICKED | _POSITIONS
    if not (reading.by_place or {"LIMIT", "DISTINCT"} & reading.notes or any(call.name in suspects for call in reading.calls)):
        return ()
    orders = _orders(unit, around, ties=not isinstance(unit.file, SeedFile) and unit.file.deterministic)
    return () if orders is None else tuple(orders.unsettled())


def query_shape(unit: Unit, around: Surroundings) -> Shape:
    """Columns and keys of a model's query, from its text alone."""
    orders = _orders(unit, around, ties=False)
    shape = Shape(None) if orders is None else orders.shape()
    names = tuple(column.name.lower() for column in unit.columns)
    return Shape(names, shape.keys if shape.columns == names or shape.columns is None else ())


def relation_shape(node: Node, around: Surroundings) -> Shape:
    """Columns and keys of a relation that readers may rely on.

    A key is what the relation's own rows are asked for before they are visible (a `unique` check of columns that hold no null,
    the key of an incremental), or what the text of a view makes unique.
    """
    columns = around.columns_of(node)
    if columns is None:
        return Shape(None)
    names = tuple(column.name.lower() for column in columns)
    if node.kind == "source":
        return Shape(names)
    unit = around.units[node.name]
    asked = [
        frozenset(column.lower() for column in check.question.columns)
        for check in unit.file.checks
        if isinstance(check.question, Unique) and check.severity == "error" and check.after == "rows"
    ]
    keys: list[frozenset[str]] = []
    if asked and unit.kind not in {"view", "ephemeral"}:  # the proof is not worked out where nothing rests on it
        never_null = relation_never_null(node, around, NOTHING)  # what sources promise is not asked for an order's sake
        keys = [key for key in asked if key <= never_null]
    match unit.kind:
        case "view" | "ephemeral" | "table":
            keys += unit.shape(around).keys
        case "incremental":
            if not isinstance(unit.file, SeedFile) and unit.file.unique_key and unit.file.strategy in {"merge", "append"}:
                keys.append(frozenset(column.lower() for column in unit.file.unique_key))
        case "snapshot":
            if not isinstance(unit.file, SeedFile):
                keys.append(frozenset({*(column.lower() for column in unit.file.unique_key), "valid_from"}))
        case "seed":
            keys += _keys_of_seed(unit.file) if isinstance(unit.file, SeedFile) else []
        case _ as unreachable:
            assert_never(unreachable)
    return Shape(names, tuple(dict.fromkeys(keys)))


def _keys_of_seed(seed: SeedFile) -> list[frozenset[str]]:
    """Columns in which no two rows of the file are equal."""
    found = []
    for index, column in enumerate(seed.columns):
        cells = [row[index] for row in seed.rows]
        if column.type in {"VARCHAR", "INTEGER", "BIGINT", "DATE"} and None not in cells and len(set(cells)) == len(cells):
            found.append(frozenset({column.name.lower()}))
    return found


def _orders(unit: Unit, around: Surroundings, *, ties: bool) -> Orders | None:
    analysis = unit.analysis
    reading = analysis.expanded if analysis is not None else None
    if analysis is None or reading is None or not unit.bound:
        return None
    by_reference = {place.reference: place.node for place in analysis.places}

    def known(table: Tree) -> Shape:
        reference = reading.reference_of(table)
        node = by_reference.get(reference) if reference is not None else None
        return Shape(None) if node is None else relation_shape(node, around)

    return Orders(
        reading,
        known,
        aggregates=around.aggregates,
        collation=around.collation,
        macros=frozenset(around.context.macros.by_name),
        ties=ties,
    )
