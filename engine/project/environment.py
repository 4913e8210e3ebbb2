"""`${NAME}` in interlock.toml, and nowhere else: read where things lie, never shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from interlock.engine.diagnostics import Diagnostic
from interlock.engine.project.document import Document, strings
from interlock.engine.project.positions import KeyPath, key_path
from interlock.engine.project.project import Project

_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SHORTEST_SECRET = 4


def _may_refer(path: KeyPath) -> bool:
    """Where `${NAME}` may stand: in where things lie, in settings, and in a target's schema, which is a name and no secret."""
    return path == ("ledger", "path") or (len(path) >= 3 and path[0] == "targets" and path[2] in {"path", "settings", "schema"})


def _is_shown(path: KeyPath) -> bool:
    """A schema stands in plans and statements, so its value cannot be a secret."""
    return len(path) == 3 and path[2] == "schema"


def expand_environment(document: Document, environment: Mapping[str, str]) -> tuple[dict[KeyPath, str], dict[str, tuple[Diagnostic, ...]]]:
    """The values of texts with `${NAME}`, by key path; and the targets that lack a variable, with what is missing (S109).

    A target that cannot be used on this machine does not stop work on another: its findings wait until it is chosen. All
    other findings go to the document.
    """
    found: dict[KeyPath, str] = {}
    missing: dict[str, list[Diagnostic]] = {}
    hidden = set(environment_names(document))
    for path, text in strings(document.tree):
        if "${" not in text:
            continue
        if not _may_refer(path):
            document.report(
                "S104",
                path,
                f"`{key_path(path)}` cannot read an environment variable",
                because="its value would stand in plans; `${NAME}` is for targets.*.path, .schema and .settings, and ledger.path",
                remedy="write the value itself, or use `--vars` for a variable",
            )
        elif _is_shown(path) and (both := sorted(hidden & set(_REFERENCE.findall(text)))):
            document.report(
                "S104",
                path,
                f"`${{{both[0]}}}` stands in a schema and in what is not to be shown",
                because="a schema's name stands in plans, and the value of that variable must not",
                remedy="use a variable of its own for the schema",
            )
        elif _is_well_formed(document, path, text):
            lacking = [name for name in dict.fromkeys(_REFERENCE.findall(text)) if _is_lacking(path, environment.get(name))]
            findings = [_missing(document, path, name, environment.get(name)) for name in lacking]
            if not lacking:
                found[path] = _REFERENCE.sub(lambda match: environment[match[1]], text)
            elif path[0] == "targets":
                missing.setdefault(str(path[1]), []).extend(findings)
            else:
                document.findings.extend(findings)
    return found, {name: tuple(findings) for name, findings in missing.items()}


def _is_well_formed(document: Document, path: KeyPath, text: str) -> bool:
    before = len(document.findings)
    for name in _REFERENCE.findall(text):
        if _VARIABLE.fullmatch(name) is None:
            document.report("S104", path, f"`${{{name}}}` names no environment variable", remedy="write `${NAME}`")
    if "${" in _REFERENCE.sub("", text):
        document.report("S104", path, "`${` is never closed", remedy="write `${NAME}`")
    return len(document.findings) == before


def _is_lacking(path: KeyPath, value: str | None) -> bool:
    """Nothing in the place of a directory or a name makes another path, which may lie in the root; elsewhere it is a value."""
    return value is None or (not value and path[-1] == "path")


def _missing(document: Document, path: KeyPath, name: str, value: str | None) -> Diagnostic:
    how = "missing" if value is None else "set, and empty"
    return Diagnostic(
        code="S109",
        summary=f"environment variable `{name}` is {how}",
        because=f"`{key_path(path)}` reads it" + ("" if value is None else ", and a path with nothing in its place is another path"),
        remedy=f"set it: export {name}=…" if value is None else f"it is empty: give it a value, export {name}=…",
        at=document.at(path),
        subject=name,
    )


def environment_names(document: Document) -> tuple[str, ...]:
    """The environment variables that an interlock.toml reads and whose values are not to be shown, sorted."""
    names = {name for path, text in strings(document.tree) if not _is_shown(path) for name in _REFERENCE.findall(text)}
    return tuple(sorted(name for name in names if _VARIABLE.fullmatch(name)))


def redactor(project: Project, environment: Mapping[str, str]) -> Callable[[str], str]:
    """A function that puts `***` in the place of every value that interlock.toml took from the environment.

    Values of fewer than four characters are left: they are in too many words to be a secret.
    """
    values: set[str] = set()
    for name in project.environment:
        value = environment.get(name, "")
        if len(value) >= _SHORTEST_SECRET:
            values |= {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], value.replace("'", "''")}
    if not values:
        return str  # which gives a text back as it is, and can be told from one that looks for something
    pattern = re.compile("|".join(re.escape(value) for value in sorted(values, key=lambda value: (-len(value), value))))
    return lambda text: pattern.sub("***", text)
