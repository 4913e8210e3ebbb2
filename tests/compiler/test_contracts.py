"""Contracts: names and types are proved before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import codes, compiled, errors, model, the

TEXT = "select id, amount, status from raw.orders"


def _contract(*lines: str, extra: str = "") -> str:
    return f"[contract]\n{extra}\n" + "\n".join(f"[contract.columns.{line}" for line in lines)


@pytest.mark.parametrize(
    ("contract", "code", "key"),
    [
        (_contract('amont]\ntype = "BIGINT"'), "C301", "contract.columns.amont"),
        (_contract('id]\ntype = "BIGINT"', extra='extra_columns = "refuse"'), "C302", "contract.extra_columns"),
        (_contract('id]\ntype = "INTEGER"'), "C303", "contract.columns.id.type"),
        (_contract('amount]\ntype = "DECIMAL(12,2)"'), "C303", "contract.columns.amount.type"),
        (_contract('amount]\ntype = "DECIMAL"'), "C304", "contract.columns.amount.type"),
        (_contract('amount]\ntype = "NUMERIC(10)"'), "C304", "contract.columns.amount.type"),
        (_contract('id]\ntype = "BIGNT"'), "C304", "contract.columns.id.type"),
        (_contract('id]\ntype = "BIGINT) as x, (1"'), "C304", "contract.columns.id.type"),
        (_contract('id]\ntype = "BIGINT; drop table x"'), "C304", "contract.columns.id.type"),
        (_contract('gone]\ntype = "BIGINT"\nprotected = true'), "C305", "contract.columns.gone"),
    ],
)
def test_a_false_promise_stops_compilation(contract: str, code: str, key: str, tmp_path: Path) -> None:
    found = model(tmp_path, TEXT, contract)
    assert codes(found)[0] == code or code in codes(found)
    finding = next(finding for finding in errors(found) if finding.code == code)
    assert finding.at is not None
    assert (finding.at.path, finding.at.key) == ("models/m.toml", key)
    assert finding.remedy
    assert found.models["m"].blocked


def test_a_type_may_be_spelled_as_the_warehouse_understands_it(tmp_path: Path) -> None:
    found = model(tmp_path, TEXT, _contract('ID]\ntype = "int8"', 'amount]\ntype = "numeric( 10 , 2)"', 'status]\ntype = "text"'))
    assert errors(found) == []
    assert [(promise.column, promise.type) for promise in found.models["m"].contract] == [
        ("ID", "BIGINT"),
        ("amount", "DECIMAL(10,2)"),
        ("status", "VARCHAR"),
    ]
    assert [finding.proof for finding in found.models["m"].contract_findings] == ["compiled"] * 3


@pytest.mark.parametrize(
    "text",
    [
        "select c.id from raw.orders as o left join raw.customers as c on o.customer = c.id",
        "select nullif(id, 0) as id from raw.orders",
        "select case when id > 0 then id end as id from raw.orders",
        "select lag(id) over (order by id) as id from raw.orders",
        "select max(id) as id from raw.orders",
    ],
)
def test_a_promise_of_no_nulls_that_the_sql_itself_can_break_stops_compilation(text: str, tmp_path: Path) -> None:
    found = model(tmp_path, text, _contract("id]\nnullable = false"))
    assert codes(found) == ["C308"]
    finding = the(found, "C308")
    assert (finding.at is not None and finding.at.key, finding.severity) == ("contract.columns.id.nullable", "error")
    assert "prove" in finding.remedy
    assert [finding.proof for finding in found.models["m"].contract_findings] == ["unproved"]


def test_a_source_that_says_that_it_holds_nulls_is_taken_at_its_word(tmp_path: Path) -> None:
    sources = '[sources."raw.things".columns]\nid = {type = "BIGINT", nullable = true}\nseen = "DATE"'
    found = compiled(
        tmp_path,
        {
            "sources.toml": sources,
            "models/m.sql": "select id, seen from raw.things",
            "models/m.toml": _contract("id]\nnullable = false", "seen]\nnullable = false"),
        },
    )
    assert [finding.proof for finding in found.models["m"].contract_findings] == ["unproved", "at_run_time"]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("select id from raw.orders where id > 0", {}),
        ("select coalesce(id, 0) as id from raw.orders", {}),
        ("select id from v", {"models/v.sql": "select id from raw.orders where id is not null"}),
        (
            "select id from e",
            {"models/e.sql": "select count(*) as id from raw.orders", "models/e.toml": 'materialized = "ephemeral"'},
        ),
        ("select place as id from letters", {"seeds/letters.csv": "letter,place\na,1\n,2\n"}),
        (
            "select id from t",
            {
                "models/t.sql": "select id from raw.orders",
                "models/t.toml": 'materialized = "table"\n[contract]\nprove = "at run time"\n[contract.columns.id]\nnullable = false',
            },
        ),
        (
            "select id from t",
            {"models/t.sql": "select id from raw.orders", "models/t.toml": 'materialized = "table"\n[[checks]]\nnot_null = ["id"]'},
        ),
    ],
)
def test_a_promise_of_no_nulls_is_proved_by_the_text_and_what_it_reads(text: str, files: dict[str, str], tmp_path: Path) -> None:
    found = compiled(tmp_path, {**files, "models/m.sql": text, "models/m.toml": _contract("id]\nnullable = false")})
    assert errors(found) == []
    assert [finding.proof for finding in found.models["m"].contract_findings] == ["compiled"]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("select letter as id from letters", {"seeds/letters.csv": "letter,place\na,1\n,2\n"}),
        (
            "select id from v",
            {
                "models/v.sql": "select id from raw.orders",
                "models/v.toml": 'materialized = "view"\n[contract]\nprove = "at run time"\n[contract.columns.id]\nnullable = false',
            },
        ),
        (
            "select id from t",
            {
                "models/t.sql": "select id from raw.orders",
                "models/t.toml": 'materialized = "table"\n[[checks]]\nnot_null = ["id"]\nseverity = "warn"',
            },
        ),
        (
            "select id from i",
            {
                "models/i.sql": "select id, ordered_at from raw.orders where id > 0",
                "models/i.toml": 'materialized = "incremental"\nstrategy = "append"\nwatermark = "ordered_at"\non_change = "refuse"',
            },
        ),
    ],
)
def test_what_is_no_proof(text: str, files: dict[str, str], tmp_path: Path) -> None:
    """An empty cell of a seed, a promise of a view, a check that only warns, the text of an incremental whose older rows had another."""
    found = compiled(tmp_path, {**files, "models/m.sql": text, "models/m.toml": _contract("id]\nnullable = false")})
    assert found.models["m"].contract_findings[0].proof in {"at_run_time", "unproved"}


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ('[contract]\nprove = "at run time"\n[contract.columns.id]', []),
        ('[contract.columns.id]\nprove = "at run time"', []),
        ("[contract.columns.id]", ["C307"]),
    ],
)
def test_not_null_is_proved_on_the_rows_and_said_so_where_nobody_asked_for_it(where: str, told: list[str], tmp_path: Path) -> None:
    found = model(tmp_path, TEXT, f"{where}\nnullable = false")
    assert codes(found) == told
    assert [finding.proof for finding in found.models["m"].contract_findings] == ["at_run_time"]
    assert found.models["m"].contract[0].nulls == "forbidden"


def test_a_nested_type_is_compared_whole(tmp_path: Path) -> None:
    good = '[contract.columns.place]\ntype = "struct(city text, zip int)"\n[contract.columns.tags]\ntype = "text[]"'
    bad = good.replace("zip int", "zip bigint")
    assert errors(model(tmp_path / "a", "select place, tags from raw.customers", good)) == []
    assert codes(model(tmp_path / "b", "select place, tags from raw.customers", bad)) == ["C303"]


@pytest.mark.parametrize(
    ("text", "promised", "held"),
    [
        ("{'a': id, 'b': status}", "STRUCT(A BIGINT, B VARCHAR)", "STRUCT(a BIGINT, b VARCHAR)"),
        ("[{'a': id}]", "STRUCT(A BIGINT)[]", "STRUCT(a BIGINT)[]"),
        ("map {status: {'a': id}}", "MAP(VARCHAR, STRUCT(A BIGINT))", "MAP(VARCHAR, STRUCT(a BIGINT))"),
        ("union_value(i := id)", "UNION(I BIGINT)", "UNION(i BIGINT)"),
    ],
)
def test_fields_are_the_same_in_any_case_since_a_cast_would_not_change_it(text: str, promised: str, held: str, tmp_path: Path) -> None:
    for place, of in (("a", text), ("b", f"cast({text} as {promised})")):
        found = model(tmp_path / place, f"select {of} as c from raw.orders", _contract(f'c]\ntype = "{promised}"'))
        assert found.findings == ()
        assert [promise.type for promise in found.models["m"].contract] == [held]
    other = model(tmp_path / "c", f"select {text} as c from raw.orders", _contract(f'c]\ntype = "{promised.replace("BIGINT", "INTEGER")}"'))
    assert "is BIGINT, and the contract says INTEGER" in the(other, "C303").because


def test_rounding_a_quotient_into_a_decimal_without_scale_is_stopped(tmp_path: Path) -> None:
    assert codes(model(tmp_path, "select 2 / 3::decimal(7,6) as r", _contract('r]\ntype = "DECIMAL"'))) == ["C304"]


def test_a_sum_of_decimals_is_wider_than_its_parts(tmp_path: Path) -> None:
    text = "select sum(amount) as total from raw.orders"
    assert codes(model(tmp_path / "a", text, _contract('total]\ntype = "DECIMAL(10,2)"'))) == ["C303"]
    assert errors(model(tmp_path / "b", text, _contract('total]\ntype = "DECIMAL(38,2)"'))) == []


def test_a_seed_keeps_its_contract_too(tmp_path: Path) -> None:
    files = {"seeds/letters.csv": "letter,place\na,1\n", "models/m.sql": "select * from letters"}
    assert errors(compiled(tmp_path / "a", {**files, "seeds/letters.toml": _contract('place]\ntype = "BIGINT"')})) == []
    assert codes(compiled(tmp_path / "b", {**files, "seeds/letters.toml": _contract('place]\ntype = "VARCHAR"')})) == ["C303"]


def test_a_misspelt_type_is_named_without_the_schema_that_duckdb_keeps_its_own_in(tmp_path: Path) -> None:
    assert the(model(tmp_path, "select 1 as id", _contract('id]\ntype = "INTGER"')), "C304").remedy == "did you mean `INTEGER`?"


@pytest.mark.parametrize(
    ("kind", "promised", "fits"),
    [
        ("INTEGER", "BIGINT", True),
        ("BIGINT", "INTEGER", False),
        ("UINTEGER", "BIGINT", True),
        ("UBIGINT", "BIGINT", False),
        ("INTEGER", "UBIGINT", False),
        ("DECIMAL(10,2)", "DECIMAL(12,2)", True),
        ("DECIMAL(10,2)", "DECIMAL(12,4)", True),
        ("DECIMAL(10,2)", "DECIMAL(11,4)", False),
        ("DECIMAL(10,2)", "DECIMAL(18,1)", False),
        ("INTEGER", "DECIMAL(12,2)", True),
        ("INTEGER", "DECIMAL(11,2)", False),
        ("FLOAT", "DOUBLE", True),
        ("INTEGER", "DOUBLE", True),
        ("BIGINT", "DOUBLE", False),
        ("DECIMAL(4,1)", "DOUBLE", False),
        ("DATE", "TIMESTAMP", False),
        ("INTEGER[]", "BIGINT[]", True),
        ("STRUCT(a INTEGER, b VARCHAR)", "STRUCT(a BIGINT, b VARCHAR)", True),
        ("STRUCT(a INTEGER)", "STRUCT(b INTEGER)", False),
        ("MAP(VARCHAR, INTEGER)", "MAP(VARCHAR, BIGINT)", True),
        ("INTEGER[2]", "INTEGER[3]", False),
    ],
)
def test_a_narrower_type_fits_where_the_contract_says_so(kind: str, promised: str, fits: bool, tmp_path: Path) -> None:
    text = f"select cast(null as {kind}) as c"
    strict = model(tmp_path / "a", text, _contract(f'c]\ntype = "{promised}"'))
    assert codes(strict) == ["C303"]
    found = model(tmp_path / "b", text, _contract(f'c]\ntype = "{promised}"\nassignable = true'))
    assert codes(found) == ([] if fits else ["C303"])
    if fits:
        assert found.models["m"].contract[0].type == found.models["m"].columns[0].type, "the rows are held to what they are"


def test_a_difference_inside_of_a_type_is_pointed_at(tmp_path: Path) -> None:
    text = "select {'a': 1, 'b': [{'c': 'x'}]} as s"
    found = model(tmp_path, text, _contract('s]\ntype = "STRUCT(a INTEGER, b STRUCT(c INTEGER)[])"'))
    assert the(found, "C303").because == "`s.b[].c` is VARCHAR, and the contract says INTEGER"


@pytest.mark.parametrize("kind", ["DECIMAL(300,2)", "DECIMAL(39,1)", "DECIMAL(10,20)", "NUMERIC(0,0)", "DECIMAL(99,1)[]"])
def test_a_decimal_out_of_range_names_the_limits(tmp_path: Path, kind: str) -> None:
    found = model(tmp_path, "select 1 as r", _contract(f'r]\ntype = "{kind}"'))
    assert "1 to 38" in the(found, "C304").remedy


@pytest.mark.parametrize(
    ("written", "plain", "check"),
    [
        ("VARCHAR(3)", "VARCHAR", "<= 3"),
        ("char ( 3 )", "char", "<= 3"),
        ("BPCHAR(3)", "BPCHAR", "<= 3"),
        ("string(3)", "string", "<= 3"),
        ("TEXT /* short */ (3)", "TEXT", "<= 3"),
        ('"varchar"(3)', '"varchar"', "<= 3"),
        ("character varying(10)", "character varying", "<= 10"),
        ("nvarchar(3)", "nvarchar", "<= 3"),
        ("BIT(3)", "BIT", "= 3"),
        ("VARCHAR(3)[]", "VARCHAR[]", ""),
        ("STRUCT(a VARCHAR(3), b DECIMAL(4,2))", "STRUCT(a VARCHAR, b DECIMAL(4,2))", ""),
        ("MAP(VARCHAR(2), CHAR(1))", "MAP(VARCHAR, CHAR)", ""),
    ],
)
def test_a_length_that_the_warehouse_does_not_keep_is_no_promise(written: str, plain: str, check: str, tmp_path: Path) -> None:
    found = the(model(tmp_path, TEXT, _contract(f"status]\ntype = '''{written}'''")), "C304")
    assert found.at is not None
    assert found.at.key == "contract.columns.status.type"
    assert "DuckDB takes texts of any length" in found.because or "DuckDB takes bits of any number" in found.because
    assert f"write `{plain}`" in found.remedy
    assert ("length(" in found.remedy) == bool(check)
    assert check in found.remedy


@pytest.mark.parametrize(
    "written",
    ["VARCHAR", "CHAR", "DECIMAL(4,2)", "TIMESTAMP(3)", "ENUM('VARCHAR(3)')", 'STRUCT("varchar(3)" INTEGER)', "INTEGER[3]", "FLOAT(53)"],
)
def test_what_stands_in_brackets_and_is_kept_may_stand(written: str, tmp_path: Path) -> None:
    assert "C304" not in codes(model(tmp_path, TEXT, _contract(f"status]\ntype = '''{written}'''")))
