"""The opened store, passed by hand, and the handle by which long work reports and stops.

`Engine` holds what `wiring` opened and decides nothing; actions do the work with it.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from backstory.errors import Cancelled
from backstory.model.upkeep import CacheUse, Target
from backstory.ports import Embedder, GraphStore, VectorStore
from backstory.records.records import Records
from backstory.records.records import Transaction as Transaction


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


@dataclass(frozen=True)
class Engine:
    """Everything an action needs. Records are the truth; vectors and graph are derived from them."""

    records: Records
    vectors: VectorStore
    graph: GraphStore
    embedder: Embedder
    home: Path
    min_free_bytes: int
    #: Names this opening of the store: no other has it, before or after.
    owner: str = ""
    cache_use: Callable[[], CacheUse] = CacheUse
    #: Held while a target is written: whoever reads the records last must be the last to write.
    locks: Mapping[Target, threading.Lock] = field(
        default_factory=lambda: {target: threading.Lock() for target in Target}
    )
