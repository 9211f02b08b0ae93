"""Making a page of a conversation fit whose turns have more than texts: metadata gives way first."""

from typing import Final

from backstory.mcp.budget import USUAL_TOKENS, size, tokens, written
from backstory.mcp.resource_answers import ConversationOpened, TurnOpened
from backstory.mcp.transcript_fitting import LEAST_ROOM, fit_conversation

#: Metadata that is left out of a page that is too long: what leaves too little of a turn for what was said.
_LARGE: Final = LEAST_ROOM // 2

_READ_ALONE: Final = "metadata of some turns is left out; a turn that is read alone, with limit=1, has it"


def fit_page(page: ConversationOpened) -> ConversationOpened:
    """The page, as long as an answer may be; what it lost is said."""
    if len(page.turns) > 1 and size(page) > USUAL_TOKENS:
        page = _without_metadata(page)
    return fit_conversation(page)


def _without_metadata(page: ConversationOpened) -> ConversationOpened:
    turns = [_light(turn) for turn in page.turns]
    notes = [*(page.notes or ()), *([_READ_ALONE] if any(turn.shortened for turn in turns) else [])]
    return page.model_copy(update={"turns": turns, "notes": notes or None})


def _light(turn: TurnOpened) -> TurnOpened:
    if turn.metadata is None or tokens(written(turn.metadata)) <= _LARGE:
        return turn
    return turn.model_copy(update={"metadata": None, "shortened": ["metadata"]})
