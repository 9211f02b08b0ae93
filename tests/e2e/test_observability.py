"""What can be seen from outside: the log, the numbers and the spans, and what never stands in them."""

import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from backstory.errors import SettingsError
from backstory.http.logs import FILE, logging_to
from backstory.http.process import serve
from backstory.mcp.tools import TOOLS
from backstory.settings import Settings
from backstory.wiring import open_engine
from tests.e2e.doubles import Choosy, Unreliable
from tests.e2e.hosting import Client, hosted, settings_for
from tests.e2e.test_process import started, with_part

#: What a user wrote. It may stand nowhere in a log above DEBUG.
CANARY = "xkanarix"

FIELDS = {"timestamp", "level", "component", "operation", "event", "context"}

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"

#: The names that a dashboard goes by.
METRICS = [
    "backstory_operation_duration_seconds",
    "backstory_operations_total",
    "backstory_errors_total",
    "backstory_memories",
    "backstory_conversations",
    "backstory_messages",
    "backstory_live_conversations",
    "backstory_live_turns",
    "backstory_pending_marks",
    "backstory_embedding_cache_hits_total",
    "backstory_embedding_cache_misses_total",
    "backstory_embedding_cache_hit_ratio",
    "backstory_http_requests_total",
    "backstory_uptime_seconds",
    "backstory_upkeep_duration_seconds",
    "conversation_index_duration_seconds",
    "conversation_recall_latency_ms",
    "conversation_context_duration_seconds",
    "conversation_embedding_queue_depth",
    "conversation_embedding_deferred",
    "conversation_pool_utilization_percent",
    "conversation_errors_total",
]


@contextmanager
def logged(home: Path, **variables: str) -> Iterator[Settings]:
    """Settings, with the log written while the block runs."""
    settings = settings_for(home, **variables)
    with logging_to(settings.whereabouts.logs, settings.log, stderr=False):
        yield settings


def log_of(settings: Settings) -> list[dict[str, Any]]:
    text = (settings.whereabouts.logs / FILE).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def say_it_everywhere(client: Client) -> None:
    """Put the canary wherever a client can put something."""
    for tool in TOOLS:
        for arguments in (
            {"query": CANARY, "content": CANARY, "type": CANARY, "id": CANARY, "project": CANARY},
            {"query": CANARY, "project": CANARY, "metadata": {CANARY: CANARY}},
            {"content": CANARY, "type": "design", "project": CANARY, "metadata": {"title": CANARY}},
            {"content": CANARY * 10_000, "type": "design"},
            {"id": CANARY, "project": f"/{CANARY}"},
            {CANARY: CANARY},
            {"topic": CANARY, "cursor": CANARY},
            {"interface_type": CANARY, "room_id": CANARY, "project": CANARY},
            {"conversation_id": CANARY, "query": CANARY, "title": CANARY},
        ):
            client.call(tool, arguments)
            client.local(tool, arguments, **{"Backstory-Directory": f"/{CANARY}", "Idempotency-Key": CANARY})
    _say_it_in_a_conversation(client)
    client.call(CANARY, {})
    client.local(CANARY, {CANARY: CANARY})
    client.local("backup", {"target": CANARY})
    client.local("backup", {"target": f"/{CANARY}/x"})
    client.modern(CANARY)
    client.modern("tools/call", {"name": [CANARY]})
    client.modern("resources/read", {"uri": f"x://{CANARY}"}, {"Mcp-Name": f"x://{CANARY}"})
    client.modern("tools/list", headers={"Mcp-Method": CANARY})
    client.modern("tools/list", headers={"MCP-Protocol-Version": CANARY})
    session = {"Mcp-Session-Id": client.initialize()}
    client.legacy("tools/call", {"name": "memory_search", "arguments": {"query": CANARY}}, session)
    client.legacy(CANARY, {CANARY: CANARY}, session)
    client.legacy("tools/list", {}, {"Mcp-Session-Id": CANARY})
    for path in ("/mcp", "/local/memory_add", f"/{CANARY}", f"/local/{CANARY}", f"/health?{CANARY}"):
        for body in (CANARY, f'{{"{CANARY}"', f'["{CANARY}"]'):
            client.ask("POST", path, body, {"Content-Type": "application/json"})
        for headers in ({"Host": CANARY}, {"Origin": CANARY}, {"Authorization": CANARY}):
            client.ask("GET", path, headers=headers)
    client.raw(f"{CANARY} / HTTP/1.1\r\n\r\n".encode())
    client.raw(f"GET / HTTP/1.1\r\n{CANARY} {CANARY}\r\n\r\n".encode())


