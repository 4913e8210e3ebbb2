"""Ledger against warehouse: what each says of the other, and whether the relations are as their receipts left them. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from interlock.engine.audit.replay import Replay
from interlock.engine.audit.tape import Flaw, Read
from interlock.engine.warehouse.duckdb.quoting import relation
from interlock.engine.warehouse.duckdb.session import VERSION as ENGINE
from interlock.engine.warehouse.duckdb.write import fingerprint, fingerprint_of
from interlock.engine.warehouse.protocol import Catalog, HeadRow, Reader, RelationSeen, digest_of_heads
from interlock.machines.evidence import (
    AcceptEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    CompactEvidence,
    Found,
    Head,
    ReceiptBody,
    SealRow,
)
from interlock.machines.records import Record, digest

_BODY = msgspec.json.Decoder(ReceiptBody)
_BATCH = 2000

Topic: TypeAlias = Literal["ledger", "identity", "heads", "receipts", "seals", "relations", "contents"]
TOPICS: tuple[Topic, ...] = ("ledger", "identity", "heads", "receipts", "seals", "relations", "contents")


class Mismatch(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that ledger and warehouse do not agree on, or a relation that is not as its receipt left it."""

    topic: Topic
    subject: str
    code: str
    because: str
    severity: Literal["error", "warning"] = "error"


