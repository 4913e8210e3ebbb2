"""Digests of what a plan's models read in the project, so that a later look can tell whether it is still the same. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import PurePosixPath

from interlock.engine.compiler.compiled import Compiled
from interlock.engine.project.project import Project
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.records import digest_of

ABSENT = "absent"
BUILT_IN = frozenset({"as_of", "until", "target"})


def closure_of(project: Project, target: TargetConfig, compiled: Compiled, models: frozenset[str]) -> dict[str, str]:
    """Each thing that the models read, by a key that `value_of` can look up again."""
    keys: set[str] = {"target", "macros", "lock"}
    for name in models:
        model = compiled.models[name]
        keys.add(f"file:{model.path}")
        keys.add(f"file:{PurePosixPath(model.path).with_suffix('.toml')}")
        keys |= {f"file:{folder}/_defaults.toml" for folder in _folders(model.path.rpartition("/")[0])}
        keys |= {f"source:{source}" for source in model.sources}
        keys |= {f"pin:{source}" for source in model.sources if source in project.pinned}
        keys |= {f"var:{variable}" for variable in _own(model.variables)}
    return {key: value_of(project, target, key) for key in sorted(keys)}


def variables_of(project: Project, compiled: Compiled, models: frozenset[str]) -> dict[str, str]:
    """Values of the project's variables that the models read, for people."""
    names = {variable for name in models for variable in _own(compiled.models[name].variables)}
    return {name: str(project.variables[name]) for name in sorted(names) if name in project.variables}


def value_of(project: Project, target: TargetConfig, key: str) -> str:
    """The digest of one thing as it is now; `absent` is a value."""
    kind, _, name = key.partition(":")
    match kind:
        case "target":
            return digest_of("closure", {"schema": target.schema, "settings": dict(target.settings), "type": target.type})
        case "macros":
            return digest_of("closure", [[macro.path, macro.text] for macro in project.macros])
        case "lock":
            return digest_of("closure", project.pinned) if project.pinned else ABSENT
        case "pin":
            return ", ".join(f"{column} {kind}" for column, kind in project.pinned.get(name, {}).items()) or ABSENT
        case "file":
            return project.digests.get(name, ABSENT)
        case "source":
            source = project.sources.get(name)
            return ABSENT if source is None else digest_of("closure", source)
        case "var":
            return digest_of("closure", [str(type(project.variables.get(name)).__name__), str(project.variables.get(name))])
        case _:
            message = f"a plan's closure has no `{kind}`"
            raise ValueError(message)


def _own(variables: Iterable[str]) -> list[str]:
    return [name for name in (variable.removeprefix("$") for variable in variables) if name not in BUILT_IN]


@functools.lru_cache(maxsize=1024)
def _folders(folder: str) -> tuple[str, ...]:
    """A folder of models and all that it lies in."""
    return tuple(str(each) for each in (PurePosixPath(folder), *PurePosixPath(folder).parents) if str(each) != ".")
