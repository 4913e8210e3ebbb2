-- A count by day changes while views of that day still come in. So whole days are replaced: the newest day and, because
-- of `lookback`, the one before it.
select
    view_day,
    page,
    count(*) as views,
    count(distinct visitor) as visitors
from fct_page_views
group by view_day, page
