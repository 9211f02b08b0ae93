"""Live conversations: what it takes to add a turn and to put a context together, and what kills do.

Everything goes through the actions that the product's faces call, except for the loading, which keeps a
hundred turns at once. Conversations are loaded into the first storage, measured there, and moved to the next.
"""

import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from backstory.actions.conversations import background
from backstory.actions.conversations.add_turn import Said, add_turn
from backstory.actions.conversations.context import get_context
from backstory.actions.conversations.copying import keep
from backstory.actions.conversations.known import known
from backstory.actions.conversations.migrate import migrate_conversations
from backstory.actions.projection.now import project_batch
from backstory.engine import Engine
from backstory.http.worker import working
from backstory.model.context import Context, ContextQuery, ContextTurn
from backstory.model.live import TurnWindow
from backstory.model.project import ALL_PROJECTS
from backstory.model.upkeep import Target
from backstory.settings import read_settings
from backstory.wiring import open_engine
from benchmarks.chats import JUST_NOW, Chat, chats, question, sayings
from benchmarks.console import Cell, Table, reporting, say
from benchmarks.machine import resident_mb
from benchmarks.options import Options
from benchmarks.stores import settle
from benchmarks.timing import Stopwatch, seconds, spread
from tests.e2e.turn_killing import Kept, broken, disagreements, talk_and_kill
from tests.e2e.turn_writer import settings_for

Rows = dict[str, Sequence[Cell]]

#: Turns kept in one go when a store is filled, and messages that are then embedded together: with those
#: of a hundred turns more they are as many as may wait.
_KEPT_AT_ONCE: Final = 100
_EMBEDDED_AT_ONCE: Final = 800

#: Every so many contexts one is of the longest conversation.
_LONGEST_EVERY: Final = 5
_WARM_UP: Final = 10
_TOLD_EVERY: Final = 25
_LOOKS_EVERY_S: Final = 0.02
_SEED: Final = 97
#: Kinds of contexts; a question without a text is made of words of any of the conversation's turns, and
#: its strategy is what these words lead to.
_CONTEXTS: Final[Mapping[str, ContextQuery]] = {
    "recent context": ContextQuery(JUST_NOW, strategy="just_now"),
    "assembled context": ContextQuery(""),
    "assembled context, found everywhere": ContextQuery("", everywhere=True),
}
_COLUMNS: Final = ("p50, ms", "p95, ms", "items", "tokens", "duplicates, %")


def run(options: Options) -> Iterator[Table]:
    """Loading; then for each storage moving there, adding and reading; then kills, if it outlives them."""
    home = options.scratch / "conversations"
    with _opened(home, options.storages[0]) as engine:
        loaded, table = _loaded(engine, options.turns)
        yield table
        for storage in options.storages:
            if storage != options.storages[0]:
                yield _moved(engine, storage)
            yield _measured(engine, loaded, options)
    shutil.rmtree(home)
    for storage in options.storages:
        if storage != "memory":
            yield _killed(options.scratch / f"kills-{storage}", storage, options.kills)


def _opened(home: Path, storage: str) -> AbstractContextManager[Engine]:
    variables = {"BACKSTORY_HOME": str(home), "BACKSTORY_CONVERSATION_STORAGE": storage}
    return open_engine(read_settings(variables))


