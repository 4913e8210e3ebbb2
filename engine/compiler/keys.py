"""What is unique in the project's relations, for orders that must be total. Worked out when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from interlock.engine.compiler.floats import Sums, sums_of
from interlock.engine.compiler.functions import COMMONEST, FLOATING, ORDERED, PICKED, SUMS
from interlock.engine.compiler.names import Node
from interlock.engine.compiler.order import Orders, Unsettled
from interlock.engine.compiler.order_shapes import Shape, parts_of
from interlock.engine.compiler.proofs import NOTHING, relation_never_null
from interlock.engine.compiler.reading import Reading
from interlock.engine.project.project import SeedFile, Unique
from interlock.engine.warehouse.duckdb.parser import Tree

if TYPE_CHECKING:
    from interlock.engine.compiler.unit import Surroundings, Unit

_POSITIONS = frozenset({"row_number", "ntile", "first_value", "last_value", "nth_value", "lag", "lead", "fill"})
_MOSTLY = ORDERED | _POSITIONS
_STRICTLY = _MOSTLY | PICKED | COMMONEST | FLOATING | SUMS


def unsettled_in(unit: Unit, around: Surroundings, *, strict: bool = False) -> tuple[Unsettled, ...]:
    """What a model's text leaves to chance, besides volatile functions.

    Args:
        unit: the model.
        around: what is known of all others.
        strict: look for all that keeps rows from being the same again; so it is in any case where the model promises that.
    """
    reading = unit.analysis.expanded if unit.analysis is not None else None
    if reading is None:
        return ()
    strict = strict or (not isinstance(unit.file, SeedFile) and unit.file.deterministic)
    if not _may_be_unsettled(reading, strict=strict):
        return ()
    orders = _orders(unit, around, ties=strict, sums=_sums(unit, around, reading) if strict else None)
    return () if orders is None else tuple(orders.unsettled())


def _may_be_unsettled(reading: Reading, *, strict: bool) -> bool:
    """Whether a second walk is worth it. Of what has an order only ties are left to chance, and `strict` alone asks for these."""
    if reading.picks or reading.by_place or (strict and reading.by_chance):
        return True
    suspects = _STRICTLY if strict else _MOSTLY
    return any((call.name in suspects or call.counts_rows) and (strict or not call.ordered) for call in reading.calls)


def chances_in(unit: Unit, around: Surroundings) -> tuple[str, ...]:
    """What keeps rows from being the same again in a view or ephemeral model, or in those that it reads in its turn; ties and floating sums too."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [unit]
    while waiting:
        each = waiting.pop()
        if each.name in seen or each.analysis is None:
            continue
        seen.add(each.name)
        found |= {one.what for one in unsettled_in(each, around, strict=True)}
        read = (around.units.get(place.node.name) for place in each.analysis.places if place.node.kind == "model")
        waiting += [other for other in read if other is not None and other.kind in {"view", "ephemeral"}]
    return tuple(sorted(found))


def _sums(unit: Unit, around: Surroundings, reading: Reading) -> Sums:
    """Which of its sums are of floating point numbers. The engine is asked only where there are any."""
    if not any(call.name in SUMS for call in reading.calls) or unit.analysis is None:
        return Sums(frozenset(), {})
    plan = around.binder.plan_of(unit.analysis.rendered(around.bound).text)
    return sums_of(plan, is_plain=_is_plain(reading.root))


def _is_plain(root: Tree) -> bool:
    """Whether names of columns can only be those of the relations that are read: one SELECT, no CTE, nothing derived."""
    return root.get("type") == "SELECT_NODE" and sum(part.get("type") in {"SELECT_NODE", "SUBQUERY"} for part in parts_of(root)) == 1


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


def _orders(unit: Unit, around: Surroundings, *, ties: bool, sums: Sums | None = None) -> Orders | None:
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
        sums=sums,
    )
