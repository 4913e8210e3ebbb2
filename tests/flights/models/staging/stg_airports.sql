select faa, name, tzone, lat, lon from airports_file
