"""From a choice to an item of the plan: the exact statements in the order of the write protocol, and all that is pinned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from interlock.engine.compiler.compiled import CompiledCheck, CompiledModel
from interlock.engine.compiler.restrict import restricted
from interlock.engine.planner import checks as check_sql
from interlock.engine.planner.choose import VALIDITY, Choice, Desk, files_of, relation_kind
from interlock.engine.planner.cursors import open_ended, until_of
from interlock.engine.planner.facts import head_of, target_of
from interlock.engine.planner.plan import WRITES_ROWS, Bounds, Item
from interlock.engine.project.project import ModelFile, SeedFile
from interlock.engine.warehouse.duckdb import control, write
from interlock.engine.warehouse.duckdb.quoting import identifier, relation, string
from interlock.engine.warehouse.protocol import HeadRow, RelationSeen, Statement
from interlock.machines.evidence import CheckPin, Column, Head, Missing, Present, ReceiptBody, SourceSeen, Span
from interlock.machines.records import digest_of

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


def token_of(project: str, model: str, head: str | None, definition: str) -> str:
    """What a relation's comment will carry; known when planned, for a COMMENT takes no parameter."""
    return digest_of("token", {"project": project, "model": model, "head": head, "definition": definition})


def build(frame: Frame, model: CompiledModel, choice: Choice) -> Item:
    """The item for one model."""
    desk = frame.desk
    seen = desk.seen(model)
    head = _head(frame, model)
    target = target_of(seen)
    if choice.action in ("no_op", "refuse"):
        return _plain(model, choice, head, target)
    if choice.action == "create":
        target = Missing()
    sets_token = choice.action in ("create", "replace", "convert", "adopt")
    token = token_of(frame.project, model.name, head.receipt, model.digests.definition) if sets_token else head.token
    bounds = _bounds(frame, model, choice, head)
    statements = _statements(frame, model, choice, head, target, bounds, token if sets_token else None)
    reads = tuple(
        sorted({*model.tables_read, *model.views_read, *(name for check in rows_checks(model) for name in check.reads)} - {model.name})
    )
    reads = tuple(name for name in reads if desk.compiled.models[name].kind != "ephemeral")
    return Item(
        model=model.name,
        kind=model.kind if model.kind != "ephemeral" else "view",
        action=choice.action,
        reasons=choice.reasons,
        notes=(*choice.notes, *_notes(frame, model, choice, bounds)),
        strategy=_strategy(model),
        schema=model.schema,
        relation=model.relation,
        path=model.path,
        layer=model.layer,
        digests=model.digests,
        parts=model.definition_parts,
        text=model.text,
        canonical=model.canonical,
        columns=_columns(model),
        relation_kind=relation_kind(model),
        upstreams=tuple(name for name in reads if name in frame.planned),
        reads=reads,
        reads_planned={name: desk.facts.head(name).receipt for name in reads if name not in frame.planned},
        sources=tuple(
            SourceSeen(source=name, fingerprint=desk.facts.fingerprints.get(name, "none"), files=files_of(desk.compiled, name))
            for name in model.sources_read
        ),
        head=head,
        target=target,
        token=token,
        sets_token="set" if sets_token else "keep",
        contract=model.contract,
        extra_columns=model.extra_columns,
        contract_findings=model.contract_findings,
        checks=tuple(CheckPin(check=check.check.name, severity=check.check.severity) for check in rows_checks(model)),
        bounds=bounds,
        unique_key=_key(model),
        statements=statements,
        seed_rows=model.file.content_digest if isinstance(model.file, SeedFile) else "",
        full_refresh="asked" if choice.full else "not_asked",
        shrink="allowed" if model.name in desk.options.allow_shrink else "not_allowed",
    )


def _plain(model: CompiledModel, choice: Choice, head: Head, target: Missing | Present) -> Item:
    return Item(
        model=model.name,
        kind=model.kind if model.kind != "ephemeral" else "view",
        action=choice.action,
        reasons=choice.reasons,
        notes=choice.notes,
        strategy=_strategy(model),
        schema=model.schema,
        relation=model.relation,
        path=model.path,
        layer=model.layer,
        digests=model.digests,
        columns=_columns(model),
        relation_kind=relation_kind(model),
        head=head,
        target=target,
        token=head.token,
        sets_token="keep",
        refusal=choice.refusal,
        upstreams=(),
    )


