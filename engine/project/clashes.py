"""Models, seeds and sources that would be one relation: the project's files say nothing wrong by themselves, and a target decides."""

from __future__ import annotations

from interlock.engine.diagnostics import Diagnostic, Position, in_order
from interlock.engine.project.kept import standing
from interlock.engine.project.project import Project
from interlock.engine.warehouse.target import TargetConfig


def relation_conflicts(project: Project, target: TargetConfig) -> tuple[Diagnostic, ...]:
    """S107 where two models, seeds or a source of the same database are one relation under a target's default schema."""
    taken: dict[tuple[str, str], tuple[str, str]] = {}
    for source in project.sources.values():
        if source.path is None and source.database is None:
            place = ((source.schema or target.schema).lower(), (source.identifier or source.name).lower())
            taken.setdefault(place, ("source", source.name))
    if not _any_taken(project, target, set(taken)):
        return ()
    findings: list[Diagnostic] = []
    kinds = dict.fromkeys(project.models, "model") | dict.fromkeys(project.seeds, "seed")
    for name, kind in sorted(kinds.items()):
        file = standing(project.models if kind == "model" else project.seeds, name)
        if file.materialized == "ephemeral":
            continue
        schema, relation = file.schema or target.schema, file.alias or name
        place = (schema.lower(), relation.lower())
        if place in taken:
            findings.append(
                Diagnostic(
                    code="S107",
                    summary=f"`{name}` writes a relation that is taken",
                    because=f"{taken[place][0]} `{taken[place][1]}` is {schema}.{relation} too, in target `{target.name}`",
                    remedy="give one an alias or another schema",
                    at=Position(path=file.sidecar or file.path),
                    subject=name,
                )
            )
        taken.setdefault(place, (kind, name))
    return in_order(findings)


def _any_taken(project: Project, target: TargetConfig, seen: set[tuple[str, str]]) -> bool:
    """Whether two are one relation: nearly never, and then the files are gone through in the order of their names to say which."""
    default = target.schema.lower()
    for files in (project.models, project.seeds):
        for name in files:
            file = standing(files, name)
            if file.materialized == "ephemeral":
                continue
            place = (file.schema.lower() if file.schema else default, (file.alias or name).lower())
            if place in seen:
                return True
            seen.add(place)
    return False
