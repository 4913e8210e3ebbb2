"""What is told of models that cannot be looked at, or that nothing can stand for: it says what has to be corrected first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interlock.engine.compiler.unit import Unit
from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.warehouse.duckdb.binder import NotBound


def waits(unit: Unit, reads: Sequence[str], calls: Sequence[str]) -> Diagnostic:
    """A model that waits: for what it reads and could not be bound, and for wrong macros that it calls."""
    return Diagnostic(
        code="L220",
        severity="note",
        summary=f"`{unit.name}` is not looked at further",
        because=" and ".join(_waited_for(reads, calls)),
        remedy="correct that first",
        at=Position(path=unit.file.path),
        subject=unit.name,
    )


def _waited_for(reads: Sequence[str], calls: Sequence[str]) -> Iterator[str]:
    if reads:
        yield f"it reads {', '.join(f'`{name}`' for name in reads)}, which could not be bound"
    if calls:
        yield f"it calls {', '.join(f'`{name}`' for name in calls)}, which {'is a wrong macro' if len(calls) == 1 else 'are wrong macros'}"


def circle(cycle: Sequence[str], at: Position, also: tuple[Position, ...], *, through_check: bool) -> Diagnostic:
    """Models that read each other, with the places that close the circle."""
    return Diagnostic(
        code="L206",
        summary="models read each other in a circle",
        because=" reads ".join(f"`{name}`" for name in [*cycle, cycle[0]]),
        remedy='a check that needs a later model says after = "publication"' if through_check else "take one of these references out",
        at=at,
        also=also,
        subject=cycle[0],
    )


def without_relation(unit: Unit, failed: NotBound) -> None:
    """No relation can have the columns that a text gives: the unit is not bound, and says so."""
    unit.bound = False
    unit.findings.append(
        Diagnostic(
            code="L201",
            summary=f"no relation can have the columns of `{unit.name}`",
            because=failed.message,
            remedy="cast the column that it names to a type that can be stored",
            at=Position(path=unit.file.path),
            subject=unit.name,
        )
    )
