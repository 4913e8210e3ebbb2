"""The exact statements of an item, in the order of the write protocol. Pure."""

from __future__ import annotations

from typing import NamedTuple

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.compiler.restrict import restricted
from interlock.engine.planner import checks as check_sql
from interlock.engine.planner import replaced
from interlock.engine.planner.choice import VALIDITY, Choice, relation_kind
from interlock.engine.planner.frame import Frame, key_of, rows_checks, strategy_of, validity_type
from interlock.engine.planner.plan import Bounds
from interlock.engine.project.project import ModelFile, SeedFile
from interlock.engine.warehouse.duckdb import control, extend, same, snapshot, write
from interlock.engine.warehouse.duckdb.quoting import identifier, relation
from interlock.engine.warehouse.protocol import Statement
from interlock.machines.actions import ADDS, KEEPS, MAKES
from interlock.machines.evidence import Head, Missing, Present, ReceiptBody


def statements_of(
    frame: Frame, model: CompiledModel, choice: Choice, head: Head, target: Missing | Present, bounds: Bounds | None, token: str | None
) -> tuple[Statement, ...]:
    """Every statement of the transaction, reads included, in the order in which they run."""
    rel = relation(model.schema, model.relation)
    cursor = _cursor(bounds, choice)
    body = frame.desk.facts.body(model.name)
    extends = choice.action in ADDS
    statements: list[Statement] = [control.READ_HEADS]
    stands = choice.action in ("recheck", "adopt") and relation_kind(model) == "table"
    old = replaced.old_rows(frame.desk, model, choice, body)
    if extends or stands or (choice.action != "create" and replaced.is_asked(choice, body)):
        statements.append(write.count_before(rel, content=is_guarded(model) and choice.action in KEEPS))
    if old is not None:
        statements.append(old.keep())
    if extends:
        statements += _extend(frame, model, choice, head, rel, cursor, body)
    elif choice.action in MAKES:
        if isinstance(target, Present) and choice.action != "create":
            statements.append(write.drop(target.kind, rel))
        statements += _make(frame, model, rel, cursor, choice)
    statements += _look(frame, model, choice, rel, cursor, body, old, extends=extends)
    if old is not None:
        statements.append(extend.unstage())
    if choice.action in MAKES or choice.add_columns:
        statements += _bind_dependents(frame, model)
    if token is not None:
        statements.append(write.comment(relation_kind(model), rel, model.description, token))
    elif extends and body is not None and body.digests.note != model.digests.note:
        statements.append(write.comment(relation_kind(model), rel, model.description, head.token))
    statements += [control.INSERT_RECEIPT, control.FENCE]
    return tuple(statements)


def is_guarded(model: CompiledModel) -> bool:
    """Whether its content is looked at before anything is added to it or asked of it."""
    return isinstance(model.file, ModelFile) and model.file.guard == "content"


def _cursor(bounds: Bounds | None, choice: Choice) -> write.Cursor | None:
    if bounds is None:
        return None
    return write.Cursor(
        column=bounds.column,
        type=bounds.type,
        low=bounds.low,
        until=bounds.until,
        ranges=bounds.ranges,
        closed_range="yes" if choice.backfill else "no",
        passes_over=bounds.passes_over,
    )


def _make(frame: Frame, model: CompiledModel, rel: str, cursor: write.Cursor | None, choice: Choice) -> list[Statement]:
    if isinstance(model.file, SeedFile):
        return [write.create_seed(rel, model.columns, model.file.rows)]
    if model.kind == "view":
        return [write.create_view(rel, model.sql)]
    if model.kind == "snapshot":
        own = cursor.name if cursor is not None else write.as_of_literal(frame.as_of)
        created = snapshot.create_snapshot(rel, model.sql, valid_from=own, valid_type=validity_type(model))
        return [created] if cursor is None else [created, write.hold(rel, cursor)]
    if cursor is None:
        return [write.create_table(rel, model.sql)]
    if choice.backfill:
        restricted = f"SELECT * FROM {write.wrapped(model.sql)} WHERE {cursor.staged()}"
        return [write.create_table(rel, restricted)]
    return [write.create_table(rel, model.sql), write.hold(rel, cursor)]


class _Compared(NamedTuple):
    """Columns that rows are compared over, less those that hold the plan's time: what did not exist when they were written is none."""

    names: list[str]
    since: dict[str, str]
    """Of these, those that were added: up to which watermark rows have no value in them."""

    @property
    def always(self) -> list[str]:
        """Those that all rows have values in."""
        return [name for name in self.names if name not in self.since]

    def at(self, watermark: str) -> list[str]:
        """Over these, rows at the watermark are compared: of a column that was added at this very one, some may be older."""
        return [name for name in self.names if self.since.get(name) != watermark]


