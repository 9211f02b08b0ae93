"""What a transcript says, whichever agent wrote it: sessions, their turns, and how reading them went.

How the bytes of one agent's format become these values is the transcripts room's business. Texts
here hold no NUL, no terminal colours and no encoded images, and every time is aware and in UTC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Found(StrEnum):
    """Where an utterance was found. All but `TASK` are a person's words."""

    TYPED = "typed"
    ANSWER = "answer"  # to a question that the agent asked
    REJECTION = "rejection"  # the reason given when a tool call was refused
    BESIDE_RESULT = "beside_result"  # text in the record that carries a tool's result
    QUEUE = "queue"  # typed while the agent worked, and found in its queue only
    TASK = "task"  # what an agent asked of a subagent


@dataclass(frozen=True, slots=True)
class Utterance:
    """What somebody said to the agent, in one piece."""

    text: str
    found: Found
    uuid: str = ""  # empty where the record has none, as in the queue
    at: datetime | None = None

    @property
    def is_human(self) -> bool:
        """Whether a person said it."""
        return self.found is not Found.TASK


@dataclass(frozen=True, slots=True)
class FileTouch:
    """A file or folder that a tool call named, and whether the call was to change it."""

    path: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool. `rendering` is its input in short; `result` is an excerpt."""

    id: str
    name: str
    rendering: Mapping[str, str | int]
    result: str = ""
    files: Sequence[FileTouch] = ()
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model's provider counted them."""

    input: int = 0
    output: int = 0
    cache_written: int = 0
    cache_read: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_written + other.cache_written,
            self.cache_read + other.cache_read,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said to the agent at one time, and all that it did until something else was said."""

    number: int  # from 1, in the order of the file
    utterances: Sequence[Utterance] = ()  # none where the file begins in the middle of an answer
    assistant_text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    commands: Sequence[str] = ()  # "/review the parser", "!make test": what was run, with its arguments
    started_at: datetime | None = None
    ended_at: datetime | None = None
    uuids: Sequence[str] = ()  # of its records: a fork's copy carries the same ones
    branch: int = 1  # 1 is the first line of talk; each rewind begins another
    is_sidechain: bool = False  # the talk of a subagent
    usage: Usage = field(default_factory=Usage)
    offset: int = 0  # of its first byte in the file

    @property
    def human_text(self) -> str:
        """Everything said to the agent in this turn."""
        return "\n\n".join(said.text for said in self.utterances)


class TitleSource(StrEnum):
    """Where a title was taken from, the most trusted first."""

    CUSTOM = "custom"
    AI = "ai"
    SUMMARY = "summary"
    SLUG = "slug"
    FIRST_WORDS = "first_words"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Title:
    """A line that names a session."""

    text: str = ""
    source: TitleSource = TitleSource.NONE


class Flaw(StrEnum):
    """What was wrong with a stretch of a file."""

    REPAIRED = "repaired"  # everything in it was read
    UNREADABLE = "unreadable"  # it was left out


@dataclass(frozen=True, slots=True)
class FlawedBytes:
    """A stretch of a file that was not one JSON object a line."""

    offset: int
    length: int
    flaw: Flaw


@dataclass(frozen=True, slots=True)
class ReadingReport:
    """How reading went: what was there, what was not understood, what was broken."""

    counts: Mapping[str, int] = field(default_factory=dict)  # by record type, known or not
    unknown: Mapping[str, int] = field(default_factory=dict)  # of these, the types that were skipped
    repeated: int = 0  # records left out because their uuid came before
    flaws: Sequence[FlawedBytes] = ()

    @property
    def repaired(self) -> int:
        """Stretches that were read after a repair."""
        return sum(flawed.flaw is Flaw.REPAIRED for flawed in self.flaws)

    @property
    def unreadable(self) -> int:
        """Stretches that were lost."""
        return sum(flawed.flaw is Flaw.UNREADABLE for flawed in self.flaws)


@dataclass(frozen=True, slots=True)
class Session:
    """One transcript. With `agent` it is a subagent's, and `id` names the session it worked for."""

    id: str
    agent: str = ""
    folder: str = ""  # where it was started; records may move on to others
    title: Title = Title()
    slug: str = ""
    git_branches: Sequence[str] = ()
    versions: Sequence[str] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    turns: Sequence[Turn] = ()
    summaries: Mapping[str, str] = field(default_factory=dict)  # titles of others, by a uuid they hold
    report: ReadingReport = field(default_factory=ReadingReport)

    @property
    def human_utterances(self) -> int:
        """How often a person spoke."""
        return sum(said.is_human for turn in self.turns for said in turn.utterances)

    @property
    def usage(self) -> Usage:
        """All tokens of the session."""
        return sum((turn.usage for turn in self.turns), Usage())
