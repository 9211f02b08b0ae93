"""A process that keeps writing and says what was acknowledged, so that it can be killed.

Run as `python writer.py HOME SEED`. Each line on its output is an operation that had returned.
"""

import json
import os
import random
import sys
import threading

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.update import update_memory
from backstory.engine import Engine
from backstory.model.graph import RelationshipType
from backstory.model.memory import MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.project import Project
from backstory.settings import read_settings
from backstory.wiring import open_engine

THREADS = 3


def say(**operation: object) -> None:
    """One write, so that a kill leaves a whole line or none."""
    os.write(1, (json.dumps(operation) + "\n").encode())


def text_of(number: float) -> str:
    return f"note w{number} about topic t{number} and more words to be found by"


def write_for_ever(engine: Engine, chance: random.Random, project: Project) -> None:
    own: list[str] = []
    while True:
        number = chance.randrange(10**9)
        if len(own) > 3 and chance.random() < 0.3:
            id = own.pop(chance.randrange(len(own)))
            say(intent=id)
            if chance.random() < 0.5:
                delete_memory(engine, project, id)
                say(id=id, project=project.name, content=None)
                continue
            update_memory(engine, project, id, MemoryChange(content=text_of(number)))
        else:
            links = [Relationship(RelationshipType.RELATES_TO, MemoryId(own[-1]))] if own else []
            id = add_memory(
                engine, project, NewMemory("design", text_of(number), relationships=links)
            ).memory.id
        own.append(id)
        say(id=id, project=project.name, content=text_of(number))


def main() -> None:
    home, seed = sys.argv[1], int(sys.argv[2])
    settings = read_settings({"BACKSTORY_HOME": home, "BACKSTORY_MIN_FREE_MB": "1"})
    with open_engine(settings) as engine:
        say(ready=True)
        for worker in range(THREADS):
            chance = random.Random(seed * THREADS + worker)
            project = Project(f"project {worker % 2}")
            threading.Thread(target=write_for_ever, args=(engine, chance, project), daemon=True).start()
        threading.Event().wait()


if __name__ == "__main__":
    main()
