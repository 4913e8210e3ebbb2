-- Short queries, one after each line that begins with `-- :`. Their rows must be the same when the author's text is run by
-- hand in a database in which bare names resolve, and when the compiled text runs. Names mean: raw.orders and raw.customers
-- are sources, numbers and people are models, tiny and doubled are ephemeral models, letters is a seed.
-- : plain
select id, amount from raw.orders
-- : star
select * from raw.orders
-- : bare model
select * from numbers
-- : model by schema
select * from main.numbers
-- : three parts
select * from here.main.numbers
-- : case of names
select ID, Amount from RAW.ORDERS where Orders.Id > 1
-- : quoted names
select "id" from "raw"."orders"
-- : comments inside a name
select id from raw /* a */ . /* b */ orders -- c
-- : no blank after the name
select n from numbers,people where n=age
-- : name before a bracket
select n from(select n from numbers)where n>1
-- : column by relation
select orders.id, orders.amount from raw.orders
-- : star by relation
select orders.* from raw.orders
-- : column by alias
select o.id from raw.orders o
-- : alias with AS
select o.id from raw.orders as o
-- : quoted alias
select "o o".id from raw.orders as "o o"
-- : alias before the name
from o: raw.orders select o.id
-- : alias before a bare name
select x.n from x: numbers
-- : column aliases
select a, b from numbers as x(a, b)
-- : from first
from numbers
-- : from first with select
from numbers select n where n > 1
-- : whole row
select numbers from numbers
-- : where
select n from numbers where n in (1, 3)
-- : case expression
select case when n = 1 then 'one' when n is null then 'none' else 'more' end as word from numbers
-- : cross join
select a.n, b.n as m from numbers a cross join numbers b
-- : comma join
select a.n, b.n as m from numbers a, numbers b
-- : self join with names
select numbers.n, b.n as m from numbers join numbers b on numbers.n = b.n
-- : inner join using
select orders.id, customers.name from raw.orders join raw.customers using (id)
-- : left join
select orders.id, customers.name from raw.orders left join raw.customers on customers.id = orders.customer
-- : right join
select orders.id, customers.name from raw.orders right join raw.customers on customers.id = orders.customer
-- : full join
select orders.id, customers.name from raw.orders full join raw.customers on customers.id = orders.customer
-- : natural join
select * from numbers natural join (select 1 as n, 'x' as z) as s
-- : semi join
select id from raw.orders semi join raw.customers on customers.id = orders.customer
-- : anti join
select id from raw.orders anti join raw.customers on customers.id = orders.customer
-- : asof join
select o.id, p.age from raw.orders o asof join people p on o.id >= p.age
-- : positional join
select a.n, b.name from numbers a positional join people b
-- : positional join without aliases
select numbers.n, people.name from numbers positional join people
-- : lateral join
select n, m from numbers, lateral (select n + 1 as m) as l
-- : lateral subquery of a model
select numbers.n, l.age from numbers, lateral (select max(age) as age from people where people.age > numbers.n) as l
-- : join in brackets
select a.n from (numbers a join people b on a.n = b.age)
-- : nested brackets
select a.n from ((numbers a join people b on a.n = b.age) join people c on true)
-- : subquery
select x from (select n as x from numbers) as s
-- : scalar subquery
select (select max(n) from numbers) as m
-- : correlated subquery
select name from people where exists (select 1 from numbers where numbers.n = people.age)
-- : in subquery
select name from people where age in (select n from numbers)
-- : not in subquery
select name from people where age not in (select n from numbers where n is not null)
-- : any subquery
select name from people where age = any (select n from numbers)
-- : all subquery
select name from people where age >= all (select n from numbers where n is not null)
-- : array subquery
select array(select n from numbers order by n) as ns
-- : subquery in order by
select n from numbers order by (select max(age) from people) + n limit 2
-- : subquery in limit
select n from numbers order by n limit (select 1)
-- : subquery in having
select n, count(*) as c from numbers group by n having count(*) < (select count(*) from people)
-- : subquery in a case
select case when n > (select min(age) from people) then 1 else 0 end as f from numbers
-- : subquery in a function
select coalesce((select max(age) from people), 0) as m
-- : group by
select status, sum(amount) as total from raw.orders group by status
-- : group by all
select status, count(*) as c from raw.orders group by all
-- : group by position
select status, count(*) as c from raw.orders group by 1
-- : rollup
select status, sum(amount) as total from raw.orders group by rollup (status)
-- : cube
select status, customer, count(*) as c from raw.orders group by cube (status, customer)
-- : grouping sets
select status, customer, count(*) as c from raw.orders group by grouping sets ((status), (customer), ())
-- : having
select status, count(*) as c from raw.orders group by status having count(*) > 1
-- : filter
select count(*) filter (where amount > 10) as c from raw.orders
-- : distinct
select distinct status from raw.orders
-- : distinct on
select distinct on (status) status, id from raw.orders order by status, id
-- : ordered aggregate
select string_agg(status, ',' order by id) as s from raw.orders
-- : within group
select quantile_cont(n, 0.5) as q from numbers
-- : window
select n, row_number() over (order by n) as r from numbers
-- : window by name
select n, sum(n) over w as s from numbers window w as (order by n)
-- : window with a frame
select n, sum(n) over (order by n rows between 1 preceding and current row) as s from numbers
-- : qualify
select status, id from raw.orders qualify row_number() over (partition by status order by id) = 1
-- : order by and limit
select n from numbers order by n desc nulls last limit 2 offset 1
-- : limit percent
select n from numbers order by n limit 50%
-- : union
select n from numbers union select age from people
-- : union all
select n from numbers union all select age from people
-- : union by name
select n, word from numbers union by name select 'x' as word, 9 as n
-- : union all by name
select n from numbers union all by name select age from people
-- : except
select n from numbers except select age from people
-- : intersect
select n from numbers intersect select age from people
-- : intersect all
select n from numbers intersect all select n from numbers
-- : set operations in brackets
(select n from numbers) union all (select age from people order by age limit 1)
-- : three branches
select n from numbers union all select age from people union all select 0
-- : cte
with x as (select n from numbers) select * from x
-- : cte of a model's name
with numbers as (select 7 as n) select n from numbers
-- : cte that reads what it is called
with numbers as (select n + 1 as n from numbers) select n from numbers
-- : cte of a source's name and the source
with orders as (select id from raw.orders) select * from orders
-- : cte and the schema's own
with numbers as (select 7 as n) select n from main.numbers
-- : two ctes
with a as (select n from numbers), b as (select n from a where n > 1) select * from b
-- : cte shadows a cte
with a as (select 1 as x) select * from (with a as (select 2 as x) select * from a) as s, a as t(y)
-- : cte in a subquery hides a model there only
select * from (with numbers as (select 1 as x) select * from numbers) as a join numbers b on true
-- : cte in a scalar subquery
select (with numbers as (select 5 as n) select max(n) from numbers) as a, (select max(n) from numbers) as b
-- : materialized cte
with x as materialized (select n from numbers) select * from x
-- : not materialized cte
with x as not materialized (select n from numbers) select * from x
-- : cte with columns
with x(a, b) as (select * from numbers) select a from x
-- : cte in a union
with x as (select n from numbers) select * from x union all select n from numbers
-- : cte of one branch
(with x as (select 1 as n) select * from x) union all select n from numbers
-- : cte named later is not seen earlier
with a as (select * from people), people as (select 1 as z) select a.name from a, people
-- : recursive cte
with recursive r(i) as (select 1 union all select i + 1 from r where i < 5) select i from r
-- : recursive cte over a model
with recursive r as (select min(n) as i from numbers union all select i + 1 from r join people on i < age where i < 4) select distinct i from r
-- : recursive that is not
with recursive numbers as (select n from numbers) select n from numbers
-- : recursive whose anchor reads the model of its name
with recursive numbers(n) as (select n from numbers where n = 1 union all select n + 1 from numbers where n < 3) select n from numbers
-- : cte in an exists
select name from people where exists (with numbers as (select 30 as n) select 1 from numbers where n = age)
-- : quoted cte
with "My Numbers" as (select n from numbers) select * from "my numbers"
-- : values
values (1, 'a'), (2, 'b')
-- : values in from
select * from (values (1, 'a'), (2, 'b')) as v(x, y)
-- : values beside a model
select v.x, n from (values (1), (2)) as v(x) join numbers on n = x
-- : pivot statement
pivot raw.orders on status in ('new', 'paid') using sum(amount) group by customer
-- : pivot of a bare model
pivot numbers on word in ('one', 'two') using count(*) group by n
-- : sql pivot
select * from (select status, amount from raw.orders) pivot (sum(amount) for status in ('new', 'paid'))
-- : sql pivot of a model
select * from numbers pivot (count(n) for word in ('one', 'two'))
-- : sql pivot with an alias
select p.one from numbers pivot (count(n) for word in ('one', 'two')) as p
-- : pivot in a cte
with p as (pivot numbers on word in ('one', 'two') using count(*) group by n) select * from p
-- : unpivot statement
unpivot (select 1 as a, 2 as b) on a, b into name k value v
-- : unpivot of a model
unpivot people on age into name k value v
-- : sql unpivot
select k, v from people unpivot (v for k in (age))
-- : unnest
select unnest([1, 2, 3]) as x
-- : unnest in from
select x from unnest([1, 2, 3]) as u(x)
-- : unnest of a column
select customers.id, t.tag from raw.customers, unnest(customers.tags) as t(tag)
-- : range
select range as x from range(3)
-- : generate series
select x from generate_series(1, 3) as g(x)
-- : range joined to a model
select n, x from numbers, range(2) as r(x)
-- : struct field
select place.city from raw.customers
-- : struct field by relation
select customers.place.city from raw.customers
-- : struct field by bracket
select place['city'] as city from raw.customers
-- : struct literal
select {'a': n, 'b': {'c': word}} as s from numbers
-- : list literal
select [n, n + 1] as l from numbers
-- : map literal
select map {'a': n} as m from numbers
-- : list comprehension
select [x * 2 for x in [1, 2, 3] if x > 1] as l
-- : lambda
select list_transform([1, 2, 3], lambda x: x + 1) as l
-- : slices
select word[1:2] as w from numbers
-- : dotted call
select word.upper() as w from numbers
-- : columns regular expression
select columns('n|word') from numbers
-- : columns lambda
select columns(lambda c: c = 'n') from numbers
-- : columns star in an aggregate
select max(columns(*)) from numbers
-- : star exclude
select * exclude (word) from numbers
-- : star replace
select * replace (n * 10 as n) from numbers
-- : star rename
select * rename (n as m) from numbers
-- : star like
select * like 'n%' from numbers
-- : alias used in where
select n * 2 as d from numbers where d > 2
-- : positional reference
select n from numbers order by #1
-- : between
select n from numbers where n between 1 and 2
-- : like and ilike
select word from numbers where word like 'o%' or word ilike 'T%'
-- : similar to
select word from numbers where word similar to 'o.*'
-- : regular expression
select regexp_extract(word, '[a-z]') as r from numbers
-- : is distinct from
select n from numbers where n is distinct from 1
-- : casts
select n::varchar as a, cast(n as double) as b, try_cast(word as integer) as c from numbers
-- : dates
select date '2024-01-31' + interval 1 month as d, extract(year from date '2024-01-31') as y
-- : timestamps
select date_trunc('day', ordered_at) as d from raw.orders
-- : at time zone
select ordered_at at time zone 'Europe/Berlin' as t from raw.orders
-- : intervals
select interval '1 day 2 hours' as i
-- : dollar quoting
select $$it's {{ fine }}$$ as t
-- : escape string
select e'a\nb' as t
-- : strings that look like sql
select 'from numbers' as a, 'select * from raw.orders; -- x' as b from numbers
-- : identifiers that look like sql
select n as "from numbers" from numbers
-- : comment with a name
select n /* from people */ from numbers -- from people
-- : trailing semicolon
select n from numbers;
-- : trailing comment after the semicolon
select n from numbers; -- done
-- : trailing comment
select n from numbers -- done
-- : block comment at the end
select n from numbers /* done */
-- : non-ascii text
select 'größe — 大小' as "größe", n from numbers where word <> 'é'
-- : non-ascii before a name
select 'ééé' as é, numbers.n from numbers
-- : a name like a keyword
select n as "select", word as "order" from numbers
-- : a function called like a model
select numbers.n, abs(n) as a from numbers
-- : a column called like its relation
select people.name, people.people from (select name, age as people from people) as people
-- : ephemeral
select * from tiny
-- : ephemeral by its name
select tiny.x from tiny
-- : ephemeral with an alias
select t.x from tiny as t
-- : ephemeral twice
select a.x, b.x as y from tiny a join tiny b on a.x = b.x
-- : ephemeral over an ephemeral
select * from doubled
-- : ephemeral under a cte of the name that it reads
with numbers as (select 100 as n) select tiny.x, numbers.n from tiny, numbers
-- : ephemeral under a cte of its own name
with tiny as (select x + 1 as x from tiny) select * from tiny
-- : ephemeral pivoted
pivot tiny on x in (1, 2) using count(*)
-- : ephemeral sampled whole
select x from tiny tablesample 100%
-- : sampled whole
select n from numbers tablesample 100%
-- : sampled whole with an alias
select z.n from numbers as z tablesample 100%
-- : using sample
select n from numbers using sample 100%
-- : seed
select * from letters
-- : seed joined
select letters.letter, numbers.n from letters join numbers on letters.place = numbers.n
-- : except all with brackets
select n from numbers except all (select age from people)
-- : deep nesting
select * from (select * from (select * from (select n from numbers) a) b) c
-- : every kind at once
with o as (select status, sum(amount) as total from raw.orders group by status), r as (select *, rank() over (order by total desc) as place from o) select r.*, (select count(*) from numbers) as c from r left join tiny on tiny.x = r.place where exists (select 1 from people) order by place
-- : null handling
select n from numbers order by n nulls first
-- : boolean arithmetic
select n > 1 and word is not null as b from numbers
-- : json
select '{"a": 1}'::json ->> 'a' as a
-- : hex and scientific
select 1e3 as a, .5 as b, 1_000 as c
-- : negative numbers
select -n as a, - -1 as b from numbers
-- : concatenation
select word || '-' || n as w from numbers
-- : aggregate of a struct
select max({'n': n, 'w': word}) as m from numbers
-- : arg_max
select arg_max(word, n) as w from numbers
-- : list aggregate
select list(n order by n) as l from numbers
-- : histogram
select histogram(status) as h from raw.orders
-- : if and ifnull
select if(n > 1, 'a', 'b') as a, ifnull(word, '-') as b from numbers
-- : macro
select twice(n) as t from numbers
-- : table macro
select * from up_to(3)
-- : macro in a where
select n from numbers where twice(n) > 2
-- : variable text
select n from numbers where word = $word
-- : variable in a list
select n from numbers where n in $some
-- : variable number
select n * $factor as x, n - $minus as y, n -$minus as z from numbers
-- : variable in a limit
select n from numbers order by n limit $factor
-- : variable date
select $day as a, $day::date + 1 as b, cast($day as timestamp) as c
-- : variable boolean
select n from numbers where $yes
-- : variable decimal
select $rate * n as r from numbers
-- : target and time
select $target as t, $as_of as a
-- : variable beside a word
select n from numbers where n=$factor and word=$word
