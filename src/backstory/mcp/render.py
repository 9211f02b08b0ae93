"""Answers as text, for clients that show the text alone. Each says all that the structured answer says."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from backstory.mcp.answers import (
    Help,
    MemoriesFound,
    MemoryAdded,
    MemoryDeleted,
    MemoryFound,
    MemoryShown,
    StoreStatistics,
)
from backstory.mcp.budget import written


def added(answer: MemoryAdded) -> str:
    """That a memory is kept, and where."""
    return _lines(
        f"Kept as {answer.type} {answer.id}, version {answer.version}.",
        f"project: {answer.project}",
        f"created: {_time(answer.created_at)}",
        *_each("pending", answer.pending),
    )


def deleted(answer: MemoryDeleted) -> str:
    """That a memory is not found any more."""
    return _lines(
        f"Deleted {answer.type} {answer.id}, version {answer.version}.",
        f"project: {answer.project}",
        *([f"deleted: {_time(answer.deleted_at)}"] if answer.deleted_at else []),
        *_each("pending", answer.pending),
    )


def shown(answer: MemoryShown) -> str:
    """A memory: what is known of it, then its content."""
    page = [] if answer.offset is None else [f"content from character {answer.offset}"]
    more = [] if answer.next_offset is None else [f"next offset: {answer.next_offset}"]
    links = [
        f"{each.direction}: {each.type} {each.memory_type} {each.id} {each.title}"
        for each in answer.relationships
    ]
    return _lines(
        f"{answer.type} {answer.id}, version {answer.version}",
        f"project: {answer.project}",
        f"created: {_time(answer.created_at)}, updated: {_time(answer.updated_at)}",
        f"importance: {answer.importance}, read {answer.access_count} times",
        *_metadata(answer.metadata),
        *links,
        *page,
        *more,
        *_each("note", answer.notes),
        "",
        answer.content,
    )


def found(answer: MemoriesFound) -> str:
    """The hits, best first, and how to go on."""
    count = len(answer.hits)
    head = f"{count} {'memory' if count == 1 else 'memories'} found." if count else "No memory found."
    more = [f"next cursor: {answer.next_cursor}"] if answer.next_cursor else []
    return _lines(
        head,
        *_each("degraded", answer.degraded),
        *_each("omitted", answer.omitted),
        *_each("note", answer.notes),
        *more,
        *(_hit(place, hit) for place, hit in enumerate(answer.hits, 1)),
    )


def statistics(answer: StoreStatistics) -> str:
    """The counts, then the state of the store."""
    index = answer.index
    cache = answer.embedding_cache
    return _lines(
        f"project: {answer.project}",
        f"memories: {answer.total} ({_counts(answer.memories)}), {answer.deleted} deleted,"
        f" {answer.links} links, {answer.projects} projects in the store",
        f"index: {'healthy' if index.healthy else 'not healthy'}, waiting: {_counts(index.pending)},"
        f" refused: {index.refused}",
        *([f"paused: {index.paused}"] if index.paused else []),
        *(
            f"generation: {each.target} {each.number}, {each.state}"
            + ("" if each.entries is None else f", {each.entries} entries")
            for each in index.generations
        ),
        f"storage in bytes: {_counts(answer.storage_bytes)}; free: {answer.free_bytes}",
        f"embedding cache: {cache.hits} hits, {cache.misses} misses, rate {cache.hit_rate}",
        *(
            f"calls: {tool} {pace.count}, p50 {pace.p50_ms} ms, p95 {pace.p95_ms} ms"
            for tool, pace in answer.calls.items()
        ),
        *(
            f"recent: {_time(each.at)} {each.operation} {each.id} version {each.version} in {each.project}"
            for each in answer.recent
        ),
    )


def helped(answer: Help) -> str:
    """The topic's text, and which others there are."""
    return _lines(f"# {answer.topic}", "", answer.text, "", f"topics: {', '.join(answer.topics)}")


def _hit(place: int, hit: MemoryFound) -> str:
    return _lines(
        "",
        f"{place}. {hit.type} {hit.id}",
        f"   score {hit.score} by {', '.join(hit.found_by)}; importance {hit.importance};"
        f" created {_time(hit.created_at)}; project {hit.project}",
        *(f"   {line}" for line in _metadata(hit.metadata)),
        *([f"   shortened: {', '.join(hit.shortened)}"] if hit.shortened else []),
        hit.content,
    )


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _each(name: str, values: Iterable[str] | None) -> Sequence[str]:
    return [f"{name}: {value}" for value in values or ()]


def _metadata(metadata: Mapping[str, object] | None) -> Sequence[str]:
    return [f"metadata: {written(metadata)}"] if metadata else []


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _time(moment: datetime) -> str:
    """As the structured answer has it."""
    return moment.isoformat().replace("+00:00", "Z")
