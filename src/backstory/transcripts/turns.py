"""From the records of a Claude Code transcript to its turns.

A turn begins where something is said to the agent and holds all that the agent did until
something else is said, in the order of the file. One answer of the model is spread over many
records, and its tokens are told in each of them, at first only in part; they are counted once.
What the model thought is left out. Subagents that wrote into the same file have turns of their own.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from backstory.model.transcript import Found, Turn, Usage, Utterance
from backstory.transcripts import fields as read
from backstory.transcripts.drafts import Draft, numbered
from backstory.transcripts.fields import Fields
from backstory.transcripts.lines import Record
from backstory.transcripts.machine_text import command_run
from backstory.transcripts.texts import clean
from backstory.transcripts.threads import Threads
from backstory.transcripts.tool_calls import tool_call
from backstory.transcripts.utterances import Utterances

#: The model's name on what the program itself says in the model's place.
_SYNTHETIC: Final = "<synthetic>"


def build_turns(records: Sequence[Record], said: Utterances) -> Sequence[Turn]:
    """The turns of a file, numbered from 1 in the order in which they begin."""
    drafting = _Drafting(_results(records))
    for index, record in enumerate(records):
        drafting.take(record, said.get(index, ()))
    return numbered(drafting.drafts)


def _results(records: Sequence[Record]) -> Mapping[str, Fields]:
    """What the tools gave back, by the id of the call."""
    return {
        id: block
        for record in records
        if read.text(record.fields, "type") == "user"
        for block in read.objects(read.inner(record.fields, "message"), "content")
        if (id := read.text(block, "tool_use_id"))
    }


class _Drafting:
    """All turns begun so far, and which of them goes on in each line of talk."""

    def __init__(self, results: Mapping[str, Fields]) -> None:
        self.drafts: list[Draft] = []
        self._open: dict[str, Draft] = {}
        self._results = results
        self._counted_in: dict[str, Draft] = {}
        self._threads = Threads()
        #: Commands run before anything was said belong to what is said next.
        self._waiting: list[str] = []

    def take(self, record: Record, said: Sequence[Utterance]) -> None:
        """Add a record to the turn it belongs to, after beginning one if something is said in it."""
        fields = record.fields
        prompts = any(utterance.found is Found.TYPED for utterance in said)
        thread = self._threads.follow(fields, prompts=prompts)
        kind = read.text(fields, "type")
        commands = [] if kind != "user" or fields.get("isMeta") else _commands(fields)
        self._waiting += commands
        if said or (kind == "assistant" and thread.sidechain not in self._open):
            self._begin(Draft(record.offset, thread, said))
        draft = self._open.get(thread.sidechain)
        if draft is None or not (said or kind in ("user", "assistant")):
            return
        draft.commands += self._waiting
        self._waiting.clear()
        draft.uuids += filter(None, [read.text(fields, "uuid")])
        draft.times += filter(None, [read.time(fields)])
        if kind == "assistant":
            self._answer(draft, fields)

    def _begin(self, draft: Draft) -> None:
        self.drafts.append(draft)
        self._open[draft.thread.sidechain] = draft

    def _answer(self, draft: Draft, fields: Fields) -> None:
        message = read.inner(fields, "message")
        self._count(draft, read.text(message, "id") or read.text(fields, "uuid"), message)
        if read.text(message, "model") == _SYNTHETIC:
            return
        for block in read.blocks(message):
            kind = read.text(block, "type")
            if kind == "text" and (text := clean(read.text(block, "text"))):
                draft.texts.append(text)
            elif kind == "tool_use":
                draft.calls.append(tool_call(block, self._results.get(read.text(block, "id"))))

    def _count(self, draft: Draft, id: str, message: Fields) -> None:
        counted_in = self._counted_in.setdefault(id, draft)
        before = counted_in.usage.get(id, Usage())
        counted_in.usage[id] = _larger(before, read.inner(message, "usage"))


def _larger(before: Usage, told: Fields) -> Usage:
    """The first records of an answer hold placeholders; the truth is the largest of each number."""
    return Usage(
        max(before.input, read.number(told, "input_tokens")),
        max(before.output, read.number(told, "output_tokens")),
        max(before.cache_written, read.number(told, "cache_creation_input_tokens")),
        max(before.cache_read, read.number(told, "cache_read_input_tokens")),
    )


def _commands(fields: Fields) -> list[str]:
    blocks = read.blocks(read.inner(fields, "message"))
    return [clean(run) for block in blocks if (run := command_run(read.text(block, "text")))]
