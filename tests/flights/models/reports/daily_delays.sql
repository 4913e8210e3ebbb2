select
    flight_day,
    origin,
    carrier,
    count(*) as flights,
    count_if(is_cancelled) as cancelled,
    round(avg(dep_delay), 2) as mean_delay,
    share_late(dep_delay, $late_minutes) as percent_late
from fct_flights
group by flight_day, origin, carrier
