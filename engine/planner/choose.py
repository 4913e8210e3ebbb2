"""What is to be done with one model: the action, and every reason for it. Pure over the compiled model and the facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.planner.facts import Facts, head_state, same_columns, target_state
from interlock.engine.planner.plan import Action, Options, Refusal
from interlock.engine.planner.recovery import ModelRow, model_row
from interlock.engine.project.project import ModelFile, SeedFile
from interlock.engine.warehouse.duckdb.parser import canonical_of
from interlock.engine.warehouse.protocol import RelationSeen
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import Column, ReceiptBody
from interlock.machines.records import Record, digest_of

Changing = Literal["rows", "relation"]
EXTENDED = frozenset({"incremental", "snapshot"})
VALIDITY = ("valid_from", "valid_to")
VOLATILE_INPUT = ("$as_of",)


class Choice(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action and its reasons; for a refusal, its code."""

    action: Action
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    full: bool = False
    """Whether rows that took time to collect are made anew: then a shrink is looked for."""
    add_columns: tuple[Column, ...] = ()
    backfill: bool = False
    edited: bool = False
    """The text is another than the one that the rows at the watermark were written by (`on_change = "continue"`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Everything that a choice may look at."""

    compiled: Compiled
    facts: Facts
    options: Options
    target: TargetConfig
    selected: frozenset[str]

    def seen(self, model: CompiledModel) -> RelationSeen | None:
        """What stands at the model's name."""
        return self.facts.catalog.find(model.schema, model.relation)


def refuse(row_or_code: ModelRow | str, because: str, remedy: str = "", *, model: str = "") -> Choice:
    """A choice that refuses."""
    if isinstance(row_or_code, ModelRow):
        code, remedy = row_or_code.code, (remedy or row_or_code.remedy)
    else:
        code = row_or_code
    return Choice(action="refuse", reasons=(because,), refusal=Refusal(code=code, because=because, remedy=remedy.replace("MODEL", model)))


def choose(desk: Desk, model: CompiledModel, changing: Mapping[str, Changing]) -> Choice:
    """The action for one selected model.

    Args:
        desk: what may be looked at.
        model: of any kind but ephemeral.
        changing: models that this plan writes before this one.
    """
    blocked = _unplannable_upstream(desk, model)
    if blocked is not None:
        return blocked
    seen = desk.seen(model)
    row = _row(desk, model, seen)
    if desk.options.adopt == model.name:
        return _adopt(model, seen)
    match row.decision:
        case "create":
            return _first_time(desk, model)
        case "dropped":
            return _dropped(desk, model, row)
        case "reshaped":
            return _reshaped(desk, model, row, seen)
        case "refuse" if row.code == "P417" and seen is not None and seen.kind != relation_kind(model):
            return refuse(
                "P418",
                f"a {seen.kind} stands at {model.schema}.{model.relation}, where a {relation_kind(model)} should be",
                row.remedy,
                model=model.name,
            )
        case "refuse" if row.code == "P417":
            return refuse(row, f"{model.schema}.{model.relation} is there, and it is not what we made: {row.how}", model=model.name)
        case "refuse":
            return refuse(row, row.how, model=model.name)
        case "proceed" | "settle" | "attempt_absent":
            return _known(desk, model, changing)


def relation_kind(model: CompiledModel) -> Literal["table", "view"]:
    """What kind of relation the model makes."""
    return "view" if model.kind == "view" else "table"


def _row(desk: Desk, model: CompiledModel, seen: RelationSeen | None) -> ModelRow:
    """The row of the model table; a planned look at an open run takes what settling will leave."""
    head, target = head_state(desk.facts, model.name), target_state(desk.facts, model.name, seen)
    row = model_row(desk.facts.ledger.get(model.name, "never"), head, target)
    if row.decision in ("settle", "attempt_absent"):
        return model_row("checkpointed", "none" if desk.facts.head(model.name).token is None else "named", target)
    return row


