"""A fresh process that opens a store, answers questions and says what that cost.

Run as `python -m benchmarks.newcomer HOME PROJECT`, with a JSON list of questions on its input. The
process that filled the store has its own garbage in memory; this one has what serving takes.
"""

import json
import sys
import time
from pathlib import Path

from backstory.actions.memory.search import search_memories
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import MemoryQuery
from benchmarks.machine import resident_mb
from benchmarks.stores import opened


def main() -> None:
    """Answer the questions, in the project and over all projects by turns."""
    home, project = Path(sys.argv[1]), Project(sys.argv[2])
    first, *others = json.load(sys.stdin)
    start = time.perf_counter()
    with opened(home) as engine:
        search_memories(engine, project, MemoryQuery(first))
        reopening_s = time.perf_counter() - start
        for number, question in enumerate(others):
            search_memories(engine, ALL_PROJECTS if number % 2 else project, MemoryQuery(question))
        resident = resident_mb()
    print(json.dumps({"reopening_s": reopening_s, "resident_mb": resident}))


if __name__ == "__main__":
    main()
