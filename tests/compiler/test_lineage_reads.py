"""Lineage leaves nothing out: held against DuckDB, which is asked what breaks without a column, and what changes with its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from tests.compiler.projects import compiled
from tests.compiler.test_corpus import EPHEMERALS, MACROS, MODELS, QUERIES, RAW, files_of, given

from interlock.engine.compiler.lineage import Lineages, ModelLineage
from interlock.engine.compiler.reading import Reading
from interlock.engine.project.load import load
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.parser import Statements

READERS = Path(__file__).with_name("readers.sql").read_text()
"""Queries in which a column is read at a place that is easily left out."""

TEXTS = {**QUERIES, **{name: text.rstrip("\n") for part in READERS.split("-- : ")[1:] for name, _, text in [part.partition("\n")]}}

COLUMNS = {
    "raw.orders": ("id", "customer", "amount", "status", "ordered_at", "day"),
    "raw.customers": ("id", "name", "ratio", "naive", "tags", "place"),
    "numbers": ("n", "word"),
    "people": ("name", "age"),
    "letters": ("letter", "place"),
    "tiny": ("x",),
    "doubled": ("x",),
}
OTHERWISE = {
    "VARCHAR": ("coalesce({0}, '') || 'z'", "'b'"),
    "DATE": ("coalesce({0}, date '2020-02-02') + 1", "date '2024-01-01'"),
    "TIMESTAMP": ("coalesce({0}, timestamp '2020-02-02') + interval 25 hours", "timestamp '2024-01-01'"),
    "TIMESTAMP WITH TIME ZONE": ("coalesce({0}, timestamptz '2020-02-02') + interval 25 hours", "timestamptz '2024-01-01'"),
    "VARCHAR[]": ("list_append({0}, 'q')", "['k', 'a']"),
    "STRUCT(city VARCHAR, zip INTEGER)": ("struct_pack(city := 'X' || coalesce({0}.city, ''), zip := coalesce({0}.zip, 0) + 1)", "null"),
}
"""By type: values that are not those that are there. Of every other type, numbers."""
NUMBERS = ("coalesce({0}, 0) + 1", "2", "null")


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModelLineage]:
    """The lineage of each query."""
    root = tmp_path_factory.mktemp("reads")
    files = {path: text for path, text in files_of().items() if not path.startswith("models/q_")}
    files |= {f"models/q_{index}.sql": text for index, text in enumerate(TEXTS.values())}
    found = compiled(root, files)
    project = load(root, environment={})
    lineages = Lineages(project, project.targets["dev"], found)
    blocked = {name for index, name in enumerate(TEXTS) if found.models[f"q_{index}"].blocked}
    assert blocked == {"unnest a struct"}  # its columns have no names of their own
    return {name: lineages.of(f"q_{index}") for index, name in enumerate(TEXTS) if name not in blocked}


def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("set TimeZone = 'UTC'; attach ':memory:' as here; use here")
    connection.execute(RAW)
    connection.execute("create table letters as select * from (values ('a', 1::bigint), ('b', 2::bigint)) as v(letter, place)")
    for name, text in {**MODELS, **EPHEMERALS}.items():
        connection.execute(f"create table {name} as {text}")
    connection.execute(MACROS)
    return connection


def read(looked: ModelLineage, relation: str, column: str) -> tuple[bool, list[int]]:
    """Whether a column decides about rows, and the places of the output columns whose values come of it."""

    def is_it(each: object) -> bool:
        return (getattr(each, "relation", ""), getattr(each, "column", "")) == (relation, column)

    return any(map(is_it, looked.rows)), [index for index, each in enumerate(looked.columns) if any(map(is_it, each.values))]


def binds(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    try:
        connection.sql(given(text))
    except duckdb.Error:
        return False
    return True


RELATION_COLUMNS = [(relation, column) for relation, columns in COLUMNS.items() for column in columns if len(columns) > 1]


@pytest.mark.parametrize(("relation", "column"), RELATION_COLUMNS)
def test_what_does_not_bind_without_a_column_reads_it(relation: str, column: str, looked: dict[str, ModelLineage]) -> None:
    with database() as whole, database() as without:
        without.execute(f"alter table {relation} drop column {column}")
        missed = [
            name
            for name, lineage in looked.items()
            if lineage.complete
            and relation.rpartition(".")[2] in TEXTS[name].lower()
            and not any((each.relation, each.column) == (relation, column) for each in everything(lineage))
            and binds(whole, TEXTS[name])
            and not binds(without, TEXTS[name])
        ]
    assert missed == []


def everything(lineage: ModelLineage) -> Iterator[object]:
    yield from (value for each in lineage.columns for value in each.values)
    yield from lineage.rows
    yield from lineage.named


def answer(connection: duckdb.DuckDBPyConnection, text: str) -> list[tuple[str, ...]] | None:
    """All rows, each value as text; nothing where a value cannot be worked out."""
    try:
        return [tuple(map(repr, row)) for row in connection.sql(given(text)).fetchall()]
    except duckdb.Error:
        return None


@pytest.fixture(scope="module")
def answers(looked: dict[str, ModelLineage]) -> dict[str, list[tuple[str, ...]]]:
    """What each query gives, of those that give the same when they are asked again."""
    with database() as one, database() as other:
        found = {name: answer(one, TEXTS[name]) for name in looked}
        return {name: rows for name, rows in found.items() if rows is not None and rows == answer(other, TEXTS[name])}


@pytest.mark.parametrize(("relation", "column"), [(relation, column) for relation, columns in COLUMNS.items() for column in columns])
def test_what_changes_with_a_column_comes_of_it(
    relation: str, column: str, looked: dict[str, ModelLineage], answers: dict[str, list[tuple[str, ...]]]
) -> None:
    missed: list[tuple[str, str]] = []
    with database() as connection:
        kind = connection.sql(f"select {column} from {relation}").types[0]
    for other in OTHERWISE.get(str(kind), NUMBERS):
        with database() as connection:
            connection.execute(f"update {relation} set {column} = {other.format(column)}")
            for name, before in answers.items():
                if not looked[name].complete or relation.rpartition(".")[2] not in TEXTS[name].lower():
                    continue
                rows, values = read(looked[name], relation, column)
                after = None if rows else answer(connection, TEXTS[name])
                if after is None:
                    continue
                if len(after) != len(before):
                    missed.append((name, "rows"))
                    continue
                kept = [index for index in range(len(looked[name].columns)) if index not in values]
                if Counter(tuple(row[index] for index in kept) for row in before) != Counter(
                    tuple(row[index] for index in kept) for row in after
                ):
                    missed.append((name, "values"))
    assert missed == []


NOT_FOLLOWED = {
    "json each",
    "pivot with two aggregates",
    "reads COLUMNS in a function",
    "reads PIVOT on two columns",
    "reads PIVOT with two aggregates",
    "reads UNPIVOT of several",
    "reads a macro of a table",
    "reads json of a column",
    "reads unnest of a subquery",
    "repeat row",
    "struct star",
    "unnest recursive",
    "unpack of columns",
    "unpivot of columns by pattern",
}
"""What lineage says of itself that it cannot follow. Whoever teaches it a way takes it out."""


def test_a_place_that_is_left_out_makes_lineage_say_so(looked: dict[str, ModelLineage]) -> None:
    """Every column reference of a tree must have been met: a place where nobody looks is no silence."""
    assert {name for name, each in looked.items() if not each.complete} == NOT_FOLLOWED


NOT_BOUND = {"reads a CTE that nothing reads"}
"""The engine does not look for the columns that such a one names."""


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_every_column_that_a_text_names_is_in_its_lineage(name: str, looked: dict[str, ModelLineage]) -> None:
    """By names alone, without a scope: of each name in a tree that columns of what is read have, one of these is there."""
    if name not in looked or not looked[name].complete or name in NOT_BOUND:
        return
    answer = parser.parse(TEXTS[name])
    assert isinstance(answer, Statements)
    reading = Reading(answer.trees[0])
    read = {f"{'raw.' if path[-1].lower() in ('orders', 'customers') else ''}{path[-1].lower()}" for path, *_ in reading.references}
    there = {column for relation, columns in COLUMNS.items() if relation in read for column in columns}
    known = {getattr(each, "column", "") for each in everything(looked[name])}
    assert {path[-1].lower() for path, _, _ in reading.column_references()} & there <= known
