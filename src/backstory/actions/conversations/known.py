"""Finding live conversations: the one that somebody names, or all of them page by page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from backstory.engine import Engine
from backstory.errors import NotFound
from backstory.model.live import ConversationCriteria, ConversationPage, LiveConversation
from backstory.model.project import Scope, is_inside


def known(engine: Engine, scope: Scope, id: str, *, summaries: int = 0) -> LiveConversation:
    """The conversation with its newest summaries; raises `NotFound` if it is not there, or deleted."""
    found = known_or_deleted(engine, scope, id, summaries=summaries)
    if found.deleted_at:
        raise NotFound(
            f"the conversation {id} is deleted",
            hint="begin one with create_conversation, or take it back with 'backstory conversations restore'",
        )
    return found


def known_or_deleted(engine: Engine, scope: Scope, id: str, *, summaries: int = 0) -> LiveConversation:
    """The conversation, deleted or not; raises `NotFound` if it is not in the scope."""
    found = engine.live.storage.get(id, summaries=summaries)
    if found is None or not is_inside(scope, found.project):
        raise NotFound(
            f"there is no live conversation {id}", hint="begin one with create_conversation and use its id"
        )
    return found


def pages(
    find: Callable[[ConversationCriteria], ConversationPage], wanted: ConversationCriteria
) -> Iterator[Sequence[LiveConversation]]:
    """All conversations that meet the criteria, as many at once as its limit says."""
    while True:
        page = find(wanted)
        yield page.conversations
        if not page.more:
            return
        wanted = replace(wanted, after=page.conversations[-1].id)
