"""A process that keeps adding turns to live conversations, so that it can be killed.

Run as `python turn_writer.py HOME STORAGE SEED`. Its worker runs, as that of every process does. Before
each turn it says what it is about to add, and afterwards at which place it was kept.
"""

import json
import os
import random
import sys
import threading

from backstory.actions.conversations.add_turn import Said, add_turn
from backstory.actions.conversations.create import Wanted, create_conversation
from backstory.engine import Engine
from backstory.http.worker import working
from backstory.model.project import Project
from backstory.settings import Settings, read_settings
from backstory.wiring import open_engine

THREADS = 3
ROOMS = 2
TALKS = Project("talks")


def settings_for(home: str, storage: str) -> Settings:
    """Files of the storage are so small, and so often compacted, that kills meet both."""
    return read_settings(
        {
            "BACKSTORY_HOME": home,
            "BACKSTORY_MIN_FREE_MB": "1",
            "BACKSTORY_CONVERSATION_STORAGE": storage,
            "CONTEXT_MAX_FILE_SIZE": "8192",
            "CONTEXT_COMPACTION_INTERVAL": "20",
        }
    )


def names_in(writer: str, number: int) -> tuple[str, str]:
    """The words of a turn that no other turn has: one of its question, one of its answer."""
    return f"parcel{writer}x{number}", f"gate{writer}x{number}"


def said_by(writer: str, number: int) -> Said:
    """What a writer says in one turn."""
    parcel, gate = names_in(writer, number)
    return Said(
        f"Where is the {parcel} now?", f"It waits behind {gate} for you.", writer, metadata={"number": number}
    )


def say(**line: object) -> None:
    """One write, so that a kill leaves a whole line or none."""
    os.write(1, (json.dumps(line) + "\n").encode())


def talk_for_ever(engine: Engine, rooms: list[str], writer: str) -> None:
    chance = random.Random(writer)
    number = 0
    while True:
        number += 1
        named = {"conversation": chance.choice(rooms), "writer": writer, "number": number}
        say(**named)
        key = f"{writer} {number}"
        kept = add_turn(engine, TALKS, str(named["conversation"]), said_by(writer, number), key).turn
        say(**named, place=kept.number)


def main() -> None:
    home, storage, seed = sys.argv[1:]
    with open_engine(settings_for(home, storage)) as engine, working(engine):
        rooms = [
            create_conversation(engine, TALKS, Wanted("bot", f"room {number}")).conversation.id
            for number in range(ROOMS)
        ]
        for thread in range(THREADS):
            arguments = (engine, rooms, f"{seed}t{thread}")
            threading.Thread(target=talk_for_ever, args=arguments, daemon=True).start()
        threading.Event().wait()


if __name__ == "__main__":
    main()
