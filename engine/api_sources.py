"""The use cases about sources and contracts, part of `interlock.engine.api`."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.engine import outcome as outcomes
from interlock.engine.context import Context
from interlock.engine.context import ground_of as _ground
from interlock.engine.context import where_of as _where
from interlock.engine.diagnostics import Outcome
from interlock.engine.results import DiffResult
from interlock.engine.results_audit import DrawnResult


def sources_pin(ctx: Context, names: Sequence[str] = ()) -> DrawnResult:
    """Write the columns of sources, as they are now, to sources.lock.toml; without names, of all of them.

    Raises:
        Refused: there is no such source, or one cannot be read: then nothing is written.
    """
    from interlock.engine.cases.pins import pin  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    return DrawnResult(command="sources pin", outcome="done", exit_code=0, format="toml", text=pin(ground, names), **_where(ground))


def sources_diff(ctx: Context, names: Sequence[str] = ()) -> DrawnResult:
    """How sources differ from what is pinned or declared of them.

    Raises:
        Refused: there is no such source, or one cannot be read.
    """
    from interlock.engine.cases.pins import drift  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    text, findings = drift(ground, names)
    outcome: Outcome = "refused" if findings else "done"
    code = outcomes.exit_of(outcome)
    return DrawnResult(
        command="sources diff", outcome=outcome, exit_code=code, findings=findings, format="txt", text=text, **_where(ground)
    )


def diff_contracts(ctx: Context) -> DiffResult:
    """What models promised when they were last written, beside what they promise now.

    Raises:
        Refused: no plan was applied yet, or the project does not compile.
    """
    from interlock.engine.cases.contract_changes import contract_changes  # noqa: PLC0415

    ground = _ground(ctx, writes=False)
    plan, found = contract_changes(ground)
    outcome: Outcome = "refused" if any(each.code for each in found) else "done"
    code = outcomes.exit_of(outcome)
    return DiffResult(command="diff", outcome=outcome, exit_code=code, plan=plan, differences=found, about="contracts", **_where(ground))
