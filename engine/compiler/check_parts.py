"""What the answer of a check hangs on besides the rows that it reads: what is put into its text, and what moves by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interlock.engine.compiler.checks import Draft
from interlock.engine.compiler.compiled import CompiledModel
from interlock.engine.compiler.digests import NOT_IN_DEFINITION
from interlock.engine.compiler.macros import Macros
from interlock.engine.compiler.variables import Values
from interlock.engine.project.project import Freshness
from interlock.machines.records import digest_of

AS_OF: Final = "`$as_of`"
"""How a check says that it reads the plan's time."""


def sources_named(drafted: Draft) -> tuple[str, ...]:
    """Sources that it names itself."""
    return tuple(sorted({node.name for node in drafted.reads() if node.kind == "source"}))


def moving_in(drafted: Draft, ephemerals: Mapping[str, CompiledModel]) -> tuple[str, ...]:
    """What gives another answer at another time, in words."""
    found: set[str] = set()
    if isinstance(drafted.check.question, Freshness):
        found.add("how old a time is")
    if drafted.analysis is not None:
        behind = _put_in(drafted, ephemerals)
        variables = {*drafted.analysis.variables, *(name for each in behind.values() for name in each.variables)}
        found |= {f"`${name}`" for name in variables & NOT_IN_DEFINITION}
        volatile = {*drafted.analysis.volatile, *(name for each in behind.values() for name in each.volatile)}
        found |= {f"`{name}`" for name in volatile}
    return tuple(sorted(found))


def meaning_of(drafted: Draft, ephemerals: Mapping[str, CompiledModel], values: Values, macros: Macros) -> str:
    """The digest of what stands for its variables, macros and ephemeral models; empty where its words are all that there is.

    Args:
        drafted: the check.
        ephemerals: those of the project, compiled.
        values: of variables.
        macros: of the project.
    """
    if drafted.analysis is None:
        return ""
    parts = {
        "variables": {name: values.literal(name) or "" for name in drafted.analysis.variables if name not in NOT_IN_DEFINITION},
        "macros": {name: macros.by_name[name].digest for name in drafted.analysis.macros},
        "ephemerals": {name: model.digests.definition for name, model in _put_in(drafted, ephemerals).items()},
    }
    said = {kind: part for kind, part in parts.items() if part}
    return digest_of("check-meaning", said) if said else ""


def _put_in(drafted: Draft, ephemerals: Mapping[str, CompiledModel]) -> dict[str, CompiledModel]:
    return {node.name: ephemerals[node.name] for node in drafted.reads() if node.kind != "source" and node.name in ephemerals}
