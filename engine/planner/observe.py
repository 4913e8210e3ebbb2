"""The one look at the world before a plan: bulk questions only, none per model. Reads, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.engine.clock import stamp
from interlock.engine.compiler.compiled import Compiled, CompiledModel, CompiledSource
from interlock.engine.planner.asked import all_sources
from interlock.engine.planner.cursors import Wish, family, observe, until_of
from interlock.engine.planner.facts import CursorFacts, Facts
from interlock.engine.planner.fingerprints import fingerprints_of
from interlock.engine.planner.frame import cursor_column
from interlock.engine.planner.plan import Options
from interlock.engine.planner.recovery import ModelLedger
from interlock.engine.planner.scans import read_whole
from interlock.engine.planner.sources import ask, freshness_checks, question_of
from interlock.engine.planner.statements import restricted_sql
from interlock.engine.project.project import ModelFile
from interlock.engine.warehouse.duckdb.dependents import names_in
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.duckdb.write import Cursor, fingerprint, fingerprint_of
from interlock.engine.warehouse.protocol import Catalog, HeadRow, Reader, ReceiptRow, WarehouseError
from interlock.machines.evidence import Fingerprint, Head, Observation, ReceiptBody, SourceVerdict
from interlock.machines.records import digest

_BODY = msgspec.json.Decoder(ReceiptBody)


UNSOUND: Final = (
    "restore the database from a backup, or run `interlock ledger accept-warehouse --target TARGET`, which lets go of what cannot be read"
)
"""What helps where a receipt is not what its head names."""


class Unreadable(Exception):  # noqa: N818 - an answer about the warehouse
    """A receipt stands there that does not decode, or whose bytes are not those of its id."""


def body_of(row: ReceiptRow) -> ReceiptBody:
    """A receipt's body, checked against its id.

    Raises:
        Unreadable: the bytes are not those that the id names, or no receipt of a release that this one can read.
    """
    if digest("receipt", row.body) != row.receipt:
        raise Unreadable(f"receipt {row.receipt[:12]} of `{row.model}` was altered: its bytes are not those of its id")
    try:
        return _BODY.decode(row.body)
    except msgspec.DecodeError as error:
        raise Unreadable(f"receipt {row.receipt[:12]} of `{row.model}` cannot be read: {error}") from error


def read_bodies(reader: Reader, project: str, heads: Iterable[HeadRow]) -> dict[str, ReceiptBody]:
    """Bodies of head receipts, by model, in one query: of every head that names one.

    Raises:
        Unreadable: a receipt is not there, was altered, cannot be read, or is of another model than the head that names it.
    """
    named = list(heads)
    bodies = read_there(reader, project, named)
    for head in named:
        if head.receipt is not None and head.model not in bodies:
            raise Unreadable(_lost(head.model, head.receipt))
    return bodies


def read_there(reader: Reader, project: str, heads: Iterable[HeadRow]) -> dict[str, ReceiptBody]:
    """As `read_bodies`, but a head whose receipt is not there has no body. For those who say themselves what that means.

    Raises:
        Unreadable: a receipt was altered, cannot be read, or is of another model than the head that names it.
    """
    named = {head.model: head.receipt for head in heads if head.receipt is not None}
    rows = reader.receipts(project, tuple(dict.fromkeys(named.values())))
    return {model: _body_for(model, rows[receipt]) for model, receipt in named.items() if receipt in rows}


def _lost(model: str, receipt: str) -> str:
    return f"the head of `{model}` names receipt {receipt[:12]}, which is not there"


def _body_for(model: str, row: ReceiptRow) -> ReceiptBody:
    if row.model != model:
        raise Unreadable(f"the head of `{model}` names receipt {row.receipt[:12]}, which is of `{row.model}`")
    return body_of(row)


def read_sound(reader: Reader, project: str, heads: Iterable[HeadRow]) -> tuple[dict[str, ReceiptBody], dict[str, str]]:
    """Bodies of head receipts, by model; and of heads whose receipt is not what they name, why not."""
    named = {head.model: head.receipt for head in heads if head.receipt is not None}
    rows = reader.receipts(project, tuple(dict.fromkeys(named.values())))
    bodies: dict[str, ReceiptBody] = {}
    unsound: dict[str, str] = {}
    for model, receipt in sorted(named.items()):
        if receipt not in rows:
            unsound[model] = _lost(model, receipt)
            continue
        try:
            bodies[model] = _body_for(model, rows[receipt])
        except Unreadable as error:
            unsound[model] = str(error)
    return bodies, unsound


def read_published(reader: Reader, project: str, models: Sequence[str]) -> dict[str, tuple[HeadRow, ReceiptBody | None]]:
    """Heads and the bodies of their receipts, by model, in one snapshot; a model that has no head row stands there with an empty one."""
    found = {model: (HeadRow(model=model, receipt=None, token=None, generation=None), None) for model in models}
    rows = reader.published(project, models)
    return {**found, **{head.model: (head, body_of(row) if row is not None else None) for head, row in rows}}


def left_behind(reader: Reader, project: str, catalog: Catalog, heads: Iterable[HeadRow]) -> tuple[ReceiptRow, ...]:
    """The last receipts of ours that left relations with tokens that stand somewhere and are no head's."""
    known = {head.token for head in heads}
    tokens = sorted({seen.token for seen in catalog.relations.values() if seen.token is not None and seen.token not in known})
    return tuple(reader.receipts_that_left(project, tokens)) if tokens else ()


