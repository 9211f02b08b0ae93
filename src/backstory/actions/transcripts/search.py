"""Finding what was said, by meaning, by words and by the files that were touched."""

from backstory.actions.transcripts.finding import hits_of, ranked_turns
from backstory.engine import Engine
from backstory.model.project import Scope
from backstory.model.search import FoundTurns, TurnQuery


def search_turns(engine: Engine, scope: Scope, query: TurnQuery) -> FoundTurns:
    """The turns that answer best, best first, none from outside the scope."""
    end = query.offset + query.limit
    with engine.records.one_snapshot():
        found = ranked_turns(engine, scope, query)
        hits = hits_of(engine, scope, found.turns[query.offset : end], query.text)
    return FoundTurns(hits, found.degraded, more=len(found.turns) > end)
