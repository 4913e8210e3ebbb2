-- Ephemeral: nothing is made in the warehouse. This text stands in the place of its name in whatever reads it.
select
    view_id,
    visitor,
    page,
    viewed_at,
    received_at,
    cast(viewed_at at time zone $shop_zone as date) as view_day
from landing.page_views
