"""What is to be done with an incremental model or a snapshot that stands: extend it, or why not. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.diagnostics import rows_in_words
from interlock.engine.planner.asked import asked_again
from interlock.engine.planner.choice import (
    Changing,
    Choice,
    Desk,
    columns_differ,
    definition_moved,
    in_words,
    inputs_moved,
    output_columns,
    promise_moved,
    refuse,
    wants_range,
)
from interlock.engine.planner.facts import is_adopted, is_of_a_range
from interlock.engine.planner.frame import cursor_column, validity_type
from interlock.engine.planner.plan import Action
from interlock.engine.project.project import ModelFile, SeedFile
from interlock.machines.evidence import Column, ReceiptBody


def extended(desk: Desk, model: CompiledModel, body: ReceiptBody, changing: Mapping[str, Changing]) -> Choice:
    """The action for an incremental model or a snapshot that stands as its receipt left it."""
    assert isinstance(model.file, ModelFile)
    backfill = wants_range(desk, model)
    if isinstance(backfill, Choice):
        return backfill
    notes: list[str] = []
    reasons: list[str] = []
    parts = definition_moved(desk.compiled, model, body)
    if parts:
        policy, origin = on_change(desk, model)
        what = in_words(desk, model, parts)
        if policy == "refuse":
            return refuse(
                "P412",
                f"its definition changed ({what}), and {origin}",
                f"say once `--on-change {model.name}=rebuild` (or `continue`), or set `on_change` in its sidecar or in the target",
            )
        if policy == "rebuild" and backfill:
            return refuse(
                "P416",
                f"its definition changed ({what}) and {origin}: all of its rows would be made anew, whatever the range",
                f"say `--on-change {model.name}=continue` too, which makes the range by the new text; or run it without --from and --to first",
            )
        if policy == "rebuild":
            return kept(model) or Choice(
                action="replace", reasons=(f"its definition changed ({what}) and on_change is `rebuild`",), full=True
            )
        other = _other_watermark(model, body) or _other_history(model, body, parts)
        if other is not None:
            return other
        reasons.append(f"its definition changed ({what}) and on_change is `continue`: rows that are there stay as they are")
    there = output_columns(model, body.shape)
    added = _added(there, model.columns)
    if added is None or (added and model.file.on_schema_change == "refuse"):
        anew = f"make it anew with `--full-refresh {model.name}`" + (", which begins its history anew" if model.kind == "snapshot" else "")
        keep = 'set `on_schema_change = "append_columns"`' if added else "give back in its SQL what is gone or has another type"
        return refuse(
            "P413", f"its output columns are not those of the table: {columns_differ(there, model.columns)}", f"{keep}; or {anew}"
        )
    if added:
        reasons.append(f"columns are added: {', '.join(column.name for column in added)}")
    if body.digests.environment != model.digests.environment and not parts:
        notes.append("the environment changed since its last rows were written; they are not written again")
    if model.name in desk.options.force:
        reasons.append("--force was asked")
    if backfill:
        reasons.append(f"a range was asked for: from {desk.options.range_low or 'the start'} to {desk.options.range_high or 'the end'}")
    reasons += inputs_moved(desk, model, body, changing)
    if is_adopted(body):
        reasons.append("it was adopted as it was: what its rows were made from is not known")
    if is_of_a_range(body):
        reasons.append("its last run looked at the range that was asked for, and at nothing else")
    if body.rows_held:
        reasons.append(f"{rows_in_words(body.rows_held)} held back by its last run")
    if model.kind == "incremental" and model.file.strategy == "partition" and _has_missing(desk, model):
        reasons.append("ranges are missing")
    if not reasons:
        choice = promise_moved(model, body, (), asked_again(desk, model, body, changing, "rows"))
        return Choice(action=choice.action, reasons=choice.reasons, notes=tuple(notes))
    return Choice(
        action=_extension(model, model.file),
        reasons=tuple(reasons),
        notes=tuple(notes),
        add_columns=added,
        backfill=backfill,
    )


def _other_watermark(model: CompiledModel, body: ReceiptBody) -> Choice | None:
    """The refusal to go on with another watermark: the greatest value of one column says nothing of where another one stands."""
    column, before = cursor_column(model), body.watermark
    if column is None or before is None:
        return None
    if before.type == column.type and before.column.lower() in ("", column.name.lower()):
        return None
    was = f"`{before.column}`, {before.type}" if before.column else before.type
    return refuse(
        "P412",
        f"on_change is `continue`, and its watermark was {was} and is `{column.name}`, {column.type}: "
        "what was written up to the one says nothing of the other",
        f"make it anew: say once `--on-change {model.name}=rebuild`, or set the watermark back",
    )


def _other_history(model: CompiledModel, body: ReceiptBody, parts: tuple[str, ...]) -> Choice | None:
    """The refusal to go on with a snapshot whose versions are told apart, or are dated, by something else than before."""
    if model.kind != "snapshot":
        return None
    assert isinstance(model.file, ModelFile)
    if "keys" in parts:
        what, back = "its `unique_key` changed: the versions that are there are told apart by another one", "`unique_key`"
    elif "strategy" in parts and model.file.snapshot_by == "updated_at":
        # A change that is dated by the new column may lie before a version that the old one dated: nobody would see it.
        what, back = f"its versions were not dated by `{model.file.updated_at}` until now", "what it is dated by"
    elif "strategy" in parts and any(column.name == "valid_from" and column.type != validity_type(model) for column in body.shape):
        what, back = "its versions were dated by a column of another type until now", "what it is dated by"
    else:
        return None
    remedy = f"begin its history anew: say once `--on-change {model.name}=rebuild`, or set {back} back"
    return refuse("P412", f"on_change is `continue`, and {what}", remedy)


def _has_missing(desk: Desk, model: CompiledModel) -> bool:
    cursor = desk.facts.cursors.get(model.name)
    return cursor is not None and len(cursor.ranges) > 1


def _extension(model: CompiledModel, file: ModelFile) -> Action:
    if model.kind == "snapshot":
        return "snapshot"
    match file.strategy:
        case "append":
            return "append"
        case "merge":
            return "merge"
        case "partition":
            return "replace_range"
        case None:
            message = f"{model.name} is incremental without a strategy"
            raise AssertionError(message)


def _added(there: tuple[Column, ...], wanted: tuple[Column, ...]) -> tuple[Column, ...] | None:
    """Columns that were only added; `None` where one is gone or has another type."""
    have = {column.name.lower(): column.type for column in there}
    want = {column.name.lower(): column.type for column in wanted}
    if any(want.get(name) != type_ for name, type_ in have.items()):
        return None
    return tuple(column for column in wanted if column.name.lower() not in have)


def kept(model: CompiledModel) -> Choice | None:
    """The refusal to make anew what says `full_refresh = false`: a rebuild is one, whatever asks for it."""
    if not isinstance(model.file, ModelFile) or model.file.full_refresh:
        return None
    return refuse(
        "P414",
        "its definition changed and on_change is `rebuild`, and the model says `full_refresh = false`",
        f"say once `--on-change {model.name}=continue`, or take that line out of its sidecar first, if you mean it",
    )


def on_change(desk: Desk, model: CompiledModel) -> tuple[str, str]:
    """What to do about a definition that changed, and who says so: the command, the files, or the target."""
    said = desk.options.on_change.get(model.name)
    if said is not None:
        return said, f"--on-change says `{said}`"
    if not isinstance(model.file, SeedFile) and model.file.on_change is not None:
        return model.file.on_change, f'its files say `on_change = "{model.file.on_change}"`'
    return desk.target.on_change, f'the target `{desk.target.name}` says `on_change = "{desk.target.on_change}"`'
