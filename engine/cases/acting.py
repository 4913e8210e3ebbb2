"""Acts of a person: each shown before it is done, asked, and recorded with who and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from interlock.engine.cases.acts import Where, acted, perform
from interlock.engine.cases.running import elsewhere, result_of
from interlock.engine.clock import stamp
from interlock.engine.diagnostics import Diagnostic, Refused, did_you_mean, refused, rows_in_words
from interlock.engine.ledger.durable import set_aside
from interlock.engine.ledger.reader import LedgerAbsent, LedgerBroken, LedgerUnreadable, LedgerWhole
from interlock.engine.ledger.writer import LedgerError
from interlock.engine.planner.facts import head_of
from interlock.engine.planner.observe import UNSOUND, read_sound, strays_in
from interlock.engine.planner.plan import Options
from interlock.engine.results import ActResult, Confirm
from interlock.engine.runner import genesis
from interlock.engine.runner.apply import run
from interlock.engine.runner.authority import Sight
from interlock.engine.runner.binding import unreadable
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.heads import taken
from interlock.engine.runner.planning import Planned
from interlock.engine.runner.selection import Request
from interlock.engine.runner.site import Site, site
from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.duckdb.dependents import names_in
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import Catalog, HeadRow, RelationSeen, WarehouseError
from interlock.machines.evidence import AcceptEvidence, HeadTaken, ReceiptBody, ResetEvidence

ACCEPT: Final = ("ledger accept-warehouse", "accept_warehouse")
ACCEPTABLE = frozenset({"K701", "K702", "K703", "K704", "K707", "K709"})


def adopt_model(ground: Ground, model: str, *, confirm: Confirm, reason: str, where: Where) -> ActResult:
    """A one-item plan of the action `adopt`, through the one way to write.

    Raises:
        Refused: S114 where no model or seed has that name: one is taken at a time, so a selector is none. And as `run`.
    """
    names = (*ground.project.models, *ground.project.seeds, *ground.project.unread)
    if model not in names:
        raise refused("S114", f"there is no model `{model}`", remedy=did_you_mean(model, names, "see `interlock ls`"), subject=model)
    shown: list[str] = []

    def ask(planned: Planned) -> bool:
        assert planned.body is not None
        item = next((item for item in planned.body.items if item.model == model), None)
        if item is None:
            because = "it is an ephemeral model, which makes nothing"
            raise refused("P422", f"`{model}` cannot be adopted", because=because, remedy="change `materialized` first", subject=model)
        if item.refusal is not None:
            raise refused(
                item.refusal.code, f"`{model}` cannot be adopted", because=item.refusal.because, remedy=item.refusal.remedy, subject=model
            )
        shown.extend(
            (
                f"takes {item.schema}.{item.relation} as it is: its rows are counted, its columns and checks are looked at, and it gets a receipt",
                "from then on it is ours: the next runs replace or extend it",
            )
        )
        return confirm(tuple(shown))

    applied = run(
        ground,
        Request(select=(model,), options=Options(adopt=model, variables=dict(ground.variables))),
        elsewhere=elsewhere(ground),
        threads=1,
        fail_fast=False,
        review="unreviewed" if ground.target.protected else "open",
        progress=lambda _attempt, _state: None,
        planned_is=lambda _body: None,
        said=lambda _line: None,
        confirm=ask,
        reason=reason,
    )
    if applied.carried is None:
        return acted("adopt", "adopt", shown, "refused", where)
    result = result_of(ground, "adopt", applied, 0)
    refusals = tuple(
        Diagnostic(code=each.code, summary=f"`{each.model}` was refused", because=each.because, remedy=each.remedy, subject=each.model)
        for each in result.models
        if each.state == "refused"
    )
    done = not refusals and result.outcome == "succeeded"
    return ActResult(
        command="adopt",
        outcome="done" if done else "refused",
        exit_code=result.exit_code,
        findings=(*result.findings, *refusals),
        act="adopt",
        shown=tuple(shown),
        done="yes" if done else "no",
        run=result.run,
        **where,
    )


# --- accept-warehouse ---------------------------------------------------------------------------------------------------


def accept(ground: Ground, *, confirm: Confirm, reason: str, where: Where) -> ActResult:
    """Take the warehouse's word: its heads become the ledger's, and its identity names this ledger."""
    with site(ground, "ledger accept-warehouse") as place:
        sight = place.sight()
        if sight.finding.decision == "refuse":
            _demand_acceptable(place, sight)
        bodies, heads, unsound = _heads(place, sight) if place.session is not None else ({}, (), {})
        if sight.finding.decision != "refuse":
            if not unsound:
                shown: tuple[str, ...] = ("ledger and warehouse agree: there is nothing to accept",)
                return acted(*ACCEPT, shown, "nothing", where)
            # All that is on record agrees, and what it names is not there: the act says what it found, not that all was well.
            because = "; ".join(unsound.values())
            found = msgspec.structs.replace(sight.finding, decision="refuse", code="K706", because=because, remedy=UNSOUND)
            sight = replace(sight, finding=found)
        shown = _what_is_taken(sight, bodies, heads, unsound)
        if not confirm(shown):
            return acted(*ACCEPT, shown, "refused", where)
        _accept(place, sight, bodies, heads, reason)
        return acted(*ACCEPT, shown, "done", where)


def accept_by_itself(place: Site, sight: Sight) -> Sight:
    """A target with `accept_warehouse = true`: for machines that get a database without its ledger. Recorded like a person's."""
    if sight.finding.code not in ACCEPTABLE or place.session is None:
        return sight
    bodies, heads, unsound = _heads(place, sight)
    if unsound:
        # To let go of a receipt is a person's word, who looked at what became of it.
        raise unreadable("; ".join(unsound.values()), place.ground.target.name)
    _accept(place, sight, bodies, heads, "the target says accept_warehouse = true")
    return place.sight()


