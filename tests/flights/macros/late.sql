create macro share_late(delays, threshold) as round(100.0 * count_if(delays > threshold) / count(*), 1);
