"""Engines that fail when they are told to, around real ones."""

from collections.abc import Sequence
from typing import Any

from backstory.errors import ContentRefused, StoreUnavailable
from backstory.ports import Entry, VectorStore


class Unreliable:
    """Any engine, with an outage that can be switched on."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.down = False

    def __getattr__(self, name: str) -> Any:
        if self.down:
            raise StoreUnavailable("the engine is down", hint="start it")
        return getattr(self._engine, name)


class Choosy:
    """A vector store that will not take entries with a certain word."""

    def __init__(self, store: VectorStore, word: str) -> None:
        self._store = store
        self._word = word

    def upsert(self, index: str, entries: Sequence[Entry]) -> None:
        if any(self._word in text for entry in entries for text in entry.words.values()):
            raise ContentRefused(f"no {self._word} here")
        self._store.upsert(index, entries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
