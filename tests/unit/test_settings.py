"""Settings: where values come from, what is refused and how, and which engines follow."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.errors import SettingsError
from backstory.settings import Secret, Settings, read_settings, unknown_variables
from backstory.settings.catalogue import SETTINGS
from backstory.settings.choices import (
    EmbeddedGraph,
    EmbeddedVectors,
    EngineChoice,
    FastEmbed,
    Neo4jServer,
    Ollama,
    OpenAICompatible,
    PostgresRecords,
    QdrantServer,
    SqliteRecords,
    StaticModel,
    Voyage,
    unsupported,
)

Read = Callable[..., Settings]

CHOICES: list[tuple[dict[str, str], EngineChoice]] = [
    ({"QDRANT_URL": "http://vectors:6333/"}, QdrantServer("http://vectors:6333", None)),
    ({"QDRANT_HOST": "vectors"}, QdrantServer("http://vectors:6333", None)),
    ({"QDRANT_HOST": "::1", "QDRANT_PORT": "7000"}, QdrantServer("http://[::1]:7000", None)),
    (
        {"QDRANT_URL": "https://vectors", "QDRANT_API_KEY": "k"},
        QdrantServer("https://vectors", Secret("k")),
    ),
    ({"NEO4J_URI": "bolt://graph:7687"}, Neo4jServer("bolt://graph:7687", "neo4j", None)),
    (
        {"NEO4J_URI": "neo4j+s://graph", "NEO4J_USER": "ada", "NEO4J_PASSWORD": "p"},
        Neo4jServer("neo4j+s://graph", "ada", Secret("p")),
    ),
    ({"BACKSTORY_DATABASE_URL": "postgresql://db/b"}, PostgresRecords(Secret("postgresql://db/b"))),
    (
        {"BACKSTORY_EMBEDDER": "voyage", "VOYAGE_API_KEY": "k"},
        Voyage(Secret("k"), "voyage-code-3"),
    ),
    ({"BACKSTORY_EMBEDDER": "ollama"}, Ollama("http://localhost:11434", "nomic-embed-text")),
    (
        {
            "BACKSTORY_EMBEDDER": "openai",
            "OPENAI_BASE_URL": "http://localhost:8000/v1",
            "OPENAI_EMBEDDING_MODEL": "m",
            "OPENAI_EMBEDDING_DIMENSION": "768",
        },
        OpenAICompatible("http://localhost:8000/v1", None, "m", 768),
    ),
    ({"BACKSTORY_EMBEDDER": "fastembed"}, FastEmbed("BAAI/bge-small-en-v1.5")),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def read(home: Path) -> Read:
    """Read settings from these variables and this config file alone."""

    def read(file: str = "", **environ: str) -> Settings:
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(file, "utf-8")
        return read_settings({"BACKSTORY_HOME": str(home), **environ})

    return read


def origin(settings: Settings, variable: str) -> str:
    return next(each.origin for each in settings.readings if each.setting.variable == variable)


def refused(read: Read, file: str = "", **environ: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read(file, **environ)
    return caught.value


def test_without_any_setting_everything_is_embedded_and_local(home: Path) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home)})

    assert settings.engines == {
        "records": SqliteRecords(home / "backstory.db"),
        "vectors": EmbeddedVectors(home / "vectors"),
        "graph": EmbeddedGraph(home / "graph"),
        "embedder": StaticModel(),
    }
    assert settings.embedder_fallback is None
    assert settings.server.host == "127.0.0.1"
    assert {each.origin for each in settings.readings[1:]} == {"default"}


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(read: Read, home: Path) -> None:
    settings = read("[log]\nlevel = 'DEBUG'\nformat = 'text'", LOG_LEVEL="ERROR")

    assert (settings.log.level, origin(settings, "LOG_LEVEL")) == ("ERROR", "environment LOG_LEVEL")
    assert (settings.log.format, origin(settings, "LOG_FORMAT")) == ("text", f"file {home / 'config.toml'}")
    assert (settings.metrics.port, origin(settings, "METRICS_PORT")) == (9090, "default")


def test_another_config_file_can_be_named(read: Read, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[server]\nport = 9000", "utf-8")

    settings = read("[server]\nport = 8000", BACKSTORY_CONFIG=str(other))

    assert settings.server.port == 9000


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_variable_counts_as_unset(read: Read, empty: str) -> None:
    assert read("[log]\nlevel = 'DEBUG'", LOG_LEVEL=empty).log.level == "DEBUG"


def test_space_around_a_value_does_not_count(read: Read) -> None:
    assert read(LOG_LEVEL=" debug\n").log.level == "DEBUG"


def test_the_file_may_use_the_types_of_toml(read: Read) -> None:
    settings = read(
        """
        code.duplicate_threshold = 0.9
        transcripts.enabled = false
        transcripts.retention_days = 30
        server.toolsets = ["core", "memory"]
        """
    )

    assert settings.code.duplicate_threshold == 0.9
    assert settings.transcripts.enabled is False
    assert settings.transcripts.retention_days == 30
    assert settings.server.toolsets == ("core", "memory")


def test_a_relative_path_starts_at_the_working_directory_or_at_the_files_folder(
    read: Read, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    settings = read("[project]\npath = 'code'", CONTEXT_STORAGE_PATH="talks")

    assert settings.project.path == home / "code"
    assert settings.context.storage_path == Path.cwd() / "talks"


def test_a_tilde_is_the_home_folder(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")

    settings = read(PROJECT_PATH="~/code")

    assert settings.project.path == Path("/home/ada/code").absolute()
    assert settings.transcripts.claude_projects_dir == Path("/home/ada/.claude/projects").absolute()


def test_transcripts_are_looked_for_where_claude_code_was_told_to_be(read: Read) -> None:
    assert read(CLAUDE_CONFIG_DIR="/srv/claude").transcripts.claude_projects_dir == Path(
        "/srv/claude/projects"
    )
    assert read(
        CLAUDE_CONFIG_DIR="/srv/claude", CLAUDE_PROJECTS_DIR="/srv/old"
    ).transcripts.claude_projects_dir == Path("/srv/old")


def test_a_value_of_ones_own_is_not_taken_for_a_pattern(read: Read) -> None:
    assert read(PROJECT_NAME="$BACKSTORY_HOME").project.name == "$BACKSTORY_HOME"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", True),
        ("YES", True),
        ("on", True),
        ("1", True),
        ("False", False),
        ("no", False),
        ("off", False),
    ],
)
def test_a_flag_may_be_written_in_the_usual_ways(read: Read, written: str, meant: bool) -> None:
    assert read(METRICS_ENABLED=written).metrics.enabled is meant


def test_what_can_be_off_can_be_turned_off_over_the_file(read: Read) -> None:
    settings = read("[transcripts]\nretention_days = 30", BACKSTORY_RETENTION_DAYS="off")

    assert settings.transcripts.retention_days is None


def test_settings_cannot_be_changed(read: Read) -> None:
    settings: Any = read()

    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.server = None


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("MCP_PORT", "-1"),
        ("METRICS_PORT", "0"),
        ("MCP_PORT", "65536"),
        ("MCP_PORT", "http"),
        ("DUPLICATE_THRESHOLD", "0.69"),
        ("DUPLICATE_THRESHOLD", "0.96"),
        ("DUPLICATE_THRESHOLD", "nan"),
        ("METRICS_ENABLED", "perhaps"),
        ("LOG_FORMAT", "xml"),
        ("BACKSTORY_TOOLSETS", "core,everything"),
        ("BACKSTORY_TOOLSETS", ","),
        ("BACKSTORY_MIN_FREE_MB", "-1"),
        ("BACKSTORY_RETENTION_DAYS", "0"),
        ("OLLAMA_URL", "localhost:11434"),
        ("OLLAMA_URL", "http://localhost:port"),
        ("OLLAMA_URL", "http://"),
        ("NEO4J_URI", "http://localhost:7687"),
        ("QDRANT_HOST", "http://localhost"),
        ("QDRANT_HOST", "localhost:6333"),
        ("PROJECT_PATH", "~nobody-of-this-name/code"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_what_is_allowed(read: Read, variable: str, text: str) -> None:
    error = refused(read, **{variable: text})

    setting = next(each for each in SETTINGS.values() if each.variable == variable)
    assert str(error).startswith(f"{variable} is '{text}'; it must be {setting.kind.allowed}, for example ")
    assert error.hint


def test_a_bad_value_in_the_file_is_named_by_file_and_key(read: Read, home: Path) -> None:
    error = refused(read, "[server]\nport = 'http'")

    assert str(error).startswith(f"server.port in {home / 'config.toml'} is 'http'; it must be")


def test_all_that_is_wrong_is_told_at_once(read: Read) -> None:
    error = refused(read, "[servr]\nport = 1", LOG_LEVEL="loud", MCP_PORT="-1")

    assert all(name in str(error) for name in ("3 settings", "servr.port", "LOG_LEVEL", "MCP_PORT"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("[qdrant]\nurll = 'x'", "qdrant.url"),
        ("QDRANT_URL = 'x'", "qdrant.url"),
        ("[logs]\nlevel = 'INFO'", "log.level"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(read: Read, written: str, meant: str) -> None:
    assert f"is not a setting; did you mean {meant}?" in str(refused(read, written))


def test_an_unknown_key_like_no_other_is_refused_without_a_guess(read: Read) -> None:
    assert str(refused(read, "zzz = 1")).endswith("is not a setting")


@pytest.mark.parametrize("content", [b"[server\n", b"\xff"])
def test_a_file_that_is_not_toml_is_refused(home: Path, content: bytes) -> None:
    home.mkdir()
    (home / "config.toml").write_bytes(content)

    with pytest.raises(SettingsError, match="is not valid TOML"):
        read_settings({"BACKSTORY_HOME": str(home)})


def test_a_named_file_that_is_missing_is_refused(read: Read, tmp_path: Path) -> None:
    error = refused(read, BACKSTORY_CONFIG=str(tmp_path / "missing.toml"))

    assert "missing.toml cannot be read" in str(error)


def test_an_unknown_home_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such home folder"):
        read_settings({"BACKSTORY_HOME": "~nobody-of-this-name/data"})


def test_a_variable_that_looks_like_ours_is_reported_with_the_one_that_was_meant() -> None:
    names = ["BACKSTORY_MCP_PORT", "BACKSTORY_TOOLSET", "BACKSTORY_VECTORS", "BACKSTORY_ZZZZ", "HOME"]

    assert unknown_variables(dict.fromkeys(names, "x")) == {
        "BACKSTORY_MCP_PORT": "MCP_PORT",
        "BACKSTORY_TOOLSET": "BACKSTORY_TOOLSETS",
        "BACKSTORY_ZZZZ": None,
    }


@given(setting=st.sampled_from(list(SETTINGS.values())), text=st.text(max_size=20))
def test_any_text_is_read_or_refused_by_the_name_of_its_setting(setting: Any, text: str) -> None:
    error = _problem({"BACKSTORY_HOME": "/nowhere", setting.variable: text})

    assert error is None or (setting.variable in str(error) and error.hint)


def _problem(environ: dict[str, str]) -> SettingsError | None:
    try:
        read_settings(environ)
    except SettingsError as error:
        return error
    return None


def test_keys_and_passwords_are_secrets() -> None:
    named = [each.variable for each in SETTINGS.values() if re.search("KEY|PASSWORD|DATABASE", each.variable)]

    assert named == [each.variable for each in SETTINGS.values() if each.secret]


def test_a_secret_shows_only_to_who_asks_for_it(read: Read) -> None:
    settings = read(
        BACKSTORY_DATABASE_URL="postgresql://ada:hunter2@db/backstory",
        NEO4J_URI="bolt://graph",
        NEO4J_PASSWORD="hunter2",
        QDRANT_URL="http://vectors",
        QDRANT_API_KEY="hunter2",
    )

    assert "hunter2" not in f"{settings} {settings.readings} {dataclasses.asdict(settings)}"
    assert isinstance(settings.records, PostgresRecords)
    assert settings.records.url.reveal() == "postgresql://ada:hunter2@db/backstory"


def test_secrets_are_equal_when_their_texts_are() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("BACKSTORY_DATABASE_URL", "mysql://ada:hunter2@db/backstory"),
        ("QDRANT_URL", "http://ada:hunter2@vectors"),
        ("NEO4J_URI", "ada:hunter2@graph"),
    ],
)
def test_a_refusal_does_not_show_a_password(read: Read, variable: str, text: str) -> None:
    error = refused(read, **{variable: text})

    assert variable in str(error)
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(("environ", "chosen"), CHOICES)
def test_a_server_or_embedder_is_chosen_with_what_it_needs(
    read: Read, environ: dict[str, str], chosen: EngineChoice
) -> None:
    assert chosen in read(**environ).engines.values()


@pytest.mark.parametrize("choice", [chosen for _, chosen in CHOICES])
def test_what_this_version_cannot_use_yet_is_refused_with_what_to_do(choice: EngineChoice) -> None:
    problem = unsupported(choice)

    assert problem is not None
    assert str(choice) in str(problem)
    assert problem.hint


def test_the_embedded_engines_and_the_built_in_model_are_supported(read: Read) -> None:
    assert [unsupported(choice) for choice in read().engines.values()] == [None] * 4


def test_embedded_wins_over_an_address_when_it_is_asked_for(read: Read, home: Path) -> None:
    settings = read(
        QDRANT_URL="http://vectors",
        BACKSTORY_VECTORS="embedded",
        NEO4J_URI="bolt://graph",
        BACKSTORY_GRAPH="embedded",
    )

    assert settings.vectors == EmbeddedVectors(home / "vectors")
    assert settings.graph == EmbeddedGraph(home / "graph")


def test_a_key_alone_does_not_change_the_embedder(read: Read) -> None:
    assert read(VOYAGE_API_KEY="k", OPENAI_API_KEY="k").embedder == StaticModel()


def test_the_fallback_stands_beside_an_embedder_that_can_be_out_of_reach(read: Read) -> None:
    assert read(BACKSTORY_EMBEDDER_FALLBACK="static").embedder_fallback is None
    assert (
        read(BACKSTORY_EMBEDDER="ollama", BACKSTORY_EMBEDDER_FALLBACK="static").embedder_fallback
        == StaticModel()
    )


@pytest.mark.parametrize(
    ("environ", "needed"),
    [
        ({"BACKSTORY_VECTORS": "qdrant"}, "QDRANT_URL"),
        ({"QDRANT_URL": "http://a", "QDRANT_HOST": "b"}, "QDRANT_HOST"),
        ({"BACKSTORY_GRAPH": "neo4j"}, "NEO4J_URI"),
        ({"BACKSTORY_EMBEDDER": "voyage"}, "VOYAGE_API_KEY"),
        ({"BACKSTORY_EMBEDDER": "openai", "OPENAI_BASE_URL": "http://a"}, "OPENAI_EMBEDDING_DIMENSION"),
    ],
)
def test_a_contradiction_is_refused_with_the_variable_to_change(
    read: Read, environ: dict[str, str], needed: str
) -> None:
    error = refused(read, **environ)

    assert needed in (error.hint or "")
    assert any(variable in str(error) for variable in environ)