class _Loading:
    """Fills a store as fast as its queue can be drained, and takes the times of both."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting = 0
        self.keeping, self.draining = Stopwatch(), Stopwatch()
        self.messages = 0

    def keep(self, chat: Chat) -> None:
        """Keep a conversation in the storage and in the records."""
        storage = self._engine.live.storage
        with self.keeping.running():
            conversation = storage.create(chat.head)
        for first in range(0, len(chat.turns), _KEPT_AT_ONCE):
            turns = chat.turns[first : first + _KEPT_AT_ONCE]
            with self.keeping.running():
                keep(self._engine, conversation, storage.append(chat.head.id, turns))
            self._waiting += sum(1 + bool(turn.response) for turn in turns)
            if self._waiting >= _EMBEDDED_AT_ONCE:
                self.drain()

    def drain(self) -> None:
        """Embed what waits."""
        with self.draining.running():
            _drain(self._engine, Target.VECTORS)
        self.messages += self._waiting
        self._waiting = 0


def _loaded(engine: Engine, turns: int) -> tuple[Sequence[str], Table]:
    """Fill a store and let it come to rest; the ids of the conversations, the longest first, and figures."""
    say(f"conversations: loading {turns:,} turns")
    loading, work, ids, done = _Loading(engine), reporting(), list[str](), 0
    for chat in chats(turns):
        loading.keep(chat)
        done += len(chat.turns)
        ids.append(chat.head.id)
        work.step(done, turns, "turns")
    loading.drain()
    graph, _ = seconds(lambda: _drain(engine, Target.GRAPH))
    summing, _ = seconds(lambda: _sum_up(engine))
    settling, _ = seconds(lambda: settle(engine))
    rows: Rows = {
        "conversations": (len(ids),),
        "kept: turns a second": (turns / loading.keeping.seconds,),
        "queue drained: messages a second": (loading.messages / loading.draining.seconds,),
        "graph brought up to date: s": (graph,),
        "summed up: turns a second": (turns / summing,),
        "coming to rest: s": (settling,),
        "resident, MB": (resident_mb(),),
    }
    return ids, Table(f"conversations: loading {turns:,} turns", ("figure",), rows)


def _drain(engine: Engine, target: Target) -> None:
    while project_batch(engine, target):
        pass


def _sum_up(engine: Engine) -> None:
    work = reporting()
    while background.step(engine, work):
        pass


def _moved(engine: Engine, to: str) -> Table:
    title = f"conversations: moved from {engine.live.name} to {to}"
    say(title)
    taken, moved = seconds(lambda: migrate_conversations(engine, to, reporting()))
    rows: Rows = {"turns a second": (moved.turns / taken,), "summaries a second": (moved.summaries / taken,)}
    return Table(title, ("figure",), rows)


def _measured(engine: Engine, ids: Sequence[str], options: Options) -> Table:
    storage, samples = engine.live.name, options.samples
    say(f"conversations: {storage}")
    rows: Rows = {}
    for name, kind in _CONTEXTS.items():
        rows |= _contexts(engine, name, kind, ids, samples)
    said = sayings(storage)
    rows |= _additions("worker off", engine, ids, said, samples)
    with working(engine):
        at_rest = partial(_wait_for_rest, engine)
        rows |= _additions("worker at rest", engine, ids, said, samples, before=at_rest)
        rows |= _additions("worker running", engine, ids, said, samples)
    settle(engine)
    return Table(f"conversations: {storage}, {options.turns:,} turns", _COLUMNS, rows)


def _additions(
    name: str,
    engine: Engine,
    ids: Sequence[str],
    said: Iterator[tuple[str, str]],
    samples: int,
    *,
    before: Callable[[], None] = lambda: None,
) -> Rows:
    """Turns added one after the other, to conversations by lot; what is done before each is not timed."""
    chance = random.Random(_SEED)

    def add(query: str, response: str) -> None:
        new = Said(query, response, "ann", "Ann", metadata={"ticket": 7})
        add_turn(engine, ALL_PROJECTS, _chosen(ids, chance), new)

    def calls() -> Iterator[Callable[[], None]]:
        for each in islice(said, samples):
            before()
            yield partial(add, *each)

    for each in islice(said, _WARM_UP):
        add(*each)
    times = spread(calls())
    return {f"add_turn, {name}": (times.p50_ms, times.p95_ms, None, None, None)}


def _wait_for_rest(engine: Engine) -> None:
    """Let the worker embed all that waits, as it can between the turns of a talk."""
    while True:
        with engine.records.reading() as records:
            if not records.marks.count():
                return
        time.sleep(_LOOKS_EVERY_S)


def _chosen(ids: Sequence[str], chance: random.Random) -> str:
    return ids[0] if chance.randrange(_LONGEST_EVERY) == 0 else chance.choice(ids)


def _contexts(engine: Engine, name: str, kind: ContextQuery, ids: Sequence[str], samples: int) -> Rows:
    """Contexts of conversations by lot; every question is asked once."""
    chance = random.Random(_SEED)
    chosen = [_chosen(ids, chance) for _ in range(_WARM_UP + samples)]
    asked = [(id, _asked(engine, id, number, kind)) for number, id in enumerate(chosen)]
    given: list[Context] = []

    def get(id: str, query: ContextQuery) -> None:
        given.append(get_context(engine, ALL_PROJECTS, id, query))

    for each in asked[:_WARM_UP]:
        get(*each)
    times = spread(partial(get, *each) for each in asked[_WARM_UP:])
    items = sum(len(context.items) for context in given)
    tokens = sum(context.statistics.tokens for context in given)
    repeated = sum(_repetitions(context) for context in given)
    shares = (items / len(given), tokens / len(given), 100 * repeated / max(items, 1))
    return {name: (times.p50_ms, times.p95_ms, *shares)}


def _asked(engine: Engine, id: str, number: int, kind: ContextQuery) -> ContextQuery:
    """A question of this kind about a conversation, as it would be asked shortly after its last turn."""
    conversation = known(engine, ALL_PROJECTS, id)
    place = random.Random(_SEED + number).randint(1, conversation.turns)
    (turn,) = engine.live.storage.turns(id, TurnWindow(place, place))
    at = conversation.updated_at + timedelta(minutes=1)
    return replace(kind, text=kind.text or question(turn, number), asked_at=at)


def _repetitions(context: Context) -> int:
    """How many items say what another one says: the same turn, or the same words."""
    said = [item.said for item in context.items]
    turns = [each for each in said if isinstance(each, ContextTurn)]
    places = {(each.conversation, each.number) for each in turns}
    words = {(each.query, each.response) for each in turns}
    summed = {each.text for each in said if not isinstance(each, ContextTurn)}
    return len(said) - min(len(places), len(words)) - len(summed)


def _killed(home: Path, storage: str, kills: int) -> Table:
    """A process that adds turns is killed again and again; each time what it had acknowledged is checked."""
    say(f"conversations: {kills:,} kills, {storage}")
    whole, acknowledged, wrong = Kept(), 0, 0
    for seed in range(kills):
        own = Kept()
        talk_and_kill(home, storage, seed, own)
        acknowledged += len(own.places)
        with open_engine(settings_for(str(home), storage)) as engine:
            # A later process does not touch what an earlier one wrote, so its own turns are enough here.
            wrong += _told(broken(engine, own))
        whole.places |= own.places
        if (seed + 1) % _TOLD_EVERY == 0:
            say(f"  {seed + 1} kills, {acknowledged:,} turns acknowledged, {wrong} wrong")
    with open_engine(settings_for(str(home), storage)) as engine:
        wrong += _told(broken(engine, whole))
        left_over = disagreements(engine)
    rows: Rows = {
        "kills": (kills,),
        "turns acknowledged": (acknowledged,),
        "turns checked at the end": (len(whole.places),),
        "lost, twice, out of order or not found": (wrong,),
        "orphans and gaps after recovery": (left_over.entries + left_over.graphs,),
    }
    return Table(f"conversations: kills, {storage}", ("count",), rows)


def _told(wrong: Sequence[str]) -> int:
    for each in wrong:
        say(f"  {each}")
    return len(wrong)
