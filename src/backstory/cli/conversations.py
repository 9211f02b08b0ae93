"""`backstory conversations`: look after those that agents and bots write as they happen.

An id is of one conversation, whatever its project, so a command that takes one looks in all of them. What
was said is found by `backstory search`, here as in transcripts.
"""

import click

from backstory.cli.asking import ALL, answer_to, as_json, ask, in_any_project, tell


@click.group()
def conversations() -> None:
    """List, show, move and look after live conversations."""


@conversations.command("list")
@click.option("--room", "room_id", metavar="ROOM", help="Only that of this room.")
@click.option(
    "--interface",
    "interface_type",
    metavar="NAME",
    help="Only those of this interface: cli, matrix, discord.",
)
@click.option("--deleted", is_flag=True, help="Only those that were deleted, and can be restored.")
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="NUMBER", help="How many. Default: 50.")
@in_any_project
@as_json
def list_(**given: object) -> None:
    """List the live conversations, the one that changed last first."""
    ask("conversations_list", given)


@conversations.command()
@click.argument("id")
@click.option(
    "--format",
    type=click.Choice(["text", "markdown", "json", "prompt"]),
    default="text",
    metavar="FORMAT",
    help="text, markdown, json or prompt. Default: text.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(100, 40_000),
    metavar="NUMBER",
    help="How long it may be. Default: BACKSTORY_CONTEXT_TOKENS.",
)
@as_json
def show(id: str, **given: object) -> None:
    """Show the conversation ID by its tiers: the archive, summaries, the newest turns."""
    answer = answer_to("get_conversation_history", {**given, "conversation_id": id, "project": ALL}).answer
    tell(answer, answer["history"])


@conversations.command()
@click.argument("id")
@as_json
def summarize(id: str) -> None:
    """Sum up the turns of the conversation ID that have no summary yet."""
    ask("conversations_summarize", {"conversation_id": id})


@conversations.command()
@click.argument("id")
@as_json
def delete(id: str) -> None:
    """Delete the conversation ID; its room is free, and it can be restored."""
    ask("conversations_delete", {"conversation_id": id})


@conversations.command()
@click.argument("id")
@as_json
def restore(id: str) -> None:
    """Take the deleted conversation ID back."""
    ask("conversations_restore", {"conversation_id": id})


@conversations.command()
@click.option(
    "--to",
    type=click.Choice(["records", "jsonl", "memory"]),
    required=True,
    metavar="PLACE",
    help="records, jsonl, or memory, which ends with the process.",
)
@as_json
def migrate(to: str) -> None:
    """Move every live conversation to another place, check it, and go on there."""
    ask("conversations_migrate", {"to": to})


@conversations.command()
@click.option(
    "--batch",
    type=click.IntRange(1, 1_000),
    metavar="NUMBER",
    help="Messages that are embedded at once. Default: 10.",
)
@click.option(
    "--per-second",
    type=click.FloatRange(0, min_open=True),
    metavar="NUMBER",
    help="Messages a second at most. Default: as fast as it goes.",
)
@in_any_project
@as_json
def backfill(**given: object) -> None:
    """Bring what search lacks of live conversations, and embed what had to wait."""
    ask("conversations_backfill", given)
