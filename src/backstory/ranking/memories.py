"""What search knows of a memory, and what a question about memories asks for.

Both sides are here because they must name labels and numbers alike.
"""

from collections.abc import Mapping
from typing import Final

from backstory.model.memory import Memory
from backstory.model.passage import Index, Passage
from backstory.model.project import Scope
from backstory.model.search import AnyOf, Between, MemoryQuery, Where
from backstory.ranking.labels import metadata_label, metadata_labels
from backstory.ranking.words import terms

#: Candidates asked of each retriever. 200 find no more (LoCoMo nDCG@10 .544 against .545, LongMemEval .668
#: against .667, CoSQA MRR@10 .387 against .389) and cost 1 ms: every id becomes a Python object.
CANDIDATES: Final = 100

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
