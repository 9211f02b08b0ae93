"""Answers as text, for clients that show the text alone. Each says all that the structured answer says."""

from collections.abc import Mapping, Sequence

from backstory.mcp.answers import (
    ConflictTold,
    Help,
    MemoriesFound,
    MemoryAdded,
    MemoryDeleted,
    MemoryFound,
    MemoryShown,
    StoreStatistics,
)
from backstory.mcp.budget import written
from backstory.mcp.wording import counts, every, fact, indented, lines, time


def added(answer: MemoryAdded) -> str:
    """That a memory is kept, and where."""
    return lines(
        f"Kept as {answer.type} {answer.id}, version {answer.version}.",
        f"project: {answer.project}",
        f"created: {time(answer.created_at)}",
        *every("pending", answer.pending),
        *every("note", answer.notes),
        *conflicts(answer.conflicts),
    )


def conflicts(found: Sequence[ConflictTold] | None) -> Sequence[str]:
    """What a memory conflicts with, each other one in two lines."""
    return [
        lines(
            f"{each.kind} with {each.type} {each.id}, certainty {each.certainty}: {each.why}",
            f"  {indented(each.content)}",
        )
        for each in found or ()
    ]


def deleted(answer: MemoryDeleted) -> str:
    """That a memory is not found any more."""
    return lines(
        f"Deleted {answer.type} {answer.id}, version {answer.version}.",
        f"project: {answer.project}",
        *([f"deleted: {time(answer.deleted_at)}"] if answer.deleted_at else []),
        *every("pending", answer.pending),
    )


def shown(answer: MemoryShown) -> str:
    """A memory: what is known of it, then its content."""
    page = [] if answer.offset is None else [f"content from character {answer.offset}"]
    links = [
        f"{each.direction}: {each.type} {each.memory_type} {each.id} {each.title}"
        + (f" (by {each.field})" if each.field else "")
        for each in answer.relationships
    ]
    names = [
        f"{each.field} names {each.name}: {each.id or 'no memory has that name yet'}"
        for each in answer.references or ()
    ]
    return lines(
        f"{answer.type} {answer.id}, version {answer.version}",
        f"project: {answer.project}",
        f"created: {time(answer.created_at)}, updated: {time(answer.updated_at)}",
        f"importance: {answer.importance}, read {answer.access_count} times",
        *_metadata(answer.metadata),
        *links,
        *names,
        *page,
        *fact("next offset", answer.next_offset),
        *every("note", answer.notes),
        "",
        answer.content,
    )


def found(answer: MemoriesFound) -> str:
    """The hits, best first, and how to go on."""
    count = len(answer.hits)
    head = f"{count} {'memory' if count == 1 else 'memories'} found." if count else "No memory found."
    return lines(
        head,
        *every("degraded", answer.degraded),
        *every("omitted", answer.omitted),
        *every("note", answer.notes),
        *fact("next cursor", answer.next_cursor),
        *(_hit(place, hit) for place, hit in enumerate(answer.hits, 1)),
    )


def statistics(answer: StoreStatistics) -> str:
    """The counts, then the state of the store."""
    index = answer.index
    cache = answer.embedding_cache
    return lines(
        f"project: {answer.project}",
        f"memories: {answer.total} ({counts(answer.memories)}), {answer.deleted} deleted,"
        f" {answer.links} links, {answer.projects} projects in the store",
        f"index: {'healthy' if index.healthy else 'not healthy'}, waiting: {counts(index.pending)},"
        f" refused: {index.refused}",
        *fact("paused", index.paused),
        *(
            f"generation: {each.target} {each.number}, {each.state}"
            + ("" if each.entries is None else f", {each.entries} entries")
            for each in index.generations
        ),
        f"storage in bytes: {counts(answer.storage_bytes)}; free: {answer.free_bytes}",
        f"embedding cache: {cache.hits} hits, {cache.misses} misses, rate {cache.hit_rate}",
        *(
            f"calls: {tool} {pace.count}, p50 {pace.p50_ms} ms, p95 {pace.p95_ms} ms"
            for tool, pace in answer.calls.items()
        ),
        *(
            f"recent: {time(each.at)} {each.operation} {each.id} version {each.version} in {each.project}"
            for each in answer.recent
        ),
    )


def helped(answer: Help) -> str:
    """The topic's text, and which others there are."""
    return lines(f"# {answer.topic}", "", answer.text, "", f"topics: {', '.join(answer.topics)}")


def _hit(place: int, hit: MemoryFound) -> str:
    return lines(
        "",
        f"{place}. {hit.type} {hit.id}",
        f"   score {hit.score}: {', '.join(_parts(hit))}",
        f"   importance {hit.importance}; created {time(hit.created_at)}; project {hit.project}",
        *(f"   {line}" for line in _metadata(hit.metadata)),
        *([f"   shortened: {', '.join(hit.shortened)}"] if hit.shortened else []),
        hit.content,
    )


def _parts(hit: MemoryFound) -> Sequence[str]:
    return [f"{name} {worth}" for name, worth in hit.parts.items()] if hit.parts else hit.found_by


def _metadata(metadata: Mapping[str, object] | None) -> Sequence[str]:
    return [f"metadata: {written(metadata)}"] if metadata else []