def _demand_acceptable(place: Site, sight: Sight) -> None:
    finding = sight.finding
    if (finding.code not in ACCEPTABLE and sight.unsound == "no") or place.session is None:
        raise Refused(
            Diagnostic(
                code=finding.code,
                summary="there is no word of the warehouse to take",
                because=f"{finding.because} (row {finding.row})",
                remedy=finding.remedy.replace("TARGET", place.ground.target.name),
            )
        )


def _heads(place: Site, sight: Sight) -> tuple[dict[str, ReceiptBody], tuple[HeadRow, ...], dict[str, str]]:
    """The bodies of the heads' receipts, by model; the heads as they are taken; and of those whose receipt is not what they name, why."""
    assert place.session is not None
    reader = place.session.reader()
    try:
        bodies, unsound = read_sound(reader, place.ground.project.id, sight.heads)
        catalog = reader.catalog()
        kept = (msgspec.structs.replace(head, receipt=None) if head.model in unsound else head for head in sight.heads)
        return bodies, tuple(taken(head, bodies.get(head.model), catalog) for head in kept), unsound
    except WarehouseError as error:
        raise refusal(error, subject=place.ground.target.name) from error
    finally:
        reader.close()


def _what_is_taken(
    sight: Sight, bodies: Mapping[str, ReceiptBody], heads: tuple[HeadRow, ...], unsound: Mapping[str, str]
) -> tuple[str, ...]:
    lines = [f"found: {sight.finding.because} (row {sight.finding.row})"]
    for head, row in zip(heads, sight.heads, strict=True):
        if head.model in unsound:
            lines.append(f"lets go of that receipt: {unsound[head.model]}")
        elif head != row:
            lines.append(
                f"puts the head of `{head.model}` back to what {'its receipt left' if head.receipt else 'a head without receipt is'}"
            )
        if head.receipt is None:
            continue
        body = bodies.get(head.model)
        now = rows_in_words(body.rows_after) if body is not None and body.rows_after is not None else "no rows of its own"
        if body is not None and body.watermark is not None:
            now += f", up to {body.watermark.high}"
        before = sight.fold.head(head.model)
        was = ""
        if before.receipt is not None and before.receipt != head.receipt and before.watermark is not None:
            was = f" (the ledger had {before.watermark.high})"
        lines.append(f"takes `{head.model}` as its receipt {head.receipt[:12]} left it: {now}{was}")
        if body is not None and head.token != body.token:
            lines.append(f"takes {body.relation} by the token {(head.token or 'none')[:12]} that stands in its comment")
    gone = sorted(
        name
        for name, known in sight.fold.models.items()
        if known.head.token is not None and all(head.model != name or head.receipt is None for head in heads)
    )
    lines += [f"`{name}` counts as never built: the warehouse has no receipt of it" for name in gone]
    lines += [f"closes run {run}, which was open" for run in sight.fold.open]
    if not isinstance(sight.ledger, LedgerWhole):
        lines.append(
            "begins a new ledger"
            + ("; the one that is there is set aside, not deleted" if not isinstance(sight.ledger, LedgerAbsent) else "")
        )
    return tuple(lines)


