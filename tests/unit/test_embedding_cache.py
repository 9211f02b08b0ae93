"""The cache in front of an embedder: what it saves, what it keeps, and that trouble never reaches callers."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from backstory.adapters.embedders.caching import CachingEmbedder
from backstory.errors import StoreUnavailable
from backstory.model.upkeep import CacheUse
from backstory.ports import Matrix, Vector
from backstory.testing.embedder import WordEmbedder

NUMBERED = [f"memory number {i}" for i in range(1200)]


class Watched(WordEmbedder):
    """Notes what it is asked. A query has the opposite vector of an equal document."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension)
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        return np.array([super(Watched, self).embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        return -super().embed_query(text)


class Unreachable(Watched):
    """A remote embedder that is down."""

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        raise StoreUnavailable("no answer")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "embeddings.db"


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def cached(watched: Watched, path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(watched, path, max_entries=10_000) as opened:
        yield opened


def test_a_text_is_embedded_once(cached: CachingEmbedder, watched: Watched) -> None:
    first = cached.embed_documents(["one", "two"])
    again = cached.embed_documents(["two", "one"])

    assert watched.asked == ["one", "two"]
    np.testing.assert_array_equal(again, first[::-1])


def test_only_the_texts_not_seen_before_are_embedded(cached: CachingEmbedder, watched: Watched) -> None:
    cached.embed_documents(["two", "four"])

    vectors = cached.embed_documents(["one", "two", "three", "four"])

    assert watched.asked == ["two", "four", "one", "three"]
    np.testing.assert_array_equal(vectors, Watched().embed_documents(["one", "two", "three", "four"]))


def test_a_text_that_comes_twice_in_a_batch_is_embedded_once(
    cached: CachingEmbedder, watched: Watched
) -> None:
    vectors = cached.embed_documents(["one", "two", "one"])

    assert watched.asked == ["one", "two"]
    np.testing.assert_array_equal(vectors[0], vectors[2])


def test_a_query_is_not_answered_with_the_vector_of_an_equal_document(cached: CachingEmbedder) -> None:
    document = cached.embed_documents(["one"])[0]

    np.testing.assert_array_equal(cached.embed_query("one"), -document)
    np.testing.assert_array_equal(cached.embed_query("one"), -document)


def test_texts_that_differ_in_half_a_surrogate_pair_are_two_texts(
    cached: CachingEmbedder, watched: Watched
) -> None:
    cached.embed_documents(["one", "one\ud800", "one\ud801"])

    assert len(watched.asked) == 3


def test_vectors_outlive_the_process(path: Path) -> None:
    with CachingEmbedder(Watched(), path, max_entries=10) as cached:
        kept = cached.embed_documents(["one"])
    later = Watched()

    with CachingEmbedder(later, path, max_entries=10) as cached:
        np.testing.assert_array_equal(cached.embed_documents(["one"]), kept)

    assert later.asked == []


def test_another_model_does_not_get_this_ones_vectors(path: Path) -> None:
    with CachingEmbedder(Watched(16), path, max_entries=10) as cached:
        cached.embed_documents(["one"])

    with CachingEmbedder(Watched(8), path, max_entries=10) as cached:
        assert cached.embed_documents(["one"]).shape == (1, 8)


def test_a_large_batch_is_remembered_whole(cached: CachingEmbedder, watched: Watched) -> None:
    first = cached.embed_documents(NUMBERED)

    np.testing.assert_array_equal(cached.embed_documents(NUMBERED), first)
    assert len(watched.asked) == len(NUMBERED)


def test_the_oldest_entries_make_room_for_new_ones(path: Path, watched: Watched) -> None:
    with CachingEmbedder(watched, path, max_entries=3) as cached:
        for text in ("one", "two", "three", "four"):
            cached.embed_query(text)
        watched.asked.clear()

        for text in ("four", "three", "two", "one"):
            cached.embed_query(text)

    assert watched.asked == ["one"]


def test_a_batch_larger_than_the_cache_is_still_answered(path: Path, watched: Watched) -> None:
    with CachingEmbedder(watched, path, max_entries=2) as cached:
        vectors = cached.embed_documents(NUMBERED)

    np.testing.assert_array_equal(vectors, Watched().embed_documents(NUMBERED))


def test_hits_and_misses_count_texts(cached: CachingEmbedder) -> None:
    cached.embed_documents(["one", "two", "one"])
    cached.embed_documents(["one"])
    cached.embed_query("one")

    assert cached.use() == CacheUse(hits=2, misses=3)


def test_a_failing_embedder_is_heard_and_nothing_is_remembered(path: Path, watched: Watched) -> None:
    with CachingEmbedder(Unreachable(), path, max_entries=10) as cached, pytest.raises(StoreUnavailable):
        cached.embed_documents(["one"])

    with CachingEmbedder(watched, path, max_entries=10) as cached:
        cached.embed_documents(["one"])

    assert watched.asked == ["one"]


def test_threads_share_the_cache(cached: CachingEmbedder) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(cached.embed_documents, [NUMBERED[:300]] * 16))

    np.testing.assert_array_equal(found, [Watched().embed_documents(NUMBERED[:300])] * 16)
    assert cached.use().hits + cached.use().misses == 16 * 300


def test_embedding_goes_on_after_the_cache_is_closed(cached: CachingEmbedder, watched: Watched) -> None:
    cached.close()

    cached.embed_documents(["one"])
    cached.embed_documents(["one"])

    assert watched.asked == ["one", "one"]


def test_a_file_that_is_no_database_is_set_aside_and_a_new_one_begun(path: Path, watched: Watched) -> None:
    path.parent.mkdir()
    path.write_bytes(b"something else" * 1000)

    with CachingEmbedder(watched, path, max_entries=10) as cached:
        cached.embed_documents(["one"])
        cached.embed_documents(["one"])

    assert watched.asked == ["one"]
    assert path.with_name(path.name + ".damaged").read_bytes() == b"something else" * 1000


def test_damage_found_while_reading_is_set_aside_and_a_new_file_begun(path: Path, watched: Watched) -> None:
    with CachingEmbedder(Watched(), path, max_entries=10_000) as cached:
        cached.embed_documents(NUMBERED)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))

    with CachingEmbedder(watched, path, max_entries=10_000) as cached:
        damaged = cached.embed_documents(NUMBERED)
        healed = cached.embed_documents(NUMBERED)

    np.testing.assert_array_equal(damaged, Watched().embed_documents(NUMBERED))
    np.testing.assert_array_equal(healed, damaged)
    assert watched.asked == NUMBERED
    assert path.with_name(path.name + ".damaged").exists()


