"""From a choice to an item of the plan: the exact statements in the order of the write protocol, and all that is pinned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.planner.asked import reached_by
from interlock.engine.planner.choice import Choice, Desk, definition_moved, files_of, relation_kind
from interlock.engine.planner.cursors import held_for_want_of_an_end, open_ended, until_of
from interlock.engine.planner.facts import head_of, target_of
from interlock.engine.planner.frame import Frame, cursor_column, key_of, new_columns, rows_checks, strategy_of, updated_at_column
from interlock.engine.planner.plan import Bounds, Item
from interlock.engine.planner.sources import freshness_checks, source_checks_of, warnings_of
from interlock.engine.planner.statements import is_guarded, statements_of
from interlock.engine.project.project import ModelFile, SeedFile
from interlock.engine.warehouse.duckdb import control, write
from interlock.engine.warehouse.duckdb.quoting import identifier, relation
from interlock.engine.warehouse.protocol import HeadRow, RelationSeen, Statement
from interlock.machines.actions import MAKES, WRITES_ROWS
from interlock.machines.evidence import CheckPin, Head, Missing, Present, ReceiptBody, SourceSeen, Span
from interlock.machines.records import digest_of

_FILES = "its file sources"
"""A scan of files has the name of the function that reads them, which nobody wrote."""


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
        return _plain(desk, model, choice, head, target)
    if choice.action == "create":
        target = Missing()
    sets_token = choice.action in MAKES or choice.action == "adopt"
    token = token_of(frame.project, model.name, head.receipt, model.digests.definition) if sets_token else head.token
    bounds = _bounds(frame, model, choice, head)
    statements = statements_of(frame, model, choice, head, target, bounds, token if sets_token else None)
    checked = reached_by(desk.compiled, model, "rows")
    reads = tuple(sorted({*model.tables_read, *model.views_read, *checked.models}))
    return Item(
        model=model.name,
        kind=model.kind if model.kind != "ephemeral" else "view",
        action=choice.action,
        reasons=choice.reasons,
        notes=(*choice.notes, *_of_sources(desk, model), *_notes(frame, model, choice, bounds)),
        strategy=strategy_of(model),
        schema=model.schema,
        relation=model.relation,
        path=model.path,
        layer=model.layer,
        digests=model.digests,
        parts=model.definition_parts,
        text=model.text,
        columns=new_columns(model),
        relation_kind=relation_kind(model),
        upstreams=tuple(name for name in reads if name in frame.planned),
        reads=reads,
        reads_planned={name: desk.facts.head(name).receipt for name in reads if name not in frame.planned},
        sources=tuple(source_seen(desk, name) for name in sorted({*model.sources_read, *checked.sources})),
        source_checks=source_checks_of(desk.compiled, model, choice.action, frame.relied_on.get(model.name, {}), checked.sources),
        head=head,
        target=target,
        token=token,
        sets_token="set" if sets_token else "keep",
        contract=model.contract,
        extra_columns=model.extra_columns,
        protected=protected_of(model),
        assignable=assignable_of(model),
        contract_findings=model.contract_findings,
        checks=tuple(CheckPin(check=check.check.name, severity=check.check.severity) for check in rows_checks(model)),
        bounds=bounds,
        unique_key=key_of(model),
        statements=statements,
        seed_rows=model.file.content_digest if isinstance(model.file, SeedFile) else "",
        full_refresh="asked" if choice.full else "not_asked",
        shrink="allowed" if model.name in desk.options.allow_shrink else "not_allowed",
    )


def source_seen(desk: Desk, name: str) -> SourceSeen:
    """A source as it is when the plan is made."""
    return SourceSeen(source=name, fingerprint=desk.facts.fingerprints.get(name, "none"), files=files_of(desk.compiled, name))


def protected_of(model: CompiledModel) -> tuple[str, ...]:
    """Columns that the model's contract protects."""
    contract = model.file.contract
    return () if contract is None else tuple(sorted(name for name, column in contract.columns.items() if column.protected))


