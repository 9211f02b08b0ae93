"""Pages of an export: turns one after the other, and one too long for a page in parts.

All pages together are the whole: as JSON the parts of a turn's texts are put together again, as markdown
the pages are.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Final, Literal

from backstory.actions.transcripts.export import Exported, Place
from backstory.mcp.budget import USUAL_TOKENS, beginning, size, tokens, written
from backstory.mcp.cursors import Cursor
from backstory.mcp.transcript_answers import (
    ConversationExported,
    ConversationsExported,
    TurnExported,
)
from backstory.mcp.transcript_fitting import LEAST_ROOM, piece
from backstory.mcp.transcript_render import markdown_heading, markdown_turn
from backstory.model.conversation import Conversation, TurnText

Format = Literal["json", "markdown"]

#: Turns that are looked at for a page; ten or so of a usual length fill it.
TURNS: Final = 30


def export_page(found: Exported, page: Cursor, form: Format) -> tuple[ConversationsExported, Cursor | None]:
    """As many of the turns as fit into an answer, and where the next page begins, if one follows."""
    sheet = _Markdown() if form == "markdown" else _Json()
    following: Cursor | None = None
    for conversation, text in _turns(found):
        if following and sheet.room < LEAST_ROOM:
            return sheet.answer(), following
        own = Place(conversation.id, text.turn.number)
        # The turn that the page before ended in may be gone; the one that follows it begins at its beginning.
        end = sheet.take(conversation, text, page.within if own == place_of(page) else 0)
        if end is not None:
            return sheet.answer(), Cursor(own.turn, page.moment, end, own.conversation)
        following = Cursor(own.turn + 1, page.moment, conversation=own.conversation)
    return sheet.answer(), following if found.following else None


def place_of(page: Cursor) -> Place | None:
    """Where in what is exported a page begins; none is at the beginning."""
    return Place(page.conversation, page.offset) if page.conversation else None


def _turns(found: Exported) -> Iterator[tuple[Conversation, TurnText]]:
    return ((part.conversation, text) for part in found.parts for text in part.turns)


class _Json:
    """A page that is filled with values."""

    def __init__(self) -> None:
        self.room = USUAL_TOKENS
        self._turns: list[tuple[Conversation, TurnExported]] = []

    def take(self, conversation: Conversation, text: TurnText, within: int) -> int | None:
        """Add a turn from a place in it on; the place where it goes on, when the page is full."""
        if not self._turns or self._turns[-1][0] is not conversation:
            self.room -= size(ConversationExported.of(conversation, []))
        turn, end = piece(TurnExported.whole(text), within, self.room)
        if end is not None:
            turn = turn.model_copy(update={"continues": True})
        self._turns.append((conversation, turn))
        self.room -= size(turn)
        return end

    def answer(self) -> ConversationsExported:
        """The page."""
        by_conversation = groupby(self._turns, key=lambda each: each[0].id)
        told = [list(turns) for _, turns in by_conversation]
        return ConversationsExported(
            format="json",
            conversations=[
                ConversationExported.of(turns[0][0], [turn for _, turn in turns]) for turns in told
            ],
        )


class _Markdown:
    """A page that is filled with text."""

    def __init__(self) -> None:
        self.room = USUAL_TOKENS
        self._texts: list[str] = []

    def take(self, conversation: Conversation, text: TurnText, within: int) -> int | None:
        """Add a turn from a character of its markdown on; the one where it goes on, when the page is full."""
        if text.turn.number == 1 and not within:
            # It is not counted: what it says changes while the conversation goes on.
            self._add(markdown_heading(ConversationExported.of(conversation, [])))
        whole = markdown_turn(TurnExported.whole(text))
        part = beginning(whole[within:], max(self.room, LEAST_ROOM))
        self._add(part)
        end = within + len(part)
        return end if end < len(whole) else None

    def answer(self) -> ConversationsExported:
        """The page."""
        return ConversationsExported(format="markdown", markdown="".join(self._texts))

    def _add(self, text: str) -> None:
        self._texts.append(text)
        self.room -= tokens(written(text))