def _unplannable_upstream(desk: Desk, model: CompiledModel) -> Choice | None:
    direct = {name for name in model.references if desk.compiled.models[name].kind != "ephemeral"}
    through = {*model.tables_read, *model.views_read}
    asked = {name for check in model.checks for name in check.reads}
    for name in sorted((direct | through | asked) - desk.selected):
        upstream = desk.compiled.models[name]
        if upstream.kind == "ephemeral":
            continue
        head, seen = desk.facts.head(name), desk.seen(upstream)
        if head.token is None or seen is None:
            return refuse("P411", f"it reads `{name}`, which is not built in this target", f"select it too: `+{model.name}`")
        if name not in direct:
            continue
        body = desk.facts.body(name)
        if body is not None and definition_moved(desk.compiled, upstream, body):
            return refuse(
                "P410",
                f"`{name}` differs from what is deployed",
                f"select `+{model.name}`, which takes `{name}` along, or run `+{name}` first",
            )
        if not same_columns(upstream.columns, columns_left(body)):
            return refuse(
                "P410",
                f"the columns of `{name}` differ from those that are deployed",
                f"select `+{model.name}`, which takes `{name}` along, or run `+{name}` first",
            )
    return None


def columns_left(body: ReceiptBody | None) -> tuple[Column, ...]:
    """Columns that a receipt left."""
    return body.shape if body is not None else ()


def output_columns(model: CompiledModel, seen: tuple[Column, ...]) -> tuple[Column, ...]:
    """Of a relation's columns, those that the query gives: a snapshot's validity is ours."""
    if model.kind != "snapshot":
        return seen
    return tuple(column for column in seen if column.name not in VALIDITY)


def definition_moved(compiled: Compiled, model: CompiledModel, body: ReceiptBody) -> tuple[str, ...]:
    """The parts of the definition that moved since a receipt; empty where none did.

    The canonical form depends on the parser. If that was another one, the old text is read by the new parser before
    anything is called an edit.
    """
    if body.digests.definition == model.digests.definition:
        return ()
    names = sorted(set(body.parts) | set(model.definition_parts))
    moved = tuple(name for name in names if body.parts.get(name) != model.definition_parts.get(name))
    if body.engine != compiled.engine and moved:
        again = canonical_of(body.text) if body.text else body.canonical
        if again == model.canonical:
            moved = tuple(name for name in moved if name != "query")
    return moved or (("definition",) if body.engine == compiled.engine else ())


def _first_time(desk: Desk, model: CompiledModel) -> Choice:
    backfill = _wants_range(desk, model)
    if isinstance(backfill, Choice):
        return backfill
    return Choice(action="create", reasons=("nothing stands there yet",), backfill=backfill)


def _dropped(desk: Desk, model: CompiledModel, row: ModelRow) -> Choice:
    """Our relation is not at the model's name: someone dropped it, or the model has another schema or alias now."""
    before = _where_it_was(desk, model)
    here = f"{model.schema}.{model.relation}"
    if model.kind in EXTENDED and model.name not in desk.options.full_refresh:
        if before is None:
            return refuse(row, f"{here} was dropped by hand; its receipt is still there", model=model.name)
        by_hand = f"rename it (ALTER TABLE {before.schema}.{before.name} RENAME TO {model.relation}) and run again, or "
        return refuse(
            "P424",
            f"it stands at {before.schema}.{before.name}, and its schema or alias says {here} now",
            f"{by_hand if before.schema == model.schema else ''}set its schema and alias back, or make it anew with `--full-refresh MODEL`",
            model=model.name,
        )
    stopped = _full_refresh_refused(desk, model)
    if stopped is not None:
        return stopped
    full = model.kind in EXTENDED
    if before is None:
        return Choice(action="create", reasons=("it was dropped by hand, and is made again",), full=full)
    there = f"{before.schema}.{before.name}"
    note = f"{there} stays as it is: drop it by hand once nothing reads it"
    return Choice(action="create", reasons=(f"it stood at {there}, and its schema or alias says {here} now",), notes=(note,), full=full)


