"""What a person does with live conversations: in every project, and more than agents are offered.

What agents do with them is left to the tools, how it is done to the actions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Final

from backstory.actions.conversations.backfill import Pace, backfill
from backstory.actions.conversations.change import Changed, delete_conversation, restore_conversation
from backstory.actions.conversations.migrate import migrate_conversations
from backstory.actions.conversations.newest import newest_conversations
from backstory.actions.conversations.summarizing import summarize_now
from backstory.errors import InputError
from backstory.http.verbs import LISTED, MOST_LISTED, Asking, Told, Verb, check_within
from backstory.mcp import conversation_render as render
from backstory.mcp.arguments import Arguments, read_arguments
from backstory.mcp.budget import written
from backstory.mcp.conversation_answers import LiveConversationDeleted, LiveConversationTold
from backstory.mcp.conversation_fitting import fit_summaries
from backstory.mcp.wording import every, lines, number, time
from backstory.model.live import ConversationCriteria
from backstory.model.project import ALL_PROJECTS
from backstory.settings import Settings
from backstory.settings.live import StorageName

#: A batch is embedded and written in one step, and nobody can stop it in between.
MOST_AT_ONCE: Final = 1_000


class ListAsked(Arguments):
    """What conversations_list takes."""

    room_id: str | None = None
    interface_type: str | None = None
    deleted: bool = False
    limit: int = LISTED
    project: str | None = None


class OneAsked(Arguments):
    """What the verbs on one conversation take."""

    conversation_id: str


class MigrateAsked(Arguments):
    """What conversations_migrate takes."""

    to: StorageName


class BackfillAsked(Arguments):
    """What conversations_backfill takes."""

    batch: int = Pace().batch
    per_second: float | None = None
    project: str | None = None


def list_conversations(asking: Asking, raw: Mapping[str, object]) -> Told:
    """The live conversations that changed last, or those that are deleted."""
    asked = read_arguments(ListAsked, raw)
    check_within("limit", asked.limit, 1, MOST_LISTED)
    criteria = ConversationCriteria(
        scope=asking.scope(asked.project),
        interface_type=asked.interface_type,
        room=asked.room_id,
        deleted=asked.deleted,
        limit=1_000,
    )
    found = newest_conversations(asking.engine, criteria, asked.limit)
    told = [LiveConversationDeleted.gone(Changed(each)) for each in found.conversations]
    answer = {
        "storage": asking.engine.live.name,
        "total": found.total,
        "conversations": [each.structured() for each in told],
    }
    kind = "deleted conversations" if asked.deleted else "live conversations"
    head = f"{len(told)} of {found.total} {kind}, kept in {asking.engine.live.name}."
    return Told(answer, lines(head, *(_row(each) for each in told)))


def summarize(asking: Asking, raw: Mapping[str, object]) -> Told:
    """Sum up what has no summary yet."""
    id = read_arguments(OneAsked, raw).conversation_id
    made = fit_summaries(id, summarize_now(asking.engine, ALL_PROJECTS, id, asking.work))
    return Told(made.structured(), render.summarized(made))


def delete(asking: Asking, raw: Mapping[str, object]) -> Told:
    """Let nobody find a conversation any more."""
    gone = delete_conversation(asking.engine, ALL_PROJECTS, read_arguments(OneAsked, raw).conversation_id)
    answer = LiveConversationDeleted.gone(gone)
    undo = f"`backstory conversations restore {answer.conversation_id}` takes it back."
    return Told(answer.structured(), lines(render.deleted(answer), undo))


def restore(asking: Asking, raw: Mapping[str, object]) -> Told:
    """Take a deleted conversation back."""
    back = restore_conversation(asking.engine, ALL_PROJECTS, read_arguments(OneAsked, raw).conversation_id)
    answer = LiveConversationTold.of(back)
    head = f"Restored conversation {answer.conversation_id} with {number(answer.turn_count, 'turn')}."
    return Told(answer.structured(), lines(head, *every("pending", answer.pending)))


def migrate(asking: Asking, raw: Mapping[str, object]) -> Told:
    """Move every live conversation to another place, and go on there."""
    asked = read_arguments(MigrateAsked, raw)
    before = asking.engine.live.name
    if before == asked.to:
        return Told({"from": before, "to": before}, f"Live conversations are in {before} already.")
    moved = migrate_conversations(asking.engine, asked.to, asking.work)
    notes = list(_notes(asking.settings, asked.to))
    what = f"{number(moved.conversations, 'conversation')} with {number(moved.turns, 'turn')}"
    head = f"Moved {what} from {before} to {asked.to}; summaries: {moved.summaries}."
    answer = {**asdict(moved), "from": before, "to": asked.to, **({"notes": notes} if notes else {})}
    return Told(answer, lines(head, f"What was in {before} is still there.", *every("note", notes)))


def fill_up(asking: Asking, raw: Mapping[str, object]) -> Told:
    """Let search find by meaning what had to wait."""
    asked = read_arguments(BackfillAsked, raw)
    check_within("batch", asked.batch, 1, MOST_AT_ONCE)
    if asked.per_second is not None and asked.per_second <= 0:
        raise InputError(f"`per_second` is {asked.per_second}", hint="it must be more than 0")
    pace = Pace(asked.batch, asked.per_second)
    done = backfill(asking.engine, asking.scope(asked.project), pace, asking.work)
    text = (
        f"Read {number(done.kept, 'turn')} in, embedded {number(done.embedded, 'message')};"
        f" {number(done.waiting, 'message')} still waiting."
    )
    return Told(asdict(done), text)


VERBS: Final[Mapping[str, Verb]] = {
    "conversations_list": list_conversations,
    "conversations_summarize": summarize,
    "conversations_delete": delete,
    "conversations_restore": restore,
    "conversations_migrate": migrate,
    "conversations_backfill": fill_up,
}


def _notes(settings: Settings, to: str) -> Iterator[str]:
    if to == "memory":
        yield "they end with the process"
    elif settings.chosen("BACKSTORY_CONVERSATION_STORAGE") and settings.context.storage != to:
        yield (
            f"BACKSTORY_CONVERSATION_STORAGE is set to {settings.context.storage}:"
            f" unset it, or set it to {to}, before the process starts again"
        )


def _row(told: LiveConversationDeleted) -> str:
    changed = f"{number(told.turn_count, 'turn')}; changed {time(told.updated_at)}"
    gone = f"; deleted {time(told.deleted_at)}" if told.deleted_at else ""
    return lines(
        "",
        f"{told.conversation_id}  {told.interface_type} {told.room_id}",
        *([f"   {told.title}"] if told.title else []),
        f"   {changed}{gone}; project {told.project}",
        *([f"   metadata: {written(told.metadata)}"] if told.metadata else []),
    )
