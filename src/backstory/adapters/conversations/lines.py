"""What stands in one line of the JSONL files: a JSON object whose first key says what it is.

    {"format": 1}                                             begins every file
    {"created": {…}}                                          a conversation as it was begun
    {"turn": {…}, "rest": 2}                                  a turn; two more lines are of the same write
    {"summary": {…}, "conversation": "…", "number": 1}        a summary of turns
    {"changed": {…}, "conversation": "…", "version": 3}       what can be changed, as it is from then on

Where lines lie, and what they come to together, is left to the segments and to the index.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self, assert_never

import orjson

from backstory.errors import StoreTooNew
from backstory.model.live import LiveConversation, LiveTurn, Metadata
from backstory.model.project import Project
from backstory.model.summary import Summary

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Header:
    """How the lines of a file are written."""

    format: int = _FORMAT


@dataclass(frozen=True, slots=True)
class Summarized:
    """That a conversation has one more summary, its `number`th."""

    conversation: str
    number: int
    summary: Summary


@dataclass(frozen=True, slots=True)
class Changed:
    """What can be changed of a conversation, as it is after so many changes."""

    conversation: str
    version: int
    title: str
    metadata: Metadata
    updated_at: datetime
    deleted_at: datetime | None

    @classmethod
    def to(cls, now: LiveConversation, version: int) -> Self:
        """The change that makes a conversation what it is now."""
        return cls(now.id, version, now.title, now.metadata, now.updated_at, now.deleted_at)

    def applied(self, conversation: LiveConversation) -> LiveConversation:
        """The conversation as it is after the change."""
        return replace(
            conversation,
            title=self.title,
            metadata=self.metadata,
            updated_at=max(conversation.updated_at, self.updated_at),
            deleted_at=self.deleted_at,
        )


Content = LiveConversation | LiveTurn | Summarized | Changed | Header


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it was read. `rest` more lines of the same write come after it."""

    content: Content
    rest: int = 0


def encoded(content: Content, rest: int = 0) -> bytes:
    """The line that says this, with its end."""
    fields = _fields(content)
    if rest:
        fields["rest"] = rest
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def parsed(raw: bytes) -> Line:
    """What a line says; raises `ValueError` if it is damaged, `StoreTooNew` if a later version wrote it."""
    try:
        fields = orjson.loads(raw)
        return Line(_content(fields), fields.get("rest", 0))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is not as it should be: {error}") from error


def _fields(content: Content) -> dict[str, object]:
    match content:
        case LiveTurn():
            return {"turn": content}
        case LiveConversation():
            return {"created": _begun(content)}
        case Summarized(conversation=id, number=number, summary=summary):
            return {"summary": summary, "conversation": id, "number": number}
        case Changed(conversation=id, version=version):
            return {"changed": _state(content), "conversation": id, "version": version}
        case Header(format=format):
            return {"format": format}
        case _:
            assert_never(content)


def _begun(conversation: LiveConversation) -> dict[str, object]:
    return {
        "id": conversation.id,
        "project": conversation.project.name,
        "interface_type": conversation.interface_type,
        "room": conversation.room,
        "created_at": conversation.created_at,
        "title": conversation.title,
        "metadata": conversation.metadata,
    }


def _state(change: Changed) -> dict[str, object]:
    return {
        "title": change.title,
        "metadata": change.metadata,
        "updated_at": change.updated_at,
        "deleted_at": change.deleted_at,
    }


def _content(line: dict[str, Any]) -> Content:
    match line:
        case {"turn": fields}:
            return LiveTurn(**{**fields, "at": _time(fields["at"])})
        case {"created": fields}:
            at = _time(fields["created_at"])
            times = {"created_at": at, "updated_at": at}
            return LiveConversation(**{**fields, **times, "project": Project(fields["project"])})
        case {"summary": fields, "conversation": id, "number": number}:
            return Summarized(id, number, Summary(**{**fields, "at": _time(fields["at"])}))
        case {"changed": fields, "conversation": id, "version": version}:
            times = {name: _time(fields[name]) for name in ("updated_at", "deleted_at")}
            return Changed(conversation=id, version=version, **{**fields, **times})
        case {"format": int(number)}:
            return _header(number)
        case _:
            raise ValueError("it says nothing that is known")


def _header(number: int) -> Header:
    if number > _FORMAT:
        raise StoreTooNew(
            f"the files of the conversations have format {number}, and this version knows {_FORMAT}",
            hint="use the Backstory that wrote them, or a later one",
        )
    return Header(number)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None
