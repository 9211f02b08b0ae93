"""The commands that look after the store: `rebuild`, `backup`, `restore`.

They open the store themselves, so no other process may have it open; its lock says who does.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from backstory.actions.maintenance.backup import back_up
from backstory.actions.maintenance.rebuild import rebuild as rebuild_all
from backstory.actions.maintenance.restore import Place
from backstory.actions.maintenance.restore import restore as restore_from
from backstory.engine import Work
from backstory.settings import read_settings
from backstory.wiring import open_engine

as_json = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")


@click.command()
@as_json
def rebuild(*, as_json: bool) -> None:
    """Make vectors and graph anew from the records, and let the new ones answer."""
    with open_engine(read_settings()) as engine, _progress() as work:
        rebuild_all(engine, work)
        entries = {name: state.entries for name, state in engine.vectors.describe().items()}
    text = ", ".join(f"{name} with {count:,} entries" for name, count in entries.items())
    _tell({"entries": entries}, f"Rebuilt: {text}.", as_json=as_json)


@click.command()
@click.argument("target", type=click.Path(path_type=Path))
@as_json
def backup(target: Path, *, as_json: bool) -> None:
    """Write the whole store into one new file, and check it."""
    with open_engine(read_settings()) as engine:
        done = back_up(engine, target.absolute())
    text = f"Backed up {done.memories:,} memories to {done.path} ({done.size_bytes / 2**20:.1f} MB)."
    _tell(asdict(done), text, as_json=as_json)


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@as_json
def restore(source: Path, *, as_json: bool) -> None:
    """Put a backup in the place of the present store, which is kept beside it."""
    where = read_settings().whereabouts
    done = restore_from(source, Place(where.records, where.owner_lock, [where.vectors, where.graph]))
    text = f"Restored {done.memories:,} memories; vectors and graph are made anew at the next start."
    if done.replaced:
        text += f"\nThe store that was there is kept in {done.replaced}."
    _tell(asdict(done), text, as_json=as_json)


@contextmanager
def _progress() -> Iterator[Work]:
    """Work that shows a bar on a terminal, on standard error, and nothing elsewhere."""
    with click.progressbar(length=1, file=sys.stderr, show_pos=True) as bar:

        def report(done: int, total: int | None, message: str) -> None:
            bar.label = message
            bar.length = total or done or 1
            bar.update(done - bar.pos)

        yield Work(report)


def _tell(answer: dict[str, Any], text: str, *, as_json: bool) -> None:
    click.echo(json.dumps(answer, default=str) if as_json else text)
