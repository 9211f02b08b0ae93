"""A process that writes to JSONL files which others write to at the same time.

Run as `python jsonl_writer.py FOLDER NAME COUNT [MOST_BYTES]`. It begins conversations in rooms that others
want too, and appends turns to the first of them and to one of its own. On its output there is one line of
JSON for everything that had returned, and one for the error that ended it, if one did. No file of it grows
beyond MOST_BYTES, as on a full disk.
"""

import json
import os
import sys
from pathlib import Path

from backstory.adapters.conversations.jsonl import JsonlConversationStorage
from backstory.errors import BackstoryError
from backstory.model.live import NewConversation, NewTurn
from backstory.model.project import Project
from backstory.ports import ConversationStorage
from tests.contract.storages import NOON

if sys.platform != "win32":
    import resource

ROOMS = 20


def say(**done: object) -> None:
    os.write(1, (json.dumps(done) + "\n").encode())


def begin(storage: ConversationStorage, id: str, room: str) -> str:
    return storage.create(NewConversation(id, Project("shop"), "cli", room, NOON)).id


def write(storage: ConversationStorage, name: str, count: int) -> None:
    shared = [begin(storage, f"{name}-room-{room}", f"room {room}") for room in range(ROOMS)]
    say(rooms=shared)
    own = begin(storage, f"{name}-own", f"of {name}")
    for number in range(count):
        id = shared[0] if number % 2 else own
        (turn,) = storage.append(id, [NewTurn(f"{name}-{number}", "words " * 20, name, NOON)])
        say(conversation=id, turn=turn.id, number=turn.number)


def main() -> None:
    folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if len(sys.argv) > 4 and sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
    with JsonlConversationStorage.open(folder, max_file_bytes=20_000, compaction_interval_s=0) as storage:
        say(ready=True)
        sys.stdin.readline()
        try:
            write(storage, name, count)
        except BackstoryError as error:
            say(error=type(error).__name__, hint=error.hint)


if __name__ == "__main__":
    main()