def _compared(model: CompiledModel, body: ReceiptBody | None) -> _Compared:
    existed = {column.name.lower() for column in body.shape} if body is not None else set()
    left_out = {name.lower() for name in model.as_of_columns}
    added = {each.name.lower(): each.at for each in body.added} if body is not None else {}
    names = [column.name for column in model.columns if column.name.lower() in existed and column.name.lower() not in left_out]
    return _Compared(names, {name: added[name.lower()] for name in names if name.lower() in added})


def _extend(
    frame: Frame, model: CompiledModel, choice: Choice, head: Head, rel: str, cursor: write.Cursor | None, body: ReceiptBody | None
) -> list[Statement]:
    names = [column.name for column in model.columns]
    statements = [write.add_column(rel, column, number) for number, column in enumerate(choice.add_columns)]
    key = list(key_of(model))
    types = _types(model)
    if model.kind == "snapshot":
        return [*statements, *_snapshot(frame, model, rel, cursor)]
    assert cursor is not None
    assert isinstance(model.file, ModelFile)
    old = head.watermark if choice.action in ("append", "merge") else None
    statements.append(extend.stage(restricted_sql(model, cursor), cursor))
    keeps = rel if choice.action == "append" and key and model.file.on_conflict == "keep" else None
    low, high = (old.low, old.high) if old else (None, None)
    statements.append(extend.look_delta(cursor, key, old_low=low, old_high=high, keeps=keeps, stays=cursor.passes_over))
    if model.file.late == "count" and not choice.backfill:
        statements.append(extend.late(rel, model.sql, cursor, _compared(model, body).always, types))
    if choice.action == "append":
        statements += _append(model.file, head, rel, cursor, names, key, _compared(model, body), types)
    elif choice.action == "merge":
        if body is not None and not _written_by_this_key(model, body):
            statements.append(extend.keys_twice(rel, key))
        touched = extend.touched_by_key(key)
        passed_over = extend.passed_over(rel, names, cursor, key, types)
        statements += [
            write.fingerprint("print_before", rel, touched),
            *([passed_over] if passed_over is not None else []),
            extend.merge(rel, names, cursor, key, types),
            write.fingerprint("print_after", rel, touched),
        ]
    else:
        if key:
            statements.append(extend.keys_outside(rel, key, cursor))
        assert cursor.ranges, "rows are inserted by ranges only, the same that are deleted"
        touched = cursor.in_ranges()
        statements += [
            write.fingerprint("print_before", rel, touched),
            extend.delete_ranges(rel, cursor),
            extend.insert_ranges(rel, names, cursor),
            write.fingerprint("print_after", rel, touched),
        ]
    return [*statements, extend.unstage()]


def _written_by_this_key(model: CompiledModel, body: ReceiptBody) -> bool:
    """Whether what stands there was written by the same strategy and key, so that each key is there once."""
    return all(body.parts.get(part) == model.definition_parts.get(part) for part in ("keys", "strategy"))


def restricted_sql(model: CompiledModel, cursor: write.Cursor) -> str:
    """The model's SQL, with a predicate where its author asked for one by `restrict`: it changes what the text means."""
    lows = [span.low for span in cursor.ranges] if cursor.ranges else [cursor.low or ""]
    if not model.restricted or "" in lows:
        return model.sql
    low = cursor.at(lows[0])
    columns = {span.pair: identifier(span.pair.rpartition(".")[2]) for span in model.restricted}
    # A row without a time is no older one: it has to come out, so that it is seen and refused.
    return restricted(model, {pair: f"({column} >= {low} OR {column} IS NULL)" for pair, column in columns.items()})


def _append(
    file: ModelFile,
    head: Head,
    rel: str,
    cursor: write.Cursor,
    names: list[str],
    key: list[str],
    compared: _Compared,
    types: dict[str, str],
) -> list[Statement]:
    watermark = head.watermark.high if head.watermark is not None else None
    touched = f"{cursor.name} >= {cursor.at(cursor.low)}" if cursor.low is not None else "TRUE"
    statements = []
    if watermark is not None:
        statements.append(extend.changed_at_watermark(rel, cursor, watermark, compared.at(watermark), key, types))
    if key:
        conflicting = extend.conflicting_keys(rel, key, compared.always, compared.since, cursor, types)
        role = "kept_keys" if file.on_conflict == "keep" else conflicting.role
        statements.append(Statement(role=role, text=conflicting.text))
    statements.append(write.fingerprint("print_before", rel, touched))
    if key:
        statements.append(extend.insert_absent(rel, names, cursor, key))
    else:
        statements.append(extend.insert_new(rel, names, cursor, watermark))
        if watermark is not None:
            statements.append(extend.insert_ties(rel, names, cursor, watermark, compared.at(watermark), types))
    statements.append(write.fingerprint("print_after", rel, touched))
    return statements


