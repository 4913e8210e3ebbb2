select tailnum, carrier, airport, seen_at from last_seen
