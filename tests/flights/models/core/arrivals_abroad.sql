-- The clock at the other end: each airport has its own zone, and some have none in the file.
select
    flights.flight_key,
    flights.flight_day,
    flights.dest,
    airports.tzone,
    flights.scheduled_at at time zone airports.tzone as scheduled_there
from stg_flights as flights
join stg_airports as airports on airports.faa = flights.dest
where airports.tzone is not null
