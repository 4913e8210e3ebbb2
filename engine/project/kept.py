"""What the files of a project were read as, kept by their digests: the same bytes are not decoded twice."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias, assert_never

import msgspec

from interlock.engine.cache.lazy import Lazy
from interlock.engine.cache.store import Cache
from interlock.engine.cache.versions import versions
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.project.project import (
    AcceptedValues,
    Check,
    CustomSql,
    ExpressionHolds,
    Freshness,
    MacroFile,
    ModelFile,
    NotNull,
    Relationships,
    RowCount,
    Scalar,
    SeedFile,
    Source,
    Unique,
)
from interlock.machines.records import Record, digest_of

FILE: Final = "project.cache"

# --- checks: their values are of types that no format tells apart by itself ---------------------------------------------


class KeptValues(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="accepted_values"):
    """Accepted values, each with its type."""

    column: str
    values: tuple[tuple[str, str], ...]


KeptQuestion: TypeAlias = Unique | NotNull | KeptValues | Relationships | ExpressionHolds | RowCount | Freshness | CustomSql


class _Rest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check without its question, and that."""

    question: KeptQuestion
    rest: dict[str, Any]


def _kept_check(check: Check) -> _Rest:
    question = check.question
    kept: KeptQuestion
    if isinstance(question, AcceptedValues):
        kept = KeptValues(column=question.column, values=tuple(_kept_value(value) for value in question.values))
    else:
        kept = question
    return _Rest(question=kept, rest={name: getattr(check, name) for name in check.__struct_fields__ if name != "question"})


def _check(kept: _Rest) -> Check:
    question = kept.question
    if isinstance(question, KeptValues):
        restored = AcceptedValues(column=question.column, values=tuple(_value(*value) for value in question.values))
        return Check(question=restored, **kept.rest)
    return Check(question=question, **kept.rest)


def _kept_value(value: Scalar) -> tuple[str, str]:
    match value:
        case bool():
            return "bool", "true" if value else "false"
        case int():
            return "int", str(value)
        case Decimal():
            return "decimal", str(value)
        case datetime():
            return "datetime", value.isoformat()
        case date():
            return "date", value.isoformat()
        case str():
            return "str", value
        case _ as unreachable:
            assert_never(unreachable)


def _value(kind: str, text: str) -> Scalar:
    match kind:
        case "bool":
            return text == "true"
        case "int":
            return int(text)
        case "decimal":
            return Decimal(text)
        case "datetime":
            return datetime.fromisoformat(text)
        case "date":
            return date.fromisoformat(text)
        case _:
            return text


# --- models and seeds ---------------------------------------------------------------------------------------------------


@functools.cache
def _kept(kind: type[ModelFile | SeedFile]) -> tuple[type[msgspec.Struct], msgspec.msgpack.Decoder[Any]]:
    """The form in which models or seeds are kept, and its decoder."""
    fields: list[Any] = []
    for field in msgspec.structs.fields(kind):
        if field.name == "checks":
            continue
        fields.append((field.name, field.type) if field.required else (field.name, field.type, field.default))
    fields.append(("checks", tuple[_Rest, ...], ()))
    form = msgspec.defstruct(f"Kept{kind.__name__}", fields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True)
    return form, msgspec.msgpack.Decoder(form)


_ENCODER = msgspec.msgpack.Encoder()


def kept_file(file: ModelFile | SeedFile) -> bytes:
    """A model or seed as it is kept."""
    form, _ = _kept(type(file))
    values = {name: getattr(file, name) for name in file.__struct_fields__ if name != "checks"}
    return _ENCODER.encode(form(**values, checks=tuple(_kept_check(check) for check in file.checks)))


def model_file(_name: str, kept: memoryview) -> ModelFile:
    """A model that was kept."""
    form, decoder = _kept(ModelFile)
    found = decoder.decode(kept)
    values = {name: getattr(found, name) for name in form.__struct_fields__ if name != "checks"}
    return ModelFile(**values, checks=tuple(_check(check) for check in found.checks))


def seed_file(_name: str, kept: memoryview) -> SeedFile:
    """A seed that was kept."""
    form, decoder = _kept(SeedFile)
    found = decoder.decode(kept)
    values = {name: getattr(found, name) for name in form.__struct_fields__ if name != "checks"}
    return SeedFile(**values, checks=tuple(_check(check) for check in found.checks))


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model or seed will stand. The rest of a kept one is passed over."""

    path: str
    sidecar: str | None
    materialized: str = "view"
    schema: str | None = None
    alias: str | None = None


_STANDING = msgspec.msgpack.Decoder(Standing)


def standing(files: Mapping[str, ModelFile] | Mapping[str, SeedFile], name: str) -> Standing:
    """Where one of them will stand; nothing more of it is decoded."""
    kept = files.kept(name) if isinstance(files, Lazy) else None
    if kept is not None:
        return _STANDING.decode(kept)
    file = files[name]
    kind = file.materialized if isinstance(file, ModelFile) else "seed"
    return Standing(path=file.path, sidecar=file.sidecar, materialized=kind, schema=file.schema, alias=file.alias)


# --- all that was read ----------------------------------------------------------------------------------------------------


class One(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, array_like=True):
    """A model or seed, the digest of the files that it was made of, and itself."""

    key: str
    path: str
    alone: bool
    """Whether it is the same wherever its own files are: nothing was found in them, and they name no other."""
    file: memoryview


class Rooms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of a project but interlock.toml, and the digest of every file of it."""

    key: str
    models: dict[str, One]
    seeds: dict[str, One]
    sources: dict[str, Source]
    pinned: dict[str, dict[str, str]]
    macros: tuple[MacroFile, ...]
    unread: dict[str, str]
    findings: tuple[Diagnostic, ...]


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    versions: dict[str, str]
    rooms: Rooms


_FILE_DECODER = msgspec.msgpack.Decoder(_File)


class Memory:
    """What is known of a project's files from the last time."""

    def __init__(self, cache: Cache | None) -> None:
        """Read it, where there is any."""
        self._cache = cache
        self.rooms: Rooms | None = None
        body = None if cache is None else cache.read(FILE)
        if body is None:
            return
        try:
            file = _FILE_DECODER.decode(body)
        except (msgspec.DecodeError, RecursionError, ValueError):
            return
        if file.versions == versions():
            self.rooms = file.rooms

    @functools.cached_property
    def alone(self) -> dict[str, One]:
        """Models and seeds that may be taken by themselves, by path."""
        known = self.rooms
        found = () if known is None else (*known.models.values(), *known.seeds.values())
        return {one.path: one for one in found if one.alone}

    @property
    def keeps(self) -> bool:
        """Whether anything is kept."""
        return self._cache is not None and self._cache.writes

    def keep(self, rooms: Rooms) -> None:
        """Keep what was read now."""
        if self._cache is not None:
            self._cache.write(FILE, _ENCODER.encode(_File(versions=versions(), rooms=rooms)))


def key_of(digests: Mapping[str, str], *others: str) -> str:
    """The digest of some files, by path, and of what else counts."""
    return digest_of("cache-files", [sorted(digests.items()), others])


def lazy_models(found: Mapping[str, ModelFile | memoryview]) -> Lazy[ModelFile]:
    """Models by name."""
    return Lazy(found, model_file)


def lazy_seeds(found: Mapping[str, SeedFile | memoryview]) -> Lazy[SeedFile]:
    """Seeds by name."""
    return Lazy(found, seed_file)
