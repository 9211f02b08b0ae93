"""Composition root: the one place that knows which engines are in use."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import assert_never

from backstory.actions.projection import session
from backstory.adapters.embedders.caching import CachingEmbedder
from backstory.adapters.embedders.static import StaticEmbedder
from backstory.adapters.ladybug import LadybugGraphStore
from backstory.adapters.qdrant_edge import QdrantEdgeVectorStore
from backstory.engine import Engine, TranscriptPlaces
from backstory.errors import BackstoryError
from backstory.model.upkeep import CacheUse
from backstory.ports import Embedder, GraphStore, VectorStore
from backstory.records.owner import owning
from backstory.records.records import Records
from backstory.settings import Settings
from backstory.settings.choices import (
    EmbeddedGraph,
    EmbeddedVectors,
    EmbedderChoice,
    EngineChoice,
    FastEmbed,
    GraphChoice,
    Neo4jServer,
    Ollama,
    OpenAICompatible,
    PostgresRecords,
    QdrantServer,
    RecordsChoice,
    SqliteRecords,
    StaticModel,
    VectorsChoice,
    Voyage,
    unsupported,
)


@contextmanager
def open_engine(settings: Settings) -> Iterator[Engine]:
    """Open everything the settings ask for, and close it in reverse order."""
    where = settings.whereabouts
    with ExitStack() as stack:
        owner = stack.enter_context(owning(where.owner_lock))
        embedder = stack.enter_context(_cached_embedder(settings))
        engine = Engine(
            records=stack.enter_context(_records(settings.records)),
            vectors=stack.enter_context(_vectors(settings.vectors)),
            graph=stack.enter_context(_graph(settings.graph)),
            embedder=embedder,
            home=where.home,
            min_free_bytes=settings.limits.min_free_bytes,
            owner=owner,
            cache_use=embedder.use if isinstance(embedder, CachingEmbedder) else CacheUse,
            transcripts=_transcripts(settings),
        )
        session.begin(engine)
        stack.callback(session.end, engine)
        yield engine


def _transcripts(settings: Settings) -> TranscriptPlaces:
    wanted = settings.transcripts
    if not wanted.enabled:
        return TranscriptPlaces()
    return TranscriptPlaces(
        claude_folders=(wanted.claude_projects_dir,),
        codex_homes=(wanted.codex_home,),
        max_age_days=wanted.max_age_days,
        retention_days=wanted.retention_days,
    )


def _records(choice: RecordsChoice) -> AbstractContextManager[Records]:
    match choice:
        case SqliteRecords(path=path):
            return Records.open(path)
        case PostgresRecords():
            raise _refusal(choice)
        case _:
            assert_never(choice)


def _vectors(choice: VectorsChoice) -> AbstractContextManager[VectorStore]:
    match choice:
        case EmbeddedVectors(folder=folder):
            return QdrantEdgeVectorStore.open(folder)
        case QdrantServer():
            raise _refusal(choice)
        case _:
            assert_never(choice)


def _graph(choice: GraphChoice) -> AbstractContextManager[GraphStore]:
    match choice:
        case EmbeddedGraph(folder=folder):
            return LadybugGraphStore.open(folder)
        case Neo4jServer():
            raise _refusal(choice)
        case _:
            assert_never(choice)


def _cached_embedder(settings: Settings) -> AbstractContextManager[Embedder]:
    embedder, kept = _embedder(settings.embedder), settings.embedding.cache_size
    if not kept:
        return nullcontext(embedder)
    return CachingEmbedder(embedder, settings.whereabouts.cache / "embeddings.db", kept)


def _embedder(choice: EmbedderChoice) -> Embedder:
    match choice:
        case StaticModel():
            return StaticEmbedder()
        case Voyage() | Ollama() | OpenAICompatible() | FastEmbed():
            raise _refusal(choice)
        case _:
            assert_never(choice)


def _refusal(choice: EngineChoice) -> BackstoryError:
    return unsupported(choice) or BackstoryError(f"{choice} is not wired")
