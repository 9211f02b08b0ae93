"""What search knows of a memory, what a question about memories asks for, and how answers are ranked.

Pure. Both sides are here because they must name labels and numbers alike. The lists of candidates, what is
known of these and what they are linked to come from others.

A score is a sum: what the retrievers found, a share of that of the best hit it is linked to, its importance
and its recency. Words decide: the two last together are a third of what the best match by words alone gets.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from backstory.model.memory import Memory
from backstory.model.passage import Index, Passage
from backstory.model.project import Scope
from backstory.model.search import AnyOf, Between, MemoryCues, MemoryQuery, Scored, Where
from backstory.ranking.fusion import Fused, fuse
from backstory.ranking.importance import importance
from backstory.ranking.labels import metadata_label, metadata_labels
from backstory.ranking.words import terms

#: Candidates asked of each retriever. 200 find no more (LoCoMo nDCG@10 .544 against .545, LongMemEval .668
#: against .667, CoSQA MRR@10 .387 against .389) and cost 1 ms: every id becomes a Python object.
CANDIDATES: Final = 100

#: Candidates of all retrievers together that are weighed, and so the hits of a search but for what they are
#: linked to. All 200 would take another 1.5 ms, and with importances and ages by chance change the first ten
#: hits of one question in 1,737.
WEIGHED: Final = 100

#: What a list's best candidate is worth. `python -m benchmarks quality --weights`, meaning beside words:
#:
#:   weight of meaning          0    .2    .5    .8     1   1.5
#:   LoCoMo odd chats nDCG@10  .538  .548  .547  .530  .513  .487
#:   LoCoMo even chats         .534  .546  .542  .515  .499  .449
#:   LongMemEval nDCG@10       .656  .662  .667  .671  .671  .665
#:   CoSQA MRR@10              .318  .350  .389  .401  .408  .412
#:
#: Half keeps nearly the best of the first two and most of the others. Words that are not projected yet
#: are ranked by SQLite, and count as words.
WEIGHTS: Final[Mapping[str, float]] = {"words": 1.0, "meaning": 0.5, "new words": 1.0}

#: What the highest importance is worth. No public set of questions says what was important, so both ends were
#: tried (`benchmarks quality --weights`): importances that have nothing to do with the questions, and half of
#: the answers called important beside a tenth of all else.
#:
#:   weight of importance        0    .1    .2    .3    .5     1
#:   LoCoMo nDCG@10, chance    .545  .545  .543  .544  .539  .529
#:   CoSQA MRR@10, chance      .389  .384  .381  .379  .376  .357
#:   LoCoMo nDCG@10, told      .545  .549  .550  .550  .553  .559
#:   CoSQA MRR@10, told        .389  .390  .393  .396  .403  .413
#:
#: At .2 what is vital passes what is ordinary only where both answer about as well.
IMPORTANCE: Final = 0.2

#: What it is worth to be written just now, and how long until half of that is left. LongMemEval with its own
#: dates of sessions and questions, beside dates that have nothing to do with the questions:
#:
#:   weight of recency           0   .05    .1    .2    .3    .5
#:   LongMemEval, 30 days      .728  .732  .738  .746  .753  .774
#:   LongMemEval, 90 days      .728  .728  .734  .742  .747  .760
#:   CoSQA MRR@10, chance      .389  .388  .384  .380  .375  .360
#:
#: People ask agents about last week; a decision stands for months. Hence the longer time and a small weight.
RECENCY: Final = 0.1
HALF_LIFE: Final = timedelta(days=90)

#: What a memory gets of the score of a hit that it is linked to, and how many hits, best first, give it.
#: LoCoMo nDCG@10, every turn linked to the next, and with two links by chance in place of these:
#:
#:   share                       0    .1    .2    .3    .4    .5
#:   odd chats                 .547  .560  .568  .576  .584  .586
#:   even chats                .542  .555  .567  .575  .575  .572
#:   all chats, by chance      .545  .543  .540  .534  .527  .515
#:
#: At .3, with 5 hits that give it is .573 and .574, with 20 .576 and .570. If only what no retriever found is
#: given anything, .551 and .550; if hits that are linked to one another do not give to better ones, .559 and
#: .569.
LINKED: Final = 0.3
GIVING: Final = 10


def passage_of(memory: Memory) -> Passage:
    """The passage under which a memory is found. A title in its metadata is found as well."""
    title = memory.metadata.get("title")
    heading = f"{title}\n" if isinstance(title, str) else ""
    return Passage(
        id=memory.id,
        index=Index.MEMORIES,
        project=memory.project,
        text=memory.content,
        terms=terms(heading + memory.content),
        labels={"type": [memory.type], "metadata": list(metadata_labels(memory.metadata))},
        numbers={
            "created_at": memory.created_at.timestamp(),
            "updated_at": memory.updated_at.timestamp(),
            "importance": memory.importance,
        },
    )


def conditions(scope: Scope, query: MemoryQuery) -> Where:
    """What a question's filters mean to the engines."""
    labels = [AnyOf("type", tuple(query.types))] if query.types else []
    labels += [AnyOf("metadata", [metadata_label(key, value)]) for key, value in query.metadata.items()]
    span = Between(
        query.since.timestamp() if query.since else None,
        query.until.timestamp() if query.until else None,
    )
    return Where(scope, labels, {"created_at": span} if query.since or query.until else {})


