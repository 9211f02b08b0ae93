"""An embedder for tests: no model, no files, the same vectors in every process.

Texts that share words are near each other, which is what most tests need. It knows nothing of
meaning: "car" and "automobile" are strangers to it.
"""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from backstory.ports import Matrix, Vector

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_A-Za-z]+")  # camelCase is two words

_STEM_LETTERS = 5  # the first letters stand for a word, so that "rounds" and "rounding" are one


class WordEmbedder:
    """Embeds a text as the sum of random but fixed directions, one for each of its words."""

    def __init__(self, dimension: int = 128) -> None:
        self._dimension = dimension

    @property
    def fingerprint(self) -> str:
        return f"words-{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """A unit row for each text; zeros for a text without words."""
        vectors = np.empty((len(texts), self._dimension), np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """The vector the same text has as a document."""
        vector = np.zeros(self._dimension, np.float32)
        for stem in sorted({word.lower()[:_STEM_LETTERS] for word in _WORD.findall(text)}):
            vector += self._direction(stem)
        vector /= np.linalg.norm(vector) or 1
        return vector

    def _direction(self, stem: str) -> Vector:
        # A digest, because `hash` differs from process to process. Short words are mostly grammar,
        # so a word weighs as much as it has letters.
        noise = np.frombuffer(hashlib.shake_256(stem.encode()).digest(self._dimension), np.uint8)
        return (noise.astype(np.float32) - np.float32(127.5)) * len(stem)
