"""Commands that only read the project: they work without a warehouse, and while a run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from interlock.engine.clock import stamp
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.diagnostics import Refused, did_you_mean, refused
from interlock.engine.ledger.fold import Fold
from interlock.engine.ledger.reader import LedgerWhole, read
from interlock.engine.project.project import SeedFile
from interlock.engine.runner.authority import look
from interlock.engine.runner.binding import bound_to
from interlock.engine.runner.ground import Ground, stop_on_errors
from interlock.engine.runner.planning import load, newest_plans
from interlock.engine.runner.selection import Request, digests_of_heads, findings_for, select_in
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import Reader, WarehouseError
from interlock.machines.evidence import Column

ROWS_MAX = 10_000
PLANS_MAX = 20
"""How far back saved plans are looked through for what sources looked like."""

UNKNOWN_COLUMNS = frozenset({"S105", "P425"})


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
    """The compiled project and what of it is selected; `state:` is compared with the ledger's word."""
    compiled = compile_offline(ground)
    ledger = read(ground.directory)
    fold = ledger.fold if isinstance(ledger, LedgerWhole) else Fold()
    request = Request(select=tuple(select), exclude=tuple(exclude))
    selected, said = select_in(ground, compiled, request, digests_of_heads(fold))
    return compiled, selected, said


def show_model(ground: Ground, model: str, limit: int | None) -> tuple[str, tuple[Column, ...], tuple[tuple[str | None, ...], ...] | None]:
    """The SQL of a model as it runs, and its first rows if they are asked for.

    Raises:
        Refused: no such model; it does not compile; its rows cannot be read.
    """
    project = ground.project
    if project.models and model not in project.models and model not in project.seeds:
        near = did_you_mean(model, (*project.models, *project.seeds), "see `interlock ls`")
        raise refused("S114", f"there is no model `{model}`", remedy=near)
    if limit is not None:
        return _with_rows(ground, model, min(limit, ROWS_MAX))
    compiled = compile_offline(ground)
    known = compiled.models.get(model)
    if known is None:
        near = did_you_mean(model, compiled.models, "see `interlock ls`")
        raise refused("S114", f"there is no model `{model}`", remedy=near)
    findings = findings_for(ground, compiled, frozenset({model}), whole=False)
    if known.sql:
        # Columns of a source that cannot be looked at now do not change the text that runs.
        findings = tuple(finding for finding in findings if finding.code not in UNKNOWN_COLUMNS)
    stop_on_errors(findings)
    return known.sql, known.columns, None


def _with_rows(ground: Ground, model: str, limit: int) -> tuple[str, tuple[Column, ...], tuple[tuple[str | None, ...], ...]]:
    """Its first rows, from what stands above it now: bound as a plan of it alone would be."""
    macros = ground.macros()
    there = ground.reader(macros)
    with closing(there or ground.scratch(macros)) as reader:
        sight = look(ground.directory, ground.project.id, there)
        bound = bound_to(ground, Request(select=(model,)), sight, reader, stamp(ground.clock()))
        stop_on_errors(bound.findings)
        known = bound.compiled.models[model]
        if isinstance(known.file, SeedFile):
            return known.sql, known.columns, tuple(tuple(row) for row in known.file.rows[:limit])
        try:
            catalog = reader.catalog()
            for name in (*known.tables_read, *known.views_read):
                above = bound.compiled.models[name]
                if catalog.find(above.schema, above.relation) is None:
                    remedy = f"build it first: `interlock run --select {name}`"
                    raise refused("P411", f"it reads `{name}`, which is not built in this target", remedy=remedy, subject=model)
            text = f"SELECT * FROM (\n{known.sql}\n) AS rows LIMIT {limit}"
            names = ", ".join(f"CAST({identifier(column.name)} AS VARCHAR)" for column in known.columns)
            rows = reader.query(f"SELECT {names} FROM ({text}) AS shown")
        except WarehouseError as error:
            raise refusal(error, subject=model) from error
    return known.sql, known.columns, tuple(tuple(cell for cell in row) for row in rows)