def strays_in(reader: Reader, project: str, catalog: Catalog, heads: Iterable[HeadRow]) -> dict[tuple[str, str], ReceiptBody]:
    """Relations that receipts of ours left and that no head stands for: a model that was given another schema or alias left them.

    Receipts are looked through only where a relation carries a token that is no head's, which is then named in every plan.
    """
    found = {}
    for row in left_behind(reader, project, catalog, heads):
        try:
            body = body_of(row)
        except Unreadable:
            continue  # it proves nothing: what stands there counts as somebody else's, and nothing is done to it
        schema, _, name = body.relation.lower().partition(".")
        seen = catalog.find(schema, name)
        if seen is not None and seen.token == body.token and seen.kind == body.kind:
            found[schema, name] = body
    return found


def look(
    reader: Reader | None,
    *,
    project: str,
    root: Path,
    compiled: Compiled,
    selected: frozenset[str],
    options: Options,
    as_of: datetime,
    now: str,
    catalog: Catalog,
    heads: Sequence[HeadRow],
    expected: Mapping[str, Head],
    ledger: Mapping[str, ModelLedger],
    open_anchors: frozenset[str],
) -> Facts:
    """Everything that decisions rest on.

    Args:
        reader: of the target; `None` where there is no database yet.
        project: its id.
        root: the project's directory, where file sources are read from.
        compiled: the project, compiled.
        selected: models of the plan.
        options: of the command line.
        as_of: the plan's time.
        now: when it is looked at, as text.
        catalog: the bulk probe.
        heads: of the project.
        expected: heads as the ledger has them.
        ledger: state of each model's last attempt.
        open_anchors: anchors of attempts without an end.

    Raises:
        WarehouseError: a question got no answer.
        Unreadable: a receipt cannot be read.
    """
    by_model = {head.model: head for head in heads}
    wanted = _models_looked_at(compiled, selected, by_model, options) | _in_the_way(compiled, selected, by_model, catalog)
    bodies = read_bodies(reader, project, (by_model[name] for name in sorted(wanted) if name in by_model)) if reader is not None else {}
    sources = _sources_of(compiled, selected)
    cursors: dict[str, CursorFacts] = {}
    unanswered: dict[str, str] = {}
    if reader is not None:
        cursors, unanswered = observe(reader, list(_wishes(compiled, selected, by_model, bodies, options, as_of)))
    unreadable: dict[str, str] = {}
    asked = [compiled.sources[name] for name in sources]
    fingerprints, unmarked = fingerprints_of(reader, root, project, catalog, asked)
    observations = [Observation(question="catalog", answer="read" if reader is not None else "absent")]
    observations.append(Observation(question="heads", answer="read" if heads else "absent"))
    observations += [Observation(question=f"source {name}", answer="read") for name in sources]
    return Facts(
        catalog=catalog,
        heads=by_model,
        receipts=bodies,
        expected=dict(expected),
        ledger=dict(ledger),
        open_anchors=open_anchors,
        fingerprints=fingerprints,
        unmarked=unmarked,
        said=_said(reader, asked, stamp(as_of), now),
        cursors=cursors,
        reads_all={},
        contents=_contents(reader, compiled, selected, bodies, catalog, options, unreadable) if options.verify_content == "yes" else {},
        counts=_counts(reader, compiled, selected, bodies, catalog, options, unreadable),
        dependents=_dependents(catalog, compiled),
        strays=strays_in(reader, project, catalog, heads) if reader is not None else {},
        observations=tuple(observations),
        unanswered=unanswered,
        unreadable=unreadable,
    )


