select carrier, name from airlines_file
