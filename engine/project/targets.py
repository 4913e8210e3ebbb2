"""[project], [targets] and [ledger] of interlock.toml → where the project may be run, and which target a command means."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import UNSET

from interlock.engine.diagnostics import Diagnostic, Refused, did_you_mean, refused
from interlock.engine.project.document import Document
from interlock.engine.project.files import InterlockToml, TargetTable
from interlock.engine.project.names import RELATION_RULE, RESERVED_SCHEMAS, is_project_id, is_relation, is_target
from interlock.engine.project.positions import KeyPath
from interlock.engine.project.project import Project
from interlock.engine.warehouse.target import TargetConfig

FILE = "interlock.toml"


OUR_SETTINGS = frozenset(
    {
        "access_mode",
        "enable_external_access",
        "errors_as_json",
        "file_search_path",
        "lock_configuration",
        "python_enable_replacements",
        "schema",
        "search_path",
    }
)
"""Settings that the product itself needs as it sets them."""


def check_project(document: Document, file: InterlockToml) -> None:
    """S104 for an id or name that cannot be one."""
    if not is_project_id(file.project.id):
        document.report(
            "S104",
            ("project", "id"),
            f"`{file.project.id}` cannot be a project's id",
            because="it has letters, digits, - and _, at most 64",
            remedy="use the one that `interlock init` makes; an id is random and never changes",
        )
    if not file.project.name.strip():
        document.report("S104", ("project", "name"), "the project has no name", remedy='write name = "shop"')


def targets_of(
    document: Document, file: InterlockToml, root: Path, values: Mapping[KeyPath, str], *, without: Collection[str]
) -> dict[str, TargetConfig]:
    """The targets. One that is not well-formed is left out, after its finding; so are those of `without`."""
    if not file.targets and "targets" not in document.tree:
        document.report("S105", ("targets",), "no target is given", remedy='add [targets.dev] with type = "duckdb" and path = "dev.duckdb"')
    ledger = None
    if file.ledger is not UNSET:
        written = values.get(("ledger", "path"), file.ledger.path)
        if written.strip():
            ledger = Path(os.path.normpath(root / written))
        else:
            document.report("S104", ("ledger", "path"), "`ledger.path` is empty", remedy="write a directory, or take [ledger] out")
    found: dict[str, TargetConfig] = {}
    folded: dict[str, str] = {}
    places: dict[Path, str] = {}
    for name, table in file.targets.items():
        here: KeyPath = ("targets", name)
        if not is_target(name):
            because = "it has letters, digits, - and _, and begins with a letter"
            document.report("S108", here, f"`{name}` is no name for a target", because=because, remedy="give it another name")
            continue
        if name.lower() in folded:
            because = f"`{folded[name.lower()]}` is the same name: case is not looked at"
            document.report("S106", here, f"two targets are called `{name}`", because=because, remedy="give one another name")
            continue
        folded[name.lower()] = name
        if name in without:
            continue
        target = _target(document, name, table, root=root, values=values, ledger=ledger)
        if target is None:
            continue
        if target.location in places:
            because = f"`{places[target.location]}` is that database; a database holds a project once"
            document.report(
                "S106",
                (*here, "path"),
                f"target `{name}` has another target's database",
                because=because,
                remedy="give it a file of its own",
            )
        places.setdefault(target.location, name)
        found[name] = target
    return found


def _target(
    document: Document, name: str, table: TargetTable, *, root: Path, values: Mapping[KeyPath, str], ledger: Path | None
) -> TargetConfig | None:
    here: KeyPath = ("targets", name)
    path = values.get((*here, "path"), table.path)
    schema = values.get((*here, "schema"), table.schema)
    before = len(document.findings)
    if path.rpartition("/")[2].strip() in {"", ".", ".."}:
        document.report("S104", (*here, "path"), f"target `{name}` names no file", remedy='write path = "dev.duckdb"')
    elif path.startswith(":memory:"):
        document.report("S104", (*here, "path"), "a database in memory keeps nothing", remedy='write path = "dev.duckdb"')
    elif "://" in path or path.startswith("md:"):
        document.report("S104", (*here, "path"), "the path is no file of this machine", remedy='write path = "dev.duckdb"')
    elif path.startswith("~"):
        document.report("S104", (*here, "path"), "`~` is not expanded", remedy="write ${HOME} in its place")
    elif "\0" in path:
        document.report("S104", (*here, "path"), "the path has a NUL character", remedy="take it out")
    if schema.lower() in RESERVED_SCHEMAS:
        document.report(
            "S108", (*here, "schema"), f"no target's schema is called `{schema}`", because="that name is taken", remedy="use another"
        )
    elif not is_relation(schema):
        document.report("S108", (*here, "schema"), f"`{schema}` is no name for a schema", because=RELATION_RULE, remedy="use another")
    if table.protected and table.accept_warehouse:
        because = "a protected target's authority is a person's to decide"
        document.report(
            "S116", (*here, "accept_warehouse"), "`accept_warehouse` cannot go with `protected`", because=because, remedy="take one out"
        )
    for key in table.settings:
        if key.lower() in OUR_SETTINGS:
            because = "Interlock sets it: what it reads back, and where it looks for files and names, rests on it"
            document.report("S104", (*here, "settings", key), f"`{key}` is not a target's to set", because=because, remedy="take it out")
    if len(document.findings) > before:
        return None
    settings = {key: values.get((*here, "settings", key), value) for key, value in table.settings.items()}
    return TargetConfig(
        name=name,
        type=table.type,
        path=path,
        location=Path(os.path.normpath(root / path)),
        schema=schema,
        threads=table.threads,
        create=table.create,
        protected=table.protected,
        accept_warehouse=table.accept_warehouse,
        on_change=table.on_change,
        settings=settings,
        ledger=None if ledger is None else ledger / name,
    )


def default_target_of(document: Document, file: InterlockToml) -> str | None:
    """The target that is used without `--target`, if it may be one."""
    name = file.project.default_target
    if name is UNSET:
        return None
    here = ("project", "default_target")
    if name not in file.targets:
        if name in (document.tree.get("targets") or {}):
            return None  # it is there, and what is wrong with it is told
        remedy = did_you_mean(name, file.targets, f"add [targets.{name}]")
        document.report("S110", here, f"unknown target `{name}`", because=_listed(file.targets), remedy=remedy)
        return None
    if file.targets[name].protected:
        because = "a protected target is never used unless it is named"
        remedy = "name another, or take default_target out"
        document.report("S116", here, f"`{name}` cannot be the default target", because=because, remedy=remedy)
        return None
    return name


def choose_target(project: Project, name: str | None, *, writes: bool) -> TargetConfig:
    """The target that a command means: the one it names, the default one, or the only one.

    A command that only reads may fall back on the first target that is not protected; one that writes never guesses.

    Raises:
        Refused: S110, there is no such target; S111, a write needs `--target`; S109, the target needs an environment variable
            that is not set.
    """
    known = [*project.targets, *project.unusable]
    if not known and (wrong := _mistakes(project)):
        raise Refused(*wrong)
    if name is not None and name not in known:
        remedy = did_you_mean(name, known, "see [targets] in interlock.toml")
        raise refused("S110", f"unknown target `{name}`", because=_listed(known), remedy=remedy, subject=name)
    if not known:
        raise refused("S110", "the project has no target that can be used", remedy="add a [targets.NAME] to interlock.toml")
    free = [target for target in known if target in project.unusable or not project.targets[target].protected]
    chosen = name or project.default_target
    if chosen is None and not writes:
        usable = [target for target in project.targets if target in free] or [*project.targets]
        chosen = (usable or known)[0]
    elif chosen is None and free == known and len(known) == 1:
        chosen = known[0]
    if chosen is None:
        if len(known) == 1:
            because = "the only target is protected, and a protected one is never used unless it is named"
        else:
            because = f"there are several and no default: {', '.join(known)}"
        remedy = f"add --target {(free or known)[0]}, or set default_target under [project]"
        raise refused("S111", "which target is meant is not said", because=because, remedy=remedy)
    if chosen in project.unusable:
        raise Refused(*project.unusable[chosen])
    if chosen not in project.targets:
        cannot = refused("S110", f"target `{chosen}` cannot be used", remedy="see the findings about it in interlock.toml", subject=chosen)
        raise Refused(*cannot.findings, *_mistakes(project))
    return project.targets[chosen]


def _listed(names: Collection[str]) -> str:
    return f"the targets are: {', '.join(names)}" if names else "there are no targets"


def _mistakes(project: Project) -> list[Diagnostic]:
    """What is wrong in interlock.toml: a person is told the mistakes themselves, not that there are some."""
    return [finding for finding in project.findings if finding.severity == "error" and finding.at and finding.at.path == FILE]