def rows_checks(model: CompiledModel) -> tuple[CompiledCheck, ...]:
    """Checks that are asked before the rows are visible."""
    return tuple(check for check in model.checks if check.check.after == "rows")


def _head(frame: Frame, model: CompiledModel) -> Head:
    row = frame.desk.facts.head(model.name)
    body = frame.desk.facts.body(model.name)
    # A fingerprint of another engine cannot be compared: it is not evaluated, and the next one is of this engine.
    comparable = body is not None and body.fingerprint is not None and body.fingerprint.engine == frame.desk.compiled.engine
    content = isinstance(model.file, ModelFile) and model.file.guard == "content" and comparable
    return head_of(row, body, content=content)


def _strategy(model: CompiledModel) -> str | None:
    return model.file.strategy if isinstance(model.file, ModelFile) else None


def _key(model: CompiledModel) -> tuple[str, ...]:
    return model.file.unique_key if isinstance(model.file, ModelFile) and model.kind in ("incremental", "snapshot") else ()


def _columns(model: CompiledModel) -> tuple[Column, ...]:
    if model.kind != "snapshot":
        return model.columns
    type_ = validity_type(model)
    return (*model.columns, *(Column(name=name, type=type_) for name in VALIDITY))


def validity_type(model: CompiledModel) -> str:
    """Type of a snapshot's validity: that of `updated_at`, or of `$as_of`."""
    assert isinstance(model.file, ModelFile)
    if model.file.snapshot_by == "updated_at":
        (type_,) = (column.type for column in model.columns if column.name.lower() == (model.file.updated_at or "").lower())
        return type_
    return "TIMESTAMP WITH TIME ZONE"


def cursor_column(model: CompiledModel) -> Column | None:
    """The output column that an incremental model is restricted by."""
    if model.kind != "incremental":
        return None
    assert isinstance(model.file, ModelFile)
    name = (model.file.partition_column or model.file.watermark) if model.file.strategy == "partition" else model.file.watermark
    return next((column for column in model.columns if column.name.lower() == (name or "").lower()), None)


def _bounds(frame: Frame, model: CompiledModel, choice: Choice, head: Head) -> Bounds | None:
    column = cursor_column(model)
    if column is None or choice.action not in (*WRITES_ROWS, "adopt"):
        return None
    if choice.action == "adopt":
        return Bounds(column=column.name, type=column.type)
    assert isinstance(model.file, ModelFile)
    file = model.file
    facts = frame.desk.facts.cursors.get(model.name)
    until = facts.until if facts is not None else until_of(file, column.type, frame.moment)
    low: str | None = None
    ranges: tuple[Span, ...] = ()
    covered: tuple[Span, ...] = ()
    is_partition = file.strategy == "partition"
    if choice.backfill and facts is not None:
        span = Span(low=facts.range_low or "", high=facts.range_high or until or "")
        ranges = (span,)
        covered = facts.covered_backfill if choice.action == "replace_range" else (span,)
    elif choice.action in ("create", "replace", "convert"):
        covered = (Span(low="", high=until or ""),) if is_partition else ()
    elif is_partition and facts is not None:
        ranges, covered = facts.ranges, facts.covered
    elif facts is not None:
        low = facts.low if head.watermark is not None else None
    return Bounds(
        column=column.name,
        type=column.type,
        low=low,
        until=until,
        ranges=ranges,
        covered=covered if is_partition else (),
        lookback=file.lookback,
        open_ended=open_ended(file, column.type) if until is None else "",
        beyond=file.future,
    )


def _notes(frame: Frame, model: CompiledModel, choice: Choice, bounds: Bounds | None) -> tuple[str, ...]:
    notes: list[str] = []
    if bounds is not None and choice.action in ("append", "merge", "replace_range") and not choice.backfill:
        assert isinstance(model.file, ModelFile)
        low = bounds.low or (bounds.ranges[-1].low if bounds.ranges else None)
        if low is not None:
            notes.append(
                f"rows with {bounds.column} below {low} that arrive late are {'counted, not loaded' if model.file.late == 'count' else 'not looked at'}"
            )
        if model.restricted and low is not None:
            pairs = ", ".join(sorted({span.pair for span in model.restricted}))
            notes.append(
                f"restrict: rows with {pairs} below {bounds.ranges[0].low if bounds.ranges else low} are not read, which changes what the text means"
            )
        notes += [f"reads all of {name}; `restrict` can change that" for name in frame.desk.facts.reads_all.get(model.name, ())]
        if choice.action == "append" and model.notes:
            notes.append(
                f"the query has {', '.join(model.notes)}: rows at the watermark must come out as they were written, or the run refuses"
            )
        if choice.action == "merge":
            notes.append("rows deleted at the source stay")
    if bounds is not None and bounds.open_ended:
        notes.append(bounds.open_ended)
    if choice.full and model.name in frame.desk.options.allow_shrink:
        notes.append("it may end with fewer rows than it has: --allow-shrink")
    return tuple(notes)


