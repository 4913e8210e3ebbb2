select tailnum, year as built, manufacturer, model, engines, seats from planes_file
