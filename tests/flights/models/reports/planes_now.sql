select
    history.tailnum,
    history.airport,
    history.seen_at,
    planes.manufacturer,
    planes.seats,
    airlines.name as airline
from plane_history as history
join stg_airlines as airlines on airlines.carrier = history.carrier
left join stg_planes as planes on planes.tailnum = history.tailnum
where history.valid_to is null
