"""What an agent meets, put together: the store, the tools that are offered, and who watches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from backstory.engine import Engine
from backstory.mcp.observation import Call, Performance
from backstory.mcp.tool import CORE, Tool, Toolbox
from backstory.mcp.tools import TOOLS

#: Calls that are worked on at the same time; the others wait. The engines hold Python's interpreter lock
#: while they work, so more threads only get in each other's way: 50 sessions made 76 searches a second with
#: one or two, 67 with four and 59 with forty.
CALLS_AT_ONCE: Final = 2


def _nobody(call: Call) -> None:
    """Watches nothing."""


@dataclass(frozen=True)
class Face:
    """The tools over one store. `observe` is told of every finished call, in that call's thread.

    It must not raise, and it must not write what a user said anywhere above DEBUG.
    """

    engine: Engine
    toolsets: Sequence[str] = (CORE,)
    default_project: str = "default"
    observe: Callable[[Call], None] = _nobody
    tools: Mapping[str, Tool[Any, Any]] = field(default_factory=lambda: TOOLS)
    performance: Performance = field(default_factory=Performance)
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(CALLS_AT_ONCE))
    #: Long work waits for its like alone; it gives way to other threads at every step.
    long_threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(CALLS_AT_ONCE))

    def threads_for(self, name: str) -> anyio.CapacityLimiter:
        """The threads in which calls of a tool are worked on."""
        tool = self.tools.get(name)
        return self.long_threads if tool and tool.is_long else self.threads

    @property
    def toolbox(self) -> Toolbox:
        """All tools, and which of them are offered."""
        return Toolbox(self.tools, self.toolsets)
