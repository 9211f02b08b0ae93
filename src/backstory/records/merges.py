"""Merges: memories become one and several again, with their links and with those that name them.

The kept memory gets a new version, the others are deleted as folded into it. Nothing else of them is
changed: their links stay where they are, unseen, and others stand in for them at the kept one. So taking a
merge back brings everything to where it was, whatever was merged before or after.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select, update

from backstory.model.memory import Memory
from backstory.model.merge import FOLDED, MergeMade
from backstory.model.passage import Passage
from backstory.model.project import Project
from backstory.records import schema
from backstory.records.folds import Folds
from backstory.records.links import AskedLink, Links
from backstory.records.memories import Memories
from backstory.records.memory_rows import merge_columns, merge_of
from backstory.records.references import References

#: What the audit trail calls a merge, at the memory that is kept, and its being taken back, at all of them.
MERGED: Final = "merged"
UNMERGED: Final = "unmerged"

_MERGES: Final = schema.merges
_INSERT: Final = insert(_MERGES)
_UNDO: Final = update(_MERGES).where(_MERGES.c.id == bindparam("wanted"))
_INSIDE: Final = select(_MERGES).where(_MERGES.c.project == bindparam("inside"))
_GET: Final = _INSIDE.where(_MERGES.c.id == bindparam("wanted"))
_AFTER: Final = (
    select(_MERGES.c.id)
    .where(_MERGES.c.kept_id == bindparam("kept"), _MERGES.c.version > bindparam("after"))
    .where(_MERGES.c.undone_at.is_(None))
    .order_by(_MERGES.c.version.desc())
)
_NEWEST: Final = _INSIDE.order_by(_MERGES.c.at.desc(), _MERGES.c.id).limit(bindparam("most"))


class Merges:
    """Memories that were made one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._memories = Memories(connection)

    def make(
        self, merge: MergeMade, before: Memory, after: Memory, passage: Passage, folded: Sequence[Memory]
    ) -> None:
        """Put the next version of a memory in place of the present one, and of those folded into it."""
        self._connection.execute(_INSERT, merge_columns(merge))
        freed = Links(self._connection).remove_stand_ins([before.id, *merge.folded])
        for each in folded:
            into = {"into": merge.kept, "merge": merge.id}
            self._memories.delete(each, merge.at, operation=FOLDED, details=into)
        details = {"folded": list(merge.folded), "merge": merge.id}
        self._memories.change(before, after, passage, operation=MERGED, details=details)
        self._follow(merge.project, [merge.kept, *merge.folded], {merge.kept}, freed)

    def bring_back(self, memory: Memory, passage: Passage, at: datetime) -> None:
        """Let a deleted memory be found again by itself; if it was folded, nobody stands for it any more."""
        kept = list(Folds(self._connection).into([memory.id]).values())
        freed = Links(self._connection).remove_stand_ins([memory.id, *kept] if kept else ())
        self._memories.restore(memory, passage, at)
        if kept:
            self._follow(memory.project, [memory.id, *kept], {memory.id, *kept}, freed)

    def undo(
        self,
        merge: MergeMade,
        now: Memory,
        back: tuple[Memory, Passage],
        folded: Iterable[tuple[Memory, Passage]],
    ) -> None:
        """Give the kept memory a version that is what it was before, and let the folded be found again."""
        after, passage = back
        at = after.updated_at
        self._connection.execute(_UNDO, {"wanted": merge.id, "undone_at": at})
        freed = Links(self._connection).remove_stand_ins([now.id, *merge.folded])
        details = {"folded": list(merge.folded), "merge": merge.id}
        self._memories.change(now, after, passage, operation=UNMERGED, details=details)
        for each, text in folded:
            self._memories.restore(each, text, at, operation=UNMERGED)
        self._follow(merge.project, [merge.kept, *merge.folded], {merge.kept, *merge.folded}, freed)

    def get(self, project: Project, id: str) -> MergeMade | None:
        """The merge with this id, undone or not."""
        row = self._connection.execute(_GET, {"inside": project.name, "wanted": id}).one_or_none()
        return merge_of(row) if row else None

    def after(self, merge: MergeMade) -> Sequence[str]:
        """The later merges into the same memory that were not undone, the newest first."""
        return self._connection.scalars(_AFTER, {"kept": merge.kept, "after": merge.version}).all()

    def newest(self, project: Project, limit: int) -> list[MergeMade]:
        """The last merges of a project, the newest first."""
        rows = self._connection.execute(_NEWEST, {"inside": project.name, "most": limit})
        return [merge_of(row) for row in rows]

    def _follow(
        self, project: Project, ids: Sequence[str], written: AbstractSet[str], freed: AbstractSet[str]
    ) -> None:
        """Let names and links lead to whoever stands for these memories now, and for all folded into them.

        Who names one that was just written is linked already: there may be thousands. But at the memories
        that were freed of a link that stood in, a field may have asked for the same one.
        """
        references = References(self._connection)
        members = Folds(self._connection).members(ids)
        for id in members:
            if id not in written:
                references.follow(project.name, id)
        references.hold(project.name, freed)
        asked_for = Links(self._connection).asked_for_at(members)
        into = Folds(self._connection).into({end for link in asked_for for end in (link.from_id, link.to_id)})
        moved = [
            link._replace(
                from_id=into.get(link.from_id, link.from_id), to_id=into.get(link.to_id, link.to_id)
            )
            for link in asked_for
            if link.from_id in into or link.to_id in into
        ]
        Links(self._connection).stand_in(project.name, [each for each in moved if not _turns_back(each)])


def _turns_back(link: AskedLink) -> bool:
    return link.from_id == link.to_id
