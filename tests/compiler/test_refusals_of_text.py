"""Every finding about a model's text, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import codes, compiled, errors, model, place, the

CASES = [
    # code, text, line, column, length
    ("L200", "select a frm +", 1, 10, 3),
    ("L200", "select 'é' as é\nfrom raw.orders where", 2, 17, 5),
    ("L201", "select ammount from raw.orders", 1, 8, 7),
    ("L201", "select 'é' as x,\n  ammount from raw.orders", 2, 3, 7),
    ("L201", "select id + ordered_at as x from raw.orders", 1, 11, 1),
    ("L201", "select no_such_function(id) as x from raw.orders", 1, 8, 16),
    ("L201", "select cast(id as nonsense) as x from raw.orders", 1, 19, 8),
    ("L201", "select list_transform([1, 2], x -> x + 1) as x", None, None, None),
    ("L201", "select o.id from raw.orders as orders", 1, 8, 4),
    ("L201", "select id, sum(amount) as x from raw.orders", 1, 8, 2),
    ("L201", "select id from raw.orders union all select 1, 2", None, None, None),
    ("L202", "select 1 as a;\nselect 2 as b", 2, 1, 6),
    ("L202", "select 1 as a; drop table m", 1, 16, 4),
    ("L202", "-- nothing\n", 1, 1, None),
    ("L202", "", 1, 1, 0),
    ("L202", " \n\n", 1, 1, 0),
    ("L200", "select 1 as a,\r\n  b from from raw.orders\r\n", 2, 10, 4),
    ("L201", "select 1 as a,\r\n  b from raw.orders\r\n", 2, 3, 1),
    ("L203", "insert into x values (1)", 1, 1, 6),
    ("L203", "update raw.orders set id = 1", 1, 1, 6),
    ("L203", "delete from raw.orders", 1, 1, 6),
    ("L203", "create table x as select 1", 1, 1, 6),
    ("L203", "copy raw.orders to 'x.csv'", 1, 1, 4),
    ("L203", "pragma version", 1, 1, 6),
    ("L203", "attach 'x.duckdb'", 1, 1, 6),
    ("L203", "set threads = 1", 1, 1, 3),
    ("L203", "explain select 1", 1, 1, 7),
    ("L203", "call pragma_version()", 1, 1, 4),
    ("L203", "describe select 1", None, None, None),
    ("L203", "show tables", None, None, None),
    ("L203", "select * from (describe raw.orders)", None, None, None),
    ("L203", "merge into x using y on true when matched then delete", 1, 1, 5),
    ("L204", "select * from raw.order", 1, 15, 9),
    ("L204", "select * from elsewhere.raw.orders", 1, 15, 20),
    ("L204", "select * from (select * from nowhere)", 1, 30, 7),
    ("L204", "select * from duckdb_tables", 1, 15, 13),
    ("L204", "select * from information_schema.tables", 1, 15, 25),
    ("L204", 'select * from "RAW"."nothing here"', 1, 15, 20),
    ("L207", "select 1 as a union all select a from m", 1, 39, 1),
    ("L207", "select a from main.m", 1, 15, 6),
    ("L208", "select * from 'landing/a.parquet'", 1, 15, 19),
    ("L208", 'select * from "landing/a.parquet"', 1, 15, 19),
    ("L208", "select * from read_csv('a.csv')", 1, 15, 8),
    ("L208", "select * from read_text('/etc/passwd')", 1, 15, 9),
    ("L208", "select * from glob('*')", 1, 15, 4),
    ("L208", "select * from query('select 1')", 1, 15, 5),
    ("L208", "select * from query_table('m')", 1, 15, 11),
    ("L208", "select * from duckdb_tables()", 1, 15, 13),
    ("L208", "select * from json_execute_serialized_sql('{}')", 1, 15, 27),
    ("L208", "select (select max(x) from (select json_execute_serialized_sql('{}') as x)) as y", 1, 36, 27),
    ("L208", "select getenv('HOME') as x", 1, 8, 6),
    ("L208", "select current_setting('threads') as x", 1, 8, 15),
    ("L208", "select nextval('s') as x", 1, 8, 7),
    ("L209", "select $nothing as x", 1, 8, 8),
    ("L209", "select id from raw.orders where ordered_at < $until", 1, 46, 6),
    ("L209", "select ? as x", 1, 8, 1),
    ("L209", "select $1 as x", 1, 8, 1),
    ("L210", "select id, customer as ID from raw.orders", 1, 12, 8),
    ("L210", 'select 1 as "A", 2 as "a"', None, None, None),
    ("L210", "select * from raw.orders join raw.customers on orders.customer = customers.id", None, None, None),
    ("L211", "select count(*) from raw.orders", 1, 8, None),
    ("L211", "select id, amount * 2 from raw.orders", None, None, None),
    ("L211", "select max(id) from raw.orders union all select 1", 1, 8, None),
    ("L212", "select null as foo", 1, 8, None),
    ("L232", "select id, amount as interlock_t from raw.orders", 1, 12, 6),
    ("L232", 'select o.* from (select id, 1 as "Interlock_New" from raw.orders) o', None, None, None),
    ("L212", "select [] as foo", None, None, None),
    ("L212", "select 1 as a, {'x': [null]} as foo", None, None, None),
    ("L213", "select * from {{ ref('orders') }}", 1, 15, 2),
    ("L213", "{% if true %} select 1 as a {% endif %}", 1, 1, 2),
    ("L213", "select ${x} as a", 1, 8, 2),
    ("L214", "with x as (insert into t values (1) returning *) select * from x", None, None, None),
    ("L214", "with x as (delete from raw.orders returning *) select id from x", None, None, None),
    ("L215", "pivot raw.orders on status using sum(amount)", 1, 1, 5),
    ("L215", "with p as (pivot raw.orders on status using sum(amount)) select * from p", 1, 12, 5),
    ("L215", "select * from raw.orders pivot (sum(amount) for status in some_enum)", None, None, None),
    ("L216", "select raw.orders.id from raw.orders", 1, 8, 13),
    ("L216", "select id from raw.orders where RAW.Orders.amount > 0", 1, 33, 17),
    ("L216", "select raw.orders.* from raw.orders", 1, 8, 12),
    ("L218", "select now() as x", 1, 8, 3),
    ("L218", "select current_timestamp as x", 1, 8, 17),
    ("L218", "select age(ordered_at) as x from raw.orders", 1, 8, 3),
    ("L218", "select id from raw.orders using sample 10", None, None, None),
    ("L218", "select id, random() as x from raw.orders", 1, 12, 6),
    ("L218", "select string_agg(status) as x from raw.orders", 1, 8, 10),
    ("L219", "table m2", None, None, None),
    ("L226", "select id, customer from raw.orders union all select customer, id from raw.orders", 1, 54, None),
    ("L226", "select id, name from raw.customers union select name, id from (select name, id from raw.customers)", None, None, None),
    ("L226", "with a as (select 1 as x, 2 as y), b as (select 3 as y, 4 as x) select * from a union all select * from b", None, None, None),
    ("L227", "select '2025-01-01T08:00:00+08'::timestamp as x", 1, 8, 24),
    ("L227", "select timestamp '2025-01-01 08:00:00Z' as x", None, None, None),
]


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [(case[0], case[1], case[2:]) for case in CASES],
    ids=[f"{case[0]}-{index}" for index, case in enumerate(CASES)],
)
def test_it_is_found_where_it_stands(code: str, text: str, expected: tuple[int | None, int | None, int | None], tmp_path: Path) -> None:
    line, column, length = expected
    found = model(tmp_path, text, models__m2="select 1 as a")
    assert code in codes(found), [(finding.code, finding.summary, finding.because) for finding in found.findings]
    finding = next(finding for finding in found.findings if finding.code == code)
    assert finding.summary
    assert finding.because
    assert finding.remedy
    assert finding.subject == "m"
    at = place(finding)
    assert at[0] == "models/m.sql"
    if line is not None:
        assert at[1:3] == (line, column)
        assert finding.at is not None
        assert finding.at.excerpt == text.split("\n")[line - 1].rstrip("\r")
    if length is not None:
        assert at[3] == length
    if code not in {"L218", "L227"}:
        assert found.models["m"].blocked


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("select ammount from raw.orders", "did you mean `amount`?"),
        ("select * from orders", "did you mean `raw.orders`?"),
        ("select * from raw.order", "did you mean `raw.orders`?"),
        ("select * from m2x", "did you mean `m2`?"),
        ("select $as_off as x", "did you mean `as_of`?"),
        ("select roun(amount) as x from raw.orders", "did you mean `round`?"),
        ("select list_transform([1, 2], x -> x + 1) as x", "write `lambda x: …` instead of `x -> …`"),
    ],
)
def test_what_would_do_is_offered(text: str, remedy: str, tmp_path: Path) -> None:
    (finding,) = errors(model(tmp_path, text, models__m2="select 1 as a"))
    assert finding.remedy == remedy


@pytest.mark.parametrize(
    "text",
    [
        "select '{{ not_a_template }}' as a -- {{ nor this }}\n",
        "select {'a': {'b': 1}} as s",
        "select 1 as a;",
        "select 1 as a; -- the end",
        "select 1 as a /* ; */ ;;\n-- ; drop table x\n",
        "values (1, 2)",
        "(select 1 as a)",
        "from raw.orders",
        "from raw.orders select id",
        "select id from raw.orders o where o.id = 1 and o.status in ('a', 'b')",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10) select i from n",
        "select columns('id|amount') from raw.orders",
        "select * exclude (id) replace (amount * 2 as amount) from raw.orders",
        "select id from raw.orders union all by name select id, name from raw.customers",
        "select id, name from raw.customers union all select id, name from raw.customers",
        "select place.city, customers.place.zip from raw.customers",
        "select age(ordered_at, ordered_at) as a, date_trunc('day', ordered_at) as d from raw.orders",
        "select x from range(3) t(x), unnest([1, 2]) u(y), generate_series(1, 2) g(z)",
        "select '2025-01-01T08:00:00+08'::timestamptz as x, '2025-01-01 08:00:00'::timestamp as y",
        "with o as (select * from raw.orders) pivot o on status in ('a', 'b') using sum(amount) group by day",
        "select string_agg(status order by id) as x from raw.orders",
        "select id from raw.orders tablesample reservoir (10) repeatable (42)",
        "select list_transform([1, 2], lambda x: x + 1) as x",
        "select interlock_t.id as not_interlock_t from raw.orders as interlock_t",
        "select id from warehouse.raw.orders",
        "select id from dev.raw.orders",
        "select id from RAW.Orders",
    ],
)
def test_it_is_taken_without_a_word(text: str, tmp_path: Path) -> None:
    found = model(tmp_path, text)
    assert found.findings == ()
    assert found.models["m"].columns
    assert not found.models["m"].blocked


def test_a_text_that_is_not_sql_does_not_keep_others_from_being_looked_at(tmp_path: Path) -> None:
    found = compiled(
        tmp_path, {"models/a.sql": "select +", "models/b.sql": "select nope from raw.orders", "models/c.sql": "select 1 as x from a"}
    )
    assert [(finding.code, finding.subject) for finding in found.findings] == [("L200", "a"), ("L201", "b"), ("L220", "c")]
    assert the(found, "L220").severity == "note"
    assert found.models["c"].blocked


def test_an_error_is_told_once_and_not_again_by_those_that_read_it(tmp_path: Path) -> None:
    found = compiled(
        tmp_path,
        {"models/a.sql": "select count(*) from raw.orders", "models/b.sql": "select * from a", "models/c.sql": "select * from b"},
    )
    assert [(finding.code, finding.subject) for finding in found.findings] == [("L211", "a")]
    assert all(found.models[name].blocked for name in "abc")


def test_a_circle_is_named_in_full(tmp_path: Path) -> None:
    found = compiled(
        tmp_path,
        {
            "models/a.sql": "select * from b",
            "models/b.sql": "select * from c",
            "models/c.sql": "select *\nfrom a",
            "models/d.sql": "select * from a",
        },
    )
    finding = the(found, "L206")
    assert finding.because == "`a` reads `b` reads `c` reads `a`"
    assert place(finding) == ("models/a.sql", 1, 15, 1)
    assert [(at.path, at.line, at.column, at.length) for at in finding.also] == [("models/b.sql", 1, 15, 1), ("models/c.sql", 2, 6, 1)]
    assert all(found.models[name].blocked for name in "abcd")


def test_a_long_chain_is_no_deep_hole(tmp_path: Path) -> None:
    chain = " || ".join(["status"] * 900)
    files = {
        "models/a.sql": f"select {chain} as s from raw.orders",
        "models/b.sql": " union all ".join(["select id from raw.orders"] * 900),
    }
    assert compiled(tmp_path, files).findings == ()


def test_an_expression_that_is_too_deep_for_the_engine_is_a_finding(tmp_path: Path) -> None:
    assert codes(model(tmp_path, f"select {' || '.join(['status'] * 1500)} as s from raw.orders")) == ["L200"]
