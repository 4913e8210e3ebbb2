-- Orders change: placed, shipped, perhaps returned. So they are merged by their key, and only those whose `updated_at`
-- is above the watermark are looked at.
select
    orders.order_id,
    orders.customer_id,
    orders.status,
    cast(orders.ordered_at at time zone $shop_zone as date) as order_day,
    totals.items,
    euros(totals.total_cents) as total,
    totals.total_cents >= $big_order_cents as is_big,
    orders.updated_at
from stg_orders as orders
join order_totals as totals using (order_id)
