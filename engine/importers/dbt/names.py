"""Names: what each thing is called in the new project, and what stands in the SQL where a reference stood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

from interlock.engine.compiler.reading import Reading
from interlock.engine.importers.dbt.nodes import Node
from interlock.engine.warehouse.duckdb.parser import Statements, parse, tokens

_CTE: Final = r"(?:\b{0}\b|\"{0}\")\s*(?:\([^()]*\)\s*)?as\s*(?:not\s+materialized\s*|materialized\s*)?\("
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


def name_all(nodes: Iterable[Node]) -> None:
    """Give every node a name that is one here, and that no other has: the project's own come first."""
    taken: set[str] = set()
    for node in nodes:
        base = re.sub(r"[^a-z0-9_]+", "_", node.name.lower()).strip("_") or "model"
        base = f"m_{base}" if base[0].isdigit() else base
        name = base
        if name in taken:
            name = f"{re.sub(r'[^a-z0-9_]+', '_', node.package.lower())}__{base}"
        number = 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        node.into = name
        if name != node.name:
            node.notes.append(f"`{node.name}` is called `{name}` here")


def quoted(name: str) -> str:
    """A name as it stands in SQL: bare where it can."""
    return name if _PLAIN.fullmatch(name) and _is_bare(name) else '"' + name.replace('"', '""') + '"'


@cache
def _is_bare(name: str) -> bool:
    """Whether a word names a relation without quotes: `order` does not."""
    return isinstance(parse(f"select {name}.a from {name}"), Statements)


def in_comment(text: str, marks: Iterable[str]) -> list[tuple[str, int]]:
    """Marks that stand in an SQL comment, with their lines in the text."""
    wanted = list(marks)
    if not wanted or ("--" not in text and "/*" not in text):
        return []
    data = text.encode()
    found: list[tuple[str, int]] = []
    for token in tokens(text):
        if token.kind == "comment":
            found += [(mark, data[: token.start].count(b"\n") + 1) for mark in wanted if mark in token.text]
    return found


def in_literal(text: str, marks: Iterable[str]) -> str | None:
    """The first mark that stands in a text literal: there, dbt's full name of the relation would be a value."""
    wanted = [mark for mark in marks if mark in text]
    if not wanted or "'" not in text:
        return None
    literals = [token.text for token in tokens(text) if token.kind == "text"]
    return next((mark for mark in wanted if any(mark in literal for literal in literals)), None)


def replaced(text: str, marks: Mapping[str, str]) -> str:
    """The text with its marks replaced."""
    if not marks:
        return text
    pattern = re.compile("|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True)), re.IGNORECASE)
    return pattern.sub(lambda found: marks[found.group().lower()], text)


def resolved(text: str, bare: Mapping[str, str], qualified: Callable[[str], str]) -> str:
    """The text with names for its marks: bare ones, and qualified ones where a CTE would take the bare one for itself.

    `qualified` gives for a bare name the one with its schema.
    """
    captured: set[str] = set()
    for name in set(bare.values()):
        said = name.strip('"')
        if re.search(_CTE.format(re.escape(said)), text, re.IGNORECASE):
            marked = _read(replaced(text, {mark: mark if each == name else each for mark, each in bare.items()}))
            plain = _read(replaced(text, bare))
            wanted = sum(path[-1].lower() in bare and bare[path[-1].lower()] == name for path in marked)
            direct = sum(path == (said,) for path in marked)
            if sum(path == (said,) for path in plain) != wanted + direct:
                captured.add(name)
    return replaced(text, {mark: qualified(name) if name in captured else name for mark, name in bare.items()})


def _read(text: str) -> list[tuple[str, ...]]:
    found = parse(text)
    if not isinstance(found, Statements) or len(found.trees) != 1:
        return []
    return [reference.path for reference in Reading(found.trees[0]).references]
