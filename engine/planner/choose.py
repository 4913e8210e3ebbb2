"""What is to be done with one model: the action, and every reason for it. Pure over the compiled model and the facts."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.diagnostics import rows_in_words
from interlock.engine.planner.asked import asked_again
from interlock.engine.planner.choice import (
    EXTENDED,
    VALIDITY,
    Changing,
    Choice,
    Desk,
    columns_differ,
    definition_moved,
    earlier_of,
    files_of,
    in_words,
    inputs_moved,
    output_columns,
    promise_moved,
    refuse,
    relation_kind,
    wants_range,
)
from interlock.engine.planner.extended import extended, kept, on_change
from interlock.engine.planner.facts import head_state, is_adopted, same_columns, target_state
from interlock.engine.planner.plan import Action
from interlock.engine.planner.recovery import ModelRow, model_row
from interlock.engine.planner.upstreams import unplannable_upstream
from interlock.engine.project.project import ModelFile
from interlock.engine.warehouse.protocol import RelationSeen
from interlock.machines.evidence import ReceiptBody

_ELSEWHERE = "move it away, drop it, or give the model another `alias`"


def choose(desk: Desk, model: CompiledModel, changing: Mapping[str, Changing]) -> Choice:
    """The action for one selected model.

    Args:
        desk: what may be looked at.
        model: of any kind but ephemeral.
        changing: models that this plan writes before this one.
    """
    blocked = unplannable_upstream(desk, model)
    if blocked is not None:
        return blocked
    unanswered = desk.facts.unanswered.get(model.name)
    if unanswered is not None and desk.options.adopt != model.name:
        return refuse("P425", f"its bounds could not be asked for: {unanswered}", "correct the model, or the rows that it reads")
    cursor = desk.facts.cursors.get(model.name)
    if cursor is not None and cursor.collated == "yes":
        return refuse(
            "L221",
            "its watermark is text that is compared by a collation, so rows above the greatest value could be lost",
            "write the column as `… COLLATE C`, or use another one",
        )
    seen = desk.seen(model)
    row = _row(desk, model, seen)
    if desk.options.adopt == model.name:
        return _adopt(model, seen)
    taken = _promise_taken(desk, model, row, seen)
    if taken is not None:
        return taken
    match row.decision:
        case "create":
            return _first_time(desk, model)
        case "dropped":
            return _dropped(desk, model, row)
        case "reshaped":
            return _reshaped(desk, model, row, seen)
        case "refuse" if row.code == "P417" and seen is not None and earlier_of(desk, model) is not None:
            return _where_it_stood(desk, model, seen)
        case "refuse" if row.code == "P417" and seen is not None and (owner := _left_by_another(desk, model, seen)) is not None:
            return _in_the_way(desk, model, seen, owner)
        case "refuse" if row.code == "P417" and seen is not None and seen.kind != relation_kind(model):
            return refuse(
                "P418",
                f"a {seen.kind} stands at {model.schema}.{model.relation}, where a {relation_kind(model)} should be",
                f"change `materialized` and take it over with `interlock adopt MODEL`; or {_ELSEWHERE}",
                model=model.name,
            )
        case "refuse" if row.code == "P417":
            return refuse(row, f"{_spelled(model, seen)} is there: {row.how}", model=model.name)
        case "refuse":
            why = desk.facts.unreadable.get(model.name)
            return refuse(row, f"{row.how}: {why}" if why else row.how, model=model.name)
        case "proceed" | "settle" | "attempt_absent":
            return _known(desk, model, changing)


def _promise_taken(desk: Desk, model: CompiledModel, row: ModelRow, seen: RelationSeen | None) -> Choice | None:
    """A protected column that what is to be written would not have, wherever it is written: where it stood, elsewhere, or anew."""
    body = _last_written(desk, model)
    stood = row.decision == "refuse" and seen is not None and earlier_of(desk, model) is not None
    if body is None or body.kind == "none" or (row.decision == "refuse" and not stood):
        return None
    names = {column.name.lower() for column in model.columns}
    lost = [name for name in body.protected if name.lower() not in names]
    if not lost:
        return None
    of = "it" if body.model == model.name else f"`{body.model}`"
    return refuse(
        "C305",
        f"protected column `{lost[0]}` would disappear: {of} was last written under that promise",
        "keep it; if it may really go, run once with `protected` taken out of the contract, and take the column out then",
    )


def _last_written(desk: Desk, model: CompiledModel) -> ReceiptBody | None:
    """The newest receipt of the relation that the model goes on with: its own, or under its former name, as long as it has none."""
    if desk.facts.head(model.name).token is not None:
        return desk.facts.body(model.name)
    old = model.file.renamed_from
    if not old or old in desk.compiled.models or desk.facts.head(old).token is None:
        return None
    return desk.facts.body(old)


def _row(desk: Desk, model: CompiledModel, seen: RelationSeen | None) -> ModelRow:
    """The row of the model table; a planned look at an open run takes what settling will leave."""
    head, target = head_state(desk.facts, model.name), target_state(desk.facts, model.name, seen)
    row = model_row(desk.facts.ledger.get(model.name, "never"), head, target)
    if row.decision in ("settle", "attempt_absent"):
        return model_row("checkpointed", "none" if desk.facts.head(model.name).token is None else "named", target)
    return row


def _left_by_another(desk: Desk, model: CompiledModel, seen: RelationSeen) -> str | None:
    """The other model of the project that left what stands there: deleted, or made at another place now."""
    body = desk.facts.strays.get((seen.schema.lower(), seen.name.lower()))
    heads = (head.model for head in desk.facts.heads.values() if head.token is not None and head.token == seen.token)
    owner = body.model if body is not None else next(heads, None)
    return None if owner == model.name else owner


def _in_the_way(desk: Desk, model: CompiledModel, seen: RelationSeen, owner: str) -> Choice:
    """A relation of ours, where another model belongs now: dropped only when that is asked."""
    living = desk.compiled.models.get(owner)
    is_gone = living is None or living.kind == "ephemeral"
    because, other = f"{_spelled(model, seen)} is there: `{owner}` left it, {_belongs(living)}", "give the model another `alias`"
    left = _renamed_from_by_hand(desk, seen, owner)
    if left is not None:
        remedy = f"take it as it is with `interlock adopt MODEL`; or {'rename or drop it' if is_gone else 'rename it'} yourself; or {other}"
        if living is None:
            remedy += f'; or rename it to {left} again and say `renamed_from = "{owner}"`, and it is moved here'
        because = f"{_spelled(model, seen)} is there: `{owner}` made it, {_belongs(living)}, and somebody renamed it from {left}"
    elif seen.token in desk.leaving:
        remedy = f"{DROPPED_NOW}; or {other}"
    elif is_gone:
        remedy = f"drop it with `--drop-orphans` and run again; or {other}"
        if living is None:
            remedy += f'; or, where it is that model under a new name, say `renamed_from = "{owner}"`'
    else:
        remedy = f"run `{owner}` first, with `--drop-orphans` for what it leaves, and then this; or {other}"
    return refuse("P417", because, remedy, model=model.name)


DROPPED_NOW = "this run drops it, and its place is free when that is done: run again after it"
"""The remedy where what is in the way goes in the same run: a plan expects of each place what it sees there."""


def _belongs(living: CompiledModel | None) -> str:
    if living is None:
        return "which the project has no more"
    return "which is ephemeral now" if living.kind == "ephemeral" else f"which belongs at {living.schema}.{living.relation} now"


def _renamed_from_by_hand(desk: Desk, seen: RelationSeen, owner: str) -> str | None:
    """Where a model's last run left the relation, if that is another name than the one at which it stands."""
    body = desk.facts.body(owner)
    if body is None or desk.facts.head(owner).token != seen.token:
        return None
    return body.relation if body.relation.lower() != f"{seen.schema}.{seen.name}".lower() else None


