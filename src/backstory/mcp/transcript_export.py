"""Pages of an export: turns one after the other, and one too long for a page in parts.

All pages together are the whole: as JSON the parts of a turn's texts are put together again, as markdown
the pages are.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Final, Literal

from backstory.actions.transcripts.export import Exported
from backstory.mcp.budget import USUAL_TOKENS, beginning, tokens, written
from backstory.mcp.cursors import Cursor
from backstory.mcp.transcript_answers import (
    ConversationExported,
    ConversationsExported,
    TurnExported,
)
from backstory.mcp.transcript_fitting import LEAST_ROOM, piece, size
from backstory.mcp.transcript_render import markdown_heading, markdown_turn
from backstory.model.conversation import Conversation, TurnText

Format = Literal["json", "markdown"]

#: Turns that are looked at for a page; ten or so of a usual length fill it.
TURNS: Final = 30


def export_page(found: Exported, page: Cursor, form: Format) -> tuple[ConversationsExported, Cursor | None]:
    """As many of the turns as fit into an answer, and where the next page begins, if one follows."""
    sheet = _Markdown() if form == "markdown" else _Json()
    place, within = page.offset, page.within
    for conversation, text in _turns(found):
        if sheet.room < LEAST_ROOM and place > page.offset:
            return sheet.answer(), Cursor(place, page.moment)
        end = sheet.take(conversation, text, within)
        if end is not None:
            return sheet.answer(), Cursor(place, page.moment, end)
        place, within = place + 1, 0
    following = None if found.next_offset is None else Cursor(found.next_offset, page.moment)
    return sheet.answer(), following


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
        whole = markdown_turn(TurnExported.whole(text))
        if text.turn.number == 1:
            whole = markdown_heading(ConversationExported.of(conversation, [])) + whole
        part = beginning(whole[within:], max(self.room, LEAST_ROOM))
        self._texts.append(part)
        self.room -= tokens(written(part))
        end = within + len(part)
        return end if end < len(whole) else None

    def answer(self) -> ConversationsExported:
        """The page."""
        return ConversationsExported(format="markdown", markdown="".join(self._texts))