# --- statements -------------------------------------------------------------------------------------------------------


def _statements(
    frame: Frame, model: CompiledModel, choice: Choice, head: Head, target: Missing | Present, bounds: Bounds | None, token: str | None
) -> tuple[Statement, ...]:
    rel = relation(model.schema, model.relation)
    cursor = _cursor(bounds, choice)
    body = frame.desk.facts.body(model.name)
    content = isinstance(model.file, ModelFile) and model.file.guard == "content"
    extends = choice.action in ("append", "merge", "replace_range", "snapshot")
    statements: list[Statement] = [control.READ_HEADS]
    if extends or (choice.action in ("recheck", "adopt") and relation_kind(model) == "table") or _shrink_is_asked(choice, body):
        statements.append(write.count_before(rel, content=content and extends))
    if extends:
        statements += _extend(frame, model, choice, head, rel, cursor, body)
    elif choice.action in ("create", "replace", "convert"):
        if isinstance(target, Present) and choice.action != "create":
            statements.append(write.drop(target.kind, rel))
        statements += _make(frame, model, rel, cursor, choice)
    statements += _look(frame, model, choice, rel, cursor, body, extends=extends)
    if choice.action in ("create", "replace", "convert"):
        statements += _bind_dependents(frame, model)
    if token is not None:
        statements.append(write.comment(relation_kind(model), rel, model.description, token))
    elif extends and body is not None and body.digests.note != model.digests.note:
        statements.append(write.comment(relation_kind(model), rel, model.description, head.token))
    statements += [control.INSERT_RECEIPT, control.FENCE]
    return tuple(statements)


def _shrink_is_asked(choice: Choice, body: ReceiptBody | None) -> bool:
    return choice.full and choice.action != "create" and body is not None


def _cursor(bounds: Bounds | None, choice: Choice) -> write.Cursor | None:
    if bounds is None:
        return None
    return write.Cursor(
        column=bounds.column,
        type=bounds.type,
        low=bounds.low,
        until=bounds.until,
        ranges=bounds.ranges,
        refuse_beyond="yes" if bounds.beyond == "refuse" else "no",
        closed_range="yes" if choice.backfill else "no",
    )


def _make(frame: Frame, model: CompiledModel, rel: str, cursor: write.Cursor | None, choice: Choice) -> list[Statement]:
    if isinstance(model.file, SeedFile):
        return [write.create_seed(rel, model.columns, model.file.rows)]
    if model.kind == "view":
        return [write.create_view(rel, model.sql)]
    if model.kind == "snapshot":
        own = (
            identifier(model.file.updated_at)
            if model.file.snapshot_by == "updated_at" and model.file.updated_at
            else write.as_of_literal(frame.as_of)
        )
        return [write.create_snapshot(rel, model.sql, valid_from=own, valid_type=validity_type(model))]
    if cursor is None:
        return [write.create_table(rel, model.sql)]
    if choice.backfill:
        restricted = f"SELECT * FROM {write.wrapped(model.sql)} WHERE {cursor.staged()}"
        return [write.create_table(rel, restricted)]
    return [write.create_table(rel, model.sql), write.hold(rel, cursor)]


def _compared(model: CompiledModel, body: ReceiptBody | None) -> list[str]:
    """Columns that existed when rows were written, less those that hold the plan's time."""
    existed = {column.name.lower() for column in body.shape} if body is not None else set()
    left_out = {name.lower() for name in model.as_of_columns}
    return [column.name for column in model.columns if column.name.lower() in existed and column.name.lower() not in left_out]


