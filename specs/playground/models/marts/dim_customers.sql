select
    customer_id,
    history.name,
    countries.name as country,
    countries.vat_percent
from customer_history as history
join countries on countries.code = history.country
where history.valid_to is null