def _spelled(model: CompiledModel, seen: RelationSeen | None) -> str:
    """The relation as it is written where it stands, and as the model writes it where that differs by case."""
    ours = f"{model.schema}.{model.relation}"
    there = ours if seen is None else f"{seen.schema}.{seen.name}"
    return there if there == ours else f"{there} (for the warehouse the same name as {ours})"


def _first_time(desk: Desk, model: CompiledModel) -> Choice:
    backfill = wants_range(desk, model)
    if isinstance(backfill, Choice):
        return backfill
    return Choice(action="create", reasons=("nothing stands there yet",), backfill=backfill)


def _dropped(desk: Desk, model: CompiledModel, row: ModelRow) -> Choice:
    """Our relation is not at the model's name: someone dropped it, or the model has another schema or alias now."""
    before = _where_it_is(desk, model)
    here = f"{model.schema}.{model.relation}"
    if model.kind in EXTENDED and model.name not in desk.options.full_refresh:
        if before is None:
            return refuse(row, f"{here} was dropped by hand; its receipt is still there", model=model.name)
        there = f"{before.schema}.{before.name}"
        if former_place(desk, model) is None:
            return refuse(
                "P424",
                f"somebody renamed it: it stands at {there}",
                f"name it {here} again, or make it anew with `--full-refresh MODEL`",
                model=model.name,
            )
        return refuse(
            "P424",
            f"it stands at {there}, and its schema says {here} now: a relation cannot move between schemas",
            "set its schema back, or make it anew with `--full-refresh MODEL`; the old one stays until `--drop-orphans`",
            model=model.name,
        )
    stopped = _full_refresh_refused(desk, model)
    if stopped is not None:
        return stopped
    full = model.kind in EXTENDED
    if before is None:
        return Choice(action="create", reasons=("it was dropped by hand, and is made again",), full=full)
    there = f"{before.schema}.{before.name}"
    if former_place(desk, model) is None:
        reasons = (f"somebody renamed it: it stands at {there}, and is made again",)
        return Choice(action="create", reasons=reasons, notes=(f"{there} stays as it is, and is yours",), full=full)
    note = "" if desk.options.drop_orphans == "yes" else f"{there} stays until it is dropped: `--drop-orphans`"
    reasons = (f"it stood at {there}, and its schema or alias says {here} now",)
    return Choice(action="create", reasons=reasons, notes=(note,) if note else (), full=full)


