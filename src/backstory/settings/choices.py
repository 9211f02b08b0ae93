"""Which engine is used: one value for each, so that an impossible mixture cannot be written.

A server is used when its address is set, unless a `BACKSTORY_…` variable says otherwise. A key
alone chooses nothing: changing the embedder re-embeds everything and may send text out. Opening
what was chosen is left to `wiring`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from backstory.bridge.whereabouts import Whereabouts
from backstory.errors import SettingsError
from backstory.settings.engines import (
    EnginesSection,
    FastEmbedSection,
    Neo4jSection,
    OllamaSection,
    OpenAISection,
    QdrantSection,
    VoyageSection,
)
from backstory.settings.kinds import Secret


@dataclass(frozen=True, slots=True)
class SqliteRecords:
    """Records in a file of the data folder."""

    path: Path

    def __str__(self) -> str:
        return f"SQLite file {self.path}"


@dataclass(frozen=True, slots=True)
class PostgresRecords:
    """Records in a PostgreSQL database."""

    url: Secret

    def __str__(self) -> str:
        return "PostgreSQL database"


RecordsChoice: TypeAlias = SqliteRecords | PostgresRecords


@dataclass(frozen=True, slots=True)
class EmbeddedVectors:
    """Vectors in this process."""

    folder: Path

    def __str__(self) -> str:
        return f"embedded in {self.folder}"


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """Vectors at a Qdrant server."""

    url: str
    api_key: Secret | None

    def __str__(self) -> str:
        return f"Qdrant server {self.url}"


VectorsChoice: TypeAlias = EmbeddedVectors | QdrantServer


@dataclass(frozen=True, slots=True)
class EmbeddedGraph:
    """The graph in this process."""

    folder: Path

    def __str__(self) -> str:
        return f"embedded in {self.folder}"


@dataclass(frozen=True, slots=True)
class Neo4jServer:
    """The graph at a Neo4j server."""

    uri: str
    user: str
    password: Secret | None

    def __str__(self) -> str:
        return f"Neo4j server {self.uri}"


GraphChoice: TypeAlias = EmbeddedGraph | Neo4jServer


@dataclass(frozen=True, slots=True)
class StaticModel:
    """The model that comes with Backstory."""

    def __str__(self) -> str:
        return "built-in static model"


@dataclass(frozen=True, slots=True)
class Voyage:
    """Voyage AI."""

    api_key: Secret
    model: str

    def __str__(self) -> str:
        return f"Voyage model {self.model}"


@dataclass(frozen=True, slots=True)
class Ollama:
    """A model that an Ollama server runs."""

    url: str
    model: str

    def __str__(self) -> str:
        return f"Ollama model {self.model} at {self.url}"


@dataclass(frozen=True, slots=True)
class OpenAICompatible:
    """A model behind a server that speaks OpenAI's protocol."""

    url: str
    api_key: Secret | None
    model: str
    dimension: int

    def __str__(self) -> str:
        return f"model {self.model} at {self.url}"


@dataclass(frozen=True, slots=True)
class FastEmbed:
    """A model that fastembed runs on this machine."""

    model: str

    def __str__(self) -> str:
        return f"fastembed model {self.model}"


EmbedderChoice: TypeAlias = StaticModel | Voyage | Ollama | OpenAICompatible | FastEmbed
EngineChoice: TypeAlias = RecordsChoice | VectorsChoice | GraphChoice | EmbedderChoice


@dataclass(frozen=True, slots=True)
class EmbedderSections:
    """What the config file says of each embedder, whichever is used."""

    voyage: VoyageSection
    ollama: OllamaSection
    openai: OpenAISection
    fastembed: FastEmbedSection


def choose_records(engines: EnginesSection, where: Whereabouts) -> RecordsChoice:
    """PostgreSQL when a database is named, else the SQLite file."""
    return PostgresRecords(engines.database_url) if engines.database_url else SqliteRecords(where.records)


