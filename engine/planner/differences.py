"""A plan beside the world as it is now: demanded is "as planned, or as a run of this plan left it". Pure."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.engine.planner.closure import value_of
from interlock.engine.planner.edits import AGAIN, Texts, edited
from interlock.engine.planner.facts import same_columns
from interlock.engine.planner.plan import Item, PlanBody, UpstreamPin
from interlock.engine.project.project import Project
from interlock.engine.warehouse.duckdb.dependents import Place, names_in, place_in
from interlock.engine.warehouse.protocol import Catalog, HeadRow, RelationSeen
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.actions import KEEPS, MAKES
from interlock.machines.evidence import Column, Difference, Missing
from interlock.machines.records import Record

_STANDS = KEEPS | {"no_op"}


class Now(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The world as it is now."""

    ledger: str | None
    warehouse: str | None
    accepted: int
    engine: str
    semantics_version: int
    catalog: Catalog
    heads: dict[str, HeadRow]
    sources: dict[str, tuple[Column, ...]]
    """Observed columns of the plan's sources; one that cannot be read is not among them."""
    bound: frozenset[Place]
    """Of the views that read what the plan drops or gives another name: those that bind now."""
    runs: dict[str, str] = {}
    """By receipt of a head that moved since the plan: the run that left it, where that is known."""


def differences(
    body: PlanBody, *, project: Project, target: TargetConfig, now: Now, own: Mapping[str, str | None], texts: Texts
) -> tuple[Difference, ...]:
    """What is not as planned; empty where everything holds.

    Args:
        body: the plan.
        project: as its files are now.
        target: as it is now.
        now: the world as it is now.
        own: receipts that runs of this plan have left, by model.
        texts: of files, as far as they are known.
    """
    found = [*_belongs(body, project, target, now)]
    if found:
        return tuple(found)
    found += _files(body, project, target, texts)
    found += _sources(body, now)
    for item in body.items:
        if item.model in own or item.follows is not None:
            continue
        found += _item(item, now)
    found += _views_since(body, now, own)
    found += _left(body, now, own)
    found += _upstreams(body, now, own)
    return tuple(found)


def _belongs(body: PlanBody, project: Project, target: TargetConfig, now: Now) -> list[Difference]:
    found = []
    if body.project != project.id:
        found.append(
            Difference(
                code="P404",
                subject="project",
                planned=body.project,
                found=project.id,
                remedy="apply it in the project that it was made for",
            )
        )
    elif body.target != target.name:
        # A target that has another name by now cannot be asked for by the old one.
        remedy = f"apply it with `--target {body.target}`" if body.target in project.targets else AGAIN
        found.append(Difference(code="P405", subject="target", planned=body.target, found=target.name, remedy=remedy))
    elif body.ledger is not None and body.ledger != now.ledger:
        found.append(Difference(code="P405", subject="ledger", planned=body.ledger, found=now.ledger or "none", remedy=AGAIN))
    elif body.warehouse is not None and body.warehouse != now.warehouse:
        found.append(Difference(code="P405", subject="warehouse", planned=body.warehouse, found=now.warehouse or "none", remedy=AGAIN))
    elif body.accepted != now.accepted:
        planned, there = f"record {body.accepted}", f"record {now.accepted}"
        found.append(
            Difference(code="P405", subject="the warehouse's word, as it was last taken", planned=planned, found=there, remedy=AGAIN)
        )
    elif body.engine != now.engine:
        found.append(Difference(code="P423", subject="engine", planned=body.engine, found=now.engine, remedy=AGAIN))
    elif body.semantics_version != now.semantics_version:
        planned, there = str(body.semantics_version), str(now.semantics_version)
        found.append(Difference(code="P423", subject="semantics version", planned=planned, found=there, remedy=AGAIN))
    return found