def _where_it_was(desk: Desk, model: CompiledModel) -> RelationSeen | None:
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
            "change `materialized`, or drop the relation",
        )
    if not same_columns(output_columns(model, seen.columns), model.columns):
        return refuse(
            "P427", "its columns are not those of the model: " + columns_differ(seen.columns, model.columns), "make them equal first"
        )
    if model.kind == "snapshot" and [column.name for column in seen.columns[-2:]] != list(VALIDITY):
        return refuse("P427", "it has no validity columns", "a snapshot ends with `valid_from` and `valid_to`")
    return Choice(action="adopt", reasons=("asked: what stands there is taken as it is",))


def columns_differ(there: tuple[Column, ...], wanted: tuple[Column, ...]) -> str:
    """How two lists of columns differ, in words."""
    left = {column.name.lower(): column for column in there}
    right = {column.name.lower(): column for column in wanted}
    words = [f"`{right[name].name}` is new" for name in right if name not in left]
    words += [f"`{left[name].name}` is gone" for name in left if name not in right]
    words += [
        f"`{right[name].name}` was {left[name].type} and is {right[name].type}"
        for name in right
        if name in left and left[name].type != right[name].type
    ]
    return ", ".join(words) or "the order differs"


def _full_refresh_refused(desk: Desk, model: CompiledModel) -> Choice | None:
    if model.name in desk.options.full_refresh and isinstance(model.file, ModelFile) and not model.file.full_refresh:
        return refuse("P414", "the model says `full_refresh = false`", "take that line out of its sidecar first, if you mean it")
    return None


def _wants_range(desk: Desk, model: CompiledModel) -> Choice | bool:
    options = desk.options
    if options.range_low is None and options.range_high is None:
        return False
    if not isinstance(model.file, ModelFile) or model.kind != "incremental":
        return False
    if model.file.strategy == "append":
        return refuse(
            "P416",
            "append cannot make a range again: it only adds above its watermark",
            'use `strategy = "partition"`, or `merge` with a unique_key',
        )
    cursor = desk.facts.cursors.get(model.name)
    if cursor is not None and cursor.bad_range:
        return refuse("P416", f"`{cursor.bad_range}` is no value of the column's type", "write --from and --to as values of that type")
    return True


def _known(desk: Desk, model: CompiledModel, changing: Mapping[str, Changing]) -> Choice:
    body = desk.facts.body(model.name)
    if body is None:
        return refuse("P425", "the receipt of its head could not be read", "see `interlock status`")
    if model.name in desk.options.full_refresh:
        stopped = _full_refresh_refused(desk, model)
        return stopped or Choice(action="replace", reasons=("--full-refresh was asked",), full=model.kind in EXTENDED)
    if body.materialized != model.kind:
        was_extended = body.materialized in EXTENDED
        return Choice(action="convert", reasons=(f"it was a {body.materialized} and is a {model.kind} now",), full=was_extended)
    edited = _edited_content(desk, model, body)
    if edited is not None:
        return edited
    if model.kind in EXTENDED:
        return _extended(desk, model, body, changing)
    return _whole(desk, model, body, changing)


def _edited_content(desk: Desk, model: CompiledModel, body: ReceiptBody) -> Choice | None:
    """What `--verify-content` found: rows that were changed in place."""
    found = desk.facts.contents.get(model.name)
    if found is None or body.fingerprint is None or found.engine != body.fingerprint.engine or found == body.fingerprint:
        return None
    if model.kind in EXTENDED:
        because = f"its rows were changed in place: {found.rows} rows now, {body.fingerprint.rows} by its receipt, or other values"
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
    if reasons:
        return Choice(action="replace", reasons=tuple(reasons))
    counted = desk.facts.counts.get(model.name)
    if model.kind != "view" and counted is not None and body.rows_after is not None and counted != body.rows_after:
        return Choice(action="replace", reasons=(f"its rows were changed by hand: {counted} now, {body.rows_after} by its receipt",))
    return _promise(model, body, moved)


def _promise(model: CompiledModel, body: ReceiptBody, moved: tuple[str, ...]) -> Choice:
    if body.digests.promise != model.digests.promise:
        return Choice(action="recheck", reasons=("its contract or checks changed: they are evaluated on the rows that are there",))
    asked = model.checks or any(promise.nulls == "forbidden" for promise in model.contract)
    if model.kind == "view" and moved and asked:
        return Choice(action="recheck", reasons=(*moved, "its checks are evaluated on what it shows now"))
    reasons = ["unchanged: definition, promise and inputs are those of its receipt"]
    if body.digests.note != model.digests.note:
        reasons = ["only its description or tags changed; the comment follows the next write"]
    return Choice(action="no_op", reasons=tuple(reasons))


