"""YAML as dbt reads it (YAML 1.1, anchors and merges), with the line of every key and item."""

from __future__ import annotations

from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Table(dict[Any, Any]):
    """A mapping that knows its lines."""

    line: int
    lines: dict[Any, int]

    def at(self, key: Any) -> int:
        """The line of a key, or of the mapping."""
        return self.lines.get(key, self.line)


class Items(list[Any]):
    """A list that knows the lines of its items."""

    lines: list[int]


class NotYaml(Exception):  # noqa: N818 - an answer, not a crash
    """The text is no YAML: why, and at which line."""

    def __init__(self, why: str, line: int | None) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class _Lined(_Loader):  # type: ignore[misc]
    """The safe loader: it makes plain values only, never objects."""


def _mapping(loader: Any, node: Any) -> Any:
    table = Table()
    table.line = node.start_mark.line + 1
    table.lines = {}
    yield table
    loader.flatten_mapping(node)
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        try:
            hash(key)
        except TypeError as error:
            raise yaml.constructor.ConstructorError(None, None, "a key is a list or mapping", key_node.start_mark) from error
        table[key] = loader.construct_object(value_node, deep=True)
        table.lines[key] = key_node.start_mark.line + 1


def _sequence(loader: Any, node: Any) -> Any:
    items = Items()
    items.lines = [child.start_mark.line + 1 for child in node.value]
    yield items
    items.extend(loader.construct_object(child, deep=True) for child in node.value)


_Lined.add_constructor("tag:yaml.org,2002:map", _mapping)
_Lined.add_constructor("tag:yaml.org,2002:seq", _sequence)


def load(text: str) -> Any:
    """The value of a YAML text; nothing for an empty one.

    Raises:
        NotYaml: it cannot be read.
    """
    try:
        return yaml.load(text, Loader=_Lined)  # noqa: S506 - it derives from the safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        why = getattr(error, "problem", None) or str(error)
        raise NotYaml(str(why), None if mark is None else mark.line + 1) from error
    except (ValueError, RecursionError) as error:
        raise NotYaml(str(error) or type(error).__name__, None) from error


def table(value: Any) -> Table:
    """The value as a mapping: itself, or an empty one."""
    if isinstance(value, Table):
        return value
    empty = Table()
    empty.line = 1
    empty.lines = {}
    if isinstance(value, dict):
        empty.update(value)
    return empty


def items(value: Any) -> Items:
    """The value as a list: itself, or an empty one."""
    if isinstance(value, Items):
        return value
    empty = Items()
    empty.lines = []
    if isinstance(value, list | tuple):
        empty.extend(value)
    return empty


def line_of(value: Any, index: int) -> int | None:
    """The line of an item of a list."""
    lines = getattr(value, "lines", None)
    return lines[index] if isinstance(lines, list) and index < len(lines) else None