def _where_it_stood(desk: Desk, model: CompiledModel, seen: RelationSeen) -> Choice:
    """Its schema or alias was changed back: what an earlier run of it left is still there, and is ours to replace."""
    here = f"{seen.schema}.{seen.name}"
    before = left_behind(desk, model)
    there = f"{before.schema}.{before.name}" if before is not None else ""
    if model.kind in EXTENDED and model.name not in desk.options.full_refresh:
        newer = f"; what its last run left stands at {there}" if there else ""
        remedy = "make it anew in its place with `--full-refresh MODEL`"
        if before is None:
            remedy += ", or take it as it is with `interlock adopt MODEL`"
        elif before.schema == model.schema:
            drop = "drop the earlier one with `--drop-orphans`, and run again"
            remedy = f"{DROPPED_NOW if seen.token in desk.leaving else drop}, which moves {there} there; or {remedy}"
        because = f"{here} is there with rows of an earlier run of it, which are not gone on with{newer}"
        return refuse("P424" if there else "P417", because, remedy, model=model.name)
    stopped = _full_refresh_refused(desk, model)
    if stopped is not None:
        return stopped
    reasons = [f"an earlier run of it left {here}, which is replaced"]
    notes = []
    if there:
        reasons.insert(0, f"it stood at {there}, and its schema or alias says {here} again")
        notes += [] if desk.options.drop_orphans == "yes" else [f"{there} stays until it is dropped: `--drop-orphans`"]
    action: Action = "replace" if seen.kind == relation_kind(model) else "convert"
    return Choice(action=action, reasons=tuple(reasons), notes=tuple(notes), full=model.kind in EXTENDED)


def left_behind(desk: Desk, model: CompiledModel) -> RelationSeen | None:
    """Its former place, where it is made at another one: nothing stands there, or what an earlier run of it left."""
    if earlier_of(desk, model) is None:
        return former_place(desk, model)
    return _former(desk, model)