def test_damage_that_cannot_be_set_aside_ends_the_caching_and_nothing_else(
    path: Path, watched: Watched
) -> None:
    path.with_name(path.name + ".damaged").mkdir(parents=True)
    path.write_bytes(b"something else" * 1000)

    with CachingEmbedder(watched, path, max_entries=10) as cached:
        cached.embed_documents(["one"])
        cached.embed_documents(["one"])

    assert watched.asked == ["one", "one"]


def inside_a_file(path: Path) -> None:
    path.parent.write_text("not a folder")


def in_the_way_of_a_folder(path: Path) -> None:
    path.mkdir(parents=True)


@pytest.mark.parametrize("obstacle", [inside_a_file, in_the_way_of_a_folder])
def test_where_no_file_can_be_made_embedding_goes_on_without_one(
    obstacle: Callable[[Path], None], path: Path, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    obstacle(path)

    with CachingEmbedder(watched, path, max_entries=10) as cached:
        vectors = cached.embed_documents(["one", "two"])

    np.testing.assert_array_equal(vectors, Watched().embed_documents(["one", "two"]))
    assert "no longer cached" in caplog.text


@contextmanager
def no_room_to_write() -> Iterator[None]:
    resource = pytest.importorskip("resource", reason="file sizes cannot be limited here")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_when_the_disk_is_full_embedding_goes_on(
    cached: CachingEmbedder, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    cached.embed_documents(["one"])

    with no_room_to_write():
        vectors = cached.embed_documents(["one", *NUMBERED])

    np.testing.assert_array_equal(vectors, Watched().embed_documents(["one", *NUMBERED]))
    assert watched.asked == ["one", *NUMBERED]
    assert "no longer cached" in caplog.text
