-- From one departure out of New York to the next of the same plane.
select
    tailnum,
    flight_key,
    scheduled_at,
    scheduled_at - lag(scheduled_at) over (partition by tailnum order by scheduled_at, flight_key) as since_last
from fct_flights
where tailnum is not null and not is_cancelled
