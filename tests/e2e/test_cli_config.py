"""`backstory config` as a person or a script runs it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from backstory.cli import backstory
from backstory.settings.catalogue import CONFIG, HOME, SETTINGS

Run = Callable[..., Result]
RunProcess = Callable[..., "subprocess.CompletedProcess[str]"]

VARIABLES = [setting.variable for setting in (HOME, CONFIG, *SETTINGS.values())]

both_forms = pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `backstory` with these settings and no others."""

    def run(*arguments: str, **environ: str) -> Result:
        unset = dict.fromkeys(VARIABLES)
        return CliRunner().invoke(
            backstory, arguments, env={**unset, "BACKSTORY_HOME": str(tmp_path), **environ}
        )

    return run


@pytest.fixture
def run_process(tmp_path: Path) -> RunProcess:
    """Run `backstory` in a process of its own."""

    def run(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "HOME") if name in os.environ}
        return subprocess.run(
            [sys.executable, "-m", "backstory", *arguments],
            env={**kept, "BACKSTORY_HOME": str(tmp_path), **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_config_shows_each_value_and_where_it_came_from(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[log]\nformat = 'text'", "utf-8")

    shown = run("config", MCP_PORT="9000").stdout

    rows = [row.split() for row in shown.splitlines()]
    assert ["MCP_PORT", "9000", "environment", "MCP_PORT"] in rows
    assert ["LOG_FORMAT", "text", "file", str(tmp_path / "config.toml")] in rows
    assert ["METRICS_ENABLED", "true", "default"] in rows
    assert ["BACKSTORY_TOOLSETS", "core", "default"] in rows
    assert ["BACKSTORY_RETENTION_DAYS", "off", "default"] in rows
    assert ["QDRANT_URL", "(unset)", "default"] in rows
    assert ["embedder", "built-in", "static", "model"] in rows
    assert "misspelt" not in shown


def test_config_gives_the_same_as_json(run: Run, tmp_path: Path) -> None:
    answer = json.loads(run("config", "--json", MCP_PORT="9000", BACKSTORY_TOOLSETS="core,code").stdout)

    found = {each["variable"]: (each["value"], each["origin"]) for each in answer["settings"]}
    assert found.keys() == set(VARIABLES)
    assert found["MCP_PORT"] == (9000, "environment MCP_PORT")
    assert found["BACKSTORY_TOOLSETS"] == (["core", "code"], "environment BACKSTORY_TOOLSETS")
    assert found["BACKSTORY_HOME"] == (str(tmp_path), "environment BACKSTORY_HOME")
    assert found["QDRANT_URL"] == (None, "default")
    assert answer["engines"]["embedder"] == "built-in static model"


@both_forms
def test_config_masks_secrets(run: Run, form: tuple[str, ...]) -> None:
    done = run(
        "config", *form, VOYAGE_API_KEY="hunter2", BACKSTORY_DATABASE_URL="postgresql://a:hunter2@db/b"
    )

    assert done.exit_code == 0
    assert "hunter2" not in done.output
    assert done.output.count("********") == 2


@both_forms
def test_config_reports_a_misspelt_variable_without_failing(run: Run, form: tuple[str, ...]) -> None:
    done = run("config", *form, BACKSTORY_TOOLSET="all", BACKSTORY_ZZZZ="x")

    assert done.exit_code == 0
    told = done.output.partition("unknown_variables" if form else "misspelt")[2]
    assert all(name in told for name in ("BACKSTORY_TOOLSET", "BACKSTORY_TOOLSETS", "BACKSTORY_ZZZZ"))


def test_bad_settings_end_with_code_2_and_say_on_stderr_what_to_do(run: Run) -> None:
    done = run("config", MCP_PORT="http", DUPLICATE_THRESHOLD="2")

    assert done.exit_code == 2
    assert done.stdout == ""
    assert all(said in done.stderr for said in ("MCP_PORT", "DUPLICATE_THRESHOLD", "Hint: "))


def test_the_program_shows_its_settings(run_process: RunProcess, tmp_path: Path) -> None:
    done = run_process("config")

    assert done.returncode == 0
    assert str(tmp_path) in done.stdout


def test_the_program_ends_on_bad_settings_without_a_traceback(run_process: RunProcess) -> None:
    done = run_process("config", BACKSTORY_EMBEDDER="voyage")

    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "VOYAGE_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_program_tells_its_version(run_process: RunProcess) -> None:
    assert run_process("--version").stdout.startswith("backstory 0.")


def test_bad_settings_are_told_as_json_when_json_was_asked_for(run: Run) -> None:
    done = run("config", "--json", MCP_PORT="http")

    assert (done.exit_code, done.stdout) == (2, "")
    error = json.loads(done.stderr)["error"]
    assert error["kind"] == "SettingsError"
    assert "MCP_PORT" in error["message"]


def test_an_unknown_command_ends_with_code_2(run: Run) -> None:
    assert run("remember-everything").exit_code == 2


HEAVY = {"numpy", "sqlalchemy", "ladybug", "qdrant_edge", "tokenizers", "mcp", "pydantic", "starlette"}


@pytest.mark.parametrize(
    ("arguments", "besides"),
    [
        (["--help"], set()),
        (["status"], {"backstory.settings", "http.client", "asyncio"}),
        (["stop"], {"backstory.settings", "http.client", "asyncio"}),
        (["memory", "--help"], {"backstory.settings"}),
        (["config"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_needs(tmp_path: Path, arguments: list[str], besides: set[str]) -> None:
    program = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        f"sys.argv = ['backstory', *{arguments!r}];"
        "from backstory.__main__ import main; main()"
    )
    environ = {**os.environ, "BACKSTORY_HOME": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False
    )

    loaded = set(done.stderr.split())
    assert "backstory.cli" in loaded
    assert not loaded & (HEAVY | besides)
