select
    customer_id,
    trim(name) as name,
    upper(country) as country,
    updated_at
from landing.customers
