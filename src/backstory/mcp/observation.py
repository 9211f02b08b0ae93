"""What is noted of a call: never what was said in it, only its shape, its duration and how it ended.

Who writes it to a log or counts it is left to whoever observes.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Status = Literal["ok", "input_error", "error", "cancelled"]

#: Enough for a p95 that fifty calls stand behind; so few that it tells of today.
LAST_CALLS: Final = 1000

UNKNOWN: Final = "(unknown)"


@dataclass(frozen=True, slots=True)
class Call:
    """One finished tool call.

    `shape` may be logged. `arguments` hold what a user wrote, and the text of `error` may quote it:
    both are for DEBUG alone. A name that is no tool's, and arguments that a tool does not have, could
    say anything, so they are noted as `UNKNOWN`.
    """

    tool: str
    shape: Mapping[str, str]
    arguments: Mapping[str, object] = field(repr=False)
    duration_s: float
    status: Status
    error: BaseException | None
    bridge: str | None


@dataclass(frozen=True, slots=True)
class Pace:
    """How long calls of one tool took."""

    count: int
    p50_ms: float
    p95_ms: float


class Performance:
    """The durations of the last calls. Any thread may add to it and read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: deque[tuple[str, float]] = deque(maxlen=LAST_CALLS)

    def note(self, call: Call) -> None:
        """Remember how long a call took."""
        with self._lock:
            self._last.append((call.tool, call.duration_s * 1000))

    def by_tool(self) -> Mapping[str, Pace]:
        """How long the last calls took, under the names of their tools."""
        with self._lock:
            last = list(self._last)
        times: defaultdict[str, list[float]] = defaultdict(list)
        for tool, took_ms in last:
            times[tool].append(took_ms)
        return {tool: _pace(sorted(times[tool])) for tool in sorted(times)}


def shape_of(arguments: Mapping[str, object], known: Collection[str]) -> Mapping[str, str]:
    """The names, kinds and lengths of arguments, without anything of what they say."""
    shape = {name: _kind(value) for name, value in arguments.items() if name in known}
    if strange := len(arguments) - len(shape):
        shape[UNKNOWN] = f"object({strange})"
    return shape


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "number"
        case str():
            return f"text({len(value)})"
        case Mapping():
            return f"object({len(value)})"
        case list() | tuple():
            return f"list({len(value)})"
        case _:
            return "something else"


def _pace(times: list[float]) -> Pace:
    """Nearest rank: with few calls, the time of one that really happened."""
    p50, p95 = (times[min(len(times) - 1, len(times) * share // 100)] for share in (50, 95))
    return Pace(len(times), round(p50, 3), round(p95, 3))
