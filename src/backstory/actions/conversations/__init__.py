"""Live conversations: begun, written turn by turn, summed up, moved, and put together into contexts.

- `create`      begin one, or find the one that a room has
- `add_turn`    write what was said; it is durable when the call returns
- `change`      another title or other metadata; delete, and take back
- `summarizing` short texts in place of turns that nobody reads as they were said any more
- `backfill`    let search find by meaning what had to wait
- `migrate`     move everything to another place
- `background`  what upkeep does of all that by itself
- `history`     read one back by tiers
- `context`     what a model should read before it answers
- `browse`      list them beside transcripts, and read one page by page
- `newest`      list them for a person, deleted ones too

The storage is the log of what was said. `copying` brings it into the records, where search finds it beside
transcripts; `catching_up` brings what was missed. `accepting` says what may be written, and takes the secrets
out; `moving` moves one conversation; `known` finds by id; `at_hand` and `relevant` serve `context`.
"""
