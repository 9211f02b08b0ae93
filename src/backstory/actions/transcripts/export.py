"""Giving conversations away whole, a page of turns at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from backstory.engine import Engine, Transaction
from backstory.errors import InputError
from backstory.model.conversation import Conversation, TurnText
from backstory.model.project import Project, Scope

DEFAULT_TURNS: Final = 100
MAX_TURNS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ExportedPart:
    """Turns of one conversation, each whole; a long one goes on in the next page."""

    conversation: Conversation
    turns: Sequence[TurnText]


@dataclass(frozen=True, slots=True)
class Exported:
    """A page of turns. `next_offset` is where the next page begins, if one follows."""

    parts: Sequence[ExportedPart]
    next_offset: int | None = None


def export(
    engine: Engine,
    scope: Scope,
    *,
    conversation: str | None = None,
    offset: int = 0,
    limit: int = DEFAULT_TURNS,
) -> Exported:
    """One conversation with those of its subagents, or all of them; nothing of any turn is left out.

    Offset and limit count turns over all that is exported, in the order of the conversations' ids.
    """
    if offset < 0 or not 1 <= limit <= MAX_TURNS:
        raise InputError(
            f"offset {offset} and limit {limit} give no page", hint=f"use 0 and up to {MAX_TURNS} turns"
        )
    parts: list[ExportedPart] = []
    end = offset + limit
    begun = 0  # turns of the conversations before this one
    with engine.records.reading() as records:
        for each in _exported(records, scope, conversation):
            if begun >= end:
                return Exported(parts, end)
            if begun + each.turns > offset or (not each.turns and begun >= offset):
                first = max(offset - begun, 0)
                turns = records.conversations.turns(each.id, offset=first, limit=end - begun - first)
                parts.append(ExportedPart(each, turns))
            begun += each.turns
    return Exported(parts, end if begun > end else None)


def _exported(records: Transaction, scope: Scope, conversation: str | None) -> Iterator[Conversation]:
    if conversation is not None:
        yield records.conversations.live(scope, conversation)
        yield from records.conversations.subagents(conversation)
        return
    for project in [scope] if isinstance(scope, Project) else records.memories.projects():
        yield from records.conversations.in_project(project)
