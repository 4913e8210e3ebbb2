-- A macro is part of the definition of each model that calls it: change this line, and they are built again.
create macro euros(cents) as cast(round(cents / 100, 2) as decimal(12, 2));
