with orders_of as (
    select
        customer_id,
        min(order_date) as first_order,
        max(order_date) as most_recent_order,
        count(order_id) as number_of_orders
    from stg_orders
    group by customer_id
),

payments_of as (
    select
        orders.customer_id,
        sum(payments.amount) as total_amount
    from stg_payments as payments
    left join stg_orders as orders on orders.order_id = payments.order_id
    group by orders.customer_id
)

select
    customers.customer_id,
    customers.first_name,
    customers.last_name,
    orders_of.first_order,
    orders_of.most_recent_order,
    orders_of.number_of_orders,
    payments_of.total_amount as customer_lifetime_value
from stg_customers as customers
left join orders_of on orders_of.customer_id = customers.customer_id
left join payments_of on payments_of.customer_id = customers.customer_id
