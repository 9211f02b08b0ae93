"""Traps of the embedded vector engine, each with a proof that we do not step into it.

What every engine owes is in the contract suite: there are NaN, lone surrogates, terms taken as they
are, an average length for each field, and words as rare as they are in the project.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from qdrant_edge import Point

from backstory.adapters.qdrant_edge import QdrantEdgeVectorStore, points, shards
from backstory.adapters.qdrant_edge.faults import translated
from backstory.adapters.qdrant_edge.shards import Shard
from backstory.errors import (
    ContentRefused,
    InputError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
)
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import AnyOf, Between, Where
from backstory.ports import Entry, Every, IndexSpec, IndexState, Leg, Meaning, Vector, WordField, Words
from backstory.testing import InMemoryVectorStore

DIMENSION = 32
SHOP = Project("shop")
SPEC = IndexSpec("notes-1", DIMENSION, ("text",), (WordField("text", 1.2, 0.75, 8),), ("kind",), ("at",))
NOTES = SPEC.name
EVERYTHING = Where(ALL_PROJECTS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[QdrantEdgeVectorStore]:
    with QdrantEdgeVectorStore.open(tmp_path) as opened:
        opened.ensure(SPEC)
        yield opened


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upkeep that is due after a few hundred entries instead of thousands."""
    monkeypatch.setattr(shards, "SEGMENT_VECTORS", 400)
    monkeypatch.setattr(shards, "UNSETTLED_VECTORS", 100)


def vector_of(number: int) -> Vector:
    return np.random.default_rng(number).standard_normal(DIMENSION, np.float32)


def note(number: int, project: Project = SHOP) -> Entry:
    return Entry(
        id=str(UUID(int=number)),
        project=project,
        vectors={"text": np.array([vector_of(number), vector_of(number + 1_000_000)])},
        words={"text": f"cart total{number % 10} item{number}"},
        labels={"kind": ["even" if number % 2 == 0 else "odd"]},
        numbers={"at": number},
    )


def notes(*numbers: int) -> list[Entry]:
    return [note(number) for number in numbers]


def segments(folder: Path) -> int:
    return len(list((folder / NOTES / "shard" / "segments").iterdir()))


def engine_settings(folder: Path) -> Mapping[str, object]:
    settings = json.loads((folder / NOTES / "shard" / "edge_config.json").read_text("utf-8"))
    assert isinstance(settings, dict)
    return settings


def test_upkeep_has_a_limit_to_the_size_of_a_segment(store: QdrantEdgeVectorStore, tmp_path: Path) -> None:
    store.upsert(NOTES, notes(1))

    optimizers = engine_settings(tmp_path)["optimizers"]

    assert isinstance(optimizers, dict)
    assert optimizers["max_segment_size"] == 40_000 * DIMENSION * 2 // 1024
    assert optimizers["indexing_threshold"] == 20_000 * DIMENSION * 2 // 1024


