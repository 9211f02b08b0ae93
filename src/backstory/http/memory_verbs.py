"""What a person does with memories that were deleted; agents are not offered it.

How it is done is left to the actions.
"""

from collections.abc import Mapping
from typing import Final

from backstory.actions.memory.deleted import Restorable, deleted_memories
from backstory.actions.memory.restore import restore_memory
from backstory.folders import project_of
from backstory.http.verbs import LISTED, MOST_LISTED, Asking, Told, Verb, check_within
from backstory.mcp.answers import named
from backstory.mcp.arguments import Arguments, read_arguments
from backstory.mcp.wording import every, lines, number, time
from backstory.model.project import ALL_PROJECTS, Scope


class RestoreAsked(Arguments):
    """What memory_restore takes. An id is of one memory, whatever its project."""

    id: str


class DeletedAsked(Arguments):
    """What memory_deleted takes."""

    limit: int = LISTED
    project: str | None = None


def restore(asking: Asking, raw: Mapping[str, object]) -> Told:
    """Let a deleted memory be found again."""
    done = restore_memory(asking.engine, ALL_PROJECTS, read_arguments(RestoreAsked, raw).id)
    memory = done.memory
    answer = {**named(memory), **({"pending": list(done.pending)} if done.pending else {})}
    head = f"Restored {memory.type} {memory.id}, version {memory.version}."
    return Told(answer, lines(head, f"project: {memory.project}", *every("pending", done.pending)))


def list_deleted(asking: Asking, raw: Mapping[str, object]) -> Told:
    """The memories that can be restored."""
    asked = read_arguments(DeletedAsked, raw)
    check_within("limit", asked.limit, 1, MOST_LISTED)
    found = deleted_memories(asking.engine, _scope(asking, asked.project), asked.limit)
    head = f"{number(len(found), 'deleted memory', 'deleted memories')}."
    return Told({"memories": [_told(each) for each in found]}, lines(head, *map(_row, found)))


VERBS: Final[Mapping[str, Verb]] = {"memory_restore": restore, "memory_deleted": list_deleted}


def _scope(asking: Asking, named: str | None) -> Scope:
    """The project that is named; else that of the folder in which it is asked, if that is known."""
    folder = asking.caller.directory
    return project_of(folder) if named is None and folder else asking.scope(named)


def _told(gone: Restorable) -> dict[str, object]:
    memory = gone.memory
    return {
        "id": memory.id,
        "type": memory.type,
        "project": memory.project.name,
        "title": memory.title,
        "deleted_at": time(memory.deleted_at) if memory.deleted_at else None,
        "kept_until": time(gone.until),
    }


def _row(gone: Restorable) -> str:
    told = _told(gone)
    when = f"deleted {told['deleted_at']}; kept until {told['kept_until']} at least"
    return lines(
        "", f"{told['type']} {told['id']}", f"   {told['title']}", f"   {when}; project {told['project']}"
    )
