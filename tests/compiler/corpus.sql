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
-- : asof left join
select o.id, c.id as cid from raw.orders o asof left join raw.customers c on o.id >= c.id
-- : asof with equality
select a.n, b.n as m from numbers a asof join numbers b on a.word = b.word and a.n >= b.n
-- : left join with null-safe equality
select a.n from numbers a left join numbers b on a.n is not distinct from b.n
-- : join on an inequality
select a.n, p.name from numbers a join people p on a.n < p.age
-- : natural left join
select * from raw.customers natural left join (select id, amount from raw.orders)
-- : full join using and coalesce
select coalesce(orders.id, customers.id) as c, id from raw.orders full join raw.customers using (id)
-- : join using two columns
select n, word from numbers join (select n, word from numbers) q using (n, word)
-- : chained using
select id from raw.orders join raw.customers using (id) join (select 1::bigint as id) q using (id)
-- : right join of brackets
select a.n from (numbers a join people p on a.n = p.age) right join letters l on l.place = a.n
-- : semi join using
select name from raw.customers semi join raw.orders using (id)
-- : anti join using
select name from raw.customers anti join raw.orders using (id)
-- : cross join of three
select a.n, b.letter, c.name from numbers a cross join letters b cross join people c
-- : positional join of three
select * from letters positional join numbers positional join people
-- : lateral left join
select a.n, q.m from numbers a left join lateral (select max(age) as m from people where age < a.n) q on true
-- : lateral without the word
select a.n, q.m from numbers a, (select a.n * 2 as m) q
-- : lateral range
select n, i from numbers, range(n) r(i)
-- : lateral unnest
select id, tag from raw.customers, unnest(tags) u(tag)
-- : lateral of a lateral
select n, b, c from numbers, lateral (select n + 1 as b) x, lateral (select b * 2 as c) y
-- : join on a subquery
select a.n from numbers a join people p on a.n = (select min(place) from letters)
-- : join of ctes
with a as (from numbers), b as (from people) select a.n, b.name from a join b on a.n = b.age
-- : self join thrice
select a.n from numbers a, numbers b, numbers c where a.n = b.n and b.n = c.n
-- : join with or
select a.n, p.name from numbers a join people p on a.n = p.age or a.word = p.name
-- : group by expression
select n % 2 as odd, count(*) as c from numbers group by n % 2
-- : group by alias
select n % 2 as odd, count(*) as c from numbers group by odd
-- : group by two
select customer, status, sum(amount) as s from raw.orders group by customer, status
-- : group by all with expressions
select customer, upper(status) as st, max(amount) as m from raw.orders group by all
-- : group by all without keys
select max(amount) as m from raw.orders group by all
-- : rollup of two
select customer, status, count(*) as c from raw.orders group by rollup (customer, status)
-- : cube of two
select customer, status, count(*) as c from raw.orders group by cube (customer, status)
-- : grouping sets with the empty set
select customer, count(*) as c from raw.orders group by grouping sets ((customer), ())
-- : grouping function
select customer, grouping(customer) as g, count(*) as c from raw.orders group by rollup (customer)
-- : grouping id of two
select customer, status, grouping_id(customer, status) as g from raw.orders group by cube (customer, status)
-- : having without group by
select count(*) as c from numbers having count(*) > 1
-- : having with alias
select n % 2 as odd, count(*) as c from numbers group by odd having c > 1
-- : having with a subquery
select customer, sum(amount) as s from raw.orders group by customer having sum(amount) > (select min(amount) from raw.orders)
-- : order by all
select n, word from numbers order by all limit 3
-- : order by desc nulls first
select n from numbers order by n desc nulls first limit 2
-- : order by nulls last
select n from numbers order by n nulls last limit 3
-- : order by position
select word, n from numbers order by 2 limit 2
-- : order by expression
select n from numbers order by -n limit 1
-- : order by with collation
select word from numbers order by word collate nocase limit 2
-- : limit and offset
select n from numbers order by n limit 2 offset 1
-- : offset alone
select n from numbers order by n offset 2
-- : limit expression
select n from numbers order by n limit 1 + 1
-- : fetch first
select n from numbers order by n fetch first 2 rows only
-- : distinct of two
select distinct n % 2 as odd, n is null as none from numbers
-- : distinct on with order
select distinct on (customer) customer, id from raw.orders order by customer, id desc
-- : distinct on two
select distinct on (customer, status) customer, status, amount from raw.orders order by all
-- : count distinct
select count(distinct status) as c from raw.orders
-- : count of a row
select count((customer, status)) as c from raw.orders
-- : count distinct of two
select count(distinct (customer, status)) as c from raw.orders
-- : sum distinct
select sum(distinct customer) as s from raw.orders
-- : filter on two aggregates
select count(*) filter (where n > 1) as a, sum(n) filter (where n < 3) as b from numbers
-- : ordered list
select list(n order by n desc) as l from numbers
-- : ordered string_agg
select string_agg(word, '-' order by n) as s from numbers
-- : array_agg with filter and order
select array_agg(word order by n) filter (where n is not null) as l from numbers
-- : first with order
select first(word order by n desc) as w from numbers where n is not null
-- : any_value grouped
select customer, any_value(customer) as a from raw.orders group by customer
-- : arg_min
select arg_min(word, n) as w from numbers
-- : max by
select max_by(word, n) as w, min_by(word, n) as v from numbers
-- : top n of max
select max(n, 2) as l from numbers
-- : arg_max of n
select arg_max(word, n, 2) as l from numbers
-- : bool aggregates
select bool_and(n > 0) as a, bool_or(n > 2) as b from numbers
-- : bit aggregates
select bit_and(n) as a, bit_or(n) as b, bit_xor(n) as c from numbers
-- : statistics
select stddev_pop(n) as a, var_pop(n) as b, median(n) as c, mode(n % 2) as d from numbers where n is not null
-- : quantiles
select quantile_cont(n, 0.5) as a, quantile_disc(n, [0.25, 0.75]) as b from numbers
-- : percentile within group
select percentile_cont(0.5) within group (order by n) as p from numbers
-- : mode within group
select mode() within group (order by word) as m from numbers where n = 1
-- : correlation
select corr(n, n * 2) as c, regr_slope(n, n) as s from numbers
-- : product and kahan
select product(n) as p, kahan_sum(n) as k from numbers
-- : count if
select count_if(n > 1) as c from numbers
-- : aggregate of an expression
select sum(n * 2 + 1) as s from numbers
-- : aggregate of a case
select sum(case when n > 1 then n else 0 end) as s from numbers
-- : nested aggregate through a subquery
select max(c) as m from (select n % 2 as o, count(*) as c from numbers group by o)
-- : aggregate over a union
select sum(n) as s from (select n from numbers union all select age from people)
-- : aggregate of a boolean
select sum((n > 1)::int) as s from numbers
-- : struct of aggregates
select {'a': min(n), 'b': max(n)} as s from numbers
-- : histogram grouped
select status, histogram(customer) as h from raw.orders group by status
-- : window rank
select n, rank() over (order by n) as r, dense_rank() over (order by n) as d from numbers
-- : window percent
select n, percent_rank() over (order by n) as p, cume_dist() over (order by n) as c from numbers
-- : window ntile
select n, ntile(2) over (order by n) as t from numbers
-- : window lag and lead
select n, lag(n) over (order by n) as a, lead(n, 1, 0) over (order by n) as b from numbers
-- : window first and last
select n, first_value(word) over (order by n) as f, last_value(word) over (order by n rows between unbounded preceding and unbounded following) as l from numbers
-- : window nth value
select n, nth_value(word, 2) over (order by n rows between unbounded preceding and unbounded following) as v from numbers
-- : window ignore nulls
select n, last_value(word ignore nulls) over (order by n) as l from numbers
-- : window running sum
select id, sum(amount) over (partition by customer order by id) as s from raw.orders
-- : window rows frame
select n, sum(n) over (order by n rows between 1 preceding and 1 following) as s from numbers
-- : window range frame
select n, sum(n) over (order by n range between 1 preceding and current row) as s from numbers
-- : window groups frame
select n, count(*) over (order by n % 2 groups between 1 preceding and current row) as c from numbers
-- : window interval frame
select id, count(*) over (order by day range between interval 1 day preceding and current row) as c from raw.orders
-- : window exclude current row
select n, sum(n) over (order by n rows between unbounded preceding and unbounded following exclude current row) as s from numbers
-- : window exclude ties
select id, count(*) over (order by status groups between current row and current row exclude ties) as c from raw.orders
-- : window exclude group
select id, count(*) over (order by status rows between unbounded preceding and unbounded following exclude group) as c from raw.orders
-- : window filter
select n, count(*) filter (where n > 1) over (order by n) as c from numbers
-- : window distinct
select n, count(distinct n % 2) over () as c from numbers
-- : two named windows
select n, sum(n) over a as x, count(*) over b as y from numbers window a as (order by n), b as (partition by n % 2)
-- : window over an aggregate
select customer, sum(sum(amount)) over (order by customer) as s from raw.orders group by customer
-- : window in an order by
select n from numbers order by row_number() over (order by n desc) limit 2
-- : window over a join
select o.id, row_number() over (partition by c.name order by o.id) as r from raw.orders o left join raw.customers c on c.id = o.customer
-- : qualify with alias
select n, row_number() over (order by n desc) as r from numbers qualify r = 1
-- : qualify with a partition
select id, customer from raw.orders qualify row_number() over (partition by customer order by id desc) = 1
-- : qualify with a named window
select n from numbers window w as (order by n) qualify row_number() over w <= 2
-- : qualify and where
select id from raw.orders where amount > 6 qualify rank() over (order by amount) = 1
-- : window list
select n, list(n) over (order by n rows between 1 preceding and current row) as l from numbers
-- : except distinct of models
select n from numbers except select age from people
-- : intersect of sources
select id from raw.orders intersect select id::bigint from raw.customers
-- : union with order and limit
(select n from numbers) union all (select age from people) order by 1 limit 3
-- : union by name with missing columns
select n, word from numbers union by name select name, age as n from people
-- : four set operations
select 1 as a union select 2 union all select 2 except select 1
-- : union of ctes
with a as (select n from numbers), b as (select age from people) from a union all from b
-- : intersect binds tighter
select 1 as a union select 2 intersect select 2
-- : values with names
select * from (values (1, 'a'), (2, 'b')) v(x, y)
-- : values of expressions
select x * 2 as y from (values (1 + 1), (3)) v(x)
-- : values as a statement in a cte
with v(x) as (values (1), (2)) select x from v
-- : recursive with union
with recursive r(x) as (select 1 union select (x % 3) + 1 from r) select x from r
-- : recursive path
with recursive r(x, path) as (select 1, [1] union all select x + 1, list_append(path, x + 1) from r where x < 3) select * from r
-- : recursive over a source
with recursive r(id) as (select min(id) from raw.orders union all select o.id from raw.orders o join r on o.id = r.id + 1) select id from r
-- : recursive in a subquery
select (with recursive r(x) as (select 1 union all select x + 1 from r where x < 4) select max(x) from r) as m
-- : cte used twice
with a as (select n from numbers) select x.n, y.n as m from a x, a y
-- : cte of a cte of a model
with a as (from numbers), b as (from a), c as (from b) select n from c
-- : cte in a lateral
select n, q.m from numbers, lateral (with a as (select max(age) as m from people) select m from a) q
-- : cte in an in
select n from numbers where n in (with a as (select age from people) select age from a)
-- : cte with a window
with a as (select n, row_number() over (order by n) as r from numbers) select n from a where r = 1
-- : cte over values
with a(x, y) as (values (1, 'a')) select y from a
-- : exists correlated
select n from numbers where exists (select 1 from people where age = n)
-- : not exists
select n from numbers where not exists (select 1 from people where age = n)
-- : scalar subquery with limit
select (select word from numbers order by n limit 1) as w
-- : scalar subquery in an expression
select n + (select max(age) from people) as s from numbers
-- : scalar subquery twice
select (select min(n) from numbers) + (select max(n) from numbers) as s
-- : correlated in where
select o.id from raw.orders o where o.amount > (select avg(x.amount) from raw.orders x where x.customer = o.customer)
-- : correlated two levels
select n from numbers a where exists (select 1 from people p where exists (select 1 from letters l where l.place = a.n))
-- : row in subquery
select n from numbers where (n, word) in (select n, word from numbers where n = 2)
-- : any with greater
select n from numbers where n > any (select age from people)
-- : all with less
select n from numbers where n < all (select age + 10 from people)
-- : array of a subquery with order
select array(select n from numbers where n is not null order by n desc) as l
-- : subquery as a column of a struct
select {'m': (select max(n) from numbers)} as s
-- : pivot with two values
pivot numbers on word in ('one', 'two') using sum(n)
-- : pivot with group by
pivot raw.orders on status in ('new', 'paid') using sum(amount) group by customer
-- : pivot with two aggregates
pivot raw.orders on status in ('new', 'paid') using sum(amount) as total, count(*) as c group by customer
-- : pivot on two columns
select * from (pivot (select customer, status, day, amount from raw.orders) on status in ('new', 'paid') using max(amount) group by customer)
-- : pivot in from with alias
select p.* from (pivot numbers on word in ('one') using max(n)) as p
-- : sql pivot with two columns
select * from (select status, customer, amount from raw.orders) pivot (sum(amount) for status in ('new', 'paid'))
-- : unpivot of two
unpivot (select id, customer from raw.orders) on id, customer into name what value v
-- : unpivot include nulls
select * from (select id, customer::bigint as customer from raw.orders) unpivot include nulls (v for what in (id, customer))
-- : unpivot of columns by pattern
unpivot (select 1 as a1, 2 as a2, 'x' as k) on columns('a.') into name nm value v
-- : unnest recursive
select unnest([[1, 2], [3]], recursive := true) as x
-- : unnest a struct
select unnest({'a': 1, 'b': 2})
-- : unnest with ordinality
select x, o from unnest(['a', 'b']) with ordinality as u(x, o)
-- : unnest two lists
select unnest([1, 2]) as a, unnest(['x', 'y', 'z']) as b
-- : unnest in a subquery
select sum(x) as s from (select unnest([1, 2, 3]) as x)
-- : range with step
select i from range(0, 10, 3) r(i)
-- : generate series of dates
select d::date as d from generate_series(timestamp '2024-01-01', timestamp '2024-01-03', interval 1 day) g(d)
-- : range of timestamps
select t from range(timestamp '2024-01-01', timestamp '2024-01-02', interval 12 hours) r(t)
-- : generate subscripts
select i, [10, 20][i] as v from range(1, 3) r(i)
-- : repeat row
select * from repeat_row(1, 'x', num_rows = 2)
-- : list functions
select list_sort([3, 1, 2]) as a, list_distinct([1, 1]) as b, len([1, 2]) as c, list_reverse([1, 2]) as d
-- : list contains
select list_contains([1, 2], 2) as a, 1 in [1, 2] as b, list_position([5, 6], 6) as c
-- : list concat
select [1] || [2] as a, list_concat([1], [2, 3]) as b, list_append([1], 2) as c
-- : list aggregate functions
select list_sum([1, 2]) as a, list_avg([1, 3]) as b, list_max([1, 2]) as c, list_aggregate([1, 2], 'min') as d
-- : list filter and transform
select list_filter([1, 2, 3], lambda x: x > 1) as a, list_transform([1, 2], lambda x: x * 2) as b
-- : list reduce
select list_reduce([1, 2, 3], lambda a, b: a + b) as r
-- : lambda with an index
select list_transform([5, 6], lambda x, i: x * i) as r
-- : nested lambda
select list_transform([[1, 2], [3]], lambda l: list_transform(l, lambda x: x + 1)) as r
-- : lambda that reads a column
select n, list_transform([1, 2], lambda x: x + n) as r from numbers
-- : list comprehension with a column
select n, [x * n for x in [1, 2, 3] if x > 1] as l from numbers
-- : list slice with step
select [1, 2, 3, 4][1:4:2] as a, [1, 2, 3][-1] as b, [1, 2, 3][2:] as c
-- : list of structs
select [{'a': 1}, {'a': 2}][1].a as x
-- : list zip and flatten
select list_zip([1, 2], ['a', 'b']) as z, flatten([[1], [2]]) as f
-- : array type
select [1, 2, 3]::integer[3] as a, array_value(1.0::float, 2.0::float) as b
-- : array distance
select array_distance([1, 2]::double[2], [2, 2]::double[2]) as d
-- : struct pack
select struct_pack(a := 1, b := 'x') as s
-- : struct extract
select struct_extract({'a': 1}, 'a') as x, ({'a': {'b': 2}}).a.b as y
-- : struct insert
select struct_insert({'a': 1}, b := 2) as s
-- : struct star
select s.* from (select {'a': 1, 'b': 'x'} as s)
-- : struct comparison
select {'a': 1} = {'a': 1} as e, {'a': 1} < {'a': 2} as l
-- : row and tuple
select row(1, 'a') as r, (1, 2) = (1, 2) as e
-- : struct of a source
select place.zip as z, place['city'] as c from raw.customers
-- : map access
select map {'a': 1}['a'] as x, map_keys(map {'a': 1}) as k, map_values(map {'b': 2}) as v
-- : map from lists
select map([1, 2], ['a', 'b']) as m, cardinality(map {'x': 1}) as c
-- : map entries
select unnest(map_entries(map {'a': 1, 'b': 2})) as e
-- : union type
select union_value(num := 1) as u, union_tag(union_value(num := 1)) as t
-- : enum cast
select 'a'::enum('a', 'b') as e
-- : json arrows
select '{"a": {"b": 1}}'::json -> 'a' ->> 'b' as x
-- : json path
select json_extract('{"a": [1, 2]}', '$.a[1]') as x, json_extract_string('{"a": "x"}', '$.a') as y
-- : json building
select json_object('a', n) as j, json_array(n, word) as a, to_json(word) as w from numbers
-- : json each
select key, value from json_each('{"a": 1, "b": 2}')
-- : json type and length
select json_type('[1]') as t, json_array_length('[1, 2]') as l, json_valid('{') as v
-- : cast to json and back
select ('[1, 2]'::json)::integer[] as l
-- : try cast
select try_cast('x' as integer) as a, try_cast('1' as integer) as b
-- : try
select try(1 // 0) as x
-- : cast to decimal
select cast('1.235' as decimal(10, 2)) as a, 1.5::decimal(4, 1) * 2 as b
-- : decimal arithmetic
select amount * 2 as a, amount / 3 as b, amount + 0.001 as c from raw.orders
-- : integer division and modulo
select 7 // 2 as a, 7 % 3 as b, -7 // 2 as c, 7 / 2 as d
-- : power and factorial
select 2 ** 3 as a, 2 ^ 3 as b, 4! as c, @(-3) as d
-- : bit operators
select 5 & 3 as a, 5 | 3 as b, xor(5, 3) as c, 1 << 3 as d, 16 >> 2 as e, ~5 as f
-- : rounding
select round(2.345, 2) as a, ceil(1.2) as b, floor(-1.2) as c, trunc(1.9) as d, round_even(2.5, 0) as e
-- : math functions
select sqrt(4) as a, ln(1) as b, log10(100) as c, sin(0) as d, greatest(1, 3) as e, least(2, 1) as f, sign(-4) as g
-- : infinity and nan
select 'inf'::double as a, 'nan'::double::varchar as b, isnan('nan'::double) as c, isfinite(1.0) as d
-- : huge numbers
select 170141183460469231731687303715884105727 as a, 18446744073709551615::ubigint as b
-- : text functions
select upper('a') as a, lower('A') as b, length('ä') as c, reverse('ab') as d, repeat('x', 3) as e, trim(' a ') as f
-- : substring forms
select substring('hello' from 2 for 3) as a, substr('hello', -3) as b, 'hello'[2:3] as c, left('hello', 2) as d
-- : text positions
select position('l' in 'hello') as a, strpos('hello', 'z') as b, instr('hello', 'e') as c
-- : text splitting
select split_part('a-b-c', '-', 2) as a, string_split('a,b', ',') as b, regexp_split_to_array('a1b2', '[0-9]') as c
-- : padding and replace
select lpad('1', 3, '0') as a, rpad('1', 3, '*') as b, replace('aba', 'a', 'c') as c, translate('abc', 'ab', 'xy') as d
-- : concat forms
select concat('a', null, 1) as a, concat_ws('-', 'a', 'b') as b, 'a' || 1 as c
-- : format and printf
select format('{}-{}', 1, 'a') as a, printf('%05.1f', 2.25) as b
-- : regular expressions
select regexp_matches('abc', 'b.') as a, regexp_extract('a12', '([0-9]+)', 1) as b, regexp_replace('aaa', 'a', 'b', 'g') as c, 'abc' ~ 'a.c' as d
-- : regexp extract all
select regexp_extract_all('a1b2', '[0-9]') as a
-- : like with escape
select 'a%b' like 'a$%b' escape '$' as a, 'x' not like 'y%' as b, 'abc' ilike 'A%' as c
-- : glob
select 'file.txt' glob '*.txt' as a
-- : starts with
select 'hello' ^@ 'he' as a, starts_with('hello', 'x') as b, suffix('hello', 'lo') as c
-- : text similarity
select levenshtein('a', 'b') as a, jaccard('ab', 'ab') as b, hamming('ab', 'ac') as c
-- : unicode functions
select unicode('a') as a, chr(97) as b, ascii('b') as c, strip_accents('é') as d
-- : hashes
select md5('a') as a, sha256('a') as b, hash(1) = hash(1) as c
-- : base64 and hex
select base64('a'::blob) as a, from_base64('YQ==') as b, hex('a') as c, unhex('61') as d
-- : blob literals
select '\xAA'::blob as a, encode('ä') as b, decode('a'::blob) as c
-- : bit strings
select '101'::bit as a, bit_count('101'::bit) as b
-- : uuid literals
select '00000000-0000-0000-0000-000000000001'::uuid as u
-- : date parts
select extract(year from day) as y, date_part('month', day) as m, day(day) as d, dayname(day) as n, week(day) as w from raw.orders
-- : date trunc and add
select date_trunc('month', day) as m, day + 1 as n, day + interval 1 month as o, day - date '2024-01-01' as p from raw.orders
-- : date diff
select date_diff('day', date '2024-01-01', day) as d, datesub('month', date '2023-01-01', day) as m from raw.orders
-- : date making
select make_date(2024, 2, 29) as a, last_day(date '2024-02-01') as b, date '2024-01-31' + interval 1 month as c
-- : strftime and strptime
select strftime(date '2024-01-02', '%d.%m.%Y') as a, strptime('02.01.2024', '%d.%m.%Y') as b
-- : intervals of every kind
select interval '1 year 2 months' as a, interval 3 day as b, to_hours(2) as c, interval (1 + 1) day as d
-- : intervals ago
select date '2024-01-10' - interval '3 days' as a, interval '-3 days' as b, interval '3 days ago' as c
-- : interval arithmetic
select interval 1 day * 3 as a, interval 2 hour + interval 30 minute as b, - interval 1 day as c
-- : timestamps of every precision
select timestamp_s '2024-01-01 00:00:00' as a, timestamp_ms '2024-01-01 00:00:00.123' as b, timestamp_ns '2024-01-01 00:00:00.123456789' as c
-- : timestamp with zone
select ordered_at at time zone 'Europe/Berlin' as a, ordered_at::date as b from raw.orders
-- : timestamp from a local time
select timestamp '2024-01-01 12:00:00' at time zone 'Europe/Berlin' as a
-- : epoch functions
select epoch(timestamp '2024-01-01') as a, to_timestamp(0) as b, epoch_ms(1000) as c, make_timestamp(2024, 1, 2, 3, 4, 5.5) as d
-- : time type
select time '10:11:12.5' as a, timetz '10:00:00+02' as b, (timestamp '2024-01-01 05:06:07')::time as c
-- : time bucket
select time_bucket(interval 7 days, day) as b from raw.orders
-- : age of two
select age(timestamp '2024-03-01', timestamp '2024-01-31') as a
-- : date comparisons
select id from raw.orders where day >= '2024-01-02' and day < date '2024-02-01'
-- : between symmetric bounds
select id from raw.orders where day between date '2024-01-01' and date '2024-01-01' + interval 1 day
-- : case simple
select case word when 'one' then 1 when 'two' then 2 end as c from numbers
-- : case nested
select case when n > 1 then case when n > 2 then 'big' else 'mid' end else 'small' end as c from numbers
-- : case with is null
select case when n is null then 'none' else word end as c from numbers
-- : if function
select if(n > 1, 'a', 'b') as c from numbers
-- : coalesce of many
select coalesce(null, n, 0) as c, ifnull(word, '-') as d, nullif(n, 2) as e from numbers
-- : null comparisons
select null = null as a, null is null as b, n is distinct from 2 as c, n is not distinct from null as d from numbers
-- : boolean tests
select (n > 1) is true as a, (n > 1) is not false as b, (n > 1) is unknown as c from numbers
-- : three-valued logic
select (n > 1) and (word = 'one') as a, (n > 1) or (n is null) as b, not (n > 1) as c from numbers
-- : in with null
select n in (1, null) as a, n not in (1, null) as b from numbers
-- : not between
select n from numbers where n not between 2 and 3
-- : exists as a value
select exists (select 1 from people where age = n) as e, n from numbers
-- : operators without blanks
select n+1as a,n*-1 as b from numbers
-- : deep brackets
select ((((n)))) as n from (((select n from numbers)))
-- : star and a column
select *, n * 2 as twice_n from numbers
-- : star of two relations
select a.*, p.name from numbers a join people p on p.age = a.n
-- : exclude two
select * exclude (n, word), n + 1 as m from numbers
-- : exclude by relation
select a.* exclude (word), p.* exclude (age) from numbers a, people p
-- : replace two
select * replace (n + 1 as n, upper(word) as word) from numbers
-- : exclude and replace
select * exclude (word) replace (n + 1 as n) from numbers
-- : rename and exclude
select * exclude (word) rename (n as m) from numbers
-- : columns by list
select columns(['n', 'word']) from numbers
-- : columns by lambda and function
select max(columns(lambda c: c = 'n')) from numbers
-- : columns with a pattern and rename
select columns('(n)') as 'x_\1' from numbers
-- : columns in where
select n from numbers where columns(*) is not null
-- : columns with exclude
select min(columns(* exclude (word))) from numbers
-- : unpack of columns
select coalesce(*columns(lambda c: c in ('n'))) as c from numbers
-- : star not like
select * not like 'w%' from numbers
-- : star similar to
select * similar to 'n' from numbers
-- : alias reuse in select
select n + 1 as a, a * 2 as b, b - a as c from numbers
-- : alias in group by and having
select n // 2 as h, sum(n) as s from numbers group by h having s > 1
-- : alias in order by
select n as x from numbers order by x desc limit 2
-- : prefix alias
select twice_n: n * 2, n from numbers
-- : prefix alias in from
from a: numbers, b: people select a.n, b.name where a.n = b.age
-- : from first with everything
from raw.orders select customer, sum(amount) as s where amount > 5 group by customer having count(*) > 0 order by s limit 5
-- : from first in a subquery
select * from (from numbers select n where n > 1)
-- : from first in a cte
with a as (from numbers where n > 1) from a
-- : from values first
from (values (1), (2)) v(x) select x * 2 as y
-- : subquery with a list of columns
select a, b from (select n, word from numbers) as q(a, b)
-- : subquery without alias
select n from (select n from numbers)
-- : subquery aliases again
select q.n from (select numbers.n from numbers) q
-- : tablesample by bernoulli of all
select count(*) as c from numbers tablesample bernoulli (100 percent)
-- : tablesample reservoir of all
select count(*) as c from numbers tablesample reservoir (100 rows)
-- : sample of a subquery
select count(*) as c from (select n from numbers) using sample 100 percent (bernoulli)
-- : comment before everything
-- first
select n from numbers
-- : comment between words
select/* a */n/* b */from/* c */numbers/* d */where/* e */n/* f */>/* g */1
-- : nested comment look
select n /* -- not a line comment */ from numbers
-- : line comment with quote
select n -- it's a 'quote'
from numbers
-- : comment that holds sql
select n from numbers /* where n = (select max(n) from nothing) */
-- : two comments at the end
select n from numbers -- a
-- b
-- : several semicolons
select n from numbers;;
-- : blank lines and tabs
select
	n

	from

	numbers
-- : upper case everything
SELECT N, WORD FROM NUMBERS WHERE N > 1 ORDER BY N LIMIT 1
-- : mixed case of a source
select Id from Raw.Orders where ORDERS.id = 1
-- : quoted mixed case
select "N" from "NUMBERS"
-- : quoted alias with a quote
select n as "a ""b""" from numbers
-- : quoted alias with a dot
select n as "a.b" from numbers
-- : alias that is a keyword
select n as "select", word as "from" from numbers
-- : non-ascii alias
select n as größe from numbers
-- : emoji in text
select '🙂' || word as w from numbers
-- : text with a line break
select 'a
b' as t
-- : text with two quotes
select 'it''s' as t
-- : dollar quoted with a tag
select $x$ it's $y$ here $x$ as t
-- : escape text
select e'a\	b' as t
-- : unicode escape look
select 'a\u0062' as t
-- : text that looks like a template in a comment
select 1 as a /* {{ ref('x') }} */
-- : a table alias called like a model
select people.n from numbers as people
-- : a cte called like a model used beside it
with people as (select n from numbers) select people.n, letters.letter from people, letters
-- : a column called like a model
select n as numbers from numbers
-- : a column alias called like a source's schema
select n as raw from numbers
-- : ephemeral in a join
select a.x, b.x as y from tiny a join doubled b on a.x * 2 = b.x
-- : ephemeral in a scalar subquery
select (select max(x) from doubled) as m
-- : ephemeral in an exists
select n from numbers where exists (select 1 from tiny where x = n)
-- : ephemeral in a union
select x from tiny union all select x from doubled
-- : ephemeral in a recursive anchor
with recursive r(x) as (select min(x) from tiny union all select x + 1 from r where x < 3) select x from r
-- : ephemeral in a lateral
select n, q.x from numbers, lateral (select x from tiny where x = n) q
-- : ephemeral in a window
select x, sum(x) over (order by x) as s from doubled
-- : ephemeral by schema
select x from main.tiny
-- : ephemeral with column aliases
select a from tiny as t(a)
-- : ephemeral in a set operation of brackets
(select x from tiny) except (select x from doubled)
-- : seed by schema
select letter from main.letters
-- : seed aggregated
select max(place) as m, min(letter) as l from letters
-- : seed in a subquery
select n from numbers where n in (select place from letters)
-- : macro of a macro's result
select twice(twice(n)) as x from numbers
-- : macro in an aggregate
select sum(twice(n)) as s from numbers
-- : macro in a window
select twice(row_number() over (order by n)) as r from numbers
-- : macro in a join condition
select a.n from numbers a join letters l on twice(l.place) = a.n
-- : table macro joined
select u.x from up_to(3) u join numbers n on n.n = u.x
-- : table macro with a column's alias
select y from up_to(2) as u(y)
-- : variable in a case
select case when word = $word then 1 else 0 end as c from numbers
-- : variable in a function
select upper($word) as u
-- : variable twice
select $factor + $factor as s
-- : variable beside a cast
select $factor::varchar as v, cast($day as varchar) as d
-- : variable in a list function
select list_contains($some, n) as c from numbers
-- : variable negative in arithmetic
select 10 - $minus as d, 2 * $minus as e
-- : variable in a macro
select twice($factor) as t
-- : variable in an interval
select $day + to_days($factor) as d
-- : variable boolean in where
select n from numbers where $yes
-- : variable in a window frame
select n, sum(n) over (order by n rows between $factor preceding and current row) as s from numbers
-- : variable in a cte
with a as (select $factor as f) select f from a
-- : variable decimal in arithmetic
select $rate::decimal(4, 2) * 2 as r
-- : time of the plan in a comparison
select id from raw.orders where ordered_at < $as_of
-- : time of the plan cast
select cast($as_of as date) as d
-- : target in a case
select case when $target = 'dev' then 1 else 2 end as t