def test_how_rare_a_word_is_in_all_projects_of_a_large_index_hardly_depends_on_what_was_removed(
    store: QdrantEdgeVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [Words("text", "total3 cart", 10)]
    store.upsert(NOTES, notes(*range(1000)))
    exact = store.query(NOTES, words, EVERYTHING)

    monkeypatch.setattr(points, "_MANY", 100)

    assert store.query(NOTES, words, EVERYTHING) == exact
    store.upsert(NOTES, notes(*range(500)))
    store.remove(NOTES, Where(ALL_PROJECTS, numbers={"at": Between(500, 699)}))
    (found,) = store.query(NOTES, words, EVERYTHING)
    assert [each.score for each in found] == pytest.approx([each.score for each in exact[0]], rel=0.05)


@pytest.mark.usefixtures("small_steps")
def test_an_index_that_only_grows_is_settled_step_by_step(tmp_path: Path) -> None:
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        store.ensure(SPEC)

        for first in range(0, 2000, 200):
            store.upsert(NOTES, notes(*range(first, first + 200)))

        assert segments(tmp_path) > 5
        assert store.describe() == {NOTES: IndexState(2000)}


@pytest.mark.usefixtures("small_steps")
def test_upkeep_is_offered_when_it_is_worth_its_while(tmp_path: Path) -> None:
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        store.ensure(SPEC)
        store.upsert(NOTES, notes(*range(40)))
        assert not store.describe()[NOTES].unsettled
        store.upsert(NOTES, notes(*range(40, 60)))
        assert store.describe()[NOTES].unsettled

        assert [store.settle(NOTES), store.settle(NOTES)] == [True, False]

        assert not store.describe()[NOTES].unsettled
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        assert store.describe() == {NOTES: IndexState(60, unsettled=True)}  # a crash may have come before
        assert [store.settle(NOTES), store.settle(NOTES)] == [True, False]


@pytest.mark.usefixtures("small_steps")
def test_a_settled_index_scores_as_the_definition_says(tmp_path: Path) -> None:
    reference = InMemoryVectorStore()
    legs: list[Leg] = [
        Meaning("text", vector_of(5), 2000),
        Words("text", "cart total5 item77", 2000),
        Every(None, 2000),
    ]
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        for each in (store, reference):
            each.ensure(SPEC)
            for first in range(0, 1200, 200):
                each.upsert(NOTES, notes(*range(first, first + 200)))
            each.upsert(NOTES, notes(*range(300, 360)))
            each.remove(NOTES, Where(SHOP, numbers={"at": Between(600, 799)}))
            each.settle(NOTES)
        assert len(list(tmp_path.rglob("quantized.data"))) > 3

        for where in (Where(SHOP), Where(ALL_PROJECTS, [AnyOf("kind", ["odd"])], {"at": Between(10, 1000)})):
            for found, expected in zip(
                store.query(NOTES, legs, where), reference.query(NOTES, legs, where), strict=True
            ):
                scores = {each.id: each.score for each in expected}
                assert {each.id: each.score for each in found} == pytest.approx(scores, abs=1e-3)


def test_no_call_of_the_engine_takes_more_than_a_batch(
    store: QdrantEdgeVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    upsert = Shard.upsert

    def watched(self: Shard, points: Sequence[Point], vectors: int) -> None:
        taken.append(len(points))
        upsert(self, points, vectors)

    monkeypatch.setattr(Shard, "upsert", watched)
    store.upsert(NOTES, notes(*range(600)))

    assert taken == [256, 256, 88]


def test_memory_is_placed_so_that_an_index_opens_fast(store: QdrantEdgeVectorStore, tmp_path: Path) -> None:
    store.upsert(NOTES, notes(1))

    settings = engine_settings(tmp_path)

    assert settings["payload_memory"] == "cold"
    assert isinstance(settings["vectors"], dict)
    (dense,) = settings["vectors"].values()
    assert dense["memory"] == "cold"
    assert dense["datatype"] == "float16"
    assert dense["quantization_config"] == {"scalar": {"type": "int8", "memory": "pinned"}}
    assert dense["hnsw_config"]["m"] == 0


def test_projects_share_one_shard_with_no_more_threads_than_cores(
    store: QdrantEdgeVectorStore, tmp_path: Path
) -> None:
    store.upsert(NOTES, [note(number, Project(f"project-{number}")) for number in range(50)])

    assert [each.name for each in tmp_path.iterdir()] == [NOTES]
    assert engine_settings(tmp_path)["max_search_threads"] == min(os.cpu_count() or 1, 8)


WRITER = """
import sys
from pathlib import Path
from tests.unit.test_qdrant_edge_traps import NOTES, SPEC, QdrantEdgeVectorStore, notes

with QdrantEdgeVectorStore.open(Path(sys.argv[1])) as store:
    store.ensure(SPEC)
    for first in range(0, 100_000, 50):
        store.upsert(NOTES, notes(*range(first, first + 50)))
        print(first + 50, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)

    with QdrantEdgeVectorStore.open(tmp_path) as store:
        (kept,) = store.query(NOTES, [Every(None, acknowledged)], Where(SHOP))
        assert [each.id for each in kept] == [note.id for note in notes(*range(acknowledged))]
        by_meaning, by_words = store.query(
            NOTES, [Meaning("text", vector_of(999), 1), Words("text", "item999", 1)], Where(SHOP)
        )
        assert by_meaning[0].id == by_words[0].id == note(999).id


def test_a_reopened_store_has_everything_it_had(tmp_path: Path) -> None:
    where = Where(SHOP, [AnyOf("kind", ["odd"])], {"at": Between(10, 90)})
    legs: list[Leg] = [
        Meaning("text", vector_of(7), 100),
        Words("text", "cart total3", 100),
        Every(None, 100),
    ]
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        store.ensure(SPEC)
        store.upsert(NOTES, notes(*range(100)))
        before = store.query(NOTES, legs, where)

    with QdrantEdgeVectorStore.open(tmp_path) as store:
        assert store.query(NOTES, legs, where) == before
        store.ensure(SPEC)
        with pytest.raises(ContentRefused):
            store.upsert(NOTES, [Entry(str(UUID(int=1)), SHOP, {}, {"title": "cart"})])


def test_a_folder_that_is_open_elsewhere_is_refused(store: QdrantEdgeVectorStore, tmp_path: Path) -> None:
    store.upsert(NOTES, notes(1))
    code = "import sys, qdrant_edge; qdrant_edge.EdgeShard.load(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / NOTES / "shard")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1

    with QdrantEdgeVectorStore.open(tmp_path) as second, pytest.raises(StoreLocked):
        second.query(NOTES, [Every(None, 1)], EVERYTHING)


def test_a_closed_store_cannot_be_used(tmp_path: Path) -> None:
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        store.ensure(SPEC)

    with pytest.raises(StoreUnavailable):
        store.query(NOTES, [Every(None, 1)], EVERYTHING)


def test_a_name_cannot_lead_out_of_the_folder(store: QdrantEdgeVectorStore) -> None:
    for name in ("..", "../other", "", ".hidden", "a/b"):
        with pytest.raises(InputError):
            store.drop(name)


def test_what_a_crash_left_of_an_unfinished_index_is_no_index(tmp_path: Path) -> None:
    (tmp_path / f".{NOTES}.unfinished" / "shard").mkdir(parents=True)

    with QdrantEdgeVectorStore.open(tmp_path) as store:
        assert store.describe() == {}
        store.ensure(SPEC)
        assert store.describe() == {NOTES: IndexState(0)}

    assert [each.name for each in tmp_path.iterdir()] == [NOTES]


def test_nothing_is_made_for_an_index_before_its_first_entry(tmp_path: Path) -> None:
    for _ in range(2):
        with QdrantEdgeVectorStore.open(tmp_path) as store:
            store.ensure(SPEC)
            store.remove(NOTES, EVERYTHING)
            assert store.query(NOTES, [Every(None, 1), Words("text", "cart", 1)], EVERYTHING) == [[], []]
            assert not store.settle(NOTES)
            assert store.describe() == {NOTES: IndexState(0)}
        assert [each.name for each in (tmp_path / NOTES).iterdir()] == ["plan.json"]

    with QdrantEdgeVectorStore.open(tmp_path) as store:
        store.upsert(NOTES, notes(1))
        assert store.describe() == {NOTES: IndexState(1)}


def test_an_index_that_a_crash_left_half_made_is_made_again(tmp_path: Path) -> None:
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        store.ensure(SPEC)
        store.upsert(NOTES, notes(1))
    a_file(tmp_path, "segment.json").unlink()
    (tmp_path / NOTES / "index.json").rename(tmp_path / NOTES / "plan.json")

    with QdrantEdgeVectorStore.open(tmp_path) as store:
        assert store.describe() == {NOTES: IndexState(0)}
        store.upsert(NOTES, notes(2))
        assert store.describe() == {NOTES: IndexState(1)}


def a_file(folder: Path, pattern: str) -> Path:
    return min((folder / NOTES).rglob(pattern))


def garbage_everywhere(folder: Path) -> None:
    for path in (folder / NOTES).rglob("*"):
        if path.is_file():
            path.write_bytes(b"garbage" * 100)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "garbage in our own file": lambda folder: a_file(folder, "index.json").write_bytes(b"\xffgarbage"),
    "our own file lost": lambda folder: a_file(folder, "index.json").unlink(),
    "half of the engine's settings": lambda folder: os.truncate(a_file(folder, "edge_config.json"), 80),
    "the engine's folder lost": lambda folder: shutil.rmtree(folder / NOTES / "shard"),
    "a lost file of a segment": lambda folder: a_file(folder, "segment.json").unlink(),
    "a file that makes the engine panic": lambda folder: os.truncate(a_file(folder, "deleted/status.dat"), 0),
    "garbage everywhere": garbage_everywhere,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_index_is_reported_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        store.ensure(SPEC)
        store.upsert(NOTES, notes(*range(100)))
    damage(tmp_path)
    damaged = {path: path.read_bytes() for path in (tmp_path / NOTES).rglob("*.json")}

    with QdrantEdgeVectorStore.open(tmp_path) as store:
        for use in (
            lambda: store.query(NOTES, [Every(None, 1)], EVERYTHING),
            lambda: store.upsert(NOTES, notes(1)),
            lambda: store.settle(NOTES),
            lambda: store.ensure(SPEC),
        ):
            with pytest.raises(StoreCorrupt) as refused:
                use()
            assert "backstory rebuild" in (refused.value.hint or "")
        assert store.describe() == {NOTES: IndexState(0, damaged=True)}
        assert {path: path.read_bytes() for path in (tmp_path / NOTES).rglob("*.json")} == damaged

        store.drop(NOTES)
        store.ensure(SPEC)
        assert store.describe() == {NOTES: IndexState(0)}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Exception("Service runtime error: No space left on device (os error 28)"), StoreFull),
        (OSError(28, os.strerror(28)), StoreFull),
        (Exception("IO Error: Permission denied (os error 13)"), StoreReadOnly),
        (OSError(30, os.strerror(30)), StoreReadOnly),
        (Exception("failed to open WAL: Can't init WAL: Kind(WouldBlock)"), StoreLocked),
        (Exception("Service runtime error: Shard is not initialized"), StoreUnavailable),
        (Exception("Inconsistent storage: id tracker"), StoreCorrupt),
        (TypeError("failed to extract enum Helper"), ContentRefused),
        (Exception("anything else"), StoreUnavailable),
        (type("PanicException", (BaseException,), {})("index out of bounds"), StoreCorrupt),
    ],
    ids=str,
)
def test_every_error_of_the_engine_becomes_one_of_ours(error: BaseException, kind: type[StoreError]) -> None:
    with pytest.raises(StoreError) as raised, translated("notes-1"):
        raise error

    assert type(raised.value) is kind
    assert raised.value.hint
    assert raised.value.__cause__ is error


def test_an_interruption_is_no_error_of_the_engine() -> None:
    with pytest.raises(KeyboardInterrupt), translated("notes-1"):
        raise KeyboardInterrupt