def meets(memory: Memory, query: MemoryQuery) -> bool:
    """Whether a memory passes a question's filters, as `conditions` has the engines apply them."""
    labels = set(metadata_labels(memory.metadata))
    return (
        (not query.types or memory.type in query.types)
        and (query.since is None or query.since <= memory.created_at)
        and (query.until is None or memory.created_at <= query.until)
        and all(metadata_label(key, value) in labels for key, value in query.metadata.items())
    )


def cues_of(memory: Memory) -> MemoryCues:
    """What a memory is ranked by."""
    return MemoryCues(
        memory.importance, memory.access_count, memory.last_used_at, memory.created_at, memory.updated_at
    )


def matches(lists: Mapping[str, Sequence[Scored]]) -> list[Fused]:
    """The best of what the retrievers found, best first."""
    return list(islice(fuse(lists, WEIGHTS), WEIGHED))


def rank(
    matching: Sequence[Fused],
    cues: Mapping[str, MemoryCues],
    links: Iterable[tuple[str, str]],
    now: datetime,
) -> list[Fused]:
    """Every memory of which there are cues, best first, with all that its score is made of.

    Links go from those of the matching that give to anything.
    """
    parts = {each.id: dict(each.parts) for each in matching if each.id in cues}
    for id, (worth, giver) in _gifts(matching, links).items():
        if id in cues:
            parts.setdefault(id, {})[f"linked to {giver}"] = worth
    for id, own in parts.items():
        own["importance"] = IMPORTANCE * _importance(cues[id], now)
        own["recency"] = RECENCY * _recency(cues[id], now)
    ranked = sorted((-sum(own.values()), id) for id, own in parts.items())
    return [Fused(id, -score, parts[id]) for score, id in ranked]


def _gifts(matching: Sequence[Fused], links: Iterable[tuple[str, str]]) -> Mapping[str, tuple[float, str]]:
    """What each memory gets from the best of the hits that it is linked to, and from which."""
    scores = {each.id: each.score for each in matching}
    gifts: dict[str, tuple[float, str]] = {}
    for giver, other in links:
        gift = LINKED * scores[giver], giver
        if scores[giver] > 0:  # the worst of a list has nothing to give
            gifts[other] = max(gift, gifts.get(other, gift))
    return gifts


def _importance(cues: MemoryCues, now: datetime) -> float:
    return importance(cues.importance, cues.access_count, cues.last_used_at, cues.created_at, now)


def _recency(cues: MemoryCues, now: datetime) -> float:
    return math.exp2(-max(now - cues.updated_at, timedelta(0)) / HALF_LIFE)
