"""The list of settings: one declaration each, from which everything else is derived.

A class here is a section of the config file and a field is a key in it; its declaration says the
environment variable, the kind of value, the default or an example, and what it is for. Reading,
`backstory config` and the test of the documentation all walk `SETTINGS`. The sections that
choose engines are in `engines`, those of live conversations in `live`.
"""
# ruff: noqa: RUF009  `setting` and `optional` give the field's declaration, not a value to be shared

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from backstory.bridge.whereabouts import HOME_VARIABLE
from backstory.settings.engines import (
    PORT,
    EnginesSection,
    FastEmbedSection,
    Neo4jSection,
    OllamaSection,
    OpenAISection,
    QdrantSection,
    VoyageSection,
)
from backstory.settings.kinds import (
    Flag,
    Host,
    Hosts,
    Location,
    Locations,
    Number,
    OneOf,
    OrOff,
    SomeOf,
    Text,
    Url,
    Whole,
)
from backstory.settings.live import Context, Summaries, Tiers
from backstory.settings.setting import Setting, optional, setting

ExtractorName: TypeAlias = Literal["rules", "anthropic", "openai", "ollama"]
LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
LogFormat: TypeAlias = Literal["json", "text"]
Toolset: TypeAlias = Literal[
    "core", "transcripts", "conversations", "memory", "code", "analysis", "maintenance", "all"
]


@dataclass(frozen=True, slots=True)
class Embedding:
    """How texts are embedded."""

    cache_size: int = setting("EMBEDDING_CACHE_SIZE", Whole(0), "10000", "Embeddings that the cache keeps.")
    batch_size: int = setting(
        "EMBEDDING_BATCH_SIZE", Whole(1), "10", "Texts sent to an embedder's server in one request."
    )
    queue_max: int = setting(
        "EMBEDDING_QUEUE_MAX",
        Whole(1),
        "1000",
        "Messages of live conversations that may wait to be embedded; those beyond wait for a backfill.",
    )


@dataclass(frozen=True, slots=True)
class Search:
    """What search goes by."""

    vector_writes: bool = setting(
        "ENABLE_QDRANT_WRITES", Flag(), "true", "Whether vectors are written; if not, that work waits."
    )
    semantic: bool = setting(
        "ENABLE_SEMANTIC_SEARCH", Flag(), "true", "Whether search goes by meaning too, or by words alone."
    )


@dataclass(frozen=True, slots=True)
class Code:
    """Judgements on code."""

    duplicate_threshold: float = setting(
        "DUPLICATE_THRESHOLD",
        Number(0.70, 0.95),
        "0.85",
        "Cosine similarity from which two functions count as possible duplicates.",
    )


@dataclass(frozen=True, slots=True)
class ProjectDefaults:
    """The project of a call that names none."""

    path: Path | None = optional(
        "PROJECT_PATH", Location(), "~/code/shop", "Folder of the project whose code may be indexed."
    )
    allowed_roots: tuple[Path, ...] = setting(
        "BACKSTORY_ALLOWED_ROOTS",
        Locations(),
        "none",
        "Folders whose files may be read and written for any client, beside PROJECT_PATH; a client's own "
        "folder and its repository always may.",
    )
    name: str = setting(
        "PROJECT_NAME",
        Text(),
        "default",
        "Project of a call when neither the call nor the client's folder tells which.",
    )


@dataclass(frozen=True, slots=True)
class Transcripts:
    """The transcripts that agents leave on disk."""

    enabled: bool = setting("ENABLE_CONVERSATION_MEMORY", Flag(), "true", "Whether transcripts are indexed.")
    claude_config_dir: Path = setting(
        "CLAUDE_CONFIG_DIR", Location(), "~/.claude", "Claude Code's own folder."
    )
    claude_projects_dir: Path = setting(
        "CLAUDE_PROJECTS_DIR", Location(), "$CLAUDE_CONFIG_DIR/projects", "Folder of its transcripts."
    )
    codex_home: Path = setting(
        "CODEX_HOME", Location(), "~/.codex", "Codex's own folder; its sessions are read in too."
    )
    index_interval_s: int = setting(
        "CONVERSATION_INDEX_INTERVAL",
        Whole(1),
        "3600",
        "Seconds between two looks at all transcripts, beside watching them.",
    )
    max_age_days: int | None = setting(
        "MAX_CONVERSATION_AGE_DAYS",
        OrOff(Whole(1)),
        "90",
        "Days without a change after which a transcript is not read in any more; what was read in stays.",
    )
    retention_days: int | None = setting(
        "BACKSTORY_RETENTION_DAYS",
        OrOff(Whole(1)),
        "off",
        "Days after which an indexed transcript is forgotten.",
    )


