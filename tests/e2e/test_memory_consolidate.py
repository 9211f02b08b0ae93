"""Making one of memories that say the same, and taking it back: by the actions, on embedded engines."""

import uuid
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.consolidate import Consolidation, Wish, consolidate
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.merged import merged_memories
from backstory.actions.memory.merging import Done, LeftOut, carry_out
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.unmerge import unmerge
from backstory.actions.memory.update import update_memory
from backstory.actions.projection.now import graph_of
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.errors import Cancelled, InputError, NotFound, StaleVersion
from backstory.model.graph import NodeRef, NodeType, RelationshipType, Walk
from backstory.model.live import Switches
from backstory.model.memory import MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.project import Project
from backstory.model.search import MemoryQuery

from .doubles import Choosy, Unreliable

SHOP, BANK = Project("shop"), Project("bank")

KAFKA = "Events go through Kafka. Topics are named after the aggregate."
CONSUMERS = "Events go through Kafka. Consumers must be idempotent."
BOTH = f"{KAFKA}\n\nConsumers must be idempotent."


def remember(engine: Engine, content: str, *to: MemoryId, project: Project = SHOP) -> MemoryId:
    links = [Relationship(RelationshipType.RELATES_TO, id) for id in to]
    return add_memory(engine, project, NewMemory("design", content, relationships=links)).memory.id


def two_alike(engine: Engine) -> tuple[MemoryId, MemoryId]:
    """Two that can be one: the one that is kept, and the other."""
    return remember(engine, KAFKA), remember(engine, CONSUMERS)


def planned(engine: Engine, wish: Wish | None = None, project: Project = SHOP) -> Consolidation:
    return consolidate(engine, project, wish or Wish(), Work())


def applied(engine: Engine, wish: Wish | None = None, project: Project = SHOP) -> Sequence[Done]:
    done = consolidate(engine, project, wish or Wish(), Work(), apply=True)
    assert done.left_out == []
    return done.done


def ids(engine: Engine, words: str) -> list[str]:
    return [hit.memory.id for hit in search_memories(engine, SHOP, MemoryQuery(words)).hits]


def links_of(engine: Engine, id: MemoryId) -> set[tuple[str, str]]:
    return {(each.direction, each.memory.id) for each in get_memory(engine, SHOP, id).relationships}


def state(engine: Engine, project: Project = SHOP) -> tuple[dict[str, object], set[object]]:
    """What is live, what it says, and how it is linked."""
    with engine.records.reading() as records:
        live: dict[str, object] = {
            each.id: (each.content, dict(each.metadata), each.importance)
            for each in records.memories.live_in(project)
        }
        edges: set[object] = {(each.start, each.type, each.end) for each in records.links.edges_in(project)}
    return live, edges


def test_a_plan_says_what_could_be_one_and_why_and_changes_nothing(engine: Engine) -> None:
    keep, fold = two_alike(engine)
    remember(engine, "Invoices are numbered without gaps.")
    before = state(engine)

    found = planned(engine)

    (plan,) = found.planned
    assert (plan.merge.keep, plan.merge.fold, plan.merge.content) == (keep, [fold], BOTH)
    assert fold in plan.merge.why
    assert plan.versions == {keep: 1, fold: 1}
    assert (found.looked_at, found.more, found.done, found.degraded) == (3, False, [], ())
    assert state(engine) == before


def test_a_merged_memory_is_found_by_what_both_said_and_the_folded_one_is_not(engine: Engine) -> None:
    keep, fold = two_alike(engine)

    (done,) = applied(engine)

    assert done.pending == ()
    assert ids(engine, "idempotent consumers") == [keep]
    assert get_memory(engine, SHOP, keep).memory.content == BOTH
    with pytest.raises(NotFound, match=keep):
        get_memory(engine, SHOP, fold)
    assert planned(engine).planned == []


