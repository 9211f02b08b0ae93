"""Which kept memory an item of a document is, if it is one already.

An item is the memory that was read from the same place; else the one that goes by the same name, unless
another document says that one. A memory that somebody deleted or merged stays so.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from backstory.actions.documents.items import DOCUMENT, GONE, KEY, name_of
from backstory.analysis.documents.values import ParsedItem
from backstory.engine import Transaction
from backstory.model.memory import Memory
from backstory.model.project import Project

#: Whether a document, by its name, still says what has this key.
Holds = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Contested:
    """The item has the name of a memory that another document says."""

    document: str


class Kept:
    """The memories that go by the names of some items, as they are kept in a project."""

    def __init__(self, records: Transaction, project: Project, items: Sequence[ParsedItem]) -> None:
        names = {name for item in items for name in _names(item)}
        self._ids = records.names.having(project, names)
        every = {id for ids in self._ids.values() for id in ids}
        found = (records.memories.get(project, id) for id in every)
        self._memories: dict[str, Memory] = {memory.id: memory for memory in found if memory}
        deleted = [memory.id for memory in self._memories.values() if memory.deleted_at]
        self._folded = records.folds.into(deleted).keys()

    def match(self, item: ParsedItem, holds: Holds) -> Memory | Contested | None:
        """What the item is; None if it is new. A memory that is deleted is to be left alone."""
        named = [memory for memory in self._going_by(_names(item)) if memory.type == item.type]
        own = [memory for memory in named if memory.metadata.get(KEY) == item.key]
        free = [memory for memory in named if _is_free(memory, item, holds)]
        folded = [memory for memory in own if memory.id in self._folded]
        for memory in (*_live(own), *folded, *_live(free)):
            return memory
        if item.type == "requirement" and (others := _live(named)):
            return Contested(str(others[0].metadata[DOCUMENT]))
        read_before = [memory for memory in (*own, *free) if KEY in memory.metadata]
        return next(iter(read_before), None)

    def _going_by(self, names: Iterable[str]) -> list[Memory]:
        """The memories that go by these names, the oldest first."""
        ids = {id for name in names for id in self._ids.get(name, ())}
        memories = [self._memories[id] for id in ids if id in self._memories]
        return sorted(memories, key=lambda memory: (memory.created_at, memory.id))


def _names(item: ParsedItem) -> list[str]:
    name = name_of(item)
    return [item.key, name] if name else [item.key]


def _live(memories: Iterable[Memory]) -> list[Memory]:
    return [memory for memory in memories if memory.deleted_at is None]


def _is_free(memory: Memory, item: ParsedItem, holds: Holds) -> bool:
    """Whether no other document has a memory: it was kept by hand, or its document let it go."""
    document, key = memory.metadata.get(DOCUMENT), memory.metadata.get(KEY)
    if document in (None, item.fields[DOCUMENT]) or memory.metadata.get(GONE):
        return True
    return isinstance(key, str) and not holds(str(document), key)
