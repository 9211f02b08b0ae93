"""What commands share: asking the process, showing its progress, telling the answer.

A command that touches data names a verb and hands over what was typed; the process does the work
and writes the text. `--json` is noted once for the whole call, so that errors follow it too.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from backstory.bridge.process import NotStarted
from backstory.bridge.whereabouts import Whereabouts, find_whereabouts
from backstory.errors import BackstoryError, SettingsError, StoreUnavailable
from backstory.http import client

Command = TypeVar("Command", bound=Callable[..., object])

#: The project argument that means all of them.
ALL: Final = "*"
_JSON: Final = "backstory.json"


def as_json(command: Command) -> Command:
    """Give a command the option `--json`; `tell` and `tell_error` heed it."""
    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=_note_json,
        help="Print JSON: the answer on standard output, an error on standard error.",
    )(command)


def in_one_project(command: Command) -> Command:
    """Give a command the option that names a project; by default it is that of the working directory."""
    return click.option(
        "--project",
        metavar="NAME",
        help="A project by its name, or by a folder: ./shop, ~/shop. Default: that of this folder.",
    )(command)


def in_project(command: Command) -> Command:
    """Give a command the options that name a project, or all of them."""
    return in_one_project(click.option("--all", "project", flag_value=ALL, help="Every project.")(command))


def in_any_project(command: Command) -> Command:
    """Give a command the options that name a project; by default it sees every one."""
    named = click.option(
        "--project",
        metavar="NAME",
        help="Only this project, by its name or by a folder: ., ~/shop. Default: every project.",
    )
    return named(
        click.option("--all", "project", flag_value=ALL, help="Every project, as by default.")(command)
    )


def ask(verb: str, arguments: Mapping[str, object], *, directory: Path | None = None) -> None:
    """Have the process do it, and tell what it answers."""
    answer = answer_to(verb, arguments, directory=directory)
    tell(answer.answer, answer.text)


def answer_to(verb: str, arguments: Mapping[str, object], *, directory: Path | None = None) -> client.Answer:
    """Have the process do it; what it answers. What was not given is not sent.

    It is asked from a folder, whose project and whose files are meant: the one that we are in, or another.
    """
    given = {name: value for name, value in arguments.items() if value is not None and value != ()}
    try:
        with _progress() as report:
            return client.ask(whereabouts(), verb, given, directory=directory or _directory(), report=report)
    except StoreUnavailable as error:
        if isinstance(error.__cause__, NotStarted):
            _check_settings()
        raise


def tell(answer: Mapping[str, Any], text: str, *, indent: int | None = 2) -> None:
    """Print the text, or the answer if JSON was asked for; without indent on one line."""
    wanted = click.get_current_context().meta.get(_JSON)
    click.echo(json.dumps(answer, indent=indent, default=str) if wanted else text)


def tell_error(ctx: click.Context, error: BackstoryError) -> None:
    """Print an error and what to do about it on standard error, as JSON if that was asked for."""
    if ctx.meta.get(_JSON):
        told = {"kind": type(error).__name__, "message": str(error), "hint": error.hint}
        click.echo(json.dumps({"error": told}), err=True)
        return
    click.echo(f"Error: {error}", err=True)
    if error.hint:
        click.echo(f"Hint: {error.hint}", err=True)


def whereabouts() -> Whereabouts:
    """The data folder, found without reading the settings: `stop` works while they are wrong."""
    try:
        return find_whereabouts()
    except RuntimeError as error:
        raise SettingsError(
            f"the data folder is not known: {error}", hint="set BACKSTORY_HOME to a full path"
        ) from error


@contextmanager
def _progress() -> Iterator[client.Report]:
    """A report that draws a bar on standard error, as soon as there is something to draw, on a terminal."""
    with click.progressbar(length=1, file=sys.stderr, hidden=True, show_pos=True) as bar:

        def report(done: int, total: int | None, message: str) -> None:
            bar.hidden = not sys.stderr.isatty()
            bar.label = message
            if not done:  # from now on the time that is left is told: it may have waited for another
                bar.start = bar.last_eta = time.time()
            bar.length = total or done or 1
            bar.update(done - bar.pos)
            bar.render_progress()  # also where only the message is new

        yield report


def _note_json(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  click's
    if wanted:
        ctx.meta[_JSON] = True


def _check_settings() -> None:
    """Raise what is wrong with the settings, if that is why the process did not start."""
    # Loaded only now: it takes as long as everything else that a command does.
    from backstory.settings import read_settings

    read_settings()


def _directory() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was deleted under the shell's feet
        return None
