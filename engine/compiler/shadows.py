"""What stands for a model's relation while texts are bound against it: which columns it can have for certain, and its shadow."""

from __future__ import annotations

import re
from typing import Final, Literal

from interlock.engine.compiler.unit import Unit
from interlock.engine.warehouse.duckdb.binder import Shadow
from interlock.engine.warehouse.protocol import ALIAS
from interlock.machines.evidence import Column

_STORABLE: Final = re.compile(
    r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|BLOB|DATE|TIME|INTERVAL|UUID"
    r"|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?"
)
_PLAIN_NAME: Final = re.compile(r"(?!rowid$)[A-Za-z_]\w*", re.ASCII | re.IGNORECASE)


def shadow_of(unit: Unit, columns: tuple[Column, ...]) -> Shadow:
    """An empty stand-in for a unit's relation, with these columns."""
    kind: Literal["table", "view"] = "view" if unit.kind == "view" else "table"
    return Shadow(ALIAS, unit.node.schema, unit.node.relation, kind, columns)


def is_storable(column: Column) -> bool:
    """Whether a relation can have such a column for certain. Of others the engine is asked."""
    return _STORABLE.fullmatch(column.type) is not None and _PLAIN_NAME.fullmatch(column.name) is not None


def repeats(columns: tuple[Column, ...]) -> bool:
    """Whether two columns have one name, which no relation can have."""
    return len({column.name.lower() for column in columns}) < len(columns)
