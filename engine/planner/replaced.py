"""What a relation that took time to collect is held against when it is made anew. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.planner.choice import VALIDITY, Choice, Desk
from interlock.engine.planner.choose import where_it_stands
from interlock.engine.planner.facts import is_made_anew
from interlock.engine.planner.frame import cursor_column, key_of, new_columns, validity_type
from interlock.engine.warehouse.duckdb import replaced
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.protocol import Statement
from interlock.machines.evidence import Column, ReceiptBody, Watermark
from interlock.machines.records import Record


class OldRows(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows that stand there, and what each is known by: that is kept before they go, and looked for in the new rows."""

    relation: str
    """Quoted name."""
    by: replaced.Identity
    columns: tuple[str, ...]

    def keep(self) -> Statement:
        """Of the rows, before they go."""
        return replaced.keep(self.relation, self.columns)


def is_asked(choice: Choice, body: ReceiptBody | None) -> bool:
    """Whether rows that took time to collect are made anew, so that what would go is looked for."""
    return choice.full and is_made_anew(choice.action, body)


def old_rows(desk: Desk, model: CompiledModel, choice: Choice, body: ReceiptBody | None) -> OldRows | None:
    """The rows that the head tells of, where they still stand and the new ones have what they are known by.

    Rows of an incremental model are known by their key, if it has one and it is the one that they were written by: a merge moves a
    row's time, and the row is not gone. Without a key they are known by their watermark; versions of a snapshot by key and beginning.
    """
    if body is None or body.watermark is None or not is_asked(choice, body):
        return None
    stands = where_it_stands(desk, model)
    if stands is None or stands.token in desk.leaving:
        return None
    new = new_columns(model)
    same_key = body.materialized == model.kind and body.parts.get("keys") == model.definition_parts.get("keys")
    key = key_of(model) if same_key else ()
    by: replaced.Identity = "range"
    columns: tuple[str, ...] | None = None
    if key:
        by = "versions" if model.kind == "snapshot" else "keys"
        columns = _shared(stands.columns, new, (*key, VALIDITY[0]) if model.kind == "snapshot" else key)
    if columns is None:
        watermark = old_watermark(model, body.watermark)
        by, columns = "range", None if watermark is None else _shared(stands.columns, new, (watermark,))
    return None if columns is None else OldRows(relation=relation(stands.schema, stands.name), by=by, columns=columns)


def field_of(model: CompiledModel, rel: str, old: OldRows | None, body: ReceiptBody) -> str | None:
    """Of the look over the new rows: what they lack; `None` where nothing but their number can be held against the old ones."""
    if old is not None:
        return replaced.gone(rel, old.columns, old.by)
    column = None if body.watermark is None else old_watermark(model, body.watermark)
    return None if body.watermark is None or column is None else replaced.ends_missed(column, body.watermark)


def old_watermark(model: CompiledModel, old: Watermark) -> str | None:
    """The column of the new rows that the old watermark's values are in: their own watermark, or the one that was it."""
    column = cursor_column(model) if model.kind == "incremental" else None
    if model.kind == "snapshot":
        column = Column(name=VALIDITY[0], type=validity_type(model))
    if column is not None and old.type == column.type and old.column.lower() in ("", column.name.lower()):
        return column.name
    return next((each.name for each in model.columns if each.name.lower() == old.column.lower() and each.type == old.type), None)


def _shared(old: Iterable[Column], new: Iterable[Column], names: Iterable[str]) -> tuple[str, ...] | None:
    """The names, if old and new rows have each of those columns with one type."""
    before, after = ({column.name.lower(): column.type for column in columns} for columns in (old, new))
    wanted = tuple(names)
    found = all(name.lower() in before and before[name.lower()] == after.get(name.lower()) for name in wanted)
    return wanted if found else None