@dataclass(frozen=True, slots=True)
class Extraction:
    """Who finds in a talk what is worth remembering. A language model is the one of [summaries]."""

    by: ExtractorName = setting(
        "BACKSTORY_EXTRACTOR",
        OneOf(get_args(ExtractorName)),
        "rules",
        "Who finds memories in a talk: `rules` reads it on this machine; the others have what the rules "
        "found refined by a language model, which is sent what was said.",
    )


@dataclass(frozen=True, slots=True)
class Server:
    """The local process that agents talk to."""

    host: str = setting("MCP_HOST", Host(), "127.0.0.1", "Address the process listens on.")
    port: int = setting(
        "MCP_PORT",
        Whole(0, 65535),
        "8765",
        "Port the process listens on; 0 is any free one. Unset, a free one is taken when this one is in use.",
    )
    allowed_hosts: tuple[str, ...] = setting(
        "BACKSTORY_ALLOWED_HOSTS",
        Hosts(),
        "none",
        "Names, with their ports, by which clients may address the process beside its own; needed when it "
        "listens on more than this machine.",
    )
    max_request_bytes: int = setting(
        "BACKSTORY_MAX_REQUEST_BYTES", Whole(1024), "4194304", "Bytes that a request may have."
    )
    requests_per_minute: int | None = setting(
        "BACKSTORY_REQUESTS_PER_MINUTE",
        OrOff(Whole(1)),
        "60",
        "Requests a minute that a client may make over HTTP; `backstory mcp` and the commands may make more.",
    )
    idle_stop_s: int | None = setting(
        "BACKSTORY_IDLE_STOP_S",
        OrOff(Whole(1)),
        "1800",
        "Seconds without a client after which the process ends; it starts again by itself when needed.",
    )
    toolsets: tuple[Toolset, ...] = setting(
        "BACKSTORY_TOOLSETS",
        SomeOf(get_args(Toolset)),
        "core",
        "Toolsets that agents are offered; each costs them context, and `core` is always among them.",
    )


@dataclass(frozen=True, slots=True)
class Metrics:
    """Numbers for Prometheus."""

    enabled: bool = setting("METRICS_ENABLED", Flag(), "true", "Whether metrics are served.")
    port: int = setting(
        "METRICS_PORT",
        PORT,
        "9090",
        "Port that serves the metrics too, opened when this is set: they are always at `/metrics` of the "
        "process's own port.",
    )


@dataclass(frozen=True, slots=True)
class Tracing:
    """Spans for OpenTelemetry."""

    endpoint: str | None = optional(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        Url(("http", "https")),
        "http://127.0.0.1:4318",
        "Collector that spans are sent to over HTTP; needs `backstory[tracing]`.",
    )


@dataclass(frozen=True, slots=True)
class Log:
    """What is logged."""

    level: LogLevel = setting("LOG_LEVEL", OneOf(get_args(LogLevel)), "INFO", "Lowest level that is logged.")
    format: LogFormat = setting("LOG_FORMAT", OneOf(get_args(LogFormat)), "json", "Form of a log line.")


@dataclass(frozen=True, slots=True)
class Limits:
    """How far things may go."""

    min_free_mb: int = setting(
        "BACKSTORY_MIN_FREE_MB",
        Whole(0),
        "500",
        "Free disk space in MB below which vectors and graph are not written, since a full disk ends the "
        "process.",
    )

    @property
    def min_free_bytes(self) -> int:
        """The same in bytes."""
        return self.min_free_mb * 1024 * 1024


#: Not in the config file, because they say where it is.
HOME: Final = Setting(
    HOME_VARIABLE,
    Location(),
    None,
    "~/.local/share/backstory",
    "Data folder; unset, it is `backstory` in the folder that the platform has for such data.",
)
CONFIG: Final = Setting(
    "BACKSTORY_CONFIG",
    Location(),
    "$BACKSTORY_HOME/config.toml",
    "~/.config/backstory.toml",
    "Config file in TOML; it need not exist unless this names it.",
)

SECTIONS: Final[Mapping[str, type[Any]]] = {
    "engines": EnginesSection,
    "qdrant": QdrantSection,
    "neo4j": Neo4jSection,
    "voyage": VoyageSection,
    "ollama": OllamaSection,
    "openai": OpenAISection,
    "fastembed": FastEmbedSection,
    "embedding": Embedding,
    "search": Search,
    "code": Code,
    "project": ProjectDefaults,
    "transcripts": Transcripts,
    "context": Context,
    "tiers": Tiers,
    "summaries": Summaries,
    "extraction": Extraction,
    "server": Server,
    "metrics": Metrics,
    "tracing": Tracing,
    "log": Log,
    "limits": Limits,
}

#: By key in the config file.
SETTINGS: Final[Mapping[str, Setting]] = {
    f"{name}.{key.name}": key.metadata["setting"]
    for name, section in SECTIONS.items()
    for key in fields(section)
}
