"""The documentation, held against the code: settings, commands, tables, and the example that it gives."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from backstory.cli import backstory
from backstory.records.schema import metadata
from backstory.settings.catalogue import CONFIG, HOME, SECTIONS, SETTINGS
from backstory.settings.setting import Setting

REPOSITORY = Path(__file__).parents[1]
ENV_EXAMPLE = (REPOSITORY / ".env.example").read_text("utf-8")
SETTINGS_PAGE = (REPOSITORY / "docs" / "settings.md").read_text("utf-8")
PAGES = [(REPOSITORY / "README.md"), *(REPOSITORY / "docs").rglob("*.md")]

ALL_SETTINGS: list[tuple[str | None, Setting]] = [(None, HOME), (None, CONFIG), *SETTINGS.items()]

every_setting = pytest.mark.parametrize(
    ("key", "setting"), ALL_SETTINGS, ids=[setting.variable for _, setting in ALL_SETTINGS]
)


@every_setting
def test_the_settings_page_describes_the_setting(key: str | None, setting: Setting) -> None:
    default = f"`{setting.default}`" if setting.default else "unset"
    columns = [
        f"`{setting.variable}`",
        f"`{key}`" if key else "none",
        default,
        setting.about,
        setting.kind.allowed,
    ]

    assert f"| {' | '.join(columns)} |" in SETTINGS_PAGE.splitlines()


@every_setting
def test_the_env_example_shows_the_setting(key: str | None, setting: Setting) -> None:
    lines = f"# {setting.about}\n# {setting.variable}={setting.default or setting.example}\n"

    assert lines in ENV_EXAMPLE


@pytest.mark.parametrize("name", SECTIONS)
def test_the_settings_page_has_a_chapter_for_the_section(name: str) -> None:
    assert f"## [{name}]\n\n{SECTIONS[name].__doc__}\n" in SETTINGS_PAGE


def test_no_setting_is_documented_that_does_not_exist() -> None:
    variables = [setting.variable for _, setting in ALL_SETTINGS]

    assert re.findall(r"^\| `([A-Z0-9_]+)` \|", SETTINGS_PAGE, re.MULTILINE) == variables
    assert re.findall(r"^#? ?([A-Z0-9_]+)=", ENV_EXAMPLE, re.MULTILINE) == variables


def _paths(command: click.Command | None, path: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _paths(command.get_command(context, name), f"{path} {name}")
    else:
        yield path


@pytest.mark.parametrize("command", list(_paths(backstory, "backstory")))
def test_the_command_is_documented(command: str) -> None:
    assert any(re.search(rf"\b{command}\b", page.read_text("utf-8")) for page in PAGES)


def test_the_readme_s_example_runs_as_it_stands(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text("utf-8"), re.DOTALL)
    environ = {**os.environ, "BACKSTORY_HOME": str(tmp_path / "home")}

    done = subprocess.run(
        [sys.executable, "-c", example], env=environ, capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert "Retries wait with jitter" in done.stdout.splitlines()[0]


@pytest.mark.parametrize("table", metadata.tables)
def test_the_architecture_page_says_what_the_table_holds(table: str) -> None:
    assert f"`{table}`" in (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
