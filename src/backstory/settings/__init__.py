"""The settings: frozen, and the only reader of environment and config file.

They are read once; the two that may be switched while a process runs are followed by `switches`.

`read_settings` is the way in. The list itself is in `catalogue` and `engines`, how a text becomes
a value in `kinds`, where texts come from in `reading`, and which engines follow in `choices`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from backstory.bridge.whereabouts import Whereabouts, find_whereabouts
from backstory.settings.catalogue import (
    SECTIONS,
    Code,
    Embedding,
    Extraction,
    Limits,
    Log,
    Metrics,
    ProjectDefaults,
    Search,
    Server,
    Tracing,
    Transcripts,
)
from backstory.settings.choices import (
    EmbedderChoice,
    EmbedderSections,
    EngineChoice,
    GraphChoice,
    RecordsChoice,
    StaticModel,
    VectorsChoice,
    choose_embedder,
    choose_fallback,
    choose_graph,
    choose_records,
    choose_vectors,
)
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
from backstory.settings.live import Context, Summaries, Tiers
from backstory.settings.reading import DEFAULT, Reading, read_all, unknown_variables

__all__ = ["Reading", "Secret", "Settings", "read_settings", "unknown_variables"]

Section = TypeVar("Section")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. `readings` tells of each value where it came from."""

    whereabouts: Whereabouts
    records: RecordsChoice
    vectors: VectorsChoice
    graph: GraphChoice
    embedder: EmbedderChoice
    embedder_fallback: StaticModel | None
    ollama: OllamaSection
    openai: OpenAISection
    embedding: Embedding
    search: Search
    code: Code
    project: ProjectDefaults
    transcripts: Transcripts
    context: Context
    tiers: Tiers
    summaries: Summaries
    extraction: Extraction
    server: Server
    metrics: Metrics
    tracing: Tracing
    log: Log
    limits: Limits
    readings: tuple[Reading, ...] = field(repr=False, compare=False)

    @property
    def engines(self) -> Mapping[str, EngineChoice]:
        """What was chosen, by what it is for."""
        return {
            "records": self.records,
            "vectors": self.vectors,
            "graph": self.graph,
            "embedder": self.embedder,
        }

    def chosen(self, variable: str) -> bool:
        """Whether somebody set this variable, or its key in the config file: it is not the default."""
        return any(each.setting.variable == variable and each.origin != DEFAULT for each in self.readings)


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read and check every setting; raises `SettingsError` that names what is wrong and says what to do."""
    readings = read_all(environ)
    values = {reading.key: reading.value for reading in readings if reading.key}
    where = find_whereabouts(environ)
    engines = _section(EnginesSection, values)
    embedders = EmbedderSections(
        voyage=_section(VoyageSection, values),
        ollama=_section(OllamaSection, values),
        openai=_section(OpenAISection, values),
        fastembed=_section(FastEmbedSection, values),
    )
    return Settings(
        whereabouts=where,
        records=choose_records(engines, where),
        vectors=choose_vectors(engines, _section(QdrantSection, values), where),
        graph=choose_graph(engines, _section(Neo4jSection, values), where),
        embedder=choose_embedder(engines, embedders),
        embedder_fallback=choose_fallback(engines),
        ollama=embedders.ollama,
        openai=embedders.openai,
        embedding=_section(Embedding, values),
        search=_section(Search, values),
        code=_section(Code, values),
        project=_section(ProjectDefaults, values),
        transcripts=_section(Transcripts, values),
        context=_section(Context, values),
        tiers=_section(Tiers, values),
        summaries=_section(Summaries, values),
        extraction=_section(Extraction, values),
        server=_section(Server, values),
        metrics=_section(Metrics, values),
        tracing=_section(Tracing, values),
        log=_section(Log, values),
        limits=_section(Limits, values),
        readings=readings,
    )


def _section(section: type[Section], values: Mapping[str, object]) -> Section:
    prefix = next(f"{name}." for name, known in SECTIONS.items() if known is section)
    filled: dict[str, Any] = {
        key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)
    }
    return section(**filled)
