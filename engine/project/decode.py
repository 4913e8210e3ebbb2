"""Strict decoding of a TOML tree into Structs. Every finding is reported at once, each with its own key path.

msgspec decodes; only when it refuses is the tree walked key by key, to say all that is wrong and to keep what is right.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from interlock.engine.diagnostics import did_you_mean, nearest
from interlock.engine.project.document import Document
from interlock.engine.project.positions import KeyPath, key_path

S = TypeVar("S", bound=msgspec.Struct)

_WRONG = object()


def decode(document: Document, kind: type[S], tree: object, path: KeyPath = ()) -> S | None:
    """`tree` as a `kind`; what is wrong with it goes to `document.findings` and is left out.

    Nothing is returned only if a key that must be there is missing or `tree` is no table.
    """
    try:
        return msgspec.convert(tree, kind, strict=True)
    except msgspec.ValidationError:
        if not path:
            document.first_level = frozenset(_fields(kind))
        found = _walk(document, kind, tree, path)
        return found if isinstance(found, kind) else None


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _struct(document: Document, kind: type[msgspec.Struct], tree: object, path: KeyPath) -> Any:
    if not isinstance(tree, dict):
        document.report(
            "S104", path, f"`{key_path(path)}` must be a table", because=f"it is {_named(tree)}", remedy=f"write [{key_path(path)}]"
        )
        return _WRONG
    fields = _fields(kind)
    values: dict[str, Any] = {}
    for key, value in tree.items():
        field = fields.get(key)
        if field is None:
            _unknown(document, fields, key, path)
            continue
        found = _walk(document, field.type, value, (*path, key))
        if found is not _WRONG:
            values[field.name] = found
    missing = [name for name, field in fields.items() if field.required and name not in tree]
    for name in missing:
        where = key_path(path)
        summary = f"`{name}` is missing in `{where}`" if where else f"`{name}` is missing"
        document.report("S105", (*path, name), summary, remedy=f"add `{name}`")
    if any(field.required and field.name not in values for field in fields.values()):
        return _WRONG
    return kind(**values)


def _unknown(document: Document, fields: dict[str, msgspec.structs.FieldInfo], key: str, path: KeyPath) -> None:
    near = nearest(key, fields)
    known = ", ".join(sorted(fields))
    document.report(
        "S103",
        (*path, key),
        f"unknown key `{key_path((*path, key))}`",
        because=f"the keys here are: {known}",
        remedy=_instead(document, key, path, near),
    )


def _instead(document: Document, key: str, path: KeyPath, near: str | None) -> str:
    """What to do with an unknown key. One that stands below a table's head belongs to that table, whatever its writer meant."""
    if path and key in document.first_level:
        return "it is a key of the file itself: write it above the first line that begins with `[`"
    return f"did you mean `{near}`?" if near else "take it out"


def _walk(document: Document, kind: Any, value: object, path: KeyPath) -> Any:
    bare = _bare(kind)
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return _struct(document, bare, value, path)
    origin = get_origin(bare)
    if origin in {Union, types.UnionType}:
        for choice in get_args(bare):
            inner = get_args(choice)[0] if get_origin(choice) is Annotated else choice
            nested = isinstance(inner, type) and issubclass(inner, msgspec.Struct)
            if (nested and isinstance(value, dict)) or (get_origin(inner) is dict and isinstance(value, dict)):
                return _walk(document, choice, value, path)
            if get_origin(inner) is tuple and isinstance(value, list):
                return _walk(document, choice, value, path)
        literal = [option for choice in get_args(bare) if get_origin(choice) is Literal for option in get_args(choice)]
        if literal and isinstance(value, str):
            return _leaf(document, Literal[tuple(literal)], value, path)
    if origin is dict and isinstance(value, dict):
        inner = get_args(bare)[1]
        found = {key: _walk(document, inner, item, (*path, key)) for key, item in value.items()}
        right = {key: item for key, item in found.items() if item is not _WRONG}
        # What is left empty by its findings is not the empty table that somebody wrote.
        return right if right or not found else _WRONG
    if origin is tuple and isinstance(value, list):
        inner = get_args(bare)[0]
        parts = tuple(_walk(document, inner, item, (*path, index)) for index, item in enumerate(value))
        kept = tuple(part for part in parts if part is not _WRONG)
        return kept if kept or not parts else _WRONG
    return _leaf(document, kind, value, path)


def _leaf(document: Document, kind: Any, value: object, path: KeyPath) -> Any:
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        shown = key_path(path)
        bare = _bare(kind)
        options = [str(option) for option in get_args(bare)] if get_origin(bare) is Literal else []
        if options and isinstance(value, str):
            choices = " | ".join(options)
            remedy = did_you_mean(value, options, f"write {choices}" if len(options) == 1 else f"write one of {choices}")
            document.report("S104", path, f"`{shown}` cannot be `{value}`", because=f"it is one of {choices}", remedy=remedy)
            return _WRONG
        bound = str(error).partition(" - at ")[0].partition("Expected ")[2]
        # msgspec tells a type by `int`, `str`; a bound by `int` >= 1 and the like, which is worth repeating.
        because = f"it is {_named(value)}" + (
            f", and must be {bound.replace('`', '')}" if ">" in bound or "<" in bound or "length" in bound else ""
        )
        document.report("S104", path, f"`{shown}` has a wrong value", because=because, remedy=_remedy(value, bare, shown))
        return _WRONG


def _bare(kind: Any) -> Any:
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return kind


def _remedy(value: object, kind: Any, shown: str) -> str:
    if isinstance(value, dict) and any(_is_tables(choice) for choice in (kind, *get_args(kind))):
        return f"write its heading as `[[{shown}]]`: there may be more than one"
    if kind is bool and isinstance(value, str) and value.lower() in {"true", "false"}:
        return f"write {value.lower()} without quotes"
    if kind is int and isinstance(value, str) and value.isdecimal():
        return f"write {value} without quotes"
    return f"write {_kind(kind)}"


def _is_tables(kind: Any) -> bool:
    kind = _bare(kind)
    return get_origin(kind) is tuple and isinstance(get_args(kind)[0], type) and issubclass(get_args(kind)[0], msgspec.Struct)


def _kind(kind: Any) -> str:
    kind = _bare(kind)
    if get_origin(kind) in {Union, types.UnionType}:
        return " or ".join(dict.fromkeys(_kind(choice) for choice in get_args(kind) if choice is not msgspec.UnsetType))
    if get_origin(kind) is Literal:
        return "one of " + " | ".join(str(option) for option in get_args(kind))
    if get_origin(kind) is tuple:
        return 'a list such as ["a", "b"]'
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "a table"
    named: dict[Any, str] = {str: "a text in quotes", int: "a whole number", bool: "true or false", types.NoneType: "nothing"}
    return named.get(kind, "another value")


def _named(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'the text "{value}"'
        case int():
            return f"the number {value}"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return f"`{value}`"
