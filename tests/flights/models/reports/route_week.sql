-- A moving week by route: every new day moves six days of averages, so it is a table and built whole.
with days as (
    select flight_day, origin, dest, count(*) as flights
    from fct_flights
    group by all
)
select
    flight_day,
    origin,
    dest,
    flights,
    sum(flights) over (
        partition by origin, dest
        order by flight_day
        range between interval 6 days preceding and current row
    ) as flights_of_week
from days
