"""Live conversations for tests: begun, written and found in a few words."""

from dataclasses import replace

from backstory.actions.conversations import background
from backstory.actions.conversations.add_turn import Added, Said, add_turn
from backstory.actions.conversations.create import Wanted, create_conversation
from backstory.actions.projection.upkeep import upkeep
from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine, Work
from backstory.model.live import LiveTurn, TurnWindow
from backstory.model.project import ALL_PROJECTS, Project, Scope
from backstory.model.search import FoundTurns, TurnQuery

SHOP, BANK = Project("shop"), Project("bank")


def begin(engine: Engine, room: str, project: Project = SHOP, **wanted: object) -> str:
    named = replace(Wanted("cli", room), **wanted)  # type: ignore[arg-type]  # real fields only
    return create_conversation(engine, project, named).conversation.id


def added(engine: Engine, id: str, query: str, response: str = "", **said: object) -> Added:
    told = replace(Said(query, response), **said)  # type: ignore[arg-type]  # real fields only
    return add_turn(engine, ALL_PROJECTS, id, told)


def say(engine: Engine, id: str, query: str, response: str = "", **said: object) -> LiveTurn:
    return added(engine, id, query, response, **said).turn


def settle(engine: Engine) -> None:
    """Do all that the worker would do."""
    while upkeep(engine, Work()) or background.step(engine, Work()):
        pass


def search(engine: Engine, text: str, scope: Scope = SHOP, **filters: object) -> FoundTurns:
    return search_turns(engine, scope, replace(TurnQuery(text), **filters))  # type: ignore[arg-type]  # as above


def found(engine: Engine, id: str, text: str, **filters: object) -> set[int]:
    """The turns of a conversation that a search finds."""
    return {hit.turn for hit in search(engine, text, SHOP, conversation=id, **filters).hits}


def kept(engine: Engine, id: str) -> list[LiveTurn]:
    return engine.live.storage.turns(id, TurnWindow())
