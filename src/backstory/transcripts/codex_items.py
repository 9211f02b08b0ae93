"""The lines of a Codex rollout as items of one shape, whichever version of Codex wrote them.

A line holds what went to the model or came from it, or what the program reports of it, and says so
in two steps: the line's type and the type inside. The oldest rollouts have no first step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from backstory.transcripts import fields as read
from backstory.transcripts.claude_code import KNOWN_TYPES
from backstory.transcripts.fields import Fields
from backstory.transcripts.lines import Record

META: Final = "session_meta"
#: Line types that say all; below the others another type stands.
_WHOLE: Final = frozenset({META, "compacted", "turn_context", "world_state"})
_TWO_STEPS: Final = frozenset({"response_item", "event_msg"})
_BARE: Final = frozenset(
    {"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "web_search_call"}
)


@dataclass(frozen=True, slots=True)
class Item:
    """What one line says. Its kind is "session_meta", "response_item/message", "item/UserMessage"."""

    kind: str
    payload: Fields
    offset: int
    at: datetime | None


def is_of_codex(fields: Fields) -> bool | None:
    """Whether a record is a line of a rollout; None where it may be anybody's."""
    if has_payload(fields) or is_bare(fields):
        return True
    return False if "uuid" in fields or read.text(fields, "type") in KNOWN_TYPES else None


def has_payload(fields: Fields) -> bool:
    """Whether a record is a line in two steps."""
    return "payload" in fields and read.text(fields, "type") in _WHOLE | _TWO_STEPS


def is_bare(fields: Fields) -> bool:
    """Whether a record is a line of the oldest rollouts."""
    if "uuid" in fields:
        return False
    return read.text(fields, "type") in _BARE or _is_first_of_bare(fields)


def items_of(records: Sequence[Record]) -> Iterator[Item]:
    """The items in the records of a rollout, one each."""
    for record in records:
        kind, payload = _told(record.fields)
        yield Item(kind, payload, record.offset, read.time(record.fields))


def _told(fields: Fields) -> tuple[str, Fields]:
    kind = read.text(fields, "type")
    if is_bare(fields):
        return (f"response_item/{kind}" if kind else META), fields
    if not has_payload(fields):
        return kind, {}
    payload = read.inner(fields, "payload")
    if kind in _WHOLE:
        return kind, payload
    inside = read.text(payload, "type")
    if inside != "item_completed":
        return f"{kind}/{inside}", payload
    item = read.inner(payload, "item")
    name = read.text(item, "type")
    return f"item/{name[:1].upper()}{name[1:]}", item


def _is_first_of_bare(fields: Fields) -> bool:
    return not read.text(fields, "type") and "instructions" in fields and bool(read.text(fields, "id"))
