"""Importing a dbt project, and holding what it makes against what dbt made."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from interlock.engine.clock import Clock
from interlock.engine.diagnostics import Diagnostic, Outcome, refused
from interlock.engine.importers.dbt import verify
from interlock.engine.importers.dbt.imported import Imported, import_project
from interlock.engine.importers.dbt.items import Compared, counted
from interlock.engine.outcome import exit_of
from interlock.engine.project.load import load
from interlock.engine.project.targets import choose_target
from interlock.engine.results_import import ImportResult
from interlock.engine.warehouse.duckdb import beside
from interlock.engine.warehouse.duckdb.quoting import string
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.duckdb.settings import statements
from interlock.engine.warehouse.protocol import WarehouseError

BLOCKED: Final = "D808"
Built = Callable[[Path], Path]
"""Runs a project, and answers with its database."""


def import_dbt(
    root: Path,
    out: Path,
    *,
    project_id: str,
    environment: Mapping[str, str],
    clock: Clock,
    strict: bool,
    accept_proposals: bool,
    built: Built | None,
) -> ImportResult:
    """Import; with `built`, run what was imported and compare it with dbt's own warehouse."""
    done = import_project(root, out, project_id=project_id, environment=environment, clock=clock, accept_proposals=accept_proposals)
    compared = _compared(done, root, out, environment, clock, built) if built is not None else ()
    different = [each for each in compared if each.outcome == "different"]
    left_out = [item for item in done.items if item.status == "refused" or (item.status == "proposed" and item.written == "no")]
    findings: list[Diagnostic] = [*done.findings]
    if strict:
        findings += [
            Diagnostic(
                code=item.code, summary=f"{item.kind} `{item.name}` ({item.place}): {item.why}", remedy=item.remedy, subject=item.name
            )
            for item in left_out
            if item.code and item.code != BLOCKED
        ]
        blocked = Counter(item.kind for item in left_out if item.code == BLOCKED)
        if blocked:
            counted_ = ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in sorted(blocked.items()))
            remedy = "see to those first; IMPORT.md has a line for each"
            findings.append(Diagnostic(code=BLOCKED, summary=f"{counted_} read something that is not converted", remedy=remedy))
    findings += [
        Diagnostic(
            code="D827",
            summary=f"`{each.model}` is not what dbt built",
            because=each.because,
            remedy="see the rows that differ",
            subject=each.model,
        )
        for each in different
    ]
    outcome: Outcome = "refused" if (strict and left_out) or different else "done"
    return ImportResult(
        command="import dbt",
        outcome=outcome,
        exit_code=exit_of(outcome),
        findings=tuple(findings),
        name=done.name,
        directory=str(out),
        counts=counted(done.items),
        items=done.items,
        files=done.files,
        said=done.said,
        compared=compared,
        next_commands=_next(done, out),
    )


def _next(done: Imported, out: Path) -> tuple[str, ...]:
    """What to do with the new project; where nothing is in it, there is nothing to run, but much to read."""
    enter = f"cd {shlex.quote(str(out))}"
    if any(item.written == "yes" and item.kind in {"model", "seed", "snapshot"} for item in done.items):
        return (enter, "interlock compile", "interlock run")
    codes = Counter(item.code for item in done.items if item.status in {"refused", "proposed"} and item.code not in {"", BLOCKED})
    return (enter, *(f"interlock explain {code}" for code, _ in codes.most_common(3)))


def _compared(done: Imported, root: Path, out: Path, environment: Mapping[str, str], clock: Clock, built: Built) -> tuple[Compared, ...]:
    if done.database is None or not (out / done.database).is_file():
        raise refused(
            "D827",
            "there is no warehouse of dbt's to compare with",
            because="profiles.yml names no DuckDB file that is there",
            remedy="run `dbt build` first, or import without --compare; the new project is written all the same",
        )
    if not done.relations:
        return ()  # nothing was converted that is kept in the warehouse: the items say why
    here = built(out)
    pairs = [beside.Pair(each.model, each.schema, each.relation, each.built) for each in done.relations]
    project = load(out, environment=environment, variables={})
    target = choose_target(project, "dev", writes=False)
    kept = statements(target)
    ours = beside.Setting(
        (*kept, f"SET file_search_path = {string(str(out.absolute()))}"), verify.ground(project, target, clock).attached()
    )
    theirs = beside.Setting((*kept, f"SET file_search_path = {string(str(root.absolute()))}"))
    try:
        sides = beside.compare(here, out / done.database, pairs, ours=ours, theirs=theirs)
    except WarehouseError as error:
        raise refusal(error, subject=done.name) from error
    return tuple(_compared_one(side) for side in sides)


def _compared_one(side: beside.Side) -> Compared:
    return Compared(
        model=side.name,
        outcome="not_compared" if not side.found else "different" if side.because else "equal",
        because=side.because,
        rows_here=side.rows_here,
        rows_dbt=side.rows_there,
        only_here=side.only_here,
        only_dbt=side.only_there,
        columns=side.columns,
        first_only_here=side.first_only_here,
        first_only_dbt=side.first_only_there,
    )
