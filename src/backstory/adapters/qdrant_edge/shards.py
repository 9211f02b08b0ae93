"""One index as a folder: the engine's shard, and beside it what the index was made for.

A folder has its name only while it is whole: it is made under another name and renamed, and renamed
again before it is deleted. What a crash leaves under that other name is no index.

The engine's shard is made when the first entry comes: it costs 0.05 to 0.1 s of CPU, and many an index is
never written to. Until then the file that says what the index was made for has another name, so that a
shard that is lost is not taken for one that never was.

Every call of the engine holds the interpreter lock from beginning to end, so each must be short.
"""

import json
import os
import re
import shutil
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, Self

from qdrant_edge import (
    Bm25,
    Bm25Config,
    DisabledStemmer,
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    Filter,
    FloatIndexParams,
    HnswIndexConfig,
    KeywordIndexParams,
    Memory,
    Modifier,
    MultiVectorComparator,
    MultiVectorConfig,
    Point,
    QueryBatchRequest,
    QueryRequest,
    ScalarQuantizationConfig,
    ScalarType,
    ScoredPoint,
    ScrollRequest,
    StopwordsSet,
    TokenizerType,
    UpdateOperation,
    VectorStorageDatatype,
)

from backstory.adapters.qdrant_edge.points import FIELD, LABEL, NUMBER, PROJECT, SPACE
from backstory.errors import StoreUnavailable
from backstory.ports import IndexSpec, WordField

#: Vectors in one segment, at most. New entries gather in one segment, and a step of upkeep takes it whole,
#: so this bounds the step. 100,000 entries of two chunks in segments of 20,000, 40,000 or 80,000 vectors:
#: steps of 0.45, 0.9 or 2 s; a query inside a project 8.4, 6.6 or 6.7 ms, on a machine that was busy.
SEGMENT_VECTORS: Final = 40_000

#: Vectors that make upkeep worth its while; so many that wait for it are searched in 3 ms.
UNSETTLED_VECTORS: Final = 20_000

#: Segments are joined only when there are more: joining rewrites what is settled already.
_SEGMENTS: Final = 16

#: A segment is written anew when half of it is removed: then a step costs no more than what it frees.
_REMOVED_SHARE: Final = 0.5

#: The engine would start 8 threads for each shard; more than there are cores make nothing faster.
_MOST_THREADS: Final = 8

#: What an index, and so its folder, may be called.
NAME: Final = re.compile(r"\w[\w.-]*")

_SPEC: Final = "index.json"
_PLAN: Final = "plan.json"
_SHARD: Final = "shard"
_UNFINISHED: Final = ".unfinished"


