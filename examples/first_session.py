"""A first session: keeps a few memories if there are none yet, and finds one again.

Uses the same store as everything else (`backstory config` says where), so what you keep stays.
"""

import json
from pathlib import Path

from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.search import search_memories
from backstory.engine import Engine
from backstory.http.worker import Worker
from backstory.model.memory import NewMemory
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import MemoryQuery
from backstory.settings import read_settings
from backstory.wiring import open_engine

SAMPLE = Path(__file__).parent / "sample.jsonl"
SAMPLE_PROJECT = Project("sample-shop")
QUESTION = "why did charging a customer twice never happen again?"


def load_sample(engine: Engine) -> None:
    for line in SAMPLE.read_text("utf-8").splitlines():
        add_memory(engine, SAMPLE_PROJECT, NewMemory(**json.loads(line)))
    print(f"There was nothing yet, so the sample was loaded into project {SAMPLE_PROJECT}.\n")


def show_what_is_there(engine: Engine) -> None:
    found = statistics(engine, ALL_PROJECTS)
    count, megabytes = sum(found.memories.values()), sum(found.storage_bytes.values()) / 2**20
    print(f"{count} memories, {found.projects} project(s), {megabytes:.1f} MB in {engine.home}")
    for type_, count in found.memories.items():
        print(f"  {count:>4}  {type_}")


def ask(engine: Engine, question: str) -> None:
    print(f"\n> {question}\n")
    for hit in search_memories(engine, ALL_PROJECTS, MemoryQuery(question, limit=3)).hits:
        parts = ", ".join(f"{name} {part:.2f}" for name, part in hit.parts.items())
        print(f"  {hit.score:.2f} ({parts})  [{hit.memory.type}, {hit.memory.project}]")
        print(f"       {hit.memory.content}\n")


def main() -> None:
    with open_engine(read_settings()) as engine, Worker(engine):
        if not statistics(engine, ALL_PROJECTS).memories:
            load_sample(engine)
        show_what_is_there(engine)
        ask(engine, QUESTION)
    print(
        "Next: keep memories of your own from Python, as README.md shows;"
        " 'backstory config' says where they are, 'backstory doctor' how they are."
    )


if __name__ == "__main__":
    main()
