select
    customers.customer_id,
    customers.name,
    customers.country,
    count(orders.order_id) as orders,
    coalesce(sum(orders.total), 0) as revenue,
    rank() over (order by coalesce(sum(orders.total), 0) desc) as place
from dim_customers as customers
left join fct_orders as orders
    on orders.customer_id = customers.customer_id
    and orders.status <> 'returned'
group by all