def _say_it_in_a_conversation(client: Client) -> None:
    new = {"interface_type": CANARY, "room_id": CANARY, "title": CANARY, "project": CANARY}
    begun = client.local("create_conversation", new).json.get("answer", {})
    one = {"conversation_id": begun.get("conversation_id", CANARY), "project": CANARY}
    for _ in range(3):
        client.local("add_turn", {**one, "query": CANARY, "response": CANARY, "user_name": CANARY})
    client.local("get_context", {**one, "query": CANARY})
    client.local("get_conversation_history", one)
    client.local("conversations_list", {"room_id": CANARY, "project": CANARY})
    for verb in ("summarize", "delete", "restore"):
        client.local(f"conversations_{verb}", {"conversation_id": one["conversation_id"]})
    client.local("conversations_migrate", {"to": CANARY})
    client.local("conversations_backfill", {"project": CANARY})


class TestLog:
    """Every call leaves a line, and no line tells what was said."""

    def test_nothing_that_a_user_wrote_is_logged(self, tmp_path: Path) -> None:
        with logged(tmp_path / "home") as settings:
            with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
                say_it_everywhere(client)

            lines = log_of(settings)
        assert len(lines) > 50
        assert [line for line in lines if CANARY in json.dumps(line)] == []
        assert all(line.keys() == FIELDS for line in lines)

    @pytest.mark.parametrize("part", ["vectors", "graph", "embedder", "records"])
    def test_nor_when_an_engine_fails(self, tmp_path: Path, part: str) -> None:
        class Quoting(Unreliable):
            """Fails as engines do: with what it was given in its message, and not in words of ours."""

            def __getattr__(self, name: str) -> Any:
                if self.down:
                    raise RuntimeError(f"cannot take {CANARY}")
                return getattr(self._engine, name)

        with logged(tmp_path / "home") as settings:
            with open_engine(settings) as engine:
                failing = Quoting(getattr(engine, part))
                with hosted(with_part(engine, part, failing), settings) as (hosting, client):
                    failing.down = True
                    hosting.workers[0].wake()
                    say_it_everywhere(client)
                    client.local("rebuild")
                    client.ask("GET", "/health")
                    client.ask("GET", "/metrics")
                    failing.down = False

            lines = log_of(settings)
        assert [line for line in lines if CANARY in json.dumps(line)] == []
        assert "RuntimeError" in json.dumps(lines)

    def test_nor_when_an_engine_refuses_what_was_said(self, tmp_path: Path) -> None:
        with logged(tmp_path / "home") as settings:
            with open_engine(settings) as engine:
                choosy = with_part(engine, "vectors", Choosy(engine.vectors, CANARY))
                with hosted(choosy, settings) as (_, client):
                    answer = client.local("memory_add", {"type": "design", "content": CANARY, "project": "p"})

            lines = log_of(settings)
        assert answer.json["error"]["kind"] == "ContentRefused"
        assert [line for line in lines if CANARY in json.dumps(line)] == []

    def test_a_call_leaves_one_line_with_its_shape_duration_and_status(self, tmp_path: Path) -> None:
        with logged(tmp_path / "home") as settings:
            with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
                query = {"query": "twelve chars", "project": "p"}
                client.call("memory_search", query, **{"Backstory-Bridge": "b1"})
                client.call("memory_search", {"query": 5})

            well, badly = [line for line in log_of(settings) if line["event"] == "tool call"]
        assert (well["level"], well["component"], well["operation"]) == ("info", "mcp", "memory_search")
        assert well["context"]["arguments"] == {"query": "text(12)", "project": "text(1)"}
        assert (well["context"]["status"], well["context"]["bridge"]) == ("ok", "b1")
        assert well["context"]["duration_ms"] > 0
        assert (badly["context"]["status"], badly["context"]["kind"]) == ("input_error", "InputError")

    def test_at_debug_what_was_said_is_there_to_be_read(self, tmp_path: Path) -> None:
        with logged(tmp_path / "home", LOG_LEVEL="DEBUG") as settings:
            with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
                client.call("memory_search", {"query": CANARY, "project": "p"})

            telling = [line for line in log_of(settings) if CANARY in json.dumps(line)]
        assert {line["level"] for line in telling} == {"debug"}

    def test_who_is_refused_is_logged_by_the_reason(self, tmp_path: Path) -> None:
        with logged(tmp_path / "home") as settings:
            with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
                Client(client.port, token="wrong").ask("GET", "/metrics")
                client.ask("GET", "/health", headers={"Host": "evil.example"})

            refused = [line["context"] for line in log_of(settings) if line["event"] == "request refused"]
        assert refused == [{"why": "token", "status": 401}, {"why": "host", "status": 421}]

    def test_an_unforeseen_failure_tells_where_it_happened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError(CANARY)

        monkeypatch.setattr("backstory.mcp.tools.memory.search_memories", fail)
        with logged(tmp_path / "home") as settings:
            with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
                client.call("memory_search", {"query": "x", "project": "p"})

            (line,) = [line for line in log_of(settings) if line["event"] == "tool call"]
        assert line["level"] == "warning"
        assert line["context"]["error"]["type"] == "RuntimeError"
        assert line["context"]["error"]["frames"][-1].endswith(" fail")


