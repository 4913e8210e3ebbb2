"""What a file holds is held by the type that it is read with, or that is told; nothing else is."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from interlock.engine.compiler.compiled import CompiledSource
from interlock.engine.compiler.held import Unheld, held_field, keeps, unheld_of
from interlock.engine.compiler.source_texts import reader
from interlock.engine.project.project import Source, SourceColumn
from interlock.machines.evidence import Column

LOST = [
    ("INTEGER", "1.5"),
    ("INTEGER", " 1.5 "),
    ("BIGINT", "1e-3"),
    ("BIGINT", "1234567890123456789e-1"),
    ("UTINYINT", "0.1"),
    ("HUGEINT", "-2.25"),
    ("INTEGER", "01"),
    ("INTEGER", "-007"),
    ("INTEGER", "00"),
    ("INTEGER", "no number"),
    ("DECIMAL(5,2)", "1.999"),
    ("DECIMAL(5,2)", "0.001"),
    ("DECIMAL(5,2)", "1e-3"),
    ("DECIMAL(5,2)", "1.005e-0"),
    ("DECIMAL(5,0)", "1.5"),
    ("DECIMAL(5,0)", "012"),
    ("DECIMAL(38,22)", "1.23456789012345678901234"),
    ("DATE", "2024-01-01 10:00:00"),
    ("DATE", "2024-01-01T00:00:01"),
    ("DATE", "2024-01-01T00:00:00.1"),
    ("DATE", "01/02/2024"),
    ("TIMESTAMP", "2024-01-01 10:00:00+02"),
    ("TIMESTAMP", "2024-01-01T10:00:00Z"),
    ("TIMESTAMP", "2024-01-01 10:00 +05:30"),
    ("TIMESTAMP", "2024-01-01 10:00 Europe/Berlin"),
    ("TIMESTAMP", "2024-01-01 10:00:00.1234567"),
    ("TIMESTAMP", "2024-01-01 1:02:03 PM"),
    ("TIMESTAMP_S", "2024-01-01 10:00:00.5"),
    ("TIMESTAMP_MS", "2024-01-01 10:00:00.1234"),
    ("TIMESTAMP WITH TIME ZONE", "2024-01-01T10:00:00.1234567Z"),
    ("TIME", "10:00:00.1234567"),
    ("TIME", "2024-01-01 10:00:00"),
    ("TIME", "10:00:00+02"),
    ("INTERVAL", "1.0000005 seconds"),
    ("INTEGER[]", "[1, 2.5]"),
    ("INTEGER[]", "no list"),
    ("DATE[][]", "[[2024-01-01], [2024-01-01 10:00:00]]"),
    ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1.5, 'b': x}"),
    ("MAP(VARCHAR, DECIMAL(3,1))", "{a=1.25}"),
    ("MAP(INTEGER, VARCHAR)", "{1.5=a}"),
    ("STRUCT(l STRUCT(x DATE)[])", "{'l': [{'x': 2024-01-01 10:00:00}]}"),
]
KEPT = [
    ("INTEGER", "1"),
    ("INTEGER", " 2"),
    ("INTEGER", "0"),
    ("INTEGER", "-0"),
    ("INTEGER", "+1.0"),
    ("INTEGER", "1."),
    ("INTEGER", "1e3"),
    ("INTEGER", "1.5e1"),
    ("BIGINT", "9223372036854775807"),
    ("UHUGEINT", "340282366920938463463374607431768211455"),
    ("DECIMAL(10,2)", "1.50"),
    ("DECIMAL(10,2)", "1"),
    ("DECIMAL(10,2)", ".5"),
    ("DECIMAL(10,2)", "1.500000"),
    ("DECIMAL(10,2)", "0000123.45"),
    ("DECIMAL(10,2)", "-1E+3"),
    ("DECIMAL(10,2)", "125e-2"),
    ("DECIMAL(10,2)", "1250E-3"),
    ("DECIMAL(10,2)", "0E-10"),
    ("DECIMAL(38,0)", "12345678901234567890123456789012345678"),
    ("DATE", "2024-01-01"),
    ("DATE", "2024/1/1"),
    ("DATE", "2024-01-01 00:00:00"),
    ("DATE", "2024-01-01T00:00:00Z"),
    ("DATE", "infinity"),
    ("DATE", "epoch"),
    ("DATE", "0044-03-15 (BC)"),
    ("TIMESTAMP", "2024-01-01"),
    ("TIMESTAMP", "2024-01-01T10:00"),
    ("TIMESTAMP", "2024-01-01 10:00:00.120000000"),
    ("TIMESTAMP", "-infinity"),
    ("TIMESTAMP_NS", "2024-01-01 10:00:00.123456789"),
    ("TIMESTAMP WITH TIME ZONE", "2024-01-05T10:00:00Z"),
    ("TIMESTAMP WITH TIME ZONE", "2024-01-05 10:00:00.25+05:30"),
    ("TIMESTAMP WITH TIME ZONE", "2024-01-05 10:00:00 Europe/Berlin"),
    ("TIMESTAMP WITH TIME ZONE", "2024-01-05"),
    ("TIME", "10:00"),
    ("TIME", "10:00:00.5"),
    ("INTERVAL", "1 month 2 days"),
    ("BOOLEAN", "F"),
    ("DOUBLE", "0.1"),
    ("VARCHAR", "01"),
    ("UUID", "00000000-0000-0000-0000-000000000001"),
    ("INTEGER[]", "[1, 2.0, NULL]"),
    ("INTEGER[]", "[]"),
    ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 1.5}"),
    ("MAP(VARCHAR, DECIMAL(3,1))", "{01=1.50}"),
]


@cache
def engine() -> duckdb.DuckDBPyConnection:
    """One for all: opening it takes longer than what is asked."""
    return duckdb.connect()


def asked(
    path: Path, files: Sequence[str], columns: Mapping[str, str], *, declared: bool = True, **options: str | int | bool
) -> tuple[Unheld, ...]:
    """What is said to be not held, of files that lie in a directory."""
    format_: Any = files[0].rpartition(".")[2]
    source = CompiledSource(
        source=Source(
            name="s",
            path="*",
            format=format_,
            options=options,
            columns={name: SourceColumn(type=kind) for name, kind in columns.items()} if declared else None,
            origin="sources.toml: sources.s",
        ),
        sql="",
        files=tuple(files),
        columns=tuple(Column(name=name, type=kind) for name, kind in columns.items()),
        origin="declared",
    )
    field = held_field(source)
    if field is None:
        return ()
    with engine().cursor() as connection:
        connection.execute(f"SET TimeZone = 'UTC'; SET file_search_path = '{path}'")
        return unheld_of(connection.execute(f"SELECT {field}").fetchall()[0][0])


def csv(path: Path, rows: Sequence[Sequence[str]], name: str = "a.csv") -> str:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n;') or text != text.strip() else text

    (path / name).write_text("\n".join(",".join(cell(each) for each in row) for row in rows) + "\n")
    return name


@pytest.mark.parametrize(("type_", "cell"), LOST)
def test_a_cell_that_its_type_does_not_hold_is_told(type_: str, cell: str, tmp_path: Path) -> None:
    (found,) = asked(tmp_path, [csv(tmp_path, [("n", "x"), ("1", ""), ("2", cell), ("3", "")])], {"x": type_})
    assert (found.column, found.type, found.file, found.failing, found.cell) == ("x", type_, "a.csv", 1, cell)


@pytest.mark.parametrize(("type_", "cell"), KEPT)
def test_a_cell_that_is_held_is_not(type_: str, cell: str, tmp_path: Path) -> None:
    file = csv(tmp_path, [("n", "x"), ("1", ""), ("2", cell)])
    assert asked(tmp_path, [file], {"x": type_}) == ()
    with engine().cursor() as connection:
        connection.execute(f"SET TimeZone = 'UTC'; SET file_search_path = '{tmp_path}'")
        kinds = {"x": type_}
        ((text,),) = connection.execute(f"SELECT CAST(x AS VARCHAR) FROM {reader('csv', (file,), {}, kinds)} WHERE n = 2").fetchall()
        assert text is not None, "the reader takes it"


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(
        st.one_of(
            st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-99, max_value=99).map(str),
            st.integers(-999, 999).map(str),
            st.tuples(st.integers(-99, 99), st.integers(-5, 1)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
        ),
        min_size=1,
        max_size=8,
    ),
    scale=st.integers(0, 4),
)
@example(cells=["0e-9", "1.0000", "10e-1"], scale=0)
def test_numbers_are_lost_exactly_where_they_change(cells: list[str], scale: int, tmp_path: Path) -> None:
    kind = f"DECIMAL(12,{scale})"
    file = csv(tmp_path, [("n", "x"), *((str(number), cell) for number, cell in enumerate(cells))])
    lost = sum(Decimal(cell) != round(Decimal(cell), scale) for cell in cells)
    assert sum(each.failing for each in asked(tmp_path, [file], {"x": kind})) == lost


def test_all_columns_and_files_are_asked_at_once(tmp_path: Path) -> None:
    one = csv(tmp_path, [("a", "b", "c", "d"), ("1", "2024-01-01", "01", "x"), ("1.5", "", "", "")], "a.csv")
    two = csv(tmp_path, [("a", "b", "c", "d"), ("1.25", "2024-01-01 10:00:00", "02", "y")], "b.csv")
    found = asked(tmp_path, [one, two], {"a": "INTEGER", "b": "DATE", "c": "VARCHAR", "d": "VARCHAR"})
    assert [(each.column, each.file, each.failing, each.cell) for each in found] == [
        ("a", "b.csv", 2, "1.25"),
        ("b", "b.csv", 1, "2024-01-01 10:00:00"),
    ]


def test_a_file_of_many_rows_and_one_of_none(tmp_path: Path) -> None:
    rows = [(str(number), f"{number}.50", f"2024-01-{1 + number % 28:02}T10:00:00Z") for number in range(30_000)]
    kinds = {"a": "BIGINT", "b": "DECIMAL(10,2)", "c": "TIMESTAMP WITH TIME ZONE"}
    assert asked(tmp_path, [csv(tmp_path, [("a", "b", "c"), *rows])], kinds) == ()
    (found,) = asked(tmp_path, [csv(tmp_path, [("a", "b", "c"), *rows, ("1", "1.505", "")])], kinds)
    assert (found.column, found.failing, found.cell) == ("b", 1, "1.505")
    assert asked(tmp_path, [csv(tmp_path, [("a", "b", "c")])], kinds) == ()


def test_how_the_author_says_that_values_are_written_is_heeded(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("d;t;x\n05/01/2024;05.01.2024 10:00;1.500,50\n")
    kinds = {"d": "DATE", "t": "TIMESTAMP", "x": "DECIMAL(10,2)"}
    how = {"dateformat": "%d/%m/%Y", "timestampformat": "%d.%m.%Y %H:%M", "decimal_separator": ",", "thousands": ".", "delim": ";"}
    assert asked(tmp_path, ["a.csv"], kinds, **how) == ()
    (tmp_path / "a.csv").write_text("d;t;x\n05/01/2024;05.01.2024 10:00;1.500,505\n")
    (found,) = asked(tmp_path, ["a.csv"], kinds, **how)
    assert (found.column, found.cell) == ("x", "1.500,505")
    (tmp_path / "a.csv").write_text("1;NA;1.5\n2;2;2\n")
    (found,) = asked(tmp_path, ["a.csv"], {"a": "INTEGER", "b": "INTEGER", "c": "INTEGER"}, header=False, nullstr="NA", delim=";")
    assert (found.column, found.cell) == ("c", "1.5")


@pytest.mark.parametrize(
    ("type_", "value", "shown"),
    [
        ("INTEGER", "1.5", "1.5"),
        ("INTEGER", '"01"', "01"),
        ("INTEGER", "true", "true"),
        ("BIGINT", "9007199254740993.0", None),
        ("BOOLEAN", "5", "5"),
        ("DECIMAL(10,2)", "1.999", "1.999"),
        ("DECIMAL(12,2)", "123456789.123456789012", "123456789.123456789012"),
        ("DECIMAL(38,2)", "1.999", "1.999"),
        ("DECIMAL(38,20)", "123456789.1234567890123456", None),
        ("DECIMAL(10,2)", '"1.999"', None),
        ("DATE", '"2024-01-05T10:00:00"', "2024-01-05T10:00:00"),
        ("TIMESTAMP", '"2024-01-05T10:00:00Z"', "2024-01-05T10:00:00Z"),
        ("INTEGER[]", "[1, 2.5]", "[1, 2.5]"),
        ("STRUCT(x INTEGER, y STRUCT(z DATE)[])", '{"x": 1, "y": [{"z": "2024-01-05 10:00:00"}]}', None),
        ("MAP(INTEGER, VARCHAR)", '{"1.5": "a"}', None),
        ("MAP(VARCHAR, DECIMAL(5,1))", '{"a": 1.25}', None),
    ],
)
def test_json_values_that_are_not_held(type_: str, value: str, shown: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'{{"n": 1, "x": null}}\n{{"n": 2, "x": {value}}}\n{{"n": 3}}\n')
    (found,) = asked(tmp_path, ["a.json"], {"n": "INTEGER", "x": type_})
    assert (found.column, found.file, found.failing) == ("x", "a.json", 1)
    assert shown is None or found.cell == shown


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("INTEGER", "1.0"),
        ("INTEGER", "1e3"),
        ("HUGEINT", "123456789012345678901234567890"),
        ("BOOLEAN", "true"),
        ("DECIMAL(10,2)", "1.50"),
        ("DECIMAL(30,12)", "123456789.123456789012"),
        ("DECIMAL(38,2)", "1234567890123.5"),
        ("DECIMAL(10,2)", '"1.50"'),
        ("DOUBLE", "0.12345678901234567890"),
        ("VARCHAR", "1.5"),
        ("DATE", '"2024-01-05"'),
        ("TIMESTAMP WITH TIME ZONE", '"2024-01-05T10:00:00Z"'),
        ("INTEGER[]", "[1, 2.0, null]"),
        ("INTEGER[]", "[]"),
        ("STRUCT(x INTEGER)", '{"x": 1, "other": 1.5}'),
        ("STRUCT(x INTEGER)", "{}"),
        ("MAP(VARCHAR, INTEGER)", '{"01": 1}'),
        ("JSON", '{"a": 1.5}'),
    ],
)
def test_json_values_that_are_held(type_: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"n": 1, "x": None}) + f'\n{{"n": 2, "x": {value}}}\n')
    assert asked(tmp_path, ["a.json"], {"n": "INTEGER", "x": type_}) == ()


TYPES = {
    "TINYINT": "-5::TINYINT",
    "INTEGER": "70000",
    "UINTEGER": "5::UINTEGER",
    "BIGINT": "9007199254740993",
    "FLOAT": "1.5::FLOAT",
    "DOUBLE": "1.1::DOUBLE",
    "DECIMAL(8,1)": "1.5::DECIMAL(8,1)",
    "DECIMAL(10,3)": "1.255::DECIMAL(10,3)",
    "VARCHAR": "'01.50'",
    "BOOLEAN": "true",
    "DATE": "DATE '2024-01-05'",
    "TIMESTAMP": "TIMESTAMP '2024-01-05 10:00:00.123456'",
    "TIMESTAMP_MS": "TIMESTAMP_MS '2024-01-05 10:00:00.123'",
    "TIMESTAMP_NS": "TIMESTAMP_NS '2024-01-05 10:00:00.123456789'",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2024-01-05 10:00:00+00'",
    "TIME": "TIME '10:00:00.123'",
    "UUID": "'00000000-0000-0000-0000-000000000001'::UUID",
    "INTEGER[]": "[1, 2]",
    "DOUBLE[]": "[1.5::DOUBLE]",
    "STRUCT(a INTEGER)": "{'a': 70000}",
    "STRUCT(a DOUBLE)": "{'a': 1.5::DOUBLE}",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
}


@pytest.mark.parametrize("wanted", TYPES)
def test_a_type_that_keeps_another_gives_its_values_back(wanted: str) -> None:
    """The matrix of types against the engine: where values are kept, a cast there and back is the same, or an error."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        for found, value in TYPES.items():
            if not keeps(found, wanted):
                continue
            try:
                ((same,),) = connection.execute(
                    f"SELECT CAST(CAST({value} AS {wanted}) AS {found}) IS NOT DISTINCT FROM CAST({value} AS {found})"
                ).fetchall()
            except duckdb.ConversionException:
                continue
            assert same, (found, wanted)


