"""Turns that are still being put together, whichever agent's transcript they are read from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from backstory.model.transcript import ToolCall, Turn, Usage, Utterance
from backstory.transcripts.threads import Thread


@dataclass(slots=True)
class Draft:
    """A turn that is still going on."""

    offset: int
    thread: Thread
    utterances: Sequence[Utterance] = ()
    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    uuids: list[str] = field(default_factory=list)
    usage: dict[str, Usage] = field(default_factory=dict)

    def says_something(self) -> bool:
        """Whether there is anything in it to be kept."""
        return bool(self.utterances or self.texts or self.calls or self.commands)

    def turn(self, number: int) -> Turn:
        """The turn as it is now."""
        return Turn(
            number=number,
            utterances=self.utterances,
            assistant_text="\n\n".join(self.texts),
            tool_calls=self.calls,
            commands=self.commands,
            started_at=self.times[0] if self.times else None,
            ended_at=max(self.times, default=None),
            uuids=self.uuids,
            branch=self.thread.branch,
            is_sidechain=bool(self.thread.sidechain),
            usage=sum(self.usage.values(), Usage()),
            offset=self.offset,
        )


def numbered(drafts: Iterable[Draft]) -> Sequence[Turn]:
    """The turns in which something was said or done, numbered from 1."""
    saying = (draft for draft in drafts if draft.says_something())
    return [draft.turn(number) for number, draft in enumerate(saying, start=1)]