def _extend(
    frame: Frame, model: CompiledModel, choice: Choice, head: Head, rel: str, cursor: write.Cursor | None, body: ReceiptBody | None
) -> list[Statement]:
    names = [column.name for column in model.columns]
    statements = [write.add_column(rel, column, number) for number, column in enumerate(choice.add_columns)]
    key = list(_key(model))
    if model.kind == "snapshot":
        return [*statements, *_snapshot(frame, model, rel)]
    assert cursor is not None
    assert isinstance(model.file, ModelFile)
    old = head.watermark if choice.action in ("append", "merge") else None
    statements.append(write.stage(restricted_sql(model, cursor), cursor))
    statements.append(write.look_delta(cursor, key, old_low=old.low if old else None, old_high=old.high if old else None))
    if model.file.late == "count" and not choice.backfill:
        statements.append(write.late(rel, model.sql, cursor, _compared(model, body)))
    if choice.action == "append":
        statements += _append(model.file, head, rel, cursor, names, key, _compared(model, body))
    elif choice.action == "merge":
        touched = write.touched_by_key(key)
        statements += [
            write.fingerprint("print_before", rel, touched),
            write.merge(rel, names, cursor, key),
            write.fingerprint("print_after", rel, touched),
        ]
    else:
        if key:
            statements.append(write.keys_outside(rel, key, cursor))
        touched = cursor.in_ranges()
        statements += [
            write.fingerprint("print_before", rel, touched),
            write.delete_ranges(rel, cursor),
            write.insert_ranges(rel, names, cursor),
            write.fingerprint("print_after", rel, touched),
        ]
    return [*statements, write.unstage()]


def restricted_sql(model: CompiledModel, cursor: write.Cursor) -> str:
    """The model's SQL, with a predicate where its author asked for one by `restrict`: it changes what the text means."""
    lows = [span.low for span in cursor.ranges] if cursor.ranges else [cursor.low or ""]
    if not model.restricted or "" in lows:
        return model.sql
    low = cursor.at(lows[0])
    return restricted(model, {span.pair: f"{identifier(span.pair.rpartition('.')[2])} >= {low}" for span in model.restricted})


def _append(
    file: ModelFile,
    head: Head,
    rel: str,
    cursor: write.Cursor,
    names: list[str],
    key: list[str],
    compared: list[str],
) -> list[Statement]:
    watermark = head.watermark.high if head.watermark is not None else None
    touched = f"{cursor.name} >= {cursor.at(cursor.low)}" if cursor.low is not None else "TRUE"
    statements = []
    if watermark is not None:
        statements.append(write.changed_at_watermark(rel, cursor, watermark, compared, key))
    if key:
        conflicting = write.conflicting_keys(rel, key, compared, cursor)
        role = "kept_keys" if file.on_conflict == "keep" else conflicting.role
        statements.append(Statement(role=role, text=conflicting.text))
    statements.append(write.fingerprint("print_before", rel, touched))
    if key:
        statements.append(write.insert_absent(rel, names, cursor, key))
    else:
        statements.append(write.insert_new(rel, names, cursor, watermark))
        if watermark is not None:
            statements.append(write.insert_ties(rel, names, cursor, watermark, compared))
    statements.append(write.fingerprint("print_after", rel, touched))
    return statements


def snapshot_shape(model: CompiledModel, as_of: str) -> write.SnapshotShape:
    """How the snapshot tells versions."""
    assert isinstance(model.file, ModelFile)
    names = tuple(column.name for column in model.columns)
    key = model.file.unique_key
    return write.SnapshotShape(
        columns=names,
        key=key,
        updated_at=model.file.updated_at if model.file.snapshot_by == "updated_at" else None,
        compared=model.file.compare or tuple(name for name in names if name not in key and name not in model.as_of_columns),
        valid_type=validity_type(model),
        as_of=write.as_of_literal(as_of),
    )


def _snapshot(frame: Frame, model: CompiledModel, rel: str) -> list[Statement]:
    assert isinstance(model.file, ModelFile)
    shape = snapshot_shape(model, frame.as_of)
    touched = "TRUE" if model.file.hard_deletes == "close" else write.touched_by_key(shape.key)
    statements = [
        write.stage(model.sql, None),
        write.look_snapshot_delta(shape, rel),
        write.fingerprint("print_before", rel, touched),
        write.close_versions(shape, rel),
    ]
    if model.file.hard_deletes == "close":
        statements.append(write.close_gone(shape, rel))
    return [*statements, write.insert_versions(shape, rel), write.fingerprint("print_after", rel, touched), write.unstage()]


