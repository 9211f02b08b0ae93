"""A resource as a value: the beginning of its addresses, and the tool that answers there.

It is asked by its address as a tool is by its name, sees the projects that a tool would see, and is checked,
done and noted in the same way (`calls`). Which resources there are is said in `resources`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mcp.types import ToolAnnotations

from backstory.mcp.answers import Answer
from backstory.mcp.arguments import Arguments, names_of
from backstory.mcp.budget import written
from backstory.mcp.tool import Request, Tool

_READING: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@dataclass(frozen=True, slots=True)
class Resource:
    """What is found at addresses that begin alike. `variable` is what stands for the name behind a slash."""

    place: str
    tool: Tool[Any, Any]
    variable: str = ""

    @property
    def template(self) -> str:
        """The addresses, as RFC 6570 writes them."""
        path = f"/{{{self.variable}}}" if self.variable else ""
        asked = [name for name in names_of(self.tool.arguments) if name != self.variable]
        return f"{self.place}{path}{{?{','.join(asked)}}}" if asked else f"{self.place}{path}"


def resource(
    place: str,
    title: str,
    description: str,
    arguments: type[Arguments],
    function: Callable[[Request, Any], Answer],
    variable: str = "",
) -> Resource:
    """What a function answers, as JSON, at the addresses that begin with a place."""
    tool: Tool[Any, Any] = Tool(
        name=place,
        title=title,
        description=description,
        toolsets=(),
        annotations=_READING,
        arguments=arguments,
        answer=Answer,
        function=function,
        render=_body,
    )
    return Resource(place, tool, variable)


def _body(answer: Answer) -> str:
    return written(answer.structured())
