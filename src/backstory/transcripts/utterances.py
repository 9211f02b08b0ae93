"""Every place in a Claude Code transcript where a person's words are found, each of them once.

Most of what stands in user records is no person's: nine in ten carry a tool's result. And a
seventh of what people say stands elsewhere than in plain user text: in answers to questions, in
the reasons for a refused tool call, beside a tool's result, or in the queue of what was typed
while the agent worked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from backstory.model.transcript import Found, Utterance
from backstory.transcripts import fields as read
from backstory.transcripts.fields import Fields
from backstory.transcripts.lines import Record
from backstory.transcripts.messages import from_a_person, result_text, same_words, words_in
from backstory.transcripts.queued import attached_prompt, only_in_queue, told_elsewhere
from backstory.transcripts.texts import clean

_REFUSED: Final = re.compile(
    r"(?:Error: )?(?:The user doesn't want to|Permission for this tool use was denied)\b"
    r".*?(?:reason for the rejection:|[Tt]he user said:)(?P<words>.*)",
    re.DOTALL,
)
#: What the program adds to a person's words, and what it says for them when they want to talk first.
_ADVICE: Final = "\n\nNote: The user's next message may contain"
_CLARIFY: Final = "The user wants to clarify these questions"
_PARTIAL_ANSWER: Final = re.compile(r"^ +(?:Answer|User notes): (?P<words>.+)$", re.MULTILINE)
_ANSWERED: Final = (
    "User has answered your question",
    "Your questions have been answered",
    "The user answered:",
)
_ANSWER: Final = re.compile(r'"="(?P<words>.*?)"(?=, "|\.? |\s*\Z)', re.DOTALL)
_OF_THE_PROGRAM: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")

#: By the index of the record among all.
Utterances = Mapping[int, Sequence[Utterance]]


def find_utterances(records: Sequence[Record]) -> Utterances:
    """All that was said to the agent, by the index of the record in which it stands."""
    found: dict[int, Sequence[Utterance]] = {}
    attached: list[int] = []
    for index, record in enumerate(records):
        kind = read.text(record.fields, "type")
        if kind == "user" and (said := list(_in_user_record(record.fields))):
            found[index] = _utterances(record.fields, said)
        elif kind == "attachment" and (words := attached_prompt(record.fields)):
            found[index] = _utterances(record.fields, [(_found_as(record.fields, Found.QUEUE), words)])
            attached.append(index)
    for index in told_elsewhere(records, attached):
        del found[index]
    for index, words in only_in_queue(records).items():
        found[index] = _utterances(records[index].fields, [(Found.QUEUE, words)])
    return found


def tells_words(result: Fields) -> bool:
    """Whether a person's words stand in the text of a tool's result."""
    return bool(_refused(result)) or result_text(result).startswith(_ANSWERED)


def _in_user_record(fields: Fields) -> Iterator[tuple[Found, str]]:
    if any(fields.get(sign) for sign in _OF_THE_PROGRAM):
        return
    blocks = list(read.blocks(read.inner(fields, "message")))
    results = [block for block in blocks if read.text(block, "type") == "tool_result"]
    for result in results:
        if words := _refusal(result):
            yield Found.REJECTION, words
    if results and (words := _answer(fields, results)):
        yield Found.ANSWER, words
    if from_a_person(fields) and (words := words_in(blocks)):
        yield _found_as(fields, Found.BESIDE_RESULT if results else Found.TYPED), words


def _found_as(fields: Fields, found: Found) -> Found:
    """To a subagent it is another agent that speaks."""
    return Found.TASK if fields.get("isSidechain") else found


def _utterances(fields: Fields, said: Sequence[tuple[Found, str]]) -> Sequence[Utterance]:
    once: dict[str, tuple[Found, str]] = {}
    for found, words in said:
        once.setdefault(same_words(words), (found, words))
    uuid, at = read.text(fields, "uuid"), read.time(fields)
    return [Utterance(words, found, uuid, at) for found, words in once.values()]


def _refusal(result: Fields) -> str:
    """The reason that was given when a tool call was refused."""
    refused = _refused(result)
    if not refused:
        return ""
    words = refused["words"].split(_ADVICE)[0].strip()
    if words.startswith(_CLARIFY):
        words = "\n".join(answer["words"] for answer in _PARTIAL_ANSWER.finditer(words))
    return clean(words)


def _refused(result: Fields) -> re.Match[str] | None:
    return _REFUSED.match(result_text(result)) if result.get("is_error") else None


def _answer(fields: Fields, results: Sequence[Fields]) -> str:
    """What was answered to the agent's questions, one answer a line."""
    outcome = read.inner(fields, "toolUseResult")
    if "questions" in outcome and "answers" in outcome:
        given = list(_outcome_words(outcome))
    else:
        shown = [text for result in results if (text := result_text(result)).startswith(_ANSWERED)]
        given = [answer["words"] for text in shown for answer in _ANSWER.finditer(text)]
    return "\n".join(words for answer in given if (words := clean(answer)))


def _outcome_words(outcome: Fields) -> Iterator[str]:
    answers, notes = read.inner(outcome, "answers"), read.inner(outcome, "annotations")
    for question in dict.fromkeys([*answers, *notes]):
        answer = answers.get(question)
        several = answer if isinstance(answer, list) else [answer]
        yield ", ".join(one.replace("\0", "") for one in several if isinstance(one, str))
        yield read.text(read.inner(notes, question), "notes")
