"""Which columns a model's checks and settings name: they are readers too, and break without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, assert_never

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.compiler.names import Names, Unresolved
from interlock.engine.project.project import (
    AcceptedValues,
    CustomSql,
    ExpressionHolds,
    Freshness,
    ModelFile,
    NotNull,
    Question,
    Relationships,
    RowCount,
    Unique,
)
from interlock.engine.warehouse.duckdb import parser


def asked_by(model: CompiledModel, relation: str, column: str, names: Names) -> Iterator[Literal["contract", "checks", "settings"]]:
    """What of a model's sidecar names a column of a relation: its own, or one that a check or `restrict` of it reads.

    The SQL of a check is looked at by its words: one that has a column's name by chance is told too.

    Args:
        model: whose sidecar it is.
        relation: of the column, as the project has its name.
        column: its name.
        names: that resolve what is written.
    """
    own, small = relation == model.name, column.lower()
    if own and any(promise.column.lower() == small for promise in model.contract):
        yield "contract"
    if any(_asks(check.check.question, model, relation, small, names) for check in model.checks):
        yield "checks"
    if isinstance(model.file, ModelFile) and _sets(model.file, relation, small, names, own=own):
        yield "settings"


def _asks(question: Question, model: CompiledModel, relation: str, small: str, names: Names) -> bool:
    own = relation == model.name
    match question:
        case Unique(columns=columns) | NotNull(columns=columns):
            return own and small in {each.lower() for each in columns}
        case AcceptedValues(column=column) | Freshness(column=column):
            return own and column.lower() == small
        case Relationships(column=column, to=to, to_column=to_column):
            return (own and column.lower() == small) or (to_column.lower() == small and _is(to, relation, names))
        case ExpressionHolds(expression=text) | CustomSql(sql=text):
            return small in text.lower() and _speaks_of(text, relation, small, own=own)
        case RowCount():
            return False
        case _ as unreachable:
            assert_never(unreachable)


def _sets(file: ModelFile, relation: str, small: str, names: Names, *, own: bool) -> bool:
    settings = (file.watermark, file.partition_column, file.updated_at, *file.unique_key, *file.compare)
    if own and small in {each.lower() for each in settings if each is not None}:
        return True
    pairs = [pair.rpartition(".") for pair in file.restrict]
    return any(name.lower() == small and _is(there, relation, names) for there, _, name in pairs)


def _is(written: str, relation: str, names: Names) -> bool:
    found = names.resolve(tuple(written.split(".")))
    return not isinstance(found, Unresolved) and found.name == relation


def _speaks_of(text: str, relation: str, small: str, *, own: bool) -> bool:
    words = {token.text.strip('"').lower() for token in parser.tokens(text) if token.kind in {"identifier", "keyword"}}
    return small in words and (own or relation.rpartition(".")[2].lower() in words)
