"""A choice, what it may look at, and what has moved since a receipt. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.planner.facts import Facts
from interlock.engine.planner.plan import Action, Options, Refusal
from interlock.engine.planner.recovery import ModelRow
from interlock.engine.project.project import ModelFile
from interlock.engine.warehouse.duckdb.dependents import Place
from interlock.engine.warehouse.duckdb.parser import canonical_of
from interlock.engine.warehouse.protocol import RelationSeen
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import Column, ReceiptBody
from interlock.machines.records import Record, digest_of

Changing = Literal["rows", "relation"]


EXTENDED = frozenset({"incremental", "snapshot"})


VALIDITY = ("valid_from", "valid_to")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Everything that a choice may look at."""

    compiled: Compiled
    facts: Facts
    options: Options
    target: TargetConfig
    selected: frozenset[str]
    bound: Callable[[Sequence[RelationSeen]], frozenset[Place]]
    """Which of some views bind in the warehouse as it is. It is asked only where something that they read changes."""
    orphans: frozenset[str | None] = frozenset()
    """Tokens of relations that no model makes any more."""
    leaving: frozenset[str | None] = frozenset()
    """Tokens of those that this plan drops."""

    def seen(self, model: CompiledModel) -> RelationSeen | None:
        """What stands at the model's name."""
        return self.facts.catalog.find(model.schema, model.relation)


def earlier_of(desk: Desk, model: CompiledModel) -> ReceiptBody | None:
    """The receipt that left what stands at the model's place, where that is an earlier one of the same model and not its head."""
    body = desk.facts.strays.get((model.schema.lower(), model.relation.lower()))
    return body if body is not None and body.model == model.name else None


def refuse(row_or_code: ModelRow | str, because: str, remedy: str = "", *, model: str = "") -> Choice:
    """A choice that refuses."""
    if isinstance(row_or_code, ModelRow):
        code, remedy = row_or_code.code, (remedy or row_or_code.remedy)
    else:
        code = row_or_code
    return Choice(action="refuse", reasons=(because,), refusal=Refusal(code=code, because=because, remedy=remedy.replace("MODEL", model)))


def relation_kind(model: CompiledModel) -> Literal["table", "view"]:
    """What kind of relation the model makes."""
    return "view" if model.kind == "view" else "table"


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
    if body.engine != compiled.engine and moved and canonical_of(body.text) == canonical_of(model.text):
        moved = tuple(name for name in moved if name != "query")
    return moved or (("definition",) if body.engine == compiled.engine else ())


_PARTS = {
    "query": "its query",
    "content": "its rows",
    "columns": "the types of its columns",
    "sources": "which relation or files a source is",
    "ephemerals": "an ephemeral model that it reads",
    "macros": "a macro that it calls",
    "variables": "the value of a variable that it reads",
    "materialization": "`materialized`",
    "strategy": "its strategy, watermark or ranges",
    "keys": "its `unique_key`",
    "definition": "how it is read",
}
"""What a part of a definition is, for people."""


def in_words(desk: Desk, model: CompiledModel, parts: tuple[str, ...]) -> str:
    """Which parts of a definition moved. Of a name that stands for another relation now: which one, where receipts tell it."""
    return ", ".join(_other_relations(desk, model) if part == "resolution" else _PARTS[part] for part in parts)


def _other_relations(desk: Desk, model: CompiledModel) -> str:
    """The same text reads another relation, whose rows may be others: that is another definition."""
    moved = []
    for name in (*model.tables_read, *model.views_read):
        upstream, body = desk.compiled.models[name], desk.facts.body(name)
        now = f"{upstream.schema}.{upstream.relation}"
        if body is not None and body.relation.lower() != now.lower():
            moved.append(f"`{name}` was {body.relation} and is {now} by its alias or schema")
    found = f": {', '.join(moved)}" if moved else ""
    return f"a name in its text stands for another relation than when its rows were written{found}"


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
            why = desk.facts.unmarked.get(name)
            reasons.append(f"source `{name}` has no fingerprint{f' ({why})' if why else ''}, so it may have moved")
        elif now != seen.get(name):
            reasons.append(f"source `{name}` has moved")
    return tuple(reasons)


def promise_moved(model: CompiledModel, body: ReceiptBody, moved: tuple[str, ...], again: tuple[str, ...]) -> Choice:
    """What is left to do where nothing is to be built: evaluate a promise that moved, or nothing, with the reason.

    Args:
        model: whose rows stay as they are.
        body: of the receipt of its head.
        moved: why what a view shows is not what it showed.
        again: why its checks may answer otherwise now.
    """
    if body.digests.promise != model.digests.promise:
        return Choice(action="recheck", reasons=("its contract or checks changed: they are evaluated on the rows that are there",))
    asked = model.checks or any(promise.nulls == "forbidden" for promise in model.contract)
    if model.kind == "view" and moved and asked:
        return Choice(action="recheck", reasons=(*moved, *again, "its checks are evaluated on what it shows now"))
    if again:
        return Choice(action="recheck", reasons=again)
    reasons = ["unchanged: definition, promise and inputs are those of its receipt"]
    if body.digests.note != model.digests.note:
        reasons = ["only its description or tags changed; the comment follows the next write"]
    return Choice(action="no_op", reasons=tuple(reasons))


def wants_range(desk: Desk, model: CompiledModel) -> Choice | bool:
    """Whether `--from` and `--to` are for this model, or why they cannot be."""
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
    if cursor is not None and cursor.empty_range:
        because, remedy = f"nothing lies in the range from {cursor.empty_range}", "write a --from below --to, which is exclusive"
        if cursor.until is not None and cursor.range_high == cursor.until:
            # It was cut there: no --to is of help.
            because += f"; rows from {cursor.until} on are held back"
            remedy = f"write a --from below {cursor.until}; what lies beyond is loaded by a run when its time has come"
        return refuse("P416", because, remedy)
    return True
