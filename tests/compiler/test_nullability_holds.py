"""The nullability pass against rows: what it proves holds for generated queries and data, and each of its rules is needed.

`NULLABILITY_EXAMPLES=20000 pytest tests/compiler/test_nullability_holds.py` looks at many more queries than every run does.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiler import generated
from tests.compiler.ask_functions import ask, asked, overloads
from tests.compiler.nullable import proved
from tests.compiler.test_nullability import COLUMNS, ROWS, TABLES, index_of_c, shapes

from interlock.engine.compiler import nullability, nullability_groups, nullability_joins, nullability_stars
from interlock.engine.compiler import nullability_expressions as rules
from interlock.engine.compiler.nullability import Nullability
from interlock.engine.compiler.nullability_expressions import Expressions
from interlock.engine.compiler.nullability_functions import table
from interlock.engine.compiler.nullability_sets import renamed as rename
from interlock.engine.compiler.relations import Column, Env, Rows
from interlock.engine.warehouse.duckdb import parser

MACROS: Final = {re.findall(r"MACRO (\w+)", statement)[0]: statement for statement in generated.MACROS}
EXAMPLES: Final = int(os.environ.get("NULLABILITY_EXAMPLES", "250"))
MUTANTS_SEEN: Final = 400


class Answered(NamedTuple):
    """A query and for each of its columns whether a null was seen in it."""

    text: str
    tables: Any
    nulls: list[bool]


def answered(connection: duckdb.DuckDBPyConnection, text: str, tables: Any) -> Answered | None:
    try:
        rows = connection.execute(text).fetchall()
    except duckdb.Error:
        return None  # these rows have no answer, or the query has none
    width = len(connection.description or ())
    return Answered(text, tables, [any(row[index] is None for row in rows) for index in range(width)])


def generated_answer(connection: duckdb.DuckDBPyConnection, seed: int) -> Answered | None:
    chance = random.Random(seed)
    for statement in generated.rows(chance):
        connection.execute(statement)
    return answered(connection, generated.query(chance), generated.TABLES)


def is_caught(query: Answered) -> bool:
    found = proved(query.text, query.tables, macros=MACROS)
    return found is not None and (len(found) != len(query.nulls) or any(one and null for one, null in zip(found, query.nulls, strict=True)))


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    parser.parse("select 1")  # it raises the recursion limit, once
    connection = duckdb.connect(":memory:")
    for statement in generated.MACROS:
        connection.execute(statement)
    return connection


@settings(max_examples=EXAMPLES, derandomize=True, deadline=None)
@given(seed=st.integers(min_value=0, max_value=2**40))
def test_what_is_proved_of_a_generated_query_holds_for_its_rows(seed: int, connection: duckdb.DuckDBPyConnection) -> None:
    query = generated_answer(connection, seed)
    assert query is None or not is_caught(query), (seed, query.text)


@pytest.fixture(scope="module")
def witnesses(connection: duckdb.DuckDBPyConnection) -> list[Answered]:
    """Queries with a null in some column: shapes that may be null, and generated ones."""
    found: list[Answered | None] = []
    with duckdb.connect(":memory:") as database:
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        for name, rows in (("t", ROWS), ("u", ROWS.replace("(4, 1", "(9, 7"))):
            database.execute(f"CREATE TABLE {name} ({columns})")
            database.execute(f"INSERT INTO {name} VALUES {rows}")
        for _, sql, says, _ in shapes():
            if says == "may be null":
                answer = answered(database, sql, TABLES)
                if answer is not None and answer.nulls[index_of_c(database.sql(sql).columns)]:
                    found.append(answer)
    found += [generated_answer(connection, seed) for seed in range(MUTANTS_SEEN)]
    return [answer for answer in found if answer is not None and any(answer.nulls)]


def _never(*_: Any, **__: Any) -> bool:
    return True


ALWAYS_TRUE: Final = {"COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM", "GROUPING_FUNCTION", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"}
WITHOUT_NULLS: Final = {"WINDOW_ROW_NUMBER", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_PERCENT_RANK", "WINDOW_CUME_DIST"}


@pytest.mark.parametrize("kind", sorted(set(rules._RULES) - ALWAYS_TRUE - WITHOUT_NULLS))
def test_a_rule_that_says_never_null_is_caught(kind: str, witnesses: list[Answered], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rules._RULES, kind, _never)  # type: ignore[index]
    assert any(is_caught(query) for query in witnesses), kind


def _columns_never_null(_: Any, *__: Any) -> bool:
    return True


def _holds_unpadded(kind: str, left: Rows, right: Rows, matched: Any) -> Any:
    del kind
    return left.facts | right.facts | matched, (*left.pads, *right.pads)


def _any_branch(branches: list[tuple[Column, ...]], rule: Callable[..., bool]) -> Any:
    del rule
    return ORIGINAL_SIDE_BY_SIDE(branches, any)


ORIGINAL_SIDE_BY_SIDE = nullability.side_by_side
ORIGINAL_GROUPED = Nullability._grouped


def _grouped_once(self: Nullability, node: Any, before: Env) -> Env:
    """As if there were one grouping set, and a row in each group."""
    return ORIGINAL_GROUPED(self, {**node, "group_sets": [[0]], "group_expressions": node.get("group_expressions", [{}])}, before)


def _union_for_or(sets: Any) -> Any:
    return frozenset().union(*sets)


def _as_seen_once(self: Nullability, node: Any, outer: Any) -> Any:
    """As if the second branch of a recursion gave what the first gives."""
    return self.query(node["left"], outer) and rename(self.query(node["left"], outer) or (), node.get("aliases", ()))


def _of_rows(before: Env, grouping: Any) -> Env:
    """As if a group always had a row."""
    return Env(before.rows, before.facts, before.outer, aliases=before.aliases, grouping=grouping)


def _never_null_columns(original: Callable[..., Any]) -> Callable[..., Any]:
    def changed(*arguments: Any) -> Any:
        columns = original(*arguments)
        return None if columns is None else tuple(column.again(column.name, never_null=True) for column in columns)

    return changed


def _all_merged(made: dict[str, Column], *_: Any) -> Any:
    return frozenset(column.number for column in made.values())


def _all_together(self: Nullability, columns: list[Column], env: Env) -> None:
    del self, env
    for column in columns:
        column.also = frozenset(range(len(columns)))


def _list_without_nulls(self: Nullability, items: Any, columns: list[Column], env: Env) -> None:
    del self, env
    place = next((index for index, item in enumerate(items) if item.get("function_name") == "unnest"), None)
    if place is not None and len(columns) == len(items):
        columns[place].never_null = True


def _all_arguments(self: Expressions, tree: Any, env: Env) -> Any:
    return frozenset().union(*(self.if_not_null(argument["expression"], env) for argument in tree.get("arguments", ())))


def _key_of_nothing(self: Expressions, tree: Any, env: Env) -> Any:
    del self, tree, env
    return ("key",)


MUTANTS: Final[dict[str, tuple[Any, str, Any]]] = {
    "a column": (Expressions, "_column", _columns_never_null),
    "an aggregate": (Expressions, "_aggregate", _never),
    "a frame": (Expressions, "_holds_a_row", _never),
    "one row of a subquery": (Nullability, "_gives_one_row", _never),
    "a subquery that counts": (Nullability, "_aggregates_everything", lambda *_: True),
    "an outer join": (nullability_joins, "_padded", _holds_unpadded),
    "a set operation": (nullability, "side_by_side", _any_branch),
    "grouping sets": (Nullability, "_grouped", _grouped_once),
    "one group of no rows": (nullability_groups, "of_no_rows", _of_rows),
    "an aggregate of a subquery": (nullability_groups, "may_be_one_group", lambda *_: False),
    "or": (rules, "common_to", _union_for_or),
    "false as true": (Expressions, "if_false", Expressions.if_true),
    "kinds of values": (Expressions, "_same_kinds", _never),
    "json": (Expressions, "json", lambda *_: False),
    "text types": (rules, "is_text_type", _never),
    "constants": (rules, "is_value", _never),
    "lists": (Expressions, "_is_scalar", _never),
    "by name": (nullability, "by_name", _never_null_columns(nullability.by_name)),
    "pivot": (nullability, "pivoted", _never_null_columns(nullability.pivoted)),
    "unpivot": (nullability, "unpivoted", _never_null_columns(nullability.unpivoted)),
    "values": (Nullability, "_values", _never_null_columns(Nullability._values)),
    "a recursion": (Nullability, "_recursive", _as_seen_once),
    "a list that is taken apart": (Nullability, "_unnested", _list_without_nulls),
    "columns that are padded together": (Nullability, "_together", _all_together),
    "a lateral row": (Nullability, "_is_one_row", _never),
    "a merged column": (nullability_joins, "_on_both_sides", _all_merged),
    "sides of a full join": (Expressions, "_either_way", _never),
    "a predicate on an expression": (Expressions, "_known", _never),
    "a condition that is never true": (Expressions, "_never_true", _never),
    "what a function passes on": (Expressions, "_if_function", _all_arguments),
    "keys of expressions": (Expressions, "key", _key_of_nothing),
    "columns by pattern": (nullability_stars, "chosen", lambda columns, _: columns),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_part_of_the_pass_that_gives_way_is_caught(name: str, witnesses: list[Answered], monkeypatch: pytest.MonkeyPatch) -> None:
    where, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(where, attribute, mutant)
    assert any(is_caught(query) for query in witnesses), name


# --- the table of functions -------------------------------------------------------------------------------------------


def test_the_table_is_of_the_engine_that_is_here() -> None:
    assert table().engine == parser.ENGINE, "run `python -m tests.compiler.ask_functions`, check the table by hand, and write the version"


def _listed() -> list[str]:
    scalars, aggregates = table().scalars, table().aggregates
    return sorted((scalars.strict | scalars.total | scalars.passing | scalars.never | aggregates.never | aggregates.values) - {""})


def test_no_function_of_the_table_is_contradicted_by_the_engine() -> None:
    connection = asked()
    forms = overloads(connection)
    scalars, aggregates = table().scalars, table().aggregates
    seen = 0
    for name in _listed():
        if name in {"now", "random"} or name not in forms:
            continue
        found = ask(connection, name, forms[name][:6], calls_max=8, kinds_max=3)
        if not found.calls:
            continue
        seen += 1
        if name in scalars.strict or name in scalars.total or name in aggregates.values:
            assert found.total, name
        if name in scalars.strict or name in scalars.passing - rules._CONCATENATIONS:
            assert found.strict, name
        if name in scalars.never or name in aggregates.never:
            assert found.never, name
    assert seen > 200


def test_a_name_stands_once() -> None:
    scalars = table().scalars
    groups = [scalars.strict, scalars.total, scalars.never, scalars.any, scalars.first]
    assert sum(len(group) for group in groups) == len(frozenset().union(*groups))
