-- Windows within the partition: a day is replaced as a whole, so its ranks are right.
select
    flight_day,
    carrier,
    sum(flights) as flights,
    rank() over (partition by flight_day order by sum(flights) desc, carrier) as place,
    round(100.0 * sum(flights) / sum(sum(flights)) over (partition by flight_day), 2) as percent_of_day
from daily_delays
group by flight_day, carrier
