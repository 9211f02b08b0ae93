"""What a person said to Codex, told from what its program said in their name.

Codex gives its model much as if the user had said it: instructions from files, what the folder and
the machine look like, skills, notices, what hooks want. One text is judged here by itself; which of
the several copies of a message is taken is left to the one who reads the whole file.
"""

import re
from collections.abc import Iterable
from typing import Final

import orjson

from backstory.transcripts import fields as read
from backstory.transcripts.fields import Fields
from backstory.transcripts.texts import clean

_TAGS: Final = "|".join(
    (
        "[a-z_]+_context",
        "[a-z_]*instructions",
        "apps",
        "collaboration_mode",
        "hook_prompt",
        "model_switch",
        "permissions",
        "personality_spec",
        "plugins",
        "realtime_conversation",
        "recommended_plugins",
        "skill",
        "skills_section",
        "subagent_notification",
        "subagents",
        "system-reminder",
        "turn_aborted",
        "user_action",
        "user_shell_command",
    )
)
#: What the program puts in, with all that is in it. An element that is never closed reaches to the end.
_OF_THE_PROGRAM: Final = re.compile(
    rf"\s*(?:# AGENTS\.md instructions\b.*?(?:</INSTRUCTIONS>|\Z)"
    rf"|<(?P<tag>{_TAGS})\b[^>]*>.*?(?:</(?P=tag)\b[^>]*>|\Z))\s*",
    re.DOTALL,
)
_SUMMARY: Final = "Another language model started to solve this problem and produced a summary"
#: The editor puts what it shows before the words of the person.
_BEHIND_EDITOR: Final = re.compile(
    r"\s*# Context from my IDE setup:.*?^## My request for Codex:", re.DOTALL | re.MULTILINE
)
_PICTURE_TAG: Final = re.compile(r"\s*(?:<image\b[^\n]*>|</image>)\s*")
_SHELL: Final = re.compile(r"\s*<user_shell_command>\s*<command>(?P<command>.*?)</command>", re.DOTALL)
_REPLY: Final = "<send_user_message_question_reply>"


def message_text(content: Iterable[Fields]) -> str:
    """The text in the blocks of a message, without the tags around its pictures."""
    texts = (read.text(block, "text") for block in content)
    return "\n".join(text for text in texts if text and not _PICTURE_TAG.fullmatch(text))


def person_words(text: str) -> str:
    """What of a user message a person wrote; empty when the program wrote all of it."""
    start = 0
    while element := _OF_THE_PROGRAM.match(text, start):
        start = element.end()
    if editor := _BEHIND_EDITOR.match(text, start):
        start = editor.end()
    words = clean(text[start:])
    return "" if words.startswith(_SUMMARY) else words


def shell_command(text: str) -> str:
    """The command that a person ran beside the agent, as they typed it."""
    ran = _SHELL.match(text)
    return clean(f"!{ran['command'].strip()}") if ran else ""


def replied(text: str) -> str:
    """The answers in a reply to the agent's questions, one a line."""
    head, found, told = text.partition(_REPLY)
    return "" if head.strip() or not found else _answers(told.partition("</")[0])


def _answers(told: str) -> str:
    answers = (read.text(answer, "answer") for answer in read.objects({"all": parsed(told)}, "all"))
    return "\n".join(words for answer in answers if (words := clean(answer)))


def chosen(output: object) -> str:
    """The answers that a tool for asking the user gave back, one a line."""
    answers = read.inner(read.inner({"it": parsed(output)}, "it"), "answers")
    given = (one for answer in answers.values() for one in _listed(answer))
    return "\n".join(words for one in given if (words := clean(one)))


def _listed(answer: object) -> list[str]:
    if isinstance(answer, dict):
        answer = answer.get("answers")
    several = answer if isinstance(answer, list) else [answer]
    return [one.replace("\0", "") for one in several if isinstance(one, str)]


def parsed(value: object) -> object:
    """What a text says in JSON; anything that is no such text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value
