"""What is told of merges: planned, made, undone; as an answer that fits, and as its text."""

from collections.abc import Sequence
from typing import Any, Final

from backstory.actions.memory.consolidate import Consolidation
from backstory.actions.memory.merging import Done, LeftOut, Planned
from backstory.actions.memory.unmerge import Unmerged
from backstory.mcp.answers import Answer, Moment
from backstory.mcp.budget import USUAL_TOKENS, beginning, fair_share, size, tokens, written
from backstory.mcp.wording import every, fact, indented, lines, number, time
from backstory.model.merge import MergeMade

#: Kept for what is said around the merges: the notes, and what was left out.
_AROUND: Final = 1_500
#: Of a merge: the ids that are listed, the reasons, and the least that is shown of its text.
_MOST_FOLDED: Final = 50
_WHY_TOKENS: Final = 400
_LEAST_EXCERPT: Final = 40


class FieldClash(Answer):
    """A field that had two values, of which the newest was taken."""

    field: str
    taken: str
    other: str


class MergeTold(Answer):
    """Memories that can be one, or were made one: then `merge` is what it can be undone by.

    `shortened` names the parts that are not whole.
    """

    keep: str
    fold: Sequence[str]
    why: str
    content: str
    metadata: dict[str, Any] | None = None
    clashes: Sequence[FieldClash] | None = None
    merge: str | None = None
    version: int | None = None
    shortened: Sequence[str] | None = None

    @classmethod
    def of(cls, planned: Planned, made: MergeMade | None = None) -> "MergeTold":
        """A merge, its longest parts bounded."""
        merge = planned.merge
        clashes = [
            FieldClash(field=each.field, taken=written(each.new), other=written(each.old))
            for each in merge.clashes
        ]
        why = beginning(merge.why, _WHY_TOKENS)
        cut = {"fold": len(merge.fold) > _MOST_FOLDED, "why": why != merge.why}
        return cls(
            keep=merge.keep,
            fold=merge.fold[:_MOST_FOLDED],
            why=why,
            content=merge.content,
            metadata=dict(merge.metadata) or None,
            clashes=clashes or None,
            merge=made.id if made else None,
            version=made.version if made else None,
            shortened=[part for part, is_cut in cut.items() if is_cut] or None,
        )


class MergeLeftOut(Answer):
    """A merge that was planned and not made."""

    keep: str
    why: str

    @classmethod
    def of(cls, left: LeftOut) -> "MergeLeftOut":
        """What is told of it."""
        return cls(keep=left.planned.merge.keep, why=left.why)


class MergeListed(Answer):
    """A merge that was made at some time."""

    merge: str
    kept: str
    folded: Sequence[str]
    at: Moment
    undone_at: Moment | None = None

    @classmethod
    def of(cls, made: MergeMade) -> "MergeListed":
        """What is told of it."""
        folded = made.folded[:_MOST_FOLDED]
        return cls(merge=made.id, kept=made.kept, folded=folded, at=made.at, undone_at=made.undone_at)


class MergeUndone(Answer):
    """A merge that was taken back, the version that the kept memory has now, and what is found again."""

    merge: str
    kept: str
    version: int
    restored: Sequence[str]


class Consolidated(Answer):
    """What could be made one, what was, what was undone, or what there is to undo."""

    project: str
    dry_run: bool | None = None
    looked_at: int | None = None
    merges: Sequence[MergeTold] | None = None
    more: bool | None = None
    left_out: Sequence[MergeLeftOut] | None = None
    undone: MergeUndone | None = None
    made: Sequence[MergeListed] | None = None
    pending: Sequence[str] | None = None
    degraded: Sequence[str] | None = None
    notes: Sequence[str] | None = None


def consolidated(found: Consolidation, project: str, *, dry_run: bool) -> Consolidated:
    """What was planned or done, as much of it as fits into an answer."""
    told = [
        *(MergeTold.of(each) for each in found.planned if dry_run),
        *(MergeTold.of(each.planned, each.made) for each in found.done),
    ]
    shown = _fitting(told)
    return Consolidated(
        project=project,
        dry_run=dry_run,
        looked_at=found.looked_at,
        merges=shown,
        more=found.more or None,
        left_out=[MergeLeftOut.of(each) for each in found.left_out] or None,
        pending=_pending(found.done) or None,
        degraded=list(found.degraded) or None,
        notes=_notes(found, len(told) - len(shown)) or None,
    )