def _files(body: PlanBody, project: Project, target: TargetConfig, texts: Texts) -> list[Difference]:
    now = {key: value_of(project, target, key) for key in body.closure}
    moved = {key: (planned, now[key]) for key, planned in body.closure.items() if now[key] != planned}
    if any(key.startswith("pin:") for key in moved):
        moved.pop("lock", None)  # which of the pins it is says more
    return [edited(body, project, key, planned, there, texts) for key, (planned, there) in moved.items()]


def _sources(body: PlanBody, now: Now) -> list[Difference]:
    found = []
    for pin in body.sources:
        there = now.sources.get(pin.source)
        if there is None:
            found.append(
                Difference(
                    code="P407",
                    subject=pin.source,
                    planned=_columns(pin.columns),
                    found="cannot be read",
                    remedy="make the source readable, or plan again",
                )
            )
        elif not same_columns(there, pin.columns):
            found.append(Difference(code="P407", subject=pin.source, planned=_columns(pin.columns), found=_columns(there), remedy=AGAIN))
    return found


def _columns(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns) or "no columns"


def _item(item: Item, now: Now) -> list[Difference]:
    found = []
    head = now.heads.get(item.head_model)
    receipt, token = (head.receipt, head.token) if head is not None else (None, None)
    if receipt != item.head.receipt or token != item.head.token:
        found.append(
            Difference(code="P409", subject=item.model, planned=_receipt(item.head.receipt), found=_left_by(receipt, now), remedy=AGAIN)
        )
    if item.action == "refuse":
        return found
    seen = now.catalog.find(item.schema, item.relation)
    if item.action == "move" and not any(each.token == item.token for each in now.catalog.relations.values()):
        planned = f"a relation with token {(item.token or 'none')[:12]}"
        found.append(Difference(code="P408", subject=item.model, planned=planned, found="nothing there", remedy=AGAIN))
    if isinstance(item.target, Missing):
        if seen is not None:
            found.append(
                Difference(
                    code="P408", subject=f"{item.schema}.{item.relation}", planned="nothing there", found=f"a {seen.kind}", remedy=AGAIN
                )
            )
        return found
    planned = f"{item.target.kind} with token {(item.target.token or 'none')[:12]}"
    if seen is None:
        found.append(
            Difference(code="P408", subject=f"{item.schema}.{item.relation}", planned=planned, found="nothing there", remedy=AGAIN)
        )
    elif seen.kind != item.target.kind or seen.token != item.target.token:
        there = f"{seen.kind} with token {(seen.token or 'none')[:12]}"
        found.append(Difference(code="P408", subject=f"{item.schema}.{item.relation}", planned=planned, found=there, remedy=AGAIN))
    elif item.action in _STANDS and not same_columns(seen.columns, item.target.columns):
        found.append(
            Difference(
                code="P408",
                subject=f"{item.schema}.{item.relation}",
                planned=_columns(item.target.columns),
                found=_columns(seen.columns),
                remedy=AGAIN,
            )
        )
    return found


def views_since(body: PlanBody, catalog: Catalog, own: Mapping[str, str | None]) -> list[tuple[RelationSeen, frozenset[Place]]]:
    """Views that the plan does not handle and that read what it drops or gives another name, each with what of that it reads.

    Args:
        body: the plan.
        catalog: as it is now.
        own: receipts that runs of this plan have left, by model: what those did is done.
    """
    leaves = _leaves(body, catalog, own)
    if not leaves:
        return []
    changes = MAKES | {"drop", "move"}
    handled = {(item.schema.lower(), item.relation.lower()) for item in body.items if item.action in changes}
    views = [view for place, view in catalog.relations.items() if view.kind == "view" and place not in {*handled, *leaves}]
    return [(view, read) for view in views if (read := names_in(view) & leaves)]


def _leaves(body: PlanBody, catalog: Catalog, own: Mapping[str, str | None]) -> frozenset[Place]:
    found: set[Place] = set()
    for item in body.items:
        if item.model in own or item.action not in ("drop", "move"):
            continue
        place = (item.schema.lower(), item.relation.lower())
        if item.action == "drop":
            found.add(place)
        else:
            stands = next((at for at, each in catalog.relations.items() if each.token == item.token), place)
            found |= {stands} - {place}
    return frozenset(found)


