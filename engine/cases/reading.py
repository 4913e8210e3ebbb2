"""Commands that only read the project: they work without a warehouse, and while a run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from interlock.engine.clock import stamp
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.diagnostics import Outcome, Refused
from interlock.engine.outcome import exit_of
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.selection import Request, heads_of, select_in
from interlock.engine.warehouse.protocol import Reader
from interlock.machines.evidence import Column

if TYPE_CHECKING:
    from interlock.engine.ledger.subjects import Last

PLANS_MAX = 20
"""How far back saved plans are looked through for what sources looked like."""


def compile_offline(ground: Ground) -> Compiled:
    """Compile; the warehouse is looked at only where a source has no declared columns, and only if it can be had now."""
    as_of = stamp(ground.clock())
    needs = any(source.columns is None and name not in ground.project.pinned for name, source in ground.project.sources.items())
    if not needs:
        return ground.compile(as_of, None)
    try:
        reader: Reader | None = ground.reader()
    except Refused:
        reader = None
    if reader is None:
        # Files and other databases can be looked at all the same; relations of a busy target are as declared.
        with closing(ground.scratch()) as scratch:
            if not ground.database_exists():
                return ground.compile(as_of, scratch, target_is="absent")
            return ground.compile(as_of, scratch, target_is="not_looked_at", remembered=remembered_columns(ground))
    with closing(reader):
        return ground.compile(as_of, reader)


def remembered_columns(ground: Ground) -> dict[str, tuple[Column, ...]]:
    """Columns of the target's undeclared sources as the newest plans saw them."""
    from interlock.engine.runner.planning import load, newest_plans  # noqa: PLC0415 - only where columns are not declared

    wanted = {name for name, source in ground.project.sources.items() if source.columns is None and not (source.path or source.database)}
    found: dict[str, tuple[Column, ...]] = {}
    for path in newest_plans(ground.directory)[:PLANS_MAX]:
        if wanted <= found.keys():
            break
        try:
            body = load(ground.directory, path.stem, {}).body
        except Refused:
            continue
        for pin in () if body is None else body.sources:
            if pin.source in wanted and pin.columns:
                found.setdefault(pin.source, pin.columns)
    return found


def compiled_for_reading(ground: Ground, select: Sequence[str], exclude: Sequence[str]) -> tuple[Compiled, frozenset[str], tuple[str, ...]]:
    """The compiled project and what of it is selected; `state:` is compared with the ledger's word.

    Raises:
        Refused: as `select_in`; K707 or K708, the ledger's word is asked for and cannot be known.
    """
    compiled = compile_offline(ground)
    # Nothing else asks the ledger, which can be long.
    heads = _heads(ground) if any("state:" in term for term in (*select, *exclude)) else {}
    selected, said = select_in(ground, compiled, Request(select=tuple(select), exclude=tuple(exclude)), heads)
    return compiled, selected, said


def _heads(ground: Ground) -> dict[str, Last]:
    from interlock.engine.ledger.since_seal import fold_since_seal  # noqa: PLC0415 - decoders of every record

    return heads_of(fold_since_seal(ground.directory))


def ended_with(ground: Ground) -> dict[str, Any]:
    """How a command ends that tells what the files say: what could not be read of them is told beside it, and is no success."""
    errors = tuple(finding for finding in ground.project.findings if finding.severity == "error")
    outcome: Outcome = "partial" if errors else "done"
    return {"outcome": outcome, "exit_code": exit_of(outcome), "findings": errors}
