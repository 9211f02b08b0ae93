"""Whose conversation a transcript holds: its id, the one that it belongs to, and its project."""

import os
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Final

from backstory.actions.transcripts.keeping import Origin
from backstory.engine import Transaction
from backstory.folders import checked_project, project_of
from backstory.model.keeping import FileState
from backstory.model.project import ALL_PROJECTS, MAX_NAME_CHARS, Project
from backstory.model.transcript import Session
from backstory.transcripts.discovery import TranscriptFile
from backstory.transcripts.reader import Reading

#: The project of what was said in no folder, or in one that cannot name a project.
UNKNOWN: Final = Project("unknown")


def session_id(file: TranscriptFile) -> str:
    """The session that a file's place names; empty for a subagent's file that only its lines can tell of."""
    return file.parent_id or "" if file.agent_id else file.session_id


def origin_of(
    records: Transaction, file: TranscriptFile, known: FileState | None, reading: Reading
) -> Origin:
    """The origin of a file's own session."""
    session = reading.session
    parent = session.id if session.agent else ""
    wanted = f"{parent}/{session.agent}" if parent else file.session_id
    id = known.conversation if known and known.conversation else _free_id(records, wanted, file.path)
    started_by = records.conversations.get(ALL_PROJECTS, parent) if parent and not session.folder else None
    return Origin(
        id=id,
        parent=parent,
        project=started_by.project if started_by else _project(records, id, session.folder),
        interface_type=reading.interface_type,
        source=str(file.path),
    )


def origin_of_agent(records: Transaction, main: Origin, agent: Session) -> Origin:
    """The origin of a subagent that a session's own file tells of."""
    id = f"{main.id}/{agent.agent}"
    project = _project(records, id, agent.folder) if agent.folder else main.project
    return replace(main, id=id, parent=main.id, project=project)


def _free_id(records: Transaction, wanted: str, path: Path) -> str:
    """The id, or one like it if another file has it that is still there: one that was moved keeps its id."""
    if not any(_is_another(Path(state.path), path) for state in records.transcript_files.of(wanted)):
        return wanted
    return f"{wanted}~{blake2b(os.fsencode(path), digest_size=3).hexdigest()}"


def _is_another(known: Path, path: Path) -> bool:
    """Whether a file is there, and is not the same one behind a link."""
    try:
        return not known.samefile(path)
    except OSError:
        return False


def _project(records: Transaction, id: str, folder: str) -> Project:
    """The project of a folder; that of a folder which is gone stays what it was.

    A worktree that was removed cannot tell any more which repository it was made from.
    """
    before = records.conversations.get(ALL_PROJECTS, id)
    if before and before.folder == folder and not os.path.lexists(folder):
        return before.project
    return _project_of(folder)


def _project_of(folder: str) -> Project:
    if not folder.strip() or not folder.isprintable() or len(folder) > MAX_NAME_CHARS:
        return UNKNOWN
    path = Path(folder)
    # One of another system, such as C:\\site, would be looked for below our own folder.
    return project_of(path) if path.is_absolute() else checked_project(folder)
