"""Kinds of failure in several shapes: each is found in all of them, and what only looks like one is not."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.projects import compiled

FOUND = {
    "L226": [
        "select id, amount from raw.orders union all select amount, id from raw.orders",
        "select id, amount, status from raw.orders union all select id, status, amount::varchar from raw.orders",
        "select id, amount, status from raw.orders union all select amount, id, status || 'x' as s from raw.orders",
        "select id, AMOUNT from raw.orders except select Amount, ID from raw.orders",
        "with a as (select id, amount from raw.orders union all select amount, id from raw.orders) select id from a",
        "select id from raw.orders where id in (select id from (select id, amount from raw.orders union select amount, id from raw.orders))",
        "select * from (values (1, 2)) v(a, b) union all select * from (values (3, 4)) w(b, a)",
        "select * from range(3) a(i), range(2) b(k) union all select * from (values (1, 2)) w(k, i)",
        (
            "select * exclude (name, ratio, naive, tags, place, status, ordered_at, day) from raw.orders join raw.customers using (id) "
            "union all select customer, id, amount from raw.orders"
        ),
        "select * from (select id, amount from raw.orders) natural join (select id, name from raw.customers) union all select amount, id, status from raw.orders",
        (
            "select id, amount from (select * from raw.orders semi join raw.customers using (id)) union all "
            "select * exclude (customer, status, ordered_at, day) rename (amount as id, id as amount) from raw.orders"
        ),
        "select columns('^(id|amount)$') from raw.orders union all select columns('id|amount') from (select amount, id from raw.orders)",
    ],
    "L227": [
        "select '2025-01-01T08:00:00+08'::timestamp as x",
        "select timestamp '2025-01-01 08:00:00Z' as x",
        "select '2025-01-01T08:00:00 UTC'::timestamp as x",
        "select try_cast('2025-01-01T08:00:00-05:00' as timestamp_ms) as x",
        "select id from raw.customers where naive > '2025-01-01T08:00:00+08'",
        "select id from raw.customers where naive between '2025-01-01T08:00:00+08' and '2025-01-02 00:00:00'",
        "select id from raw.customers where naive in ('2025-01-01 08:00:00Z')",
    ],
    "L211": ["select 1 + 1", "select cast(id as int) from raw.orders"],
    "L212": [
        "select [] as x",
        "select {'a': null} as x",
        "select map([], []) as x",
        "select null as x union all select null",
        "select max(null) as x",
        "with a as (select null as x) select x from a",
    ],
    "L203": ["describe raw.orders", "summarize raw.orders", "show tables", "explain select 1 as a", "copy raw.orders to 'x.csv'"],
    "L208": ["select * from read_csv('x.csv')", "select * from 'x.parquet' t", "select getenv('HOME') as x", "select nextval('s') as x"],
}
NOT_FOUND = [
    "select id, amount from raw.orders union all by name select amount, id from raw.orders",
    "select id, amount from raw.orders union all select id, 0 from raw.orders",
    "select id as a, customer as b from raw.orders union all select customer, id from raw.orders",
    "select id from raw.orders where ordered_at > '2025-01-01T08:00:00+08'",
    "select id from raw.customers where name = '2025-01-01 08:00:00+08'",
    "select id from raw.customers where naive > '2025-01-01 08:00:00'",
    "select * from (values (1, 2)) t(a, b)",
    "values (1, 2), (3, 4)",
    "select col0 as a from (values (1, 2))",
    "select null as x union all select 1",
    "select * from (values (1, 2)) v(a, b) union all select * from (values (3, 4)) w(a, b)",
    "select * from (values (1, 2)) v(a, b) union all select * from (values (3, 4)) w(b, c)",
    "select * from raw.orders semi join raw.customers using (id) union all select * from raw.orders",
    "select * like 'i%' from raw.orders",
    "select * similar to '(id|customer)' from raw.orders union all select id, customer from raw.orders",
    "select orders.* ilike '%D' from raw.orders",
    "select 1 as a;; -- the end",
]


def test_a_kind_of_failure_is_found_in_each_of_its_shapes(tmp_path: Path) -> None:
    texts = [(code, text) for code, several in FOUND.items() for text in several]
    found = compiled(tmp_path, {f"models/m{index}.sql": text for index, (_, text) in enumerate(texts)})
    for index, (code, text) in enumerate(texts):
        told = {finding.code for finding in found.findings if finding.subject == f"m{index}" and finding.severity != "note"}
        assert told == {code}, text


def test_what_only_looks_like_it_is_not_found(tmp_path: Path) -> None:
    found = compiled(tmp_path, {f"models/m{index}.sql": text for index, text in enumerate(NOT_FOUND)})
    assert found.findings == ()
