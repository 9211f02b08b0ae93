"""Live conversations in JSONL files, which several processes may share.

Every call that writes has its lines on the disk before it returns. Conversations are at hand in memory, and
so is where their turns lie; what was said is read from the files. Now and then a file is written anew
without changes that later ones made pointless; nothing else ever goes.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Self, TypeVar

from backstory.adapters.conversations.faults import translated
from backstory.adapters.conversations.index import Index, Place
from backstory.adapters.conversations.lines import Changed, Content, Summarized
from backstory.adapters.conversations.rules import begun, changed, follows, numbered_on, room_taken
from backstory.adapters.conversations.segments import Segments
from backstory.errors import StoreError
from backstory.model.live import (
    ConversationChange,
    ConversationCriteria,
    ConversationPage,
    LiveConversation,
    LiveTurn,
    NewConversation,
    NewTurn,
    TurnWindow,
)
from backstory.model.summary import Summary

_log = logging.getLogger(__name__)

#: What has to be superseded of a file before it is worth writing the rest of it anew.
_SUPERSEDED_SHARE: Final = 0.1

_Answer = TypeVar("_Answer")


class JsonlConversationStorage:
    """Keeps conversations in files."""

    def __init__(self, folder: Path, segments: Segments, compaction_interval_s: float) -> None:
        self._folder = folder
        self._segments = segments
        self._index = Index()
        self._lock = threading.Lock()  # of the index
        self._is_writing = False
        self._compaction_interval_s = compaction_interval_s
        self._compacted_at = time.monotonic()

    @classmethod
    @contextmanager
    def open(cls, folder: Path, *, max_file_bytes: int, compaction_interval_s: float) -> Iterator[Self]:
        """Open the files of a folder, and close them at the end of the block."""
        with translated(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            segments = Segments(folder, max_file_bytes)
        try:
            storage = cls(folder, segments, compaction_interval_s)
            storage._begin()
            yield storage
        finally:
            segments.close()

    def create(self, new: NewConversation) -> LiveConversation:
        """Begin a conversation, unless it or another is in its room."""
        conversation = begun(new)
        with self._writing() as index:
            if held := index.heads.get(new.id) or index.heads.in_room_of(new):
                return held
            self._write([conversation])
            return conversation

    def append(self, id: str, turns: Sequence[NewTurn]) -> list[LiveTurn]:
        """Keep turns, all or none."""
        with self._writing() as index:
            conversation = index.heads.present(id)
            kept, added = numbered_on(conversation, turns, partial(self._turn, id))
            if added:
                self._write(added)
            return kept

    def get(self, id: str, *, summaries: int = 0) -> LiveConversation | None:
        """The conversation with its newest summaries, deleted or not."""
        return self._answered(partial(self._get, id, summaries))

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        """The turns that a window shows."""
        return self._answered(partial(self._turns, id, window))

    def summarize(self, id: str, summary: Summary) -> bool:
        """Keep the summary of the turns after the last summarized one."""
        with self._writing() as index:
            if not follows(index.heads.present(id), summary):
                return False
            self._write([Summarized(id, index.count_summaries(id) + 1, summary)])
            return True

    def change(self, id: str, change: ConversationChange) -> LiveConversation | None:
        """Change a conversation's title, metadata, or whether it is deleted."""
        with self._writing() as index:
            conversation = index.heads.get(id)
            if conversation is None:
                return None
            other = index.heads.in_room_of(conversation)
            if change.deleted is False and other and other.id != id:
                raise room_taken(conversation, other.id)
            self._write([Changed.to(changed(conversation, change), index.version(id) + 1)])
            return index.heads.get(id)

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """The conversations that meet the criteria, in the order of their ids."""
        return self._answered(partial(self._find, criteria))

    def _get(self, id: str, summaries: int) -> LiveConversation | None:
        with self._lock:
            conversation = self._index.heads.get(id)
            if conversation is None or not summaries:
                return conversation
            places = self._index.summaries(id, summaries)
        kept = (line.summary for line in self._segments.read(places) if isinstance(line, Summarized))
        return replace(conversation, summaries=tuple(kept))

    def _turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        with self._lock:
            places = self._index.turns(id, window)
        return [turn for turn in self._segments.read(places) if isinstance(turn, LiveTurn)]

    def _turn(self, id: str, turn: str) -> LiveTurn | None:
        found = self._turns(id, TurnWindow(ids=[turn]))
        return found[0] if found else None

    def _find(self, criteria: ConversationCriteria) -> ConversationPage:
        with self._lock:
            return self._index.heads.find(criteria)

    def _answered(self, ask: Callable[[], _Answer]) -> _Answer:
        """The answer by what this process and others have written; asked again if files moved meanwhile."""
        with translated(self._folder):
            while True:
                try:
                    # While this process writes no other does, and it has read in what there is: do not wait.
                    if not self._is_writing and self._segments.has_news():
                        self._catch_up()
                    return ask()
                except FileNotFoundError:
                    self._catch_up()

    def _catch_up(self) -> None:
        with self._segments.exclusive():
            self._read_in()

    def _read_in(self) -> None:
        self._segments.read_in(self._take)
        with self._lock:
            self._index.settle()

    @contextmanager
    def _writing(self) -> Iterator[Index]:
        """Keep everybody else from writing, knowing what they wrote."""
        with translated(self._folder), self._segments.exclusive():
            self._read_in()
            self._is_writing = True
            try:
                yield self._index
                self._compact_if_due()
            finally:
                self._is_writing = False

    def _write(self, contents: Sequence[Content]) -> None:
        self._segments.append(contents, self._take)
        with self._lock:
            self._index.settle()

    def _take(self, content: Content, place: Place) -> None:
        with self._lock:
            self._index.take(content, place)

    def _begin(self) -> None:
        with translated(self._folder), self._segments.exclusive():
            self._read_in()
            self._compact()

    def _compact_if_due(self) -> None:
        if time.monotonic() - self._compacted_at >= self._compaction_interval_s:
            self._compact()

    def _compact(self) -> None:
        """Write those files anew that hold much that is superseded; if it fails, they stay as they are."""
        self._compacted_at = time.monotonic()
        try:
            for file, size in self._segments.finished().items():
                if self._index.superseded_bytes(file) > size * _SUPERSEDED_SHARE:
                    self._segments.rewrite(file, lambda content: not self._index.is_superseded(content))
            self._read_in()
            self._segments.tidy()
        except (OSError, StoreError) as error:
            _log.warning("the files in %s were not compacted: %s", self._folder, error)
