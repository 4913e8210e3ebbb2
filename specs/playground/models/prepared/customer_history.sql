-- The list of customers is overwritten every day. A snapshot keeps each version of a row: a new one is opened and the old
-- one closed when `updated_at` moves, in one transaction.
select
    customer_id,
    name,
    country,
    updated_at
from stg_customers
