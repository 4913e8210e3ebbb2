-- Views never change, so they are appended. The watermark is when a view was *received*: a view that comes a day late has
-- an old `viewed_at`, and an append by that would never see it.
select
    view_id,
    visitor,
    page,
    view_day,
    viewed_at,
    received_at
from stg_page_views