def _types(model: CompiledModel) -> dict[str, str]:
    """Types of the model's columns, by name in small letters."""
    return {column.name.lower(): column.type for column in model.columns}


def snapshot_shape(model: CompiledModel, as_of: str, updated_at: write.Cursor | None) -> snapshot.SnapshotShape:
    """How the snapshot tells versions.

    Args:
        model: the snapshot.
        as_of: the plan's time.
        updated_at: the column that dates its versions, and its upper end; `None` where columns are compared.
    """
    assert isinstance(model.file, ModelFile)
    names = tuple(column.name for column in model.columns)
    key = model.file.unique_key
    return snapshot.SnapshotShape(
        columns=names,
        key=key,
        updated_at=updated_at,
        # A key that is equal and not the same (`Anna`, `anna` under a collation) is another value, like any.
        compared=model.file.compare
        or tuple(name for name in names if name not in model.as_of_columns and (name not in key or name in same.loose(key, _types(model)))),
        types=_types(model),
        valid_type=validity_type(model),
        as_of=write.as_of_literal(as_of),
    )


def _snapshot(frame: Frame, model: CompiledModel, rel: str, cursor: write.Cursor | None) -> list[Statement]:
    assert isinstance(model.file, ModelFile)
    shape = snapshot_shape(model, frame.as_of, cursor)
    touched = "TRUE" if model.file.hard_deletes == "close" else extend.touched_by_key(shape.key)
    statements = [
        extend.stage(model.sql, None),
        snapshot.look_snapshot_delta(shape, rel),
        write.fingerprint("print_before", rel, touched),
        snapshot.close_versions(shape, rel),
    ]
    if model.file.hard_deletes == "close":
        statements.append(snapshot.close_gone(shape, rel))
    return [*statements, snapshot.insert_versions(shape, rel), write.fingerprint("print_after", rel, touched), extend.unstage()]


def _look(
    frame: Frame,
    model: CompiledModel,
    choice: Choice,
    rel: str,
    cursor: write.Cursor | None,
    body: ReceiptBody | None,
    old: replaced.OldRows | None,
    *,
    extends: bool,
) -> list[Statement]:
    checks = rows_checks(model)
    promised = [promise.column for promise in model.contract if promise.nulls == "forbidden"]
    probes = [probe for check in checks if (probe := check_sql.probe(check, rel, frame.as_of)) is not None]
    own = [statement for check in checks if (statement := check_sql.statement(check, rel)) is not None]
    asked = replaced.is_asked(choice, body)
    if relation_kind(model) == "view" and not promised and not probes and not asked:
        return own
    whole = choice.action in MAKES or choice.action == "adopt"
    valid = _validity_cursor(model)
    keyed = [] if model.kind != "incremental" or not whole else list(key_of(model))
    if model.kind == "snapshot" and choice.action in MAKES:
        keyed = list(key_of(model))
    ends = valid if model.kind == "snapshot" else cursor
    width = model.file.partition if isinstance(model.file, ModelFile) and strategy_of(model) == "partition" and whole else None
    # A range that is empty now would let each run that follows begin, and delete, one range earlier.
    standing = body.watermark if body is not None and choice.action == "replace_range" else None
    statement = write.look(
        rel,
        not_null=promised,
        cursor=ends if (whole or model.kind == "snapshot" or strategy_of(model) == "partition") else None,
        old=replaced.field_of(model, rel, old, body) if body is not None and asked else None,
        key=keyed,
        width=width,
        probes=probes,
        reached=standing.high if standing is not None else None,
        content=relation_kind(model) == "table" and (whole or (extends and body is not None and body.fingerprint is None)),
    )
    return [statement, *own]


def _validity_cursor(model: CompiledModel) -> write.Cursor | None:
    return write.Cursor(column=VALIDITY[0], type=validity_type(model)) if model.kind == "snapshot" else None


def _bind_dependents(frame: Frame, model: CompiledModel) -> list[Statement]:
    """Views that read it and that this plan does not make again must still bind, in this transaction."""
    views = frame.readers.get(model.name, ())
    return [write.bind_view(f"{view.schema}.{view.name}", relation(view.schema, view.name)) for view in views]
