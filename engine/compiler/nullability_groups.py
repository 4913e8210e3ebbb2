"""How a SELECT groups its rows: by what, and whether all are one group, which is there and gives a row even if they are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from interlock.engine.compiler.nullability_expressions import Expressions
from interlock.engine.compiler.nullability_trees import arguments_of, references
from interlock.engine.compiler.relations import NO_FACTS, Column, Env, Facts, Grouping, Rows, find
from interlock.engine.warehouse.duckdb.parser import Tree


def places_of(node: Tree) -> list[Tree]:
    """Where an aggregate makes one group of the rows of a SELECT."""
    places = [*node.get("select_list", []), node.get("having"), node.get("qualify"), *node.get("modifiers", ())]
    return [place for place in places if place is not None]


def may_be_one_group(node: Tree, rows: Rows, is_aggregate: Callable[[Tree], bool]) -> bool:
    """Whether an aggregate in a subquery may belong to the SELECT around it, as in `SELECT (SELECT max(t.id)) FROM t`.

    Args:
        node: of a SELECT without GROUP BY, HAVING and aggregates of its own.
        rows: of its FROM clause.
        is_aggregate: says it of a call.
    """
    own = Env(rows, NO_FACTS, None)
    inside = [part for place in places_of(node) for part in _parts(place, subqueries=False)]
    subqueries = [part for part in inside if part.get("type") == "SUBQUERY"]
    if not subqueries:
        return False
    if any(part.get("type") == "COLUMN_REF" and find(part.get("column_names", []), own) is not None for part in inside):
        return False  # in one group there is no such value
    calls = (part for subquery in subqueries for part in _parts(subquery["subquery"], subqueries=True) if is_aggregate(part))
    return any(rows.star is None or find(names, own) is not None for call in calls for names in references(arguments_of(call)))


def after_grouping(node: Tree, before: Env, has_key: Callable[[list[Tree], Env], bool], expressions: Expressions) -> Env:
    """What a SELECT's columns mean once its rows are grouped.

    Args:
        node: of the SELECT.
        before: what they mean of each row.
        has_key: whether GROUP BY ALL has something to group by among the items.
        expressions: says which keys are never null.
    """
    keys: list[Tree] = node.get("group_expressions", [])
    sets: list[list[int]] = node.get("group_sets", [])
    if not sets:
        by_all = node.get("aggregate_handling") == "FORCE_AGGREGATES" and has_key(node.get("select_list", []), before)
        return _whole(before, empty=not by_all and not keys)
    empty = any(not each for each in sets)
    if len(sets) == 1:
        return _whole(before, empty=empty)
    everywhere = set(sets[0]).intersection(*sets[1:])
    kept: set[Any] = set()
    nulled: set[Any] = {None}
    opaque = False
    for index, key in enumerate(keys):
        found = group_key(key, node.get("select_list", []), before)
        if index not in everywhere:
            if isinstance(found, Column):
                nulled.add(found.number)
            else:
                opaque = True
        elif isinstance(found, Column):
            kept |= {found.number} & before.facts
        elif found is not None and expressions.never_null(found, before):
            kept.add(expressions.key(found, before))
    facts: Facts = frozenset(kept - nulled)
    rows = before.rows._replace(pads=(), facts=NO_FACTS)
    return Env(rows, facts, before.outer, aliases=before.aliases, grouping=Grouping(before, empty, opaque=opaque, kept=facts))


def _whole(before: Env, *, empty: bool) -> Env:
    grouping = Grouping(before, empty, opaque=False, kept=NO_FACTS)
    if empty:
        return of_no_rows(before, grouping)
    return Env(before.rows, before.facts, before.outer, aliases=before.aliases, grouping=grouping)


def of_no_rows(before: Env, grouping: Grouping | None) -> Env:
    """Where a row may come of no rows: what holds of rows says nothing of it, neither of constants nor of columns further out."""
    rows = before.rows._replace(pads=(), facts=NO_FACTS, alternatives=())
    return Env(rows, NO_FACTS, before.outer, aliases=before.aliases, grouping=grouping)


def group_key(key: Tree, items: list[Tree], env: Env) -> Column | Tree | None:
    """A column, or an expression, that rows are grouped by; nothing where it is not sure which."""
    if key.get("type") == "VALUE_CONSTANT":
        literal = key.get("literal", {})
        if literal.get("kind") != "INTEGER":
            return key
        index = int(literal.get("text", "0")) - 1
        if any(item.get("type") == "STAR" for item in items) or not 0 <= index < len(items):
            return None
        key = items[index]
    if key.get("type") != "COLUMN_REF":
        return key
    names = key.get("column_names", [])
    found = find(names, env)
    if isinstance(found, Column):
        alias = env.aliases.get(names[0].lower()) if len(names) == 1 else None
        same = alias is None or (alias.get("type") == "COLUMN_REF" and find(alias["column_names"], env) is found)
        return found if same else None
    return found if isinstance(found, dict) else None


def _parts(tree: Any, *, subqueries: bool) -> Iterator[Tree]:
    """All nodes of a tree; without what stands in a subquery, the subquery itself among them."""
    if isinstance(tree, list):
        for part in tree:
            yield from _parts(part, subqueries=subqueries)
    elif isinstance(tree, dict):
        yield tree
        if subqueries or tree.get("type") != "SUBQUERY":
            for part in tree.values():
                if isinstance(part, dict | list):
                    yield from _parts(part, subqueries=subqueries)
