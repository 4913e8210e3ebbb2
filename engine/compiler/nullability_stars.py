"""Columns that a `*` or COLUMNS stands for: picked, left out, replaced and renamed."""

from __future__ import annotations

from collections.abc import Callable

from interlock.engine.compiler.nullability_sets import chosen
from interlock.engine.compiler.nullability_trees import STAR_KEYS
from interlock.engine.compiler.relations import Column, Columns, Env
from interlock.engine.warehouse.duckdb.parser import Tree


def columns_of_star(star: Tree, env: Env, made_of: Callable[[Tree, str | None, Env], Column], made: list[Column]) -> list[Column] | None:
    """The columns of a star, in order; nothing where it is not sure which they are.

    Args:
        star: its tree.
        env: where it stands.
        made_of: the column that an expression makes under a name.
        made: gets the columns that it names to leave them out, or to put something in their place.
    """
    if not star.keys() <= STAR_KEYS or (env.grouping is not None and env.grouping.opaque):
        return None
    relation = star.get("relation_name")
    columns: Columns = env.rows.star
    if relation:
        named = [binding for binding in env.rows.bindings if binding.name == relation.lower()]
        columns = named[0].columns if len(named) == 1 else None
    columns = chosen(columns, star.get("expr"))
    if columns is None:
        return None
    excluded = star.get("exclude_list", [])
    renames = star.get("rename_list", [])
    if not all(isinstance(each, str) for each in excluded) or not all(set(each.get("key", ())) == {"column"} for each in renames):
        return None
    left_out = {each.lower() for each in excluded}
    instead = {each["key"].lower(): each["value"] for each in star.get("replace_list", ())}
    names = {each["key"]["column"].lower(): each["value"] for each in renames}
    found: list[Column] = []
    for column in columns:
        small = (column.name or "").lower()
        if column.name is None and (left_out or instead or names):
            return None
        if small in left_out and column.name is not None:
            made.append(column)
            continue
        if small in instead:
            made.append(column)
        name = None if star.get("alias") else names.get(small, column.name)
        tree = instead.get(small) or {"type": "BOUND_COLUMN", "column": column}
        one = made_of(tree, name, env)
        one.type = column.type if small not in instead else None
        found.append(one)
    return found
