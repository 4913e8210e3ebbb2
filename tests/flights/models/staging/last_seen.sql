-- Where each plane was last: its latest departure that was not cancelled.
select
    tailnum,
    carrier,
    dest as airport,
    scheduled_at as seen_at
from stg_flights
where tailnum is not null and dep_delay is not null
qualify row_number() over (partition by tailnum order by scheduled_at desc, flight_key desc) = 1
