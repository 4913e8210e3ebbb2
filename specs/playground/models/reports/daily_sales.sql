-- A view costs nothing to make and is always as new as what it reads.
select
    order_day,
    count(*) as orders,
    count(*) filter (where is_big) as big_orders,
    sum(total) filter (where status <> 'returned') as revenue
from fct_orders
group by order_day