def test_links_move_to_the_kept_one_also_in_the_graph_and_back(engine: Engine) -> None:
    keep, fold = two_alike(engine)
    before = remember(engine, "The broker has three nodes.")
    after = remember(engine, "Dead letters are kept for a week.", fold)
    update_memory(engine, SHOP, fold, MemoryChange(relationships=[_relates(before), _relates(keep)]))

    (done,) = applied(engine)
    assert links_of(engine, keep) == {("out", before), ("in", after)}
    assert _near_in_graph(engine, keep) == {before, after}

    unmerge(engine, SHOP, done.made.id)
    assert links_of(engine, keep) == {("in", fold)}
    assert links_of(engine, fold) == {("out", before), ("out", keep), ("in", after)}
    assert _near_in_graph(engine, keep) == {fold}


def _relates(to: MemoryId) -> Relationship:
    return Relationship(RelationshipType.RELATES_TO, to)


def _near_in_graph(engine: Engine, id: MemoryId) -> set[str]:
    start = NodeRef(NodeType.DESIGN, id)
    found = engine.graph.related(graph_of(engine, SHOP), [start], Walk()).nodes
    return {each.node.ref.id for each in found} - {id}


def test_the_history_of_all_stays_and_tells_of_the_merge(engine: Engine) -> None:
    keep, fold = two_alike(engine)
    (done,) = applied(engine)

    with engine.records.reading() as records:
        kept, folded = records.audit.of(keep)[-1], records.audit.of(fold)[-1]
        assert [each.content for each in records.memories.versions(keep)] == [KAFKA]
    assert (kept.operation, kept.details) == ("merged", {"folded": [fold], "merge": done.made.id})
    assert (folded.operation, folded.details) == ("folded", {"into": keep, "merge": done.made.id})


def test_a_merge_that_is_undone_leaves_all_as_it_was(engine: Engine) -> None:
    _, fold = two_alike(engine)
    before = state(engine)
    (done,) = applied(engine)

    back = unmerge(engine, SHOP, done.made.id)

    assert state(engine) == before
    assert (back.taken_back.kept.version, back.taken_back.restored, back.pending) == (3, [fold], ())
    assert ids(engine, "idempotent consumers")[0] == fold
    assert [each.undone_at for each in merged_memories(engine, SHOP, 10)] == [back.taken_back.made.undone_at]


def test_merges_into_the_same_memory_are_undone_in_turn(engine: Engine) -> None:
    keep, _ = two_alike(engine)
    first_state = state(engine)
    (first,) = applied(engine)
    remember(engine, CONSUMERS)
    second_state = state(engine)
    (second,) = applied(engine)
    assert first.made.kept == second.made.kept == keep

    with pytest.raises(StaleVersion) as error:
        unmerge(engine, SHOP, first.made.id)
    assert second.made.id in str(error.value.hint)
    unmerge(engine, SHOP, second.made.id)
    assert state(engine) == second_state
    unmerge(engine, SHOP, first.made.id)

    live, _ = state(engine)
    assert live.items() >= first_state[0].items()


def test_a_merge_is_not_undone_when_the_kept_one_was_changed_since(engine: Engine) -> None:
    keep, fold = two_alike(engine)
    (done,) = applied(engine)
    update_memory(engine, SHOP, keep, MemoryChange(content="Events go through Pulsar."))
    before = state(engine)

    with pytest.raises(StaleVersion, match="version 2 is now 3") as error:
        unmerge(engine, SHOP, done.made.id)

    assert fold in str(error.value.hint)
    assert "memory_history" in str(error.value.hint)
    assert state(engine) == before


def test_a_merge_is_undone_when_the_kept_one_was_changed_and_changed_back(engine: Engine) -> None:
    keep, _ = two_alike(engine)
    before = state(engine)
    (done,) = applied(engine)
    for importance in (0.9, 0.5):
        update_memory(engine, SHOP, keep, MemoryChange(importance=importance))

    unmerge(engine, SHOP, done.made.id)

    assert state(engine) == before


