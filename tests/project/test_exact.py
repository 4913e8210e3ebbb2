"""A declared type of a seed holds its cells as they are (cases D09 and D10): the engine's cast would round and cut in silence."""

from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.project.exact import loss_of
from interlock.engine.project.load import load

CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n'


@pytest.mark.parametrize(
    ("type_", "cell"),
    [
        ("INTEGER", "1.5"),
        ("INTEGER", "007"),
        ("BIGINT", " -01"),
        ("DECIMAL(5,0)", "01"),
        ("int", " 1.5 "),
        ("BIGINT", "1e-3"),
        ("utinyint", "0.1"),
        ("HUGEINT", "-2.25"),
        ("DECIMAL(5,2)", "1.999"),
        ("numeric( 5 , 2 )", "0.001"),
        ("DECIMAL(5)", "1.5"),
        ("DECIMAL", "1.2345"),
        ("DATE", "2024-01-01 10:00:00"),
        ("DATE", "2024-01-01T00:00:01"),
        ("TIMESTAMP", "2024-01-01 10:00:00+02"),
        ("TIMESTAMP", "2024-01-01T10:00:00Z"),
        ("datetime", "2024-01-01 10:00 +05:30"),
        ("TIMESTAMP", "2024-01-01 10:00:00.1234567"),
    ],
)
def test_a_loss_is_told(type_: str, cell: str) -> None:
    loss = loss_of(type_)
    assert loss is not None
    assert loss(cell)


@pytest.mark.parametrize(
    ("type_", "cell"),
    [
        ("INTEGER", "1"),
        ("INTEGER", "0"),
        ("INTEGER", "0.0"),
        ("DECIMAL(5,2)", "01.50"),
        ("INTEGER", "+1.0"),
        ("INTEGER", "1e3"),
        ("INTEGER", "no number"),
        ("DECIMAL(5,2)", "1.990"),
        ("DECIMAL(5,2)", "NaN"),
        ("DECIMAL(5,2)", "sNaN"),
        ("DECIMAL", "1.234"),
        ("DATE", "2024-01-01"),
        ("DATE", "2024-01-01 00:00:00"),
        ("DATE", "infinity"),
        ("TIMESTAMP", "2024-01-01"),
        ("TIMESTAMP", "no time"),
        ("TIMESTAMP", "2024-01-01 10:00:00.120000000"),
    ],
)
def test_where_nothing_is_lost_nothing_is_told(type_: str, cell: str) -> None:
    loss = loss_of(type_)
    assert loss is not None
    assert loss(cell) == ""


@pytest.mark.parametrize(
    "type_", ["VARCHAR", "DOUBLE", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "BOOLEAN", "INTEGER[]", ""]
)
def test_of_other_types_nothing_is_asked(type_: str) -> None:
    assert loss_of(type_) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-99, max_value=99), st.sampled_from([0, 1, 2, 3, 4]))
def test_the_engine_changes_a_number_exactly_where_it_is_told(number: object, scale: int) -> None:
    loss = loss_of(f"DECIMAL(9,{scale})")
    assert loss is not None
    same = duckdb.execute(f"SELECT CAST('{number}' AS DECIMAL(9,{scale})) = CAST('{number}' AS DECIMAL(9,4))").fetchall()[0][0]
    assert bool(loss(str(number))) is not same


def test_a_seed_that_would_lose_something_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "interlock.toml").write_text(CONFIG)
    (tmp_path / "seeds" / "s.csv").write_text('id,amount\n1,1.5\n2,"1.999"\n')
    (tmp_path / "seeds" / "s.toml").write_text('[columns]\nid = "INTEGER"\namount = "DECIMAL(5,2)"\n')
    (found,) = load(tmp_path, environment={}).findings
    assert (found.code, found.at.line if found.at else None) == ("S117", 3)
    assert "`1.999` of column `amount` is no DECIMAL(5,2): it would be rounded" in found.because
    assert "declare a type that holds it" in found.remedy