def former_place(desk: Desk, model: CompiledModel) -> RelationSeen | None:
    """The relation that its last receipt left, where the model's schema or alias says another place now, at which nothing stands."""
    seen = desk.seen(model)
    body = desk.facts.body(model.name)
    if seen is not None or body is None or _row(desk, model, seen).decision != "dropped":
        return None
    return _former(desk, model)


def _former(desk: Desk, model: CompiledModel) -> RelationSeen | None:
    body, before = desk.facts.body(model.name), _where_it_is(desk, model)
    if body is None:
        return None
    left = body.relation.lower()
    is_it = before is not None and f"{before.schema}.{before.name}".lower() == left and left != f"{model.schema}.{model.relation}".lower()
    return before if is_it else None


def where_it_stands(desk: Desk, model: CompiledModel) -> RelationSeen | None:
    """The relation that the head tells of: at the model's place, or at another."""
    seen, token = desk.seen(model), desk.facts.head(model.name).token
    return seen if seen is not None and token is not None and seen.token == token else _where_it_is(desk, model)


def _where_it_is(desk: Desk, model: CompiledModel) -> RelationSeen | None:
    """The relation that the head's token stands on, where that is at another name than the model's."""
    token = desk.facts.head(model.name).token
    if token is None:
        return None
    return next((seen for seen in desk.facts.catalog.relations.values() if seen.token == token), None)


def _reshaped(desk: Desk, model: CompiledModel, row: ModelRow, seen: RelationSeen | None) -> Choice:
    if model.kind in EXTENDED and model.name not in desk.options.full_refresh:
        return refuse(row, f"the columns of {model.schema}.{model.relation} were changed by hand", model=model.name)
    stopped = _full_refresh_refused(desk, model)
    if stopped is not None or seen is None:
        return stopped or _first_time(desk, model)
    action: Action = "replace" if seen.kind == relation_kind(model) else "convert"
    return Choice(action=action, reasons=("its columns were changed by hand, and it is made again",), full=model.kind in EXTENDED)


def _adopt(model: CompiledModel, seen: RelationSeen | None) -> Choice:
    if seen is None:
        return refuse("P427", f"nothing stands at {model.schema}.{model.relation}", "run it: there is nothing to adopt")
    if seen.kind != relation_kind(model):
        return refuse(
            "P427",
            f"a {seen.kind} stands there, and the model makes a {relation_kind(model)}",
            f"change `materialized`; or {_ELSEWHERE}",
        )
    if not same_columns(output_columns(model, seen.columns), model.columns):
        return refuse(
            "P427",
            "its columns are not those of the model: " + columns_differ(seen.columns, model.columns),
            f"make them equal first; or {_ELSEWHERE}",
        )
    if model.kind == "snapshot" and [column.name for column in seen.columns[-2:]] != list(VALIDITY):
        return refuse("P427", "it has no validity columns", f"a snapshot ends with `valid_from` and `valid_to`: add them; or {_ELSEWHERE}")
    return Choice(action="adopt", reasons=("asked: what stands there is taken as it is",))


def _full_refresh_refused(desk: Desk, model: CompiledModel) -> Choice | None:
    if model.name in desk.options.full_refresh and isinstance(model.file, ModelFile) and not model.file.full_refresh:
        return refuse("P414", "the model says `full_refresh = false`", "take that line out of its sidecar first, if you mean it")
    return None


def _known(desk: Desk, model: CompiledModel, changing: Mapping[str, Changing]) -> Choice:
    body = desk.facts.body(model.name)
    if body is None:
        return refuse("P425", "the receipt of its head could not be read", "see `interlock status`")
    if model.name in desk.options.full_refresh:
        stopped = _full_refresh_refused(desk, model)
        anew: Action = "replace" if body.materialized == model.kind else "convert"
        return stopped or Choice(action=anew, reasons=("--full-refresh was asked",), full=model.kind in EXTENDED)
    if body.materialized != model.kind:
        return _converted(desk, model, body)
    edited = _edited_content(desk, model, body)
    if edited is not None:
        return edited
    if model.kind in EXTENDED:
        return extended(desk, model, body, changing)
    return _whole(desk, model, body, changing)


