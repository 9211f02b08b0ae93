"""`backstory watch`: what is said, as it is said.

The process reads transcripts in as they grow; here it is only asked, again and again, what is new.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import click

from backstory.bridge.process import running
from backstory.cli.asking import answer_to, as_json, in_any_project, tell, whereabouts
from backstory.errors import StoreUnavailable

#: Shorter than the process takes to notice a change, so that it adds little to it.
POLL_S: Final = 1.0

#: What is shown of a turn: not what its tools did, of which there is much.
_NAMED: Final = ("session_id", "project", "turn_number")
_SPEAKERS: Final = {"command": "commands", "user": "user_text", "assistant": "assistant_text"}
_SHOWN: Final = (*_NAMED, "timestamp", *_SPEAKERS.values())

Value = dict[str, Any]


@dataclass(slots=True)
class _Followed:
    """How far a conversation was followed: its last turn, and what was shown of the answer in it."""

    ended: str | None
    turns: int
    answer: str = ""


@click.command()
@in_any_project
@as_json
def watch(project: str | None) -> None:
    """Print what is said to agents and by them as it comes, until it is interrupted."""
    followed = {each["session_id"]: _Followed(_ended(each), each["turn_count"]) for each in _newest(project)}
    click.echo("Watching. Ctrl-C ends it.", err=True)
    while True:
        time.sleep(POLL_S)
        if running(whereabouts()) is None:  # asking would start another
            raise StoreUnavailable("the process was stopped", hint="run it again; that starts the process")
        for conversation in reversed(_newest(project)):
            for turn in _news(conversation, followed):
                tell(turn, _text(turn), indent=None)


def _newest(project: str | None) -> list[Value]:
    return list(answer_to("list_conversations", {"project": project}).answer["conversations"])


def _news(conversation: Value, followed: dict[str, _Followed]) -> Iterator[Value]:
    """The turns that are new, and of the one that was the last what was added to its answer."""
    id, turns = conversation["session_id"], conversation["turn_count"]
    before = followed.setdefault(id, _Followed(None, 0))
    if (before.ended, before.turns) == (_ended(conversation), turns):
        return
    for number in range(max(before.turns, 1), turns + 1):
        turn = answer_to("read_turn", {"session_id": id, "turn_number": number}).answer
        answer = turn.get("assistant_text", "")
        if number > before.turns:
            yield {name: turn[name] for name in _SHOWN if name in turn}
        elif answer != before.answer:
            added = {"assistant_text": answer.removeprefix(before.answer)}
            yield {name: turn[name] for name in _NAMED} | added
        before.answer = answer
    before.turns, before.ended = turns, _ended(conversation)


def _ended(conversation: Value) -> str | None:
    ended: str | None = conversation.get("last_timestamp")
    return ended


def _text(turn: Value) -> str:
    said = [f"{who}: {turn[name]}" for who, name in _SPEAKERS.items() if name in turn]
    return "\n".join([f"\n{turn['session_id']} turn {turn['turn_number']}, {turn['project']}", *said])
