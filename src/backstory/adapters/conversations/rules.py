"""What every storage of live conversations does alike: what it refuses, what becomes of what it is given.

Where anything is kept is left to the storages.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from backstory.errors import InputError, NotFound
from backstory.model.live import (
    ConversationChange,
    ConversationCriteria,
    LiveConversation,
    LiveTurn,
    Metadata,
    NewConversation,
    NewTurn,
    TurnWindow,
)
from backstory.model.project import is_inside
from backstory.model.summary import Summary

#: Metadata inside metadata: parsers of JSON give up somewhere between 250 and 1,000 levels.
_MOST_LEVELS: Final = 100
#: What fits in 64 bits; beyond, readers of JSON disagree.
_WHOLE_NUMBERS: Final = range(-(2**63), 2**63)


def no_conversation(id: str) -> NotFound:
    """What to say of a conversation that is not there."""
    return NotFound(
        f"there is no live conversation {id}", hint="begin one with create_conversation and use its id"
    )


def no_parent(parent: str) -> NotFound:
    """What to say of a parent that is not there."""
    return NotFound(
        f"there is no turn {parent} in this conversation",
        hint="give the id of an earlier turn of it, or leave parent_turn_id out",
    )


def room_taken(conversation: LiveConversation, other: str) -> InputError:
    """What to say when a deleted conversation is taken back and its room has another."""
    return InputError(
        f"the room {conversation.room} has another conversation by now: {other}",
        hint="delete that one first",
    )


def begun(new: NewConversation) -> LiveConversation:
    """A new conversation as it is kept; raises `InputError` for what cannot be kept."""
    _check_texts(new.id, new.project.name, new.interface_type, new.room, new.title)
    at = _utc(new.created_at)
    return LiveConversation(
        new.id,
        new.project,
        new.interface_type,
        new.room,
        created_at=at,
        updated_at=at,
        title=new.title,
        metadata=_plain_metadata(new.metadata),
    )


def numbered(id: str, new: NewTurn, number: int, parent: LiveTurn | None) -> LiveTurn:
    """A new turn as it is kept; raises `NotFound` if it has a parent that is not known."""
    if new.parent and parent is None:
        raise no_parent(new.parent)
    _check_texts(new.id, new.query, new.response, new.user_id, new.user_name)
    return LiveTurn(
        id=new.id,
        conversation=id,
        number=number,
        query=new.query,
        response=new.response,
        at=_utc(new.at),
        user_id=new.user_id,
        user_name=new.user_name,
        parent=new.parent,
        thread=parent.thread if parent else new.id,
        metadata=_plain_metadata(new.metadata),
    )


def numbered_on(
    conversation: LiveConversation, turns: Sequence[NewTurn], known: Callable[[str], LiveTurn | None]
) -> tuple[list[LiveTurn], list[LiveTurn]]:
    """The turns as they are kept, each that was given; and those of them that `known` does not know."""
    given: dict[str, LiveTurn] = {}
    added: list[LiveTurn] = []
    for new in turns:
        turn = given.get(new.id) or known(new.id)
        if turn is None:
            parent = (given.get(new.parent) or known(new.parent)) if new.parent else None
            turn = numbered(conversation.id, new, conversation.turns + len(added) + 1, parent)
            added.append(turn)
        given[new.id] = turn
    return [given[new.id] for new in turns], added


def grown(conversation: LiveConversation, turns: Sequence[LiveTurn]) -> LiveConversation:
    """The conversation as it is with these turns at its end."""
    if not turns:
        return conversation
    updated_at = max([conversation.updated_at, *(turn.at for turn in turns)])
    return replace(conversation, turns=turns[-1].number, updated_at=updated_at)


def shown(window: TurnWindow, turns: int, number_of: Callable[[str], int | None]) -> Sequence[int]:
    """The numbers of those turns, of so many, that a window shows."""
    first, last = max(window.first, 1), turns if window.last is None else min(window.last, turns)
    numbers: Sequence[int] = range(first, last + 1)
    if window.ids is not None:
        numbers = sorted({number for id in window.ids if (number := number_of(id)) and number in numbers})
    return numbers[-window.newest :] if window.newest > 0 else ()


def changed(conversation: LiveConversation, change: ConversationChange) -> LiveConversation:
    """The conversation as it is after a change; raises `InputError` for what cannot be kept."""
    title = conversation.title if change.title is None else change.title
    _check_texts(title)
    metadata = conversation.metadata
    if change.metadata is not None:
        merged = {**metadata, **_plain_metadata(change.metadata)}
        metadata = {key: value for key, value in merged.items() if value is not None}
    at = _utc(change.at)
    deleted_at = conversation.deleted_at
    if change.deleted is not None:
        deleted_at = (deleted_at or at) if change.deleted else None
    return replace(
        conversation,
        title=title,
        metadata=metadata,
        deleted_at=deleted_at,
        updated_at=max(conversation.updated_at, at),
    )


def follows(conversation: LiveConversation, summary: Summary) -> bool:
    """Whether a summary begins where the last one ended, and sums up turns that there are.

    Raises `InputError` for one that cannot be kept.
    """
    _check_texts(summary.text, summary.made_by, summary.note)
    if summary.at:
        _utc(summary.at)
    begins = summary.first_turn == conversation.summarized_to + 1
    return begins and summary.first_turn <= summary.last_turn <= conversation.turns


def meets(conversation: LiveConversation, criteria: ConversationCriteria) -> bool:
    """Whether a conversation is among those that are wanted, whatever the page."""
    wanted = criteria
    return (
        # First what tells most of them apart: upkeep asks all the time who has turns to be summed up.
        (
            wanted.unsummarized_over is None
            or conversation.turns - conversation.summarized_to > wanted.unsummarized_over
        )
        and wanted.deleted in (None, conversation.deleted_at is not None)
        and is_inside(wanted.scope, conversation.project)
        and wanted.interface_type in (None, conversation.interface_type)
        and wanted.room in (None, conversation.room)
        and (wanted.since is None or conversation.updated_at >= wanted.since)
        and (wanted.until is None or conversation.updated_at <= wanted.until)
        and wanted.metadata.items() <= conversation.metadata.items()
    )


def _check_texts(*texts: str) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                "the text is not valid Unicode", hint="remove the lone surrogates from it"
            ) from error


def _utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise InputError("a time without a zone cannot be kept", hint="give it a zone, as 2026-03-01T12:00Z")
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise InputError(
            "a time that is in no year of UTC cannot be kept", hint="give another time"
        ) from error


def _plain_metadata(metadata: Metadata) -> dict[str, object]:
    """A copy made of what JSON has, so that every storage gives back the same."""
    return _plain_object(metadata, 1)


def _plain_object(values: Mapping[str, object], level: int) -> dict[str, object]:
    if level > _MOST_LEVELS:
        raise _not_json(f"is nested more than {_MOST_LEVELS} levels deep")
    if not all(isinstance(key, str) for key in values):
        raise _not_json("has keys that are no text")
    _check_texts(*values)
    return {key: _plain(value, level + 1) for key, value in values.items()}


def _plain(value: object, level: int) -> object:
    match value:
        case None | bool():
            return value
        case str():
            _check_texts(value)
            return value
        case int() if value in _WHOLE_NUMBERS:
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping():
            return _plain_object(value, level)
        case list() | tuple() if level <= _MOST_LEVELS:
            return [_plain(each, level + 1) for each in value]
        case _:
            raise _not_json(f"holds what JSON has no number or name for: {value!r:.80}")


def _not_json(why: str) -> InputError:
    return InputError(f"the metadata {why}", hint="give a JSON object of texts, numbers, lists and objects")
