"""The sections of the config file that choose engines and say how to reach them.

They are raw: any mixture can be written. `choices` makes of them the one engine that is used.
"""
# ruff: noqa: RUF009  `setting` and `optional` give the field's declaration, not a value to be shared

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from backstory.settings.kinds import Host, OneOf, Secret, SecretText, SecretUrl, Text, Url, Whole
from backstory.settings.setting import optional, setting

VectorsName: TypeAlias = Literal["embedded", "qdrant"]
GraphName: TypeAlias = Literal["embedded", "neo4j"]
EmbedderName: TypeAlias = Literal["static", "voyage", "ollama", "openai", "fastembed"]
FallbackName: TypeAlias = Literal["off", "static"]

PORT: Final = Whole(1, 65535)
WEB: Final = Url(("http", "https"))
BOLT: Final = Url(("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"))
POSTGRES: Final = SecretUrl(("postgresql", "postgresql+psycopg"))


@dataclass(frozen=True, slots=True)
class EnginesSection:
    """Which engines do the work."""

    database_url: Secret | None = optional(
        "BACKSTORY_DATABASE_URL",
        POSTGRES,
        "postgresql://backstory:password@localhost/backstory",
        "PostgreSQL database that holds the records in place of the SQLite file.",
    )
    vectors: VectorsName | None = optional(
        "BACKSTORY_VECTORS",
        OneOf(get_args(VectorsName)),
        "embedded",
        "Vector engine; unset, it is the Qdrant server if one is named, else the embedded engine.",
    )
    graph: GraphName | None = optional(
        "BACKSTORY_GRAPH",
        OneOf(get_args(GraphName)),
        "embedded",
        "Graph engine; unset, it is the Neo4j server if one is named, else the embedded engine.",
    )
    embedder: EmbedderName = setting(
        "BACKSTORY_EMBEDDER",
        OneOf(get_args(EmbedderName)),
        "static",
        "What turns text into vectors; `voyage`, `ollama` and `openai` send the text to a server.",
    )
    embedder_fallback: FallbackName = setting(
        "BACKSTORY_EMBEDDER_FALLBACK",
        OneOf(get_args(FallbackName)),
        "off",
        "`static` keeps a second, local set of vectors for when the embedder's server is down.",
    )


@dataclass(frozen=True, slots=True)
class QdrantSection:
    """The Qdrant server."""

    url: str | None = optional("QDRANT_URL", WEB, "http://localhost:6333", "Address of the Qdrant server.")
    host: str | None = optional(
        "QDRANT_HOST", Host(), "localhost", "Host of the Qdrant server, in place of `QDRANT_URL`."
    )
    port: int = setting("QDRANT_PORT", PORT, "6333", "HTTP port that goes with `QDRANT_HOST`.")
    api_key: Secret | None = optional(
        "QDRANT_API_KEY", SecretText(), "your-key", "Key, if the Qdrant server asks for one."
    )


@dataclass(frozen=True, slots=True)
class Neo4jSection:
    """The Neo4j server."""

    uri: str | None = optional(
        "NEO4J_URI", BOLT, "bolt://localhost:7687", "Bolt address of the Neo4j server."
    )
    user: str = setting("NEO4J_USER", Text(), "neo4j", "User at the Neo4j server.")
    password: Secret | None = optional(
        "NEO4J_PASSWORD", SecretText(), "your-password", "Password, if the Neo4j server asks for one."
    )


@dataclass(frozen=True, slots=True)
class VoyageSection:
    """The Voyage embedder."""

    api_key: Secret | None = optional(
        "VOYAGE_API_KEY", SecretText(), "your-key", "Voyage AI key; it does not choose Voyage by itself."
    )
    model: str = setting("VOYAGE_MODEL", Text(), "voyage-code-3", "Voyage embedding model.")


@dataclass(frozen=True, slots=True)
class OllamaSection:
    """The Ollama embedder."""

    url: str = setting("OLLAMA_URL", WEB, "http://localhost:11434", "Address of the Ollama server.")
    model: str = setting("OLLAMA_MODEL", Text(), "nomic-embed-text", "Embedding model that Ollama runs.")


@dataclass(frozen=True, slots=True)
class OpenAISection:
    """An embedder behind any server that speaks OpenAI's protocol."""

    base_url: str | None = optional(
        "OPENAI_BASE_URL", WEB, "http://localhost:8000/v1", "Address of the server, without `/embeddings`."
    )
    api_key: Secret | None = optional(
        "OPENAI_API_KEY", SecretText(), "your-key", "Key, if the server asks for one."
    )
    model: str | None = optional(
        "OPENAI_EMBEDDING_MODEL", Text(), "text-embedding-3-small", "Embedding model that the server runs."
    )
    dimension: int | None = optional(
        "OPENAI_EMBEDDING_DIMENSION", Whole(1), "1536", "Length of that model's vectors."
    )


@dataclass(frozen=True, slots=True)
class FastEmbedSection:
    """The fastembed embedder: ONNX models on this machine."""

    model: str = setting(
        "FASTEMBED_MODEL",
        Text(),
        "BAAI/bge-small-en-v1.5",
        "Model that fastembed runs; it is downloaded at first use.",
    )
