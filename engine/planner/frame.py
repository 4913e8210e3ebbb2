"""What is the same for every item of a plan, and small questions about a compiled model. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from interlock.engine.compiler.compiled import CompiledCheck, CompiledModel
from interlock.engine.planner.choice import VALIDITY, Desk
from interlock.engine.project.project import ModelFile
from interlock.engine.warehouse.protocol import RelationSeen
from interlock.machines.evidence import Column

AFTER = ":after"
"""Ends the key of the recheck that comes after publication."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is the same for every item of a plan."""

    desk: Desk
    project: str
    as_of: str
    moment: datetime
    planned: frozenset[str]
    """Models that this plan has an item for and that do something, or are refused."""
    readers: Mapping[str, tuple[RelationSeen, ...]]
    """By model that is made anew: views that read it, bind now, and are not made anew themselves."""
    relied_on: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By model, and by source that it reads: columns whose promise of no nulls a contract of this plan rests on."""


def rows_checks(model: CompiledModel) -> tuple[CompiledCheck, ...]:
    """Checks that are asked before the rows are visible."""
    return tuple(check for check in model.checks if check.check.after == "rows")


def strategy_of(model: CompiledModel) -> str | None:
    """How an incremental model is extended."""
    return model.file.strategy if isinstance(model.file, ModelFile) else None


def key_of(model: CompiledModel) -> tuple[str, ...]:
    """The unique key, where the kind of the model has one."""
    return model.file.unique_key if isinstance(model.file, ModelFile) and model.kind in ("incremental", "snapshot") else ()


def validity_type(model: CompiledModel) -> str:
    """Type of a snapshot's validity: that of `updated_at`, or of `$as_of`."""
    own = updated_at_column(model)
    return "TIMESTAMP WITH TIME ZONE" if own is None else own.type


def new_columns(model: CompiledModel) -> tuple[Column, ...]:
    """The columns that the relation has once it is made, those of a snapshot's validity included."""
    if model.kind != "snapshot":
        return model.columns
    type_ = validity_type(model)
    return (*model.columns, *(Column(name=name, type=type_) for name in VALIDITY))


def updated_at_column(model: CompiledModel) -> Column | None:
    """The output column that dates the versions of a snapshot; `None` where columns are compared."""
    if model.kind != "snapshot" or not isinstance(model.file, ModelFile) or model.file.snapshot_by != "updated_at":
        return None
    name = (model.file.updated_at or "").lower()
    return next((column for column in model.columns if column.name.lower() == name), None)


def cursor_column(model: CompiledModel) -> Column | None:
    """The output column that an incremental model is restricted by."""
    if model.kind != "incremental":
        return None
    assert isinstance(model.file, ModelFile)
    name = (model.file.partition_column or model.file.watermark) if model.file.strategy == "partition" else model.file.watermark
    return next((column for column in model.columns if column.name.lower() == (name or "").lower()), None)