def _models_looked_at(compiled: Compiled, selected: frozenset[str], heads: Mapping[str, HeadRow], options: Options) -> set[str]:
    wanted = set(selected)
    for name in selected:
        model = compiled.models[name]
        wanted |= {*model.references, *model.tables_read, *model.views_read}
        if model.file.renamed_from:
            wanted.add(model.file.renamed_from)
    if options.drop_orphans == "yes":
        wanted |= {name for name in heads if name not in compiled.models or compiled.models[name].kind == "ephemeral"}
    return wanted


def _in_the_way(compiled: Compiled, selected: frozenset[str], heads: Mapping[str, HeadRow], catalog: Catalog) -> set[str]:
    """Whose relation stands where another model belongs: its receipt tells whether it was left there."""
    places = [catalog.find(compiled.models[name].schema, compiled.models[name].relation) for name in selected]
    tokens = {seen.token for seen in places if seen is not None and seen.token is not None}
    return {name for name, head in heads.items() if head.token in tokens}


def _sources_of(compiled: Compiled, selected: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted({source for name in selected for source in all_sources(compiled, compiled.models[name])}))


def _wishes(
    compiled: Compiled,
    selected: frozenset[str],
    heads: Mapping[str, HeadRow],
    bodies: Mapping[str, ReceiptBody],
    options: Options,
    as_of: datetime,
) -> Iterable[Wish]:
    for name in sorted(selected):
        model = compiled.models[name]
        column = cursor_column(model)
        if column is None:
            continue
        assert isinstance(model.file, ModelFile)
        body = bodies.get(name)
        head = heads.get(name)
        stands = body is not None and head is not None and head.token is not None
        watermark = body.watermark if body is not None and stands else None
        if watermark is not None and watermark.type != column.type:
            watermark = None
        # Ranges go with a watermark of their type: a table that was a partition model once has some of another column.
        covered = body.ranges if body is not None and watermark is not None else ()
        until = until_of(model.file, column.type, as_of)
        is_partition = model.file.strategy == "partition"
        observed = is_partition and until is None and model.file.until != "none" and family(column.type) == "number" and stands
        standing = not (set(model.tables_read) | set(model.views_read)) & selected
        yield Wish(
            model=name,
            column=column.name,
            type=column.type,
            high=watermark.high if watermark is not None else None,
            lookback=model.file.lookback,
            width=model.file.partition if is_partition else None,
            until=until,
            upper_query=model.sql if observed and standing else None,
            text_query=model.sql if standing and family(column.type) == "text" else None,
            range_low=options.range_low,
            range_high=options.range_high,
            covered=covered,
        )


def reads_all(
    reader: Reader, compiled: Compiled, models: Iterable[str], cursors: Mapping[str, CursorFacts], catalog: Catalog
) -> dict[str, tuple[str, ...]]:
    """By incremental model that has a lower end: what it reads whole all the same. Only where all that it reads is there.

    One question for each, so it is put for those that are extended and no others. It is told of the cost only. Where this plan
    makes first what the model's new text reads (a column that comes with its upstream), the text does not bind to what stands
    there yet, so nothing is told.
    """
    found = {}
    for name in models:
        facts = cursors.get(name)
        if facts is None:
            continue
        model = compiled.models[name]
        low = facts.ranges[-1].low if facts.ranges and facts.ranges[-1].low else facts.low
        column = cursor_column(model)
        reads = [compiled.models[read] for read in (*model.tables_read, *model.views_read)]
        if not low or column is None or any(catalog.find(read.schema, read.relation) is None for read in reads):
            continue
        cursor = Cursor(column=column.name, type=column.type, low=low, until=facts.until)
        text = f"SELECT * FROM (\n{restricted_sql(model, cursor)}\n) AS staged WHERE {cursor.staged()}"
        try:
            found[name] = read_whole(reader.explain(text), low)
        except WarehouseError as error:
            if error.code != "W608":
                raise
    return {name: whole for name, whole in found.items() if whole}