def test_what_cannot_be_undone_is_refused_with_a_reason(engine: Engine) -> None:
    keep, _ = two_alike(engine)
    (done,) = applied(engine)

    with pytest.raises(NotFound, match="no merge"):
        unmerge(engine, BANK, done.made.id)
    delete_memory(engine, SHOP, keep)
    with pytest.raises(StaleVersion, match="deleted"):
        unmerge(engine, SHOP, done.made.id)


def test_a_folded_memory_is_not_deleted_since_undoing_the_merge_would_bring_it_back(engine: Engine) -> None:
    keep, fold = two_alike(engine)
    applied(engine)

    with pytest.raises(NotFound, match=f"merged into {keep}"):
        delete_memory(engine, SHOP, fold)


def test_a_merge_is_undone_once(engine: Engine) -> None:
    two_alike(engine)
    (done,) = applied(engine)
    unmerge(engine, SHOP, done.made.id)

    with pytest.raises(InputError, match="already"):
        unmerge(engine, SHOP, done.made.id)


def test_a_memory_that_was_changed_or_deleted_since_the_plan_is_left_out_and_told(engine: Engine) -> None:
    keep, fold = two_alike(engine)
    (plan,) = planned(engine).planned
    update_memory(engine, SHOP, fold, MemoryChange(importance=0.9))
    before = state(engine)

    changed = carry_out(engine, plan)
    assert state(engine) == before
    delete_memory(engine, SHOP, keep)
    both = carry_out(engine, plan)

    assert isinstance(changed, LeftOut)
    assert changed.why == f"{fold} was changed since this was planned"
    assert isinstance(both, LeftOut)
    assert both.why == f"{keep} was deleted, {fold} was changed since this was planned"


def test_a_merge_whose_text_an_engine_refuses_is_not_made(engine: Engine) -> None:
    two_alike(engine)
    before = state(engine)
    choosy = replace(engine, vectors=Choosy(engine.vectors, "idempot"))

    found = consolidate(choosy, SHOP, Wish(), Work(), apply=True)

    assert found.done == []
    assert "no idempot here" in found.left_out[0].why
    assert state(engine) == before


def test_what_may_be_merged_is_narrowed_by_ids_types_and_a_question(engine: Engine) -> None:
    keep, fold = two_alike(engine)
    others = [remember(engine, text) for text in ("Use tabs for indentation.", "Use tabs for indentation!")]

    def kept(wish: Wish) -> set[str]:
        return {id for each in planned(engine, wish).planned for id in each.versions}

    assert kept(Wish()) == {keep, fold, *others}
    assert kept(Wish(ids=[keep, fold])) == {keep, fold}
    assert kept(Wish(ids=[keep, others[0]])) == set()
    assert kept(Wish(types=["session"])) == set()
    assert kept(Wish(query="Kafka", types=["design"])) >= {keep, fold}
    assert planned(engine, Wish(limit=1)).more


def test_a_memory_that_is_not_there_cannot_be_merged(engine: Engine) -> None:
    keep, _ = two_alike(engine)
    missing = str(uuid.uuid4())

    with pytest.raises(NotFound, match=missing):
        planned(engine, Wish(ids=[keep, missing]))
    with pytest.raises(NotFound, match=keep):
        planned(engine, Wish(ids=[keep]), BANK)
    with pytest.raises(InputError, match="limit"):
        planned(engine, Wish(limit=0))


def test_memories_of_two_projects_are_never_one(engine: Engine) -> None:
    remember(engine, KAFKA)
    remember(engine, KAFKA, project=BANK)

    assert planned(engine).planned == planned(engine, project=BANK).planned == []


def test_a_long_memory_is_compared_by_its_parts(engine: Engine) -> None:
    filler = " ".join(f"Rule {n} of the house style is about the colour number {n}." for n in range(12))
    keep, fold = remember(engine, f"{filler} {KAFKA}"), remember(engine, filler)

    (plan,) = planned(engine).planned

    assert (plan.merge.keep, plan.merge.fold) == (keep, [fold])


