"""The built-in embedder: a table of token vectors that ships with the package.

A text's vector is the normalised sum of its tokens' rows, each weighted by the square root of how
often the token occurs. There is no network to run, so a chat turn costs about fifty microseconds. Long
texts are cut off here; splitting them into chunks is left to `ranking.chunks`.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from backstory.errors import StoreCorrupt
from backstory.ports import Matrix, Vector

SHIPPED = Path(__file__).parent / "static_model"

_WEIGHTS = "model.safetensors"
_TOKENIZER = "tokenizer.json"
_SHA256 = {
    _WEIGHTS: "f23419045653b45005d348653aafe3a7294efc372c7c097f4a18a58186301106",
    _TOKENIZER: "fc7efa5eea13d35f6a3d1de466d17e32444c84c8b09d5631839152cde97b7113",
}
_DTYPES: dict[str, np.dtype[Any]] = {"I8": np.dtype("i1"), "F32": np.dtype("<f4")}

_DIMENSION = 256
_MAX_TOKENS = 512
_FIRST_WORD_ID = 2  # 0 pads, 1 stands for every unknown token: neither means anything

# More than 512 tokens unless a token takes over 32 characters; without a limit a text of 1 MB
# costs 300 ms and 66 MB for tokens that do not count.
_MAX_CHARS = 16_384

# Texts worked on together. Larger blocks fall out of the processor's cache; this bounds memory too,
# at 64 * 512 rows of 1 KB.
_BLOCK = 64


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Tokenizer
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]

    def sums(self, texts: Sequence[str]) -> Matrix:
        """The weighted sum of each text's rows, not yet of unit length."""
        ids = self._token_ids(texts)
        lengths = np.fromiter(map(len, ids), np.intp, len(ids))
        flat = np.fromiter(chain.from_iterable(ids), np.intp, int(lengths.sum()))
        owners = np.repeat(np.arange(len(ids)), lengths)
        pairs, counts = np.unique(owners * len(self.rows) + flat, return_counts=True)
        owners, tokens = np.divmod(pairs, len(self.rows))
        weights = np.sqrt(counts, dtype=np.float32) * self.scales[tokens]
        rows = self.rows[tokens].astype(np.float32)
        ends = np.searchsorted(owners, np.arange(len(ids) + 1))
        sums = np.empty((len(ids), rows.shape[1]), np.float32)
        for i, (start, end) in enumerate(pairwise(ends)):
            # Not `@`: BLAS is no faster here, and its threads halve the speed of a busy machine.
            np.einsum("t,td->d", weights[start:end], rows[start:end], out=sums[i])
        return sums

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self.tokenizer.encode_batch_fast(list(map(_encodable, texts)), add_special_tokens=False)
        return [encoding.ids[:_MAX_TOKENS] for encoding in encodings]


class StaticEmbedder:
    """Embeds with the built-in model. Loads it at the first text; safe to use from many threads."""

    def __init__(self, folder: Path = SHIPPED) -> None:
        self._folder = folder
        self._loading = threading.Lock()
        self._model: _Model | None = None

    @property
    def fingerprint(self) -> str:
        return f"backstory-static-{_DIMENSION}-{_SHA256[_WEIGHTS][:8]}-{_SHA256[_TOKENIZER][:8]}"

    @property
    def dimension(self) -> int:
        return _DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """A unit row for each text; zeros for a text without a known token."""
        model = self._loaded()
        vectors = np.empty((len(texts), _DIMENSION), np.float32)
        for start in range(0, len(texts), _BLOCK):
            vectors[start : start + _BLOCK] = model.sums(texts[start : start + _BLOCK])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """The vector the same text has as a document: the model knows one space."""
        vector: Vector = self.embed_documents([text])[0]
        return vector

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._model = _load(self._folder)
            return self._model


def _encodable(text: str) -> str:
    """The part of a text that counts, without the lone surrogates that the tokenizer refuses."""
    text = text[:_MAX_CHARS]
    return text if text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def _load(folder: Path) -> _Model:
    for name, expected in _SHA256.items():
        _verify(folder / name, expected)
    tensors = _tensors(folder / _WEIGHTS)
    scales = np.array(tensors["scale"])
    scales[:_FIRST_WORD_ID] = 0
    return _Model(Tokenizer.from_file(str(folder / _TOKENIZER)), tensors["embeddings"], scales)


def _verify(path: Path, expected: str) -> None:
    """Raise `StoreCorrupt` unless the file is the one that was shipped (11 ms for both files)."""
    hint = "reinstall the backstory package"
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StoreCorrupt(f"the built-in model cannot be read: {error}", hint=hint) from error
    if found != expected:
        raise StoreCorrupt(f"the built-in model is damaged: {path} has SHA-256 {found}", hint=hint)


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, mapped rather than read: rows never used stay on disk."""
    data: NDArray[np.uint8] = np.asarray(np.memmap(path, mode="r"))
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:start].tobytes())
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        bytes_of = data[start + begin : start + end]
        tensors[name] = bytes_of.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors
