"""Conversations, turns and messages as rows, and rows as values. Reads and writes nothing."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Row

from backstory.model.conversation import Conversation, KeptTurn, Message, Role, Touch
from backstory.model.keeping import Link, NewMessage
from backstory.model.project import Project
from backstory.model.transcript import FileTouch, Title, TitleSource, ToolCall, Usage

#: The column of `turns` that names the message of each role.
MESSAGE_COLUMNS: Final[Mapping[Role, str]] = {
    Role.USER: "user_message",
    Role.ASSISTANT: "assistant_message",
    Role.TOOL: "tool_message",
}


def conversation_columns(conversation: Conversation, key: str) -> dict[str, Any]:
    """The row of a conversation."""
    return {
        "id": conversation.id,
        "key": key,
        "project": conversation.project.name,
        "parent": conversation.parent,
        "interface_type": conversation.interface_type,
        "title": conversation.title.text,
        "title_source": conversation.title.source.value,
        "slug": conversation.slug,
        "folder": conversation.folder,
        "git_branches": list(conversation.git_branches),
        "versions": list(conversation.versions),
        "started_at": conversation.started_at,
        "ended_at": conversation.ended_at,
        "turns": conversation.turns,
        "messages": conversation.messages,
        "human_utterances": conversation.human_utterances,
        "is_between_people": conversation.is_between_people,
        "usage": _usage_columns(conversation.usage),
        "room": conversation.room,
        "is_live": conversation.is_live,
        "source": conversation.source,
        "source_gone_at": conversation.source_gone_at,
    }


def conversation_of(row: Row[Any]) -> Conversation:
    """The conversation of a row."""
    return Conversation(
        id=row.id,
        project=Project(row.project),
        interface_type=row.interface_type,
        parent=row.parent,
        title=Title(row.title, TitleSource(row.title_source)),
        slug=row.slug,
        folder=row.folder,
        git_branches=row.git_branches,
        versions=row.versions,
        started_at=row.started_at,
        ended_at=row.ended_at,
        turns=row.turns,
        messages=row.messages,
        human_utterances=row.human_utterances,
        is_between_people=row.is_between_people,
        usage=Usage(**row.usage),
        room=row.room,
        is_live=row.is_live,
        source=row.source,
        source_gone_at=row.source_gone_at,
    )


def turn_columns(conversation: str, turn: KeptTurn) -> dict[str, Any]:
    """The row of a turn."""
    return {
        "conversation": conversation,
        "number": turn.number,
        "started_at": turn.started_at,
        "ended_at": turn.ended_at,
        "branch": turn.branch,
        "is_sidechain": turn.is_sidechain,
        "commands": list(turn.commands),
        "tool_calls": [_call_columns(call) for call in turn.tool_calls],
        "usage": _usage_columns(turn.usage),
        "last_uuid": turn.last_uuid,
        **{column: turn.messages.get(role) for role, column in MESSAGE_COLUMNS.items()},
    }


def turn_of(row: Row[Any]) -> KeptTurn:
    """The turn of a row."""
    return KeptTurn(
        number=row.number,
        started_at=row.started_at,
        ended_at=row.ended_at,
        branch=row.branch,
        is_sidechain=row.is_sidechain,
        commands=row.commands,
        tool_calls=[_call_of(columns) for columns in row.tool_calls],
        usage=Usage(**row.usage),
        last_uuid=row.last_uuid,
        messages={role: id for role, column in MESSAGE_COLUMNS.items() if (id := getattr(row, column))},
    )


def message_columns(new: NewMessage, link: Link) -> dict[str, Any]:
    """The row of a message that stands there in its own conversation."""
    message = new.message
    return {
        "id": message.id,
        "conversation": message.conversation,
        "turn": link.turn,
        "place": link.place,
        "role": message.role.value,
        "speaker": message.speaker,
        "at": message.at,
        "cues": dict(new.cues),
    }


def message_of(row: Row[Any], touches: list[Touch]) -> Message:
    """The message of a row that has its text."""
    return Message(
        id=row.id,
        conversation=row.conversation,
        turn=row.turn,
        place=row.place,
        role=Role(row.role),
        text=row.text,
        at=row.at,
        speaker=row.speaker,
        touches=touches,
    )


def touch_columns(new: NewMessage) -> list[dict[str, Any]]:
    """The rows of what a message touched; a file that was read and changed was changed."""
    changed: dict[str, bool] = {}
    for touch in new.message.touches:
        changed[touch.path] = changed.get(touch.path, False) or touch.changed
    return [
        {
            "message": new.message.id,
            "path": path,
            "project": new.passage.project.name,
            "name": last_part(path),
            "changed": was_changed,
        }
        for path, was_changed in changed.items()
    ]


def last_part(path: str) -> str:
    """The name by which a path is looked up: its last part in lower case."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()


def _call_columns(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.name,
        "rendering": dict(call.rendering),
        "files": [[touch.path, touch.changed] for touch in call.files],
        "is_error": call.is_error,
    }


def _call_of(columns: dict[str, Any]) -> ToolCall:
    return ToolCall(**columns | {"files": [FileTouch(*touch) for touch in columns["files"]]})


def _usage_columns(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_written": usage.cache_written,
        "cache_read": usage.cache_read,
    }
