"""What was said, as extractors read it: of a transcript, of a live conversation, or in a text.

A session is read in pages, and so much of it that a call stays short; the rest is for the next call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from backstory.analysis.speakers import turns_in
from backstory.engine import Engine, Work
from backstory.errors import InputError, NotFound
from backstory.model.conversation import Role, TurnText
from backstory.model.live import TurnWindow
from backstory.model.project import Project
from backstory.model.summary import SaidTurn

#: What one call reads. The rules take 1.2 ms a turn of a usual length, and 2 s for a million characters.
MOST_TURNS: Final = 1_000
MOST_CHARS: Final = 1_000_000

_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Talk:
    """Some turns of a talk that has `total`, and what tools gave back in them by number."""

    turns: Sequence[SaidTurn]
    total: int
    tools: Mapping[int, str] = field(default_factory=dict)

    @property
    def next_turn(self) -> int | None:
        """Where reading goes on, if there is more."""
        last = self.turns[-1].number if self.turns else self.total
        return last + 1 if last < self.total else None


class _Told(NamedTuple):
    """One turn, and what tools gave back in it."""

    turn: SaidTurn
    tools: str = ""


#: Some turns from a number on.
_Page: TypeAlias = Callable[[int], Sequence[_Told]]


def talk_in(text: str) -> Talk:
    """The talk that a text holds."""
    turns = turns_in(text)
    return Talk(turns, len(turns))


def talk_of(engine: Engine, project: Project, id: str, first: int, work: Work) -> Talk:
    """The turns of a session from the first one on; raises `NotFound` if the project does not have it."""
    total, page = _pages(engine, project, id)
    if first > max(total, 1):
        raise InputError(f"session {id} has no turn {first}", hint=f"its turns are numbered 1 to {total}")
    told: list[_Told] = []
    chars = 0
    for each in _read(page, first, total, work):
        chars += len(each.turn.user) + len(each.turn.assistant)
        if told and (chars > MOST_CHARS or len(told) == MOST_TURNS):
            break
        told.append(each)
    tools = {each.turn.number: each.tools for each in told if each.tools}
    return Talk([each.turn for each in told], total, tools)


def _read(page: _Page, first: int, total: int, work: Work) -> Iterator[_Told]:
    while first <= total:
        work.step(first - 1, total, "reading the session")
        read = page(first)
        yield from read
        if not read:  # it was deleted meanwhile
            return
        first = read[-1].turn.number + 1


def _pages(engine: Engine, project: Project, id: str) -> tuple[int, _Page]:
    """How many turns a session has, and how to read some of them."""
    with engine.records.reading() as records:
        kept = records.conversations.get(project, id)
    if kept and not kept.is_live:
        return kept.turns, partial(_transcribed, engine, id)
    live = engine.live.storage.get(id)
    if live is None or live.deleted_at or live.project != project:
        raise NotFound(
            f"there is no session {id} in project {project}",
            hint="use an id that list_conversations gives; if it is in another project, name that",
        )
    return live.turns, partial(_live, engine, id)


def _transcribed(engine: Engine, id: str, first: int) -> list[_Told]:
    with engine.records.reading() as records:
        turns = records.conversations.turns(id, offset=first - 1, limit=_PAGE)
    return [_told(each) for each in turns]


def _told(each: TurnText) -> _Told:
    said = {role: each.texts.get(role, "") for role in Role}
    turn = SaidTurn(each.turn.number, said[Role.USER], said[Role.ASSISTANT], at=each.turn.started_at)
    return _Told(turn, said[Role.TOOL])


def _live(engine: Engine, id: str, first: int) -> list[_Told]:
    turns = engine.live.storage.turns(id, TurnWindow(first, first + _PAGE - 1))
    return [
        _Told(SaidTurn(each.number, each.query, each.response, each.user_name, each.at)) for each in turns
    ]
