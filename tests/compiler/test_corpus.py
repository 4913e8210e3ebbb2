"""The rows of the compiled text are those of the author's text, run by hand where bare names resolve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.compiler.nullable import proved
from tests.compiler.projects import AS_OF, CONFIG, SOURCES, compiled

from interlock.engine.compiler import keys
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.compiler.reading import Reading
from interlock.engine.project.project import Variable

CORPUS = Path(__file__).with_name("corpus.sql").read_text()

VARS = '[vars]\nword = "two"\nsome = [1, 3]\nfactor = 2\nminus = -5\nday = 2024-02-29\nyes = true\nrate = "1.50"\n'
BY_HAND: dict[str, Variable] = {"word": "two"}

MODELS = {
    "numbers": "select * from (values (1, 'one'), (2, 'two'), (3, 'three'), (null, null)) as v(n, word)",
    "people": "select * from (values ('ann', 30), ('bob', 2), ('cy', 1)) as v(name, age)",
}
EPHEMERALS = {
    "tiny": "select n as x from numbers where n < 3 -- few",
    "doubled": "with numbers as (select x * 2 as x from tiny) select * from numbers;",
}
LETTERS = "letter,place\na,1\nb,2\n"
MACROS = "create macro twice(a) as a * 2;\n-- more\ncreate macro up_to(a) as table select range as x from range(a);\n"
ORDERS = """(1, 1, 10.50, 'new', '2024-01-01 10:00:00+00', date '2024-01-01'), (2, 1, 20, 'paid', '2024-01-02 11:00:00+00', date '2024-01-02'),
(3, 2, 5, 'new', '2024-01-02 12:00:00+00', date '2024-01-02'), (4, null, 7.25, null, null, null)"""
CUSTOMERS = """(1, 'ann', 0.5, timestamp '2024-01-01 00:00:00', ['x', 'y'], {'city': 'Bonn', 'zip': 53111}),
(2, 'bob', null, null, [], {'city': 'Ulm', 'zip': 89073}), (9, 'cy', 1, null, null, null)"""
RAW = f"""
create schema raw;
create table raw.orders(id bigint, customer integer, amount decimal(10,2), status varchar, ordered_at timestamptz, day date);
insert into raw.orders values {ORDERS};
create table raw.customers(id integer, name varchar, ratio double, naive timestamp, tags varchar[], place struct(city varchar, zip integer));
insert into raw.customers values {CUSTOMERS};
"""


def queries() -> dict[str, str]:
    found: dict[str, str] = {}
    for part in CORPUS.split("-- : ")[1:]:
        name, _, text = part.partition("\n")
        assert name not in found, name
        found[name] = text.rstrip("\n")
    return found


QUERIES = queries()


def files_of(sidecar: str = "") -> dict[str, str]:
    """A project with a model for each query."""
    files = {
        "interlock.toml": CONFIG + VARS,
        "sources.toml": SOURCES,
        "macros/all.sql": MACROS,
        "seeds/letters.csv": LETTERS,
        **{f"models/{name}.sql": text for name, text in MODELS.items()},
        **{f"models/{name}.sql": text for name, text in EPHEMERALS.items()},
        **{f"models/{name}.toml": 'materialized = "ephemeral"\n' for name in EPHEMERALS},
        **{f"models/q_{index}.sql": text for index, text in enumerate(QUERIES.values())},
        **{f"models/q_{index}.toml": sidecar for index in range(len(QUERIES)) if sidecar},
    }
    # the database's own name stands for the target's: `here.main.numbers`
    files["interlock.toml"] = files["interlock.toml"].replace("dev.duckdb", "here.duckdb")
    return files


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return compiled(tmp_path_factory.mktemp("shop"), files_of())


@pytest.fixture(scope="module")
def by_hand() -> duckdb.DuckDBPyConnection:
    """A database in which the author's names are there as written."""
    connection = duckdb.connect(":memory:")
    connection.execute("set TimeZone = 'UTC'; attach ':memory:' as here; use here")
    connection.execute(RAW)
    connection.execute("create table letters as select * from (values ('a', 1::bigint), ('b', 2::bigint)) as v(letter, place)")
    for name, text in {**MODELS, **EPHEMERALS}.items():
        connection.execute(f"create table {name} as {text}")
    connection.execute(MACROS)
    return connection


@pytest.fixture(scope="module")
def warehouse(shop: Compiled) -> duckdb.DuckDBPyConnection:
    """A database in which only the quoted three-part names are there, under other bare names."""
    connection = duckdb.connect(":memory:")
    connection.execute("set TimeZone = 'UTC'; attach ':memory:' as warehouse; use warehouse")
    connection.execute(RAW)
    connection.execute("use memory")
    for name in MODELS:
        connection.execute(f'create table "warehouse"."main"."{name}" as {shop.models[name].sql}')
        connection.execute(f"create temp table {name} as select 'not this one' as wrong")
    connection.execute(
        'create table "warehouse"."main"."letters" as select * from (values (\'a\', 1::bigint), (\'b\', 2::bigint)) as v(letter, place)'
    )
    for macro in shop.macros:
        connection.execute(macro)
    return connection


