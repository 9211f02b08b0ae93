"""What every Embedder promises, asked of every implementation."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest

from backstory.adapters.embedders.caching import CachingEmbedder
from backstory.adapters.embedders.static import StaticEmbedder
from backstory.ports import Embedder
from backstory.testing.embedder import WordEmbedder

EMBEDDERS: dict[str, Callable[[Path], AbstractContextManager[Embedder]]] = {
    "static": lambda folder: nullcontext(StaticEmbedder()),
    "cached": lambda folder: CachingEmbedder(StaticEmbedder(), folder / "cache.db", max_entries=1000),
    "words": lambda folder: nullcontext(WordEmbedder()),
}

DOCUMENTS = [
    "The cart total is rounded up to whole cents before tax.",
    "Login uses OAuth tokens that expire after one hour.",
    "def retry_with_backoff(call, attempts): sleeps longer after each failure",
    "Database migrations run in order and are never edited later.",
    "The nightly backup is written to the second disk at three.",
]
QUERIES = [
    "how is the cart total rounded",
    "when do OAuth login tokens expire",
    "retryWithBackoff after a failure",
    "are database migrations edited",
    "where is the nightly backup written",
]
ODD_TEXTS = [
    "a\0b",
    "half \ud800 a pair",
    "\U0001f680 launch",
    "x" * 100_000,
    "word " * 100_000,
    "\u0301\u200d",
]


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Embedder]:
    with EMBEDDERS[request.param](tmp_path) as opened:
        yield opened


def test_documents_become_unit_rows_of_the_promised_size(embedder: Embedder) -> None:
    vectors = embedder.embed_documents(DOCUMENTS)

    assert vectors.shape == (len(DOCUMENTS), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_query_becomes_one_unit_vector_of_the_same_size(embedder: Embedder) -> None:
    vector = embedder.embed_query(QUERIES[0])

    assert vector.shape == (embedder.dimension,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", " \n\t", "\0", "()"])
def test_a_text_without_words_has_the_zero_vector(embedder: Embedder, text: str) -> None:
    assert not embedder.embed_documents([text]).any()
    assert not embedder.embed_query(text).any()


def test_a_text_without_words_leaves_its_neighbours_alone(embedder: Embedder) -> None:
    vectors = embedder.embed_documents(["", DOCUMENTS[0], ""])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx([0, 1, 0], abs=1e-5)


def test_no_documents_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.dimension)


@pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: ascii(text[:12]))
def test_any_text_can_be_embedded(embedder: Embedder, text: str) -> None:
    for vector in (embedder.embed_query(text), embedder.embed_documents([text])[0]):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5) or not vector.any()


def test_a_batch_gives_each_text_the_vector_it_has_alone(embedder: Embedder) -> None:
    texts = [f"{DOCUMENTS[i % 5]} Note {i}: see ticket {i * 7919}." for i in range(150)]

    batch = embedder.embed_documents(texts)

    alone = np.concatenate([embedder.embed_documents([text]) for text in texts])
    np.testing.assert_allclose(batch, alone, atol=1e-6)


def test_a_batch_may_be_any_sequence(embedder: Embedder) -> None:
    np.testing.assert_array_equal(
        embedder.embed_documents(tuple(DOCUMENTS)), embedder.embed_documents(DOCUMENTS)
    )


def test_each_query_is_nearest_to_its_own_document(embedder: Embedder) -> None:
    cosines = (
        np.stack([embedder.embed_query(query) for query in QUERIES]) @ embedder.embed_documents(DOCUMENTS).T
    )

    assert cosines.argmax(axis=1).tolist() == [0, 1, 2, 3, 4]


def test_the_same_text_has_the_same_vector_again(embedder: Embedder) -> None:
    first = embedder.embed_documents(DOCUMENTS)

    np.testing.assert_array_equal(first, embedder.embed_documents(DOCUMENTS))


def test_what_a_caller_does_to_a_vector_changes_no_later_answer(embedder: Embedder) -> None:
    before = embedder.embed_query(QUERIES[0]).copy()

    embedder.embed_query(QUERIES[0])[:] = 0
    embedder.embed_documents(QUERIES)[:] = 0

    np.testing.assert_array_equal(embedder.embed_query(QUERIES[0]), before)


def test_many_threads_get_the_answers_that_one_gets(embedder: Embedder) -> None:
    batches = [[f"{text} In batch {i}." for text in DOCUMENTS] for i in range(32)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(embedder.embed_documents, batches))

    for batch, vectors in zip(batches, found, strict=True):
        np.testing.assert_allclose(vectors, embedder.embed_documents(batch), atol=1e-6)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_equal_fingerprint_means_equal_vectors(name: str, tmp_path: Path) -> None:
    with EMBEDDERS[name](tmp_path / "one") as one, EMBEDDERS[name](tmp_path / "other") as other:
        assert one.fingerprint == other.fingerprint
        np.testing.assert_array_equal(one.embed_documents(DOCUMENTS), other.embed_documents(DOCUMENTS))


def test_no_two_models_share_a_fingerprint() -> None:
    fingerprints = [StaticEmbedder().fingerprint, WordEmbedder().fingerprint, WordEmbedder(64).fingerprint]

    assert len(set(fingerprints)) == 3


def test_the_word_embedder_does_not_depend_on_the_hash_seed_of_the_process() -> None:
    code = "from backstory.testing.embedder import *; print(WordEmbedder().embed_query('one two').tolist())"

    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(answers) == 1
