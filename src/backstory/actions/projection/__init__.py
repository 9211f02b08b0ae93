"""Keeping vectors and graph in step with the records.

Every write to the records leaves a mark for each projection. Here marks become index entries and
graph nodes, generations are built and swapped, and what disagrees is found and mended.

- `now`         project one subject at once, with whatever else waits; a batch; a project's graph
- `layouts`     what each index is made of
- `entries`     what an entry of each index holds; `windows`: what was said around a message
- `vectors`     passages to entries of the generations in use
- `graph`       what is marked, or a whole project, into the graph; `memory_graph`, `conversation_graph` and
                `left_files` say what becomes a node and an edge
- `generations` which generations there are, building the next one, swapping
- `reconcile`   compare what is projected with the records, and mend it
- `upkeep`      one bounded step of whatever has to be done; what a worker repeats
- `asking`      candidates from a live index, or from the records where it cannot answer
"""