class Shard:
    """An opened index. Safe in many threads."""

    def __init__(self, home: Path, spec: IndexSpec, edge: EdgeShard | None) -> None:
        self.spec = spec
        self.weighing = {field.name: _weighing(field) for field in spec.fields}
        self._home = home
        self._edge = edge
        self._closed = False
        self._upkeep = threading.RLock()
        # What former processes left for upkeep is not known: one step finds out.
        self._waiting = UNSETTLED_VECTORS if self.entries else 0

    @classmethod
    def create(cls, home: Path, spec: IndexSpec) -> Self:
        """Plan an index in a folder that is not there yet, and open it."""
        making = _unfinished(home)
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        (making / _PLAN).write_text(json.dumps(asdict(spec)), "utf-8")
        making.rename(home)
        return cls(home, spec, None)

    @classmethod
    def load(cls, home: Path) -> Self:
        """Open the index in a folder."""
        is_plan = (home / _PLAN).exists()
        spec = json.loads((home / (_PLAN if is_plan else _SPEC)).read_text("utf-8"))
        fields = [WordField(**field) for field in spec.pop("fields")]
        # No configuration is given: another one than before would have the next upkeep rewrite everything.
        edge = None if is_plan else EdgeShard.load(str(home / _SHARD))
        return cls(home, IndexSpec(**spec, fields=fields), edge)

    @property
    def entries(self) -> int:
        return self._edge.info().points_count if self._edge else 0

    @property
    def unsettled(self) -> bool:
        return self._waiting >= UNSETTLED_VECTORS

    def is_made_for(self, spec: IndexSpec) -> bool:
        """Whether the index has exactly what the specification asks for."""
        asked, made = (json.loads(json.dumps(asdict(each))) for each in (spec, self.spec))
        return bool(asked == made)

    def upsert(self, points: Sequence[Point], vectors: int) -> None:
        """Store points that hold so many vectors. A segment that is full by then is settled at once."""
        self._made().update(UpdateOperation.upsert_points(list(points)))
        if self._count(vectors) >= SEGMENT_VECTORS:
            self.settle()

    def remove(self, allowed: Filter) -> None:
        """Remove what the filter lets through."""
        if not self._edge:
            return
        before = self.entries
        self._edge.update(UpdateOperation.delete_points_by_filter(allowed))
        self._count(max(before - self.entries, 0))

    def query(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        """Answer all requests in one call."""
        if not self._edge:
            return [[] for _ in requests]
        return self._edge.query_batch(QueryBatchRequest(list(requests)))

    def ids(self, request: ScrollRequest) -> list[str]:
        """A page of ids, in order."""
        return [str(record.id) for record in self._edge.scroll(request)[0]] if self._edge else []

    def settle(self) -> bool:
        """Do the upkeep that waits; whether there was any.

        Flushing keeps the log of writes short: it is replayed when the index is opened after a crash
        (50,000 entries: 2.9 s against 0.6 s), and takes as much space as the entries themselves.
        """
        with self._upkeep:
            if not self._edge or not self.unsettled:
                return False
            self._edge.optimize()
            self._edge.flush()
            self._waiting = 0
            return True

    def close(self) -> None:
        """Write everything to the disk and let the folder go."""
        with self._upkeep:
            self._closed = True
            if self._edge:
                self._edge.close()

    def _made(self) -> EdgeShard:
        """The engine's shard, made if nothing was written before."""
        if self._edge:
            return self._edge
        with self._upkeep:
            if self._closed:  # the folder may belong to another by now
                raise StoreUnavailable(f"the index {self.spec.name} was closed or dropped", hint="try again")
            self._edge = self._edge or _made_in(self._home, self.spec)
            return self._edge

    def _count(self, changed: int) -> int:
        with self._upkeep:
            self._waiting += changed
            return self._waiting


def _made_in(home: Path, spec: IndexSpec) -> EdgeShard:
    """Make the engine's shard of a planned index; the plan's new name says that it is whole."""
    shutil.rmtree(home / _SHARD, ignore_errors=True)  # what a crash left half made
    edge = EdgeShard.create(str(home / _SHARD), _config(spec))
    for name, schema in _payload(spec).items():
        edge.update(UpdateOperation.create_field_index(name, schema))
    (home / _PLAN).rename(home / _SPEC)
    return edge


def delete(home: Path) -> None:
    """Delete the folder of an index that is not open; one that is not there is no error."""
    leaving = _unfinished(home)
    shutil.rmtree(leaving, ignore_errors=True)
    if home.exists():
        home.rename(leaving)
        shutil.rmtree(leaving)


def found_in(folder: Path) -> list[Path]:
    """The folders of the indexes that are there, whole or damaged."""
    return sorted(each for each in folder.iterdir() if each.is_dir() and NAME.fullmatch(each.name))


def clear_remains(folder: Path) -> None:
    """Delete what a crash left of indexes that were being made or deleted."""
    for remains in folder.glob(f".*{_UNFINISHED}"):
        shutil.rmtree(remains, ignore_errors=True)


def _unfinished(home: Path) -> Path:
    return home.with_name(f".{home.name}{_UNFINISHED}")


def _config(spec: IndexSpec) -> EdgeConfig:
    sparse = EdgeSparseVectorParams(modifier=Modifier.Idf)
    return EdgeConfig(
        vectors={SPACE.format(space): _dense(spec, space) for space in spec.spaces},
        sparse_vectors={FIELD.format(field.name): sparse for field in spec.fields},
        payload_memory=Memory.Cold,
        max_search_threads=min(os.cpu_count() or 1, _MOST_THREADS),
        optimizers=EdgeOptimizersConfig(
            deleted_threshold=_REMOVED_SHARE,
            default_segment_number=_SEGMENTS,
            max_segment_size=_kilobytes(SEGMENT_VECTORS, spec.dimension),
            indexing_threshold=_kilobytes(UNSETTLED_VECTORS, spec.dimension),
        ),
    )


def _dense(spec: IndexSpec, space: str) -> EdgeVectorParams:
    """One vector an entry or several, searched by 8-bit codes in memory, scored by 16-bit floats on the disk.

    For 100,000 entries of two chunks: 16 bits instead of 32 change a cosine by less than 0.001 and save
    100 MB of 380. Codes cost 53 MB and make a search of everything a fifth faster (7.8 against 9.9 ms).
    Cold vectors open in 0.4 s with 220 MB of memory, cached ones with 890. `m=0` builds no graph. Where
    several are possible and each entry has one, a search takes twice as long (15.0 against 7.7 ms of CPU).
    """
    several = None if space in spec.single else MultiVectorConfig(MultiVectorComparator.MaxSim)
    return EdgeVectorParams(
        size=spec.dimension,
        distance=Distance.Cosine,
        datatype=VectorStorageDatatype.Float16,
        memory=Memory.Cold,
        multivector_config=several,
        quantization_config=ScalarQuantizationConfig(type=ScalarType.Int8, memory=Memory.Pinned),
        hnsw_config=HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
    )


def _kilobytes(vectors: int, dimension: int) -> int:
    return vectors * dimension * 2 // 1024


def _payload(spec: IndexSpec) -> dict[str, KeywordIndexParams | FloatIndexParams]:
    return {
        PROJECT: KeywordIndexParams(is_tenant=True),
        **{LABEL.format(label): KeywordIndexParams() for label in spec.labels},
        **{NUMBER.format(number): FloatIndexParams() for number in spec.numbers},
    }


def _weighing(field: WordField) -> Bm25:
    """BM25 that splits at blanks and changes no term: words arrive analysed."""
    config = Bm25Config(
        k=field.k1,
        b=field.b,
        avg_len=field.average_words,
        tokenizer=TokenizerType.Whitespace,
        lowercase=False,
        stopwords=StopwordsSet(),
        stemmer=DisabledStemmer(),
    )
    return Bm25(config)
