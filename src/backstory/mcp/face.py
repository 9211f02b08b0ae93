"""What an agent meets, put together: the store, the tools that are offered, and who watches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backstory.engine import Engine
from backstory.mcp.observation import Call, Performance
from backstory.mcp.tool import CORE, Tool, Toolbox
from backstory.mcp.tools import TOOLS


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

    @property
    def toolbox(self) -> Toolbox:
        """All tools, and which of them are offered."""
        return Toolbox(self.tools, self.toolsets)
