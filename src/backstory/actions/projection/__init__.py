"""Keeping vectors and graph in step with the records.

Every write to the records leaves a mark for each projection. Here marks become index entries and
graph nodes, generations are built and swapped, and what disagrees is found and mended.

- `now`         project one subject at once, with whatever else waits; a batch; a project's graph
- `vectors`     passages to index entries
- `graph`       memories and links to nodes and edges
- `generations` which generations there are, building the next one, swapping
- `reconcile`   compare what is projected with the records, and mend it
- `upkeep`      one bounded step of whatever has to be done; what a worker repeats
"""