@pytest.mark.parametrize(
    ("found", "wanted", "kept"),
    [
        ("DATE", "TIMESTAMP", True),
        ("DATE", "TIMESTAMP_S", True),
        ("DATE", "TIMESTAMP WITH TIME ZONE", False),
        ("TIMESTAMP", "DATE", False),
        ("TIMESTAMP", "TIMESTAMP_NS", True),
        ("TIMESTAMP_NS", "TIMESTAMP", False),
        ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", False),
        ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP", False),
        ("TIMESTAMP WITH TIME ZONE", "DATE", False),
    ],
)
def test_a_time_is_kept_with_its_digits_and_its_zone_or_not_at_all(found: str, wanted: str, kept: bool) -> None:
    """The engine's casts there and back give the same where a zone was dropped and put in again."""
    assert keeps(found, wanted) is kept


def test_files_of_other_types_are_told(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        for name, query in {
            "1": "SELECT 1::BIGINT AS a, 1.5::DECIMAL(10,2) AS b, DATE '2024-01-05' AS d, {'x': 1} AS s",
            "2": "SELECT 2::INTEGER AS a, 1.5::DECIMAL(8,1) AS b, DATE '2024-01-05' AS d, {'x': 1::TINYINT} AS s",
            "3": "SELECT 1.5::DOUBLE AS a, 1.555::DECIMAL(10,3) AS b, TIMESTAMP '2024-01-05 10:00:00' AS d, {'x': 1.5::FLOAT} AS s",
        }.items():
            connection.execute(f"COPY ({query}) TO '{tmp_path}/{name}.parquet'")
    kinds = {"a": "BIGINT", "b": "DECIMAL(10,2)", "d": "DATE", "s": "STRUCT(x INTEGER)"}
    for declared in (True, False):
        assert asked(tmp_path, ["1.parquet", "2.parquet"], kinds, declared=declared) == ()
        found = asked(tmp_path, ["1.parquet", "2.parquet", "3.parquet"], kinds, declared=declared)
        assert [(each.column, each.found, each.file) for each in found] == [
            ("a", "DOUBLE", "3.parquet"),
            ("b", "DECIMAL(10,3)", "3.parquet"),
            ("d", "TIMESTAMP", "3.parquet"),
            ("s", "STRUCT(x FLOAT)", "3.parquet"),
        ]


def test_the_nearest_number_is_for_who_declares_it(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 1::BIGINT AS a) TO '{tmp_path}/1.parquet'; COPY (SELECT 1.5::DOUBLE AS a) TO '{tmp_path}/2.parquet'"
        )
    files = ["1.parquet", "2.parquet"]
    assert asked(tmp_path, files, {"a": "DOUBLE"}, union_by_name=True) == ()
    (found,) = asked(tmp_path, files, {"a": "DOUBLE"}, declared=False, union_by_name=True)
    assert (found.column, found.found, found.file) == ("a", "BIGINT", "1.parquet")
    (found,) = asked(tmp_path, files, {"a": "BIGINT"})
    assert (found.found, found.file) == ("DOUBLE", "2.parquet")


def test_nothing_is_asked_where_nothing_can_be_lost(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    texts = {"a": "VARCHAR", "b": "DOUBLE"}
    source = CompiledSource(
        source=Source(
            name="s",
            path="*",
            format="csv",
            columns={name: SourceColumn(type=kind) for name, kind in texts.items()},
            origin="sources.toml: sources.s",
        ),
        sql="",
        files=("a.csv",),
        columns=tuple(Column(name=name, type=kind) for name, kind in texts.items()),
        origin="declared",
    )
    assert held_field(source) is None
