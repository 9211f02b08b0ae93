"""Numbers for Prometheus: what was asked, how long it took, and how the store is.

Each app has a registry of its own, so that two of them in one program do not mix. Numbers that the
store knows are read when they are asked for, in the thread that asks.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backstory.engine import Engine
from backstory.errors import BackstoryError, StoreError
from backstory.mcp.calls import Call
from backstory.model.kinds.catalogue import KINDS
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS
from backstory.model.upkeep import Target

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

#: From a call that finds nothing (1 ms) to a rebuild.
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
MILLISECONDS: Final = tuple(1000 * each for each in SECONDS)

#: The tools that recall.
RECALLING: Final = frozenset(
    {"memory_search", "search_conversations", "conversation_recall", "conversation_search"}
)

#: Waiting messages that are counted; nobody needs to know how many more than that there are.
MOST_COUNTED: Final = 100_000

Metric = CounterMetricFamily | GaugeMetricFamily


class Metrics:
    """Counts what happens, and tells it as Prometheus reads it."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Store(engine))
        began = clock()
        uptime = Gauge("backstory_uptime_seconds", "Seconds since the start.", registry=self._registry)
        uptime.set_function(lambda: clock() - began)
        self._durations = Histogram(
            "backstory_operation_duration_seconds",
            "How long tool calls took.",
            ["tool"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._operations = self._counter("backstory_operations", "Tool calls.", "tool", "status")
        self._errors = self._counter("backstory_errors", "Tool calls that failed.", "tool", "kind")
        self._requests = self._counter("backstory_http_requests", "HTTP requests.", "route", "status")
        self._steps = self._histogram("backstory_upkeep_duration_seconds", "How long upkeep steps took.")
        self._readings = self._histogram(
            "conversation_index_duration_seconds", "How long reading transcripts in took."
        )
        self._recalls = self._histogram(
            "conversation_recall_latency_ms", "How long searches took.", buckets=MILLISECONDS
        )
        self._contexts = self._histogram(
            "conversation_context_duration_seconds", "How long putting a context together took."
        )
        self._failures = self._counter("conversation_errors", "Whatever failed: calls, upkeep, reading in.")
        self._pool = Gauge(
            "conversation_pool_utilization_percent",
            "Share of the threads that serve calls that are busy.",
            registry=self._registry,
        )

    def count_call(self, call: Call) -> None:
        """Count a finished tool call."""
        self._durations.labels(call.tool).observe(call.duration_s)
        self._operations.labels(call.tool, call.status).inc()
        if call.tool in RECALLING:
            self._recalls.observe(call.duration_s * 1000)
        if call.tool == "get_context":
            self._contexts.observe(call.duration_s)
        if call.error is not None and call.status != "cancelled":
            self._errors.labels(call.tool, type(call.error).__name__).inc()
            self._failures.inc()

    def count_step(self, took_s: float, error: BackstoryError | None) -> None:
        """Count a step of upkeep that did something, or failed."""
        self._steps.observe(took_s)
        if error:
            self._failures.inc()

    def count_reading(self, took_s: float, error: BackstoryError | None) -> None:
        """Count that transcripts were looked at, or could not be read in."""
        self._readings.observe(took_s)
        if error:
            self._failures.inc()

    def count_request(self, route: str, status: int) -> None:
        """Count an answered request."""
        self._requests.labels(route, str(status)).inc()

    def text(self, busy_percent: float) -> bytes:
        """Everything, as Prometheus reads it. Reads the store: not for the event loop's thread."""
        self._pool.set(busy_percent)
        return generate_latest(self._registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self._registry)

    def _histogram(self, name: str, about: str, buckets: tuple[float, ...] = SECONDS) -> Histogram:
        return Histogram(name, about, buckets=buckets, registry=self._registry)


class _Store(Collector):
    """What the store knows, read when it is asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self) -> list[Metric]:
        return []  # so that registering it does not read the store

    def collect(self) -> Iterator[Metric]:
        yield from self._cache()
        try:
            with self._engine.records.reading() as records:
                kept = records.memories.count_by_type(ALL_PROJECTS)
                said = records.conversations.counts(ALL_PROJECTS)
                pending = {target.value: count for target, count in records.marks.count().items()}
                live = records.conversations.live_counts()
                queued = records.marks.count_waiting(Target.VECTORS, Index.TURNS.value, MOST_COUNTED)
                deferred = records.marks.count_deferred()
        except StoreError:
            return  # health tells of it; the other numbers are still right
        memories = GaugeMetricFamily("backstory_memories", "Memories, by type.", labels=["type"])
        for name in KINDS:
            memories.add_metric([name], kept.get(name, 0))
        waiting = GaugeMetricFamily("backstory_pending_marks", "Writes not projected yet.", labels=["target"])
        for target in ("vectors", "graph"):
            waiting.add_metric([target], pending.get(target, 0))
        yield memories
        yield GaugeMetricFamily("backstory_conversations", "Conversations.", value=said.conversations)
        yield GaugeMetricFamily("backstory_messages", "Messages of conversations.", value=said.messages)
        yield waiting
        yield GaugeMetricFamily("backstory_live_conversations", "Live conversations.", value=live[0])
        yield GaugeMetricFamily("backstory_live_turns", "Turns of live conversations.", value=live[1])
        yield GaugeMetricFamily(
            "conversation_embedding_queue_depth", "Messages that wait to be embedded.", value=queued
        )
        yield GaugeMetricFamily(
            "conversation_embedding_deferred", "Messages that wait for a backfill.", value=deferred
        )

    def _cache(self) -> Iterator[Metric]:
        use = self._engine.cache_use()
        yield CounterMetricFamily(
            "backstory_embedding_cache_hits", "Texts not embedded again.", value=use.hits
        )
        yield CounterMetricFamily("backstory_embedding_cache_misses", "Texts embedded.", value=use.misses)
        yield GaugeMetricFamily("backstory_embedding_cache_hit_ratio", "Hits by texts.", value=use.rate)


@dataclass(frozen=True, slots=True)
class Counting:
    """An ASGI layer that counts answers by route and status."""

    app: ASGIApp
    metrics: Metrics
    routes: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        first = "/" + scope["path"].split("/")[1]
        route = first if first in self.routes else "other"

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.metrics.count_request(route, message["status"])
            await send(message)

        await self.app(scope, receive, counted)
