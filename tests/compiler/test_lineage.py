"""Column-level lineage: values and rows apart, through everything that a text may hold, and what breaks without a column."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import compiled

from interlock.engine.compiler.lineage import ColumnOf, Lineages
from interlock.engine.project.load import load


def lineages(root: Path, files: dict[str, str]) -> Lineages:
    found = compiled(root, files)
    assert not [finding for finding in found.findings if finding.severity == "error"], found.findings
    project = load(root, environment={})
    return Lineages(project, project.targets["dev"], found)


def of(root: Path, text: str, column: str = "c") -> tuple[set[str], set[str]]:
    looked = lineages(root, {"models/m.sql": text}).of("m")
    assert looked.complete, text
    values = next(each.values for each in looked.columns if each.column.column == column)
    return {short(each) for each in values}, {short(each) for each in looked.rows}


def short(column: ColumnOf) -> str:
    return f"{column.relation.removeprefix('raw.')}.{column.column}"


@pytest.mark.parametrize(
    ("text", "values", "rows"),
    [
        ("select id as c from raw.orders", "orders.id", ""),
        ("select id + amount as c from raw.orders where status = 'x'", "orders.id orders.amount", "orders.status"),
        ("select count(*) as c from raw.orders group by customer", "", "orders.customer"),
        ("select sum(amount) filter (where status = 'x') as c from raw.orders", "orders.amount", "orders.status"),
        ("select * rename (id as c) from raw.orders", "orders.id", ""),
        ("select * replace (amount as id) rename (status as c) from raw.orders", "orders.status", ""),
        ("with a as (select id as x, amount from raw.orders) select x as c from a where amount > 1", "orders.id", "orders.amount"),
        ("select x as c from (select id as x from raw.orders) q", "orders.id", ""),
        ("select id as c from raw.orders union all select id from raw.customers", "orders.id customers.id", ""),
        ("select id as c from raw.orders except select id from raw.customers", "orders.id customers.id", "orders.id customers.id"),
        (
            "select name as c from raw.orders o join raw.customers c on c.id = o.customer order by o.amount limit 1",
            "customers.name",
            "customers.id orders.customer orders.amount",
        ),
        ("select id as c from raw.orders full join raw.customers using (id)", "orders.id customers.id", "orders.id customers.id"),
        (
            "select sum(amount) over (partition by customer order by day) as c from raw.orders",
            "orders.amount",
            "orders.customer orders.day",
        ),
        ("select unnest(tags) as c from raw.customers", "customers.tags", "customers.tags"),
        ("select x.v as c from raw.customers, unnest(tags) as x(v)", "customers.tags", "customers.tags"),
        ("select place.city as c from raw.customers", "customers.place", ""),
        (
            "select (select max(c.id) from raw.customers c where c.name = o.status) as c from raw.orders o",
            "customers.id",
            "customers.name orders.status",
        ),
        ("select id as c from raw.orders where customer in (select id from raw.customers)", "orders.id", "orders.customer customers.id"),
        (
            "select id as c from raw.orders o where exists (select 1 from raw.customers x where x.id = o.customer)",
            "orders.id",
            "customers.id orders.customer",
        ),
        ("select case when status = 'x' then id else customer end as c from raw.orders", "orders.status orders.id orders.customer", ""),
        ("select list_transform(tags, lambda id: id || name) as c from raw.customers", "customers.tags customers.name", ""),
        ("select id as a, a + 1 as c from raw.orders", "orders.id", ""),
        ("with recursive r(n) as (select id from raw.orders union all select n + 1 from r where n < 3) select n as c from r", "orders.id", "orders.id"),
        ("select c from raw.orders unpivot (c for nm in (id, customer))", "orders.id orders.customer", "orders.id orders.customer"),
        ("select c from raw.orders unpivot include nulls (c for nm in (id, customer))", "orders.id orders.customer", ""),
        ("select o as c from (select id, day from raw.orders) o", "orders.id orders.day", ""),
        ("select q.c from raw.orders o, lateral (select o.amount * x.ratio as c from raw.customers x) q", "orders.amount customers.ratio", ""),
        ("select id as c from raw.orders qualify row_number() over (partition by customer order by day) = 1", "orders.id", "orders.customer orders.day"),
        # arguments of table functions: which rows there are, and of some the values too
        ("select i as c from raw.orders, range(customer) r(i)", "orders.customer", "orders.customer"),
        ("select i as c from raw.orders, generate_series(1, orders.customer) r(i)", "orders.customer", "orders.customer"),
        ("select id as c from raw.orders, range(customer)", "orders.id", "orders.customer"),
        ("select i as c from range((select max(customer) from raw.orders)) r(i)", "orders.customer", "orders.customer"),
        ("select (select count(*) from range(o.customer)) as c from raw.orders o", "", "orders.customer"),
        ("select q.n as c from raw.orders join lateral (select j as n from range(customer) h(j)) q on true", "orders.customer", "orders.customer"),
        ("select z as c from raw.orders, unnest([customer]) q(z)", "orders.customer", "orders.customer"),
        ("select z.ordinality as c from raw.customers, unnest(tags) with ordinality z", "", "customers.tags"),
        ("select orders.id as c from raw.orders, json_each(to_json(status)) q", "orders.id", "orders.status"),
        ("select name as c, unnest(tags) as t from raw.customers", "customers.name", "customers.tags"),
        ("select unnest(range(customer)) as c from raw.orders", "orders.customer", "orders.customer"),
        # what cuts rows off
        ("select id as c from raw.orders order by day limit (select max(zip) from (select place.zip from raw.customers))", "orders.id", "orders.day customers.place"),
        ("select id as c from raw.orders limit 3 offset (select min(id) from raw.customers)", "orders.id", "customers.id"),
        ("select c from (select id as c from raw.orders limit (select count(*) from raw.customers where ratio > 1)) q", "orders.id", "customers.ratio"),
        (
            "select id as c from raw.orders union all select id from raw.customers order by c limit 3",
            "orders.id customers.id",
            "orders.id customers.id",
        ),
        ("select c from (values ((select max(amount) from raw.orders))) v(c)", "orders.amount", ""),
        ("select o.id as c from raw.orders o, lateral (values (o.amount), (o.customer)) v(x)", "orders.id", ""),
        # what makes rows one
        ("select distinct on (status) id as c from raw.orders", "orders.id", "orders.status"),
        ("select distinct id as c, day from raw.orders", "orders.id", "orders.id orders.day"),
        ("select id as c from raw.orders union select id from raw.customers", "orders.id customers.id", "orders.id customers.id"),
        ("select count(*) as c, status from raw.orders group by 2", "", "orders.status"),
        ("select count(*) as c, status from raw.orders group by all", "", "orders.status"),
        ("select id as c from raw.orders order by 1", "orders.id", "orders.id"),
        ("select id as c, day from raw.orders order by all", "orders.id", "orders.id orders.day"),
        ("select c from (from raw.orders select day, #2 as c) q", "orders.customer", ""),
        ("select id as c from raw.orders where columns('^(amount|day)$') is not null", "orders.id", "orders.amount orders.day"),
        ("select c from (pivot (select id, customer as c, status from raw.orders) on status in ('a', 'b') using count(*) group by c)", "orders.customer", "orders.customer orders.status"),
        ("select a as c from (pivot (select id, customer, status from raw.orders) on status in ('a', 'b') using sum(id)) q", "orders.id orders.status", "orders.customer orders.status"),
        (
            "with recursive r(a, b, c) as (select id, customer, 0 from raw.orders union all select b, c, a from r where c < 3) select a as c from r",
            "orders.id orders.customer",
            "orders.id orders.customer",
        ),
        (
            "with recursive r(a, b) using key (a) as (select id, customer from raw.orders union select a, b - 1 from r where b > 0) select b as c from r",
            "orders.customer",
            "orders.id orders.customer",
        ),
        ("select sum(id) over (order by day rows between customer preceding and current row) as c from raw.orders", "orders.id", "orders.day orders.customer"),
        ("select lag(id, customer) over (order by day) as c from raw.orders", "orders.id orders.customer", "orders.day"),
        ("select c from (values (1), (2)) v(c)", "", ""),
        ("select current_date as c from raw.orders", "", ""),
    ],
)  # fmt: skip
def test_where_a_column_comes_from(text: str, values: str, rows: str, tmp_path: Path) -> None:
    assert of(tmp_path, text) == (set(values.split()), set(rows.split()))


def test_what_cannot_be_followed_is_said(tmp_path: Path) -> None:
    looked = lineages(tmp_path, {"models/m.sql": "select columns(lambda c: reverse(c) = 'di') from raw.orders"}).of("m")
    assert not looked.complete
    every = {"orders.id", "orders.customer", "orders.amount", "orders.status", "orders.ordered_at", "orders.day"}
    assert [{short(value) for value in each.values} for each in looked.columns] == [every]


def test_columns_by_a_condition_on_their_names_are_followed(tmp_path: Path) -> None:
    looked = lineages(tmp_path, {"models/m.sql": "select columns(lambda c: c like 'i%' or c = 'day') from raw.orders"}).of("m")
    assert looked.complete
    assert [{short(value) for value in each.values} for each in looked.columns] == [{"orders.id"}, {"orders.day"}]


def test_impact_reaches_what_cannot_be_followed(tmp_path: Path) -> None:
    found = lineages(tmp_path, {"models/m.sql": "select columns(lambda c: reverse(c) = 'di') from raw.orders"})
    impact = found.impact(ColumnOf(relation="raw.orders", column="amount"))
    assert impact.models == ("m",)


FILES = {
    "models/a.sql": "select id, amount * 2 as double, status from raw.orders",
    "models/b.sql": "select id, double + 1 as more from a",
    "models/b.toml": "[contract.columns.more]\nprotected = true\n",
    "models/c.sql": "select count(*) as n from a where double > 5",
    "models/d.sql": "select status from a",
    "models/e.sql": "select n from c",
    "models/f.sql": "select id from raw.customers",
}


def test_all_that_a_column_comes_from(tmp_path: Path) -> None:
    found = lineages(tmp_path, FILES).upstream(ColumnOf(relation="b", column="more"))
    assert [short(each) for each in found] == ["a.double", "orders.amount"]


def test_what_breaks_without_a_column(tmp_path: Path) -> None:
    found = lineages(tmp_path, FILES)
    column = found.named("raw.orders.AMOUNT")
    assert column is not None
    impact = found.impact(column)
    assert [(each.relation, each.column, each.how) for each in impact.direct] == [("a", "double", "values")]
    assert [(each.relation, each.column, each.how) for each in impact.further] == [("b", "more", "values"), ("c", "", "rows")]
    assert impact.models == ("a", "b", "c", "d", "e")
    promised = found.impact(ColumnOf(relation="b", column="more"))
    assert ([each.how for each in promised.direct], promised.models) == (["contract"], ("b",))
    assert found.named("raw.orders.amont") is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("with q as (select id, amount, status from raw.orders) select id as c from q", "orders.amount orders.status"),
        ("select id as c from (select id, row_number() over (partition by day order by amount) as r from raw.orders) q", "orders.amount orders.day"),
        ("select id as c from raw.orders o where exists (select x.name from raw.customers x where x.id = o.customer)", "customers.name"),
        ("select id as c from raw.orders o where exists (select * from raw.customers x where x.id = o.customer)", ""),
        ("select * exclude (amount, day) rename (id as c) from raw.orders", "orders.amount orders.day"),
        ("select * replace (1 as amount) rename (id as c) from raw.orders", "orders.amount"),
        ("select x as c from (values (1, (select max(ratio) from raw.customers))) q(x, y)", "customers.ratio"),
        ("select customer as c from (pivot (select id, customer, status from raw.orders) on status in ('a') using sum(id)) q", "orders.id"),
        ("with q as (select amount from raw.orders) select 1 as c", ""),
        ("select id as c from (select * from raw.orders) q", ""),
    ],
)  # fmt: skip
def test_what_is_named_and_not_used_is_told_apart(text: str, named: str, tmp_path: Path) -> None:
    looked = lineages(tmp_path, {"models/m.sql": text}).of("m")
    assert looked.complete
    assert {short(each) for each in looked.named} == set(named.split())


def test_a_model_breaks_without_a_column_that_it_only_names(tmp_path: Path) -> None:
    found = lineages(tmp_path, {"models/m.sql": "select id from (select id, amount from raw.orders) q", "models/n.sql": "select id from m"})
    impact = found.impact(ColumnOf(relation="raw.orders", column="amount"))
    assert [(each.relation, each.column, each.how) for each in impact.direct] == [("m", "", "named")]
    assert (impact.further, impact.models) == ((), ("m", "n"))


@pytest.mark.parametrize(
    "text",
    [
        "select count(*) as c from (select columns(lambda c: reverse(c) = 'di') from raw.orders) q",
        "select q.value::varchar as c from raw.orders, json_each(to_json(status)) q",
        "select coalesce(*columns(['id', 'customer'])) as c from raw.orders",
        "select count(*) as c from (select unnest(place) from raw.customers) q",
    ],
)
def test_what_cannot_be_followed_is_said_where_nothing_takes_it_too(text: str, tmp_path: Path) -> None:
    assert not lineages(tmp_path, {"models/m.sql": text}).of("m").complete


def test_a_reference_at_a_place_where_nobody_looks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.engine.compiler.nullability.modified", lambda *_: [])
    looked = lineages(tmp_path, {"models/m.sql": "select id from raw.orders order by day limit 2"}).of("m")
    assert not looked.complete
    assert [short(each) for each in looked.named] == ["orders.day"]


def test_who_may_read_a_column_is_told_where_a_text_cannot_be_followed(tmp_path: Path) -> None:
    found = lineages(
        tmp_path,
        {
            "models/a.sql": "select id, amount from raw.orders",
            "models/m.sql": "select count(*) as n from (select coalesce(*columns(['id', 'amount'])) as x from a) q",
            "models/n.sql": "select id from raw.customers",
        },
    )
    impact = found.impact(ColumnOf(relation="raw.orders", column="amount"))
    assert [(each.relation, each.column) for each in impact.direct] == [("a", "amount")]
    assert impact.unsure == ("m",)
    assert found.impact(ColumnOf(relation="raw.customers", column="name")).unsure == ()


SIDECAR = """
materialized = "incremental"
strategy = "merge"
unique_key = "id"
watermark = "ordered_at"
[[checks]]
not_null = ["customer"]
[[checks]]
expression = "amount > 0"
[[checks]]
name = "paid"
sql = "select * from m where status is null"
"""
OTHER = """
[[checks]]
relationships = { column = "x", to = "m", to_column = "id" }
[[checks]]
relationships = { column = "x", to = "raw.customers", to_column = "id" }
[[checks]]
name = "old"
sql = '''select c.* from raw.customers c join m on c.id = m.id where "ratio" > 2 and 'name' <> 'day' '''
"""


@pytest.mark.parametrize(
    ("column", "asked"),
    [
        ("m.id", "m:settings n:checks"),
        ("m.ordered_at", "m:settings"),
        ("m.customer", "m:checks"),
        ("m.amount", "m:checks"),
        ("m.status", "m:checks"),
        ("m.day", ""),
        ("raw.customers.id", "n:checks"),
        ("raw.customers.ratio", "n:checks"),
        ("raw.customers.name", ""),
        ("raw.customers.tags", ""),
        ("n.x", "n:checks"),
    ],
)
def test_checks_and_settings_are_readers(column: str, asked: str, tmp_path: Path) -> None:
    found = lineages(
        tmp_path,
        {"models/m.sql": "select * from raw.orders", "models/m.toml": SIDECAR, "models/n.sql": "select 1 as x", "models/n.toml": OTHER},
    )
    named = found.named(column)
    assert named is not None
    impact = found.impact(named)
    assert {f"{each.relation}:{each.how}" for each in impact.direct} == set(asked.split())
    assert set(impact.models) == {each.partition(":")[0] for each in asked.split()}


def test_what_a_setting_restricts_is_read(tmp_path: Path) -> None:
    toml = 'materialized = "incremental"\nstrategy = "merge"\nwatermark = "id"\nunique_key = "id"\nrestrict = ["raw.orders.id"]\n'
    found = lineages(tmp_path, {"models/m.sql": "select id from raw.orders", "models/m.toml": toml})
    how = {column: [each.how for each in found.impact(ColumnOf(relation="raw.orders", column=column)).direct] for column in ("id", "day")}
    assert how == {"id": ["settings", "values"], "day": []}
