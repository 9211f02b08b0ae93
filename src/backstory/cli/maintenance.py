"""The commands that look after the store: `stats`, `rebuild`, `backup`, `restore`.

The first three ask the process. `restore` puts other files in the place of its, so it needs that
none runs, and opens the files itself.
"""

from dataclasses import asdict
from pathlib import Path

import click

from backstory.bridge.process import running
from backstory.cli.asking import answer_to, as_json, ask, in_project, tell, whereabouts
from backstory.errors import StoreLocked


@click.command()
@in_project
@as_json
def stats(**given: object) -> None:
    """Tell how many memories and conversations there are, and how much room they take."""
    memories, conversations = (answer_to(verb, given) for verb in ("memory_statistics", "conversation_stats"))
    answer = {**memories.answer, "conversations": conversations.answer}
    tell(answer, f"{memories.text}\n\nconversations\n{conversations.text}")


@click.command()
@as_json
def rebuild() -> None:
    """Make vectors and graph anew from the records, and let the new ones answer."""
    ask("rebuild", {})


@click.command()
@click.argument("target", type=click.Path(path_type=Path))
@as_json
def backup(target: Path) -> None:
    """Write the whole store into one new file TARGET, and check it."""
    ask("backup", {"target": str(target.absolute())})


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@as_json
def restore(source: Path) -> None:
    """Put the backup SOURCE in the place of the present store, which is kept beside it."""
    where = whereabouts()
    if process := running(where):
        raise StoreLocked(
            f"the store in {where.home} is in use by process {process.pid}",
            hint="run `backstory stop`, then this again",
        )
    # The actions load the engines, which takes half a second: the other commands need not wait.
    from backstory.actions.maintenance import restore as restoring
    from backstory.settings import read_settings

    conversations = read_settings().context.storage_path
    place = restoring.Place(where.records, conversations, where.owner_lock, [where.vectors, where.graph])
    done = restoring.restore(source, place)
    text = f"Restored {done.memories:,} memories; vectors and graph are made anew at the next start."
    if done.conversation_files:
        text += f"\nLive conversations are in {conversations} again."
    if done.replaced:
        text += f"\nThe store that was there is kept in {done.replaced}."
    tell(asdict(done), text)
