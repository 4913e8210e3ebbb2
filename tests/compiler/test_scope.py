"""The scope of CTEs, against the engine's own binder, over random nestings of few names."""

from __future__ import annotations

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.engine.compiler.reading import Reading
from interlock.engine.warehouse.duckdb.parser import Statements, parse

NAMES = ("a", "b", "c")
name = st.sampled_from(NAMES)


def _select(source: str) -> str:
    return f"select x from {source}"


@st.composite
def _with(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    ctes = draw(st.lists(st.tuples(name, inner, st.booleans()), min_size=1, max_size=3, unique_by=lambda each: each[0]))
    recursive = draw(st.booleans())
    parts = []
    for cte, query, loops in ctes:
        again = f" union all select x + 1 as x from {draw(st.sampled_from([cte, *NAMES]))} where x < 1" if recursive and loops else ""
        parts.append(f"{cte}(x) as ({'select * from (' + query + ') as q' if again else query}{again})")
    # every CTE is used: the engine does not look into one that is not, and we do
    used = " and ".join(f"x in (select x from {cte})" for cte, _, _ in ctes)
    return f"with {'recursive ' if recursive else ''}{', '.join(parts)} select x from ({draw(inner)}) as q where {used}"


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _with(inner),
        inner.map(lambda query: f"select x from ({query}) as s"),
        st.tuples(name, inner).map(lambda pair: f"select x from {pair[0]} where x in ({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) union all ({pair[1]})"),
        st.tuples(name, inner).map(lambda pair: f"select l.x from {pair[0]} as l, lateral ({pair[1]}) as r"),
        inner.map(lambda query: f"select (select max(x) from ({query}) as q) as x"),
    )


queries = st.recursive(name.map(_select), _grown, max_leaves=8)
connection = duckdb.connect(":memory:")
for each in NAMES:
    connection.execute(f"create table {each}(x integer)")


@settings(max_examples=300, deadline=None)
@given(queries)
def test_what_is_a_cte_and_what_is_a_relation_is_as_the_engine_says(query: str) -> None:
    answer = parse(query)
    assert isinstance(answer, Statements), (query, answer)
    mine = {".".join(reference.path) for reference in Reading(answer.trees[0]).references}
    try:
        found = set(connection.get_table_names(query))
    except duckdb.Error:
        return
    assert mine == found, query