def assignable_of(model: CompiledModel) -> dict[str, str]:
    """Columns of which the contract takes every type that fits, and the type that it names, as its author wrote it."""
    columns = {} if model.file.contract is None else model.file.contract.columns
    return {name: column.type for name, column in columns.items() if column.assignable and column.type is not None}


def _plain(desk: Desk, model: CompiledModel, choice: Choice, head: Head, target: Missing | Present) -> Item:
    return Item(
        model=model.name,
        kind=model.kind if model.kind != "ephemeral" else "view",
        action=choice.action,
        reasons=choice.reasons,
        notes=(*choice.notes, *_of_sources(desk, model)),
        strategy=strategy_of(model),
        schema=model.schema,
        relation=model.relation,
        path=model.path,
        layer=model.layer,
        digests=model.digests,
        columns=new_columns(model),
        relation_kind=relation_kind(model),
        head=head,
        target=target,
        token=head.token,
        sets_token="keep",
        refusal=choice.refusal,
        upstreams=(),
    )


def _of_sources(desk: Desk, model: CompiledModel) -> tuple[str, ...]:
    """What its sources said that did not pass, and does not refuse."""
    found: list[str] = []
    for name in sorted({*model.sources_read, *reached_by(desk.compiled, model, "rows").sources}):
        against = warnings_of(freshness_checks(desk.compiled.sources[name]), desk.facts.said.get(name, ()))
        found += [f"source `{name}` is not fresh: {because}" for because in against]
    return tuple(found)


def _head(frame: Frame, model: CompiledModel) -> Head:
    row = frame.desk.facts.head(model.name)
    body = frame.desk.facts.body(model.name)
    # A fingerprint of another engine cannot be compared: it is not evaluated, and the next one is of this engine.
    comparable = body is not None and body.fingerprint is not None and body.fingerprint.engine == frame.desk.compiled.engine
    return head_of(row, body, content=is_guarded(model) and comparable)


