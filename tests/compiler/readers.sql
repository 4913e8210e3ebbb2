-- Queries that read a column at a place that is easily left out. They are written, and names mean, as in corpus.sql.
-- : reads range beside a relation
select i from raw.orders, range(orders.customer) r(i)
-- : reads range of which nothing is taken
select orders.id from raw.orders, range(customer)
-- : reads generate_series in a scalar subquery
select id, (select count(*) from generate_series(1, o.customer)) as c from raw.orders o
-- : reads range of a subquery
select i from range((select max(age) from people)) r(i)
-- : reads range in a lateral join
select q.j from raw.orders join lateral (select h.j from range(1, orders.customer) h(j)) q on true
-- : reads unnest in a lateral
select id, z from raw.orders, unnest([customer, 5]) q(z)
-- : reads unnest with its places
select name, q.ordinality as place from raw.customers, unnest(tags) with ordinality q
-- : reads unnest of a subquery
select z from unnest((select list(age order by age) from people)) q(z)
-- : reads json of a column
select orders.id, q.value as v from raw.orders, json_each(to_json([status])) q
-- : reads json of a column that nothing takes
select orders.id from raw.orders, json_each(to_json(range(customer))) q
-- : reads a macro of a table
select id, x from raw.orders, up_to(customer) u
-- : reads unnest beside a column
select name, unnest(tags) as tag from raw.customers
-- : reads unnest of a range
select unnest(range(customer)) as i from raw.orders
-- : reads unnest inside of an expression
select id, 10 + unnest(range(customer)) as i from raw.orders
-- : reads unnest of two lists
select unnest(range(customer)) as i, unnest(['a', 'b']) as j from raw.orders
-- : reads a limit
select id from raw.orders order by id limit (select min(age) from people)
-- : reads a limit in brackets
select id from raw.orders order by id limit ((select min(age) from people))
-- : reads an offset
select id from raw.orders order by id limit 3 offset (select min(age) from people)
-- : reads a limit in a subquery
select id from (select id from raw.orders order by id limit (select min(age) from people)) q
-- : reads a limit in a CTE
with q as (select id from raw.orders order by id limit (select count(*) from people where age > 1)) select id from q
-- : reads ORDER BY in a lateral
select o.id, q.n from raw.orders o, lateral (select n from numbers where n > o.customer order by n limit 1) q
-- : reads VALUES
select x from (values ((select max(age) from people))) q(x)
-- : reads VALUES in several rows
select x, y from (values (1, (select max(age) from people)), ((select min(n) from numbers), 2)) q(x, y)
-- : reads VALUES of a lateral
select o.id, v.x from raw.orders o, lateral (values (o.amount), (o.customer + 1)) v(x)
-- : reads VALUES in a comparison
select id from raw.orders where customer in (values ((select min(age) from people)), (7))
-- : reads VALUES of which one column is taken
select x from (values (1, (select max(age) from people))) q(x, y)
-- : reads DISTINCT ON
select distinct on (status) 1 as one from raw.orders
-- : reads DISTINCT ON an expression
select distinct on (coalesce(customer, 0) % 2) 1 as one from raw.orders
-- : reads DISTINCT ON a place
select distinct on (1) status as s, 1 as one from raw.orders order by 1
-- : reads DISTINCT in a subquery
select count(*) as c from (select distinct customer from raw.orders) q
-- : reads UNION in a subquery
select count(*) as c from (select customer from raw.orders union select n from numbers) q
-- : reads UNION BY NAME in a subquery
select count(*) as c from (select customer as n from raw.orders union by name select n from numbers) q
-- : reads INTERSECT in a subquery
select count(*) as c from (select customer from raw.orders intersect select n from numbers) q
-- : reads EXCEPT ALL in a subquery
select count(*) as c from (select customer from raw.orders except all select n from numbers) q
-- : reads ORDER BY of a set operation
select id, amount as a from raw.orders union all select n, null from numbers order by a nulls last, id limit 3
-- : reads ORDER BY of a set operation by place
select id from (select id, amount as a from raw.orders union all select n, 0 from numbers order by 2, 1 limit 3) q
-- : reads ORDER BY a place
select id from (select id, amount from raw.orders order by 2 desc limit 2) q
-- : reads ORDER BY an alias
select id from (select id, amount * -1 as a from raw.orders order by a limit 2) q
-- : reads ORDER BY ALL
select id from (select amount, id from raw.orders order by all limit 2) q
-- : reads ORDER BY a subquery
select id from raw.orders o order by (select max(age) from people p where p.age < o.id) nulls first, id limit 2
-- : reads GROUP BY a place
select count(*) as c from (select status, max(id) as m from raw.orders group by 1) q
-- : reads GROUP BY ALL
select count(*) as c from (select status, max(id) as m from raw.orders group by all) q
-- : reads GROUP BY an alias
select m from (select upper(status) as u, max(id) as m from raw.orders group by u) q
-- : reads GROUP BY that nothing takes
select count(*) as c from raw.orders group by status
-- : reads GROUPING SETS
select count(*) as c from raw.orders group by grouping sets ((status), (customer))
-- : reads HAVING
select count(*) as c from raw.orders group by status having max(amount) > 6
-- : reads QUALIFY
select id from raw.orders qualify row_number() over (partition by status order by amount desc) = 1
-- : reads QUALIFY by alias
select id, rank() over (order by amount) as r from raw.orders qualify r < 3
-- : reads a frame
select id, sum(id) over (order by id rows between coalesce(customer, 0) preceding and current row) as s from raw.orders
-- : reads a frame of an interval
select id, count(*) over (order by day range between to_days(coalesce(customer, 0)) preceding and current row) as s from raw.orders
-- : reads the distance of lag
select id, lag(id, coalesce(customer, 1)) over (order by id) as s from raw.orders
-- : reads the default of lag
select id, lag(id, 1, customer) over (order by id) as s from raw.orders
-- : reads the place of nth_value
select id, nth_value(id, coalesce(customer, 1)) over (order by id) as s from raw.orders
-- : reads a window by name
select id, sum(id) over w as s from raw.orders window w as (partition by status order by amount)
-- : reads a filter of a window
select id, count(*) filter (where amount > 6) over () as s from raw.orders
-- : reads arguments in order in a window
select id, list(id order by amount desc) over () as s from raw.orders
-- : reads the order of an aggregate
select string_agg(status, ',' order by amount desc) as s from raw.orders
-- : reads the filter of an aggregate
select count(*) filter (where amount > 6) as c from raw.orders
-- : reads the filter of an aggregate by a subquery
select count(*) filter (where amount > (select min(age) from people)) as c from raw.orders
-- : reads arg_max
select arg_max(id, amount) as c from raw.orders
-- : reads an aggregate of DISTINCT
select count(distinct customer) as c from raw.orders
-- : reads a scalar subquery
select (select max(p.age) from people p where p.age > n) as m from numbers
-- : reads a scalar subquery in order
select (select p.name from people p order by p.age limit 1) as m
-- : reads EXISTS by a column
select id from raw.orders o where exists (select p.name from people p where p.age = o.customer)
-- : reads NOT EXISTS
select id from raw.orders o where not exists (select 1 from people p where p.age = o.customer)
-- : reads EXISTS of an aggregate
select id from raw.orders o where exists (select max(p.age) from people p having max(p.age) > o.id)
-- : reads ANY
select id from raw.orders where customer >= any (select age from people)
-- : reads ALL
select id from raw.orders where id > all (select age from people where name <> 'ann')
-- : reads a row in a subquery
select id from raw.orders where (id, customer) in (select age, age from people)
-- : reads an array of a subquery
select array(select age from people order by name) as a
-- : reads a CTE of which one column is taken
with base as (select id, amount, status from raw.orders) select id from base
-- : reads a chain of CTEs
with a as (select id, amount as x from raw.orders), b as (select id, x as y from a), c as (select id, y from b where y > 6) select id from c
-- : reads a subquery of which one column is taken
select id from (select id, upper(status) as s, row_number() over (order by amount) as r from raw.orders) q
-- : reads EXCLUDE
select * exclude (amount, day) from raw.orders
-- : reads REPLACE
select * replace (1 as amount) from raw.orders
-- : reads REPLACE by another column
select * replace (customer + 1 as id) from raw.orders
-- : reads COLUMNS by names
select columns(['id', 'amount']) from raw.orders
-- : reads COLUMNS in a condition
select id from raw.orders where columns('^(customer|amount)$') > 1
-- : reads COLUMNS in a function
select coalesce(*columns(['customer', 'id'])) as c from raw.orders
-- : reads COLUMNS in an aggregate
select max(columns(['customer', 'id'])) from raw.orders
-- : reads columns by their place
select #2 as c from raw.orders
-- : reads columns by their place in ORDER BY
select id from (select id, amount from raw.orders order by #2 desc limit 1) q
-- : reads a whole row
select o as r from (select id, day from raw.orders) o
-- : reads a whole row in a function
select id, hash(o) as h from raw.orders o
-- : reads a whole row in an aggregate
select count(distinct o) as c from (select customer, status from raw.orders) o
-- : reads a field
select place.city as c from raw.customers
-- : reads a field by an index
select place['zip'] as c from raw.customers
-- : reads a slice
select tags[1:zip] as c from (select tags, coalesce(place.zip, 1) % 3 as zip from raw.customers) q
-- : reads in a lambda
select list_transform(tags, lambda t: t || name) as c from raw.customers
-- : reads in a list comprehension
select [t || name for t in tags if t <> name] as c from raw.customers
-- : reads a join by USING
select orders.amount from raw.orders join raw.customers using (id)
-- : reads a join by USING of which nothing is taken
select count(*) as c from raw.orders join raw.customers using (id)
-- : reads a natural join
select count(*) as c from (select id, customer as x from raw.orders) a natural join (select id from raw.customers) b
-- : reads a natural join by two columns
select a.y from (select n, word as y from numbers) a natural join (select age as n, name from people) b
-- : reads a full join
select id from raw.orders full join raw.customers using (id)
-- : reads a join by an expression
select o.id from raw.orders o join people p on p.age = o.customer and length(p.name) < 4
-- : reads a join by a subquery
select o.id from raw.orders o left join people p on p.age = (select min(n) from numbers where n > o.id)
-- : reads a semi join
select o.id from raw.orders o semi join people p on p.age = o.customer
-- : reads an anti join
select o.id from raw.orders o anti join people p on p.age = o.customer
-- : reads an asof join
select o.id, p.name from raw.orders o asof left join people p on o.id >= p.age
-- : reads an asof join of which nothing is taken
select o.id from raw.orders o asof join people p on o.id >= p.age
-- : reads a positional join
select a.n, p.name from numbers a positional join people p
-- : reads PIVOT
from (select id, customer, status from raw.orders) pivot (sum(id) for status in ('new', 'paid') group by customer)
-- : reads PIVOT with groups of what is left
select * from (pivot (select id, customer, status from raw.orders) on status in ('new', 'paid') using sum(id)) q
-- : reads PIVOT of which the groups are taken
select customer from (pivot (select id, customer, status from raw.orders) on status in ('new', 'paid') using sum(id)) q
-- : reads PIVOT of which nothing is taken
select count(*) as c from (pivot (select id, customer, status from raw.orders) on status in ('new', 'paid') using sum(id)) q
-- : reads PIVOT by an expression
select * from (pivot (select id, customer, status from raw.orders) on upper(status) in ('NEW', 'PAID') using count(*) group by customer) q
-- : reads PIVOT with a filter
select * from (pivot (select id, customer, amount, status from raw.orders) on status in ('new', 'paid') using sum(id) filter (where amount > 6) group by customer) q
-- : reads PIVOT with two aggregates
select * from (pivot (select id, customer, amount, status from raw.orders) on status in ('new', 'paid') using sum(id) as s, max(amount) as m group by customer) q
-- : reads PIVOT on two columns
select * from (pivot (select id, customer, status from raw.orders) on status in ('new'), customer in (1, 2) using count(*) group by id) q
-- : reads UNPIVOT
select what, v from (select id, customer from raw.orders) unpivot (v for what in (id, customer))
-- : reads UNPIVOT of which nothing is taken
select count(*) as c from (select id, customer from raw.orders) unpivot (v for what in (id, customer))
-- : reads UNPIVOT with nulls
select what, v from (select id, customer from raw.orders) unpivot include nulls (v for what in (id, customer))
-- : reads UNPIVOT of several
select a, b, what from (select id, customer, amount from raw.orders) unpivot ((a, b) for what in ((id, customer), (id, amount)))
-- : reads a recursive CTE
with recursive r(a, s) as (select id, 1 from raw.orders union all select a + 1, s + 1 from r where s < 3) select a from r
-- : reads a recursive CTE in a circle
with recursive r(a, b, c, s) as (select id, customer, amount::bigint, 1 from raw.orders union all select b, c, a, s + 1 from r where s < 4) select a from r
-- : reads a recursive CTE that is distinct
with recursive r(a, b) as (select id, customer % 2 from raw.orders union select a % 2, b from r) select a from r
-- : reads a recursive CTE by a key
with recursive r(a, b) using key (a) as (select id, customer from raw.orders union select a, b - 1 from r where b > 0) select b from r
-- : reads a recursive CTE with another relation
with recursive r(a) as (select min(id) from raw.orders union all select p.age from r join people p on p.age < r.a) select a from r
-- : reads CASE
select case when status = 'new' then id when amount > 6 then customer else 0 end as c from raw.orders
-- : reads BETWEEN
select id from raw.orders where amount between customer and id * 10
-- : reads IN by columns
select id from raw.orders where id in (customer, 3)
-- : reads a cast
select cast(amount as varchar) || try_cast(status as varchar) as c from raw.orders
-- : reads a collation
select status collate nocase as c from raw.orders
-- : reads AT TIME ZONE
select ordered_at at time zone status as c from (select ordered_at, 'UTC' || left(coalesce(status, ''), 0) as status from raw.orders) q
-- : reads an alias before
select id + 1 as a, a * 2 as b from raw.orders
-- : reads a macro
select twice(amount) as c from raw.orders
-- : reads a macro in a condition
select id from raw.orders where twice(amount) > 12
-- : reads an ephemeral
select x from doubled where x > 2
-- : reads two relations with one name
select a.n from numbers a where a.n < (select max(a.age) from people a)
-- : reads an outer column by its name alone
select name, (select count(*) from numbers where n < age) as c from people
-- : reads a lateral in a lateral
select n, q.b from numbers, lateral (select n + 1 as a) p, lateral (select p.a * 2 as b from people where age = p.a) q
-- : reads a CTE in a subquery
select (with q as (select max(age) as m from people) select m from q) as c
-- : reads a CTE in a set operation
with q as (select age from people) select n from numbers union all select age from q
-- : reads a CTE with other names
with q(a, b) as (select age, name from people) select a from q where b <> 'ann'
-- : reads a CTE that nothing reads
with q as (select age from people) select n from numbers
-- : reads with aliases by place
select c from raw.customers as t(a, b, c) where b = 'ann'
-- : reads struct parts
select struct_pack(a := id, b := (select max(age) from people)) as s from raw.orders
-- : reads a map
select map {status: amount} as m from raw.orders where status is not null
-- : reads GROUPING
select grouping(status) as g, count(*) as c from raw.orders group by rollup (status)
-- : reads a sum over a set operation in a CTE
with q as (select id as v, day from raw.orders union all select n, null from numbers) select sum(v) as s from q where day is not null
-- : reads a subquery in a frame
select n, sum(n) over (order by n rows between (select min(age) from people) preceding and current row) as s from numbers
-- : reads a subquery in a list
select [n, (select min(age) from people)] as l from numbers
-- : reads a subquery in a table function in a subquery
select n, (select count(*) from range((select max(age) from people where age > n))) as c from numbers
-- : reads a column that a function is called on
select status.upper() as c from raw.orders
-- : reads a column of a relation that a function is called on
select orders.status.upper() as c from raw.orders
-- : reads what a function is called on in a lambda
select list_transform(tags, lambda t: t.upper()) as c from raw.customers
-- : reads by a function of a schema
select main.upper(status) as c from raw.orders
-- : reads an aggregate that is called on a column
select amount.sum() as c from raw.orders
-- : reads a field of json
select id, (status -> '$.a') as v from raw.orders
-- : reads a field of a field of json
select o.id, o.status -> 'a' -> 'b' ->> 'c' as v from raw.orders as o
-- : reads json where rows are filtered
select id from raw.orders where (status -> 'a')::varchar = '1'
-- : reads json by a column
select c.name, (c.name -> (o.status -> 'a')::varchar) as v from raw.customers as c join raw.orders as o on c.id = o.customer
-- : reads json inside of a lambda
select name, list_transform(tags, lambda t: name -> t) as v from raw.customers
-- : reads what a lambda has a parameter of the name of
select name, list_transform(tags, lambda name: name -> 'a') as v, (name -> 'a') as w from raw.customers
-- : reads json of a CTE
with q as (select id, status as payload from raw.orders) select q.payload -> '$.x' as x from q
