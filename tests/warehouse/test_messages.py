"""What DuckDB says is passed on as far as it helps."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from interlock.engine.warehouse.duckdb.errors import CSV_REMEDY, classify, in_short


@pytest.mark.parametrize(("bad", "reason"), [("oops,1", "Could not convert"), ("1,2,3", "Expected Number of Columns: 2 Found: 3")])
def test_an_error_in_a_csv_file_names_its_line_and_no_options(bad: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b\n" + "1,2\n" * 30000 + bad + "\n")
    with pytest.raises(duckdb.Error) as raised:
        duckdb.sql(f"SELECT * FROM read_csv('{file}', columns = {{'a': 'INTEGER', 'b': 'INTEGER'}}, header = true)").fetchall()
    found = classify(raised.value)
    assert found.message.startswith(f"line 30002 of {file}: ")
    assert reason in found.message
    assert f"`{bad}`" in found.message
    assert "delimiter" not in found.message
    assert (found.code, found.remedy) == ("W608", CSV_REMEDY)


def test_a_long_message_is_cut() -> None:
    assert in_short("\n".join(f"line {number}" for number in range(30))).endswith("… and 24 lines more")
    assert in_short("one\ntwo") == "one\ntwo"


def test_a_file_that_cannot_be_sniffed_says_so_without_the_search(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(duckdb.Error) as raised:
        duckdb.sql(f"SELECT * FROM read_csv('{file}', columns = {{'a': 'INTEGER', 'b': 'INTEGER'}}, header = true)").fetchall()
    assert "Candidates" not in classify(raised.value).message
