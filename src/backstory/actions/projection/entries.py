"""What an entry of each index holds: a passage's own words and meaning, and those of what is around it.

The window of a message and the words of a whole conversation are kept nowhere. They are put
together here from the messages, each of which is read and embedded once for all entries of a portion.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np

from backstory.actions.projection.layouts import ASKED, SESSION, TEXT, WINDOW
from backstory.actions.projection.windows import windows_of
from backstory.engine import Engine
from backstory.errors import StoreError
from backstory.model.conversation import Role
from backstory.model.passage import Index, Passage
from backstory.ports import Entry, Matrix, Vector
from backstory.ranking.chunks import CHUNK_CHARS, chunks
from backstory.ranking.turns import asked_words, session_words, window_part, window_words

#: Chunks of a message that are embedded; its words are all found. 70 % of what transcripts hold is tools'
#: output, 9 KB a message and up to 56, and embedding is 41 % of projecting. What the limits cost in quality
#: was not measured: no public set of questions has tools' output. Prose is that long only when pasted.
_TOOL_CHUNKS: Final = 8
_PROSE_CHUNKS: Final = 64


def entries_of(
    engine: Engine, passages: Sequence[Passage], *, with_meaning: bool
) -> Iterator[Sequence[Entry]]:
    """The entries of passages that are all of one index, in portions that fit into memory."""
    if passages:
        yield from _MAKERS[passages[0].index](engine, passages, with_meaning=with_meaning)


class _Maker(Protocol):
    def __call__(
        self, engine: Engine, passages: Sequence[Passage], *, with_meaning: bool
    ) -> Iterator[Sequence[Entry]]: ...


def _memories(
    engine: Engine, passages: Sequence[Passage], *, with_meaning: bool
) -> Iterator[Sequence[Entry]]:
    rows = _embedded(engine, passages) if with_meaning else {}
    yield [_entry(each, {TEXT: each.terms}, {TEXT: rows[each.id]} if rows else {}) for each in passages]


def _messages(
    engine: Engine, passages: Sequence[Passage], *, with_meaning: bool
) -> Iterator[Sequence[Entry]]:
    with engine.records.reading() as records:
        windows = windows_of(records, passages)
    words = _words(passages, windows)
    meanings = _meanings(engine, passages, windows) if with_meaning else {}
    yield [_entry(each, words[each.id], meanings.get(each.id, {})) for each in passages]


def _conversations(
    engine: Engine, passages: Sequence[Passage], *, with_meaning: bool
) -> Iterator[Sequence[Entry]]:
    """One at a time: the words of a conversation may be megabytes."""
    del with_meaning  # words are all it has
    for each in passages:
        with engine.records.reading() as records:
            found = records.conversations.of_keys([each.id]).get(each.id)
            said = records.conversations.all_terms(found.id) if found else []
        yield [_entry(each, {SESSION: session_words(each.terms, said)}, {})]


_MAKERS: Final[Mapping[Index, _Maker]] = {
    Index.MEMORIES: _memories,
    Index.TURNS: _messages,
    Index.SESSIONS: _conversations,
}


def _entry(passage: Passage, words: Mapping[str, str], vectors: Mapping[str, Matrix]) -> Entry:
    return Entry(passage.id, passage.project, vectors, words, passage.labels, passage.numbers)


def _words(
    passages: Sequence[Passage], windows: Mapping[str, Sequence[Passage]]
) -> Mapping[str, Mapping[str, str]]:
    """The words of each message: its own, those of its window, and what it may be the answer to."""
    said = {each.id: each for window in windows.values() for each in window}
    parts = {id: window_part(_role(each), each.terms) for id, each in said.items()}
    return {
        each.id: {
            TEXT: each.terms,
            WINDOW: window_words(each.terms, [parts[near.id] for near in windows[each.id]]),
            ASKED: _asked(each, windows[each.id]),
        }
        for each in passages
    }


def _asked(passage: Passage, window: Sequence[Passage]) -> str:
    """The questions just before what a user said."""
    return asked_words(window[-2].text) if _role(passage) == Role.USER and len(window) > 1 else ""


def _role(passage: Passage) -> str:
    return passage.labels["role"][0]


def _meanings(
    engine: Engine, passages: Sequence[Passage], windows: Mapping[str, Sequence[Passage]]
) -> Mapping[str, Mapping[str, Matrix]]:
    """The vectors of each message: of its chunks, and one of its window."""
    said = {each.id: each for window in windows.values() for each in window}
    rows = _embedded(engine, list(({each.id: each for each in passages} | said).values()))
    units = {id: _unit(rows[id].sum(axis=0)) for id in said}
    nothing = np.zeros(engine.embedder.dimension, np.float32)
    return {
        id: {TEXT: rows[id], WINDOW: _unit(sum((units[near.id] for near in window), nothing))[np.newaxis]}
        for id, window in windows.items()
    }


def _embedded(engine: Engine, passages: Sequence[Passage]) -> Mapping[str, Matrix]:
    """A row for each chunk of each passage, embedded in one call."""
    pieces = [_pieces(passage) for passage in passages]
    matrix = engine.embedder.embed_documents([piece for each in pieces for piece in each])
    if not np.isfinite(matrix).all():
        raise StoreError(
            "the embedder gave numbers that are not finite", hint="check the embedder with 'backstory doctor'"
        )
    ends = np.cumsum([len(each) for each in pieces])
    rows = np.split(matrix, ends[:-1])
    return {passage.id: part for passage, part in zip(passages, rows, strict=True)}


def _pieces(passage: Passage) -> list[str]:
    """The chunks of a passage that are embedded, each with the name of the person who said it."""
    if passage.index is not Index.TURNS:
        return chunks(passage.text)
    whose = "".join(f"{name}: " for name in passage.labels["speaker"])
    most = _TOOL_CHUNKS if _role(passage) == Role.TOOL else _PROSE_CHUNKS
    return [whose + piece for piece in chunks(passage.text[: most * CHUNK_CHARS])[:most]]


def _unit(vector: Vector) -> Vector:
    """The vector with length 1; zeros stay zeros."""
    length = np.linalg.norm(vector)
    return vector / length if length else vector
