-- Each flight with the weather of its hour; the weather of a day comes with its flights.
select
    flights.flight_key,
    flights.scheduled_at,
    flights.origin,
    flights.dep_delay,
    weather.temp,
    weather.wind_speed,
    weather.precip,
    weather.visib
from stg_flights as flights
left join stg_weather as weather
    on weather.origin = flights.origin
    and weather.observed_at = flights.time_hour