def _views_since(body: PlanBody, now: Now, own: Mapping[str, str | None]) -> list[Difference]:
    """Views that came since the plan, and would break by it. One that is broken already decides nothing."""
    return [
        Difference(
            code="P420",
            subject=f"{now.catalog.relations[place].schema}.{now.catalog.relations[place].name}"
            if place in now.catalog.relations
            else ".".join(place),
            planned="no view reads it",
            found=f"{view.schema}.{view.name} reads it",
            remedy=AGAIN,
        )
        for view, read in views_since(body, now.catalog, own)
        if place_in(view) in now.bound
        for place in sorted(read)
    ]


def _left(body: PlanBody, now: Now, own: Mapping[str, str | None]) -> list[Difference]:
    """What runs of this plan left must still stand as they left it."""
    found = []
    # A recheck after publication moves the head of the same model once more: the last one counts.
    last = {item.head_model: item for item in body.items if item.model in own}
    for model, item in last.items():
        head = now.heads.get(model)
        receipt, token = (head.receipt, head.token) if head is not None else (None, None)
        if receipt != own[item.model]:
            found.append(
                Difference(code="P409", subject=model, planned=_receipt(own[item.model]), found=_left_by(receipt, now), remedy=AGAIN)
            )
            continue
        if item.relation_kind == "none":
            continue
        seen = now.catalog.find(item.schema, item.relation)
        there = "nothing there" if seen is None else f"{seen.kind} with token {(seen.token or 'none')[:12]}"
        if seen is None or seen.token != token:
            planned = f"{item.relation_kind} with token {(token or 'none')[:12]}"
            found.append(Difference(code="P408", subject=f"{item.schema}.{item.relation}", planned=planned, found=there, remedy=AGAIN))
    return found


def moved_receipts(body: PlanBody, heads: Mapping[str, HeadRow]) -> tuple[str, ...]:
    """Receipts of the plan's heads that are others than it was made for."""
    now = {item.head_model: head.receipt for item in body.items if (head := heads.get(item.head_model)) is not None}
    planned = {item.head.receipt for item in body.items}
    return tuple(sorted({receipt for receipt in now.values() if receipt is not None and receipt not in planned}))


def _left_by(receipt: str | None, now: Now) -> str:
    run = now.runs.get(receipt) if receipt is not None else None
    return _receipt(receipt) + (f", left by run {run}" if run else "")


def _receipt(receipt: str | None) -> str:
    return f"receipt {receipt[:12]}" if receipt is not None else "no receipt"


def _upstreams(body: PlanBody, now: Now, own: Mapping[str, str | None]) -> list[Difference]:
    found = []
    for pin in body.upstreams:
        head = now.heads.get(pin.model)
        if pin.model in own:
            continue
        if (head.token if head is not None else None) != pin.token:
            there = (head.token if head is not None else None) or "none"
            found.append(Difference(code="P409", subject=pin.model, planned=(pin.token or "none")[:12], found=there[:12], remedy=AGAIN))
        elif pin.token is not None and pin.relation:
            found += _stands(pin, now)
    return found


def _stands(pin: UpstreamPin, now: Now) -> list[Difference]:
    """What a head says is there must be there: only the relation itself tells that somebody else put another in its place."""
    seen = now.catalog.find(*pin.relation.split(".", 1))
    found = []
    if seen is None or seen.token != pin.token:
        there = "nothing there" if seen is None else f"{seen.kind} with token {(seen.token or 'none')[:12]}"
        planned = f"a relation with token {(pin.token or '')[:12]}"
        found.append(Difference(code="P408", subject=pin.relation, planned=planned, found=there, remedy=AGAIN))
    elif not same_columns(seen.columns, pin.columns):
        planned, there = _columns(pin.columns), _columns(seen.columns)
        found.append(Difference(code="P408", subject=pin.relation, planned=planned, found=there, remedy=AGAIN))
    return found