class Looked(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much was looked at of a topic."""

    topic: Topic
    count: int


class Verified(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `verify` came to."""

    looked: tuple[Looked, ...]
    mismatches: tuple[Mismatch, ...]


@dataclass(slots=True)
class Word:
    """What a ledger says, as far as a warehouse can be held against it. Gathered in one pass, with the replay."""

    receipts: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    """Receipts that were found: by id, the model, the record's sequence and the anchor."""
    checkpointed: set[str] = field(default_factory=set)
    anchors: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By digest of a `bootstrap` record that led to `bootstrapping`: model and run."""
    seals: dict[str, SealRow] = field(default_factory=dict)
    """Of closed runs."""
    closed: dict[str, int] = field(default_factory=dict)
    """Sequence of each run's `close`."""
    accepted_sequence: int = 0
    accepted: set[str] = field(default_factory=set)
    """Receipts whose word was taken."""
    accepted_last: set[str] = field(default_factory=set)
    """Of them those of the last time."""
    let_go: set[str] = field(default_factory=set)
    """Receipts that `receipts compact` may have taken out of the warehouse: what was written before it, but for what stays."""

    def hear(self, read: Read, replay: Replay) -> None:
        """Take a record that fits."""
        digest_, entry = read.numbered
        model = entry.subject.rpartition("#")[0].partition(":")[0]
        match entry.evidence:
            case CommitEvidence(receipt=Found() as found, anchor=anchor) if entry.machine == "model_run":
                self.receipts[found.id] = (model, entry.sequence, anchor)
            case CheckpointEvidence() as evidence if entry.target == "checkpointed":
                self.checkpointed.add(evidence.receipt)
                if evidence.moved is not None and evidence.moved.receipt is not None:
                    self.checkpointed.add(evidence.moved.receipt)
                    self.receipts.setdefault(evidence.moved.receipt, (evidence.moved.model, entry.sequence, ""))
            case CloseEvidence() as evidence if entry.target == "closed":
                self.seals[entry.subject] = evidence.seal_expected
                self.closed[entry.subject] = entry.sequence
            case AcceptEvidence() as evidence:
                self.accepted_sequence = entry.sequence
                self.accepted_last = {taken.head.receipt for taken in evidence.heads if taken.head.receipt is not None}
                self.accepted |= self.accepted_last
            case CompactEvidence() as evidence:
                stay = {known.head.receipt for known in replay.fold.models.values()}.union(evidence.standing)
                self.let_go |= {receipt for receipt, (_, _, anchor) in self.receipts.items() if anchor} - stay
            case _:
                pass
        if entry.target == "bootstrapping":
            self.anchors[digest_] = (model, entry.run or "")


def verify(word: Word, replay: Replay, flaws: Iterable[Flaw], reader: Reader, project: str) -> Verified:
    """Hold a ledger that was replayed against its warehouse.

    Args:
        word: what it says.
        replay: where it ended.
        flaws: what the replay found.
        reader: of the warehouse.
        project: the project's id.

    Raises:
        WarehouseError: the warehouse cannot be read.
    """
    found = [
        Mismatch(
            topic="ledger",
            subject=f"record {flaw.sequence}",
            code="K708" if flaw.kind == "unreadable" else "K707",
            because=flaw.because,
        )
        for flaw in flaws
    ]
    counts: dict[Topic, int] = {"ledger": replay.records}
    fold = replay.fold
    identity = reader.identity(project)
    counts["identity"] = 1
    if identity is None:
        found.append(Mismatch(topic="identity", subject=project, code="K705", because="this project has no identity in the warehouse"))
    elif (identity.ledger, identity.warehouse) != (fold.ledger, fold.warehouse):
        because = f"the warehouse belongs to ledger {identity.ledger}, and this is ledger {fold.ledger}"
        found.append(Mismatch(topic="identity", subject=project, code="K704", because=because))
    heads = reader.heads(project)
    counts["heads"] = len(heads)
    open_anchors = {anchor for anchor, attempt in fold.anchors.items() if not attempt.is_over}
    bodies: dict[str, ReceiptBody] = {}
    known_heads = {head.receipt for head in heads if head.receipt is not None}
    seals = reader.seals(project)
    before_accepted = {seal.run for seal in seals if seal.serial <= fold.serial_accepted}
    receipts = list(_receipts(reader, project, word, open_anchors, known_heads, before_accepted, bodies))
    counts["receipts"] = sum(isinstance(each, int) for each in receipts)
    found += [each for each in receipts if isinstance(each, Mismatch)]
    found += _heads(heads, {name: known.head for name, known in fold.models.items()}, bodies, open_anchors)
    counts["seals"] = len(seals)
    found += _seals(seals, word, fold.since_close, set(fold.open), fold.serial_accepted, heads, replay)
    catalog = reader.catalog()
    standing = [head for head in heads if head.receipt in bodies and head.token is not None]
    counts["relations"] = len(standing)
    counts["contents"] = sum(bodies[head.receipt or ""].kind == "table" for head in standing)
    places = frozenset((head.token, bodies[head.receipt or ""].relation.lower()) for head in standing)
    for head in standing:
        found += _relation(reader, catalog, head, bodies[head.receipt or ""], places)
    return Verified(
        looked=tuple(Looked(topic=topic, count=counts.get(topic, 0)) for topic in TOPICS),
        mismatches=tuple(sorted(found, key=lambda each: TOPICS.index(each.topic))),
    )


def _receipts(
    reader: Reader,
    project: str,
    word: Word,
    open_anchors: set[str],
    heads: set[str],
    before_accepted: set[str],
    bodies: dict[str, ReceiptBody],
) -> Iterator[Mismatch | int]:
    """Every receipt of the warehouse beside the ledger, then every receipt of the ledger that is not there."""
    there: set[str] = set()
    previous_of: dict[str, str | None] = {}
    strangers: dict[str, tuple[str, str]] = {}
    altered: dict[str, str] = {}
    last = ""
    while True:
        rows = reader.receipt_page(project, after=last, limit=_BATCH)
        for row in rows:
            receipt, model, run, previous = row.receipt, row.model, row.run, row.previous
            yield 1
            there.add(receipt)
            previous_of[receipt] = previous
            last = receipt
            if digest("receipt", row.body) != receipt:
                altered[receipt] = model
                continue
            try:
                decoded = _BODY.decode(row.body)
            except msgspec.DecodeError as error:
                yield Mismatch(topic="receipts", subject=model, code="K706", because=f"receipt {receipt[:12]} cannot be read: {error}")
                continue
            if receipt in heads:
                bodies[receipt] = decoded
            if (decoded.project, decoded.model, decoded.previous) != (project, model, previous):
                because = f"the row of receipt {receipt[:12]} names another project, model or predecessor than its body"
                yield Mismatch(topic="receipts", subject=model, code="K709", because=because)
            anchor = word.anchors.get(decoded.anchor)
            if anchor is not None and anchor != (model.partition(":")[0], run) and decoded.action != "move":
                because = f"receipt {receipt[:12]} names the attempt of `{anchor[0]}` in run {anchor[1]}"
                yield Mismatch(topic="receipts", subject=model, code="K709", because=because)
            # Of a run that had its seal before a person took the warehouse's word: what led to a head from there may have been let go.
            known = receipt in word.receipts or receipt in word.checkpointed or run in before_accepted
            if not known and decoded.anchor not in open_anchors:
                strangers[receipt] = (model, decoded.anchor)
        if len(rows) < _BATCH:
            break
    behind = _behind(word.accepted, previous_of)
    stood_on = _behind(word.accepted_last, previous_of)
    for receipt, model in altered.items():
        yield _altered(receipt, model, word, stood_on)
    for receipt, (model, anchor_) in strangers.items():
        if receipt in behind:
            continue  # from before a person took the warehouse's word
        whose = "of an attempt that this ledger does not know" if anchor_ not in word.anchors else "that no record says was found"
        yield Mismatch(
            topic="receipts",
            subject=model,
            code="K702",
            because=f"receipt {receipt[:12]} is {whose}: the ledger lost its end, or it is foreign",
        )
    for receipt, (model, sequence, _) in word.receipts.items():
        if receipt not in there and receipt not in word.let_go and sequence > word.accepted_sequence:
            yield Mismatch(
                topic="receipts", subject=model, code="K703", because=f"receipt {receipt[:12]} of record {sequence} is not in the warehouse"
            )
    for receipt, (model, sequence, _) in word.receipts.items():
        if receipt in there and receipt not in word.checkpointed and sequence > word.accepted_sequence:
            yield Mismatch(
                topic="receipts",
                subject=model,
                code="K732",
                severity="warning",
                because=f"receipt {receipt[:12]} of record {sequence} has no checkpoint yet",
            )


def _altered(receipt: str, model: str, word: Word, stood_on: set[str]) -> Mismatch:
    """One whose bytes are not those of its id. A person who took the warehouse's word let go of those that no head stood on then."""
    because = f"receipt {receipt[:12]} was altered: its body is not that of its id"
    _, sequence, _ = word.receipts.get(receipt, ("", word.accepted_sequence + 1, ""))
    if sequence < word.accepted_sequence and receipt not in stood_on:
        because += f"; record {word.accepted_sequence} took the warehouse's word without it"
        return Mismatch(topic="receipts", subject=model, code="K706", severity="warning", because=because)
    return Mismatch(topic="receipts", subject=model, code="K706", because=because)


def _behind(accepted: set[str], previous_of: Mapping[str, str | None]) -> set[str]:
    """The receipts that were taken with a head, and all those before them."""
    found: set[str] = set()
    for head in accepted:
        at: str | None = head
        while at is not None and at not in found:
            found.add(at)
            at = previous_of.get(at)
    return found


def _heads(
    heads: tuple[HeadRow, ...], expected: Mapping[str, Head], bodies: Mapping[str, ReceiptBody], open_anchors: set[str]
) -> Iterator[Mismatch]:
    rows = {head.model: head for head in heads}
    for model in sorted(rows.keys() | expected.keys()):
        row, known = rows.get(model), expected.get(model, Head())
        receipt = row.receipt if row is not None else None
        if receipt is not None and receipt not in bodies:
            yield Mismatch(topic="heads", subject=model, code="K706", because=f"its head names receipt {receipt[:12]}, which is not there")
        there = (row.token, row.generation) if row is not None else (None, None)
        if (receipt, *there) == (known.receipt, known.token, known.generation):
            continue
        body = bodies.get(receipt or "")
        said, whose = (known.token, known.generation), "the ledger"
        is_open = receipt != known.receipt and body is not None and body.anchor in open_anchors
        if is_open and body is not None:
            said, whose = (body.token, body.generation), "its receipt"
        if is_open and there == said:
            because = "its last attempt has written and has no end in the ledger; the next run settles it"
            yield Mismatch(topic="heads", subject=model, code="K742", severity="warning", because=because)
        elif is_open or receipt == known.receipt:
            for name, is_, was in zip(("token", "generation"), there, said, strict=True):
                if is_ != was:
                    because = f"its head has the {name} {(is_ or 'none')[:12]}, {whose} {(was or 'none')[:12]}"
                    yield Mismatch(topic="heads", subject=model, code="K709", because=because)
        else:
            because = f"the warehouse's head is {(receipt or 'none')[:12]}, the ledger's {(known.receipt or 'none')[:12]}"
            yield Mismatch(topic="heads", subject=model, code="K709", because=because)


def _seals(
    seals: tuple[SealRow, ...],
    word: Word,
    since_close: Mapping[str, int],
    open_runs: set[str],
    serial_accepted: int,
    heads: tuple[HeadRow, ...],
    replay: Replay,
) -> Iterator[Mismatch]:
    there = {seal.run: seal for seal in seals}
    for seal in seals:
        known = word.seals.get(seal.run)
        if known is None:
            if seal.serial <= serial_accepted:
                continue
            if seal.run in open_runs and seal.tip in since_close:
                # A run writes nothing after its seal.
                if seal.heads != digest_of_heads(heads):
                    because = "the seal of this run, which has no end in the ledger, is of other heads than those that are there"
                    yield Mismatch(topic="seals", subject=seal.run, code="K709", because=because)
                continue
            because = (
                f"the warehouse says that run {seal.run} was closed (serial {seal.serial}), and the ledger does not: its end was cut off"
            )
            yield Mismatch(topic="seals", subject=seal.run, code="K702", because=because)
        elif known != seal and (word.closed[seal.run] > word.accepted_sequence or seal.serial > serial_accepted):
            yield Mismatch(topic="seals", subject=seal.run, code="K709", because="its seal in the warehouse is not the one in the ledger")
    for run, seal in word.seals.items():
        # What was closed before a person took the warehouse's word may be gone: a backup was restored.
        if run not in there and word.closed[run] > word.accepted_sequence:
            yield Mismatch(topic="seals", subject=run, code="K703", because=f"its seal (serial {seal.serial}) is not in the warehouse")
    # The seal's digest of heads holds as long as nothing was begun since.
    is_last = seals and not open_runs and replay.fold.seal is not None and seals[-1].run == replay.fold.seal.run
    if is_last and digest_of_heads(heads) != seals[-1].heads:
        yield Mismatch(topic="seals", subject=seals[-1].run, code="K709", because="the heads are not those that the last seal is of")


def _relation(
    reader: Reader, catalog: Catalog, head: HeadRow, body: ReceiptBody, places: frozenset[tuple[str | None, str]]
) -> Iterator[Mismatch]:
    schema, _, name = body.relation.rpartition(".")
    seen = catalog.find(schema, name)
    if seen is not None and seen.token != head.token and (seen.token, body.relation.lower()) in places:
        return  # another model took it over, and its own head answers for it
    if seen is None:
        yield Mismatch(topic="relations", subject=head.model, code="P419", because=f"{body.relation} is not there any more")
        return
    yield from _form(seen, head, body)
    if seen.kind == "table" and body.kind == "table":
        yield from _content(reader, seen, head, body)


def _form(seen: RelationSeen, head: HeadRow, body: ReceiptBody) -> Iterator[Mismatch]:
    if seen.kind != body.kind:
        yield Mismatch(
            topic="relations", subject=head.model, code="P418", because=f"it is a {seen.kind}, and its receipt left a {body.kind}"
        )
    if seen.token != head.token:
        because = "it does not carry the token of its head: it was made anew, or its comment was changed"
        yield Mismatch(topic="relations", subject=head.model, code="P417", because=because)
    if body.shape and seen.columns != body.shape:
        left = ", ".join(f"{column.name} {column.type}" for column in body.shape)
        now = ", ".join(f"{column.name} {column.type}" for column in seen.columns)
        yield Mismatch(topic="relations", subject=head.model, code="P408", because=f"its receipt left the columns {left}; now: {now}")


def _content(reader: Reader, seen: RelationSeen, head: HeadRow, body: ReceiptBody) -> Iterator[Mismatch]:
    rel = relation(seen.schema, seen.name)
    print_ = body.fingerprint
    if print_ is None or print_.engine != ENGINE:
        answer: dict[str, Any] = {"rows": reader.query(f"SELECT count(*) FROM {rel}")[0][0]}
    else:
        answer = reader.query(fingerprint("print_all", rel, "TRUE").text)[0][0]
    if body.rows_after is not None and int(answer["rows"]) != body.rows_after:
        because = f"it has {answer['rows']} rows, and its receipt left {body.rows_after}"
        yield Mismatch(topic="contents", subject=head.model, code="P408", because=because)
    elif print_ is not None and print_.engine != ENGINE:
        because = f"its content was fingerprinted by {print_.engine}, and {ENGINE} cannot tell whether it is the same; its rows are as many"
        yield Mismatch(topic="contents", subject=head.model, code="P408", severity="warning", because=because)
    elif print_ is not None and fingerprint_of(answer, ENGINE) != print_:
        because = f"it has as many rows as its receipt left, and other values (fingerprint by {print_.engine})"
        yield Mismatch(topic="contents", subject=head.model, code="P408", because=because)
