"""Every finished tool call is logged, counted and traced."""

from backstory.errors import BackstoryError
from backstory.http.logs import logger, origin_of
from backstory.http.metrics import Metrics
from backstory.http.tracing import add_span
from backstory.mcp.calls import Call

_log = logger("mcp")


class Observer:
    """Told of each call, in the call's own thread."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def __call__(self, call: Call) -> None:
        self._metrics.count_call(call)
        add_span(call)
        _write(call)


def _write(call: Call) -> None:
    context: dict[str, object] = {
        "arguments": call.shape,
        "duration_ms": round(call.duration_s * 1000, 2),
        "status": call.status,
        "bridge": call.bridge,
    }
    if call.error is not None:
        context["kind"] = type(call.error).__name__
    if call.error is not None and not isinstance(call.error, BackstoryError):
        context["error"] = origin_of(call.error)
    write = _log.warning if call.status == "error" else _log.info
    write("tool call", operation=call.tool, context=context)
    texts = {"arguments": call.arguments, "error": repr(call.error) if call.error else None}
    _log.debug("tool call in full", operation=call.tool, context=texts)
