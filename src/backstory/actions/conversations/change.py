"""Changing what a live conversation is called and what is known of it; deleting it, and taking it back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backstory.actions.conversations import accepting
from backstory.actions.conversations.copying import forget, keep_or_tell, note_behind
from backstory.actions.conversations.known import known, known_or_deleted
from backstory.engine import Engine
from backstory.errors import InputError, NotFound, StoreError
from backstory.model.live import ConversationChange, ConversationNews, LiveConversation, Metadata
from backstory.model.project import Scope


@dataclass(frozen=True, slots=True)
class Changed:
    """The conversation as it is now. `waits` says what search still knows otherwise, and why."""

    conversation: LiveConversation
    waits: Sequence[str] = ()


def update_conversation(
    engine: Engine, scope: Scope, id: str, *, title: str | None = None, metadata: Metadata | None = None
) -> Changed:
    """Give a conversation another title, or other metadata: keys are merged, one set to None is removed."""
    if title is None and metadata is None:
        raise InputError("nothing to change was given", hint="give a title, or metadata")
    change = ConversationChange(
        at=datetime.now(UTC),
        title=None if title is None else accepting.line("title", title, accepting.MAX_TITLE_CHARS),
        metadata=None if metadata is None else accepting.metadata(metadata),
    )
    with engine.live.writing():
        before = known(engine, scope, id)
        if change.metadata is not None:
            merged = {**before.metadata, **change.metadata}
            accepting.check_size({key: value for key, value in merged.items() if value is not None})
        conversation = _change(engine, id, change)
        waits = keep_or_tell(engine, conversation)
    engine.changes.tell(ConversationNews(id, conversation.room))
    engine.bell.ring()
    return Changed(conversation, waits)


def delete_conversation(engine: Engine, scope: Scope, id: str) -> Changed:
    """Let nobody find a conversation any more, and its room be free; all that was said in it is kept.

    Asked again, it answers as it did the first time.
    """
    with engine.live.writing():
        conversation = known_or_deleted(engine, scope, id)
        if conversation.deleted_at:
            return Changed(conversation)
        conversation = _change(engine, id, ConversationChange(datetime.now(UTC), deleted=True))
    waits = _forget_or_tell(engine, id)
    _tell_of_list(engine, conversation)
    return Changed(conversation, waits)


def restore_conversation(engine: Engine, scope: Scope, id: str) -> Changed:
    """Take a deleted conversation back; raises `InputError` if its room has another by now."""
    with engine.live.writing():
        if not known_or_deleted(engine, scope, id).deleted_at:
            return Changed(known(engine, scope, id))
        conversation = _change(engine, id, ConversationChange(datetime.now(UTC), deleted=False))
    waits = keep_or_tell(engine, conversation)
    _tell_of_list(engine, conversation)
    return Changed(conversation, waits)


def _change(engine: Engine, id: str, change: ConversationChange) -> LiveConversation:
    changed = engine.live.storage.change(id, change)
    if changed is None:
        raise NotFound(f"there is no live conversation {id}", hint="list the conversations that there are")
    return changed


def _forget_or_tell(engine: Engine, id: str) -> Sequence[str]:
    try:
        forget(engine, id)
    except StoreError as error:
        note_behind(engine)
        return (f"still found by search: {error}",)
    return ()


def _tell_of_list(engine: Engine, conversation: LiveConversation) -> None:
    engine.changes.tell(ConversationNews(conversation.id, conversation.room, is_listed_anew=True))
    engine.bell.ring()
