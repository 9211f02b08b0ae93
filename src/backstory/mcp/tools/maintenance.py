"""The toolset `maintenance`: how the store is doing."""

from typing import Any, Final

from mcp.types import ToolAnnotations

from backstory.actions.maintenance.statistics import statistics
from backstory.mcp import render
from backstory.mcp.answers import CallPace, EmbeddingCache, IndexHealth, RecentActivity, StoreStatistics
from backstory.mcp.arguments import Arguments
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.parameters import ReadingProject
from backstory.model.project import Project

MAINTENANCE: Final = "maintenance"


class StatisticsAsked(Arguments):
    """What memory_statistics takes."""

    project: ReadingProject = None


def _statistics(request: Request, asked: StatisticsAsked) -> StoreStatistics:
    scope = request.scope(asked.project)
    counted = statistics(request.engine, scope)
    return StoreStatistics(
        project=scope.name if isinstance(scope, Project) else scope.value,
        total=sum(counted.memories.values()),
        memories=counted.memories,
        deleted=counted.deleted,
        links=counted.links,
        projects=counted.projects,
        index=IndexHealth.of(counted),
        storage_bytes=counted.storage_bytes,
        free_bytes=counted.free_bytes,
        embedding_cache=EmbeddingCache.of(request.engine.cache_use()),
        calls={tool: CallPace.of(pace) for tool, pace in request.performance.by_tool().items()},
        recent=[RecentActivity.of(done) for done in counted.recent],
    )


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="memory_statistics",
        title="Memory statistics",
        description="Counts by type, storage, health of the index, recent changes and speed of calls.",
        toolsets=(MAINTENANCE,),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=StatisticsAsked,
        answer=StoreStatistics,
        function=_statistics,
        render=render.statistics,
    ),
)