class TestMetrics:
    """Numbers for Prometheus."""

    @pytest.fixture(scope="class")
    @classmethod
    def numbers(cls, tmp_path_factory: pytest.TempPathFactory) -> str:
        settings = settings_for(tmp_path_factory.mktemp("metrics"))
        with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
            new = {"type": "design", "content": "Retries wait with jitter.", "project": "shop"}
            client.call("memory_add", new)
            client.call("memory_search", {"query": "jitter", "project": "shop"})
            client.call("memory_search", {"query": "jitter", "project": "shop"})
            client.call("memory_search", {"query": 5})
            client.local("no_such_tool")
            client.ask("GET", "/nowhere/at/all")
            answer = client.ask("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return answer.body.decode()

    @pytest.mark.parametrize("name", METRICS)
    def test_the_number_is_there_and_says_what_it_is(self, numbers: str, name: str) -> None:
        assert f"# HELP {name} " in numbers
        assert f"\n{name}" in numbers

    @pytest.mark.parametrize("name", METRICS)
    def test_the_number_is_documented(self, name: str) -> None:
        assert f"| `{name}` |" in OPERATIONS.read_text("utf-8")

    def test_no_number_is_documented_that_there_is_not(self) -> None:
        page = OPERATIONS.read_text("utf-8")

        assert re.findall(r"^\| `((?:backstory|conversation)_\w+)` \|", page, re.MULTILINE) == METRICS

    @pytest.mark.parametrize(
        "line",
        [
            'backstory_operations_total{status="ok",tool="memory_search"} 2.0',
            'backstory_operations_total{status="input_error",tool="memory_search"} 1.0',
            'backstory_operations_total{status="input_error",tool="(unknown)"} 1.0',
            'backstory_operation_duration_seconds_count{tool="memory_add"} 1.0',
            'backstory_errors_total{kind="InputError",tool="memory_search"} 1.0',
            'backstory_memories{type="design"} 1.0',
            'backstory_memories{type="preference"} 0.0',
            'backstory_pending_marks{target="vectors"} 0.0',
            "backstory_embedding_cache_hits_total 2.0",
            "backstory_embedding_cache_misses_total 2.0",
            'backstory_http_requests_total{route="other",status="404"} 1.0',
            "conversation_recall_latency_ms_count 3.0",
            "conversation_errors_total 2.0",
            "conversation_pool_utilization_percent 0.0",
        ],
    )
    def test_it_counts_what_happened(self, numbers: str, line: str) -> None:
        assert line in numbers.splitlines()

    def test_live_conversations_and_what_waits_of_them_are_counted(self, tmp_path: Path) -> None:
        settings = settings_for(tmp_path, EMBEDDING_QUEUE_MAX="1", ENABLE_QDRANT_WRITES="false")
        with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
            new = {"interface_type": "cli", "room_id": "kitchen", "project": "shop"}
            id = client.local("create_conversation", new).json["answer"]["conversation_id"]
            one = {"conversation_id": id, "project": "shop"}
            client.local("add_turn", {**one, "query": "How many onions?", "response": "Three."})
            client.local("get_context", {**one, "query": "What did we say about onions?"})
            numbers = client.ask("GET", "/metrics").body.decode().splitlines()

        assert {
            "backstory_live_conversations 1.0",
            "backstory_live_turns 1.0",
            "conversation_embedding_queue_depth 1.0",
            "conversation_embedding_deferred 1.0",
            "conversation_context_duration_seconds_count 1.0",
        } <= set(numbers)

    def test_steps_of_upkeep_are_counted_and_their_failures_too(self, tmp_path: Path) -> None:
        settings = settings_for(tmp_path)
        with open_engine(settings) as engine:
            graph = Unreliable(engine.graph)
            with hosted(with_part(engine, "graph", graph), settings) as (hosting, client):
                client.local("memory_add", {"type": "design", "content": "To be projected.", "project": "p"})
                graph.down = True
                while hosting.workers[0].last_error is None:
                    hosting.workers[0].wake()
                    client.ask("GET", "/health")
                numbers = client.ask("GET", "/metrics").body.decode()
                graph.down = False

        counted = {line.split()[0]: float(line.split()[1]) for line in numbers.splitlines() if line[0] != "#"}
        assert counted["backstory_upkeep_duration_seconds_count"] >= 1
        assert counted["conversation_errors_total"] >= 1

    def test_without_its_records_the_other_numbers_are_still_told(self, tmp_path: Path) -> None:
        settings = settings_for(tmp_path)
        with open_engine(settings) as engine:
            records = Unreliable(engine.records)
            with hosted(with_part(engine, "records", records), settings) as (_, client):
                records.down = True
                answer = client.ask("GET", "/metrics")
                records.down = False

        assert answer.status == 200
        assert b"backstory_uptime_seconds" in answer.body

    def test_two_processes_in_one_program_count_apart(self, tmp_path: Path) -> None:
        one, other = settings_for(tmp_path / "one"), settings_for(tmp_path / "other")
        with (
            open_engine(one) as first,
            open_engine(other) as second,
            hosted(first, one) as (_, asked),
            hosted(second, other) as (_, unasked),
        ):
            asked.call("memory_search", {"query": "x", "project": "p"})
            numbers = unasked.ask("GET", "/metrics").body

        assert b"memory_search" not in numbers


class Collector:
    """A loopback stand-in for an OpenTelemetry collector."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.received = ExportTraceServiceRequest()
        collector = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.paths.append(self.path)
                collector.received.MergeFromString(body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Answering)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Collector":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class TestSpans:
    """Where time goes, for OpenTelemetry; which tool and how it ended, never what was asked."""

    @pytest.fixture(scope="class")
    @classmethod
    def spans(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ReadableSpan]]:
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)  # once in a program
        settings = settings_for(tmp_path_factory.mktemp("spans"))
        with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
            client.call("memory_search", {"query": CANARY, "project": CANARY})
            client.call("memory_get", {"id": CANARY, "project": CANARY})
        yield {span.name: span for span in exporter.get_finished_spans()}
        provider.shutdown()

    def test_the_work_has_a_span_inside_that_of_its_message(self, spans: dict[str, ReadableSpan]) -> None:
        message, work = spans["tools/call memory_search"], spans["action memory_search"]

        assert work.parent is not None
        assert message.context is not None
        assert work.parent.span_id == message.context.span_id
        assert work.end_time is not None
        assert work.start_time is not None
        assert work.end_time > work.start_time

    def test_it_says_which_tool_and_how_it_ended_and_no_more(self, spans: dict[str, ReadableSpan]) -> None:
        found = {name: span.attributes for name, span in spans.items() if name.startswith("action ")}

        assert found == {
            "action memory_search": {"backstory.tool": "memory_search", "backstory.status": "ok"},
            "action memory_get": {"backstory.tool": "memory_get", "backstory.status": "input_error"},
        }

    def test_nothing_that_a_user_wrote_is_in_a_span(self, spans: dict[str, ReadableSpan]) -> None:
        assert CANARY not in "".join(span.to_json() for span in spans.values())

    def test_they_are_sent_to_the_collector_that_is_set(self, tmp_path: Path) -> None:
        with (
            Collector() as collector,
            started(tmp_path / "home", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url) as running,
        ):
            running.client.call("memory_search", {"query": "x", "project": "p"})
            running.client.local("stop")
            running.process.wait()

        (resource,) = collector.received.resource_spans[:1]
        names = [span.name for scope in resource.scope_spans for span in scope.spans]
        told = {each.key: each.value.string_value for each in resource.resource.attributes}
        assert set(collector.paths) == {"/v1/traces"}
        assert told["service.name"] == "backstory"
        assert {"tools/call memory_search", "action memory_search"} <= set(names)

    def test_a_collector_that_is_not_there_does_not_hold_up_the_end(self, tmp_path: Path) -> None:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            nowhere = f"http://127.0.0.1:{nobody.getsockname()[1]}"
            with started(tmp_path / "home", OTEL_EXPORTER_OTLP_ENDPOINT=nowhere) as running:
                running.client.call("memory_search", {"query": "x", "project": "p"})
                running.client.local("stop")
                code = running.process.wait()

        assert code == 0

    def test_without_what_sends_them_the_setting_is_refused(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
        settings = settings_for(home, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")

        with pytest.raises(SettingsError) as caught:
            serve(settings, detached=True)

        assert "pip install 'backstory[tracing]'" in (caught.value.hint or "")
