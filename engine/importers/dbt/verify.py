"""The new project is compiled; what does not compile is refused with what the compiler says, and the rest stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from interlock.engine.clock import Clock, stamp
from interlock.engine.compiler.checks import TAKEN_FOR
from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.importers.dbt import freshness
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.names import quoted
from interlock.engine.importers.dbt.nodes import Node, Problem
from interlock.engine.importers.dbt.sources import SourceNode
from interlock.engine.project.clashes import relation_conflicts
from interlock.engine.project.load import SOURCES, load
from interlock.engine.project.project import Project
from interlock.engine.project.targets import choose_target
from interlock.engine.runner.ground import Ground
from interlock.engine.warehouse.target import TargetConfig

UNKNOWN: Final = frozenset({"S105", "P425", "W614", "S119"})
"""Codes of a source that cannot be looked at now: no fault of the import."""
_CHECK: Final = re.compile(r"checks\[(\d+)\]")
PASSES_MAX: Final = 50


def findings_of(out: Path, environment: Mapping[str, str], clock: Clock) -> tuple[tuple[Diagnostic, ...], Mapping[str, CompiledModel]]:
    """All findings of the new project that are errors, and its models as far as they compile."""
    project = load(out, environment=environment, variables={})
    target = choose_target(project, "dev", writes=False)
    made = ground(project, target, clock)
    as_of = stamp(clock())
    try:
        with closing(made.scratch()) as scratch:
            compiled = made.compile(as_of, scratch, target_is="absent")
    except Refused as refusal:
        return refusal.findings, {}
    found = (*project.findings, *relation_conflicts(project, target), *compiled.findings)
    return tuple(finding for finding in found if finding.severity == "error"), compiled.models


def in_order(conversion: Conversion, models: Mapping[str, CompiledModel]) -> bool:
    """Give tables the order of columns that their contracts have, as dbt does; answers whether any was changed."""
    changed = False
    for node in conversion.found.nodes:
        compiled = models.get(node.into)
        if not node.live or compiled is None or not node.contract_rule or node.sidecar.get("materialized") not in {"table", "incremental"}:
            continue
        promised = list(node.contract)
        made = [column.name for column in compiled.columns or ()]
        if sorted(each.lower() for each in made) == sorted(each.lower() for each in promised) and [each.lower() for each in made] != [
            each.lower() for each in promised
        ]:
            listed = ", ".join(quoted(name) for name in promised)
            node.text = f"select {listed}\nfrom (\n{node.text.strip().rstrip(';').rstrip()}\n) as model_subq\n"
            node.notes.append("its columns were put in the order of its contract, as dbt puts them")
            changed = True
    return changed


def ground(project: Project, target: TargetConfig, clock: Clock) -> Ground:
    """What a command on the new project stands on."""
    return Ground(
        project=project, target=target, clock=clock, actor="import", wait_seconds=None, redact=lambda text: text, read=lambda _: project, variables={}
    )  # fmt: skip


def unknown_sources(findings: tuple[Diagnostic, ...]) -> tuple[str, ...]:
    """Sources whose columns cannot be looked at now."""
    keys = {finding.at.key for finding in findings if finding.code in UNKNOWN and finding.at is not None and finding.at.path == SOURCES}
    return tuple(sorted({key.removeprefix("sources.").split('"')[1] if '"' in key else key.removeprefix("sources.") for key in keys}))


def drop_what_fails(conversion: Conversion, findings: tuple[Diagnostic, ...]) -> tuple[bool, tuple[Diagnostic, ...]]:
    """Refuse the nodes and tests that findings are about; answers whether any was, and with findings that concern none."""
    by_path = {path: node for node in conversion.found.nodes if node.live for path in node.written}
    is_unknown = bool(unknown_sources(findings))
    # By the places that findings name: a check that goes must not move the next one into its place.
    asked = {id(node): [str(check.get("name")) for check in node.checks] for node in conversion.found.nodes}
    left: list[Diagnostic] = []
    changed = False
    for finding in sorted(findings, key=lambda each: each.code == "L220"):
        source = _source(conversion, finding)
        if source is not None and finding.code == "L225" and "freshness" in source.made:
            freshness.refuse(source, _said(finding))
            changed = True
            continue
        if source is not None and source.uses_types:
            # What is declared of its columns is no type here: they are looked at instead.
            source.uses_types = False
            source.made.pop("columns", None)
            source.notes.append(f"its declared types were left out: {_said(finding)}")
            changed = True
            continue
        node = by_path.get(finding.at.path) if finding.at is not None else None
        if node is None:
            node = next((each for each in conversion.found.nodes if each.live and each.into and each.into == finding.subject), None)
        if node is None:
            if not (finding.code in UNKNOWN and is_unknown):
                left.append(finding)
            continue
        if finding.code == "L220" and (changed or is_unknown):
            continue  # what it reads was refused just now, or has columns that cannot be looked at
        key = finding.at.key if finding.at is not None else ""
        check = _CHECK.match(key)
        if check is not None and int(check[1]) < len(asked[id(node)]):
            changed = _drop_check(conversion, node, asked[id(node)][int(check[1])], finding) or changed
            continue
        if node.live:
            node.problem = _problem(node, finding)
            changed = True
    return changed, tuple(left)


def _source(conversion: Conversion, finding: Diagnostic) -> SourceNode | None:
    """The source whose declared columns a finding is about."""
    if finding.at is None or finding.at.path != SOURCES or finding.code in UNKNOWN:
        return None
    return next((each for each in conversion.found.sources if each.key and each.key == finding.subject), None)


def _drop_check(conversion: Conversion, node: Node, name: str, finding: Diagnostic) -> bool:
    """Leave out a check that does not compile, or ask it in dbt's own SQL; answers whether it was there."""
    place = next((index for index, check in enumerate(node.checks) if check.get("name") == name), None)
    if place is None:
        return False  # it has another finding
    if "sql" in node.checks[place] and finding.because.startswith(TAKEN_FOR):
        return False  # another value of a check that is asked in SQL by now
    for test in conversion.tests:
        if test.owner is node and name in test.keys:
            if test.as_sql and finding.because.startswith(TAKEN_FOR):
                rest = {key: value for key, value in node.checks[place].items() if key != "accepted_values"}
                node.checks[place] = {"sql": test.as_sql, **rest}
                test.notes.append(f"asked in SQL, as dbt asks it: {_said(finding)}")
                test.as_sql = ""
                return True
            if test.problem is None:
                test.problem = Problem(
                    "D815", f"as a check it does not compile: {_said(finding)}", finding.remedy or "write it anew", test.line, test.path
                )
            node.checks = [check for check in node.checks if check.get("name") not in test.keys]
            return True
    node.problem = _problem(node, finding)
    return True


def _problem(node: Node, finding: Diagnostic) -> Problem:
    return Problem(
        "D817", _said(finding), finding.remedy or "correct it in the dbt project, and import again", _line(node, finding), node.file.path
    )


def _said(finding: Diagnostic) -> str:
    because = f" ({finding.because.splitlines()[0]})" if finding.because else ""
    return f"[{finding.code}] {finding.summary}{because}"


def _line(node: Node, finding: Diagnostic) -> int | None:
    """The line in the dbt file: that of the same text, if it has it."""
    excerpt = finding.at.excerpt.strip() if finding.at is not None else ""
    if excerpt:
        for number, text in enumerate(node.file.text.splitlines(), 1):
            if text.strip() == excerpt:
                return number
    return node.line
