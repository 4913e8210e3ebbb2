select
    strftime(time_hour, '%Y%m%d%H') || '-' || carrier || '-' || flight as flight_key,
    make_date(year, month, day) as flight_day,
    time_hour + to_minutes(minute) as scheduled_at,
    time_hour,
    carrier,
    flight,
    tailnum,
    origin,
    dest,
    dep_delay,
    arr_delay,
    air_time,
    distance
from landing.flights
