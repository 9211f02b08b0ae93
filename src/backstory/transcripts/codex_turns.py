"""From the items of a Codex rollout to its turns.

Every message of a person and every answer may stand in the file up to three times: as what went
to the model, and in one or two forms as what the program showed. Versions differ in which of them
they write, and a file may go on in another version's way. So what is said between two doings of
the agent is taken from what was shown, if anything was, and from what went to the model if not;
the answers of a turn from the form that has most of them.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

from backstory.model.transcript import Found, Turn, Usage, Utterance
from backstory.transcripts import fields as read
from backstory.transcripts.codex_calls import (
    call_id,
    call_name,
    changes,
    is_call,
    is_output,
    patch_call,
    tool_call,
)
from backstory.transcripts.codex_items import Item
from backstory.transcripts.codex_words import chosen, message_text, person_words, replied, shell_command
from backstory.transcripts.drafts import Draft, numbered
from backstory.transcripts.fields import Fields
from backstory.transcripts.texts import clean
from backstory.transcripts.threads import Thread

_SENT: Final = "response_item/message"
_SHOWN_PROMPTS: Final = ("event_msg/user_message", "item/UserMessage")
_SHOWN_ANSWERS: Final = ("event_msg/agent_message", "item/AgentMessage")
_THOUGHTS: Final = ("response_item/reasoning", "event_msg/agent_reasoning", "item/Reasoning")
#: What says that a turn begins, with its id.
TURN_BEGINS: Final = ("turn_context", "event_msg/task_started", "event_msg/turn_started")
_ASKING: Final = "request_user_input"
_NO_TOTAL: Final = Usage()


@dataclass(frozen=True, slots=True)
class _Heard:
    """Something said to the agent, and in which form it stands in the file."""

    kind: str
    utterance: Utterance
    offset: int


def build_turns(items: Sequence[Item], *, aside: bool = False, before: Usage = _NO_TOTAL) -> Sequence[Turn]:
    """The turns of a rollout, numbered from 1. `aside` when it is a subagent's.

    `before` are the tokens that were counted already when it began.
    """
    drafting = _Drafting(items, aside=aside, counted=before)
    for item in items:
        drafting.take(item)
    return numbered(drafting.ended())


def total_tokens(item: Item) -> Usage | None:
    """All tokens that were used until an item that tells them; its input holds the cached ones, too."""
    if item.kind != "event_msg/token_count":
        return None
    total = read.inner(read.inner(item.payload, "info"), "total_token_usage")
    if not total:
        return None
    cached, written = (
        read.number(total, "cached_input_tokens"),
        read.number(total, "cache_write_input_tokens"),
    )
    plain = max(0, read.number(total, "input_tokens") - cached - written)
    return Usage(plain, read.number(total, "output_tokens"), written, cached)


class _Drafting:
    """The turns begun so far, and what was said since the agent last did something."""

    def __init__(self, items: Sequence[Item], *, aside: bool, counted: Usage) -> None:
        self._drafts: list[Draft] = []
        self._heard: list[_Heard] = []
        self._commands: list[str] = []
        self._answers: dict[str, list[str]] = defaultdict(list)
        self._outputs = {call_id(item): item for item in items if is_output(item)}
        self._calls = {call_id(item): call_name(item) for item in items if is_call(item)}
        self._changes = {call_id(item): paths for item in items if (paths := changes(item))}
        self._turn = ""
        self._begun: Counter[str] = Counter()
        self._thread = Thread(1, "subagent" if aside else "")
        self._counted = counted

    def take(self, item: Item) -> None:
        """Add an item to the turn it belongs to."""
        if item.kind in TURN_BEGINS:
            self._turn = read.text(item.payload, "turn_id") or self._turn
        elif item.kind == "event_msg/thread_rolled_back":
            self._settle()
            self._thread = Thread(self._thread.branch + 1, self._thread.sidechain)
        elif item.kind == "event_msg/token_count":
            self._count(item)
        elif item.kind in _SHOWN_PROMPTS or _is_sent_by(item, "user"):
            self._hear(item)
        else:
            self._act(item)

    def ended(self) -> Sequence[Draft]:
        """All turns, when there is no more."""
        self._settle()
        self._close()
        return self._drafts

    def _hear(self, item: Item) -> None:
        text = _text(item.payload)
        if command := shell_command(text):
            self._commands.append(command)
        reply = replied(text)
        if words := reply or person_words(text):
            self._heard.append(self._said(item, Found.ANSWER if reply else Found.TYPED, words))

    def _said(self, item: Item, found: Found, words: str) -> _Heard:
        found = Found.TASK if self._thread.sidechain else found
        return _Heard(item.kind, Utterance(words, found, at=item.at), item.offset)

    def _act(self, item: Item) -> None:
        """Go on with the turn, or with what was said since, if the item is a doing of the agent."""
        is_answer = item.kind in _SHOWN_ANSWERS or _is_sent_by(item, "assistant")
        if not (is_answer or is_call(item) or is_output(item) or item.kind in _THOUGHTS or changes(item)):
            return
        self._settle()
        if is_output(item) and self._calls.get(call_id(item), "").startswith(_ASKING):
            self._take_choice(item)
        draft = self._drafts[-1] if self._drafts else self._begin(item.offset, ())
        draft.times += filter(None, [item.at])
        if is_answer and (text := clean(_text(item.payload))):
            self._answers[item.kind].append(text)
        elif is_call(item):
            paths = self._changes.pop(call_id(item), ())
            draft.calls.append(tool_call(item, self._outputs.get(call_id(item)), paths))
        elif paths := self._changes.pop(call_id(item), ()):
            draft.calls.append(patch_call(item, paths))

    def _take_choice(self, item: Item) -> None:
        """What a person chose of what the agent asked begins a turn, as if they had typed it."""
        if words := chosen(item.payload.get("output")):
            self._begin(item.offset, [self._said(item, Found.ANSWER, words).utterance])

    def _settle(self) -> None:
        """Begin a turn with what was said since the agent last did something."""
        if said := _once(self._heard):
            self._begin(said[0].offset, [heard.utterance for heard in said])
        self._heard.clear()

    def _begin(self, offset: int, said: Sequence[Utterance]) -> Draft:
        self._close()
        draft = Draft(offset, self._thread, said)
        draft.times += (utterance.at for utterance in said if utterance.at)
        if self._turn:
            self._begun[self._turn] += 1
            nth = self._begun[self._turn]
            draft.uuids.append(self._turn if nth == 1 else f"{self._turn}:{nth}")
        self._drafts.append(draft)
        return draft

    def _close(self) -> None:
        """End the latest turn: of the forms of its answers, one is taken."""
        if self._drafts:
            draft = self._drafts[-1]
            forms = [self._answers[kind] for kind in (_SENT, *_SHOWN_ANSWERS)]
            most: list[str] = max(forms, key=len)
            draft.texts += most
            draft.commands += self._commands
            self._commands.clear()
        self._answers.clear()

    def _count(self, item: Item) -> None:
        total = total_tokens(item)
        if total and self._drafts:
            usage = self._drafts[-1].usage
            usage[""] = usage.get("", Usage()) + _more(total, self._counted)
            self._counted = total


def _is_sent_by(item: Item, role: str) -> bool:
    return item.kind == _SENT and read.text(item.payload, "role") == role


def _text(payload: Fields) -> str:
    return read.text(payload, "message") or message_text(read.blocks(payload))


def _once(heard: Sequence[_Heard]) -> Sequence[_Heard]:
    """What was said, each once: as it was shown, if it was. Not every answer to a question is shown."""
    forms = [[one for one in heard if one.kind == kind] for kind in _SHOWN_PROMPTS]
    said = max(forms, key=len) or heard
    words = {one.utterance.text for one in said}
    answers = (one for one in heard if one.utterance.found is Found.ANSWER)
    return [*said, *(one for one in answers if one.utterance.text not in words)]


def _more(total: Usage, before: Usage) -> Usage:
    """What was used since; a total that fell was begun anew."""
    used = [now - then for now, then in zip(astuple(total), astuple(before), strict=True)]
    return total if min(used) < 0 else Usage(*used)
