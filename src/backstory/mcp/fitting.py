"""Making answers fit: hits that are too long together, a memory too long for one answer."""

from collections.abc import Sequence
from typing import Final

from backstory.errors import InputError
from backstory.mcp.answers import MemoriesFound, MemoryFound, MemoryShown
from backstory.mcp.budget import USUAL_TOKENS, beginning, fair_share, size, tokens, written

#: The least that is shown of a content, however little room there is: a sentence.
LEAST_EXCERPT: Final = 40

#: The least that a page of a memory shows: metadata and links may fill an answer, and it must go on.
LEAST_PAGE: Final = 2_000

#: Kept for what is said around the hits: the cursor, the ids of those left out, the notes.
_AROUND: Final = 1_500


def fit_hits(hits: Sequence[MemoryFound], most: int = USUAL_TOKENS) -> MemoriesFound:
    """The hits that fit into an answer: the longest are shortened, and left out if that is not enough."""
    room = most - _AROUND
    sized = [(hit, size(hit)) for hit in hits]
    share = fair_share([size for _, size in sized], room)
    sized = [(hit, size) if size <= share else _shortened(hit, share) for hit, size in sized]
    omitted: list[str] = []
    while sum(size for _, size in sized) > room:
        longest = max(sized, key=lambda each: each[1])
        sized.remove(longest)
        omitted.append(longest[0].id)
    shown = [hit for hit, _ in sized]
    return MemoriesFound(hits=shown, omitted=omitted or None, notes=_notes(shown, omitted) or None)


def fit_memory(whole: MemoryShown, offset: int, most: int = USUAL_TOKENS) -> MemoryShown:
    """The page of a memory that begins at a character, as long as fits into an answer."""
    if offset > 0 and offset >= len(whole.content):
        raise InputError(
            f"offset {offset:,} is behind the end of the content, after {len(whole.content):,} characters",
            hint="begin at 0",
        )
    if offset:  # what is known of it stood on the first page
        whole = whole.model_copy(update={"metadata": None, "relationships": [], "references": None})
    around = size(whole.model_copy(update={"content": ""}))
    page = beginning(whole.content[offset:], max(most - around, LEAST_PAGE))
    end = offset + len(page)
    if end == len(whole.content):
        return whole.model_copy(update={"content": page, "offset": offset or None})
    note = f"the content has {len(whole.content)} characters; ask again with offset={end} for more"
    update = {"content": page, "offset": offset, "next_offset": end, "notes": [*(whole.notes or ()), note]}
    return whole.model_copy(update=update)


def _shortened(hit: MemoryFound, most: int) -> tuple[MemoryFound, int]:
    """A hit without large metadata and with the beginning of its content; about `most` long, and how long.

    Where there is no room for a sentence, what its score is made of gives way as well.
    """
    lost = []
    if hit.metadata and tokens(written(hit.metadata)) > most // 4:
        hit, lost = hit.model_copy(update={"metadata": None}), ["metadata"]
    if _around(hit) + LEAST_EXCERPT > most:
        hit, lost = hit.model_copy(update={"parts": None}), [*lost, "parts"]
    content = beginning(hit.content, max(most - _around(hit), LEAST_EXCERPT))
    if content != hit.content:
        lost.append("content")
    hit = hit.model_copy(update={"content": content, "shortened": lost or None})
    return hit, size(hit)


def _around(hit: MemoryFound) -> int:
    """How long a hit is at most without its content."""
    return size(hit.model_copy(update={"content": "", "shortened": ["metadata", "parts", "content"]}))


def _notes(shown: Sequence[MemoryFound], omitted: Sequence[str]) -> list[str]:
    notes = []
    if any(hit.shortened for hit in shown):
        notes.append("some hits are shortened; memory_get with their id gives them whole")
    if omitted:
        notes.append(
            f"{len(omitted)} hits are left out for their length; memory_get with their id gives them"
        )
    return notes
