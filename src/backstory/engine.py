"""The opened store, passed by hand, and the handle by which long work reports and stops.

`Engine` holds what `wiring` opened and decides nothing; actions do the work with it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from backstory.errors import Cancelled
from backstory.model.live import ContextLimits, ConversationNews, Switches, TierLimits
from backstory.model.passage import Index
from backstory.model.upkeep import CacheUse, Target
from backstory.ports import ConversationStorage, Embedder, Extractor, GraphStore, Summarizer, VectorStore
from backstory.records.records import Records
from backstory.records.records import Transaction as Transaction

#: What Codex keeps its sessions in, and those that were put away.
_CODEX_FOLDERS: Final = ("sessions", "archived_sessions")
#: Rankings behind cursors: 300 of the largest, of 250 hits.
_RANKING_BYTES: Final = 32 * 1024 * 1024
#: Of files, not of memory: what is kept of them takes two thirds of the bytes that they were read from.
_RECENT_BYTES: Final = 64 * 1024 * 1024


class Work:
    """Progress and cancellation of one long action; the plain one reports to nobody."""

    def __init__(self, report: Callable[[int, int | None, str], None] | None = None) -> None:
        self._report = report
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Ask the work to stop at its next step. May be called from any thread."""
        self._cancelled.set()

    def step(self, done: int, total: int | None, message: str) -> None:
        """Report how far the work is; raises `Cancelled` when it was asked to stop."""
        if self._cancelled.is_set():
            raise Cancelled(f"stopped at: {message}", hint="what was done is kept; run it again to go on")
        if self._report:
            self._report(done, total, message)


class Recent:
    """What was used lately, as long as there is room; what was used longest ago goes first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._held: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """How much is held, as those say who put it here."""
        return self._bytes

    def get(self, key: Hashable) -> object | None:
        """What is held under a key, if anything is."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def hold(self, key: Hashable, value: object, size: int) -> None:
        """Keep a value of so many bytes, in place of what was held under its key."""
        with self._lock:
            self._drop(key)
            if size > self._most_bytes:
                return
            self._held[key] = (value, size)
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._held)))

    def _drop(self, key: Hashable) -> None:
        if dropped := self._held.pop(key, None):
            self._bytes -= dropped[1]


@dataclass(frozen=True, slots=True)
class TranscriptPlaces:
    """Where agents leave their transcripts, and which of them are read and kept."""

    claude_folders: Sequence[Path] = ()
    codex_homes: Sequence[Path] = ()
    #: Days without a change after which a file is not read in any more.
    max_age_days: int | None = None
    #: Days after which what was read is forgotten.
    retention_days: int | None = None

    @property
    def roots(self) -> Sequence[Path]:
        """The folders below which transcripts lie, there or not."""
        codex = [home / name for home in self.codex_homes for name in _CODEX_FOLDERS]
        return [*self.claude_folders, *codex]


class Changes:
    """Tells whoever listens that a conversation is not what it was; a listener must not raise or wait."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[ConversationNews], None]] = []

    def listen(self, listener: Callable[[ConversationNews], None]) -> Callable[[], None]:
        """Call the listener whenever a conversation changes; what is returned ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, news: ConversationNews) -> None:
        """Tell everybody, in this thread."""
        for listener in tuple(self._listeners):
            listener(news)


class Bell:
    """Rung by whoever leaves work for later; each who waits for work hears it once."""

    def __init__(self) -> None:
        self._ears: list[threading.Event] = []

    def ear(self) -> threading.Event:
        """An event that is set whenever the bell is rung; who waits for it clears it."""
        self._ears.append(threading.Event())
        return self._ears[-1]

    def ring(self) -> None:
        """Let everybody look for work now rather than later."""
        for ear in self._ears:
            ear.set()


class LiveStorages:
    """Where live conversations are kept, and the other places that they can be moved to, by name.

    A place is opened when it is first asked for.
    """

    def __init__(self, opened: Callable[[str], ConversationStorage], name: str) -> None:
        self._opened = opened
        self._places = {name: opened(name)}
        self._lock = threading.RLock()
        self.name = name

    @property
    def storage(self) -> ConversationStorage:
        """Where they are now; to write, ask for `writing`."""
        return self._places[self.name]

    @contextmanager
    def writing(self) -> Iterator[ConversationStorage]:
        """Where they are, and stay until the block ends."""
        with self._lock:
            yield self.storage

    def named(self, name: str) -> ConversationStorage:
        """One of the places."""
        with self._lock:
            if name not in self._places:
                self._places[name] = self._opened(name)
            return self._places[name]

    def use(self, name: str) -> None:
        """From now on they are there. The caller is inside `writing`, and has brought them there."""
        with self._lock:
            self.named(name)
            self.name = name


@dataclass(frozen=True)
class Engine:
    """Everything an action needs. Records are the truth; vectors and graph are derived from them."""

    records: Records
    vectors: VectorStore
    graph: GraphStore
    embedder: Embedder
    live: LiveStorages
    summarizer: Summarizer
    extractor: Extractor
    home: Path
    min_free_bytes: int
    #: Names this opening of the store: no other has it, before or after.
    owner: str = ""
    cache_use: Callable[[], CacheUse] = CacheUse
    transcripts: TranscriptPlaces = TranscriptPlaces()
    #: Folders whose files may be read and written for any caller; everybody may use their own folder.
    roots: Sequence[Path] = ()
    tiers: TierLimits = field(default_factory=TierLimits)
    context: ContextLimits = field(default_factory=ContextLimits)
    #: Messages of live conversations that may wait for their vectors; those beyond wait for a backfill.
    queue_max: int = 1_000
    #: Read anew for every use: what somebody turns off stays off from then on.
    switches: Callable[[], Switches] = Switches
    changes: Changes = field(default_factory=Changes)
    bell: Bell = field(default_factory=Bell)
    #: Held while messages are embedded at a pace that somebody chose: the worker leaves what had to wait.
    backfilling: threading.Lock = field(default_factory=threading.Lock)
    #: Held while transcripts are read in: the watcher, the periodic pass and a person may all ask for it.
    ingesting: threading.Lock = field(default_factory=threading.Lock)
    #: The contents of transcripts read lately: of one that has grown only the end is parsed.
    recently_read: Recent = field(default_factory=lambda: Recent(_RECENT_BYTES))
    #: The order in which searches found memories: a later page is a part of it, whatever was written since.
    rankings: Recent = field(default_factory=lambda: Recent(_RANKING_BYTES))
    #: Held while an index or the graph is written: whoever reads the records last must be the last to write.
    locks: Mapping[Index | Target, threading.Lock] = field(
        default_factory=lambda: {each: threading.Lock() for each in (*Index, Target.GRAPH)}
    )
