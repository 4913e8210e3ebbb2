"""The import as one act: read, convert, write, compile, report."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from interlock.engine.clock import Clock
from interlock.engine.diagnostics import Diagnostic, refused
from interlock.engine.importers.dbt import checks, manifest, nodes, sources, verify, write
from interlock.engine.importers.dbt.attach import Attaching
from interlock.engine.importers.dbt.collect import collect, shadowed
from interlock.engine.importers.dbt.configs import unknown_keys
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.inventory import project_items
from interlock.engine.importers.dbt.inventory_config import config_items
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.reading import read
from interlock.engine.importers.dbt.snapshots import build_time
from interlock.engine.importers.dbt.yamls import table
from interlock.machines.records import Record

REPORT = "IMPORT.md"


class Kept(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relation of the new project, called as dbt calls it."""

    model: str
    schema: str
    relation: str
    built: tuple[str, ...] = ()
    """Columns that say when it was built: no two builds have them alike."""


class Imported(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an import came to."""

    name: str
    items: tuple[Item, ...]
    files: tuple[str, ...]
    said: tuple[str, ...]
    findings: tuple[Diagnostic, ...]
    database: str | None
    """The database that dbt builds, as the new project's path, where there is one."""
    relations: tuple[Kept, ...]
    """Everything that was converted and is kept in the warehouse."""
    dbt_schema: str


def import_project(
    root: Path, out: Path, *, project_id: str, environment: Mapping[str, str], clock: Clock, accept_proposals: bool = False
) -> Imported:
    """Turn the dbt project in `root` into an Interlock project in `out`.

    Raises:
        Refused: D801, D802: there is no project that can be read; S120, `out` is not empty; W605, it cannot be written.
    """
    root, out = root.absolute(), out.absolute()
    _refuse_if_in_the_way(root, out)
    tree = read(root, environment)
    found = collect(tree, environment)
    conversion = Conversion(found, out, accept_proposals=accept_proposals)
    manifest.use(conversion)
    conversion.run()
    Attaching(conversion).run()
    files, left, unknown = _written_and_compiled(conversion, out, project_id, environment, clock)
    shadowed(found)
    items = write.ordered(
        [*found.items, *_of_all(conversion), *_unknown(conversion), *project_items(conversion), *config_items(conversion)]
    )
    said = _said(conversion, items, unknown)
    files[REPORT] = write.report(conversion.session.root, items, said)
    _put(out, {REPORT: files[REPORT]})
    live = [node for node in found.nodes if node.live and node.sidecar.get("materialized") != "ephemeral"]
    return Imported(
        name=conversion.session.root,
        items=items,
        files=tuple(sorted(files)),
        said=said,
        findings=(*_warnings(conversion, items), *left),
        database=conversion.places.database,
        relations=tuple(
            Kept(
                model=node.into,
                schema=conversion.schema(node),
                relation=node.alias,
                built=build_time(node),
            )
            for node in sorted(live, key=lambda each: each.into)
        ),
        dbt_schema=conversion.default_schema,
    )


def _refuse_if_in_the_way(root: Path, out: Path) -> None:
    if os.path.lexists(out) and not out.is_dir():
        raise refused("S120", f"`{out}` is no directory", remedy="name another")
    if out.is_dir() and any(out.iterdir()):
        raise refused(
            "S120",
            f"`{out}` is not empty",
            because="an import writes a project of its own",
            remedy="name a directory that is empty, or is to be made",
        )
    if out == root:
        raise refused("S120", f"`{out}` is the dbt project itself", remedy="name another directory")


def _written_and_compiled(
    conversion: Conversion, out: Path, project_id: str, environment: Mapping[str, str], clock: Clock
) -> tuple[dict[str, str], tuple[Diagnostic, ...], tuple[str, ...]]:
    left: tuple[Diagnostic, ...] = ()
    unknown: tuple[str, ...] = ()
    for _ in range(verify.PASSES_MAX):
        files = write.files_of(conversion, project_id)
        _replace(out, files)
        if not any(node.live for node in conversion.found.nodes):
            return files, (), ()
        findings, models = verify.findings_of(out, environment, clock)
        unknown = verify.unknown_sources(findings)
        if verify.in_order(conversion, models):
            continue
        changed, left = verify.drop_what_fails(conversion, findings)
        if not changed:
            break
        conversion.block()
    return files, left, unknown


def _replace(out: Path, files: Mapping[str, str]) -> None:
    """Write the files, and take away those of an earlier pass that are no more."""
    for kept in sorted(out.rglob("*"), reverse=True) if out.is_dir() else ():
        if kept.is_file() and kept.relative_to(out).as_posix() not in files:
            kept.unlink()
        elif kept.is_dir() and not any(kept.iterdir()):
            kept.rmdir()
    _put(out, files)


def _put(out: Path, files: Mapping[str, str]) -> None:
    try:
        for path, text in files.items():
            place = out / path
            place.parent.mkdir(parents=True, exist_ok=True)
            data = text.encode()
            if not place.is_file() or place.read_bytes() != data:
                place.write_bytes(data)
    except OSError as error:
        because = error.strerror or type(error).__name__
        raise refused("W605", f"`{out}` cannot be written", because=because, remedy="see to its permissions, or name another") from error


def _of_all(conversion: Conversion) -> list[Item]:
    found = [nodes.item_of(node) for node in conversion.found.nodes]
    found += [sources.item_of(source) for source in conversion.found.sources]
    found += [source.freshness for source in conversion.found.sources if source.freshness is not None]
    return found + [checks.item_of(test) for test in conversion.tests]


def _unknown(conversion: Conversion) -> list[Item]:
    found: list[Item] = []
    all_nodes = conversion.found.nodes
    names = {part for node in all_nodes for part in node.fqn} | {package.name for package in conversion.found.tree.packages}
    names |= set(conversion.found.tree.missing)
    read = {part for source in conversion.found.sources for part in source.fqn}
    tests = {part for test in conversion.tests for part in (*test.folders, test.name.rsplit(".", 1)[-1])}
    for package in conversion.found.tree.packages:
        for plural in nodes.PLURAL.values():
            found += unknown_keys(table(package.config).get(plural), package.path, names, (plural,))
        for plural, more in {"tests": tests, "data_tests": tests, "sources": read}.items():
            found += unknown_keys(table(package.config).get(plural), package.path, names | more, (plural,))
    return found


def _said(conversion: Conversion, items: tuple[Item, ...], unknown: tuple[str, ...]) -> tuple[str, ...]:
    models = [item for item in items if item.kind == "model"]
    done = sum(item.written == "yes" for item in models)
    off = [item for item in models if item.status == "disabled"]
    said = [f"{done} of {len(models)} models are in the new project"]
    if off and len(off) * 2 > len(models):
        said.append(f"almost nothing was imported: {len(off)} of {len(models)} models are disabled{_deciding(off)}")
    if unknown:
        said.append(f"what reads these sources could not be compiled, since they cannot be looked at now: {', '.join(unknown)}")
    kind = conversion.found.tree.profile.get("type")
    if kind not in {None, "duckdb"}:
        said.append(f"the project was written for {kind}; its SQL was taken as DuckDB reads it, and what DuckDB refuses is refused")
    if kind in {None, "duckdb"} and "TimeZone" not in conversion.settings:
        said.append(
            "dbt ran in the time zone of its machine, and Interlock runs in UTC: where a model turns times with a zone into days or texts, "
            'write `settings = { TimeZone = "…" }` of the target'
        )
    absent = Counter(name for item in items if item.code == "D806" for name in re.findall(r"nothing is called `([\w.]+)`", item.why))
    if absent:
        said.append(f"macros that are not there: {', '.join(f'{name} ({count})' for name, count in absent.most_common(20))}")
    if conversion.found.tree.missing:
        said.append(
            f"packages that are not there: {', '.join(sorted(set(conversion.found.tree.missing)))}; run `dbt deps`, and import again"
        )
    return tuple(said)


def _told(conversion: Conversion) -> str:
    """Which of the other warehouse's ways DuckDB is told to keep."""
    kept = [
        {"integer_division": "division of integers", "default_null_order": "the order of nulls"}.get(key, key)
        for key in conversion.settings
    ]
    return f", told to keep {' and '.join(sorted(kept))} as there" if kept else ", with its own division and order of nulls"


def _deciding(off: list[Item]) -> str:
    """The variables that switch most models off."""
    counts = Counter(name for item in off for name in re.findall(r"variable (`\w+`(?:, `\w+`)*)", item.why) for name in name.split(", "))
    listed = ", ".join(f"{name} ({count})" for name, count in counts.most_common(5))
    return f" by the variables {listed}" if listed else " by `enabled: false`"


def _warnings(conversion: Conversion, items: tuple[Item, ...]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    models = [item for item in items if item.kind == "model"]
    off = [item for item in models if item.status == "disabled"]
    if off and len(off) * 2 > len(models):
        summary = f"almost nothing was imported: {len(off)} of {len(models)} models are disabled"
        because = f"it is decided{_deciding(off)}"
        found.append(
            Diagnostic(
                code="D819",
                severity="warning",
                summary=summary,
                because=because,
                remedy=Counter(item.remedy for item in off).most_common(1)[0][0],
            )
        )
    kind = conversion.found.tree.profile.get("type")
    if kind not in {None, "duckdb"}:
        found.append(
            Diagnostic(
                code="D824", severity="warning", summary=f"the project was written for {kind}",
                because=f"its SQL is taken as DuckDB reads it{_told(conversion)}; casts, functions and types may still differ", remedy="compare the results before you rely on them",
            )
        )  # fmt: skip
    commented = [(item, note) for item in items for note in item.why.split("; ") if "SQL comment, which dbt executes" in note]
    found += [
        Diagnostic(
            code="D814", severity="warning", summary=f"{item.path}: {note}", remedy="write the comment as {# … #}", subject=item.name
        )
        for item, note in commented
    ]
    return found