def _look(
    frame: Frame, model: CompiledModel, choice: Choice, rel: str, cursor: write.Cursor | None, body: ReceiptBody | None, *, extends: bool
) -> list[Statement]:
    checks = rows_checks(model)
    promised = [promise.column for promise in model.contract if promise.nulls == "forbidden"]
    probes = [probe for check in checks if (probe := check_sql.probe(check, rel, frame.as_of)) is not None]
    own = [statement for check in checks if (statement := check_sql.statement(check, rel)) is not None]
    if relation_kind(model) == "view" and not promised and not probes:
        return own
    whole = choice.action in ("create", "replace", "convert", "adopt")
    valid = _validity_cursor(model)
    old = body.watermark if _shrink_is_asked(choice, body) and body is not None else None
    keyed = [] if model.kind != "incremental" or not whole else list(_key(model))
    if model.kind == "snapshot" and choice.action in ("create", "replace", "convert"):
        keyed = list(_key(model))
    ends = valid if model.kind == "snapshot" else cursor
    width = model.file.partition if isinstance(model.file, ModelFile) and _strategy(model) == "partition" and whole else None
    same_type = old is not None and ends is not None and old.type == ends.type
    statement = write.look(
        rel,
        not_null=promised,
        cursor=ends if (whole or model.kind == "snapshot" or _strategy(model) == "partition") else None,
        old=(old.low, old.high) if old is not None and same_type else None,
        key=keyed,
        width=width,
        probes=probes,
        content=relation_kind(model) == "table" and (whole or (extends and body is not None and body.fingerprint is None)),
    )
    return [statement, *own]


def _validity_cursor(model: CompiledModel) -> write.Cursor | None:
    return write.Cursor(column=VALIDITY[0], type=validity_type(model)) if model.kind == "snapshot" else None


def _bind_dependents(frame: Frame, model: CompiledModel) -> list[Statement]:
    """Views that read it and that this plan does not make again must still bind, in this transaction."""
    views = frame.readers.get(model.name, ())
    return [write.bind_view(f"{view.schema}.{view.name}", relation(view.schema, view.name)) for view in views]


# --- items without a model --------------------------------------------------------------------------------------------


def drop_item(head: HeadRow, body: ReceiptBody, schema: str, name: str, kind: Literal["table", "view"]) -> Item:
    """Drops the relation of a model that the project no longer has."""
    rel = relation(schema, name)
    return Item(
        model=head.model,
        kind="orphan",
        action="drop",
        reasons=("the project has no such model any more, and --drop-orphans was asked",),
        schema=schema,
        relation=name,
        layer=0,
        digests=body.digests,
        parts=body.parts,
        text=body.text,
        canonical=body.canonical,
        relation_kind="none",
        head=head_of(head, body),
        target=Present(kind=kind, token=head.token, columns=body.shape),
        token=None,
        sets_token="clear",
        statements=(control.READ_HEADS, write.drop(kind, rel), control.INSERT_RECEIPT, control.FENCE),
    )


def move_item(frame: Frame, model: CompiledModel, old: HeadRow, body: ReceiptBody, old_name: str) -> Item:
    """Moves a relation and its head to a model's new name, in one transaction."""
    kind: Literal["table", "view"] = "view" if body.kind == "view" else "table"
    statements = [control.READ_HEADS]
    if old_name.lower() != model.relation.lower() or old_name != model.relation:
        statements.append(write.rename(kind, relation(model.schema, old_name), model.relation))
    else:
        statements.append(Statement(role="rename", text=f"SELECT {string('the relation keeps its name')}"))
    statements += [control.INSERT_RECEIPT, control.FENCE]
    return Item(
        model=model.name,
        kind=model.kind if model.kind != "ephemeral" else "view",
        action="move",
        reasons=(f"it was `{old.model}`: its relation and its history move along",),
        strategy=_strategy(model),
        schema=model.schema,
        relation=model.relation,
        path=model.path,
        layer=model.layer,
        digests=body.digests,
        parts=body.parts,
        text=body.text,
        canonical=body.canonical,
        columns=body.shape,
        relation_kind=kind,
        head=head_of(frame.desk.facts.head(model.name), frame.desk.facts.body(model.name)),
        target=Missing() if old_name.lower() != model.relation.lower() else Present(kind=kind, token=old.token, columns=body.shape),
        token=old.token,
        sets_token="keep",
        statements=tuple(statements),
        renamed_from=old.model,
    )
