"""Spans for OpenTelemetry, when an endpoint is set.

The MCP library makes a span for every message it serves; here they are sent, and one is added for the
work itself. A span says which tool and how it ended, never what was asked.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace

from backstory.errors import SettingsError
from backstory.mcp.calls import Call

#: A collector on the same machine answers in milliseconds; one that is not there must not hold up the end of
#: the process, which has a few seconds.
SEND_LIMIT_S: Final = 2


@contextmanager
def sending_spans(endpoint: str | None) -> Iterator[None]:
    """Send spans to the endpoint until the block ends; without one, make none."""
    if endpoint is None:
        yield
        return
    try:
        # Optional: only who sends spans needs to install what sends them.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingsError(
            f"OTEL_EXPORTER_OTLP_ENDPOINT={endpoint} is set, and what sends spans there is not installed",
            hint="pip install 'backstory[tracing]', or unset OTEL_EXPORTER_OTLP_ENDPOINT",
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": "backstory"}))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=SEND_LIMIT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()


def add_span(call: Call) -> None:
    """A span for a call that has just ended, inside the one that is open in its thread."""
    ended = time.time_ns()
    span = trace.get_tracer("backstory").start_span(
        f"action {call.tool}",
        attributes={"backstory.tool": call.tool, "backstory.status": call.status},
        start_time=ended - round(call.duration_s * 1e9),
    )
    if call.status == "error":
        span.set_status(trace.StatusCode.ERROR)
    span.end(end_time=ended)
