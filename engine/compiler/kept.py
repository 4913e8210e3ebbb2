"""Compiled models as they are kept: without what the project's own files say, which is kept with them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from interlock.engine.cache.lazy import Lazy
from interlock.engine.compiler.compiled import CompiledCheck, CompiledModel, CompiledSource, NodeKind
from interlock.engine.compiler.names import Node
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.project.project import ModelFile, Project
from interlock.machines.evidence import Column

_APART = frozenset({"file", "text", "checks"})
_ENCODER = msgspec.msgpack.Encoder()


class _Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A check: its name in the model's file, and what was made of it."""

    name: str
    failing: str
    to_relation: str
    reads: tuple[str, ...]
    sources: tuple[str, ...]
    moving: tuple[str, ...]


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What lists show of a model. The rest of a kept one is passed over."""

    name: str
    kind: NodeKind
    schema: str
    relation: str
    path: str
    layer: int
    columns: tuple[Column, ...] = ()
    references: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    sql: str = ""


_BRIEF = msgspec.msgpack.Decoder(Brief)


@functools.cache
def _form() -> tuple[type[msgspec.Struct], msgspec.msgpack.Decoder[Any]]:
    fields: list[Any] = [
        (field.name, field.type) if field.required else (field.name, field.type, _default(field))
        for field in msgspec.structs.fields(CompiledModel)
        if field.name not in _APART
    ]
    fields.append(("checks", tuple[_Check, ...], ()))
    form = msgspec.defstruct("KeptCompiledModel", fields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True)
    return form, msgspec.msgpack.Decoder(form)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return msgspec.field(default_factory=field.default_factory) if field.default_factory is not msgspec.NODEFAULT else field.default


def kept_model(model: CompiledModel) -> bytes:
    """A model as it is kept."""
    form, _ = _form()
    values = {name: getattr(model, name) for name in model.__struct_fields__ if name not in _APART}
    checks = tuple(
        _Check(check.check.name, check.failing, check.to_relation, check.reads, check.sources, check.moving) for check in model.checks
    )
    return _ENCODER.encode(form(**values, checks=checks))


class Models(Lazy[CompiledModel]):
    """Compiled models by name, those that were kept beside those that were made."""

    __slots__ = ()

    def __init__(self, values: Mapping[str, CompiledModel | memoryview], project: Project) -> None:
        """Hold them; what was kept is completed from the project, whose files are the same."""
        form, decoder = _form()
        names = [name for name in form.__struct_fields__ if name not in _APART]

        def restored(name: str, kept: memoryview) -> CompiledModel:
            found = decoder.decode(kept)
            file = project.models.get(name) or project.seeds[name]
            asked = {check.name: check for check in file.checks}
            checks = tuple(
                CompiledCheck(
                    check=asked[each.name],
                    failing=each.failing,
                    to_relation=each.to_relation,
                    reads=each.reads,
                    sources=each.sources,
                    moving=each.moving,
                )
                for each in found.checks
            )
            return CompiledModel(
                **{name: getattr(found, name) for name in names},
                file=file,
                text=file.text if isinstance(file, ModelFile) else "",
                checks=checks,
            )

        super().__init__(values, restored)


def briefs(models: Mapping[str, CompiledModel]) -> Iterator[Brief]:
    """What lists show of each model, in order; nothing more is decoded."""
    for name in models:
        kept = models.kept(name) if isinstance(models, Models) else None
        if kept is not None:
            yield _BRIEF.decode(kept)
            continue
        model = models[name]
        yield Brief(**{field: getattr(model, field) for field in Brief.__struct_fields__})


class Trace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, array_like=True):
    """What a model came from: as long as each is the same, it is."""

    own: str
    """Digest of its own files."""
    kind: NodeKind
    names: tuple[tuple[tuple[str, ...], Node], ...]
    """Paths that its texts write, and what each means."""
    variables: dict[str, str]
    """Variables that its texts read, and what stands in their place."""
    moving: bool
    """Whether the plan's time stands in its text."""
    reads: tuple[str, ...]
    """Models and seeds that must be made before it."""
    findings: tuple[Diagnostic, ...]
    reaches_a_promise: bool | None
    """Whether a promise of a source could be in what it reads, where somebody asked."""
    never_null: tuple[str, ...] | None
    """Columns that are proved never null as long as sources keep their promises, where somebody asked."""


class Known(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A project as it was compiled, without an error."""

    base: str
    """Digest of what every model depends on."""
    key: str
    """Digest of everything."""
    as_of: str
    moving: bool
    """Whether the plan's time stands in any of it."""
    models: dict[str, memoryview]
    """In their order."""
    traces: memoryview
    sources: memoryview
    origins: dict[str, str]
    """Digest of what each source that is read came from."""
    layers: tuple[tuple[str, ...], ...]
    macros: tuple[str, ...]
    moving_macros: bool
    macro_variables: tuple[str, ...]
    children: dict[str, tuple[str, ...]]
    findings: tuple[Diagnostic, ...]
    loose: tuple[Diagnostic, ...]
    """Those about no model."""
    variables: tuple[str, ...]
    semantics_version: int
    engine: str


TRACES = msgspec.msgpack.Decoder(dict[str, Trace])
SOURCES = msgspec.msgpack.Decoder(dict[str, CompiledSource])
KNOWN = msgspec.msgpack.Decoder(Known)


def packed(value: object) -> bytes:
    """A value as it is kept."""
    return _ENCODER.encode(value)
