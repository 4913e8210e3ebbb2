-- The hour that the clocks are set back in stands twice in the file of November; the key is the hour in UTC.
select
    origin,
    time_hour as observed_at,
    temp,
    wind_speed,
    precip,
    visib
from landing.weather
