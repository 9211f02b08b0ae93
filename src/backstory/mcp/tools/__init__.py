"""Every tool there is, in the order in which agents are shown them."""

from collections.abc import Mapping
from typing import Any, Final

from backstory.mcp.tool import Tool
from backstory.mcp.tools import (
    conversations,
    graph,
    guide,
    ingest,
    maintenance,
    memory,
    memory_consolidate,
    memory_extract,
    memory_files,
    project_transcripts,
    transcripts,
    working_memory,
)

TOOLS: Final[Mapping[str, Tool[Any, Any]]] = {
    tool.name: tool
    for tool in (
        *memory.TOOLS,
        *memory_extract.TOOLS,
        *memory_consolidate.TOOLS,
        *working_memory.TOOLS,
        *graph.TOOLS,
        *transcripts.TOOLS,
        *project_transcripts.TOOLS,
        *conversations.TOOLS,
        *maintenance.TOOLS,
        *ingest.TOOLS,
        *memory_files.TOOLS,
        *guide.TOOLS,
    )
}
