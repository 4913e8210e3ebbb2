-- Rows that never move: appended by when they were scheduled.
select
    flight_key,
    flight_day,
    scheduled_at,
    scheduled_at at time zone $home_zone as scheduled_local,
    carrier,
    flight,
    tailnum,
    origin,
    dest,
    dep_delay,
    arr_delay,
    dep_delay is null as is_cancelled,
    distance
from stg_flights
