"""The page of the command line, held against the commands: usage, options, exit codes."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from backstory.cli import BAD_SETTINGS, FAILED, INTERRUPTED, backstory
from backstory.cli.process import NOT_RUNNING

PAGE = (Path(__file__).parents[1] / "docs" / "cli.md").read_text("utf-8")

#: Each chapter of a command: its usage, from the heading, and what stands below.
CHAPTERS = dict(re.findall(r"^### `(backstory [^`]*)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, f"{path} {name}")
    else:
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        yield " ".join([path, *(each.make_metavar(click.Context(command)) for each in arguments)]), command


COMMANDS = dict(_commands(backstory, "backstory"))


def _row(option: click.Option, context: click.Context) -> tuple[str, str]:
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    return f"{option.opts[0]}{value}", option.help or ""


def test_the_page_has_a_chapter_for_every_command_and_for_no_other() -> None:
    assert sorted(CHAPTERS) == sorted(COMMANDS)


@pytest.mark.parametrize("usage", COMMANDS)
def test_the_chapter_says_what_the_command_does_and_lists_its_options(usage: str) -> None:
    command = COMMANDS[usage]
    context = click.Context(command)
    shown = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]

    assert (command.help or "").split("\n")[0] in CHAPTERS[usage]
    rows = re.findall(r"^\| `(--[^`]+)` \| (.*?) \|$", CHAPTERS[usage], re.MULTILINE)
    # What --json does is the same everywhere, and said once.
    assert rows == [_row(each, context) for each in shown if each.name != "json"]
    assert ("`--json`" in CHAPTERS[usage]) == any(each.name == "json" for each in shown)


def test_the_page_lists_every_exit_code() -> None:
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]

    assert codes == [0, FAILED, BAD_SETTINGS, NOT_RUNNING, INTERRUPTED]
