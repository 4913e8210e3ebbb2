select
    id as payment_id,
    order_id,
    payment_method,
    cast(amount / 100 as decimal(10, 2)) as amount -- the file holds cents
from raw_payments
