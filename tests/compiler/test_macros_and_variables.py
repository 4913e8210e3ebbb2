"""Macros and variables: what is put in, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import CONFIG, codes, columns, compiled, errors, place, the

VARS = CONFIG + '[vars]\nregion = "eu"\nlimit_rows = 5\nbelow = -3\nday = 2024-02-29\nlist = ["a", "b\'c"]\n'


def test_macros_are_made_each_after_what_it_calls(tmp_path: Path) -> None:
    files = {
        "macros/a.sql": "create macro outer_one(x) as inner_one(x) + 1; -- first\n\nCREATE MACRO many(n) AS TABLE SELECT range AS r FROM range(n)",
        "macros/b.sql": "create macro inner_one(x) as x * 2;",
        "models/m.sql": "select outer_one(id) as y from raw.orders",
        "models/n.sql": "select * from many(3)",
        "models/t.toml": 'materialized = "table"\n',
        "models/t.sql": "select 1 as a",
    }
    found = compiled(tmp_path, files)
    assert errors(found) == []
    assert found.macros == (
        "CREATE TEMP MACRO many(n) AS TABLE SELECT range AS r FROM range(n)",
        "create TEMP macro inner_one(x) as x * 2",
        "create TEMP macro outer_one(x) as inner_one(x) + 1",
    )
    assert found.models["m"].macros == ("inner_one", "outer_one")
    assert columns(found) == {"y": "BIGINT"}
    assert [(finding.code, finding.subject) for finding in found.findings] == [("L228", "m"), ("L228", "n")]


@pytest.mark.parametrize(
    "wrong", ["create macro cents(x) as", "create macro cents(x) as nothing(x)", "create macro cents(x) as x + $nothing"]
)
def test_what_calls_a_wrong_macro_waits_for_it(wrong: str, tmp_path: Path) -> None:
    files = {
        "macros/a.sql": f"{wrong};\ncreate macro trim(x) as x",
        "models/m.sql": "select cents(id) as y from raw.orders",
        "models/n.sql": "select * from m",
        "models/o.sql": "select trim('a') as a",
        "models/p.sql": "select id as y from raw.orders",
        "models/p.toml": '[[checks]]\nname = "whole"\nsql = "select y from p where cents(y) < 0"\n',
    }
    found = compiled(tmp_path, files)
    assert [finding.at.path for finding in errors(found)] == ["macros/a.sql", "macros/a.sql"]
    waits = {finding.subject: finding.because for finding in found.findings if finding.code == "L220"}
    assert waits == {"m": "it calls `cents`, which is a wrong macro", "n": "it reads `m`, which could not be bound"}


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("select 1", "S118", 1, 1),
        ("create macro a(x) as x;\ncreate table t as select 1", "S118", 2, 1),
        ("create or replace macro a(x) as x", "S118", 1, 1),
        ("create temp macro a(x) as x", "S118", 1, 1),
        ("create macro main.a(x) as x", "S118", 1, 14),
        ("create macro a(x) as", "L200", None, None),
        ("create macro a(x) as nothing(x)", "L224", 1, 22),
        ("create macro a(x) as (select max(id) from raw.orders)", "L224", None, None),
        ("create macro a(x) as table select * from m", "L224", None, None),
        ("create macro a(p) as table select * from read_csv(p)", "L208", 1, 1),
        ("create macro a(p) as current_setting(p)", "L208", 1, 1),
        ("create macro a(x) as x + $nothing", "L209", 1, 26),
        ("create macro a(x) as x;\ncreate macro A(y) as y", "S106", 2, 1),
    ],
)
def test_what_a_macro_file_may_not_hold(text: str, code: str, line: int | None, column: int | None, tmp_path: Path) -> None:
    found = compiled(tmp_path, {"macros/a.sql": text, "models/m.sql": "select 1 as a"})
    assert codes(found) == [code], found.findings
    at = place(the(found, code))
    assert at[0] == "macros/a.sql"
    if line is not None:
        assert at[1:3] == (line, column)


def test_a_volatile_macro_makes_its_callers_volatile(tmp_path: Path) -> None:
    files = {
        "macros/a.sql": "create macro fresh() as now()",
        "models/m.sql": "select fresh() as t",
        "models/m.toml": "deterministic = true\n",
    }
    assert "L217" in codes(compiled(tmp_path, files))


@pytest.mark.parametrize(
    "macro",
    [
        "create macro outer_one(x, y := inner_one(1)) as x + y",
        "create macro outer_one(x, y => inner_one(1)) as x + y",
        "create macro outer_one(x BIGINT, y BIGINT := abs(-inner_one(1))) as x + y",
        "create macro outer_one(x) as x, (x, y, z := [1, inner_one(1)]) as z",
        "create macro outer_one(n := inner_one(1)) as table select range as r from range(n)",
    ],
)
def test_what_the_default_of_a_parameter_calls_is_called(macro: str, tmp_path: Path) -> None:
    text = "select * from outer_one()" if "table" in macro else "select outer_one(id) as y from raw.orders"
    files = {"macros/a.sql": macro, "models/m.sql": text, "macros/b.sql": "create macro inner_one(x) as x * 2"}
    found = compiled(tmp_path, files)
    assert errors(found) == []
    assert found.models["m"].macros == ("inner_one", "outer_one")
    other = compiled(tmp_path / "other", {**files, "macros/b.sql": "create macro inner_one(x) as x * 3"})
    assert other.models["m"].digests.definition != found.models["m"].digests.definition


@pytest.mark.parametrize("default", ["now()", "current_timestamp", "CAST(today() AS VARCHAR)", "{'a': [now()]}"])
def test_a_default_that_is_volatile_makes_its_callers_volatile(default: str, tmp_path: Path) -> None:
    text = "materialized = 'incremental'\nstrategy = 'append'\nwatermark = 'id'\n"
    macro = f"create macro stamped(x, since := {default}) as since"
    files = {"macros/a.sql": macro, "models/m.sql": "select id, stamped(id) as since from raw.orders", "models/m.toml": text}
    assert codes(compiled(tmp_path, files)) == ["L217"]


def test_a_default_reads_nothing_outside(tmp_path: Path) -> None:
    macro = "create macro threads(x, y := current_setting('threads')) as y"
    assert codes(compiled(tmp_path, {"macros/a.sql": macro, "models/m.sql": "select 1 as a"})) == ["L208"]


def test_values_become_typed_literals_where_they_stand(tmp_path: Path) -> None:
    text = (
        "select $region as r, 1-$below as b, $day as d, status in $list as l, $target as t, $as_of as a from raw.orders limit $limit_rows"
    )
    found = compiled(tmp_path, {"interlock.toml": VARS, "models/m.sql": text})
    assert errors(found) == []
    assert found.models["m"].sql == (
        "select 'eu' as r, 1-(-3) as b, DATE '2024-02-29' as d, status in ['a', 'b''c'] as l, 'dev' as t, "
        'TIMESTAMPTZ \'2026-03-01 12:00:00+00:00\' as a from "warehouse"."raw"."orders" AS "orders" limit 5'
    )
    assert found.models["m"].variables == ("as_of", "below", "day", "limit_rows", "list", "region", "target")
    assert list(columns(found).values()) == ["VARCHAR", "INTEGER", "DATE", "BOOLEAN", "VARCHAR", "TIMESTAMP WITH TIME ZONE"]


def test_a_name_in_a_literal_or_comment_is_no_variable(tmp_path: Path) -> None:
    found = compiled(tmp_path, {"models/m.sql": 'select \'$nothing\' as a, $$ $nothing $$ as b, "$c" from (select 1 as "$c") -- $nothing'})
    assert errors(found) == []
    assert found.models["m"].variables == ()


def test_a_value_cannot_become_more_than_a_value(tmp_path: Path) -> None:
    config = CONFIG + '[vars]\nregion = "x\'; drop table t; --"\n'
    found = compiled(tmp_path, {"interlock.toml": config, "models/m.sql": "select $region as r"})
    assert found.models["m"].sql == "select 'x''; drop table t; --' as r"
    assert errors(found) == []


def test_variables_of_macros_are_variables_of_their_callers(tmp_path: Path) -> None:
    files = {
        "interlock.toml": VARS,
        "macros/a.sql": "create macro here(x) as x = $region",
        "models/m.sql": "select here(status) as h from raw.orders",
    }
    found = compiled(tmp_path, files)
    assert found.models["m"].variables == ("region",)
    assert found.macros == ("create TEMP macro here(x) as x = 'eu'",)


def test_a_variable_in_quotes_is_text_and_that_is_said(tmp_path: Path) -> None:
    text = "select '$region' as a, '$regions' as b, 'a$region' as c, $region as d -- '$region'\nwhere '$as_of' <> 'x'"
    found = compiled(tmp_path, {"interlock.toml": VARS, "models/m.sql": text})
    assert [(finding.code, finding.severity, finding.summary) for finding in found.findings] == [
        ("L229", "warning", "`'$region'` is a text, and not the value of the variable"),
        ("L229", "warning", "`'$as_of'` is a text, and not the value of the variable"),
    ]
    assert [place(finding)[1:3] for finding in found.findings] == [(1, 8), (2, 7)]
    assert "'$region' as a" in found.models["m"].sql
    found = compiled(tmp_path, {"interlock.toml": VARS, "models/m.sql": "select 1 as a where 'x' = '$region'"})
    assert [finding.code for finding in found.findings] == ["L229"]
