"""Which files a turn's tool calls touched, named from the project's folder where they lie inside it."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from backstory.folders import worktree_of
from backstory.model.conversation import Conversation, Touch
from backstory.model.transcript import ToolCall

#: As long as a path may be on Linux.
_MAX_PATH_CHARS: Final = 4096


@dataclass(frozen=True, slots=True)
class Folders:
    """Where a conversation was held, and the folders that touched files are named from."""

    start: Path
    roots: Sequence[Path]

    @classmethod
    def of(cls, conversation: Conversation) -> Self:
        """The folders of a conversation: its worktree, and the repository that this was made from."""
        start = Path(conversation.folder)
        if not start.is_absolute():  # none, or one of another system
            return cls(start, ())
        return cls(start, (worktree_of(start), Path(conversation.project.name)))


def touches_of(calls: Iterable[ToolCall], folders: Folders) -> Sequence[Touch]:
    """The files that tool calls touched, each once: changed if any call was to change it."""
    told = _changed((file.path, file.changed) for call in calls for file in call.files)
    changed = _changed((_named_from(folders, path), was_changed) for path, was_changed in told.items())
    return [
        Touch(path, was_changed)
        for path, was_changed in changed.items()
        if path != "." and len(path) <= _MAX_PATH_CHARS
    ]


def _changed(touches: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    changed: dict[str, bool] = {}
    for path, was_changed in touches:
        changed[path] = changed.get(path, False) or was_changed
    return changed


def _named_from(folders: Folders, path: str) -> str:
    if not folders.roots:
        return path
    whole = Path(os.path.normpath(folders.start / path))
    root = next((root for root in folders.roots if whole.is_relative_to(root)), None)
    return str(whole.relative_to(root) if root else whole)
