"""Every tool there is, in the order in which agents are shown them."""

from collections.abc import Mapping
from typing import Any, Final

from backstory.mcp.tool import Tool
from backstory.mcp.tools import conversations, guide, maintenance, memory, project_transcripts, transcripts

TOOLS: Final[Mapping[str, Tool[Any, Any]]] = {
    tool.name: tool
    for tool in (
        *memory.TOOLS,
        *transcripts.TOOLS,
        *project_transcripts.TOOLS,
        *conversations.TOOLS,
        *maintenance.TOOLS,
        *guide.TOOLS,
    )
}
