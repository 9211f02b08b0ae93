"""Composition root: the one place that knows which engines are in use."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import assert_never

from backstory.actions.conversations.migrate import CHOICE
from backstory.actions.projection import session
from backstory.adapters.conversations.broken import BrokenConversationStorage
from backstory.adapters.conversations.in_memory import InMemoryConversationStorage
from backstory.adapters.conversations.jsonl import JsonlConversationStorage
from backstory.adapters.conversations.records import RecordsConversationStorage
from backstory.adapters.embedders.caching import CachingEmbedder
from backstory.adapters.embedders.static import StaticEmbedder
from backstory.adapters.extractors.llm import LlmExtractor
from backstory.adapters.extractors.rules import RuleExtractor
from backstory.adapters.ladybug import LadybugGraphStore
from backstory.adapters.language_model import Api, LanguageModel
from backstory.adapters.qdrant_edge import QdrantEdgeVectorStore
from backstory.adapters.summarizers.extractive import ExtractiveSummarizer
from backstory.adapters.summarizers.llm import LlmSummarizer
from backstory.engine import Engine, LiveStorages, TranscriptPlaces
from backstory.errors import BackstoryError, InputError, SettingsError, StoreCorrupt
from backstory.model.live import ContextLimits, TierLimits
from backstory.model.upkeep import CacheUse
from backstory.ports import ConversationStorage, Embedder, Extractor, GraphStore, Summarizer, VectorStore
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
from backstory.settings.switches import FollowedSwitches


@contextmanager
def open_engine(settings: Settings) -> Iterator[Engine]:
    """Open everything the settings ask for, and close it in reverse order."""
    where = settings.whereabouts
    with ExitStack() as stack:
        owner = stack.enter_context(owning(where.owner_lock))
        plain = _embedder(settings.embedder)
        embedder = stack.enter_context(_cached_embedder(settings, plain))
        records = stack.enter_context(_records(settings.records))
        engine = Engine(
            records=records,
            vectors=stack.enter_context(_vectors(settings.vectors)),
            graph=stack.enter_context(_graph(settings.graph)),
            embedder=embedder,
            live=LiveStorages(partial(_storage, settings, records, stack), _storage_name(settings, records)),
            summarizer=_summarizer(settings, plain),
            extractor=_extractor(settings),
            home=where.home,
            min_free_bytes=settings.limits.min_free_bytes,
            owner=owner,
            cache_use=embedder.use if isinstance(embedder, CachingEmbedder) else CacheUse,
            transcripts=_transcripts(settings),
            roots=_roots(settings),
            tiers=_tiers(settings),
            context=_context(settings),
            queue_max=settings.embedding.queue_max,
            switches=FollowedSwitches(settings),
        )
        session.begin(engine)
        stack.callback(session.end, engine)
        yield engine


def _roots(settings: Settings) -> Sequence[Path]:
    path = settings.project.path
    return (*settings.project.allowed_roots, *((path,) if path else ()))


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


def _tiers(settings: Settings) -> TierLimits:
    wanted = settings.tiers
    return TierLimits(
        active_turns=wanted.active_turns,
        summaries=wanted.summaries,
        summary_turns=wanted.summary_turns,
        archived_turns=wanted.archived_turns,
        max_tokens=wanted.max_tokens,
        decay=wanted.decay,
    )


def _context(settings: Settings) -> ContextLimits:
    wanted = settings.context
    window = timedelta(milliseconds=wanted.time_window_ms)
    return ContextLimits(wanted.recent_messages, wanted.semantic_messages, wanted.semantic_threshold, window)


def _storage_name(settings: Settings, records: Records) -> str:
    """Where live conversations are: where a setting says, else where they were moved to."""
    with records.reading() as transaction:
        moved_to = transaction.store.get(CHOICE)
    was_set = settings.chosen("BACKSTORY_CONVERSATION_STORAGE")
    return settings.context.storage if was_set or moved_to is None else moved_to


def _storage(settings: Settings, records: Records, stack: ExitStack, name: str) -> ConversationStorage:
    """Open one of the places for live conversations; it is closed with the engine."""
    match name:
        case "records":
            return RecordsConversationStorage(records)
        case "jsonl":
            wanted = settings.context
            files = JsonlConversationStorage.open(
                wanted.storage_path,
                max_file_bytes=wanted.max_file_bytes,
                compaction_interval_s=wanted.compaction_interval_ms / 1000,
            )
            try:
                return stack.enter_context(files)
            except StoreCorrupt as damage:  # memories and transcripts are not damaged by it
                return BrokenConversationStorage(damage)
        case "memory":
            return InMemoryConversationStorage()
        case _:
            raise InputError(
                f"live conversations cannot be kept in {name}", hint="it can be records, jsonl or memory"
            )


def _summarizer(settings: Settings, embedder: Embedder) -> Summarizer:
    extractive = ExtractiveSummarizer(embedder)
    if settings.summaries.by == "extractive":
        return extractive
    model = _language_model(settings, Api(settings.summaries.by), "BACKSTORY_SUMMARIZER", "extractive")
    return LlmSummarizer(model, extractive)


def _extractor(settings: Settings) -> Extractor:
    rules = RuleExtractor()
    if settings.extraction.by == "rules":
        return rules
    model = _language_model(settings, Api(settings.extraction.by), "BACKSTORY_EXTRACTOR", "rules")
    return LlmExtractor(model, rules)


def _language_model(settings: Settings, api: Api, wanted_by: str, instead: str) -> LanguageModel:
    """The model that is chosen; raises `SettingsError` if the settings do not say where or which it is."""
    wanted, openai = settings.summaries, settings.openai
    url, model, key = {
        Api.ANTHROPIC: (wanted.anthropic_url, wanted.anthropic_model, wanted.anthropic_key),
        Api.OPENAI: (openai.base_url, wanted.openai_model, openai.api_key),
        Api.OLLAMA: (settings.ollama.url, wanted.ollama_model, None),
    }[api]
    if not url or not model or (api is Api.ANTHROPIC and not key):
        needed = "OPENAI_BASE_URL and OPENAI_CHAT_MODEL" if api is Api.OPENAI else "ANTHROPIC_API_KEY"
        raise SettingsError(f"{wanted_by}={api} needs {needed}", hint=f"set them, or {wanted_by}={instead}")
    return LanguageModel(
        api, url, model, key.reveal() if key else "", wanted.timeout_s, wanted.max_input_tokens
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


def _cached_embedder(settings: Settings, embedder: Embedder) -> AbstractContextManager[Embedder]:
    kept = settings.embedding.cache_size
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
