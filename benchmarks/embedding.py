"""The built-in embedder: how fast it loads, embeds and answers, and what its cache gains."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from backstory.adapters.embedders.caching import CachingEmbedder
from backstory.adapters.embedders.static import StaticEmbedder
from backstory.ports import Embedder
from benchmarks.console import Table, say
from benchmarks.corpus import Corpus
from benchmarks.options import Options
from benchmarks.timing import seconds, spread

#: Texts a sample: with 200 samples the shortest measurement takes a tenth of a second or more.
_TEXTS_A_SAMPLE: Final = 50
_LONG_CHARS: Final = 1_600  # four chunks in one: what an embedder without chunks would be given
_BATCH: Final = 256  # what projection embeds at once


def run(options: Options) -> Iterator[Table]:
    """One table: texts a second, and milliseconds to load and to answer."""
    say("embedding")
    count = options.samples * _TEXTS_A_SAMPLE
    texts = [new.content for new in Corpus(1).newcomers(count)]
    short = [text[:100] for text in texts]
    long = [(text * (1 + _LONG_CHARS // len(text)))[:_LONG_CHARS] for text in texts]
    embedder = StaticEmbedder()
    load_s, _ = seconds(lambda: embedder.embed_query("a first text"))
    queries = spread(partial(embedder.embed_query, text) for text in short)
    uncached, cached = _through_cache(options.scratch / "embeddings.db", embedder, short)
    rows = {
        "load, ms": (1000 * load_s,),
        "query: p50, ms": (queries.p50_ms,),
        "query: p95, ms": (queries.p95_ms,),
        "100 characters, texts a second": (_rate(embedder, short),),
        f"{_LONG_CHARS:,} characters, texts a second": (_rate(embedder, long),),
        "100 characters, into the cache, texts a second": (uncached,),
        "100 characters, from the cache, texts a second": (cached,),
    }
    yield Table(f"embedding: {count:,} texts of each length", ("figure",), rows)


def _through_cache(file: Path, embedder: Embedder, texts: Sequence[str]) -> tuple[float, float]:
    with CachingEmbedder(embedder, file, max_entries=2 * len(texts)) as caching:
        return _rate(caching, texts), _rate(caching, texts)


def _rate(embedder: Embedder, texts: Sequence[str]) -> float:
    """Texts a second, in the batches that projection makes."""
    parts = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
    taken, _ = seconds(lambda: [embedder.embed_documents(part) for part in parts])
    return len(texts) / taken
