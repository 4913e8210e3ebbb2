"""Rows of a FROM clause as far as their order matters: which columns names mean, what is unique, and what decides what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from interlock.engine.warehouse.duckdb.parser import Tree

Fact: TypeAlias = tuple[Any, ...]
"""A column, as `("column", relation, name)`, or an expression by its tree."""
Key: TypeAlias = frozenset[Fact]
Columns: TypeAlias = tuple[str | None, ...] | None

_NOT_IN_KEYS: Final = frozenset({"query_location", "query_location_length", "alias", "qualified_name", "class"})
_KEYS_MAX: Final = 8


class Depends(NamedTuple):
    """Rows that are equal in the one are equal in the other."""

    of: Key
    what: Key


class Scope(NamedTuple):
    """What names mean: columns of each relation, and columns that USING made one."""

    relations: tuple[tuple[str, Columns], ...]
    merged: dict[str, Fact]


class Rows(NamedTuple):
    """What a FROM clause gives."""

    relations: tuple[tuple[str, Columns], ...]
    keys: tuple[Key, ...] = ()
    depends: tuple[Depends, ...] = ()
    merged: dict[str, Fact] = {}
    fixed: bool = False
    """Its rows stand in the text, in their order."""
    fixed_columns: Key = frozenset()
    """Columns that have one value in all rows."""

    @staticmethod
    def of(alias: str, columns: Columns, keys: Iterable[frozenset[str]]) -> Rows:
        """A relation under a name."""
        small = None if columns is None else tuple(None if name is None else name.lower() for name in columns)
        facts = tuple(frozenset(("column", alias, name) for name in key) for key in keys)
        whole = frozenset(("column", alias, name) for name in small or () if name is not None)
        return Rows(((alias, small),), facts, tuple(Depends(key, whole) for key in facts))

    @staticmethod
    def unknown(alias: str) -> Rows:
        """A relation of which nothing is known."""
        return Rows(((alias, None),))

    def scope(self) -> Scope:
        """What names mean here."""
        return Scope(self.relations, self.merged)

    def all_columns(self, relation: str | None) -> Key | None:
        """All columns, or those of one relation; nothing where they are not known."""
        found: set[Fact] = set()
        for alias, columns in self.relations:
            if relation and alias != relation.lower():
                continue
            if columns is None or None in columns:
                return None
            found |= {("column", alias, name) for name in columns}
        return frozenset(found)

    def star(self, star: Tree) -> list[tuple[str | None, Fact]] | None:
        """Names and meanings of the columns that `*` gives."""
        if star.get("columns") or star.get("expr"):
            return None
        relation = star.get("relation_name", "").lower()
        left_out = {str(each).lower() for each in star.get("exclude_list", ()) if isinstance(each, str)}
        if len(left_out) < len(star.get("exclude_list", ())):
            return None
        renames = {each.get("key", {}).get("column", "").lower(): each.get("value", "").lower() for each in star.get("rename_list", ())}
        replaced = {each.get("key", "").lower(): each.get("value", {}) for each in star.get("replace_list", ())}
        found: list[tuple[str | None, Fact]] = []
        seen: set[str] = set()
        for alias, columns in self.relations:
            if relation and alias != relation:
                continue
            if columns is None:
                return None
            for name in columns:
                if name in left_out or (name in self.merged and name in seen):
                    continue
                seen.add(name or "")
                fact: Fact = self.merged.get(name or "", ("column", alias, name))
                if name in replaced:
                    fact = key_of(replaced[name], self.scope())
                found.append((renames.get(name or "", name), fact))
        return found

    def where(self, conditions: Iterable[Tree], scope: Scope) -> Rows:
        """The rows for which conditions hold: columns are equal to each other, or to one value."""
        depends, fixed = list(self.depends), set(self.fixed_columns)
        for each in conditions:
            if each.get("type") != "COMPARE_EQUAL":
                continue
            left, right = each.get("left", {}), each.get("right", {})
            one, other = key_of(left, scope), key_of(right, scope)
            depends += [Depends(frozenset({one}), frozenset({other})), Depends(frozenset({other}), frozenset({one}))]
            fixed |= {fact for fact, tree in ((one, right), (other, left)) if _is_text(tree) or _is_outer(tree, scope)}
        return self._replace(depends=tuple(depends), fixed_columns=frozenset(fixed))


def resolved(names: list[str], scope: Scope) -> Fact | None:
    """The column that a name means; nothing where that is not sure."""
    small = [name.lower() for name in names]
    if len(small) == 1 and small[0] in scope.merged:
        return scope.merged[small[0]]
    if len(small) == 1:
        if len(scope.relations) > 1 and any(columns is None for _, columns in scope.relations):
            return None
        found = [alias for alias, columns in scope.relations if columns is None or small[0] in columns]
        return ("column", found[0], small[0]) if len(found) == 1 else None
    if len(small) == 2:
        named = [columns for alias, columns in scope.relations if alias == small[0]]
        return ("column", *small) if len(named) == 1 and (named[0] is None or small[1] in named[0]) else None
    return None


def _is_text(tree: Tree) -> bool:
    """A text literal: it takes the type of what it is compared with, so that only one value is equal to it."""
    return bool(tree.get("literal", {}).get("kind") == "STRING")


def _is_outer(tree: Tree, scope: Scope) -> bool:
    """A column of a query around: it has one value while this one is asked."""
    names = [name.lower() for name in tree.get("column_names", ())]
    if tree.get("type") != "COLUMN_REF" or any(columns is None or names[0] in columns for _, columns in scope.relations):
        return False
    return names[0] not in {alias for alias, _ in scope.relations}


def key_of(tree: Tree, scope: Scope) -> Fact:
    """What two expressions have in common exactly if they are the same."""
    if tree.get("type") == "COLUMN_REF":
        found = resolved(tree.get("column_names", []), scope)
        return found if found is not None else ("name", *tree.get("column_names", ()))
    if tree.get("type") == "MEANT":
        meant: Fact = tree["meant"]
        return meant
    return ("tree", _frozen(tree, scope))


def _frozen(value: Any, scope: Scope) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(part, scope) for part in value)
    if isinstance(value, dict):
        if value.get("type") == "COLUMN_REF":
            return key_of(value, scope)
        return tuple((label, _frozen(part, scope)) for label, part in sorted(value.items()) if label not in _NOT_IN_KEYS)
    return value


def facts_of(tree: Tree, scope: Scope) -> Key:
    """What is the same in rows that are equal in an expression: it, and the parts of a row or struct that it makes."""
    found = {key_of(tree, scope)}
    if tree.get("type") == "FUNCTION" and tree.get("function_name") in {"row", "struct_pack", "list_value"}:
        for argument in tree.get("arguments", ()):
            found |= facts_of(argument["expression"], scope)
    return frozenset(found)


def closed(facts: Key, depends: Iterable[Depends]) -> Key:
    """The facts with all that is decided by them."""
    waiting = list(depends)
    while True:
        ready = [each for each in waiting if each.of <= facts]
        if not ready:
            return facts
        facts = facts.union(*(each.what for each in ready))
        waiting = [each for each in waiting if each not in ready]


def joined(table: Tree, left: Rows, right: Rows) -> Rows:
    """What a join of two relations gives."""
    kind = table.get("join_type", "INNER")
    if kind in {"SEMI", "ANTI"}:
        return left._replace(fixed=False)
    relations = (*left.relations, *right.relations)
    names = [name.lower() for name in table.get("using_columns", ())]
    if table.get("ref_type") in {"NATURAL", "POSITIONAL", "ASOF"}:
        return Rows(relations)
    scope = Scope(relations, {**left.merged, **right.merged})
    pairs: list[tuple[Fact, Fact]] = []
    merged: dict[str, Fact] = {}
    for name in names:
        one, other = resolved([name], left.scope()), resolved([name], right.scope())
        if one is None or other is None:
            return Rows(relations)
        pairs.append((one, other))
        merged[name] = {"INNER": one, "LEFT": one, "RIGHT": other}.get(kind, ("merged", one, other))
    pairs += [(key_of(each["left"], scope), key_of(each["right"], scope)) for each in _equalities(table.get("condition"))]
    whole = kind in {"INNER", "LEFT", "RIGHT"}
    found = [one | other for one in left.keys for other in right.keys] if whole else []
    # what a key decides does not hold of padding beside a row whose key is null
    depends = [*(left.depends if kind in {"INNER", "LEFT"} else ()), *(right.depends if kind in {"INNER", "RIGHT"} else ())]
    if kind == "INNER":
        depends += [Depends(frozenset({one}), frozenset({other})) for pair in pairs for one, other in (pair, pair[::-1])]
    for mine, others, kinds in ((left, right, {"INNER", "LEFT"}), (right, left, {"INNER", "RIGHT"})):
        # one row of the other side at most belongs to each of this side, if a key of it is equal to what this side gives
        names_here = frozenset(alias for alias, _ in mine.relations)
        given = frozenset(one for pair in pairs for one, other in (pair, pair[::-1]) if _comes_from(other, names_here))
        if kind in kinds and any(key <= given | others.fixed_columns for key in others.keys):
            found = [*mine.keys, *found]
            everything = others.all_columns(None) or frozenset().union(*others.keys)
            depends += [Depends(key, everything) for key in mine.keys]
    fixed = (left.fixed_columns | right.fixed_columns) if kind == "INNER" else frozenset()
    return Rows(relations, tuple(dict.fromkeys(found))[:_KEYS_MAX], tuple(depends), {**scope.merged, **merged}, fixed_columns=fixed)


def _comes_from(fact: Fact, relations: frozenset[str]) -> bool:
    """Whether an expression reads nothing but columns of these relations."""
    if fact[:1] == ("column",):
        return fact[1] in relations
    if fact[:1] in {("name",), ("merged",)}:
        return False
    return all(_comes_from(part, relations) for part in fact if isinstance(part, tuple))


def _equalities(tree: Tree | None) -> list[Tree]:
    if tree is None:
        return []
    if tree.get("type") == "CONJUNCTION_AND":
        return [each for child in tree.get("children", ()) for each in _equalities(child)]
    return [tree] if tree.get("type") == "COMPARE_EQUAL" else []