def _said(reader: Reader | None, sources: Sequence[CompiledSource], as_of: str, now: str) -> dict[str, tuple[SourceVerdict, ...]]:
    """How fresh the sources are of which that is asked."""
    found = {}
    for source in sources:
        question = question_of(source, freshness_checks(source), as_of)
        if reader is not None and question.checks:
            found[source.source.name] = ask(reader, question, now)
    return found


def _stands(compiled: Compiled, name: str, catalog: Catalog, options: Options) -> CompiledModel | None:
    """A model whose table is there and matters: what is made anew is not asked what it was."""
    model = compiled.models[name]
    if name in options.full_refresh:
        return None
    seen = catalog.find(model.schema, model.relation)
    return model if model.kind not in ("view", "ephemeral") and seen is not None and seen.kind == "table" else None


def _counts(
    reader: Reader | None,
    compiled: Compiled,
    selected: frozenset[str],
    bodies: Mapping[str, ReceiptBody],
    catalog: Catalog,
    options: Options,
    unreadable: dict[str, str],
) -> dict[str, int]:
    """Rows of tables whose promise moved: a recheck must know that it looks at the rows that the receipt left."""
    asked = []
    for name in sorted(selected & bodies.keys()):
        model = _stands(compiled, name, catalog, options)
        if model is not None and bodies[name].digests.promise != model.digests.promise:
            asked.append((name, f"SELECT count(*) FROM {relation(model.schema, model.relation)}"))
    return {name: int(value) for name, value in _ask(reader, asked, unreadable).items()}


def _contents(
    reader: Reader | None,
    compiled: Compiled,
    selected: frozenset[str],
    bodies: Mapping[str, ReceiptBody],
    catalog: Catalog,
    options: Options,
    unreadable: dict[str, str],
) -> dict[str, Fingerprint]:
    asked = []
    for name in sorted(selected & bodies.keys()):
        model = _stands(compiled, name, catalog, options)
        if model is not None and bodies[name].fingerprint is not None:
            asked.append((name, fingerprint("print_all", relation(model.schema, model.relation), "TRUE").text))
    answers = _ask(reader, asked, unreadable)
    return {name: fingerprint_of(value, compiled.engine) for name, value in answers.items()}


def _ask(reader: Reader | None, asked: Sequence[tuple[str, str]], unreadable: dict[str, str]) -> dict[str, Any]:
    """The answers, by model, of one bulk question. Where that gets none, each is asked alone: one damaged table is not all of them."""
    if reader is None or not asked:
        return {}
    fields = ", ".join(f"'q{number}': ({query})" for number, (_, query) in enumerate(asked))
    try:
        answer: dict[str, Any] = reader.query(f"SELECT {{{fields}}}")[0][0]
    except WarehouseError as error:
        if not _is_of_a_target(error):
            raise
        return _ask_each(reader, asked, unreadable)
    return {name: answer[f"q{number}"] for number, (name, _) in enumerate(asked)}


def _ask_each(reader: Reader, asked: Sequence[tuple[str, str]], unreadable: dict[str, str]) -> dict[str, Any]:
    found = {}
    for name, query in asked:
        try:
            found[name] = reader.query(f"SELECT {{'q': ({query})}}")[0][0]["q"]
        except WarehouseError as error:
            if not _is_of_a_target(error):
                raise
            unreadable[name] = error.message
    return found


def _is_of_a_target(error: WarehouseError) -> bool:
    """Whether it is about the rows that were asked for: a damaged block, or a disk that does not give it."""
    return error.code in ("W607", "W608")


def _dependents(catalog: Catalog, compiled: Compiled) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Views that no model of the project makes, by what they read."""
    made = {(model.schema.lower(), model.relation.lower()) for model in compiled.models.values() if model.kind == "view"}
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, seen in catalog.relations.items():
        if seen.kind != "view" or seen.text is None or key in made or seen.schema == "interlock":
            continue
        for read in names_in(seen):
            found.setdefault(read, []).append((seen.schema, seen.name))
    return {read: tuple(sorted(views)) for read, views in found.items()}
