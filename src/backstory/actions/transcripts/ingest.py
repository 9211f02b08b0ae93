"""Reading transcripts in: one file after another, each stored whole, then made searchable.

Whatever stops a run, what was done stays done, and the next run goes on behind it. Which files there are
is asked of `choosing`, what becomes of one of `intake`.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from backstory.actions.projection.now import project_batch, vectors_wait
from backstory.actions.transcripts.choosing import Chosen, Known, Wish, choose_all, choose_at, is_text
from backstory.actions.transcripts.intake import Foreign, Taken, note_failure, note_gone, take_in
from backstory.engine import Engine, Transaction, Work
from backstory.errors import InputError, StoreError
from backstory.model.keeping import FileState
from backstory.model.project import ALL_PROJECTS, Project, Scope
from backstory.model.upkeep import Target
from backstory.transcripts.discovery import TranscriptFile, Unreadable
from backstory.transcripts.sources import Gone, Unchanged

#: Entries that may wait while vectors cannot be written: 200 MB of text, of which real messages have 3.3 KB.
MAX_WAITING: Final = 65_000

#: Messages of small files that are made searchable together: 109 files of 0.14 MB take 1.1 s of projecting
#: instead of 1.8 one by one.
TOGETHER: Final = 128

#: How long to wait for another run before looking whether to go on waiting.
_PATIENCE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Failure:
    """A file or folder that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a run did. `pending` entries wait to be searchable; `degraded` says why, in words."""

    files: int = 0  # looked at
    read: int = 0
    unchanged: int = 0
    conversations: int = 0  # in the files that were read
    turns: int = 0
    messages_added: int = 0
    messages_removed: int = 0
    embeddings: int = 0  # entries written to the index
    links: int = 0
    redactions: Mapping[str, int] = field(default_factory=dict)
    gone: int = 0
    too_old: int = 0
    errors: Sequence[Failure] = ()
    pending: int = 0
    degraded: Sequence[str] = ()
    has_waited: bool = False  # for another run, which may have read what this one found unchanged


def ingest_transcripts(engine: Engine, wish: Wish, work: Work) -> Ingested:
    """Read what is new in all transcripts; done again it changes nothing."""
    with alone(engine, work) as has_waited:
        with engine.records.reading() as records:
            known = {state.path: state for state in records.transcript_files.all()}
            elsewhere = _elsewhere(records, known, wish.scope)
        chosen = choose_all(engine.transcripts, wish, known, elsewhere)
        ingested = _Run(engine, known, wish.scope, work).over(chosen)
    return replace(ingested, has_waited=has_waited)


def ingest_paths(engine: Engine, paths: Collection[Path], work: Work) -> Ingested:
    """Read what is new in these files, and in those of these folders; what is gone is noted."""
    with alone(engine, work):
        with engine.records.reading() as records:
            known = {state.path: state for state in _known_at(records, paths)}
        chosen = choose_at(paths, engine.transcripts, known)
        return _Run(engine, known, ALL_PROJECTS, work).over(chosen)


@contextmanager
def alone(engine: Engine, work: Work) -> Iterator[bool]:
    """Be the only one who reads in or forgets; says whether that had to be waited for.

    Whoever waits can be told to stop.
    """
    has_waited = not engine.ingesting.acquire(blocking=False)
    while has_waited and not engine.ingesting.acquire(timeout=_PATIENCE_S):
        work.step(0, None, "waiting for another run to end")
    try:
        yield has_waited
    finally:
        engine.ingesting.release()


def _known_at(records: Transaction, paths: Collection[Path]) -> Iterator[FileState]:
    """What is known of these files, and of those in these folders, be they there or not."""
    names = [str(path) for path in paths if is_text(path)]
    yield from records.transcript_files.at(names)
    for name in names:
        yield from records.transcript_files.below(name)


def _elsewhere(records: Transaction, known: Known, scope: Scope) -> set[str]:
    """The known files whose conversations lie outside a scope."""
    if not isinstance(scope, Project):
        return set()
    inside = {conversation.id for conversation in records.conversations.in_project(scope)}
    return {path for path, state in known.items() if state.conversation and state.conversation not in inside}


class _Run:
    """One walk over chosen files, and what it counted."""

    def __init__(self, engine: Engine, known: Known, scope: Scope, work: Work) -> None:
        self._engine = engine
        self._known = known
        self._scope = scope
        self._work = work
        self._counts: Counter[str] = Counter()
        self._redactions: Counter[str] = Counter()
        self._errors: list[Failure] = []
        self._degraded: list[str] = []
        #: Messages stored since the last projection.
        self._stored = 0

    def over(self, chosen: Chosen) -> Ingested:
        """Look at every file, unless too much waits to be searchable."""
        self._errors += [_failure(each.path, each.reason) for each in chosen.unreadable]
        for state in chosen.missing:
            self._note_gone(state)
        total = len(chosen.files)
        self._work.step(0, total, f"{total} transcripts to look at")
        for done, file in enumerate(chosen.files, start=1):
            self._look_at(file)
            if done == total or self._stored >= TOGETHER:
                self._project(done, total)
            self._work.step(done, total, f"{done} of {total} transcripts")
            if self._has_to_stop():
                break
        return self._ingested(chosen)

    def _look_at(self, file: TranscriptFile) -> None:
        """Take in one file; one that breaks is noted and keeps no other from its turn."""
        known = self._known.get(str(file.path))
        self._counts["files"] += 1
        try:
            outcome = take_in(self._engine, file, known, self._scope)
        except OSError as error:
            outcome = Unreadable(file.path, (error.strerror or str(error)).lower())
        except (InputError, ValueError) as error:
            outcome = Unreadable(file.path, str(error))
        match outcome:
            case Taken():
                self._count(outcome)
            case Unchanged():
                self._counts["unchanged"] += 1
            case Gone():
                self._note_gone(known)
            case Unreadable(reason=reason):
                self._errors.append(_failure(file.path, reason))
                note_failure(self._engine, file.path, known, reason)
            case Foreign():
                pass

    def _note_gone(self, known: FileState | None) -> None:
        if known and not known.gone_at:
            note_gone(self._engine, known)
            self._counts["gone"] += 1

    def _count(self, taken: Taken) -> None:
        self._counts["read"] += 1
        self._counts["conversations"] += taken.conversations
        self._counts["turns"] += taken.turns
        self._counts["messages_added"] += taken.added
        self._counts["messages_removed"] += taken.removed
        self._counts["links"] += taken.links
        self._redactions += taken.redactions
        self._stored += taken.added + taken.removed

    def _project(self, done: int, total: int) -> None:
        """Let search find what was stored; after a failure it is left to upkeep."""
        self._stored = 0
        if self._degraded:
            return
        if paused := vectors_wait(self._engine):
            self._degraded.append(paused)
            return
        try:
            while written := project_batch(self._engine, Target.VECTORS):
                self._counts["embeddings"] += written
                self._work.step(done - 1, total, f"{self._counts['embeddings']} entries written")
        except StoreError as error:
            self._degraded.append(f"not found by meaning yet: {error}")

    def _has_to_stop(self) -> bool:
        if not self._degraded or self._pending() <= MAX_WAITING:
            return False
        self._degraded.append("stopped before the last transcript, because too much waits to be searchable")
        return True

    def _pending(self) -> int:
        with self._engine.records.reading() as records:
            return records.marks.count().get(Target.VECTORS, 0)

    def _ingested(self, chosen: Chosen) -> Ingested:
        counts: Mapping[str, Any] = self._counts
        return Ingested(
            **counts,
            redactions=dict(self._redactions),
            too_old=chosen.too_old,
            errors=tuple(self._errors),
            pending=self._pending(),
            degraded=tuple(self._degraded),
        )


def _failure(path: Path, reason: str) -> Failure:
    # A name that is no text can be neither stored nor sent.
    return Failure(os.fsencode(path).decode("utf-8", "replace"), reason)
