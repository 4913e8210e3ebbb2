"""Which columns a statement proves never null, for tests that have tables of their own."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.engine.compiler.expansion import Bodies
from interlock.engine.compiler.nullability import Nullability
from interlock.engine.compiler.reading import Reading
from interlock.engine.compiler.relations import Column, Columns
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.parser import Statements, Tree

Tables = Mapping[str, Mapping[str, str]]
"""Of each table its columns: the type, with `NOT NULL` after it where it is declared so."""


def known(tables: Tables, table: Tree) -> Columns:
    columns = tables.get(table["qualified_name"]["path"][-1].lower())
    if columns is None:
        return None
    return tuple(
        Column(name, never_null="NOT NULL" in kind, json="JSON" in kind, type=kind.removesuffix(" NOT NULL"))
        for name, kind in columns.items()
    )


def proved(
    text: str, tables: Tables, settings: Mapping[str, str] | None = None, macros: Mapping[str, str] | None = None
) -> list[bool] | None:
    """For each output column whether it is proved; nothing where the pass gives up. `macros`: statements by name."""
    found = parser.parse(text)
    assert isinstance(found, Statements), found
    reading = Reading(Bodies((macros or {}).values()).expanded(found.trees[0]))
    looked = Nullability(
        reading, lambda table: known(tables, table), aggregates=parser.functions().aggregates, settings=settings, macros=macros
    ).root()
    return None if looked is None else [column.never_null for column in looked]
