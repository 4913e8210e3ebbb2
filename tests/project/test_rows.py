from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.project.rows import Malformed, rows
from interlock.engine.project.seeds import infer


def cells(text: str, delimiter: str = ",") -> list[tuple[str | None, ...]]:
    return [row for _, row in rows(text, delimiter)]


def test_an_empty_cell_is_null_and_a_quoted_one_is_not() -> None:
    assert cells('a,b\n,""\n"x",\n') == [("a", "b"), (None, ""), ("x", None)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("quote", ["", '"'])
def test_line_ends_and_a_missing_last_one_change_nothing(end: str, last: bool, quote: str) -> None:
    text = f"a,b{end}{quote}1{quote},2{end}3,{quote}4{quote}" + (end if last else "")
    assert cells(text) == [("a", "b"), ("1", "2"), ("3", "4")]


def test_blank_lines_are_no_rows_unless_there_is_one_column() -> None:
    assert cells("a,b\n\n1,2\n\n") == [("a", "b"), ("1", "2")]
    assert cells('a,b\n\n"1",2\n\n') == [("a", "b"), ("1", "2")]
    assert cells("a\n\n1\n") == [("a",), (None,), ("1",)]
    assert cells('a\n\n"1"\n') == [("a",), (None,), ("1",)]


def test_a_row_keeps_the_line_on_which_it_begins() -> None:
    assert rows('a\n"x\ny"\nz\n', ",") == [(1, ("a",)), (2, ("x\ny",)), (4, ("z",))]


@pytest.mark.parametrize(
    ("text", "line", "because"),
    [
        ('a,b\n1,"x\n2,y\n', 2, "never closed"),
        ('a,b\n"x"y,1\n', 2, "after a closing quote"),
        ('a,b\n1,2"\n', 2, "quote inside a cell"),
        ("a,b\n1\r2\n", 2, "carriage return"),
        ('a,b\n"x\n\ny"z,1\n', 4, "after a closing quote"),
    ],
)
def test_what_is_not_csv_is_refused_with_its_line(text: str, line: int, because: str) -> None:
    with pytest.raises(Malformed) as caught:
        rows(text, ",")
    assert caught.value.line == line
    assert because in caught.value.because


CELL = st.none() | st.text(st.sampled_from('ab,;"\n é1'), max_size=5)


@given(
    st.integers(2, 4).flatmap(lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=5)),
    st.sampled_from(",;"),
)
def test_what_was_written_is_read(table: list[list[str | None]], delimiter: str) -> None:
    lines = [delimiter.join("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in row) for row in table]
    assert cells("\n".join(lines) + "\n", delimiter) == [tuple(row) for row in table]


@given(st.lists(st.lists(st.text(st.sampled_from('ab,"\n é1'), max_size=4), min_size=2, max_size=2), min_size=1, max_size=5))
def test_pythons_own_reader_agrees_but_for_empty_cells(table: list[list[str]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(table)
    assert [[cell or "" for cell in row] for row in cells(buffer.getvalue())] == table


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["1", "-20", "0", None], "BIGINT"),
        (["007"], "VARCHAR"),
        (["+1"], "VARCHAR"),
        (["-0"], "VARCHAR"),
        ([" 1"], "VARCHAR"),
        (["1_0"], "VARCHAR"),
        (["\u0663"], "VARCHAR"),
        (["9223372036854775807"], "BIGINT"),
        (["9223372036854775808"], "HUGEINT"),
        (["1" + "0" * 39], "VARCHAR"),
        (["1" * 5000], "VARCHAR"),
        (["1", ""], "VARCHAR"),
        ([None], "VARCHAR"),
        ([], "VARCHAR"),
        (["1.5"], "VARCHAR"),
        (["true"], "VARCHAR"),
        (["2024-02-29"], "DATE"),
        (["2023-02-29"], "VARCHAR"),
        (["2024-1-1"], "VARCHAR"),
        (["20240101"], "BIGINT"),
        (["2024-01-01 10:00:00", "2024-01-01T10:00:00.5"], "TIMESTAMP"),
        (["2024-01-01 24:00:00"], "VARCHAR"),
        (["2024-01-01T10:00:00Z"], "VARCHAR"),
        (["2024-01-01T10:00:00.1234567"], "VARCHAR"),
        (["2024-01-01", "2024-01-01 10:00:00"], "VARCHAR"),
    ],
)
def test_a_type_is_found_only_if_no_value_changes(values: list[str | None], type_: str) -> None:
    assert infer(values) == type_


@given(st.lists(st.none() | st.integers().map(str) | st.text(st.sampled_from("0123456789-+ "), max_size=6), max_size=5))
def test_a_column_of_numbers_comes_back_as_it_was_written(values: list[str | None]) -> None:
    if infer(values) in {"BIGINT", "HUGEINT"}:
        assert [None if value is None else str(int(value)) for value in values] == values