def test_many_copies_become_one(engine: Engine) -> None:
    for _ in range(12):
        remember(engine, KAFKA)

    while applied(engine):
        pass

    assert len(ids(engine, "Kafka topics")) == 1


def test_without_meanings_memories_are_compared_by_words_and_that_is_told(engine: Engine) -> None:
    alike = {
        remember(engine, text) for text in ("Use tabs for indentation.", "Always use tabs for indentation!")
    }
    without = replace(engine, switches=lambda: Switches(semantic_search=False))

    found = planned(without)
    remember(engine, "Do not use tabs for indentation.")
    with_contradiction = planned(without)

    assert [set(each.versions) for each in found.planned] == [alike]
    assert "by words alone" in found.degraded[0]
    assert "ENABLE_SEMANTIC_SEARCH" in found.degraded[0]
    assert with_contradiction.planned == []


def test_merges_made_during_an_outage_are_seen_by_search_and_graph_afterwards(engine: Engine) -> None:
    keep, _ = two_alike(engine)
    unreliable = Unreliable(engine.vectors)
    shaky = replace(engine, vectors=unreliable)
    (plan,) = planned(engine).planned
    unreliable.down = True

    done = carry_out(shaky, plan)

    assert isinstance(done, Done)
    assert "not found by meaning yet" in done.pending[0]
    while upkeep(engine, Work()):
        pass
    assert reconcile(engine, Work()) == Reconciled(0, 0)
    assert ids(engine, "idempotent consumers") == [keep]


def test_a_stopped_consolidation_leaves_what_is_not_done_yet(engine: Engine) -> None:
    two_alike(engine)
    before = state(engine)
    steps: list[int] = []

    def stop_late(done: int, _total: int | None, message: str) -> None:
        steps.append(done)
        if message == "comparing what they say":
            work.cancel()

    work = Work(stop_late)
    with pytest.raises(Cancelled):
        consolidate(engine, SHOP, Wish(), work, apply=True)

    assert state(engine) == before
    assert steps == sorted(steps)


SAID = [
    "Use Redis for the session cache.",
    "The session cache is Redis.",
    "Use Redis for the session cache. Sessions expire after 30 minutes.",
    "Use Redis for the session cache. Sessions expire after 60 minutes.",
    "Sessions expire after 30 minutes.",
    "Do not use Redis for the session cache.",
    "Deploys run every night. Sessions expire after 30 minutes.",
    "Deploys run every night.",
]
drafts = st.lists(
    st.tuples(
        st.sampled_from(SAID),
        st.fixed_dictionaries(
            {},
            optional={"tags": st.lists(st.sampled_from("xyz"), max_size=2), "owner": st.sampled_from("ab")},
        ),
        st.none() | st.integers(0, 5),
        st.none() | st.integers(0, 5),
    ),
    min_size=2,
    max_size=7,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drafts)
def test_whatever_is_merged_undoing_it_gives_the_same_store(
    engine: Engine, drafts: list[tuple[str, dict[str, object], int | None, int | None]]
) -> None:
    project = Project(str(uuid.uuid4()))
    kept: list[MemoryId] = []
    for content, fields, linked, named in drafts:
        others = [
            kept[number % len(kept)] if kept and number is not None else None for number in (linked, named)
        ]
        links = [_relates(others[0])] if others[0] else []
        naming = {"related_requirements": [others[1]]} if others[1] else {}
        new = NewMemory("design", content, {**fields, **naming}, relationships=links)
        kept.append(add_memory(engine, project, new).memory.id)
    before = state(engine, project)

    done = applied(engine, project=project)
    live, _ = state(engine, project)

    assert len(live) == len(drafts) - sum(len(each.made.folded) for each in done)
    for each in reversed(done):
        unmerge(engine, project, each.made.id)
    assert state(engine, project) == before
