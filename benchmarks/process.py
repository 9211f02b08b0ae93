"""The process, through its faces: how soon it answers, how many it serves at once, what it takes.

Beside it, in the same run, stands what the SDK gives by itself: a server with one tool that says what
it was told, started anew for each client over stdin, or shared over HTTP. It keeps nothing and finds
nothing; the difference is what memories cost.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

# The package has no types.
import psutil  # type: ignore[import-untyped]

from benchmarks.console import Cell, Table, say
from benchmarks.contenders import BARE_COMMAND, Bare, Process, bare, process
from benchmarks.corpus import SEARCHED, Corpus
from benchmarks.options import Options
from benchmarks.sessions import (
    LEGACY,
    MODERN,
    Address,
    Command,
    Failed,
    Session,
    StdioSession,
    first_reply_s,
    session,
)
from benchmarks.stores import load, opened
from benchmarks.timing import percentile

Server = Address | Command
Call = tuple[str, Mapping[str, object]]

#: Starting the whole process takes seconds; five show it.
_STARTS, _WHOLE_STARTS = 20, 5

#: Enough calls of each session that the first ones, which meet cold caches, do not decide.
_CALLS_OF_A_SESSION: Final = 5

#: A bare server over stdin is a process of 70 MB and a second of CPU for each client: a hundred of
#: them measure the machine's memory.
_BARE_PROCESSES: Final = 10

_STARTED_AT_ONCE: Final = 4
_IDLE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Served:
    """What a number of sessions got in a while."""

    taken_ms: Sequence[float]
    errors: int
    seconds: float

    @property
    def p50_ms(self) -> float | None:
        """How long a call takes usually."""
        return self._percentile(0.5)

    def beside(self, other: "Served | None") -> list[Cell]:
        """The figures, in the order of `_COLUMNS`."""
        theirs = other.p50_ms if other else None
        ratio = self.p50_ms / theirs if self.p50_ms and theirs else None
        slow = [self._percentile(share) for share in (0.95, 0.99)]
        return [self.p50_ms, *slow, len(self.taken_ms) / self.seconds, self.errors, ratio]

    def _percentile(self, share: float) -> float | None:
        return percentile(sorted(self.taken_ms), share) if self.taken_ms else None


_COLUMNS: Final = ("p50, ms", "p95, ms", "p99, ms", "calls a second", "errors", "p50 / bare")


@dataclass(slots=True)
class _Work:
    """Calls that nobody made before: nothing is answered from a cache of questions."""

    corpus: Corpus
    used: int = field(default=0)

    def searches(self, count: int) -> list[Call]:
        """Questions to the project that is searched."""
        questions = self.corpus.questions(self.used + count)[self.used :]
        self.used += count
        return [("memory_search", {"query": each, "project": SEARCHED.name}) for each in questions]

    def adds(self, count: int) -> list[Call]:
        """Memories for the same project."""
        newcomers = self.corpus.newcomers(self.used + count)[self.used :]
        self.used += count
        return [
            (
                "memory_add",
                {
                    "type": each.type,
                    "content": each.content,
                    "metadata": each.metadata,
                    "project": SEARCHED.name,
                },
            )
            for each in newcomers
        ]

    def echoes(self, count: int) -> list[Call]:
        """The same questions, for a server that only says them again."""
        return [("echo", {"text": arguments["query"]}) for _, arguments in self.searches(count)]


def run(options: Options) -> Iterator[Table]:
    """Starts, then calls over each way in each era, then what the process takes."""
    say("process: starts")
    corpus = Corpus(options.sizes[0])
    home = options.scratch / "process"
    with opened(home) as engine:
        load(engine, corpus.drafts())
    with process(home) as own, bare() as other:
        yield _starts(own, options.samples)
        before = _resident_mb(own.pid)
        yield from _calls(own, other, _Work(corpus), options)
        yield _taken(own, other, before)


def _starts(own: Process, samples: int) -> Table:
    """From the start of the command to its first reply; alternately, so that all meet the same load."""
    taken: dict[str, list[float]] = {"bridge, process not running": []}
    for _ in range(min(samples, _WHOLE_STARTS)):
        own.stop()
        taken["bridge, process not running"].append(_first_reply_ms(own.bridge))
    for _ in range(min(samples, _STARTS)):
        taken.setdefault("bridge, process running", []).append(_first_reply_ms(own.bridge))
        taken.setdefault("bare server over stdin", []).append(_first_reply_ms(BARE_COMMAND))
    usual = percentile(sorted(taken["bare server over stdin"]), 0.5)
    rows: dict[str, Sequence[Cell]] = {}
    for label, each in taken.items():
        p50, p95 = (percentile(sorted(each), share) for share in (0.5, 0.95))
        rows[label] = (p50, p95, len(each), usual / p50)
    return Table("process: start to first reply", ("p50, ms", "p95, ms", "starts", "times faster"), rows)


def _first_reply_ms(command: Command) -> float:
    return 1000 * asyncio.run(first_reply_s(command, MODERN))


def _calls(own: Process, other: Bare, work: _Work, options: Options) -> Iterator[Table]:
    for way, servers in (("HTTP", (own.address, other.address)), ("stdin", (own.bridge, other.command))):
        for era in (LEGACY, MODERN):
            say(f"process: calls over {way}, {era}")
            yield _called(f"process: calls over {way}, {era}", era, servers, work, options)


def _called(title: str, era: str, servers: tuple[Server, Server], work: _Work, options: Options) -> Table:
    own, other = servers
    rows: dict[str, Sequence[Cell]] = {}
    for sessions in options.sessions:
        count = max(options.samples, sessions * _CALLS_OF_A_SESSION)
        compared = isinstance(other, Address) or sessions <= _BARE_PROCESSES
        bare = _served(other, era, sessions, work.echoes(count)) if compared else None
        searched = _served(own, era, sessions, work.searches(count))
        added = _served(own, era, sessions, work.adds(count))
        for what, served in (("memory_search", searched), ("memory_add", added), ("bare echo", bare)):
            if served:
                rows[f"{what}, {sessions} session{'s' if sessions > 1 else ''}"] = served.beside(bare)
    return Table(title, _COLUMNS, rows)


def _served(server: Server, era: str, sessions: int, calls: Sequence[Call]) -> Served:
    return asyncio.run(_serve(server, era, sessions, calls))


async def _serve(server: Server, era: str, sessions: int, calls: Sequence[Call]) -> Served:
    """Make the calls in as many sessions at once, each the next call as soon as it has its answer."""
    rest, taken, errors = iter(calls), list[float](), 0

    async def client(held: Session) -> None:
        nonlocal errors
        for tool, arguments in rest:
            begun = time.perf_counter()
            try:
                await held.call(tool, arguments)
            except Failed as error:
                errors += 1
                say(f"  {error}")
            else:
                taken.append(1000 * (time.perf_counter() - begun))

    async with AsyncExitStack() as stack:
        clients = [client(each) for each in await _begun(stack, server, era, sessions)]
        begun = time.perf_counter()
        await asyncio.gather(*clients)
        return Served(taken, errors, time.perf_counter() - begun)


async def _begun(stack: AsyncExitStack, server: Server, era: str, count: int) -> Sequence[Session]:
    """Sessions that have said hello, a few at a time: a hundred starts at once are another benchmark."""
    gate = asyncio.Semaphore(_STARTED_AT_ONCE)

    async def one() -> Session:
        async with gate:
            return await stack.enter_async_context(session(server, era))

    return await asyncio.gather(*(one() for _ in range(count)))


def _taken(own: Process, other: Bare, before_mb: float) -> Table:
    """Memory after all calls, and CPU while nobody asks."""
    say("process: idle")
    after_mb, other_mb = _resident_mb(own.pid), _resident_mb(other.pid)
    idle, other_idle = _idle_cpu(own.pid, other.pid)
    client_mb, other_client_mb = (asyncio.run(_client_mb(each)) for each in (own.bridge, other.command))
    rows: dict[str, Sequence[Cell]] = {
        "resident after the starts, MB": (before_mb, None),
        "resident after all calls, MB": (after_mb, other_mb),
        "growth over all calls, MB": (after_mb - before_mb, None),
        "resident for a client over stdin, MB": (client_mb, other_client_mb),
        f"CPU over {_IDLE_S:.0f} idle seconds, %": (idle, other_idle),
    }
    return Table("process: what it takes", ("Backstory", "bare server"), rows)


async def _client_mb(command: Command) -> float:
    async with session(command, MODERN) as held:
        return _resident_mb(held.pid) if isinstance(held, StdioSession) else 0.0


def _resident_mb(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss) / 1e6


def _idle_cpu(*pids: int) -> list[float]:
    """The share of one core that each takes, while nobody asks."""
    begun = [_cpu_s(pid) for pid in pids]
    time.sleep(_IDLE_S)
    return [100 * (_cpu_s(pid) - before) / _IDLE_S for pid, before in zip(pids, begun, strict=True)]


def _cpu_s(pid: int) -> float:
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)