def _accept(place: Site, sight: Sight, bodies: Mapping[str, ReceiptBody], heads: tuple[HeadRow, ...], reason: str) -> None:
    ground, session = place.ground, place.session
    assert session is not None
    warehouse = sight.identity.warehouse if sight.identity is not None else sight.fold.warehouse or genesis.new_id()
    foreign = isinstance(sight.ledger, LedgerWhole) and sight.identity is not None and sight.identity.ledger != sight.fold.ledger
    if sight.finding.code == "K704" or (sight.unsound == "yes" and foreign):
        # A clone goes its own way: it must not be taken for the database that it was copied from.
        warehouse = genesis.new_id()
    if isinstance(sight.ledger, LedgerWhole) and sight.fold.project == ground.project.id:
        place.open_ledger(sight)
        ledger_id = sight.fold.ledger
    else:
        if not isinstance(sight.ledger, LedgerAbsent):
            _set_aside(ground, "foreign" if isinstance(sight.ledger, LedgerWhole) else "broken")
        place.begin_ledger(warehouse)
        ledger_id = _ledger_id(place)
    evidence = AcceptEvidence(
        project=ground.project.id,
        ledger=ledger_id,
        warehouse=warehouse,
        found=sight.finding,
        heads=tuple(_taken(head, bodies.get(head.model)) for head in heads if head.receipt is not None),
        settled=tuple(sight.fold.open) if sight.fold.project == ground.project.id else (),
        reason=reason,
        serial=sight.seal.serial if sight.seal is not None else 0,
    )
    bound = control.accept(
        project=ground.project.id,
        warehouse=warehouse,
        ledger=ledger_id,
        since=stamp(ground.clock()),
        heads=[head for head, row in zip(heads, sight.heads, strict=True) if head != row],
    )
    perform(place, evidence, bound)


def _taken(head: HeadRow, body: ReceiptBody | None) -> HeadTaken:
    return HeadTaken(model=head.model, head=head_of(head, body), digests=body.digests if body is not None else None)


def _ledger_id(place: Site) -> str:
    from interlock.engine.ledger.reader import read  # noqa: PLC0415 - only after a genesis

    found = read(place.ground.directory)
    assert isinstance(found, LedgerWhole)
    return found.fold.ledger


def _set_aside(ground: Ground, why: str) -> Path | None:
    if not ground.directory.exists():
        return None
    try:
        return set_aside(ground.directory, f"{ground.directory.name}.{why}-{ground.clock():%Y%m%dT%H%M%S}")
    except OSError as error:
        raise LedgerError(str(error)) from error


# --- reset --------------------------------------------------------------------------------------------------------------


