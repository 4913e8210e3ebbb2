-- Ephemeral too: a step that only `fct_orders` and `product_sales` need.
select
    lines.order_id,
    count(*) as lines,
    cast(sum(lines.quantity) as bigint) as items,
    cast(sum(lines.quantity * products.price_cents) as bigint) as total_cents
from stg_order_lines as lines
join products using (sku)
group by lines.order_id