def undone(done: Unmerged, project: str) -> Consolidated:
    """What is as it was before a merge."""
    back = done.taken_back
    told = MergeUndone(
        merge=back.made.id, kept=back.kept.id, version=back.kept.version, restored=back.restored
    )
    return Consolidated(project=project, undone=told, pending=done.pending or None)


def listed(made: Sequence[MergeMade], project: str) -> Consolidated:
    """The merges that were made, as many of the newest as fit into an answer."""
    told = [MergeListed.of(each) for each in made]
    while len(told) > 1 and sum(map(size, told)) > USUAL_TOKENS - _AROUND:
        told.pop()
    left = len(made) - len(told)
    note = f"{number(left, 'older merge')} left out for the length of the answer"
    return Consolidated(project=project, made=told, notes=[note] if left else None)


def shown(answer: Consolidated) -> str:
    """The answer as text."""
    return lines(
        *_head(answer),
        f"project: {answer.project}",
        *every("degraded", answer.degraded),
        *every("pending", answer.pending),
        *every("note", answer.notes),
        *(f"left out: {each.keep}: {each.why}" for each in answer.left_out or ()),
        *(_listed(each) for each in answer.made or ()),
        *(_merge(place, each) for place, each in enumerate(answer.merges or (), 1)),
    )


def _fitting(told: Sequence[MergeTold], most: int = USUAL_TOKENS) -> list[MergeTold]:
    """The merges with shorter texts, and without the last of them if that is not enough."""
    room = most - _AROUND
    share = fair_share([size(each) for each in told], room)
    fitting = [each if size(each) <= share else _shortened(each, share) for each in told]
    while len(fitting) > 1 and sum(map(size, fitting)) > room:
        fitting.pop()
    return fitting


def _shortened(told: MergeTold, most: int) -> MergeTold:
    lost = list(told.shortened or ())
    if told.metadata and tokens(written(told.metadata)) > most // 4:
        told, lost = told.model_copy(update={"metadata": None, "clashes": None}), [*lost, "metadata"]
    around = size(told.model_copy(update={"content": "", "shortened": [*lost, "content"]}))
    content = beginning(told.content, max(most - around, _LEAST_EXCERPT))
    lost += ["content"] if content != told.content else []
    return told.model_copy(update={"content": content, "shortened": lost or None})


def _pending(done: Sequence[Done]) -> list[str]:
    return list(dict.fromkeys(reason for each in done for reason in each.pending))


def _notes(found: Consolidation, omitted: int) -> list[str]:
    notes = []
    if omitted:
        notes.append(f"{number(omitted, 'merge')} not shown for the length of the answer")
    if found.left_behind:
        notes.append(
            f"{found.left_behind} memories that were changed longest ago were not looked at; name types"
        )
    return notes


def _head(answer: Consolidated) -> list[str]:
    if answer.undone:
        done = answer.undone
        return [
            f"Undid merge {done.merge}: {done.kept} is as before, in version {done.version}.",
            f"found again: {', '.join(done.restored) or 'none, they were there'}",
        ]
    if answer.made is not None:
        return [
            f"{number(len(answer.made), 'merge')} made here." if answer.made else "No merge was made here."
        ]
    what = number(len(answer.merges or ()), "merge")
    verb = "possible; nothing was changed" if answer.dry_run else "made"
    more = " More are possible." if answer.more else ""
    return [f"{what} {verb}, {answer.looked_at} memories looked at.{more}"]


def _listed(each: MergeListed) -> str:
    end = f", undone {time(each.undone_at)}" if each.undone_at else ""
    return f"merge {each.merge}: {time(each.at)}, {', '.join(each.folded)} into {each.kept}{end}"


def _merge(place: int, each: MergeTold) -> str:
    state = f", merge {each.merge}, version {each.version}" if each.merge else ""
    return lines(
        "",
        f"{place}. keep {each.keep}, fold {', '.join(each.fold)}{state}",
        f"   why: {each.why}",
        *(f"   clash: {clash.field} {clash.taken}, not {clash.other}" for clash in each.clashes or ()),
        *([f"   metadata: {written(each.metadata)}"] if each.metadata else []),
        *fact("   shortened", ", ".join(each.shortened) if each.shortened else None),
        f"  {indented(each.content)}",
    )
