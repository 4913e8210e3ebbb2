-- The shop's one number: of a day's visitors, how many bought?
with visitors as (
    select view_day as day, count(distinct visitor) as visitors
    from fct_page_views
    group by view_day
),
buyers as (
    select order_day as day, count(distinct customer_id) as buyers
    from fct_orders
    group by order_day
)
select
    visitors.day,
    visitors.visitors,
    coalesce(buyers.buyers, 0) as buyers,
    round(100 * coalesce(buyers.buyers, 0) / visitors.visitors, 1) as percent
from visitors
left join buyers using (day)
