select
    date_trunc('hour', scheduled_at) as departure_hour,
    origin,
    count(*) as departures,
    count(distinct dest) as destinations
from fct_flights
group by all
