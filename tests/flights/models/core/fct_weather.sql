select origin, observed_at, temp, wind_speed, precip, visib from stg_weather