def reset_target(ground: Ground, *, confirm: Confirm, reason: str, where: Where) -> ActResult:
    """Drop every relation that carries our token, forget our rows in the control tables, and set the ledger aside."""
    if ground.target.protected:
        raise refused(
            "K743",
            f"target `{ground.target.name}` is protected",
            because="a reset drops what was made there",
            remedy="do it on a target that is not protected",
        )
    if not ground.database_exists() and not ground.directory.exists():
        return acted("reset", "reset", ("nothing of ours is there",), "nothing", where)
    with site(ground, "reset") as place:
        found, kept, broken = _ours(place)
        shown = [f"drops {seen.kind} {seen.schema}.{seen.name}" for seen in found]
        shown += [f"leaves {line}" for line in (*broken, *kept)]
        if ground.directory.exists():
            shown.append("sets the ledger and its plans aside, under another name beside the database")
        if not confirm(tuple(shown)):
            return acted("reset", "reset", shown, "refused", where)
        if place.session is not None:
            _drop(place, found, reason)
        if place.ledger is not None:
            place.ledger.close()
            place.ledger = None
        kept_as = _set_aside(ground, "reset")
        if kept_as is not None:
            shown.append(f"the old ledger is kept as {kept_as.name}")
        return acted("reset", "reset", shown, "done", where)


def _ours(place: Site) -> tuple[list[RelationSeen], list[str], list[str]]:
    """Relations that carry the token of a head of this project, what of the heads is not ours any more, and views of others that read ours."""
    if place.session is None:
        return [], [], []
    reader = place.session.reader()
    try:
        catalog: Catalog = reader.catalog()
        heads = reader.heads(place.ground.project.id)
        # A reset must work where receipts cannot be read; what it leaves is named by its comment.
        bodies, _ = read_sound(reader, place.ground.project.id, heads)
        # A head that somebody changed may name the token of another project's relation.
        heads = tuple(taken(head, bodies.get(head.model), catalog) for head in heads)
        strays = strays_in(reader, place.ground.project.id, catalog, heads)
    except WarehouseError as error:
        raise refusal(error, subject=place.ground.target.name) from error
    finally:
        reader.close()
    tokens = {head.token: head.model for head in heads if head.token is not None}
    found = [seen for key, seen in catalog.relations.items() if seen.token in tokens or key in strays]
    there = {seen.token for seen in found}
    kept = [
        f"`{model}`: what stands there does not carry our token"
        for token, model in sorted(tokens.items(), key=lambda pair: pair[1])
        if token not in there
    ]
    return sorted(found, key=lambda seen: (seen.kind == "table", seen.schema, seen.name)), kept, _left_broken(catalog, found)


def _left_broken(catalog: Catalog, dropped: list[RelationSeen]) -> list[str]:
    """The views that stay, and will not bind until what they read is made again: the warehouse neither drops nor blocks."""
    gone = {(seen.schema.lower(), seen.name.lower()) for seen in dropped}
    stay = [seen for key, seen in catalog.relations.items() if seen.kind == "view" and key not in gone and seen.schema != "interlock"]
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    reached = gone
    while reached:  # through views that stay: what reads a broken one is broken
        reads = {(view.schema, view.name): names_in(view) & reached for view in stay if (view.schema, view.name) not in found}
        found.update({name: set(read) for name, read in reads.items() if read})
        reached = {(schema.lower(), name.lower()) for (schema, name), read in reads.items() if read}
    return [
        f"view {schema}.{name}, not made by this project: it reads {', '.join('.'.join(each) for each in sorted(read))} and will not work until that is there again"
        for (schema, name), read in sorted(found.items())
    ]


def _drop(place: Site, found: list[RelationSeen], reason: str) -> None:
    ground, session = place.ground, place.session
    assert session is not None
    sight = place.sight()
    if isinstance(sight.ledger, LedgerWhole):
        place.open_ledger(sight)
    else:
        if isinstance(sight.ledger, LedgerBroken | LedgerUnreadable):
            _set_aside(ground, "broken")
        place.begin_ledger()
    evidence = ResetEvidence(
        project=ground.project.id, target=ground.target.name, relations=tuple(f"{seen.schema}.{seen.name}" for seen in found), reason=reason
    )
    bound: list[control.Bound] = [(control.drop_relation(seen.kind, seen.schema, seen.name), {}) for seen in found]
    if sight.identity is not None or sight.heads:
        bound += [(statement, dict(values)) for statement, values in control.forget(project=ground.project.id)]
    perform(place, evidence, bound)
