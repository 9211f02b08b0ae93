"""Which line of talk a record belongs to: the session's own, one after a rewind, or a subagent's.

Records name their parent, but chains break and run in circles, so a chain is never walked: each
record takes over from its parent if that came before, and else from the record before it.
"""

from dataclasses import dataclass
from typing import Final

from backstory.transcripts import fields as read
from backstory.transcripts.fields import Fields


@dataclass(frozen=True, slots=True)
class Thread:
    """A line of talk. `sidechain` is empty for the session's own, else it tells subagents apart."""

    branch: int
    sidechain: str = ""


_FIRST: Final = Thread(1)


class Threads:
    """The lines of talk of one file, as they come up record by record."""

    def __init__(self) -> None:
        self._thread_of: dict[str, Thread] = {}
        self._anchors: dict[str, str] = {}
        self._prompted: set[str] = set()
        self._branches = 1
        self._latest: dict[bool, Thread] = {}

    def follow(self, fields: Fields, *, prompts: bool) -> Thread:
        """The thread of the next record; `prompts` when a person typed it."""
        uuid, parent = read.text(fields, "uuid"), read.text(fields, "parentUuid")
        aside = bool(fields.get("isSidechain"))
        thread = self._aside(uuid, parent) if aside else self._ahead(parent)
        anchor = self._anchors.get(parent, parent)
        if prompts and anchor:
            thread = self._forked(thread, anchor)
        if uuid:
            self._thread_of[uuid] = thread
            # Hooks and notices stand between a prompt and the answer before it: they do not tell
            # two prompts after one answer apart.
            spoken = read.text(fields, "type") in ("user", "assistant")
            self._anchors[uuid] = uuid if spoken else anchor
            self._latest[aside] = thread
        return thread

    def _ahead(self, parent: str) -> Thread:
        thread = self._thread_of.get(parent)
        return thread if thread and not thread.sidechain else self._latest.get(False, _FIRST)

    def _aside(self, uuid: str, parent: str) -> Thread:
        thread = self._thread_of.get(parent)
        if thread and thread.sidechain:
            return thread
        latest = self._latest.get(True)
        if latest and parent and not thread:
            return latest
        return Thread((thread or self._latest.get(False, _FIRST)).branch, uuid or "sidechain")

    def _forked(self, thread: Thread, anchor: str) -> Thread:
        """A second prompt after the same answer is a rewind, and begins a branch."""
        if anchor in self._prompted:
            self._branches += 1
            return Thread(self._branches, thread.sidechain)
        self._prompted.add(anchor)
        return thread
