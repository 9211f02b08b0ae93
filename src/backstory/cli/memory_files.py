"""`backstory memory export` and `import`: memories in files.

The process uses the files of the folder that it is asked from, so it is asked from that of the file. What
names a project relative to the working folder is made absolute before.
"""

from pathlib import Path
from typing import Final

import click

from backstory.cli.asking import as_json, ask, in_project
from backstory.cli.options import kept_between, of_types
from backstory.model.kinds.catalogue import KINDS
from backstory.model.portable import OnConflict

A_FILE: Final = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog=f"Types: {', '.join(KINDS)}.")
@click.argument("file", type=A_FILE, required=False)
@of_types(KINDS)
@kept_between
@click.option(
    "--metadata-json", "metadata", metavar="OBJECT", help="Only memories with these values in their metadata."
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it is an older export.")
@in_project
@as_json
def export(*, file: Path | None, project: str | None, **given: object) -> None:
    """Write memories with their versions, links and history to FILE, or to one in the data folder."""
    if file:
        file = file.absolute()
        given |= {"path": str(file), "project": _absolute(project or ".")}
        ask("export_memory", given, directory=file.parent)
    else:
        ask("export_memory", {**given, "project": project})


@click.command("import")
@click.argument("file", type=A_FILE)
@click.option(
    "--on-conflict",
    type=click.Choice([each.value for each in OnConflict]),
    metavar="POLICY",
    help="For one that is here and says something else: skip, overwrite, keep_both, fail. Default: skip.",
)
@click.option(
    "--project",
    metavar="NAME",
    help="Put all of them into this project, by its name or by a folder. Default: those they are from.",
)
@as_json
def import_(*, file: Path, project: str | None, **given: object) -> None:
    """Read in the memories that an export wrote to FILE; it is checked whole before anything is kept."""
    file = file.absolute()
    given |= {"path": str(file), "project": project and _absolute(project)}
    ask("import_memory", given, directory=file.parent)


def _absolute(project: str) -> str:
    """A project that does not mean another one in another folder."""
    relative = project in {".", ".."} or project.startswith(("./", "../"))
    return str(Path(project).absolute()) if relative else project
