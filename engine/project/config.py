"""interlock.toml → the project's id, its targets and its variables."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import UNSET

from interlock.engine.diagnostics import Diagnostic, did_you_mean, refused
from interlock.engine.project.checks import scalar, scalars
from interlock.engine.project.document import Document, strings
from interlock.engine.project.files import InterlockToml, TargetTable
from interlock.engine.project.names import (
    BUILT_IN_VARIABLES,
    NAME_RULE,
    RELATION_RULE,
    RESERVED_SCHEMAS,
    is_name,
    is_project_id,
    is_relation,
    is_target,
    suggestion,
)
from interlock.engine.project.positions import KeyPath, key_path
from interlock.engine.project.project import Project, Scalar, Variable
from interlock.engine.warehouse.target import TargetConfig

FILE = "interlock.toml"

_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SHORTEST_SECRET = 4


def _may_refer(path: KeyPath) -> bool:
    """Where `${NAME}` may stand: its value must never be part of what is planned, so only in where things lie, and settings."""
    return path == ("ledger", "path") or (len(path) >= 3 and path[0] == "targets" and path[2] in {"path", "settings"})


def expand_environment(document: Document, environment: Mapping[str, str]) -> dict[KeyPath, str]:
    """The values of texts with `${NAME}`, by key path, after findings for those that cannot be read (S109, S104)."""
    found: dict[KeyPath, str] = {}
    for path, text in strings(document.tree):
        if "${" not in text:
            continue
        if not _may_refer(path):
            document.report(
                "S104",
                path,
                f"`{key_path(path)}` cannot read an environment variable",
                because="its value would stand in plans; `${NAME}` is for targets.*.path, targets.*.settings and ledger.path",
                remedy="write the value itself, or use `--vars` for a variable",
            )
            continue
        value = _expand(document, path, text, environment)
        if value is not None:
            found[path] = value
    return found


def _expand(document: Document, path: KeyPath, text: str, environment: Mapping[str, str]) -> str | None:
    right = True
    for name in _REFERENCE.findall(text):
        if _VARIABLE.fullmatch(name) is None:
            document.report("S104", path, f"`${{{name}}}` names no environment variable", remedy="write `${NAME}`")
            right = False
        elif name not in environment:
            document.report(
                "S109",
                path,
                f"environment variable `{name}` is missing",
                because=f"`{key_path(path)}` reads it",
                remedy=f"set it: export {name}=…",
            )
            right = False
    if "${" in _REFERENCE.sub("", text):
        document.report("S104", path, "`${` is never closed", remedy="write `${NAME}`")
        right = False
    return _REFERENCE.sub(lambda match: environment[match[1]], text) if right else None


def environment_names(text: str) -> tuple[str, ...]:
    """The environment variables that an interlock.toml names, sorted."""
    return tuple(sorted({name for name in _REFERENCE.findall(text) if _VARIABLE.fullmatch(name)}))


def redactor(project: Project, environment: Mapping[str, str]) -> Callable[[str], str]:
    """A function that puts `***` in the place of every value that interlock.toml took from the environment.

    Values of fewer than four characters are left: they are in too many words to be a secret.
    """
    import json  # noqa: PLC0415 - only where something is to be redacted

    values: set[str] = set()
    for name in project.environment:
        value = environment.get(name, "")
        if len(value) >= _SHORTEST_SECRET:
            values |= {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], value.replace("'", "''")}
    if not values:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(value) for value in sorted(values, key=lambda value: (-len(value), value))))
    return lambda text: pattern.sub("***", text)


# --- targets ----------------------------------------------------------------------------------------------------------


def targets_of(document: Document, file: InterlockToml, root: Path, values: Mapping[KeyPath, str]) -> dict[str, TargetConfig]:
    """The targets. One that is not well-formed is left out, after its finding."""
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
    before = len(document.findings)
    if not path.strip() or path.endswith("/"):
        document.report("S104", (*here, "path"), f"target `{name}` names no file", remedy='write path = "dev.duckdb"')
    elif path.startswith(":memory:"):
        document.report("S104", (*here, "path"), "a database in memory keeps nothing", remedy='write path = "dev.duckdb"')
    elif "://" in path or path.startswith("md:"):
        document.report("S104", (*here, "path"), "the path is no file of this machine", remedy='write path = "dev.duckdb"')
    elif path.startswith("~"):
        document.report("S104", (*here, "path"), "`~` is not expanded", remedy="write ${HOME} in its place")
    elif "\0" in path:
        document.report("S104", (*here, "path"), "the path has a NUL character", remedy="take it out")
    if table.schema.lower() in RESERVED_SCHEMAS:
        document.report(
            "S108", (*here, "schema"), f"no target's schema is called `{table.schema}`", because="that name is taken", remedy="use another"
        )
    elif not is_relation(table.schema):
        document.report("S108", (*here, "schema"), f"`{table.schema}` is no name for a schema", because=RELATION_RULE, remedy="use another")
    if table.protected and table.accept_warehouse:
        because = "a protected target's authority is a person's to decide"
        document.report(
            "S116", (*here, "accept_warehouse"), "`accept_warehouse` cannot go with `protected`", because=because, remedy="take one out"
        )
    if len(document.findings) > before:
        return None
    settings = {key: values.get((*here, "settings", key), value) for key, value in table.settings.items()}
    return TargetConfig(
        name=name,
        type=table.type,
        path=path,
        location=Path(os.path.normpath(root / path)),
        schema=table.schema,
        threads=table.threads,
        create=table.create,
        protected=table.protected,
        accept_warehouse=table.accept_warehouse,
        on_change=table.on_change,
        settings=settings,
        ledger=None if ledger is None else ledger / name,
    )


def default_target_of(document: Document, file: InterlockToml, targets: Mapping[str, TargetConfig]) -> str | None:
    """The target that is used without `--target`, if it may be one."""
    name = file.project.default_target
    if name is UNSET:
        return None
    here = ("project", "default_target")
    if name not in targets:
        if name not in file.targets:
            remedy = did_you_mean(name, file.targets, f"add [targets.{name}]")
            document.report("S110", here, f"unknown target `{name}`", because=_listed(file.targets), remedy=remedy)
        return None
    if targets[name].protected:
        because = "a protected target is never used unless it is named"
        document.report(
            "S116", here, f"`{name}` cannot be the default target", because=because, remedy="name another, or take default_target out"
        )
        return None
    return name


def choose_target(project: Project, name: str | None, *, writes: bool) -> TargetConfig:
    """The target that a command means: the one it names, the default one, or the only one.

    A command that only reads may fall back on the first target that is not protected; one that writes never guesses.

    Raises:
        Refused: S110, there is no such target; S111, a write needs `--target`.
    """
    if name is not None:
        if name not in project.targets:
            remedy = did_you_mean(name, project.targets, "see [targets] in interlock.toml")
            raise refused("S110", f"unknown target `{name}`", because=_listed(project.targets), remedy=remedy, subject=name)
        return project.targets[name]
    if project.default_target is not None and project.default_target in project.targets:
        return project.targets[project.default_target]
    if not project.targets:
        raise refused("S110", "the project has no target that can be used", remedy="see the findings about [targets] in interlock.toml")
    free = [target for target in project.targets.values() if not target.protected]
    if not writes:
        return (free or list(project.targets.values()))[0]
    if len(project.targets) == 1 and free:
        return free[0]
    if not free and len(project.targets) == 1:
        because = "the only target is protected, and a protected one is never used unless it is named"
    else:
        because = f"there are several and no default: {', '.join(project.targets)}"
    example = (free or list(project.targets.values()))[0].name
    raise refused(
        "S111",
        "which target is meant is not said",
        because=because,
        remedy=f"add --target {example}, or set default_target under [project]",
    )


def _listed(names: Mapping[str, object]) -> str:
    return f"the targets are: {', '.join(names)}" if names else "there are no targets"


# --- project and variables --------------------------------------------------------------------------------------------


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


def variables_of(document: Document, file: InterlockToml, given: Mapping[str, str], findings: list[Diagnostic]) -> dict[str, Variable]:
    """The variables, with those of the command line in the place of the declared ones."""
    found: dict[str, Variable] = {}
    for name, value in file.vars.items():
        here = ("vars", name)
        if not is_name(name):
            document.report("S108", here, f"`{name}` is no name for a variable", because=NAME_RULE, remedy=f"call it `{suggestion(name)}`")
        elif name in BUILT_IN_VARIABLES:
            document.report("S106", here, f"`${name}` is built in", because="as_of, until and target are", remedy="call it otherwise")
        elif isinstance(value, list | tuple):
            items = scalars(document, here, value)
            if items is not None and not items:
                document.report("S104", here, f"`{name}` is an empty list", because="no type can be told from it", remedy="give it a value")
            elif items is not None:
                found[name] = items
        else:
            one = scalar(document, here, value)
            if one is not None:
                found[name] = one
    for name, text in given.items():
        if name not in file.vars:
            because = "it is built in" if name in BUILT_IN_VARIABLES else "[vars] in interlock.toml does not declare it"
            remedy = (
                "use --as-of"
                if name == "as_of"
                else did_you_mean(name, file.vars, "declare it under [vars], with a value for when it is not given")
            )
            findings.append(
                Diagnostic(code="S121", summary=f"nothing reads the variable `{name}`", because=because, remedy=remedy, subject=name)
            )
        elif name in found:
            try:
                found[name] = _given(text, found[name])
            except ValueError as error:
                because = f"[vars] declares it as {_kind(found[name])}"
                findings.append(
                    Diagnostic(
                        code="S104",
                        summary=f"--vars {name}={text}: {error}",
                        because=because,
                        remedy="write a value of that type",
                        subject=name,
                    )
                )
    return found


def _given(text: str, declared: Variable) -> Variable:
    """The text of the command line as a value of the declared one's type."""
    if not isinstance(declared, tuple):
        return _one(text, declared)
    if text.lstrip().startswith("["):
        try:
            parsed: Any = tomllib.loads(f"value = {text}", parse_float=Decimal)["value"]
        except tomllib.TOMLDecodeError as error:
            raise ValueError('it is no list; write a, b or ["a", "b"]') from error
        texts = [str(item) if not isinstance(item, bool) else str(item).lower() for item in parsed]
    else:
        texts = [part.strip() for part in text.split(",")]
    if not texts or texts == [""]:
        raise ValueError("the list is empty")
    return tuple(_one(part, declared[0]) for part in texts)


def _one(text: str, declared: Scalar) -> Scalar:
    match declared:
        case bool():
            if text.lower() not in {"true", "false"}:
                raise ValueError("write true or false")
            return text.lower() == "true"
        case int():
            if re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is None or not -(2**63) <= int(text) < 2**63:
                raise ValueError("it is no whole number of 64 bits")
            return int(text)
        case Decimal():
            if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text, re.ASCII) is None:
                raise ValueError("it is no decimal")
            return Decimal(text)
        case datetime():
            try:
                moment = datetime.fromisoformat(text)
            except ValueError as error:
                raise ValueError("it is no ISO timestamp") from error
            if (moment.tzinfo is None) != (declared.tzinfo is None):
                raise ValueError("it must have no zone" if declared.tzinfo is None else "it must have a zone, such as Z")
            return moment
        case date():
            try:
                return date.fromisoformat(text)
            except ValueError as error:
                raise ValueError("it is no ISO date") from error
        case _:
            return text


def _kind(value: Variable) -> str:
    match value:
        case tuple():
            return f"a list of which each is {_kind(value[0])}"
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case Decimal():
            return "a decimal"
        case datetime():
            return "a timestamp"
        case date():
            return "a date"
        case _:
            return "a text"
