"""Column lineage that is looked up where a model, and all that it reads, is as it was: following a text takes longer than compiling it."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.engine.cache.store import Cache
from interlock.engine.cache.versions import versions
from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.compiler.lineage import Lineages, ModelLineage
from interlock.engine.project.project import Project
from interlock.engine.warehouse.duckdb.installed import build, engine_version
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.records import digest_of


class _One(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, array_like=True):
    key: str
    """Digest of all that it came from."""
    lineage: msgspec.Raw


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    base: str
    models: dict[str, _One]


_ENCODER: Final = msgspec.msgpack.Encoder()
_FILE: Final = msgspec.msgpack.Decoder(_File)
_LINEAGE: Final = msgspec.msgpack.Decoder(ModelLineage)


class KeptLineages(Lineages):
    """Lineage of a compiled project, with what is known of it from the last time. `keep` writes what was looked at now."""

    def __init__(self, project: Project, target: TargetConfig, compiled: Compiled, cache: Cache | None) -> None:
        """Read what was kept; nothing is looked at yet."""
        super().__init__(project, target, compiled)
        self._cache = cache
        self._slot = f"lineage-{target.name}.cache"
        self._base = digest_of(
            "cache-lineage", {"versions": versions(), "engine": [engine_version(), build()], "macros": list(compiled.macros)}
        )
        self._before = self._read()
        self._made: dict[str, _One] = {}

    def _read(self) -> dict[str, _One]:
        body = None if self._cache is None else self._cache.read(self._slot)
        try:
            file = None if body is None else _FILE.decode(body)
        except (msgspec.DecodeError, RecursionError, ValueError):
            return {}
        return file.models if file is not None and file.base == self._base else {}

    def of(self, model: str) -> ModelLineage:
        """Of one model: as it was, or looked at."""
        if self._cache is None or model in self._known:
            return super().of(model)
        key = self._key(self._compiled.models[model])
        before = self._before.get(model)
        if before is not None and before.key == key:
            try:
                self._known[model] = _LINEAGE.decode(before.lineage)
            except (msgspec.DecodeError, RecursionError, ValueError):
                pass
            else:
                return self._known[model]
        found = super().of(model)
        if not self._compiled.models[model].blocked:
            self._made[model] = _One(key=key, lineage=msgspec.Raw(_ENCODER.encode(found)))
        return found

    def keep(self) -> None:
        """Write what was looked at now, beside what was known of other models."""
        if self._made and self._cache is not None:
            models = {name: one for name, one in (self._before | self._made).items() if name in self._compiled.models}
            self._cache.write(self._slot, _ENCODER.encode(_File(base=self._base, models=models)))

    def _key(self, model: CompiledModel) -> str:
        """The digest of a model's text, what the names in it mean, and the columns of what they stand for."""
        compiled = self._compiled
        return digest_of(
            "cache-lineage-model",
            [
                [model.kind, model.text, model.digests.definition, model.schema, model.relation],
                [[column.name, column.type] for column in model.columns],
                [
                    [name, *((read.kind, read.schema, read.relation) if (read := compiled.models.get(name)) is not None else ())]
                    for name in model.references
                ],
                [
                    [[column.name, column.type] for column in compiled.models[name].columns]
                    for name in model.references
                    if name in compiled.models
                ],
                [
                    [name, source.sql, [[column.name, column.type] for column in source.columns]]
                    for name in model.sources
                    if (source := compiled.sources.get(name)) is not None
                ],
            ],
        )
