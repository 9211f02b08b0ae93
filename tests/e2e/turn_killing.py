"""Killing a process that adds turns, and checking that what it acknowledged is kept, in order and once."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from backstory.actions.conversations import background
from backstory.actions.conversations.add_turn import add_turn
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine, Work
from backstory.model.live import MOST_TURNS, LiveTurn, TurnWindow
from backstory.model.search import TurnQuery

from .turn_writer import TALKS, names_in, said_by

WRITER = Path(__file__).parent / "turn_writer.py"
EVERY = 1_000_000


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn of a writer, in the conversation that it was meant for."""

    conversation: str
    writer: str
    number: int


class Kept:
    """What was acknowledged, and the place at which it is kept."""

    def __init__(self) -> None:
        self.places: dict[Spoken, int] = {}
        #: Turns that were being added when the process was killed: they are kept, or not at all.
        self.doubtful: set[Spoken] = set()

    def take(self, line: str) -> None:
        """Note what a line of the writer's output says."""
        said = json.loads(line)
        place = said.pop("place", None)
        turn = Spoken(**said)
        if place is None:
            self.doubtful.add(turn)
        else:
            self.doubtful.discard(turn)
            self.places[turn] = place

    def ask_again(self, engine: Engine) -> None:
        """Add what is doubtful as a client would: again, under the same key."""
        for turn in sorted(self.doubtful, key=lambda each: (each.writer, each.number)):
            said, key = said_by(turn.writer, turn.number), f"{turn.writer} {turn.number}"
            self.places[turn] = add_turn(engine, TALKS, turn.conversation, said, key).turn.number
        self.doubtful.clear()


def talk_and_kill(home: Path, storage: str, seed: int, kept: Kept) -> None:
    """Let a process add turns for a while and kill it in the middle of something."""
    lines = random.Random(seed).randrange(1, 40)
    command = [sys.executable, str(WRITER), str(home), storage, str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for _ in range(lines):
                kept.take(process.stdout.readline())
        finally:
            process.kill()
        for line in process.stdout:
            kept.take(line)


def broken(engine: Engine, kept: Kept) -> list[str]:
    """What is not as it was acknowledged, in a store that was just opened again.

    Nobody else has written to the conversations since the first of the turns.
    """
    catch_up(engine)
    wrong = [each for turn, place in kept.places.items() for each in _unfound(engine, turn, place)]
    kept.ask_again(engine)
    for conversation in {turn.conversation for turn in kept.places}:
        own = {turn: place for turn, place in kept.places.items() if turn.conversation == conversation}
        wrong += _differing(engine, conversation, own)
    return wrong


def catch_up(engine: Engine) -> None:
    """Do what the worker does for conversations when a process starts, and embed nothing."""
    while background.step(engine, Work()):
        pass


def disagreements(engine: Engine) -> Reconciled:
    """What records and projections still disagree about after upkeep had its time."""
    while upkeep(engine, Work()):
        pass
    return reconcile(engine, Work())


def _unfound(engine: Engine, turn: Spoken, place: int) -> Iterator[str]:
    """Whether a turn is not found by its words: of every other turn by a word of the answer."""
    word = names_in(turn.writer, turn.number)[turn.number % 2]
    hits = search_turns(engine, TALKS, TurnQuery(word)).hits
    if (turn.conversation, place) not in [(hit.conversation.id, hit.turn) for hit in hits]:
        yield f"{word} is at {place}, and was found at {[hit.turn for hit in hits]}"


def _differing(engine: Engine, id: str, places: dict[Spoken, int]) -> Iterator[str]:
    """How what is kept of a conversation differs from what was said in it, from the first place on."""
    turns = list(_turns_from(engine, id, min(places.values())))
    said = {place: said_by(turn.writer, turn.number) for turn, place in places.items()}
    expected = [(place, said[place].query, said[place].response) for place in sorted(said)]
    kept = [(turn.number, turn.query, turn.response) for turn in turns]
    if kept != expected:
        yield f"{id} has {set(kept) - set(expected)} too much, and lacks {set(expected) - set(kept)}"
    if [turn.number for turn in turns] != list(range(turns[0].number, turns[-1].number + 1)):
        yield f"the turns of {id} are not numbered one after the other"
    if disordered := [writer for writer in {turn.user_id for turn in turns} if _is_disordered(turns, writer)]:
        yield f"what {disordered} said is not in its order in {id}"
    yield from _gaps_of_summaries(engine, id)


def _turns_from(engine: Engine, id: str, first: int) -> Iterator[LiveTurn]:
    storage = engine.live.storage
    while page := storage.turns(id, TurnWindow(first, first + MOST_TURNS - 1)):
        yield from page
        first += MOST_TURNS


def _is_disordered(turns: list[LiveTurn], writer: str) -> bool:
    numbers = [int(str(turn.metadata["number"])) for turn in turns if turn.user_id == writer]
    return any(later <= earlier for earlier, later in pairwise(numbers))


def _gaps_of_summaries(engine: Engine, id: str) -> Iterator[str]:
    conversation = engine.live.storage.get(id, summaries=EVERY)
    assert conversation
    ends = [0, *(summary.last_turn for summary in conversation.summaries)]
    begins = [*(summary.first_turn for summary in conversation.summaries), conversation.summarized_to + 1]
    if begins != [end + 1 for end in ends]:
        yield f"the summaries of {id} end at {ends} and begin at {begins}"
