"""Which project a folder belongs to.

All worktrees of a repository are one project, named by where the repository is; a `.backstory.toml`
in the folder or above it, inside the repository, may give it another name. Git itself is not asked:
it may not be installed, and starting it takes longer than a search. What a project is, and what its
name may be, is left to `model.project`.
"""

import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from backstory.errors import InputError
from backstory.model.project import Project

NAME_FILE: Final = ".backstory.toml"


def project_of(folder: Path) -> Project:
    """The project of a folder: its repository, or itself. It need not exist any more."""
    folder = Path(os.path.normpath(folder.absolute()))
    root = worktree_of(folder)
    for above in _up_to(folder, root):
        if named := _name_in(above / NAME_FILE):
            return named
    main = _main_worktree(root)
    if main != root and (named := _name_in(main / NAME_FILE)):
        return named
    return checked_project(str(main))


def worktree_of(folder: Path) -> Path:
    """The folder itself, or the nearest above it in which a repository is checked out."""
    return next((each for each in (folder, *folder.parents) if _is_repository(each)), folder)


def named_project(text: str, base: Path | None) -> Project:
    """The project that a text names: a folder's when it is written as a path, else the one of that name."""
    text = text.strip()
    if text in {".", ".."} or text.startswith(("/", "~", "./", "../")):
        try:
            return project_of((base or Path.cwd()) / Path(text).expanduser())
        except RuntimeError as error:
            raise InputError(f"{text} names no folder: {error}", hint="give its absolute path") from error
    return checked_project(text)


def allowed_path(text: str, base: Path | None, roots: Sequence[Path]) -> Path:
    """The path that a text names, if it lies in a folder that may be read and written for a caller.

    Those are the caller's own folder, the worktree that it is in, and the roots. Links are followed first,
    so that none leads out of them.
    """
    try:
        path = ((base or Path("/")) / Path(text).expanduser()).resolve()
        inside = {each.resolve(): None for each in (*([base, worktree_of(base)] if base else ()), *roots)}
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{text!r} names no file: {error}", hint="give its absolute path") from error
    if base is None and not Path(text).expanduser().is_absolute():
        raise InputError(f"{text} is relative, and your folder is not known", hint="give its absolute path")
    if not any(path.is_relative_to(each) for each in inside):
        raise InputError(
            f"{path} is outside of the folders that may be used: {', '.join(map(str, inside)) or 'none'}",
            hint="call from its folder, or name a folder above it in BACKSTORY_ALLOWED_ROOTS",
        )
    return path


def checked_project(name: str) -> Project:
    """The project of this name; raises `InputError` when it cannot be one."""
    try:
        return Project(name)
    except ValueError as error:
        raise InputError(str(error), hint="use a short printable name, or leave the project out") from error


def _up_to(folder: Path, top: Path) -> Iterator[Path]:
    for each in (folder, *folder.parents):
        yield each
        if each == top:
            return


def _is_repository(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:  # a folder that may not be looked into
        return False


def _main_worktree(root: Path) -> Path:
    """Where a repository is: `root`, or, when that is a linked worktree, the one it was made from."""
    common = _common_directory(root / ".git")
    if common is None:
        return root
    return common.parent if common.name == ".git" else common


def _common_directory(git: Path) -> Path | None:
    """What a linked worktree's `.git` file leads to; None for a folder and for a submodule's file."""
    try:
        if git.is_dir():
            return None
        private = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
        return (private / (private / "commondir").read_text("utf-8").strip()).resolve()
    except (OSError, UnicodeDecodeError):
        return None


def _name_in(file: Path) -> Project | None:
    try:
        name = tomllib.loads(file.read_text("utf-8")).get("project")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint='write project = "name" in it') from error
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"{file} names a project that is no text", hint='write project = "name" in it')
    return checked_project(name)
