"""Rows inside of one statement: what a FROM clause binds, which columns names mean there, and what is known of their nulls."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from interlock.engine.warehouse.duckdb.parser import Tree

Fact: TypeAlias = Hashable
"""Something that is not null: a column by its number, or an expression by its key."""
Facts: TypeAlias = frozenset[Fact]

NO_FACTS: Facts = frozenset()
_numbers = itertools.count()


class Column:
    """A column of a FROM clause or of a query. Two are the same only if they are the same object."""

    __slots__ = ("also", "expression", "json", "merged", "name", "never_null", "number", "table", "type")

    def __init__(
        self,
        name: str | None,
        *,
        never_null: bool = False,
        json: bool = False,
        expression: tuple[Tree, Env] | None = None,
        merged: tuple[Column, ...] = (),
        table: str | None = None,
        type: str | None = None,  # noqa: A002 - what it is
    ) -> None:
        """A new column.

        Args:
            name: nothing where only DuckDB knows the name that it makes up.
            never_null: as the query that gives it.
            json: whether its values may be JSON or VARIANT, whose casts can give null.
            expression: what it is made by, and where.
            merged: the columns that its values are taken from.
            table: the relation of the project that it is a column of.
            type: where it is known.
        """
        self.number = next(_numbers)
        self.name = name
        self.never_null = never_null
        self.json = json
        self.expression = expression
        self.merged = merged
        self.table = table
        self.type = type
        self.also: frozenset[int] = frozenset()
        """Positions of columns beside it that are not null either where it is not."""

    def again(self, name: str | None, *, never_null: bool | None = None) -> Column:
        """A column with the same values under another name."""
        column = Column(
            name, never_null=self.never_null if never_null is None else never_null, json=self.json, merged=(self,), type=self.type
        )
        column.also = self.also
        return column


Columns: TypeAlias = tuple[Column, ...] | None
"""In order; nothing where it is not known which there are."""


class Binding(NamedTuple):
    """A relation of a FROM clause under its name there."""

    name: str
    columns: Columns


class Pad(NamedTuple):
    """Columns that an outer join pads with nulls together. If one of them is not null the row is no padding, and then facts hold."""

    members: frozenset[int]
    facts: Facts


class Rows(NamedTuple):
    """What a FROM clause gives."""

    bindings: tuple[Binding, ...]
    facts: Facts = NO_FACTS
    pads: tuple[Pad, ...] = ()
    star: Columns = ()
    merged: Mapping[str, Column] = {}
    """Columns that USING and NATURAL make one, by name in small letters."""
    alternatives: tuple[tuple[Facts, Facts], ...] = ()
    """Of a full join: a row has its left side or its right one, so that one of these two holds."""
    opaque: bool = False
    """Bare names cannot be looked up: a NATURAL join of something unknown."""

    def numbers(self) -> frozenset[int]:
        """All columns."""
        found = {column.number for binding in self.bindings for column in binding.columns or ()}
        return frozenset(found | {column.number for column in self.merged.values()})


NO_ROWS = Rows(())


class Env:
    """Where an expression stands: the columns that it sees, what is known of them, and what surrounds it."""

    __slots__ = ("aliases", "aliases_first", "facts", "grouping", "outer", "rows", "window")

    def __init__(
        self,
        rows: Rows,
        facts: Facts,
        outer: Env | None,
        *,
        aliases: Mapping[str, Tree] | None = None,
        grouping: Grouping | None = None,
    ) -> None:
        """The facts are completed by what follows of them."""
        self.rows = rows
        self.facts = closed(facts, rows.pads)
        self.outer = outer
        self.aliases: Mapping[str, Tree] = aliases or {}
        self.grouping = grouping
        self.window: Env = self
        """Where arguments of window functions stand: they are other rows, of which less is known."""
        self.aliases_first = False
        """In HAVING and QUALIFY: a name that is a column and an alias is not looked up."""

    def knowing(self, facts: Facts) -> Env:
        """The same with more facts about this row."""
        if facts <= self.facts:
            return self
        env = Env(self.rows, self.facts | facts, self.outer, aliases=self.aliases, grouping=self.grouping)
        env.window = self.window
        env.aliases_first = self.aliases_first
        return env


class Grouping(NamedTuple):
    """How rows are grouped where an expression stands."""

    before: Env
    """Where arguments of aggregates stand."""
    may_be_empty: bool
    """Whether a group may have no row: without GROUP BY, or with an empty grouping set."""
    opaque: bool
    """Expressions are keys of some grouping sets only: what contains them may be null."""
    kept: Facts
    """Keys of expressions that all grouping sets have and that are never null."""


class Field(NamedTuple):
    """A field of a struct column, or a row as a whole."""

    column: Column | None


def closed(facts: Facts, pads: Iterable[Pad]) -> Facts:
    """The facts with all that follows of them."""
    waiting = [pad for pad in pads if not pad.facts <= facts]
    while True:
        ready = [pad for pad in waiting if not pad.members.isdisjoint(facts)]
        if not ready:
            return facts
        for pad in ready:
            facts |= pad.facts
        waiting = [pad for pad in waiting if not pad.facts <= facts and pad not in ready]


def bound(name: str, columns: Columns, renamed: Iterable[str] = ()) -> Rows:
    """A relation under a name, its columns perhaps renamed. Each has a number of its own here."""
    if columns is None:
        return Rows((Binding(name.lower(), None),), star=None)
    aliases = list(renamed)
    names = [aliases[index] if index < len(aliases) else column.name for index, column in enumerate(columns)]
    names = distinct(names)
    fresh = tuple(column.again(name) for name, column in zip(names, columns, strict=True))
    facts = frozenset(column.number for column in fresh if column.never_null)
    pads = tuple(
        Pad(frozenset({column.number}), frozenset(fresh[index].number for index in column.also if index < len(fresh)))
        for column in fresh
        if column.also
    )
    return Rows((Binding(name.lower(), fresh),), facts, pads, star=fresh)


def distinct(names: list[str | None]) -> list[str | None]:
    """Names, without those that DuckDB may change because another column has them."""
    seen: set[str] = set()
    twice: set[str] = set()
    for name in names:
        if name is not None:
            (twice if name.lower() in seen else seen).add(name.lower())
    if not twice:
        return names
    known: set[str] = set()
    found: list[str | None] = []
    for name in names:
        small = None if name is None else name.lower()
        changed = small is None or small in known or any(small.startswith(f"{other}_") for other in twice)
        found.append(None if changed else name)
        if small is not None:
            known.add(small)
    return found


def find(names: list[str], env: Env) -> Column | Tree | Field | None:
    """What a column reference means: a column, the expression behind an alias, a field, or nothing that is known."""
    if len(names) == 1:
        return _bare(names[0].lower(), env)
    first, second = names[0].lower(), names[1].lower()
    bindings = [binding for binding in env.rows.bindings if binding.name == first]
    if len(bindings) > 1:
        return None
    if bindings:
        columns = bindings[0].columns
        if columns is None:
            return None
        found = [column for column in columns if column.name is not None and column.name.lower() == second]
        if len(found) == 1:
            return found[0] if len(names) == 2 else Field(found[0])
        return None if found else Field(None)
    whole = _bare(first, env, alone=True)
    if isinstance(whole, Column):
        return Field(whole)
    if whole is not None or env.rows.opaque or any(binding.columns is None for binding in env.rows.bindings):
        return None
    return find(names, env.outer) if env.outer is not None else None


def _bare(name: str, env: Env, *, alone: bool = False) -> Column | Tree | Field | None:
    rows = env.rows
    alias = env.aliases.get(name)
    if rows.opaque:
        return None
    column = rows.merged.get(name)
    if column is None:
        found = [each for binding in rows.bindings for each in binding.columns or () if each.name is not None and each.name.lower() == name]
        if len(found) > 1:
            return None
        column = found[0] if found else None
    if column is not None:
        return None if env.aliases_first and alias is not None else column
    if any(binding.name == name for binding in rows.bindings):
        return Field(None)
    if any(binding.columns is None for binding in rows.bindings):
        return None
    beyond = _bare(name, env.outer) if env.outer is not None and not alone else None
    if alias is not None:
        return alias if beyond is None else None
    return beyond


def replaced(tree: Any, star: Tree, column: Column) -> Any:
    """A tree in which a star stands for one column. A part without the star is the same object, not a copy of it."""
    if tree is star:
        return {"type": "BOUND_COLUMN", "column": column}
    if isinstance(tree, dict):
        parts = {key: replaced(part, star, column) for key, part in tree.items()}
        return parts if any(parts[key] is not part for key, part in tree.items()) else tree
    if isinstance(tree, list):
        items = [replaced(part, star, column) for part in tree]
        return items if any(new is not part for new, part in zip(items, tree, strict=True)) else tree
    return tree
