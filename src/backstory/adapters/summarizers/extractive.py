"""Summaries made of the sentences that were said: no model is asked, and equal turns give equal summaries.

Sentences are chosen by what their wording tells and by how near they are to everything that was said.
They stand in the order of the conversation, under who said them. Without vectors, wording decides alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from backstory.analysis.cues import weight
from backstory.analysis.selection import Costs, Scores, centrality, chosen
from backstory.analysis.sentences import Kind, Piece, pieces
from backstory.errors import StoreError
from backstory.model.summary import SaidTurn, Summary
from backstory.model.tokens import quarters, tokens
from backstory.ports import Embedder, Matrix

#: Changes whenever the same turns would give another summary.
_VERSION: Final = "extractive-1"

_ELLIPSIS: Final = "\u2026"
_NAME_CHARS: Final = 40  # names are written by others, and stand on many lines


@dataclass(frozen=True, slots=True)
class _Side:
    """What one side said in one turn; `place` tells it from turns of the same number."""

    place: int
    heading: str
    is_person: bool


@dataclass(frozen=True, slots=True)
class _Said:
    """A piece, and who said it."""

    piece: Piece
    side: _Side


class ExtractiveSummarizer:
    """Chooses among the sentences that were said."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        return f"{_VERSION}-{self._embedder.fingerprint}"

    def summarize(self, turns: Sequence[SaidTurn], *, max_tokens: int) -> Summary:
        """The sentences that matter most, in their order, in at most `max_tokens`."""
        said = _distinct([each for place, turn in enumerate(turns) for each in _said(place, turn)])
        text, note = self._chosen(said, 4 * max_tokens) if said else ("", "")
        first, last = (turns[0].number, turns[-1].number) if turns else (0, 0)
        return Summary(text, first, last, tokens(text), self.fingerprint, note)

    def _chosen(self, said: Sequence[_Said], budget: int) -> tuple[str, str]:
        """The summary in at most so many quarters of a token, and what is to be said about it."""
        vectors, note = self._vectors([each.piece.text for each in said])
        scores = centrality(vectors) + [weight(each.piece, by_person=each.side.is_person) for each in said]
        # One more: the first line has no line end before it.
        kept = chosen(scores, vectors, _costs(said), budget + 1)
        return _laid_out([said[place] for place in sorted(kept)]) or _beginning(said, scores, budget), note

    def _vectors(self, texts: Sequence[str]) -> tuple[Matrix, str]:
        """The texts' vectors, or zeros and the reason."""
        try:
            return self._embedder.embed_documents(texts), ""
        except StoreError as error:
            nothing = np.zeros((len(texts), self._embedder.dimension), np.float32)
            return nothing, f"sentences were chosen by their wording alone: {error}"


def _said(place: int, turn: SaidTurn) -> list[_Said]:
    person = _Side(place, f"[{turn.number}] {_person(turn.user_name)}:", is_person=True)
    assistant = _Side(place, f"[{turn.number}] Assistant:", is_person=False)
    return [
        *(_Said(piece, person) for piece in pieces(turn.user)),
        *(_Said(piece, assistant) for piece in pieces(turn.assistant)),
    ]


def _person(name: str) -> str:
    """A person's name; nobody is the assistant by being called so."""
    name = " ".join(name.split())[:_NAME_CHARS]
    return f"User ({name})" if name.casefold().startswith("assistant") else name or "User"


def _distinct(said: Sequence[_Said]) -> list[_Said]:
    """Each piece where it was said first."""
    first: dict[str, _Said] = {}
    for each in said:
        first.setdefault(each.piece.text.casefold(), each)
    return list(first.values())


def _costs(said: Sequence[_Said]) -> Costs:
    """In quarters of a token; each piece has a blank or a line end before it, each heading a line end."""
    groups = {side: number for number, side in enumerate(dict.fromkeys(each.side for each in said))}
    return Costs(
        own=np.array([quarters(each.piece.text) + 1 for each in said], np.intp),
        group=np.array([groups[each.side] for each in said], np.intp),
        opening=np.array([quarters(side.heading) + 1 for side in groups], np.intp),
    )


def _laid_out(said: Sequence[_Said]) -> str:
    """A paragraph for each side of a turn; code and lists stand on lines of their own."""
    lines: list[str] = []
    for side, group in groupby(said, key=lambda each: each.side):
        lines.append(side.heading)
        before = Kind.PROSE
        for piece in (each.piece for each in group):
            if before is Kind.PROSE is piece.kind:
                lines[-1] += f" {piece.text}"
            else:
                lines.append(piece.text)
            before = piece.kind
    return "\n".join(lines)


def _beginning(said: Sequence[_Said], scores: Scores, budget: int) -> str:
    """As much of the best piece as fits, when none fits whole."""
    best = said[int(np.argmax(scores))]
    room = budget - quarters(f"{best.side.heading} {_ELLIPSIS}")
    text = best.piece.text[: max(0, room)]
    while text and quarters(text) > room:
        text = text[: min(len(text) - 1, len(text) - (quarters(text) - room) // 4)]
    words = text[: text.rfind(" ")] if " " in text else text
    return f"{best.side.heading} {words.rstrip()}{_ELLIPSIS}" if words.strip() else ""
