"""One model's way: the effect of each state, and the loop that sends its answer as the state's event.

A live run, recovery after a crash and reading back after COMMIT are the same loop, entered at different states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from interlock.engine.planner.observe import Unreadable, read_published
from interlock.engine.planner.plan import Item
from interlock.engine.planner.sources import key_of
from interlock.engine.runner.bench import Answer, Attempt, Bench, Effect, InDoubt, Refuse
from interlock.engine.runner.writing import find, write
from interlock.engine.warehouse.protocol import HeadRow, WarehouseError
from interlock.machines.evidence import (
    BootstrapEvidence,
    CheckpointEvidence,
    Head,
    HeadSeen,
    Missing,
    Present,
    Read,
    RefuseEvidence,
    SourceVerdict,
    TargetSeen,
    Upstream,
    VerifyEvidence,
)
from interlock.machines.publication import PUBLICATION_NAMES
from interlock.machines.records import digest_of


def check(attempt: Attempt) -> Answer:
    """planned: is the item what the sealed plan says, and does the plan let it go on?"""
    item, bench = attempt.item, attempt.bench
    if item.refusal is not None:
        refusal = item.refusal
        return Refuse(
            evidence=RefuseEvidence(
                cause="plan", code=refusal.code, because=refusal.because, remedy=refusal.remedy, proof=None, detail=item.path
            )
        )
    try:
        attempt.said = _of_sources(item, bench)
    except WarehouseError as error:
        because = bench.redact(error.message)
        remedy = error.remedy or "run it again"
        return Refuse(evidence=RefuseEvidence(cause="interrupt", code=error.code, because=because, remedy=remedy, proof=None))
    return VerifyEvidence(
        plan=bench.setting.plan,
        item_sealed=bench.sealed.get(item.model, ""),
        item_found=digest_of("item", item),
        contract=item.contract_findings,
        authority=bench.authority,
        decision=bench.decision,
        sources=item.source_checks,
        said=attempt.said,
    )


def _of_sources(item: Item, bench: Bench) -> tuple[SourceVerdict, ...]:
    """What the item's sources say to what is asked of them on its behalf."""
    asked = {key_of(check) for check in item.source_checks}
    names = sorted({check.source for check in item.source_checks})
    said = [verdict for name in names for verdict in bench.said(name)]
    return tuple(verdict for verdict in said if key_of(verdict) in asked)


def pin(attempt: Attempt) -> Answer:
    """verified: everything that will be expected, on disk before the first write."""
    item, bench = attempt.item, attempt.bench
    head, target, seen = _expected(item, bench)
    row = bench.heads.get(item.head_model) or HeadRow(model=item.head_model, receipt=None, token=None, generation=None)
    upstreams = []
    for name in sorted({*item.reads, *item.upstreams}):
        upstream = bench.heads.get(name.partition(":")[0])
        state = bench.states.get(name, "outside")
        upstreams.append(Upstream(model=name, state=state, receipt=upstream.receipt if upstream is not None else None))
    reads = []
    for name in item.reads:
        upstream = bench.heads.get(name)
        reads.append(Read(model=name, receipt=upstream.receipt if upstream else None, generation=upstream.generation if upstream else None))
    return BootstrapEvidence(
        plan=bench.setting.plan,
        item=bench.sealed.get(item.model, ""),
        action=item.action,
        attempt=bench.attempt_number(item.model),
        head=head,
        head_seen=HeadSeen(receipt=row.receipt, token=row.token),
        target=target,
        target_seen=seen,
        upstreams=tuple(upstreams),
        reads=tuple(reads),
        contract=item.contract,
        extra_columns=item.extra_columns,
        columns=item.columns,
        checks=item.checks,
        statements=tuple(statement.digest for statement in item.statements),
        guards=PUBLICATION_NAMES,
        permission=bench.permission,
    )


def _expected(item: Item, bench: Bench) -> tuple[Head, Missing | Present, TargetSeen]:
    """Head and target as planned; after another item of this plan, as that one left them."""
    seen = bench.targets[item.model]
    if item.follows is None:
        return item.head, item.target, seen
    row, body = bench.heads[item.head_model], bench.bodies[item.head_model]
    head = Head(receipt=row.receipt, token=row.token, generation=row.generation, rows=body.rows_after, watermark=body.watermark)
    kind: Literal["table", "view"] = "view" if item.relation_kind == "view" else "table"
    left = Present(kind=kind, token=row.token, columns=body.shape)
    return head, left, left


def confirm(attempt: Attempt) -> Answer:
    """committed: what the ledger will say of this model from now on, from the head as it was read back."""
    found = attempt.found
    assert found is not None
    if attempt.row is None:
        bench = attempt.bench
        try:
            reader = bench.session.reader()
            try:
                name = attempt.item.head_model
                attempt.row, attempt.body = read_published(reader, bench.setting.project, [name])[name]
            finally:
                reader.close()
        except (WarehouseError, Unreadable) as error:
            return InDoubt(because=f"the head cannot be read: {error}")
    row, body = attempt.row, attempt.body or found.body
    return CheckpointEvidence(
        receipt=row.receipt or "",
        token=row.token,
        generation=row.generation,
        rows=body.rows_after,
        watermark=body.watermark,
        digests=body.digests,
        moved=body.moved,
    )


STEPS: Mapping[str, tuple[Effect, str]] = {
    "planned": (check, "verify"),
    "verified": (pin, "bootstrap"),
    "bootstrapping": (write, "commit"),
    "committed": (confirm, "checkpoint"),
}
"""Each state's effect, and the event that takes its evidence."""

SETTLING: Mapping[str, tuple[Effect, str]] = {**STEPS, "bootstrapping": (find, "commit")}
"""The same loop for an attempt whose process is gone: what it wrote, if anything, is looked up instead of written."""


def go(
    attempt: Attempt,
    steps: Mapping[str, tuple[Effect, str]] = STEPS,
    moved: Callable[[Attempt], None] = lambda _: None,
    *,
    until: str | None = None,
) -> None:
    """While it has not ended: ask the state's effect, and send the answer. An outcome in doubt ends the loop without an event.

    With `until`, it pauses in that state; whoever asked for that sees to it that `bootstrap` is on disk before anything is written.
    """
    machine = attempt.machine
    if not attempt.path:
        attempt.path.append(machine.state_name)
    while not machine.is_final and machine.state_name != until:
        effect, event = steps[machine.state_name]
        answer = effect(attempt)
        attempt.answer = answer
        match answer:
            case InDoubt():
                return
            case Refuse(evidence=evidence):
                step = machine.step("refuse", evidence)
            case _:
                step = machine.step(event, answer)
        attempt.verdicts = step.transition.verdicts
        attempt.path.append(machine.state_name)
        if machine.state_name == "bootstrapping" and until is None:
            # Its record is on disk before the first write; waiting here lets attempts share one fsync.
            attempt.bench.sync()
        moved(attempt)


def refuse(attempt: Attempt, evidence: RefuseEvidence) -> None:
    """An explicit refusal of a model that has not ended."""
    attempt.answer = Refuse(evidence=evidence)
    if not attempt.path:
        attempt.path.append(attempt.machine.state_name)
    attempt.machine.step("refuse", evidence)
    attempt.path.append(attempt.machine.state_name)