def _why_anew(desk: Desk, model: CompiledModel, body: ReceiptBody) -> tuple[str, ...]:
    reasons = []
    if model.name in desk.options.force:
        reasons.append("--force was asked")
    parts = definition_moved(desk.compiled, model, body)
    if parts:
        reasons.append(f"its definition changed: {', '.join(parts)}")
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


def files_of(compiled: Compiled, source: str) -> str:
    """Digest of a file source's list of files; empty for other sources."""
    known = compiled.sources.get(source)
    return digest_of("files", known.files) if known is not None and known.source.path is not None else ""


def inputs_moved(desk: Desk, model: CompiledModel, body: ReceiptBody, changing: Mapping[str, Changing]) -> tuple[str, ...]:
    """Why what the model reads is not what its receipt read, through views and ephemerals."""
    before = {read.model: read.generation for read in body.reads}
    reasons = []
    for name in (*model.tables_read, *model.views_read):
        if name in changing:
            reasons.append(f"`{name}` is written in this plan")
        elif desk.facts.head(name).generation != before.get(name):
            reasons.append(f"`{name}` has changed since it was read")
    seen = {source.source: source.fingerprint for source in body.sources}
    for name in model.sources_read:
        now = desk.facts.fingerprints.get(name, "none")
        if now == "none":
            reasons.append(f"source `{name}` has no fingerprint, so it may have moved")
        elif now != seen.get(name):
            reasons.append(f"source `{name}` has moved")
    return tuple(reasons)


def _extended(desk: Desk, model: CompiledModel, body: ReceiptBody, changing: Mapping[str, Changing]) -> Choice:
    assert isinstance(model.file, ModelFile)
    backfill = _wants_range(desk, model)
    if isinstance(backfill, Choice):
        return backfill
    notes: list[str] = []
    reasons: list[str] = []
    parts = definition_moved(desk.compiled, model, body)
    if parts:
        policy, origin = _on_change(desk, model)
        if policy == "refuse":
            return refuse(
                "P412",
                f"its definition changed ({', '.join(parts)}), and {origin}",
                f"say once `--on-change {model.name}=rebuild` (or `continue`), or set `on_change` in its sidecar or in the target",
            )
        if policy == "rebuild":
            return Choice(action="replace", reasons=(f"its definition changed ({', '.join(parts)}) and on_change is `rebuild`",), full=True)
        reasons.append(f"its definition changed ({', '.join(parts)}) and on_change is `continue`: rows that are there stay as they are")
    there = output_columns(model, body.shape)
    added = _added(there, model.columns)
    if added is None or (added and model.file.on_schema_change == "refuse"):
        return refuse(
            "P413",
            f"its output columns are not those of the table: {columns_differ(there, model.columns)}",
            f'set `on_schema_change = "append_columns"` if columns were only added, or `--full-refresh {model.name}`',
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
    if body.rows_held:
        reasons.append(f"{body.rows_held} rows were held back by its last run")
    if model.kind == "incremental" and model.file.strategy == "partition" and _has_missing(desk, model):
        reasons.append("ranges are missing")
    if not reasons:
        choice = _promise(model, body, ())
        return Choice(action=choice.action, reasons=choice.reasons, notes=tuple(notes))
    return Choice(
        action=_extension(model, model.file),
        reasons=tuple(reasons),
        notes=tuple(notes),
        add_columns=added,
        backfill=backfill,
    )


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


def _on_change(desk: Desk, model: CompiledModel) -> tuple[str, str]:
    said = desk.options.on_change.get(model.name)
    if said is not None:
        return said, f"--on-change says `{said}`"
    assert not isinstance(model.file, SeedFile)
    if model.file.on_change is not None:
        return model.file.on_change, f'its files say `on_change = "{model.file.on_change}"`'
    return desk.target.on_change, f'the target `{desk.target.name}` says `on_change = "{desk.target.on_change}"`'
