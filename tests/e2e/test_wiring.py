"""What is opened for which settings."""

from pathlib import Path

import pytest

from backstory.actions.maintenance.statistics import statistics
from backstory.errors import SettingsError
from backstory.model.project import ALL_PROJECTS
from backstory.settings import read_settings
from backstory.wiring import open_engine


@pytest.mark.parametrize(
    "variables",
    [
        {"QDRANT_URL": "http://localhost:6333"},
        {"NEO4J_URI": "bolt://localhost:7687"},
        {"BACKSTORY_DATABASE_URL": "postgresql://localhost/backstory"},
        {"BACKSTORY_EMBEDDER": "ollama"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_an_engine_this_version_cannot_use_is_refused_with_what_to_do(
    variables: dict[str, str], home: Path
) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home), **variables})

    with pytest.raises(SettingsError) as refused, open_engine(settings):
        pass

    assert refused.value.hint


def test_without_a_cache_everything_works_as_well(home: Path) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home), "EMBEDDING_CACHE_SIZE": "0"})

    with open_engine(settings) as engine:
        assert statistics(engine, ALL_PROJECTS).memories == {}

    assert not (home / "cache").exists()


def test_an_empty_store_is_ready_and_closed_without_a_trace_of_a_crash(home: Path) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home)})

    for _ in range(2):
        with open_engine(settings) as engine, engine.records.reading() as records:
            assert not records.store.get("suspect")
