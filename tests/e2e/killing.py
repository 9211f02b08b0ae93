"""Killing a writing process, and checking that nothing it acknowledged is lost."""

import json
import random
import subprocess
import sys
from pathlib import Path

from backstory.actions.memory.search import search_memories
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.model.project import Project
from backstory.model.search import MemoryQuery

WRITER = Path(__file__).parent / "writer.py"


class Promises:
    """What was acknowledged, by id; None for a memory that was deleted."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Project, str | None]] = {}
        #: Operations that had begun when the process was killed: they may have happened or not.
        self.doubtful: set[str] = set()

    def take(self, line: str) -> None:
        """Note what a line of the writer's output says."""
        said = json.loads(line)
        if "intent" in said:
            self.doubtful.add(said["intent"])
        elif "id" in said:
            self.doubtful.discard(said["id"])
            self.kept[said["id"]] = (Project(said["project"]), said["content"])

    def settle(self) -> None:
        """Forget what was doubtful: either outcome was right, and it is checked no further."""
        for id in self.doubtful:
            self.kept.pop(id, None)
        self.doubtful.clear()


def write_and_kill(home: Path, seed: int, promises: Promises) -> None:
    """Let a process write for a while and kill it in the middle of something."""
    operations = random.Random(seed).randrange(1, 40)
    command = [sys.executable, str(WRITER), str(home), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(operations):
            promises.take(process.stdout.readline())
        process.kill()
        for line in process.stdout:
            promises.take(line)
    promises.settle()


def broken_promises(engine: Engine, promises: Promises) -> list[str]:
    """What is not as it was acknowledged, after upkeep had its time."""
    while upkeep(engine, Work()):
        pass
    broken = []
    with engine.records.reading() as records:
        for id, (project, content) in promises.kept.items():
            memory = records.memories.find(project, [id]).get(id)
            if (memory.content if memory else None) != content:
                broken.append(f"{id} should say {content!r}, and is {memory}")
    for id, (project, content) in promises.kept.items():
        if content is not None:
            hits = search_memories(engine, project, MemoryQuery(content)).hits
            if not hits or hits[0].memory.id != id:
                broken.append(f"{id} is not found")
    if (found := reconcile(engine, Work())) != Reconciled(0, 0):
        broken.append(f"records and projections disagree: {found}")
    return broken