@pytest.mark.parametrize("name", list(QUERIES))
def test_the_rows_are_the_same(name: str, shop: Compiled, by_hand: duckdb.DuckDBPyConnection, warehouse: duckdb.DuckDBPyConnection) -> None:
    model = shop.models[f"q_{list(QUERIES).index(name)}"]
    problems = [
        finding for finding in shop.findings if finding.subject == model.name and finding.code not in {"L211", "L218", "L228", "L231"}
    ]
    assert problems == []
    expected = rows(by_hand, given(QUERIES[name]))
    assert rows(warehouse, f"select * from (\n{model.sql}\n)") == expected
    assert [column.type for column in model.columns] == expected[1]


def given(text: str) -> str:
    """The author's text with values as a person would write them."""
    values = {
        "word": "'two'",
        "some": "[1, 3]",
        "factor": "2",
        "minus": "(-5)",
        "day": "date '2024-02-29'",
        "yes": "true",
        "rate": "'1.50'",
        "target": "'dev'",
    }
    if "$$" in text:
        return text
    for variable, value in values.items():
        text = text.replace(f"${variable}", value)
    return text.replace("$as_of", f"timestamptz '{AS_OF}'")


def rows(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[list[str], list[str], list[Any]]:
    relation = connection.sql(text)
    return relation.columns, [str(kind) for kind in relation.types], sorted(relation.fetchall(), key=repr)


def test_dependencies_are_those_that_the_engine_finds(shop: Compiled, by_hand: duckdb.DuckDBPyConnection) -> None:
    compared = 0
    for index, text in enumerate(QUERIES.values()):
        model = shop.models[f"q_{index}"]
        try:
            names = by_hand.get_table_names(given(text).rstrip("; \n"))
        except duckdb.BinderException:  # it binds against nothing: USING and the like fail
            continue
        found = {name.rpartition(".")[2].lower() for name in names}
        assert {name.rpartition(".")[2] for name in (*model.references, *model.sources)} == found, text
        compared += 1
    assert compared > len(QUERIES) * 0.8


@pytest.mark.parametrize("sidecar", ['materialized = "table"\n', 'materialized = "table"\ndeterministic = true\n'])
def test_where_no_second_walk_is_made_it_would_find_nothing(sidecar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(sidecar)
    quick = compiled(tmp_path / "quick", files)
    asked: list[bool] = []
    real = keys._may_be_unsettled
    monkeypatch.setattr(keys, "_may_be_unsettled", lambda reading, *, strict: asked.append(real(reading, strict=strict)) or True)
    whole = compiled(tmp_path / "whole", files)
    assert quick.findings == whole.findings
    assert {name: model.volatile for name, model in quick.models.items()} == {name: model.volatile for name, model in whole.models.items()}
    assert {True, False} == set(asked)


@pytest.mark.parametrize(
    ("window", "walked"),
    [
        ("sum(n) OVER (ORDER BY n ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)", False),
        ("sum(n) OVER (ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)", True),
        ("max(word ORDER BY n) OVER (ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)", True),
        ("sum(n) OVER (PARTITION BY word)", False),
        ("lag(n) OVER (ORDER BY n)", False),
        ("lag(n) OVER ()", True),
    ],
)
def test_a_second_walk_is_made_where_rows_are_taken_in_no_order(
    window: str, walked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    real = keys._may_be_unsettled

    def ask(reading: Reading, *, strict: bool) -> bool:
        asked.append(real(reading, strict=strict))
        return asked[-1]

    monkeypatch.setattr(keys, "_may_be_unsettled", ask)
    compiled(tmp_path, {"models/numbers.sql": MODELS["numbers"], "models/m.sql": f"SELECT n, {window} AS w FROM numbers"})
    assert (True in asked) == walked


def test_the_corpus_is_wide() -> None:
    assert len(QUERIES) >= 500
    assert len({name.split()[0] for name in QUERIES}) >= 80


RELATIONS = {
    "orders": {
        "id": "BIGINT",
        "customer": "INTEGER",
        "amount": "DECIMAL(10,2)",
        "status": "VARCHAR",
        "ordered_at": "TIMESTAMP WITH TIME ZONE",
        "day": "DATE",
    },
    "customers": {
        "id": "INTEGER",
        "name": "VARCHAR",
        "ratio": "DOUBLE",
        "naive": "TIMESTAMP",
        "tags": "VARCHAR[]",
        "place": "STRUCT(city VARCHAR, zip INTEGER)",
    },
    "numbers": {"n": "INTEGER", "word": "VARCHAR"},
    "people": {"name": "VARCHAR NOT NULL", "age": "INTEGER NOT NULL"},
    "letters": {"letter": "VARCHAR NOT NULL", "place": "BIGINT NOT NULL"},
    "tiny": {"x": "INTEGER"},
    "doubled": {"x": "INTEGER"},
}


@pytest.mark.parametrize("name", list(QUERIES))
def test_what_is_proved_never_null_is_not(name: str, by_hand: duckdb.DuckDBPyConnection) -> None:
    found = proved(QUERIES[name], RELATIONS)
    relation = by_hand.sql(given(QUERIES[name]))
    if found is not None:
        assert len(found) == len(relation.columns)
        fetched = relation.fetchall()
        for index, never in enumerate(found):
            assert not never or all(row[index] is not None for row in fetched)


def test_few_queries_are_too_much_for_the_nullability_pass() -> None:
    assert sum(proved(text, RELATIONS) is None for text in QUERIES.values()) < len(QUERIES) * 0.07
