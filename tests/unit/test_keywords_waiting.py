"""Finding by words what the vector engine does not have yet, however much that is."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.model.memory import Memory, MemoryId
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import AnyOf, Scored, Where
from backstory.model.upkeep import Target
from backstory.ranking.memories import passage_of
from backstory.records import keywords
from backstory.records.records import Records

SHOP, BANK = Project("shop"), Project("bank")
VOCABULARY = ("cart", "ledger", "vault", "retry")
IDS = [str(UUID(int=number)) for number in range(1, 41)]

#: What may have become of a passage: it is projected, waits, was refused, or waits in another index.
fates = st.sampled_from(["done", "waits", "refused", "elsewhere"])
places = st.sampled_from(
    [
        Where(SHOP),
        Where(BANK),
        Where(ALL_PROJECTS),
        Where(SHOP, [AnyOf("type", ["preference"])]),
        Where(SHOP, ids=IDS[:9]),
    ]
)
questions = st.sampled_from(["cart", "vault retry", "ledger cart vault", "none"])


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    """Forty memories, of which nothing is projected."""
    now = datetime(2026, 3, 2, tzinfo=UTC)
    with Records.open(tmp_path_factory.mktemp("waiting") / "backstory.db") as opened:
        with opened.writing() as transaction:
            for number, id in enumerate(IDS):
                said = " ".join(VOCABULARY[each % 4] for each in range(number, number + 1 + number % 3))
                kind, project = ("preference", "design")[number % 2], (SHOP, BANK)[number % 5 == 0]
                memory = Memory(MemoryId(id), project, kind, said, {}, 0.5, 1, now, now)
                transaction.memories.add(memory, passage_of(memory))
        yield opened


def mark(records: Records, fate: Mapping[str, str]) -> None:
    def those(*wanted: str) -> list[str]:
        return [id for id in IDS if fate[id] in wanted]

    with records.writing() as transaction:
        marks = transaction.marks
        marks.clear(marks.of(Target.VECTORS, IDS))
        marks.set_all({(Target.VECTORS, Index.MEMORIES): those("waits", "refused")}, SHOP)
        marks.set_all({(Target.VECTORS, Index.TURNS): those("elsewhere")}, SHOP)
        for each in marks.of(Target.VECTORS, those("refused")):
            marks.refuse(each, "no")


def found(records: Records, index: Index, words: str, where: Where) -> list[Scored]:
    with records.reading() as transaction:
        return transaction.keywords.search_waiting(index, words, where, 100)


@pytest.mark.parametrize("few", [0, 10_000])
@settings(max_examples=40)
@given(fate=st.fixed_dictionaries(dict.fromkeys(IDS, fates)), where=places, words=questions)
def test_what_waits_is_found_as_a_search_of_everything_finds_it(
    records: Records, few: int, fate: dict[str, str], where: Where, words: str
) -> None:
    mark(records, fate)
    with records.reading() as transaction:
        everything = transaction.keywords.search(Index.MEMORIES, words, where, 100)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keywords, "FEW", few)
        waiting = found(records, Index.MEMORIES, words, where)

    assert waiting == [each for each in everything if fate[each.id] in ("waits", "refused")]


def test_deferred_ones_are_found_too(records: Records) -> None:
    mark(records, dict.fromkeys(IDS, "waits"))
    with records.writing() as transaction:
        transaction.marks.defer(IDS)

    assert len(found(records, Index.MEMORIES, "cart", Where(ALL_PROJECTS))) > 10


def test_a_passage_that_waits_in_another_index_is_not_found(records: Records) -> None:
    mark(records, dict.fromkeys(IDS, "waits"))

    assert found(records, Index.TURNS, "cart", Where(ALL_PROJECTS)) == []
