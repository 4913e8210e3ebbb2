"""The four digests of a model: each part moves on its own and has its own consequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from interlock.engine.compiler.compiled import NodeKind
from interlock.engine.compiler.contracts import Promises
from interlock.engine.compiler.semantics import SEMANTICS_VERSION
from interlock.engine.project.project import Check, Contract, ModelFile, SeedFile
from interlock.engine.warehouse.duckdb import parser
from interlock.machines.evidence import Column
from interlock.machines.records import digest, digest_of

NOT_IN_DEFINITION: Final = frozenset({"as_of", "until"})
"""Variables whose values change with every plan and are no edit."""


def definition_parts_of_model(
    model: ModelFile,
    canonical: str,
    *,
    resolution: Mapping[str, str],
    sources: Mapping[str, Any],
    ephemerals: Mapping[str, str],
    macros: Mapping[str, str],
    variables: Mapping[str, str],
) -> dict[str, str]:
    """The digest of each part of a model's definition, by name.

    How much is looked at again, and what is done with rows that are late, in the future or gone (`lookback`, `until`, `late`,
    `future`, `on_conflict`, `hard_deletes`), is policy: it holds from the next write on and makes no row that is there wrong.
    """
    strategy = {
        "strategy": model.strategy,
        "watermark": model.watermark,
        "partition": model.partition,
        "partition_column": model.partition_column,
        "restrict": model.restrict,
        "snapshot_by": model.snapshot_by,
        "updated_at": model.updated_at,
        "compare": model.compare,
    }
    return _digested(
        {
            "query": canonical,
            "resolution": resolution,
            "sources": sources,
            "ephemerals": ephemerals,
            "macros": macros,
            "variables": variables,
            "materialization": model.materialized,
            "strategy": strategy,
            "keys": model.unique_key,
        }
    )


def definition_parts_of_seed(seed: SeedFile, columns: Sequence[Column]) -> dict[str, str]:
    """The digest of each part of a seed's definition, by name."""
    return _digested(
        {"content": seed.content_digest, "columns": [msgspec.to_builtins(column) for column in columns], "materialization": "seed"}
    )


def definition_of(parts: Mapping[str, str]) -> str:
    """The definition, from its parts."""
    return digest_of("definition", dict(parts))


def promise_of(contract: Contract | None, promises: Promises, checks: Sequence[Check], meanings: Mapping[str, str]) -> str:
    """Contract and checks: what is asked, not how it is described.

    Args:
        contract: as the file has it.
        promises: of the contract.
        checks: of the model.
        meanings: by check: digest of what stands for its variables, macros and ephemeral models, where it has any.
    """
    columns = {
        promise.column: {
            "type": promise.type,
            "nulls": promise.nulls,
            "protected": contract is not None and contract.columns[promise.column].protected,
            **({"assignable": True} if contract is not None and contract.columns[promise.column].assignable else {}),
        }
        for promise in promises.columns
    }
    questions = [
        {
            "name": check.name,
            "question": msgspec.to_builtins(check.question),
            "severity": check.severity,
            "after": check.after,
            **({"meaning": meanings[check.name]} if meanings.get(check.name) else {}),
        }
        for check in sorted(checks, key=lambda each: each.name)
    ]
    return digest_of("promise", {"columns": columns, "extra": contract.extra_columns if contract else "allow", "checks": questions})


def note_of(file: ModelFile | SeedFile) -> str:
    """Descriptions and tags."""
    columns = {name: column.description for name, column in (file.contract.columns if file.contract else {}).items() if column.description}
    checks = {check.name: check.description for check in file.checks if check.description}
    return digest_of("note", {"description": file.description, "tags": sorted(file.tags), "columns": columns, "checks": checks})


def environment_of(settings: Mapping[str, str]) -> str:
    """What makes the same text give other answers."""
    return digest_of("environment", {"semantics": SEMANTICS_VERSION, "engine": parser.ENGINE, "settings": dict(settings)})


def kind_of(file: ModelFile | SeedFile) -> NodeKind:
    """What becomes of it."""
    return file.materialized if isinstance(file, ModelFile) else "seed"


def _digested(parts: Mapping[str, Any]) -> dict[str, str]:
    return {name: digest("definition-part", msgspec.json.encode(value, order="sorted")) for name, value in parts.items()}