def _converted(desk: Desk, model: CompiledModel, body: ReceiptBody) -> Choice:
    """Another materialization. Rows that took time to collect go with the old one, so `on_change` decides."""
    how = f"it was {_a(body.materialized)} and is {_a(model.kind)} now"
    backfill = wants_range(desk, model)
    if backfill is not False:
        # Not even the bounds of a range that cannot be are of use here: all rows are made anew.
        return refuse("P416", f"{how}: all of its rows would be made anew, whatever the range", "run it without --from and --to first")
    if body.materialized not in EXTENDED:
        return Choice(action="convert", reasons=(how,))
    policy, origin = on_change(desk, model)
    if policy != "rebuild":
        return refuse(
            "P412",
            f"{how}, which makes its rows anew, and {origin}",
            f"say once `--on-change {model.name}=rebuild`, or set `materialized` back",
        )
    return kept(model) or Choice(action="convert", reasons=(how,), full=True)


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _edited_content(desk: Desk, model: CompiledModel, body: ReceiptBody) -> Choice | None:
    """What `--verify-content` found: rows that were changed in place."""
    found = desk.facts.contents.get(model.name)
    if found is None or body.fingerprint is None or found.engine != body.fingerprint.engine or found == body.fingerprint:
        return None
    if model.kind in EXTENDED:
        because = (
            f"its rows were changed in place: {rows_in_words(found.rows)} now, {body.fingerprint.rows} by its receipt, or other values"
        )
        return refuse(
            "P408",
            because,
            "take them as they are with `interlock adopt MODEL`, or make it again with `--full-refresh MODEL`",
            model=model.name,
        )
    return Choice(action="replace", reasons=("its rows were changed by hand, and it is made again",))


def _whole(desk: Desk, model: CompiledModel, body: ReceiptBody, changing: Mapping[str, Changing]) -> Choice:
    reasons = list(_why_anew(desk, model, body))
    moved = inputs_moved(desk, model, body, changing)
    if model.kind == "table":
        reasons += moved
    if model.kind in ("table", "view"):
        if "as_of" in model.variables or "$as_of" in model.variables:
            reasons.append("it reads `$as_of`, so it is built each run")
        if model.volatile:
            reasons.append(f"it calls {', '.join(f'`{name}`' for name in model.volatile)}, so it is built each run")
        if model.unsettled:
            what = ", ".join(f"`{name}`" for name in model.unsettled)
            reasons.append(f"its rows hang on {what}, which may answer differently when asked again, so it is built each run")
    if reasons:
        return Choice(action="replace", reasons=tuple(reasons))
    counted = desk.facts.counts.get(model.name)
    if model.kind != "view" and counted is not None and body.rows_after is not None and counted != body.rows_after:
        return Choice(action="replace", reasons=(f"its rows were changed by hand: {counted} now, {body.rows_after} by its receipt",))
    return promise_moved(model, body, moved, asked_again(desk, model, body, changing, "rows"))


def _why_anew(desk: Desk, model: CompiledModel, body: ReceiptBody) -> tuple[str, ...]:
    reasons = []
    if model.name in desk.options.force:
        reasons.append("--force was asked")
    if is_adopted(body):
        reasons.append("it was adopted as it was: what its rows were made from is not known")
    parts = definition_moved(desk.compiled, model, body)
    if parts:
        reasons.append(f"its definition changed: {in_words(desk, model, parts)}")
    elif not same_columns(model.columns, body.shape):
        reasons.append(f"its columns changed with the text as it was: {columns_differ(body.shape, model.columns)}")
    elif body.digests.environment != model.digests.environment:
        reasons.append("the environment changed: engine version or settings that change answers")
    if model.kind == "view":
        before = {source.source: source.files for source in body.sources}
        reasons += [
            f"source `{name}` has other files now, and a view names them"
            for name in model.sources
            if files_of(desk.compiled, name) != before.get(name, "")
        ]
    return tuple(reasons)
