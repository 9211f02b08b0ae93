"""How the process is: one check for each thing that it depends on.

A check looks and changes nothing. All of them run at once, in threads of their own, and one that does
not answer in time is reported as such: asking how the process is never takes long, whatever it does.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from backstory import __version__
from backstory.actions.conversations.migrate import CHOICE
from backstory.actions.maintenance.backup import conversation_files
from backstory.engine import Engine
from backstory.errors import BackstoryError
from backstory.http.faults import unexpected_told
from backstory.http.watcher import Watcher
from backstory.http.worker import Worker
from backstory.model.graph import GraphKey, NodeRef, NodeType, Walk
from backstory.model.live import ConversationCriteria
from backstory.model.passage import Index
from backstory.model.upkeep import GenerationState, Target

#: A step of upkeep may hold an engine for a second; twice that is not normal.
ANSWER_S: Final = 2.0

#: Marks that wait although the worker rests are not urgent before there are this many: an agent writes
#: a few a minute, and a step takes 256 of them.
MANY_MARKS: Final = 10_000

MEGABYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found, and what to do about it if it is not well."""

    ok: bool
    finding: str
    remedy: str | None = None


Look = Callable[[], Check]


class Health:
    """The state of one process. `folder` is where live conversations would be, were they in files."""

    def __init__(
        self,
        engine: Engine,
        workers: Sequence[Worker],
        watcher: Watcher,
        url: str,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._workers = workers
        self._watcher = watcher
        self._url = url
        self._folder = folder
        self._clock = clock
        self._began = clock()
        # Threads of their own: when all that serve calls are busy, one wants to know how the process is.
        self._threads = anyio.CapacityLimiter(16)
        self._one_at_a_time = anyio.Lock()
        self._unanswered: set[str] = set()

    async def report(self) -> dict[str, Any]:
        """All that is known, by name: who the process is, and every check."""
        checks = await self.checks()
        return {
            "status": status_of(checks),
            "pid": os.getpid(),
            "id": self._engine.owner,
            "version": __version__,
            "uptime_s": round(self._clock() - self._began, 1),
            "url": self._url,
            "checks": {name: asdict(check) for name, check in checks.items()},
        }

    async def ready(self) -> dict[str, Any]:
        """Whether requests can be answered, why not, and who says so. The other checks are not made."""
        records = _NO_ANSWER
        with anyio.move_on_after(ANSWER_S):
            records = await anyio.to_thread.run_sync(
                _found, "records", self.records, abandon_on_cancel=True, limiter=self._threads
            )
        reasons = [] if records.ok else [f"records: {records.finding}"]
        return {"ready": records.ok, "id": self._engine.owner, "reasons": reasons}

    async def checks(self) -> Mapping[str, Check]:
        """Make every check. Those of one engine do not wait for those of another."""
        groups: Sequence[Mapping[str, Look]] = (
            {
                "records": self.records,
                "embedder": self.embedder,
                "disk": self.disk,
                "worker": self.upkeep,
                "transcripts": self.transcripts,
                "pending": self.pending,
            },
            {"vectors": self.vectors},
            {"graph": self.graph},
            {"conversations": self.conversations},
        )
        found = {name: _NO_ANSWER for group in groups for name in group}
        async with self._one_at_a_time, anyio.create_task_group() as looking:
            for group in groups:
                looking.start_soon(self._look, group, found)
        return found

    async def _look(self, group: Mapping[str, Look], found: dict[str, Check]) -> None:
        """Make the checks of a group in a thread, and note what they find if they do so in time."""
        if self._unanswered & group.keys():  # it hangs from the last time; its threads would pile up
            return
        with anyio.move_on_after(ANSWER_S):
            found |= await anyio.to_thread.run_sync(
                self._all_of, group, abandon_on_cancel=True, limiter=self._threads
            )

    def _all_of(self, group: Mapping[str, Look]) -> dict[str, Check]:
        self._unanswered |= group.keys()
        try:
            return {name: _found(name, look) for name, look in group.items()}
        finally:
            self._unanswered -= group.keys()

    def records(self) -> Check:
        """The records can be read."""
        with self._engine.records.reading() as records:
            projects = len(records.memories.projects())
        return Check(ok=True, finding=_count(projects, "project"))

    def vectors(self) -> Check:
        """Every index can be used."""
        states = self._engine.vectors.describe()
        if damaged := [name for name, state in states.items() if state.damaged]:
            return Check(
                ok=False,
                finding=f"damaged: {', '.join(damaged)}",
                remedy="run 'backstory rebuild'; until then words are searched in the records",
            )
        told = ", ".join(f"{name} with {state.entries:,} entries" for name, state in states.items())
        return Check(ok=True, finding=told or "no index yet")

    def graph(self) -> Check:
        """A graph can be read: that of the first project."""
        with self._engine.records.reading() as records:
            live = records.generations.of("graph", GenerationState.LIVE)
            projects = records.memories.projects()
        if not live or not projects:
            return Check(ok=True, finding="no graph yet")
        self._engine.graph.related(GraphKey(projects[0], live[0].number), [_NOBODY], Walk(depth=0))
        return Check(ok=True, finding=f"the first of {_count(len(projects), 'graph')} can be read")

    def embedder(self) -> Check:
        """The embedder is there."""
        embedder = self._engine.embedder
        return Check(ok=True, finding=f"{embedder.fingerprint}, {embedder.dimension} dimensions")

    def disk(self) -> Check:
        """There is room to write."""
        free, needed = shutil.disk_usage(self._engine.home).free, self._engine.min_free_bytes
        finding = f"{free // MEGABYTE:,} MB free, {needed // MEGABYTE:,} MB needed"
        remedy = "free some space: vectors and graph are not written until then"
        return Check(ok=free >= needed, finding=finding, remedy=None if free >= needed else remedy)

    def upkeep(self) -> Check:
        """The last step of upkeep did not fail."""
        for error in filter(None, (worker.last_error for worker in self._workers)):
            return Check(ok=False, finding=f"upkeep fails: {error}", remedy=error.hint)
        is_resting = all(worker.resting for worker in self._workers)
        return Check(ok=True, finding="resting" if is_resting else "at work")

    def transcripts(self) -> Check:
        """Transcripts are watched, and the last of them were read."""
        if not self._engine.transcripts.roots:
            return Check(ok=True, finding="not read in: ENABLE_CONVERSATION_MEMORY is false")
        status = self._watcher.status
        if error := status.last_error:
            return Check(ok=False, finding=f"reading them fails: {error}", remedy=error.hint)
        if not status.roots:
            return Check(ok=True, finding="no folder to watch is there")
        by = {"events": "watched", "polling": "looked at now and then", "off": "not watched yet"}[status.by]
        remedy = "the system tells of no more changes: raise fs.inotify.max_user_watches"
        finding = f"{by}: {', '.join(map(str, status.roots))}"
        return Check(ok=True, finding=finding, remedy=remedy if status.by == "polling" else None)

    def conversations(self) -> Check:
        """Live conversations can be read where they are kept, and none were left elsewhere."""
        live = self._engine.live
        live.storage.get(_NOBODY.id)
        with self._engine.records.reading() as records:
            waiting = records.marks.count_waiting(Target.VECTORS, Index.TURNS.value, MANY_MARKS)
            deferred = records.marks.count_deferred()
        finding = f"kept in {live.name}; {_count(waiting, 'message')} to embed, {deferred:,} deferred"
        left = self._left_in()
        if live.name == "memory":
            others = f"; what is in {left} is out of sight" if left else ""
            return Check(ok=True, finding=f"{finding}; they end with the process{others}", remedy=_KEEP_THEM)
        if left:
            remedy = (
                f"set BACKSTORY_CONVERSATION_STORAGE to {left}; 'backstory conversations migrate' moves them"
            )
            return Check(ok=False, finding=f"{finding}; others were left in {left}", remedy=remedy)
        return Check(ok=True, finding=finding, remedy=_BACKFILL if deferred else None)

    def _left_in(self) -> str | None:
        """Where live conversations are that a setting keeps out of sight, or that it brought to light."""
        live = self._engine.live
        with self._engine.records.reading() as records:
            moved_to = records.store.get(CHOICE)
        if moved_to is not None:
            return moved_to if moved_to != live.name else None
        if live.name == "records":
            return "jsonl" if any(file.stat().st_size for file in conversation_files(self._folder)) else None
        some = live.named("records").find(ConversationCriteria(deleted=None, limit=1))
        return "records" if some.conversations else None

    def pending(self) -> Check:
        """Few writes wait to be projected, and none was refused."""
        with self._engine.records.reading() as records:
            waiting = records.marks.count()
            refused = sum(records.marks.count_refused(target) for target in Target)
        finding = ", ".join(f"{waiting.get(target, 0):,} for the {target.value}" for target in Target)
        if refused:
            finding += f"; {refused:,} refused by an engine"
        many = sum(waiting.values()) >= MANY_MARKS
        remedy = "wait: upkeep works them off; they are found by their words meanwhile" if many else None
        return Check(ok=not many, finding=finding, remedy=remedy)


#: Looking for a node that is not there reads the graph in 0.1 ms; counting all of them would take 8.
_NOBODY: Final = NodeRef(NodeType.MEMORY, "nobody")

_KEEP_THEM: Final = "run 'backstory conversations migrate --to records' to keep them"
_BACKFILL: Final = "wait: upkeep takes them up; 'backstory conversations backfill' does it now"

_NO_ANSWER: Final = Check(
    ok=False,
    finding=f"no answer within {ANSWER_S:.0f} s",
    remedy="ask again; if it stays so, run 'backstory stop' and look into the log",
)


def _found(name: str, look: Look) -> Check:
    try:
        with unexpected_told(name):
            return look()
    except BackstoryError as error:
        return Check(ok=False, finding=f"{type(error).__name__}: {error}", remedy=error.hint)


def status_of(checks: Mapping[str, Check]) -> str:
    """How the process is in one word."""
    return "ok" if all(check.ok for check in checks.values()) else "degraded"


def as_text(report: Mapping[str, Any]) -> str:
    """The report as a person reads it."""
    who = f"Backstory {report['version']} at {report['url']} (process {report['pid']})"
    lines = [f"{who}: {report['status']}, up for {_duration(report['uptime_s'])}"]
    for name, check in report["checks"].items():
        lines.append(f"  {'ok ' if check['ok'] else 'BAD'} {name}: {check['finding']}")
        if check["remedy"]:
            lines.append(f"      {check['remedy']}")
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _duration(seconds: float) -> str:
    minutes, hours = int(seconds) // 60, int(seconds) // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{int(seconds)} s"
