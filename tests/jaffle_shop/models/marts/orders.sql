with payments_of as (
    select
        order_id,
        sum(case when payment_method = 'credit_card' then amount else 0 end) as credit_card_amount,
        sum(case when payment_method = 'coupon' then amount else 0 end) as coupon_amount,
        sum(case when payment_method = 'bank_transfer' then amount else 0 end) as bank_transfer_amount,
        sum(case when payment_method = 'gift_card' then amount else 0 end) as gift_card_amount,
        sum(amount) as total_amount
    from stg_payments
    group by order_id
)

select
    orders.order_id,
    orders.customer_id,
    orders.order_date,
    orders.status,
    payments_of.credit_card_amount,
    payments_of.coupon_amount,
    payments_of.bank_transfer_amount,
    payments_of.gift_card_amount,
    payments_of.total_amount as amount
from stg_orders as orders
left join payments_of on payments_of.order_id = orders.order_id