def choose_vectors(engines: EnginesSection, qdrant: QdrantSection, where: Whereabouts) -> VectorsChoice:
    """The engine named, or the server when its address is set."""
    url = _qdrant_url(qdrant)
    if engines.vectors == "embedded" or (engines.vectors is None and url is None):
        return EmbeddedVectors(where.vectors)
    if url is None:
        raise SettingsError(
            "BACKSTORY_VECTORS is qdrant, but no Qdrant server is named",
            hint="set QDRANT_URL, for example QDRANT_URL=http://localhost:6333, or unset BACKSTORY_VECTORS",
        )
    return QdrantServer(url, qdrant.api_key)


def _qdrant_url(qdrant: QdrantSection) -> str | None:
    if qdrant.url and qdrant.host:
        raise SettingsError(
            f"QDRANT_URL is {qdrant.url} and QDRANT_HOST is {qdrant.host}: only one of them can be meant",
            hint="unset QDRANT_HOST (and QDRANT_PORT), or unset QDRANT_URL",
        )
    if qdrant.host:
        host = f"[{qdrant.host}]" if ":" in qdrant.host else qdrant.host
        return f"http://{host}:{qdrant.port}"
    return qdrant.url


def choose_graph(engines: EnginesSection, neo4j: Neo4jSection, where: Whereabouts) -> GraphChoice:
    """The engine named, or the server when its address is set."""
    if engines.graph == "embedded" or (engines.graph is None and neo4j.uri is None):
        return EmbeddedGraph(where.graph)
    if neo4j.uri is None:
        raise SettingsError(
            "BACKSTORY_GRAPH is neo4j, but no Neo4j server is named",
            hint="set NEO4J_URI, for example NEO4J_URI=bolt://localhost:7687, or unset BACKSTORY_GRAPH",
        )
    return Neo4jServer(neo4j.uri, neo4j.user, neo4j.password)


def choose_embedder(engines: EnginesSection, sections: EmbedderSections) -> EmbedderChoice:
    """The embedder named, with what it needs."""
    match engines.embedder:
        case "static":
            return StaticModel()
        case "voyage":
            return _voyage(sections.voyage)
        case "ollama":
            return Ollama(sections.ollama.url, sections.ollama.model)
        case "openai":
            return _openai(sections.openai)
        case "fastembed":
            return FastEmbed(sections.fastembed.model)


def choose_fallback(engines: EnginesSection) -> StaticModel | None:
    """The model that stands in while the embedder's server is down; the built-in one needs none."""
    return StaticModel() if engines.embedder_fallback == "static" and engines.embedder != "static" else None


def _voyage(voyage: VoyageSection) -> Voyage:
    if voyage.api_key is None:
        raise SettingsError(
            "BACKSTORY_EMBEDDER is voyage, but there is no Voyage key",
            hint="set VOYAGE_API_KEY to your key, or unset BACKSTORY_EMBEDDER for the built-in model",
        )
    return Voyage(voyage.api_key, voyage.model)


def _openai(openai: OpenAISection) -> OpenAICompatible:
    if openai.base_url is None or openai.model is None or openai.dimension is None:
        raise SettingsError(
            "BACKSTORY_EMBEDDER is openai, but the server's address, model or dimension is not set",
            hint="set OPENAI_BASE_URL, OPENAI_EMBEDDING_MODEL and OPENAI_EMBEDDING_DIMENSION, "
            "or unset BACKSTORY_EMBEDDER for the built-in model",
        )
    return OpenAICompatible(openai.base_url, openai.api_key, openai.model, openai.dimension)


def unsupported(choice: EngineChoice) -> SettingsError | None:
    """Why this version cannot use the engine chosen, and what to do; None when it can."""
    match choice:
        case SqliteRecords() | EmbeddedVectors() | EmbeddedGraph() | StaticModel():
            return None
        case PostgresRecords():
            remedy = "unset BACKSTORY_DATABASE_URL to keep the records in a SQLite file"
        case QdrantServer():
            remedy = "set BACKSTORY_VECTORS=embedded to use the embedded engine"
        case Neo4jServer():
            remedy = "set BACKSTORY_GRAPH=embedded to use the embedded engine"
        case Voyage() | Ollama() | OpenAICompatible() | FastEmbed():
            remedy = "set BACKSTORY_EMBEDDER=static to use the built-in model"
    return SettingsError(f"{choice} cannot be used by this version yet", hint=remedy)
