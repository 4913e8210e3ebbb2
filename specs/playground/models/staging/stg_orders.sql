-- One row an order: its newest status. The files hold one line for each change.
select
    order_id,
    customer_id,
    status,
    ordered_at,
    updated_at
from landing.orders
qualify row_number() over (partition by order_id order by updated_at desc) = 1
