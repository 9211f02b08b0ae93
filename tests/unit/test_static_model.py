"""The built-in model: its numbers, and what happens when its files are not the shipped ones."""

import hashlib
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TypedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.adapters.embedders.static import SHIPPED, StaticEmbedder
from backstory.errors import StoreCorrupt
from backstory.ports import Vector

MODEL = StaticEmbedder()
FILES = ["model.safetensors", "tokenizer.json"]


class Reference(TypedDict):
    """A text and the vector that the model's training runtime gave it."""

    text: str
    vector: list[float]


REFERENCES: list[Reference] = json.loads(
    Path(__file__).with_name("static_model_reference.json").read_text("utf-8")
)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: ascii(reference["text"][:24]))
def test_a_vector_is_the_one_the_model_was_trained_to_give(reference: Reference) -> None:
    np.testing.assert_allclose(MODEL.embed_query(reference["text"]), reference["vector"], atol=1e-5)


def test_a_batch_of_everything_gives_the_same_numbers() -> None:
    vectors = MODEL.embed_documents([reference["text"] for reference in REFERENCES])

    np.testing.assert_allclose(vectors, [reference["vector"] for reference in REFERENCES], atol=1e-5)


def test_tokens_after_the_first_512_do_not_count() -> None:
    counted = " ".join(["cat", "dog"] * 256)

    np.testing.assert_array_equal(MODEL.embed_query(counted + " bird" * 500), MODEL.embed_query(counted))


def test_a_very_long_text_is_known_by_its_beginning() -> None:
    beginning = "The cart total is rounded. " * 120

    np.testing.assert_array_equal(
        MODEL.embed_query(beginning + "Backups run at night. " * 100_000), MODEL.embed_query(beginning)
    )


def test_half_a_surrogate_pair_is_passed_over() -> None:
    np.testing.assert_array_equal(
        MODEL.embed_query("caf\u00e9 \ud83d bar"), MODEL.embed_query("caf\u00e9  bar")
    )


@given(st.lists(st.text(st.characters(), max_size=200), max_size=5))
def test_every_text_has_a_unit_or_a_zero_vector(texts: list[str]) -> None:
    lengths = np.linalg.norm(MODEL.embed_documents(texts), axis=1)

    assert all(length == 0 or length == pytest.approx(1, abs=1e-5) for length in lengths)


def test_size_and_fingerprint_are_known_before_anything_is_loaded(tmp_path: Path) -> None:
    absent = StaticEmbedder(tmp_path / "absent")

    assert (absent.dimension, absent.fingerprint) == (MODEL.dimension, MODEL.fingerprint)


@pytest.mark.parametrize("name", FILES)
def test_the_fingerprint_names_the_shipped_files(name: str) -> None:
    digest = hashlib.sha256((SHIPPED / name).read_bytes()).hexdigest()

    assert digest[:8] in MODEL.fingerprint


def test_the_config_beside_the_model_tells_the_truth() -> None:
    config = json.loads((SHIPPED / "config.json").read_text("utf-8"))

    assert (config["dim"], config["max_tokens"], config["skip_ids"]) == (MODEL.dimension, 512, [0, 1])


def test_threads_that_come_first_together_all_get_the_vector() -> None:
    fresh, together = StaticEmbedder(), Barrier(8)

    def embed(text: str) -> Vector:
        together.wait()
        return fresh.embed_query(text)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(embed, ["nightly backup"] * 8))

    np.testing.assert_array_equal(found, [MODEL.embed_query("nightly backup")] * 8)


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", [flip_a_byte, cut_short, Path.unlink])
def test_a_file_that_is_not_the_shipped_one_is_refused(
    name: str, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "model")
    damage(folder / name)

    with pytest.raises(StoreCorrupt) as caught:
        StaticEmbedder(folder).embed_query("nightly backup")

    assert "reinstall" in (caught.value.hint or "")
