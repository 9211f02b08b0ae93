"""Finds every setting's text in the environment, the config file or the defaults, and reads it.

All that is wrong is told at once. What the values mean together is left to `choices`.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from backstory.bridge.whereabouts import find_whereabouts
from backstory.errors import SettingsError
from backstory.settings.catalogue import CONFIG, HOME, SETTINGS
from backstory.settings.kinds import Secret
from backstory.settings.setting import Setting

DEFAULT: Final = "default"
PREFIX: Final = "BACKSTORY_"


@dataclass(frozen=True, slots=True)
class Reading:
    """A setting's value and where it came from. `key` is its key in the config file, if it has one."""

    setting: Setting
    key: str | None
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class _Found:
    """A setting's text. `label` names it to a person; a relative path in it starts at `folder`."""

    text: str
    label: str
    origin: str
    folder: Path


@dataclass(frozen=True, slots=True)
class _ConfigFile:
    """The texts in the config file by key: section and key, joined by a dot."""

    path: Path
    texts: Mapping[str, str]


def read_all(environ: Mapping[str, str]) -> tuple[Reading, ...]:
    """Read every setting: environment over config file over default. One error tells all that is wrong."""
    home, config = _places(environ)
    readings = [_place(HOME, home, environ), _place(CONFIG, config, environ)]
    file = _config_file(config, required=readings[-1].origin != DEFAULT)
    problems = list(_unknown_keys(file))
    for key, setting in SETTINGS.items():
        found = _find(key, setting, environ, file) or _default(setting, readings)
        try:
            readings.append(_read(key, setting, found))
        except ValueError:
            problems.append(_refusal(setting, found))
    if problems:
        raise _error(problems)
    return tuple(readings)


def unknown_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Variables that look like ours but are no setting, each with the one that was probably meant."""
    known = {setting.variable for setting in (HOME, CONFIG, *SETTINGS.values())}
    # Compared without the prefix, which would make any two of them alike.
    meant = {name.removeprefix(PREFIX): name for name in known}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return {name: _nearest(name.removeprefix(PREFIX), meant) for name in unknown}


def _places(environ: Mapping[str, str]) -> tuple[Path, Path]:
    """The data folder and the config file."""
    try:
        where = find_whereabouts(environ)
        named = environ.get(CONFIG.variable, "").strip()
        return where.home, Path(named).expanduser().absolute() if named else where.config
    except RuntimeError as error:
        raise SettingsError(
            "the data folder or the config file is not known, because the system knows no such home folder",
            hint=f"set {HOME.variable} to a full path, for example {HOME.variable}=/var/lib/backstory, "
            f"and {CONFIG.variable} likewise if it is set",
        ) from error


def _place(setting: Setting, value: Path, environ: Mapping[str, str]) -> Reading:
    named = environ.get(setting.variable, "").strip()
    return Reading(setting, None, value, f"environment {setting.variable}" if named else DEFAULT)


def _config_file(path: Path, *, required: bool) -> _ConfigFile:
    try:
        return _ConfigFile(path, dict(_flattened(tomllib.loads(path.read_text("utf-8")))))
    except OSError as error:
        if not required and isinstance(error, FileNotFoundError | NotADirectoryError):
            return _ConfigFile(path, {})
        raise SettingsError(
            f"the config file {path} cannot be read: {error.strerror}",
            hint=f"make it readable, or name another by {CONFIG.variable}",
        ) from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise SettingsError(
            f"the config file {path} is not valid TOML: {error}",
            hint='correct that place; texts need quotes, as in: level = "INFO"',
        ) from error


def _flattened(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _as_text(value)


def _as_text(value: object) -> str:
    """What would be written in the environment for a value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).strip()


def _unknown_keys(file: _ConfigFile) -> Iterator[str]:
    # People write a variable's name into the file as well.
    keys = {setting.variable: key for key, setting in SETTINGS.items()} | {key: key for key in SETTINGS}
    for unknown in sorted(file.texts.keys() - SETTINGS.keys()):
        meant = _nearest(unknown, keys)
        suggestion = f"; did you mean {meant}?" if meant else ""
        yield f"{unknown} in {file.path} is not a setting{suggestion}"


def _nearest(name: str, meanings: Mapping[str, str]) -> str | None:
    """What the likest of the names stands for."""
    return next((meanings[like] for like in difflib.get_close_matches(name, meanings, n=1)), None)


def _find(key: str, setting: Setting, environ: Mapping[str, str], file: _ConfigFile) -> _Found | None:
    # An empty text is as good as none: compose files pass on what is not set as empty.
    if text := environ.get(setting.variable, "").strip():
        return _Found(text, setting.variable, f"environment {setting.variable}", Path())
    if text := file.texts.get(key, ""):
        return _Found(text, f"{key} in {file.path}", f"file {file.path}", file.path.parent)
    return None


def _default(setting: Setting, earlier: Sequence[Reading]) -> _Found:
    values = {reading.setting.variable: reading.value for reading in earlier}
    text = Template(setting.default or "").safe_substitute(values)
    return _Found(text, setting.variable, DEFAULT, Path())


def _read(key: str, setting: Setting, found: _Found) -> Reading:
    value = setting.kind.parse(found.text) if found.text else None
    if isinstance(value, Path):
        value = (found.folder / value).absolute()
    return Reading(setting, key, value, found.origin)


def _refusal(setting: Setting, found: _Found) -> str:
    must = f"it must be {setting.kind.allowed}, for example {setting.example}"
    return f"{found.label} is {_shown(setting, found.text)}; {must}"


def _shown(setting: Setting, text: str) -> str:
    if setting.secret:
        return Secret.MASK
    # Somebody may have put a password where none belongs.
    _, at, tail = text.rpartition("@")
    return repr(f"{Secret.MASK}@{tail}" if at else text)


def _error(problems: Sequence[str]) -> SettingsError:
    if len(problems) == 1:
        return SettingsError(problems[0], hint="correct it, or remove it to get the default")
    told = "\n".join(f"- {problem}" for problem in problems)
    return SettingsError(
        f"{len(problems)} settings are wrong:\n{told}",
        hint="correct each of them, or remove it to get the default",
    )