def _bounds(frame: Frame, model: CompiledModel, choice: Choice, head: Head) -> Bounds | None:
    column = cursor_column(model) or (updated_at_column(model) if choice.action != "adopt" else None)
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
    elif choice.action in MAKES:
        covered = (Span(low="", high=until or ""),) if is_partition else ()
    elif is_partition and facts is not None:
        # No range is left where the plan's time, or the source, ends below the watermark: then an empty one is replaced by
        # nothing. Without any, every row would be new.
        ranges, covered = facts.ranges or (Span(low=facts.low or "", high=facts.low or ""),), facts.covered
    elif facts is not None:
        low = facts.low if head.watermark is not None else None
    return Bounds(
        column=column.name,
        type=column.type,
        low=low,
        until=until,
        ranges=ranges,
        covered=covered if is_partition else (),
        asked="yes" if choice.backfill else "no",
        passes_over=facts.passes_over if choice.backfill and facts is not None and choice.action != "create" else "no",
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
            seen = "counted, not loaded" if model.file.late == "count" else "not looked at"
            notes.append(f"rows with {bounds.column} below {low} that arrive late are {seen}")
        if low and choice.action == "replace_range":
            notes.append(_stale(bounds.column, low, key_of(model), counted=model.file.late == "count"))
        if model.restricted and low is not None:
            pairs = ", ".join(sorted({span.pair for span in model.restricted}))
            notes.append(
                f"restrict: rows with {pairs} below {bounds.ranges[0].low if bounds.ranges else low} are not read, which changes what the text means"
            )
        whole = (_FILES if name.upper().startswith("READ_") else name for name in frame.desk.facts.reads_all.get(model.name, ()))
        notes += [f"reads all of {name}; `restrict` can change that" for name in dict.fromkeys(whole)]
        if choice.action == "append" and model.notes:
            notes.append(
                f"the query has {', '.join(model.notes)}: rows at the watermark must come out as they were written, or the run refuses"
            )
        if choice.action == "merge":
            notes.append("rows deleted at the source stay")
    if bounds is not None and bounds.passes_over == "yes":
        low = frame.desk.facts.cursors[model.name].low
        notes.append(
            f"its watermark stays: rows with {bounds.column} from {low or 'the first'} on and below the range are left to the next run"
        )
    if bounds is not None and bounds.open_ended:
        notes.append(bounds.open_ended)
    if bounds is not None and (held := held_for_want_of_an_end(bounds.column, bounds.type, bounds.until)):
        notes.append(held)
    if choice.full and model.name in frame.desk.options.allow_shrink:
        notes.append("it may end with fewer rows than it has: --allow-shrink")
    return tuple(notes)


def _stale(column: str, low: str, key: Sequence[str], *, counted: bool) -> str:
    """What becomes of rows in ranges that are not replaced and that the source no longer has there."""
    said = f"rows with {column} below {low} stay as they are: what the source changed or deleted there is {'counted' if counted else 'not seen'}"
    if key:
        return f"{said}, and a row that moved from there to what is replaced is found by its key, and refused"
    return f"{said}, and a row that moved from there to what is replaced stands in both places (a `unique_key` would refuse that)"


# --- items without a model --------------------------------------------------------------------------------------------


def drop_item(key: str, head: HeadRow, token: str | None, body: ReceiptBody, seen: RelationSeen, reason: str) -> Item:
    """Drops a relation that no model makes any more. `key` is the head that the drop stands on: its own where the model lives on."""
    rel = relation(seen.schema, seen.name)
    return Item(
        model=key,
        kind="orphan",
        action="drop",
        reasons=(reason,),
        schema=seen.schema,
        relation=seen.name,
        layer=0,
        digests=body.digests,
        parts=body.parts,
        text=body.text,
        relation_kind="none",
        head=head_of(head, body),
        target=Present(kind=seen.kind, token=token, columns=body.shape),
        token=None,
        sets_token="clear",
        statements=(control.READ_HEADS, write.drop(seen.kind, rel), control.INSERT_RECEIPT, control.FENCE),
    )


def _left_to_the_next_run(frame: Frame, model: CompiledModel, body: ReceiptBody) -> tuple[str, ...]:
    """What a move does not do."""
    if definition_moved(frame.desk.compiled, model, body):
        return ("its definition changed too: that is the next run's work",)
    return () if model.kind == "seed" else ("it only moves: what came since its last run is the next run's work",)


def move_item(frame: Frame, model: CompiledModel, old: HeadRow, body: ReceiptBody, old_name: str) -> Item:
    """Moves a relation and its head to a model's new name, in one transaction."""
    kind: Literal["table", "view"] = "view" if body.kind == "view" else "table"
    statements = [control.READ_HEADS]
    if old_name.lower() != model.relation.lower() or old_name != model.relation:
        statements.append(write.rename(kind, relation(model.schema, old_name), model.relation))
    else:
        statements.append(Statement(role="rename", text=f"SELECT 0 AS {identifier('the relation keeps its name')}"))
    statements += [control.INSERT_RECEIPT, control.FENCE]
    return Item(
        model=model.name,
        kind=model.kind if model.kind != "ephemeral" else "view",
        action="move",
        reasons=(
            f"it was `{old.model}`: its relation and its history move along"
            if old.model != model.name
            else f"it stood at {body.relation}, and its alias says {model.relation} now: it moves there with its history",
        ),
        notes=_left_to_the_next_run(frame, model, body),
        strategy=strategy_of(model),
        schema=model.schema,
        relation=model.relation,
        path=model.path,
        layer=model.layer,
        digests=body.digests,
        parts=body.parts,
        text=body.text,
        columns=body.shape,
        relation_kind=kind,
        head=head_of(frame.desk.facts.head(model.name), frame.desk.facts.body(model.name)),
        target=Missing() if old_name.lower() != model.relation.lower() else Present(kind=kind, token=old.token, columns=body.shape),
        token=old.token,
        sets_token="keep",
        statements=tuple(statements),
        renamed_from=old.model if old.model != model.name else None,
    )
