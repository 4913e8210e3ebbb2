"""`show`: a model's SQL as it runs, or the first rows of what it gives."""

from __future__ import annotations

from contextlib import closing

from interlock.engine.cases.reading import compile_offline
from interlock.engine.clock import stamp
from interlock.engine.diagnostics import did_you_mean, refused
from interlock.engine.project.project import SeedFile
from interlock.engine.runner.authority import look
from interlock.engine.runner.binding import bound_to
from interlock.engine.runner.ground import Ground, stop_on_errors
from interlock.engine.runner.selection import Request, findings_for
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import WarehouseError
from interlock.machines.evidence import Column

ROWS_MAX = 10_000

UNKNOWN_COLUMNS = frozenset({"S105", "P425"})


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
    as_of = stamp(ground.clock())
    macros = ground.macros(as_of)
    there = ground.reader(macros)
    with closing(there or ground.scratch(macros)) as reader:
        sight = look(ground.directory, ground.project.id, there)
        bound = bound_to(ground, Request(select=(model,)), sight, reader, as_of)
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
