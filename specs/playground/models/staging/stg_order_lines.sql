select
    order_id,
    line,
    sku,
    quantity
from landing.order_lines
