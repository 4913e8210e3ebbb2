"""Rows that are taken in no fixed order are told of, and an order by what is unique counts as total."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.projects import compiled, the

from interlock.engine.diagnostics import Diagnostic

ORDERS = "select id, customer, amount, status, ordered_at, day from raw.orders"
CUSTOMERS = "select id, name from raw.customers"
KEYS = 'materialized = "table"\n[[checks]]\nunique = ["id"]\n[[checks]]\nnot_null = ["id"]\n'
LINES = "select id as order_id, customer as line, amount from raw.orders"
TWO_KEYS = 'materialized = "table"\n[[checks]]\nunique = ["order_id", "line"]\n[[checks]]\nnot_null = ["order_id", "line"]\n'


STRICT = 'materialized = "table"\ndeterministic = true\n'


def shop(root: Path, texts: list[str], toml: str = "") -> dict[str, list[Diagnostic]]:
    """Findings of a model for each of the texts, all of one project."""
    files = {
        "models/orders.sql": ORDERS,
        "models/orders.toml": KEYS,
        "models/customers.sql": CUSTOMERS,
        "models/customers.toml": KEYS,
        "models/lines.sql": LINES,
        "models/lines.toml": TWO_KEYS,
        "models/per_day.sql": "select day, count(*) as n from orders group by day",
        "models/latest.sql": "select * from orders qualify row_number() over (partition by customer order by ordered_at desc, id) = 1",
        "seeds/regions.csv": "region,name\n1,north\n2,south\n",
    }
    for index, text in enumerate(texts):
        files[f"models/m{index}.sql"] = text
        if toml:
            files[f"models/m{index}.toml"] = toml
    found = compiled(root, files)
    # That other programs cannot read a view which pivots is told beside it (L231).
    told = {
        text: [each for each in found.findings if each.subject == f"m{index}" and each.code != "L231"] for index, text in enumerate(texts)
    }
    for index, (text, findings) in enumerate(told.items()):
        warns = any(finding.severity == "warning" for finding in findings)
        assert bool(found.models[f"m{index}"].unsettled) == warns or toml, text
    return told


SETTLED = [
    "select * from orders order by id limit 3",
    "select * from orders order by amount desc, id limit 3",
    "select * from orders o order by o.id desc limit 3 offset 2",
    "select * from orders order by 1 limit 3",
    "select id as x, amount from orders order by x limit 3",
    "select * from orders order by all limit 3",
    "select amount from raw.orders order by amount limit 3",
    "select amount * 2 as d from raw.orders order by amount limit 3",
    "select distinct status from raw.orders order by status limit 3",
    "select count(*) as n from raw.orders limit 1",
    "select status, count(*) as n from raw.orders group by status order by n desc, status limit 3",
    "select status, count(*) as n from raw.orders group by all order by n desc, 1 limit 3",
    "select o.id, c.name from orders o join customers c on c.id = o.customer order by o.id limit 3",
    "select o.id, c.name from orders o left join customers c on o.customer = c.id order by o.id limit 3",
    "select c.name, o.id from customers c right join orders o on o.customer = c.id order by o.id limit 3",
    "select o.id as o, c.id as c from orders o, customers c order by o.id, c.id limit 3",
    "select id, name from orders join customers using (id) order by id limit 3",
    "select order_id, line from lines order by line, order_id limit 3",
    "select * from lines where order_id = '7' order by line limit 3",
    "select * from per_day order by n desc, day limit 3",
    "select * from latest order by customer limit 3",
    "with q as (select * from orders where amount > 1) select * from q order by id limit 3",
    "with q(a, b) as (select id, amount from orders) select b from q order by b, a limit 3",
    "select * from (select id, amount from orders) q order by q.id limit 3",
    "select * from regions order by region limit 1",
    "select * from orders limit 0",
    "select * from (values (1), (2)) v(a) limit 1",
    "select range as i from range(5) limit 2",
    "select exists (select 1 from raw.orders limit 1) as e",
    "select id, (select name from customers c where c.id = o.customer limit 1) as name from orders o",
    "select distinct on (customer) customer, id from orders order by customer, id",
    "select id from orders union select id from customers order by id limit 3",
    "select a.id from orders a semi join customers c on c.id = a.customer order by a.id limit 2",
    "select list(status order by status) as l from raw.orders",
    "select customer, list(status order by id) as l from orders group by customer",
    "select customer, json_group_array(customer) as j from orders group by customer",
    "select array(select status from raw.orders order by status) as l",
    "select array(select status from orders order by id) as l",
    "select id, array(select name from customers c where c.id = o.customer) as l from orders o",
    "select status, count(*) as n from raw.orders where status collate nocase = 'a' group by status order by status collate nocase",
    "select count(*) as n from raw.orders where status in (select status from raw.customers) and status collate nocase > 'b'",
    'select max(status collate "binary") as s from raw.orders',
    "select o.rowid as r from (select id as rowid from orders) o",
    "with recursive r(i, n) using key (i) as (select 1, 0 union select i + 1 as j, min(n) as n from r where i < 9 group by 1) select * from r",
    "select list_sort(list(status)) as l, len(list(id)) as n from raw.orders",
    "select customer, any_value(customer) as c, first(customer + 1) as d from raw.orders group by customer",
    "select o.id, any_value(c.name) as n from orders o join customers c on c.id = o.customer group by o.id",
    "select customer, arg_max(status, (ordered_at, id)) as s from orders group by customer",
    "select id, row_number() over (partition by customer order by ordered_at, id) as n from orders",
    "select o.id, x.amount from orders o asof join orders x on o.customer = x.customer and o.id >= x.id",
    "select a.x, b.y from (values (1), (2)) a(x) positional join (values (3), (4)) b(y)",
    "select id, rank() over (order by amount) as n, sum(amount) over () as s from raw.orders",
    "select id, sum(amount) over (order by day) as s, count(*) over (order by day groups 1 preceding) as n from raw.orders",
    "select id, sum(amount) over (order by day, id rows 6 preceding) as s from orders",
    "select id, max(amount) over (order by day rows between unbounded preceding and unbounded following) as s from raw.orders",
    "select customer, mode(status order by status) as s from raw.orders group by customer",
    "select customer, mode(customer) as s, mode(customer + 1) as t from raw.orders group by customer",
    "select id, arg_max(status, id) over (partition by customer) as s from orders",
    "select id, fill(amount) over (order by id) as s from orders",
    "select id, last_value(status order by status) over (partition by customer) as s from raw.orders",
    "select id, last_value(status order by day, id) over (partition by customer) as s from orders",
    "select id, sum(amount order by id) over (order by id rows 3 preceding) as s from orders",
]
TIES = [
    "select * from orders order by amount limit 3",
    "select * from raw.orders order by id limit 3",
    "select distinct status, day from raw.orders order by status limit 3",
    "select status, count(*) as n from raw.orders group by status order by n desc limit 3",
    "select status, day, count(*) as n from raw.orders group by grouping sets ((status), (day)) order by status limit 3",
    "select o.id, c.name from orders o, customers c order by o.id limit 3",
    "select o.id, x.name from orders o join raw.customers x on x.id = o.customer order by o.id limit 3",
    "select c.id, o.id as o from orders o join customers c on c.id = o.customer order by c.id limit 3",
    "select order_id, line from lines order by order_id limit 3",
    "select * from orders order by id + 1 limit 3",
    "select id, unnest([1, 2]) as u from orders order by id limit 3",
    "select id from orders union all select id + 1 from orders order by id + 1 limit 3",
    "select o.id, c.id as c from orders o full join customers c on c.id = o.customer order by o.id limit 3",
    "select distinct on (customer) customer, id from orders order by customer, amount",
    "select * from (select id, amount from orders union all select id, amount from orders) order by id limit 3",
]
NO_ORDER = [
    "select id from raw.orders tablesample 50 percent limit 3",
    "select id, row_number() over () as n from orders using sample reservoir(10 rows) repeatable (1)",
    "select o.id, c.name from raw.orders o positional join raw.customers c",
    "select * from orders limit 3",
    "select * from raw.orders offset 3",
    "select * from orders limit 10 percent",
    "select id from orders union all select id from customers limit 3",
    "select distinct on (customer) customer, id from orders",
    "select id in (select id from raw.customers limit 5) as e from orders",
    "select * from (select * from orders limit 10) order by id",
    "select list(status) as l from raw.orders",
    "select customer, first(status) as s, string_agg(status) as l from raw.orders group by customer",
    "select any_value(status) as s from raw.orders",
    "select id, row_number() over () as n from orders",
    "select id, row_number() over (partition by customer) as n from orders",
    "select id, lag(id) over () as n, list(id) over () as l from orders",
    "select id, sum(amount) over (rows between 1 preceding and current row) as s from orders",
    "select json_group_array(status) as j from raw.orders",
    "select customer, json_group_object(status, id) as j from orders group by all",
    "select array(select status from raw.orders) as l",
    "select id, array(select name from raw.customers c where c.id > o.id) as l from orders o",
]
ONLY_WHERE_IT_MUST_BE = [
    "select o.id, x.amount from orders o asof join raw.orders x on o.customer = x.customer and o.ordered_at >= x.ordered_at",
    "select customer, list(status order by day) as l from orders group by customer",
    "select customer, arg_max(status, ordered_at) as s from orders group by customer",
    "select id, row_number() over (partition by customer order by day) as n from orders",
    "select id, sum(amount) over (order by day rows between 6 preceding and current row) as s from orders",
    "select id, count(*) over (order by day rows unbounded preceding) as n from orders",
    "select id, max(amount) over w as m from orders window w as (partition by customer order by day rows 1 preceding)",
    "select mode(status) as s from raw.orders",
    "select customer, mode(status order by day) as s from orders group by customer",
    "select id, mode(status) over (partition by customer) as s from orders",
    "select id, arg_max(status, day) over (partition by customer) as s from orders",
    "select id, max_by(status, day) over (order by customer) as s from orders",
    "select id, fill(amount) over (order by day) as s from orders",
    "select id, last_value(status order by day) over (partition by customer) as s from orders",
    "select id, last_value(status order by status) over (order by day rows 1 preceding) as s from orders",
    "select array(select status from raw.orders order by day) as l",
    "select id, rowid as place from raw.orders",
    "select id from raw.orders o where o.rowid < 10",
    "select id from raw.orders tablesample reservoir (10) repeatable (42)",
    "select id from raw.orders o using sample 10 percent (bernoulli, 42)",
    "select max(status collate nocase) as s from raw.orders",
    "select distinct status collate nocase as s from raw.orders",
    "select status collate nocase as s, count(*) as n from raw.orders group by 1",
    "select status collate nocase as s from raw.orders union select status from raw.orders",
    "with q as (select status collate nocase as s from raw.orders) select s from q group by s",
    "select list(status order by status collate nocase) as l from raw.orders",
    "with recursive r(i, s) using key (i) as (select customer, status from raw.orders union select i, s from r where i < 0) select * from r",
]


def test_a_total_order_is_seen(tmp_path: Path) -> None:
    assert {text: found for text, found in shop(tmp_path, SETTLED, STRICT).items() if found} == {}


def test_without_one_it_is_told_and_refused_where_rows_must_be_the_same(tmp_path: Path) -> None:
    texts = [*TIES, *NO_ORDER]
    for text, findings in shop(tmp_path / "a", texts).items():
        assert {(finding.code, finding.severity) for finding in findings} == {("L218", "warning")}, text
        assert all(finding.at is not None and finding.at.line == 1 for finding in findings), text
    for text, findings in shop(tmp_path / "b", texts, STRICT).items():
        assert {(finding.code, finding.severity) for finding in findings} == {("L217", "error")}, text


def test_ties_are_refused_only_where_rows_must_be_the_same(tmp_path: Path) -> None:
    assert not any(shop(tmp_path / "a", ONLY_WHERE_IT_MUST_BE).values())
    for text, findings in shop(tmp_path / "b", ONLY_WHERE_IT_MUST_BE, STRICT).items():
        assert [finding.code for finding in findings] == ["L217"], text


def test_what_a_view_or_ephemeral_leaves_to_chance_is_left_so_by_its_readers(tmp_path: Path) -> None:
    files = {
        "models/v.sql": "select id, random() as r from raw.orders",
        "models/e.sql": "select id from raw.customers limit 5",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/m.sql": "select v.id from v join e on e.id = v.id",
        "models/m.toml": 'materialized = "table"\n',
        "models/t.sql": "select id from v",
        "models/t.toml": 'materialized = "table"\ndeterministic = true\n',
    }
    found = compiled(tmp_path, files)
    assert found.models["m"].unsettled == ("LIMIT", "random")
    refused = the(found, "L217")
    assert (refused.subject, "`random` of `v`" in refused.summary) == ("t", True)


def test_ties_behind_views_and_ephemerals_are_those_of_a_reader_whose_rows_must_be_the_same(tmp_path: Path) -> None:
    numbered = "select id, row_number() over (order by day) as n from orders"
    files = {
        "models/orders.sql": ORDERS,
        "models/orders.toml": KEYS,
        "models/v.sql": numbered,
        "models/w.sql": "select n from v",
        "models/e.sql": numbered,
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/settled.sql": "select id, row_number() over (order by day, id) as n from orders",
        "models/m.sql": "select n from w",
        "models/m.toml": STRICT,
        "models/o.sql": "select n from e",
        "models/o.toml": STRICT,
        "models/p.sql": "select n from settled",
        "models/p.toml": STRICT,
        "models/q.sql": "select n from w",
        "models/q.toml": 'materialized = "table"\n',
    }
    found = compiled(tmp_path, files)
    assert [(each.code, each.subject) for each in found.findings] == [("L217", "m"), ("L217", "o")]
    assert "`row_number` of `w`" in found.findings[0].summary


def test_a_unique_check_without_not_null_is_no_key(tmp_path: Path) -> None:
    files = {
        "models/t.sql": "select id, amount from raw.orders",
        "models/t.toml": 'materialized = "table"\n[[checks]]\nunique = ["id"]\n',
        "models/m.sql": "select * from t order by id limit 1",
    }
    assert compiled(tmp_path, files).models["m"].unsettled == ("LIMIT",)


def test_under_a_collation_texts_that_differ_may_be_equal(tmp_path: Path) -> None:
    config = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n[targets.dev.settings]\ndefault_collation = "nocase"\n'
    text = "select distinct status from raw.orders order by status limit 3"
    assert compiled(tmp_path, {"interlock.toml": config, "models/m.sql": text}).models["m"].unsettled == ("LIMIT",)


def test_what_a_source_promises_makes_no_key_since_nobody_asks_it_for_an_order(tmp_path: Path) -> None:
    files = {
        "sources.toml": '[sources."raw.t".columns]\nid = { type = "BIGINT", nullable = false }\n',
        "models/o.sql": "select id, id % 3 as v from raw.t",
        "models/o.toml": 'materialized = "table"\n[[checks]]\nunique = ["id"]\n',
        "models/m.sql": "select v from o order by id limit 3",
        "models/m.toml": STRICT,
    }
    assert the(compiled(tmp_path, files), "L217").subject == "m"


EXACT = [
    "select sum(amount) as s, avg(id) as a, sum(id) as i from orders",
    "select sum(cast(w as decimal(18, 2))) as s, sum(w order by id) as t from (select id, amount::double as w from orders)",
    "select customer, sum(id) as n, sum(amount::double order by id) as s from orders group by all",
    "select sum(amount::double order by amount::double) as s from orders",
    "select id, sum(amount::double) as s from orders group by id",
    "select id, sum(amount::double) over (partition by customer order by id) as s from orders",
    "select stddev(amount order by id) as s from orders",
    "select sum(id) as i, sum(amount::float order by id) as s from orders",
    "select median(amount::double) as m, quantile_cont(amount::double, 0.3) as q, min(amount::float) as s, count(amount::double) as n from orders",
    "select min(s) as s from (select sum(id) as s from orders group by customer)",
    "select weighted_avg(amount, id) as s from orders",
]
FLOATING = [
    "select sum(amount::double) as s from orders",
    "select sum(w) as s from (select amount::float as w from orders)",
    "with a as (select id::double as id from orders) select sum(id) as s from a",
    "select customer, avg(amount * 1e0) as s from orders group by customer",
    "select mean(amount::double) filter (id > 3) as s from orders",
    "select sum(distinct amount::double) as s from orders",
    "select sum(amount::double order by customer) as s from orders",
    "select fsum(amount) as s from orders",
    "select stddev(id) as s from orders",
    "select corr(id, customer) as s from orders",
    "select id, sum(amount::double) over (partition by customer) as s from orders",
    "select id, sum(amount::double) over (order by customer) as s from orders",
    "select id from orders where amount > (select avg(amount::double) from orders)",
    "select customer from orders group by customer having sum(amount::double) > 3",
    "select * from (select day, amount::double as a from orders) pivot (sum(a) for day in ('2024-01-01', '2024-01-02'))",
    "select weighted_avg(amount::double, id) as s from orders",
    "select wavg(id, amount::float) as s from orders",
]


def test_sums_of_floating_point_numbers_need_an_order_where_rows_must_be_the_same(tmp_path: Path) -> None:
    assert not any(shop(tmp_path / "a", EXACT, STRICT).values())
    assert not any(shop(tmp_path / "b", FLOATING).values())
    for text, findings in shop(tmp_path / "c", FLOATING, STRICT).items():
        assert {(finding.code, finding.severity) for finding in findings} == {("L217", "error")}, text
        assert "floating point" in findings[0].because, text


def test_a_sum_of_floating_point_numbers_behind_a_view_a_macro_or_an_ephemeral_is_seen(tmp_path: Path) -> None:
    files = {
        "macros/m.sql": "CREATE MACRO total(x) AS sum(x)",
        "models/v.sql": "select customer, sum(amount::double) as s from raw.orders group by customer",
        "models/w.sql": "select s from v",
        "models/e.sql": "select avg(id::double) as s from raw.orders",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/behind_views.sql": "select s from w",
        "models/behind_views.toml": STRICT,
        "models/behind_an_ephemeral.sql": "select s from e",
        "models/behind_an_ephemeral.toml": STRICT,
        "models/behind_a_macro.sql": "select total(id::double) as s from raw.orders",
        "models/behind_a_macro.toml": STRICT,
        "models/exact.sql": "select total(id) as s from raw.orders",
        "models/exact.toml": STRICT,
        "models/t.sql": "select s from v",
        "models/t.toml": 'materialized = "table"\n',
        "models/of_a_table.sql": "select s from t",
        "models/of_a_table.toml": STRICT,
    }
    found = [finding for finding in compiled(tmp_path, files).findings if finding.severity == "error"]
    assert {(finding.code, finding.subject) for finding in found} == {
        ("L217", "behind_views"),
        ("L217", "behind_an_ephemeral"),
        ("L217", "behind_a_macro"),
    }
