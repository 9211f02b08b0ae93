"""`backstory index`, `search`, `show`, `timeline`: what was said to agents, read in and found again.

As in `memory`, an option has the name of the tool's argument, and the process does the rest.
"""

import click

from backstory.cli.asking import as_json, ask, in_any_project, in_project
from backstory.cli.options import in_pages
from backstory.model.conversation import Role
from backstory.model.search import MAX_LIMIT


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, resolve_path=True))
@click.option(
    "--recent",
    "recent_only",
    is_flag=True,
    flag_value=True,
    default=None,
    help="Only files that were changed in the last 7 days.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Only so many files, those that were changed last.",
)
@in_project
@as_json
def index(folder: str | None, **given: object) -> None:
    """Read in what is new in the transcripts that agents left, or all that lie in FOLDER."""
    if folder is None:
        ask("conversation_index", given)
    elif chosen := [name for name, value in given.items() if value is not None]:
        raise click.UsageError(f"a FOLDER is read in whole: leave out {', '.join(chosen)}")
    else:
        ask("index_folder", {"folder": folder})


@click.command()
@click.argument("query")
@click.option("--session", "session_id", metavar="SESSION", help="Only this conversation.")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    metavar="ROLE",
    help="Only what the user, assistant or tool said.",
)
@click.option(
    "--agent",
    "interface_type",
    metavar="NAME",
    help="Only conversations with this agent: claude-code, codex.",
)
@click.option(
    "--from", "from", metavar="TIME", help="Only what was said then or later: 2026-01-31, or with a time."
)
@click.option("--to", "to", metavar="TIME", help="Only what was said until then.")
@in_pages()
@in_any_project
@as_json
def search(**given: object) -> None:
    """Find what was said, by what it means and by its words."""
    ask("search_conversations", given)


@click.command()
@click.argument("session", required=False)
@click.argument("turn", type=click.IntRange(1), required=False)
@click.option(
    "--offset",
    type=click.IntRange(0),
    metavar="NUMBER",
    help="Turns to skip; with TURN, where the answer before said it goes on.",
)
@click.option("--limit", type=click.IntRange(1, MAX_LIMIT), metavar="NUMBER", help="How many on a page.")
@click.option("--cursor", metavar="CURSOR", help="Go on where the list before said there is more.")
@in_any_project
@as_json
def show(session: str | None, turn: int | None, **given: object) -> None:
    """List the conversations, or show those of SESSION's turns that fit a page, or its TURN whole."""
    if session is None:
        ask("list_conversations", given)
    elif turn is None:
        ask("read_conversation", {**given, "session_id": session})
    else:
        ask("read_turn", {**given, "session_id": session, "turn_number": turn})


@click.command()
@click.option("--days", type=click.IntRange(1), metavar="NUMBER", help="How many days back. Default: 7.")
@in_project
@as_json
def timeline(**given: object) -> None:
    """Tell day by day how much was said, and in which conversations."""
    ask("conversation_timeline", given)
